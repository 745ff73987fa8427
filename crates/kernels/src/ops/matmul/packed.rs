//! Products of f32 and bf16 on matrix units that multiply f16: both operands are packed first, each line (a row of a, a
//! column of b) scaled by a power of two, f32 as two f16 for each element, or as one where 11 bits do.
//!
//! Three dispatches: one packs and flags lines that f16 has no room for, one computes the tiles without such lines, one the
//! others by the kernel of wide tiles. Which is which is known on the device alone. Where tiles are few, several workgroups
//! share the inner extent of each; both kernels then leave the sums of every share, and a fourth dispatch adds them.
//! Invariant: every output (with shares: every sum) is written by exactly one of the two, and by the same one on every run.

use ziggurat_core::{DType, Shape};
use ziggurat_pipeline::Grid;

use super::MatmulParams;
use super::choose::{Load, Tiled, loads, tiled};
use super::dispatch::{counted, params as params_of};
use super::dtypes::DTypes;
use super::kernel::{self, Computes, Writes, pack};
use super::precision::MatmulPrecision;
use super::problem::Problem;
use super::shares::{self, share_of};
use crate::limits::ability::Ability;
use crate::num::{pack as packed_array, saturated};
use crate::ops::reduce::add_layers;
use crate::ops::tile::{Tile, TileKind};
use crate::run::error::KernelError;
use crate::run::plan::{Bound, Planner};
use crate::tune::WayName;

/// Lines of a workgroup that packs, which are flagged together.
const LINES: u64 = 16;
/// Its invocations.
pub(super) const PACK_GROUP: u32 = 256;
/// Words that it leaves: an exponent for each line, and a flag.
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
    /// How many workgroups share the inner extent of a tile.
    pub(super) shares: u32,
}

/// The tiles that can compute packed operands of a dtype, the larger first.
pub(super) const fn tiles(dtype: DType, precision: MatmulPrecision) -> &'static [Tile] {
    match dtype {
        DType::F32 if precision.is_reduced() => &[Tile::COOPERATIVE, Tile::COOPERATIVE_64],
        DType::F32 => &[Tile::SPLIT],
        DType::BF16 => &[Tile::COOPERATIVE, Tile::COOPERATIVE_64],
        _ => &[],
    }
}

/// Elements of the inner extent as they are packed, and the f16 of a line.
fn line(tile: Tile, k: u64) -> u64 {
    let depth = u64::from(tile.depth);
    k.div_ceil(depth) * u64::from(tile.halves())
}

impl Packed {
    /// The product by one of [`tiles`] in so many shares, if a device can compute it so.
    pub(super) fn new(p: &Problem, tile: Tile, shares: u32, ability: &Ability) -> Option<Self> {
        let flagged = Tile::WIDE;
        let can = [tile, flagged]
            .iter()
            .all(|tile| tile.fits(ability) && tile.iterations(p.k) <= ability.loop_budget);
        let lines = p.m.max(p.n).next_multiple_of(LINES);
        let bytes = p
            .batches()
            .saturating_mul(lines)
            .saturating_mul(2 * line(tile, p.k));
        let shared = shares == 1 || shares::fits(p, shares, tile, DType::F32, ability);
        if p.k == 0 || !can || !shared || bytes > ability.binding_bytes {
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
            shares,
            operands: [(a, flagged.a_along_depth), (b, flagged.b_along_depth)]
                .map(|(load, along_depth)| Operand { load, along_depth }),
        })
    }

    /// As tuning calls it: rows and columns of a tile, and how many share it.
    pub(super) const fn name(self) -> WayName {
        let Tile { rows, cols, .. } = self.tile.tile;
        WayName::new("packed", [rows, cols, self.shares])
    }

    /// The tiles that compute every output from the operands as they are.
    pub(super) fn every_tile(self, p: &Problem) -> Tiled {
        tiled(p, self.flagged.tile)
    }

    /// The product that the kernel of flagged tiles computes, of whose batch axes the outermost are shares.
    pub(super) fn shared(self, p: &Problem) -> Problem {
        match self.shares {
            1 => p.clone(),
            shares => share_of(p, shares),
        }
    }

    /// Batch axes of packed operands.
    pub(super) fn batch_axes(self, p: &Problem) -> usize {
        usize::from(p.batches() > 1) + usize::from(self.shares > 1)
    }

    /// What the kernels of tiles leave.
    pub(super) const fn writes(self) -> Writes {
        match self.shares {
            1 => Writes::Results,
            _ => Writes::Sums,
        }
    }

    /// Adds the dispatches.
    pub(super) fn steps(
        self,
        plan: &mut Planner<'_>,
        p: &Problem,
        dtypes: DTypes,
    ) -> Result<(), KernelError> {
        let (left, right) = (plan.first()?, plan.needed(0)?);
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
        let choice = pack(dtypes, axes, self.operands, tile);
        let bindings = [left, right, lines[0], lines[1], scales];
        let grid = Grid::elements(groups * u64::from(PACK_GROUP), 1);
        plan.step(choice, bindings, &whole, grid);

        // Without shares the output itself, and dispatches that an epilogue joins.
        let shared = self.shares > 1;
        let out = match shared {
            true => plan.partials(DType::F32, p.outputs(), self.shares)?,
            false => plan.out()?,
        };
        let bind = |[a, b]: [Bound; 2]| [a, b, out, scales.read()];
        let mut add = |choice, operands, params: &MatmulParams, grid| match shared {
            true => plan.step(choice, bind(operands), params, grid),
            false => plan.last(choice, bind(operands), params, grid),
        };
        let of_shares = self.shared(p);
        let kernel =
            |axes, tile, computes| kernel::tiled(dtypes, axes, tile, self.writes(), computes);
        let whole = MatmulParams {
            out_offset: out.offset,
            chunks: self.shares,
            ..whole
        };

        let stride = |blocks: u64| {
            let batch = saturated(blocks / batches * LINES).wrapping_mul(saturated(row));
            let each = row / u64::from(self.shares);
            let share = match tile.kind {
                // Of blocks of so many lines.
                TileKind::Split => each * LINES,
                _ => each,
            };
            let axes = [(shared, saturated(share)), (batches > 1, batch)];
            packed_array(
                axes.into_iter()
                    .filter_map(|(is, stride)| is.then_some(stride)),
            )
        };
        let axes = [(shared, u64::from(self.shares)), (batches > 1, batches)];
        let params = MatmulParams {
            k: saturated(row / u64::from(self.shares)),
            a_offset: 0,
            b_offset: 0,
            a_row: saturated(row),
            a_depth: 1,
            b_depth: 1,
            b_col: saturated(row),
            batch: saturated(of_shares.batches()),
            dims: packed_array(
                axes.into_iter()
                    .filter_map(|(is, dim)| is.then_some(saturated(dim))),
            ),
            a_strides: stride(blocks[0]),
            b_strides: stride(blocks[1]),
            ..whole
        };
        let count = tile.count(p.m, p.n);
        let (params, grid) = counted(&of_shares, params, count, tile.invocations());
        let choice = kernel(self.batch_axes(p), self.tile, Computes::Packed);
        add(choice, lines.map(Bound::read), &params, grid);

        let flagged = self.flagged.tile;
        let params = MatmulParams {
            a_offset: left.offset,
            b_offset: right.offset,
            out_offset: out.offset,
            chunks: self.shares,
            ..params_of(&of_shares)
        };
        let count = flagged.count(p.m, p.n);
        let (params, grid) = counted(&of_shares, params, count, flagged.invocations());
        let choice = kernel(of_shares.batch.len(), self.flagged, Computes::FlaggedLines);
        add(choice, [left, right], &params, grid);
        if shared {
            let (dtype, out_of_all) = (dtypes.read(), plan.out()?);
            let layers = (out.read(), self.shares);
            add_layers(plan, dtype, layers, [p.outputs(), p.k], out_of_all);
        }
        Ok(())
    }
}

fn shape(len: u64) -> Result<Shape, KernelError> {
    Shape::new([usize::try_from(len).unwrap_or(usize::MAX)]).map_err(KernelError::shape(super::OP))
}
