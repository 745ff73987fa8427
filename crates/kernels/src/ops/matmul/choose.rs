//! Which matmul kernel, as a pure function of the problem: the tiled kernel for matrices with two real sides, the dot
//! kernel for everything else (a vector on one side, tiny outputs, devices with small workgroups).

use super::problem::Problem;
use crate::ops::reduce::lanes::{self, Lanes, Side};

/// Side of the square output tile. `tile.wgsl` has the same numbers.
pub(crate) const TILE: u64 = 64;
/// How deep a tile goes at a time.
pub(crate) const TILE_DEPTH: u64 = 16;
/// Invocations of the tiled kernel.
pub(crate) const TILE_WG: u32 = 256;
/// A side below this wastes most of a tile.
const NARROW: u64 = 16;

/// What the choice depends on besides the problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Preferred workgroup size of one-dimensional kernels.
    pub(crate) workgroup_size: u32,
    /// Most invocations per workgroup.
    pub(crate) max_invocations: u32,
    /// Most turns of its loops that an invocation takes.
    pub(crate) turns: u64,
}

/// The kernel and its fixed properties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// 64 × 64 tiles through workgroup memory.
    Tile(Tile),
    /// A row of lanes per output.
    Dot(Lanes),
}

/// How the tiled kernel loads and stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Tile {
    /// a is read four elements along k at a time.
    pub(crate) a_quads: bool,
    /// b is read four columns at a time.
    pub(crate) b_quads: bool,
    /// The output is written four columns at a time.
    pub(crate) out_quads: bool,
    /// Neighbouring invocations load neighbours along k.
    pub(crate) a_along_depth: bool,
    /// Neighbouring invocations load neighbours along k.
    pub(crate) b_along_depth: bool,
}

/// Chooses the kernel; the output starts at a multiple of four elements.
pub(crate) fn choose(p: &Problem, limits: Limits) -> Choice {
    if p.m >= NARROW && p.n >= NARROW && p.k > 0 && limits.max_invocations >= TILE_WG {
        return Choice::Tile(tile(p));
    }
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
    let lanes = lanes::choose(p.outputs(), p.k, side, true, limits.workgroup_size);
    Choice::Dot(lanes.within(p.k, 1, limits.turns))
}

fn tile(p: &Problem) -> Tile {
    let quad = |n: u64| n.is_multiple_of(4);
    let stride = |s: isize| s % 4 == 0;
    let batch = |operand: usize| {
        p.batch
            .iter()
            .all(|axis| axis.strides.get(operand).is_some_and(|&s| stride(s)))
    };
    Tile {
        a_quads: p.a_depth == 1 && quad(p.k) && stride(p.a_row) && p.a_aligned && batch(0),
        b_quads: p.b_col == 1 && quad(p.n) && stride(p.b_depth) && p.b_aligned && batch(1),
        out_quads: quad(p.n),
        a_along_depth: p.a_depth.abs() == 1 || p.a_row.abs() != 1,
        b_along_depth: p.b_depth.abs() == 1 && p.b_col.abs() != 1,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use ziggurat_core::{Layout, Shape};

    const LIMITS: Limits = Limits {
        workgroup_size: 256,
        max_invocations: 256,
        turns: 1 << 15,
    };

    fn layout(dims: &[usize]) -> Layout {
        Layout::contiguous(Shape::new(dims).unwrap())
    }

    fn chosen(a: &Layout, b: &Layout) -> Choice {
        choose(&Problem::new(a, b).unwrap().0, LIMITS)
    }

    #[test]
    fn aligned_matrices_move_in_quads() {
        let all = Tile {
            a_quads: true,
            b_quads: true,
            out_quads: true,
            a_along_depth: true,
            b_along_depth: false,
        };
        assert_eq!(
            chosen(&layout(&[64, 32]), &layout(&[32, 64])),
            Choice::Tile(all)
        );
    }

    #[test]
    fn odd_extents_and_offsets_move_word_by_word() {
        let Choice::Tile(t) = chosen(&layout(&[17, 19]), &layout(&[19, 23])) else {
            unreachable!("not tiled")
        };
        assert!(!t.a_quads && !t.b_quads && !t.out_quads);
        let sliced = layout(&[64, 33]).slice(1, 1, None, 1).unwrap();
        let Choice::Tile(t) = chosen(&sliced, &layout(&[32, 64])) else {
            unreachable!("not tiled")
        };
        assert!(!t.a_quads && t.b_quads);
    }

    #[test]
    fn transposed_operands_load_along_their_contiguous_side() {
        let (a, b) = (
            layout(&[32, 64]).transpose(0, 1).unwrap(),
            layout(&[64, 32]).transpose(0, 1).unwrap(),
        );
        let Choice::Tile(t) = chosen(&a, &b) else {
            unreachable!("not tiled")
        };
        assert!(!t.a_along_depth && t.b_along_depth && !t.a_quads && !t.b_quads);
    }

    #[test]
    fn vectors_and_small_devices_take_the_dot_kernel() {
        let side = |a: &Layout, b: &Layout| match chosen(a, b) {
            Choice::Dot(lanes) => lanes.side,
            Choice::Tile(tile) => unreachable!("{tile:?}"),
        };
        assert_eq!(side(&layout(&[1, 512]), &layout(&[512, 300])), Side::Kept);
        assert_eq!(
            side(
                &layout(&[1, 512]),
                &layout(&[300, 512]).transpose(0, 1).unwrap()
            ),
            Side::Reduced
        );
        assert_eq!(
            side(&layout(&[300, 512]), &layout(&[512, 1])),
            Side::Reduced
        );
        let p = Problem::new(&layout(&[64, 64]), &layout(&[64, 64]))
            .unwrap()
            .0;
        let small = Limits {
            workgroup_size: 64,
            max_invocations: 128,
            turns: 1 << 15,
        };
        assert!(matches!(choose(&p, small), Choice::Dot(_)));
        let empty = Problem::new(&layout(&[64, 0]), &layout(&[0, 64]))
            .unwrap()
            .0;
        assert!(matches!(choose(&empty, LIMITS), Choice::Dot(_)));
    }

    #[test]
    fn a_long_dot_product_is_cut_into_chunks() {
        let Choice::Dot(lanes) = chosen(&layout(&[1, 1 << 20]), &layout(&[1 << 20, 1])) else {
            unreachable!("not the dot kernel")
        };
        assert!(lanes.chunks > 1);
    }
}
