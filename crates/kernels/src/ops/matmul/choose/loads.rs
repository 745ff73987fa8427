//! How kernels of products read their operands and write results.

use crate::ops::matmul::problem::Problem;
use crate::ops::tile::{Tile, TileKind};

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
    pub(crate) out_vec4: bool,
    /// Neighbouring invocations load neighbours along k.
    pub(crate) a_along_depth: bool,
    /// Neighbouring invocations load neighbours along k.
    pub(crate) b_along_depth: bool,
    /// k is a multiple of the tile's depth.
    pub(crate) whole: bool,
}

/// How the operands of a problem can be read.
pub(in crate::ops::matmul) fn loads(p: &Problem) -> [Load; 2] {
    let vec4 = |n: u64| n.is_multiple_of(4);
    let stride = |s: isize| s % 4 == 0;
    let batch = |operand: usize| {
        p.batch
            .iter()
            .all(|axis| axis.strides.get(operand).is_some_and(|&s| stride(s)))
    };
    let a = match [p.a_depth, p.a_row] {
        _ if !(p.a_aligned && batch(0)) => Load::Words,
        [1, row] if vec4(p.k) && stride(row) => Load::Along,
        [depth, 1] if vec4(p.m) && stride(depth) => Load::Across,
        _ => Load::Words,
    };
    let b = match [p.b_depth, p.b_col] {
        _ if !(p.b_aligned && batch(1)) => Load::Words,
        [depth, 1] if vec4(p.n) && stride(depth) => Load::Across,
        [1, col] if vec4(p.k) && stride(col) => Load::Along,
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
        out_vec4: p.n.is_multiple_of(4),
        a_along_depth: p.a_depth.abs() == 1 || p.a_row.abs() != 1,
        b_along_depth: p.b_depth.abs() == 1 && p.b_col.abs() != 1,
        whole: p.k.is_multiple_of(u64::from(tile.depth)),
    }
}
