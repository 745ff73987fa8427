//! Products of bf16, and of f32 of which 11 bits do, on matrix units that multiply f16: operands become f16 on their way into
//! workgroup memory, by a power of two for each tile.
//!
//! Two dispatches: tiles on matrix units, which flag where f16 has no room for an element, and wide tiles that compute what is
//! flagged. Which is which is known on the device alone. Where tiles are few, several workgroups share the inner extent of each;
//! both kernels then leave the sums of every share, and a third dispatch adds them.
//! Invariant: every output (with shares: every sum) is written by exactly one of the two, and by the same one on every run.

use ziggurat_core::{DType, Shape};

use super::MatmulParams;
use super::choose::{Load, Tiled, tiled};
use super::dispatch::{counted, params as params_of};
use super::dtypes::DTypes;
use super::kernel::{self, Computes, Writes};
use super::precision::MatmulPrecision;
use super::problem::Problem;
use super::shares::{self, share_of};
use crate::limits::ability::Ability;
use crate::ops::reduce::add_layers;
use crate::ops::tile::Tile;
use crate::run::error::KernelError;
use crate::run::plan::{Bound, Planner};
use crate::tune::WayName;

/// A product whose operands become f16 tile by tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Scaled {
    pub(super) tile: Tiled,
    /// How what it flags is computed.
    pub(super) flagged: Tiled,
    /// How many workgroups share the inner extent of a tile.
    pub(super) shares: u32,
}

/// The tiles that can compute a dtype so, the larger first.
pub(super) const fn tiles(dtype: DType, precision: MatmulPrecision) -> &'static [Tile] {
    match dtype {
        DType::F32 if precision.is_reduced() => &[Tile::COOPERATIVE, Tile::COOPERATIVE_64],
        DType::BF16 => &[Tile::COOPERATIVE, Tile::COOPERATIVE_64],
        _ => &[],
    }
}

impl Scaled {
    /// The product by one of [`tiles`] in so many shares, if a device can compute it so.
    pub(super) fn new(p: &Problem, tile: Tile, shares: u32, ability: &Ability) -> Option<Self> {
        let flagged = Tile::WIDE;
        let each = share_of(p, shares);
        let can = [tile, flagged]
            .iter()
            .all(|tile| tile.fits(ability) && tile.iterations(each.k) <= ability.loop_budget);
        let shared = shares == 1 || shares::fits(p, shares, tile, DType::F32, ability);
        let lies = tiled(&each, tile);
        let in_vectors = [lies.a, lies.b].iter().all(|load| *load != Load::Words);
        let units = ability.subgroup == 32 && p.one_dtype;
        (p.k > 0 && can && shared && in_vectors && units).then(|| Self {
            tile: lies,
            flagged: tiled(&each, flagged),
            shares,
        })
    }

    /// As tuning calls it: rows and columns of a tile, and how many share it.
    pub(super) const fn name(self) -> WayName {
        let Tile { rows, cols, .. } = self.tile.tile;
        WayName::new("scaled", [rows, cols, self.shares])
    }

    /// The tiles that compute every output without matrix units.
    pub(super) fn every_tile(self, p: &Problem) -> Tiled {
        tiled(p, self.flagged.tile)
    }

    /// The product that its kernels compute, of whose batch axes the outermost are shares.
    pub(super) fn shared(self, p: &Problem) -> Problem {
        match self.shares {
            1 => p.clone(),
            shares => share_of(p, shares),
        }
    }

    /// What the kernels of tiles leave.
    pub(super) const fn writes(self) -> Writes {
        match self.shares {
            1 => Writes::Results,
            _ => Writes::Sums,
        }
    }

    /// Both kernels of tiles, and what each computes.
    pub(super) const fn kernels(self) -> [(Tiled, Computes); 2] {
        let flags = Computes::FlaggedTiles(self.tile.tile.rows);
        [(self.tile, Computes::Scaled), (self.flagged, flags)]
    }

    /// Adds the dispatches.
    pub(super) fn steps(
        self,
        plan: &mut Planner<'_>,
        p: &Problem,
        dtypes: DTypes,
    ) -> Result<(), KernelError> {
        let (left, right) = (plan.first()?, plan.needed(0)?);
        let shared = self.shares > 1;
        let out = match shared {
            true => plan.partials(DType::F32, p.outputs(), self.shares)?,
            false => plan.out()?,
        };
        let each = self.shared(p);
        let [rows, cols] = self.tile.tile.count(p.m, p.n);
        let tiles = rows.saturating_mul(cols).saturating_mul(each.batches());
        let flags: Bound = plan.scratch(shape(tiles)?, DType::U32)?;
        let params = MatmulParams {
            a_offset: left.offset,
            b_offset: right.offset,
            out_offset: out.offset,
            ..params_of(&each)
        };
        for ((tile, computes), flags) in self.kernels().into_iter().zip([flags, flags.read()]) {
            let choice = kernel::tiled(dtypes, each.batch.len(), tile, self.writes(), computes);
            let tile = tile.tile;
            let count = tile.count(p.m, p.n);
            let (params, grid) = counted(&each, params, count, tile.invocations());
            let bindings = [left, right, out, flags];
            match shared {
                true => plan.step(choice, bindings, &params, grid),
                false => plan.last(choice, bindings, &params, grid),
            }
        }
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
