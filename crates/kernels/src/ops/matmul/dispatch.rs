//! What is dispatched for each way to multiply: kernel, parameters, grid.

use ziggurat_pipeline::Grid;

use super::MatmulParams;
use super::choose::{self, Narrow, Tiled};
use super::dtypes::DTypes;
use super::kernel::{Computes, Writes, dot, narrow, tiled};
use super::problem::Problem;
use crate::num::{pack, saturated, wrap};
use crate::ops::reduce::lanes::Lanes;
use crate::source::choice::KernelChoice;

pub(super) fn params(p: &Problem) -> MatmulParams {
    let strides = |operand: usize| {
        pack(
            p.batch
                .iter()
                .map(|axis| wrap(axis.strides.get(operand).copied().unwrap_or(0))),
        )
    };
    MatmulParams {
        m: saturated(p.m),
        n: saturated(p.n),
        k: saturated(p.k),
        batch: saturated(p.batches()),
        chunks: 1,
        chunk_len: saturated(p.k),
        a_row: wrap(p.a_row),
        a_depth: wrap(p.a_depth),
        b_depth: wrap(p.b_depth),
        b_col: wrap(p.b_col),
        dims: pack(p.batch.iter().map(|axis| saturated(axis.dim))),
        a_strides: strides(0),
        b_strides: strides(1),
        ..MatmulParams::default()
    }
}

/// Parameters and grid of kernels that cover an output with so many tiles.
pub(super) fn counted(
    p: &Problem,
    params: MatmulParams,
    [tiles_m, tiles_n]: [u64; 2],
    invocations: u32,
) -> (MatmulParams, Grid) {
    let groups = tiles_m.saturating_mul(tiles_n).saturating_mul(p.batches());
    let params = MatmulParams {
        tiles_m: saturated(tiles_m),
        tiles_n: saturated(tiles_n),
        ..params
    };
    let invocations = groups.saturating_mul(u64::from(invocations));
    (params, Grid::elements(invocations, 1))
}

/// The dispatch of tiles that write results, or sums of a part of the inner extent; offsets come with the bindings.
pub(super) fn dispatch_tiles(
    p: &Problem,
    tile: Tiled,
    dtypes: DTypes,
    writes: Writes,
) -> (KernelChoice, MatmulParams, Grid) {
    let choice = tiled(dtypes, p.batch.len(), tile, writes, Computes::Every);
    let tile = tile.tile;
    let (params, grid) = counted(p, params(p), tile.count(p.m, p.n), tile.invocations());
    (choice, params, grid)
}

/// The same of the kernel of few rows.
pub(super) fn dispatch_narrow(
    p: &Problem,
    lies: &Narrow,
    dtypes: DTypes,
) -> (KernelChoice, MatmulParams, Grid) {
    let choice = narrow(dtypes, p.batch.len(), lies);
    let p = if lies.columns { &p.flipped() } else { p };
    let (params, grid) = counted(p, params(p), lies.count(p.m, p.n), choose::NARROW_GROUP);
    (choice, params, grid)
}

/// The same of lanes for each output.
pub(super) fn dispatch_dot(
    p: &Problem,
    lanes: &Lanes,
    dtypes: DTypes,
) -> (KernelChoice, MatmulParams, Grid) {
    let params = MatmulParams {
        chunks: lanes.chunks,
        chunk_len: lanes.chunk_len,
        ..params(p)
    };
    let grid = Grid::elements(lanes.invocations(p.outputs()), 1);
    (dot(dtypes, p.batch.len(), lanes), params, grid)
}
