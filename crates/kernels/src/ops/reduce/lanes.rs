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

    /// The same with so many rows in a workgroup that workgroup memory has room for the results of all, and that these are whole
    /// vectors; `None` if rows are too long for that, or if writing elements of their own words one by one is as good.
    pub(crate) fn staged(mut self, len: u64, packed: bool) -> Option<Self> {
        let lanes = &mut self.lanes;
        if !packed && lanes.lanes > FEW_LANES {
            return None;
        }
        // As was the fastest on an H200, rows of 5, 17 and 65 elements (docs/performance.md).
        let wg = match lanes.lanes {
            1 => lanes.wg,
            2..FEW_LANES => 128,
            _ => 64,
        };
        let too_large = |lanes: &Lanes| u64::from(lanes.rows) * len > STAGED || lanes.wg > wg;
        while too_large(lanes) && lanes.rows > VECTOR {
            lanes.rows /= 2;
            lanes.wg /= 2;
        }
        let fits = u64::from(lanes.rows) * len <= STAGED && lanes.rows.is_multiple_of(VECTOR);
        fits.then_some(self)
    }

    /// How many of the four elements of a lane's last vector a row of `len` reaches, where lanes side by side have neighbours.
    pub(crate) fn columns(&self, len: u64) -> u32 {
        let before =
            u64::from(VECTOR * self.lanes.lanes) * u64::from(self.vectors.saturating_sub(1));
        let rest = len
            .saturating_sub(before)
            .div_ceil(u64::from(self.lanes.lanes));
        saturated(rest).clamp(1, VECTOR)
    }

    /// The constants of a kernel that keeps rows of `len` elements, which it reads and writes one by one or in vectors.
    pub(crate) fn constants(&self, len: u64, one_by_one: bool) -> [(&'static str, f64); 4] {
        let columns = if one_by_one {
            self.columns(len)
        } else {
            VECTOR
        };
        [
            ("REGISTERS", f64::from(self.vectors)),
            ("SPACING", f64::from(self.lanes.spacing(one_by_one))),
            ("WHOLE", f64::from(u8::from(self.holds_exactly(len)))),
            ("COLUMNS", f64::from(columns)),
        ]
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
/// The most results of a workgroup that go through its memory, 12 KiB: combining lanes takes 4 of the 16 that every device has.
const STAGED: u64 = 3072;
/// The lanes of a row that write whole sectors of a cache, 32 bytes: with more, elements of 32 bits need no workgroup memory.
const FEW_LANES: u32 = 8;

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
mod tests;
