//! Which matmul kernel, as a pure function of the problem: the tiled kernel for matrices with two real sides, the dot
//! kernel for everything else (a vector on one side, tiny outputs, devices with small workgroups).

use super::problem::Problem;
use crate::limits::ability::Ability;
use crate::ops::reduce::axes::Axis;
use crate::ops::reduce::lanes::{self, Lanes, Side};
use crate::ops::tile::Tile;
use crate::ops::ways::Ways;

/// A side below this wastes most of a tile.
const NARROW: u64 = 16;

/// The kernel and its fixed properties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// Tiles through workgroup memory.
    Tile(Tiled),
    /// A row of lanes per output.
    Dot(Lanes),
}

/// A tile, and how the tiled kernel loads and stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Tiled {
    pub(crate) tile: Tile,
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

/// The ways to compute a product on a device; the output starts at a multiple of four elements.
pub(crate) fn ways(p: &Problem, ability: &Ability) -> Ways<Choice> {
    let dot = Choice::Dot(dot(p, ability));
    let fits = |tile: &Tile| p.k > 0 && tile.fits(ability);
    let tiles = Tile::ALL.into_iter().filter(fits);
    let mut tiles = tiles.map(|tile| Choice::Tile(tiled(p, tile)));
    // A side below the limit wastes most of a tile; smaller tiles than the default have not been measured.
    let filled = p.k > 0 && p.m >= NARROW && p.n >= NARROW && Tile::DEFAULT.fits(ability);
    if filled && let Some(default) = tiles.next() {
        return Ways::new(default, tiles.chain([dot]));
    }
    Ways::new(dot, tiles)
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

/// How the kernel of a tile loads and stores.
pub(crate) fn tiled(p: &Problem, tile: Tile) -> Tiled {
    let quad = |n: u64| n.is_multiple_of(4);
    let stride = |s: isize| s % 4 == 0;
    let batch = |operand: usize| {
        p.batch
            .iter()
            .all(|axis| axis.strides.get(operand).is_some_and(|&s| stride(s)))
    };
    Tiled {
        tile,
        a_quads: p.a_depth == 1 && quad(p.k) && stride(p.a_row) && p.a_aligned && batch(0),
        b_quads: p.b_col == 1 && quad(p.n) && stride(p.b_depth) && p.b_aligned && batch(1),
        out_quads: quad(p.n),
        a_along_depth: p.a_depth.abs() == 1 || p.a_row.abs() != 1,
        b_along_depth: p.b_depth.abs() == 1 && p.b_col.abs() != 1,
    }
}

/// Problems that reach every way to load and store, for the catalogue.
pub(crate) fn samples() -> Vec<Problem> {
    let dense = |[m, k, n]: [u32; 3], b_aligned| {
        let stride = |n: u32| n as isize;
        Problem {
            m: m.into(),
            n: n.into(),
            k: k.into(),
            batch: vec![Axis {
                dim: 2,
                strides: [stride(m * k), stride(k * n)],
            }],
            a_aligned: true,
            b_aligned,
            a_row: stride(k),
            a_depth: 1,
            b_depth: stride(n),
            b_col: 1,
        }
    };
    let tiles = [32, 33].map(|k| {
        [
            dense([64, k, 64], true),
            dense([64, k, 64], false),
            dense([64, k, 65], true),
        ]
    });
    let dots = [dense([1, 64, 4], true), dense([1, 1 << 16, 4], true)];
    tiles.into_iter().flatten().chain(dots).collect()
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
        ways(&Problem::new(a, b).unwrap().0, &Ability::WEBGPU).default
    }

    #[test]
    fn aligned_matrices_move_in_quads() {
        let all = Tiled {
            tile: Tile::DEFAULT,
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
        let small = Ability {
            workgroup_size: 64,
            invocations: 128,
            ..Ability::WEBGPU
        };
        assert!(matches!(ways(&p, &small).default, Choice::Dot(_)));
        let empty = Problem::new(&layout(&[64, 0]), &layout(&[0, 64]))
            .unwrap()
            .0;
        assert!(matches!(
            ways(&empty, &Ability::WEBGPU).default,
            Choice::Dot(_)
        ));
    }

    #[test]
    fn a_long_dot_product_is_cut_into_chunks() {
        let Choice::Dot(lanes) = chosen(&layout(&[1, 1 << 20]), &layout(&[1 << 20, 1])) else {
            unreachable!("not the dot kernel")
        };
        assert!(lanes.chunks > 1);
    }

    #[test]
    fn there_is_a_way_for_each_tile_that_fits_and_the_dot_kernel() {
        let tiles = |m: usize, invocations: u32| -> Vec<Option<Tile>> {
            let p = Problem::new(&layout(&[m, 64]), &layout(&[64, 64]));
            let ability = Ability {
                invocations,
                ..Ability::WEBGPU
            };
            let ways = ways(&p.unwrap().0, &ability);
            let tile = |way| match way {
                Choice::Tile(tiled) => Some(tiled.tile),
                Choice::Dot(_) => None,
            };
            ways.all().map(tile).collect()
        };
        let [default, small, wide] = Tile::ALL.map(Some);
        assert_eq!(tiles(64, 256), [default, small, wide, None]);
        assert_eq!(tiles(64, 128), [None, small, wide]);
        assert_eq!(tiles(8, 256), [None, default, small, wide]);
        assert_eq!(tiles(64, 32), [None]);
    }

    #[test]
    fn samples_reach_every_way_to_load_and_store() {
        let mut loads = std::collections::BTreeSet::new();
        let mut chunked = [false; 2];
        for p in samples() {
            for way in ways(&p, &Ability::WEBGPU).all() {
                match way {
                    Choice::Tile(t) => {
                        loads.insert((t.tile.cols, t.tile.rows, t.a_quads, t.b_quads, t.out_quads));
                    }
                    Choice::Dot(lanes) => chunked[usize::from(lanes.chunks > 1)] = true,
                }
            }
        }
        // b never moves in vectors where the output does not.
        assert_eq!(loads.len(), 2 * 3 * Tile::ALL.len(), "{loads:?}");
        assert_eq!(chunked, [true, true]);
    }
}
