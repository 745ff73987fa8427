//! Products of f32 and bf16 on matrix units that multiply f16: both operands are packed first, each line (a row of a, a
//! column of b) scaled by a power of two, f32 as two f16 for each element, or as one where 11 bits do.
//!
//! Three dispatches: one packs and flags lines that f16 has no room for, one computes tiles and flags those that it leaves out, one
//! computes these by the kernel of wide tiles. Which is which is known on the device alone.
//! Invariant: every output is written by exactly one of the two, and by the same one on every run.

use ziggurat_core::{DType, Shape};
use ziggurat_pipeline::Grid;

use super::choose::{Load, Tiled, loads, tiled, units_tile};
use super::dispatch::{counted, params as params_of};
use super::dtypes::DTypes;
use super::kernel::{self, Computes, Writes, pack};
use super::precision::MatmulPrecision;
use super::problem::Problem;
use super::{MatmulParams, operands_of};
use crate::limits::ability::Ability;
use crate::num::{pack as packed_array, saturated};
use crate::ops::tile::Tile;
use crate::run::error::KernelError;
use crate::run::plan::{Bound, Planner};
use crate::tune::WayName;

/// Lines of a workgroup that packs, which are flagged together.
const LINES: u64 = 16;
/// Its invocations.
pub(super) const PACK_GROUP: u32 = 256;
/// Words that it leaves: an exponent for each line, and one for what f16 has no room for.
const WORDS: u64 = LINES + 1;

/// How an operand is read by what packs it, as if it were a.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Operand {
    pub(super) load: Load,
    pub(super) along_depth: bool,
}

/// A product of packed operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Packed {
    /// How tiles of packed lines are computed.
    pub(super) tile: Tiled,
    /// How the others are.
    pub(super) flagged: Tiled,
    pub(super) operands: [Operand; 2],
}

/// The tile that computes packed operands of a dtype.
pub(super) const fn tile(dtype: DType, precision: MatmulPrecision) -> Option<Tile> {
    match dtype {
        DType::F32 if !precision.is_reduced() => Some(Tile::SPLIT),
        DType::F32 | DType::BF16 => Some(Tile::COOPERATIVE),
        _ => None,
    }
}

/// Elements of the inner extent as they are packed, and the f16 of a line.
fn line(tile: Tile, k: u64) -> u64 {
    let depth = u64::from(tile.depth);
    k.div_ceil(depth) * u64::from(tile.halves())
}

impl Packed {
    /// The product, if a device can compute it so.
    pub(super) fn new(p: &Problem, dtype: DType, ability: &Ability) -> Option<Self> {
        let tile = tile(dtype, p.precision)?;
        let flagged = Tile::WIDE;
        let can = [tile, flagged]
            .iter()
            .all(|tile| tile.fits(ability) && tile.iterations(p.k) <= ability.loop_budget);
        let lines = p.m.max(p.n).next_multiple_of(LINES);
        let bytes = p
            .batches()
            .saturating_mul(lines)
            .saturating_mul(2 * line(tile, p.k));
        if p.k == 0 || !can || bytes > ability.binding_bytes {
            return None;
        }
        let [a, b] = loads(p);
        let flagged = tiled(p, flagged);
        Some(Self {
            tile: Tiled {
                tile,
                a: Load::Along,
                b: Load::Along,
                out_vec4: flagged.out_vec4,
                a_along_depth: true,
                b_along_depth: true,
                whole: true,
            },
            flagged,
            operands: [(a, flagged.a_along_depth), (b, flagged.b_along_depth)]
                .map(|(load, along_depth)| Operand { load, along_depth }),
        })
    }

    /// Whether its tiles keep every part of a device busy.
    pub(super) fn fills(self, p: &Problem, ability: &Ability) -> bool {
        match self.tile.tile {
            Tile::COOPERATIVE => units_tile(p, Tile::COOPERATIVE_64, ability) == Tile::COOPERATIVE,
            tile => tile.fills(p.m, p.n, p.batches(), ability),
        }
    }

    /// As tuning calls it.
    pub(super) const fn name(self) -> WayName {
        self.tile.tile.name("packed")
    }

    /// The tiles that compute every output from the operands as they are.
    pub(super) fn every_tile(self, p: &Problem) -> Tiled {
        tiled(p, self.flagged.tile)
    }

    /// Both kernels of tiles, and what each computes.
    pub(super) const fn kernels(self) -> [(Tiled, Computes); 2] {
        let flagged = Computes::Flagged(self.tile.tile.rows);
        [(self.tile, Computes::Packed), (self.flagged, flagged)]
    }

    /// Batch axes of packed operands.
    pub(super) fn batch_axes(p: &Problem) -> usize {
        usize::from(p.batches() > 1)
    }

    /// Adds the dispatches.
    pub(super) fn steps(
        self,
        plan: &mut Planner<'_>,
        p: &Problem,
        dtypes: DTypes,
    ) -> Result<(), KernelError> {
        let [left, right] = operands_of(plan, p)?;
        let tile = self.tile.tile;
        let (axes, batches) = (p.batch.len(), p.batches());
        let row = line(tile, p.k);
        let blocks = [p.m, p.n].map(|lines| lines.div_ceil(LINES) * batches);
        let whole = MatmulParams {
            a_offset: left.offset,
            b_offset: right.offset,
            ..params_of(p)
        };
        let mut scratch = |len, dtype| plan.scratch(shape(len)?, dtype);
        let lines = [
            scratch(blocks[0] * LINES * row, DType::F16)?,
            scratch(blocks[1] * LINES * row, DType::F16)?,
        ];
        let groups = blocks[0] + blocks[1];
        let scales = scratch(groups * WORDS, DType::I32)?;
        let [tile_rows, tile_cols] = tile.count(p.m, p.n);
        let tiles = tile_rows.saturating_mul(tile_cols).saturating_mul(batches);
        let flags: Bound = scratch(tiles, DType::U32)?;
        let choice = pack(dtypes, axes, self.operands, tile);
        let bindings = [left, right, lines[0], lines[1], scales];
        let grid = Grid::elements(groups * u64::from(PACK_GROUP), 1);
        plan.step(choice, bindings, &whole, grid);

        let out = plan.out()?;
        let kernel =
            |axes, (tile, computes)| kernel::tiled(dtypes, axes, tile, Writes::Results, computes);
        let [packed, others] = self.kernels();
        let whole = MatmulParams {
            out_offset: out.offset,
            ..whole
        };

        let stride = |blocks: u64| {
            let batch = saturated(blocks / batches * LINES).wrapping_mul(saturated(row));
            packed_array((batches > 1).then_some(batch))
        };
        let params = MatmulParams {
            k: saturated(row),
            a_offset: 0,
            b_offset: 0,
            a_row: saturated(row),
            a_depth: 1,
            b_depth: 1,
            b_col: saturated(row),
            dims: packed_array((batches > 1).then_some(saturated(batches))),
            a_strides: stride(blocks[0]),
            b_strides: stride(blocks[1]),
            ..whole
        };
        let (params, grid) = counted(p, params, tile.count(p.m, p.n), tile.invocations());
        let choice = kernel(Self::batch_axes(p), packed);
        let [a, b] = lines.map(Bound::read);
        plan.last(choice, [a, b, out, scales.read(), flags], &params, grid);

        let flagged = self.flagged.tile;
        let count = flagged.count(p.m, p.n);
        let (params, grid) = counted(p, whole, count, flagged.invocations());
        let choice = kernel(axes, others);
        plan.last(choice, [left, right, out, flags.read()], &params, grid);
        Ok(())
    }
}

fn shape(len: u64) -> Result<Shape, KernelError> {
    Shape::new([usize::try_from(len).unwrap_or(usize::MAX)]).map_err(KernelError::shape(super::OP))
}
