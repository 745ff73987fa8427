//! Which matmul kernel, as a pure function of the problem: tiles for matrices with two real sides (on matrix units where
//! there are any for the dtype), the narrow kernel for few rows, the dot kernel for everything else (a vector on the
//! right, tiny outputs, devices with small workgroups).

use ziggurat_core::DType;

use super::problem::Problem;
use crate::limits::ability::Ability;
use crate::limits::budget::nested;
use crate::ops::reduce::axes::Axis;
use crate::ops::reduce::lanes::{self, Lanes, Side, power_above};
use crate::ops::tile::{Tile, TileKind};
use crate::ops::ways::Ways;

/// A side below this wastes most of a tile.
const NARROW: u64 = 16;
/// Rows up to which reading the columns once for every 16 of them takes less time than mostly empty tiles.
const FEW_ROWS: u64 = 32;

/// The kernel and its fixed properties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// Tiles through workgroup memory.
    Tile(Tiled),
    /// Few rows: blocks of b times all of them.
    Narrow(Narrow),
    /// A row of lanes per output.
    Dot(Lanes),
}

/// How an operand is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Load {
    /// Four neighbours along k at a time.
    Along,
    /// Four neighbouring rows of a, or columns of b, at a time.
    Across,
    /// Any strides, word by word.
    Words,
}

/// A tile, and how the tiled kernel loads and stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Tiled {
    pub(crate) tile: Tile,
    pub(crate) a: Load,
    pub(crate) b: Load,
    /// The output is written four columns at a time.
    pub(crate) out_quads: bool,
    /// Neighbouring invocations load neighbours along k.
    pub(crate) a_along_depth: bool,
    /// Neighbouring invocations load neighbours along k.
    pub(crate) b_along_depth: bool,
    /// k is a multiple of the tile's depth.
    pub(crate) whole: bool,
}

/// How the kernel of few rows lies over a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Narrow {
    /// Rows of a workgroup: 1, 2, 4, 8 or 16.
    pub(crate) lines: u32,
    /// Groups of four columns of a workgroup, and parts of k: their product is [`NARROW_GROUP`].
    pub(crate) quads: u32,
    pub(crate) slices: u32,
    pub(crate) a: Load,
    pub(crate) b: Load,
    pub(crate) out_quads: bool,
    /// Neighbouring invocations load neighbours along k.
    pub(crate) b_along_depth: bool,
    /// f16 is read as the device's own type.
    pub(crate) native: bool,
}

/// Invocations of a workgroup of the kernel of few rows.
pub(crate) const NARROW_GROUP: u32 = 256;
/// The bytes of workgroup memory that it takes.
const NARROW_BYTES: u32 = NARROW_GROUP * 4 * 16;

impl Narrow {
    /// How many workgroups cover an output, along its rows and its columns.
    pub(crate) const fn count(self, rows: u64, cols: u64) -> [u64; 2] {
        let columns = 4 * self.quads as u64;
        [rows.div_ceil(self.lines as u64), cols.div_ceil(columns)]
    }

    /// Loop iterations of an invocation for an inner extent of `k`.
    fn iterations(self, k: u64) -> u64 {
        let blocks = k.div_ceil(4 * u64::from(self.slices));
        // Rows are added in a tree, four at a time.
        let tree = nested(&[u64::from(self.slices.ilog2())]);
        nested(&[blocks]) + u64::from(self.lines.div_ceil(4)) * tree
    }
}

/// What a product of a dtype takes on a device: the default of its [`ways`].
pub(crate) fn default(p: &Problem, dtype: DType, ability: &Ability) -> Choice {
    let fits = |tile: &Tile| p.k > 0 && tile.fits(ability);
    let units = has_units(dtype, ability) && fits(&Tile::COOPERATIVE);
    // Matrix units make up for empty rows.
    let few = if units { FEW_ROWS / 2 } else { FEW_ROWS };
    if p.m <= few
        && let Some(narrow) = narrow(p, dtype, ability)
    {
        return Choice::Narrow(narrow);
    }
    let [large, small] = if units {
        [Tile::COOPERATIVE, Tile::COOPERATIVE_64]
    } else {
        [Tile::WIDE, Tile::DEFAULT]
    };
    let filling = large.fills(p.m, p.n, p.batches(), ability);
    let tile = if filling { large } else { small };
    // Tiles smaller than these have not been measured.
    if p.m >= NARROW && p.n >= NARROW && fits(&tile) {
        return Choice::Tile(tiled(p, tile));
    }
    Choice::Dot(dot(p, ability))
}

/// Whether there are matrix units for a dtype.
fn has_units(dtype: DType, ability: &Ability) -> bool {
    dtype == DType::F16 && Tile::COOPERATIVE_64.fits(ability)
}

/// The ways to compute a product of a dtype on a device; the output starts at a multiple of four elements.
pub(crate) fn ways(p: &Problem, dtype: DType, ability: &Ability) -> Ways<Choice> {
    let default = default(p, dtype, ability);
    let units = [Tile::COOPERATIVE, Tile::COOPERATIVE_64].into_iter();
    let tiles = units.filter(|_| has_units(dtype, ability)).chain(Tile::ALL);
    let tiles = tiles.filter(|tile| p.k > 0 && tile.fits(ability));
    let all = tiles.map(|tile| Choice::Tile(tiled(p, tile)));
    let all = all.chain(narrow(p, dtype, ability).map(Choice::Narrow));
    let all = all.chain([Choice::Dot(dot(p, ability))]);
    Ways::new(default, all.filter(|way| *way != default))
}

/// The kernel of few rows, for outputs whose columns and inner extent are worth a workgroup.
fn narrow(p: &Problem, dtype: DType, ability: &Ability) -> Option<Narrow> {
    let fits = ability.invocations >= NARROW_GROUP && ability.workgroup_bytes >= NARROW_BYTES;
    if !fits || p.n < NARROW || p.k < NARROW {
        return None;
    }
    let [a, b] = loads(p);
    let b_along_depth = p.b_depth.abs() == 1 && p.b_col.abs() != 1;
    // Neighbours that read along k want whole lines of memory; and parts of k that there are.
    let most = if b_along_depth { 4 } else { 8 };
    let slices = NARROW_GROUP / most;
    let slices = slices.min(power_within(p.k / 4, slices).max(4));
    let narrow = Narrow {
        lines: power_above(p.m, 16),
        quads: NARROW_GROUP / slices,
        slices,
        a: if a == Load::Across { Load::Words } else { a },
        b,
        out_quads: p.n.is_multiple_of(4),
        b_along_depth,
        native: has_units(dtype, ability),
    };
    (narrow.iterations(p.k) <= ability.loop_budget).then_some(narrow)
}

/// The largest power of two that is not above `n`, at most `most`.
fn power_within(n: u64, most: u32) -> u32 {
    let power = n.checked_ilog2().map_or(1, |log| 1_u64 << log);
    u32::try_from(power).unwrap_or(most).min(most)
}

fn dot(p: &Problem, ability: &Ability) -> Lanes {
    // The larger matrix decides what neighbours should read.
    let along_depth = if p.m <= p.n {
        p.b_depth.abs() == 1
    } else {
        p.a_depth.abs() == 1
    };
    let side = if along_depth {
        Side::Reduced
    } else {
        Side::Kept
    };
    let lanes = lanes::choose(p.outputs(), p.k, side, true, ability);
    lanes.within(p.k, 1, ability.loop_budget)
}

/// How the operands of a problem can be read.
fn loads(p: &Problem) -> [Load; 2] {
    let quad = |n: u64| n.is_multiple_of(4);
    let stride = |s: isize| s % 4 == 0;
    let batch = |operand: usize| {
        p.batch
            .iter()
            .all(|axis| axis.strides.get(operand).is_some_and(|&s| stride(s)))
    };
    let a = match [p.a_depth, p.a_row] {
        _ if !(p.a_aligned && batch(0)) => Load::Words,
        [1, row] if quad(p.k) && stride(row) => Load::Along,
        [depth, 1] if quad(p.m) && stride(depth) => Load::Across,
        _ => Load::Words,
    };
    let b = match [p.b_depth, p.b_col] {
        _ if !(p.b_aligned && batch(1)) => Load::Words,
        [depth, 1] if quad(p.n) && stride(depth) => Load::Across,
        [1, col] if quad(p.k) && stride(col) => Load::Along,
        _ => Load::Words,
    };
    [a, b]
}

/// How the kernel of a tile loads and stores.
pub(crate) fn tiled(p: &Problem, tile: Tile) -> Tiled {
    let [mut a, mut b] = loads(p);
    if tile.kind == TileKind::Vector {
        // It has one way each to read four elements.
        a = if a == Load::Across { Load::Words } else { a };
        b = if b == Load::Along { Load::Words } else { b };
    }
    Tiled {
        tile,
        a,
        b,
        out_quads: p.n.is_multiple_of(4),
        a_along_depth: p.a_depth.abs() == 1 || p.a_row.abs() != 1,
        b_along_depth: p.b_depth.abs() == 1 && p.b_col.abs() != 1,
        whole: p.k.is_multiple_of(u64::from(tile.depth)),
    }
}

/// Problems that reach every way to load and store, for the catalogue.
pub(crate) fn samples() -> Vec<Problem> {
    // Matrices of a batch of two, lying as they are or transposed.
    let dense = |[m, k, n]: [u32; 3], [a_transposed, b_transposed]: [bool; 2]| {
        let stride = |n: u32| n as isize;
        let [a_row, a_depth] = if a_transposed { [1, m] } else { [k, 1] };
        let [b_depth, b_col] = if b_transposed { [1, k] } else { [n, 1] };
        Problem {
            m: m.into(),
            n: n.into(),
            k: k.into(),
            batch: vec![Axis {
                dim: 2,
                strides: [stride(m * k), stride(k * n)],
            }],
            a_aligned: true,
            b_aligned: true,
            a_row: stride(a_row),
            a_depth: stride(a_depth),
            b_depth: stride(b_depth),
            b_col: stride(b_col),
        }
    };
    let unaligned = |p: Problem| Problem {
        b_aligned: false,
        ..p
    };
    let plain = [false; 2];
    let tiles = [32, 33].map(|k| {
        [
            dense([64, k, 64], plain),
            unaligned(dense([64, k, 64], plain)),
            dense([64, k, 65], plain),
            dense([64, k, 64], [true, false]),
            dense([64, k, 64], [false, true]),
        ]
    });
    let few = [1, 2, 4, 8, 16].map(|m| dense([m, 64, 64], [false, m == 2]));
    let dots = [[1, 64, 4], [1, 1 << 16, 4]].map(|extents| dense(extents, plain));
    tiles.into_iter().flatten().chain(few).chain(dots).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use ziggurat_core::{Layout, Shape};

    fn layout(dims: &[usize]) -> Layout {
        Layout::contiguous(Shape::new(dims).unwrap())
    }

    fn chosen(a: &Layout, b: &Layout) -> Choice {
        ways(&Problem::new(a, b).unwrap().0, DType::F32, &Ability::WEBGPU).default
    }

    #[test]
    fn aligned_matrices_move_in_quads() {
        let all = Tiled {
            tile: Tile::DEFAULT,
            a: Load::Along,
            b: Load::Across,
            out_quads: true,
            a_along_depth: true,
            b_along_depth: false,
            whole: true,
        };
        assert_eq!(
            chosen(&layout(&[64, 32]), &layout(&[32, 64])),
            Choice::Tile(all)
        );
    }

    #[test]
    fn odd_extents_and_offsets_move_word_by_word() {
        let Choice::Tile(t) = chosen(&layout(&[37, 19]), &layout(&[19, 23])) else {
            unreachable!("not tiled")
        };
        assert_eq!((t.a, t.b, t.out_quads), (Load::Words, Load::Words, false));
        let sliced = layout(&[64, 33]).slice(1, 1, None, 1).unwrap();
        let Choice::Tile(t) = chosen(&sliced, &layout(&[32, 64])) else {
            unreachable!("not tiled")
        };
        assert_eq!((t.a, t.b), (Load::Words, Load::Across));
    }

    #[test]
    fn transposed_operands_load_along_their_contiguous_side() {
        let transposed = |dims: &[usize]| layout(dims).transpose(0, 1).unwrap();
        let (a, b) = (transposed(&[32, 64]), transposed(&[64, 32]));
        let p = Problem::new(&a, &b).unwrap().0;
        let small = tiled(&p, Tile::DEFAULT);
        assert!(!small.a_along_depth && small.b_along_depth);
        assert_eq!((small.a, small.b), (Load::Words, Load::Words));
        for tile in [Tile::WIDE, Tile::COOPERATIVE] {
            let large = tiled(&p, tile);
            assert_eq!((large.a, large.b), (Load::Across, Load::Along));
        }
        let odd = (transposed(&[32, 63]), transposed(&[64, 31]));
        let p = Problem::new(&odd.0, &transposed(&[64, 32])).unwrap().0;
        assert_eq!(tiled(&p, Tile::WIDE).a, Load::Words);
        let p = Problem::new(&layout(&[64, 31]), &odd.1).unwrap().0;
        assert_eq!(tiled(&p, Tile::WIDE).b, Load::Words);
    }

    #[test]
    fn few_rows_take_the_narrow_kernel() {
        let narrow = |a: &Layout, b: &Layout| match chosen(a, b) {
            Choice::Narrow(narrow) => narrow,
            other => unreachable!("{other:?}"),
        };
        let lies = narrow(&layout(&[1, 512]), &layout(&[512, 300]));
        assert_eq!((lies.lines, lies.quads, lies.slices), (1, 8, 32));
        assert_eq!((lies.a, lies.b), (Load::Along, Load::Across));
        let weights = layout(&[300, 512]).transpose(0, 1).unwrap();
        let lies = narrow(&layout(&[5, 512]), &weights);
        assert_eq!((lies.lines, lies.quads, lies.slices), (8, 4, 64));
        assert_eq!((lies.b, lies.b_along_depth), (Load::Along, true));
        // Where k is short, more columns take its place.
        let lies = narrow(&layout(&[20, 64]), &layout(&[64, 64]));
        assert_eq!((lies.lines, lies.quads, lies.slices), (16, 16, 16));
        assert_eq!(lies.count(20, 65), [2, 2]);
    }

    #[test]
    fn vectors_on_the_right_and_small_devices_take_the_dot_kernel() {
        let side = |a: &Layout, b: &Layout| match chosen(a, b) {
            Choice::Dot(lanes) => lanes.side,
            other => unreachable!("{other:?}"),
        };
        assert_eq!(
            side(&layout(&[300, 512]), &layout(&[512, 1])),
            Side::Reduced
        );
        assert_eq!(side(&layout(&[1, 512]), &layout(&[512, 8])), Side::Kept);
        let p = Problem::new(&layout(&[64, 64]), &layout(&[64, 64]))
            .unwrap()
            .0;
        let small = Ability {
            workgroup_size: 64,
            invocations: 128,
            ..Ability::WEBGPU
        };
        let default = |p, ability| ways(p, DType::F32, ability).default;
        assert!(matches!(default(&p, &small), Choice::Dot(_)));
        let empty = Problem::new(&layout(&[64, 0]), &layout(&[0, 64]))
            .unwrap()
            .0;
        assert!(matches!(default(&empty, &Ability::WEBGPU), Choice::Dot(_)));
    }

    #[test]
    fn a_long_dot_product_is_cut_into_chunks() {
        let Choice::Dot(lanes) = chosen(&layout(&[1, 1 << 20]), &layout(&[1 << 20, 1])) else {
            unreachable!("not the dot kernel")
        };
        assert!(lanes.chunks > 1);
    }

    #[test]
    fn there_is_a_way_for_each_tile_that_fits_and_the_other_kernels() {
        let names = |m: usize, dtype: DType, ability: Ability| -> Vec<String> {
            let p = Problem::new(&layout(&[m, 64]), &layout(&[64, 64]));
            let name = |way| match way {
                Choice::Tile(tiled) => format!("{:?} {}", tiled.tile.kind, tiled.tile.rows),
                Choice::Narrow(_) => "Narrow".to_owned(),
                Choice::Dot(_) => "Dot".to_owned(),
            };
            ways(&p.unwrap().0, dtype, &ability)
                .all()
                .map(name)
                .collect()
        };
        let some = |invocations| Ability {
            invocations,
            ..Ability::WEBGPU
        };
        let [default, wide, small, half] = ["Vector 64", "Wide 128", "Vector 32", "Vector 32"];
        let (narrow, dot) = ("Narrow", "Dot");
        let f32 = DType::F32;
        assert_eq!(
            names(64, f32, some(256)),
            [default, wide, small, half, narrow, dot]
        );
        assert_eq!(names(64, f32, some(128)), [dot, small, half]);
        assert_eq!(
            names(8, f32, some(256)),
            [narrow, default, wide, small, half, dot]
        );
        assert_eq!(names(64, f32, some(32)), [dot]);
        let large = Ability::LARGE;
        let units = names(64, DType::F16, large);
        assert_eq!(
            units.get(..2).unwrap(),
            ["Cooperative 64", "Cooperative 128"]
        );
        assert_eq!(names(8, DType::F16, large).first().unwrap(), narrow);
        assert_eq!(names(64, DType::BF16, large).first().unwrap(), default);
    }

    #[test]
    fn samples_reach_every_way_to_load_and_store() {
        let mut loads = std::collections::HashSet::new();
        let mut lines = std::collections::BTreeSet::new();
        let mut chunked = [false; 2];
        for p in samples() {
            for way in ways(&p, DType::F16, &Ability::LARGE).all() {
                match way {
                    Choice::Tile(t) => {
                        loads.insert((t.tile.kind, t.a, t.b));
                    }
                    Choice::Narrow(n) => {
                        lines.insert(n.lines);
                    }
                    Choice::Dot(lanes) => chunked[usize::from(lanes.chunks > 1)] = true,
                }
            }
        }
        assert_eq!(chunked, [true, true]);
        assert!(lines.into_iter().eq([1, 2, 4, 8, 16]));
        for kind in [TileKind::Wide, TileKind::Cooperative] {
            for load in [Load::Along, Load::Across, Load::Words] {
                assert!(
                    loads.iter().any(|l| l.0 == kind && l.1 == load),
                    "a {load:?}"
                );
                assert!(
                    loads.iter().any(|l| l.0 == kind && l.2 == load),
                    "b {load:?}"
                );
            }
        }
    }
}
