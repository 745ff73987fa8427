//! What is dispatched for each way to multiply: kernel, parameters, grid.

use ziggurat_pipeline::Grid;

use super::MatmulParams;
use super::choose::{self, Choice};
use super::dtypes::DTypes;
use super::kernel::{Writes, dot, narrow, tiled};
use super::problem::Problem;
use crate::num::{pack, saturated, wrap};
use crate::source::choice::KernelChoice;

fn params(p: &Problem) -> MatmulParams {
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

/// The dispatch of a way that writes results, or sums of chunks; offsets come with the bindings.
pub(super) fn dispatch(
    p: &Problem,
    way: Choice,
    dtypes: DTypes,
) -> (KernelChoice, MatmulParams, Grid) {
    let (params, axes) = (params(p), p.batch.len());
    let counted = |[tiles_m, tiles_n]: [u64; 2], invocations: u32| {
        let groups = tiles_m.saturating_mul(tiles_n).saturating_mul(p.batches());
        let params = MatmulParams {
            tiles_m: saturated(tiles_m),
            tiles_n: saturated(tiles_n),
            ..params
        };
        let invocations = groups.saturating_mul(u64::from(invocations));
        (params, Grid::elements(invocations, 1))
    };
    match way {
        Choice::Tile(tile) => {
            let choice = tiled(dtypes, axes, tile, Writes::Results);
            let tile = tile.tile;
            let (params, grid) = counted(tile.count(p.m, p.n), tile.invocations());
            (choice, params, grid)
        }
        Choice::Narrow(lies) => {
            let choice = narrow(dtypes, axes, &lies);
            let (params, grid) = counted(lies.count(p.m, p.n), choose::NARROW_GROUP);
            (choice, params, grid)
        }
        Choice::Dot(lanes) => {
            let params = MatmulParams {
                chunks: lanes.chunks,
                chunk_len: lanes.chunk_len,
                ..params
            };
            let grid = Grid::elements(lanes.invocations(p.outputs()), 1);
            (dot(dtypes, axes, &lanes), params, grid)
        }
    }
}
