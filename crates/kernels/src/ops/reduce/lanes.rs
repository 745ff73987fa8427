//! How outputs and reduced elements are laid over workgroups: a pure function over counts.
//!
//! A workgroup is a grid of rows (outputs) and lanes (invocations that share one output's elements). Lanes lie
//! side by side where the reduced elements are neighbours in memory, rows where the outputs are. When few
//! outputs would leave the device idle, each output's elements are cut into chunks that a second pass combines.
//! Invariants: `rows * lanes == wg`, both powers of two; chunks cover the elements without gaps; no chunk is empty
//! unless there are no elements at all.

use crate::limits::ability::Ability;
use crate::num::saturated;

/// What neighbouring invocations read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// Neighbouring elements of one output.
    Reduced,
    /// The same element of neighbouring outputs.
    Kept,
}

/// An assignment of outputs and elements to invocations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lanes {
    pub(crate) wg: u32,
    pub(crate) rows: u32,
    pub(crate) lanes: u32,
    pub(crate) side: Side,
    pub(crate) chunks: u32,
    pub(crate) chunk_len: u32,
    /// Neighbouring elements of an output that a lane takes at a time.
    pub(crate) step: u32,
}

/// Lanes that keep their elements of a row in registers, see [`registers`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Registers {
    pub(crate) lanes: Lanes,
    /// Vectors of four that each lane keeps.
    pub(crate) vectors: u32,
}

impl Registers {
    /// Whether lanes keep exactly as many elements as a row of `len` has.
    pub(crate) fn holds_exactly(&self, len: u64) -> bool {
        u64::from(VECTOR * self.lanes.lanes) * u64::from(self.vectors) == len
    }
}

/// Fewest elements per lane for which a second pass pays.
const CHUNK_PER_LANE: u64 = 32;
/// Neighbouring outputs that keep a memory transaction full, and the fewest that do not waste most of one: taken
/// where chunks cannot keep the device busy.
const FULL_ROWS: u32 = 32;
const FEW_ROWS: u32 = 8;
/// Elements that one lane handles before another lane is worth adding, in kernels that take them one by one.
const PER_LANE: u64 = 4;
/// Elements that a lane takes at a time in the others, and how many it handles before another lane is worth adding: as many
/// loads of four as such a kernel has in flight.
const VECTOR: u32 = 4;
const PER_VECTOR_LANE: u64 = 16;
/// Lanes of a row that keep a memory transaction full.
const FEWEST_LANES: u32 = 4;
/// The most vectors of four that a lane keeps in registers.
const MAX_VECTORS: u64 = 8;

/// Chooses rows, lanes and chunks for `outputs` reductions over `len` elements each, for a device of this ability.
pub(crate) fn choose(
    outputs: u64,
    len: u64,
    side: Side,
    may_split: bool,
    ability: &Ability,
) -> Lanes {
    spread((outputs, len), side, may_split, ability, (PER_LANE, 1))
}

/// The same for kernels whose lanes take four neighbouring elements at a time. Chunks begin where vectors do.
pub(crate) fn vectors(
    outputs: u64,
    len: u64,
    side: Side,
    may_split: bool,
    ability: &Ability,
) -> Lanes {
    let each = (PER_VECTOR_LANE, VECTOR);
    spread((outputs, len), side, may_split, ability, each)
}

/// Lanes that keep their elements of a row in registers; `None` for rows that are too long for that. Where neighbours in memory
/// are rows, there are enough of them in a workgroup not to waste most of a memory transaction.
pub(crate) fn registers(
    outputs: u64,
    len: u64,
    side: Side,
    ability: &Ability,
) -> Option<Registers> {
    let rows = match side {
        Side::Reduced => 1,
        Side::Kept => power_above(outputs, FEW_ROWS),
    };
    lanes_in_registers(rows, (outputs, len), side, ability)
}

/// The same however many rows there are in a workgroup.
pub(crate) fn in_registers_for_any_count(
    outputs: u64,
    len: u64,
    side: Side,
    ability: &Ability,
) -> Option<Registers> {
    lanes_in_registers(1, (outputs, len), side, ability)
}

/// Lanes for a row whose elements are loaded and stored one by one: enough of them side by side for whole memory transactions, and
/// few left over where a row is a little longer than a power of two.
fn one_by_one(len: u64) -> u32 {
    let side_by_side = if len < u64::from(FULL_ROWS) {
        FEWEST_LANES
    } else {
        FEW_ROWS
    };
    power_below(saturated(len / PER_VECTOR_LANE))
        .max(power_above(len.div_ceil(u64::from(VECTOR)), side_by_side))
}

/// With at least so many rows in a workgroup.
fn lanes_in_registers(
    rows: u32,
    (outputs, len): (u64, u64),
    side: Side,
    ability: &Ability,
) -> Option<Registers> {
    let mut lanes = vectors(outputs, len, side, false, ability);
    let vec4 = len.div_ceil(u64::from(VECTOR));
    if side == Side::Reduced {
        lanes.lanes = match len.is_multiple_of(u64::from(VECTOR)) {
            true => lanes.lanes.max(power_above(vec4, FEWEST_LANES)),
            false => one_by_one(len),
        };
        lanes.lanes = lanes.lanes.min(lanes.wg);
    }
    let most = power_below(ability.invocations.clamp(1, 1024));
    while vec4 > MAX_VECTORS * u64::from(lanes.lanes) {
        lanes.lanes *= 2;
    }
    lanes.wg = lanes.wg.max(lanes.lanes.saturating_mul(rows));
    if lanes.wg > most {
        return None;
    }
    lanes.rows = lanes.wg / lanes.lanes;
    Some(Registers {
        lanes,
        vectors: saturated(vec4.div_ceil(u64::from(lanes.lanes)).max(1)),
    })
}

fn spread(
    (outputs, len): (u64, u64),
    side: Side,
    may_split: bool,
    ability: &Ability,
    (per_lane, step): (u64, u32),
) -> Lanes {
    let wg = power_below(ability.workgroup_size.clamp(1, 1024));
    let useful = power_above(len.div_ceil(per_lane), wg);
    let lanes = match side {
        Side::Reduced => useful,
        Side::Kept => {
            let rows = power_above(outputs, wg);
            let groups = outputs.div_ceil(u64::from(wg)).max(1);
            let full = if may_split { FULL_ROWS } else { FEW_ROWS };
            // Enough rows for full transactions; more lanes only while the device has room for them.
            let room = power_above(ability.busy_groups.div_ceil(groups), wg);
            useful
                .min((wg / full.min(rows)).max(1))
                .min(room.max(wg / rows))
        }
    };
    let rows = wg / lanes;
    let groups = outputs.div_ceil(u64::from(rows)).max(1);
    let (chunks, chunk_len) = if may_split {
        chunk(ability.busy_groups / groups, len, lanes, step)
    } else {
        (1, len)
    };
    Lanes {
        wg,
        rows,
        lanes,
        side,
        chunks,
        chunk_len: saturated(chunk_len),
        step,
    }
}

/// Chunks per output and elements per chunk; there is room for `room` chunks of each output.
fn chunk(room: u64, len: u64, lanes: u32, step: u32) -> (u32, u64) {
    let lanes = u64::from(lanes);
    let wanted = room.min(len / (lanes * CHUNK_PER_LANE));
    if wanted < 2 {
        return (1, len);
    }
    let chunk_len = len
        .div_ceil(wanted)
        .next_multiple_of(lanes * u64::from(step));
    (saturated(len.div_ceil(chunk_len)), chunk_len)
}

impl Lanes {
    /// The same with as many chunks more as it takes for a lane to loop no longer than it may, where an element of one of
    /// `len` takes `iterations` iterations, of which it may take `most`.
    pub(crate) fn within(self, len: u64, iterations: u64, most: u64) -> Self {
        let step = u64::from(self.step);
        let together = u64::from(self.lanes) * step;
        let most = (most / iterations.max(1) / step).max(1) * together;
        if u64::from(self.chunk_len) <= most {
            return self;
        }
        let chunk_len = len.div_ceil(len.div_ceil(most)).next_multiple_of(together);
        Self {
            chunks: saturated(len.div_ceil(chunk_len)),
            chunk_len: saturated(chunk_len),
            ..self
        }
    }

    #[cfg(test)]
    /// Iterations of a lane's loop over its elements of one of `iterations` iterations each.
    pub(crate) fn iterations(&self, iterations: u64) -> u64 {
        u64::from(self.chunk_len)
            .div_ceil(u64::from(self.lanes))
            .saturating_mul(iterations)
    }

    pub(crate) const fn row_step(&self) -> u32 {
        match self.side {
            Side::Reduced => self.lanes,
            Side::Kept => 1,
        }
    }

    pub(crate) const fn lane_step(&self) -> u32 {
        match self.side {
            Side::Reduced => 1,
            Side::Kept => self.rows,
        }
    }

    /// Invocations of the whole grid for `outputs` outputs: whole workgroups.
    pub(crate) fn invocations(&self, outputs: u64) -> u64 {
        outputs.div_ceil(u64::from(self.rows)) * u64::from(self.chunks) * u64::from(self.wg)
    }

    /// How far the four elements are from each other that a lane takes together: one by one, lanes side by side take neighbours.
    pub(crate) const fn spacing(&self, one_by_one: bool) -> u32 {
        if one_by_one { self.lanes } else { 1 }
    }

    /// The override constants that every kernel of this layout takes.
    pub(crate) fn constants(&self) -> [(&'static str, f64); 5] {
        [
            ("WG", f64::from(self.wg)),
            ("ROWS", f64::from(self.rows)),
            ("LANES", f64::from(self.lanes)),
            ("ROW_STEP", f64::from(self.row_step())),
            ("LANE_STEP", f64::from(self.lane_step())),
        ]
    }
}

/// The greatest power of two that is at most `n` (which is at least 1).
fn power_below(n: u32) -> u32 {
    1 << n.max(1).ilog2()
}

/// The least power of two that is at least `n`, but at most `limit` (a power of two).
pub(crate) fn power_above(n: u64, limit: u32) -> u32 {
    saturated(n.min(u64::from(limit)))
        .max(1)
        .next_power_of_two()
        .min(limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choose(outputs: u64, len: u64, side: Side, may_split: bool, workgroup_size: u32) -> Lanes {
        let ability = Ability {
            workgroup_size,
            ..Ability::WEBGPU
        };
        super::choose(outputs, len, side, may_split, &ability)
    }

    const MOST: u64 = 1 << 15;

    fn check(l: &Lanes, len: u64) {
        assert_eq!(l.rows * l.lanes, l.wg);
        assert!(l.wg.is_power_of_two() && l.lanes.is_power_of_two());
        assert!(u64::from(l.chunks) * u64::from(l.chunk_len) >= len);
        assert!(
            len == 0 || u64::from(l.chunks - 1) * u64::from(l.chunk_len) < len,
            "{l:?} has an empty chunk"
        );
    }

    #[test]
    fn lanes_loop_no_longer_than_they_may() {
        for (outputs, len) in [
            (1000, 1 << 30),
            (1 << 20, 1 << 24),
            (1, 1 << 31),
            (300, 1000),
        ] {
            for side in [Side::Reduced, Side::Kept] {
                for iterations in [1, 34, 1 << 20] {
                    let whole = choose(outputs, len, side, true, 256);
                    let l = whole.within(len, iterations, MOST);
                    check(&l, len);
                    assert!(l.iterations(iterations) <= MOST.max(iterations), "{l:?}");
                    assert!(whole.iterations(iterations) > MOST || l == whole);
                }
            }
        }
    }

    #[test]
    fn covers_every_element_once_for_any_counts() {
        for wg in [1, 3, 64, 100, 256, 1024, 5000] {
            for outputs in [1, 2, 31, 33, 1000, 65_537, 1 << 24] {
                for len in [0, 1, 2, 63, 257, 1025, 100_000, 1 << 25] {
                    for side in [Side::Reduced, Side::Kept] {
                        for may_split in [false, true] {
                            let l = choose(outputs, len, side, may_split, wg);
                            check(&l, len);
                            assert!(may_split || l.chunks == 1);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn packs_many_short_rows_into_one_workgroup() {
        let l = choose(1000, 16, Side::Reduced, true, 256);
        assert_eq!((l.rows, l.lanes, l.chunks), (64, 4, 1));
    }

    #[test]
    fn gives_a_long_row_a_whole_workgroup() {
        let l = choose(4096, 4096, Side::Reduced, true, 256);
        assert_eq!((l.rows, l.lanes, l.chunks), (1, 256, 1));
    }

    #[test]
    fn gives_each_of_many_columns_one_invocation() {
        let l = choose(1 << 20, 64, Side::Kept, true, 256);
        assert_eq!((l.rows, l.lanes, l.chunks), (256, 1, 1));
    }

    #[test]
    fn adds_lanes_to_few_columns_but_keeps_transactions_full() {
        let l = choose(64, 512, Side::Kept, true, 256);
        assert_eq!((l.rows, l.lanes), (32, 8));
    }

    #[test]
    fn without_chunks_columns_get_more_lanes() {
        let l = choose(4096, 16384, Side::Kept, false, 256);
        assert_eq!((l.rows, l.lanes, l.chunks), (8, 32, 1));
    }

    #[test]
    fn cuts_a_few_long_reductions_into_chunks() {
        let l = choose(1, 1 << 25, Side::Reduced, true, 256);
        assert_eq!((l.lanes, l.chunks), (256, 512));
        let l = choose(8, 1 << 20, Side::Kept, true, 256);
        assert!(l.chunks > 1 && l.rows == 8, "{l:?}");
    }

    #[test]
    fn lanes_that_take_vectors_begin_chunks_with_them() {
        let ability = Ability::WEBGPU;
        for len in [0, 1, 5, 1000, 4096, 1 << 20, (1 << 26) + 3] {
            for outputs in [1, 7, 4096] {
                for side in [Side::Reduced, Side::Kept] {
                    let l = vectors(outputs, len, side, true, &ability);
                    check(&l, len);
                    assert!(
                        l.chunks == 1 || l.chunk_len.is_multiple_of(4 * l.lanes),
                        "{l:?}"
                    );
                    let l = l.within(len, 40, MOST);
                    check(&l, len);
                    assert!(
                        l.chunks == 1 || l.chunk_len.is_multiple_of(4 * l.lanes),
                        "{l:?}"
                    );
                    assert!(l.iterations(40) <= MOST, "{l:?}");
                }
            }
        }
        let l = vectors(8192, 8192, Side::Reduced, true, &ability);
        assert_eq!((l.rows, l.lanes, l.chunks), (1, 256, 1));
        let l = vectors(1 << 15, 1024, Side::Reduced, true, &ability);
        assert_eq!((l.rows, l.lanes, l.chunks), (4, 64, 1));
    }

    #[test]
    fn rows_in_registers_fit() {
        let large = Ability {
            invocations: 1024,
            ..Ability::WEBGPU
        };
        for ability in [Ability::WEBGPU, large] {
            for len in [1, 3, 4, 5, 64, 1000, 4096, 8192, 8193, 32_768, 32_769] {
                for side in [Side::Reduced, Side::Kept] {
                    for outputs in [1, 300, 1 << 20] {
                        let most = 32 * u64::from(ability.invocations);
                        let found = registers(outputs, len, side, &ability);
                        let anyhow = in_registers_for_any_count(outputs, len, side, &ability);
                        assert!(side == Side::Kept || found == anyhow);
                        let Some(Registers { lanes, vectors }) = found else {
                            assert!(anyhow.is_none() == (len > most));
                            continue;
                        };
                        assert!(side == Side::Reduced || outputs < 8 || lanes.rows >= 8);
                        check(&lanes, len);
                        assert!(len <= most && (1..=8).contains(&vectors));
                        assert!(u64::from(4 * lanes.lanes * vectors) >= len, "{lanes:?}");
                        assert!(lanes.wg <= ability.invocations);
                    }
                }
            }
        }
        let shape =
            |len| registers(4096, len, Side::Reduced, &large).map(|h| (h.lanes.lanes, h.vectors));
        assert_eq!(shape(1024), Some((64, 4)));
        assert_eq!(shape(8192), Some((256, 8)));
        assert_eq!(shape(32_768), Some((1024, 8)));
    }

    #[test]
    fn rows_of_elements_taken_one_by_one_leave_few_places_over() {
        let shape = |len| {
            registers(4096, len, Side::Reduced, &Ability::WEBGPU)
                .map(|h| (h.lanes.lanes, h.vectors))
        };
        assert_eq!(shape(4), Some((1, 1)));
        assert_eq!(shape(5), Some((2, 1)));
        assert_eq!(shape(16), Some((4, 1)));
        assert_eq!(shape(17), Some((4, 2)));
        assert_eq!(shape(65), Some((8, 3)));
        assert_eq!(shape(1025), Some((64, 5)));
        assert_eq!(shape(4097), Some((256, 5)));
    }

    #[test]
    fn an_empty_reduction_has_one_empty_chunk() {
        let l = choose(7, 0, Side::Reduced, true, 256);
        assert_eq!((l.chunks, l.chunk_len), (1, 0));
    }
}
