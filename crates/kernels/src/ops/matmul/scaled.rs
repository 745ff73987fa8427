//! Products of bf16 and f32 on matrix units that multiply f16: operands become f16 on their way into workgroup memory, by a power
//! of two for each tile; an f32 becomes two, or one where 11 bits do.
//!
//! Two dispatches: tiles on matrix units, which flag where f16 has no room for an element, and wide tiles that compute what is
//! flagged. Which is which is known on the device alone. Where tiles are few, several workgroups share the inner extent of each;
//! both kernels then leave the sums of every share, and a third dispatch adds them.
//! Invariant: every output (with shares: every sum) is written by exactly one of the two, and by the same one on every run.

use ziggurat_core::{DType, Shape};

use super::choose::{Load, Tiled, loads, tiled};
use super::dispatch::{counted, params as params_of};
use super::dtypes::DTypes;
use super::kernel::{self, Computes, Writes};
use super::precision::MatmulPrecision;
use super::problem::Problem;
use super::shares::{self, share_of};
use super::{MatmulParams, operands_of};
use crate::limits::ability::Ability;
use crate::ops::reduce::add_layers;
use crate::ops::tile::Tile;
use crate::run::error::KernelError;
use crate::run::plan::{Bound, Planner};
use crate::tune::WayName;

/// The inner extent of a share of a tile.
const SHARE_DEPTH: u64 = 512;
const LEAST_SHARE: u64 = 128;
/// Workgroups of shares that keep a device busy, in eighths of those that it has room for: on an H100 64 and 128 × 4096² are the
/// fastest by 256 workgroups of 128 invocations, 64 × 4096 × 11008 by 344 and more.
const SHARES_EIGHTHS: u64 = 3;
const MOST_SHARES: u64 = 8;

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
        DType::F32 => &[Tile::PIECES],
        DType::BF16 => &[Tile::COOPERATIVE, Tile::COOPERATIVE_64],
        _ => &[],
    }
}

impl Scaled {
    /// The product by one of [`tiles`] in so many shares, if a device can compute it so.
    pub(super) fn new(
        p: &Problem,
        dtype: DType,
        (tile, shares): (Tile, u32),
        ability: &Ability,
    ) -> Option<Self> {
        let flagged = Tile::WIDE;
        let each = share_of(p, shares);
        let can = [tile, flagged]
            .iter()
            .all(|tile| tile.fits(ability) && tile.iterations(each.k) <= ability.loop_budget);
        let equal = p.k.is_multiple_of(u64::from(shares));
        let shared = shares == 1 || equal && shares::has_room(p, shares, DType::F32, ability);
        let scaled = Self {
            tile: tiled(&each, tile),
            flagged: tiled(&each, flagged),
            shares,
        };
        // Half a word at a time takes four times as long as packing.
        let can_read = dtype != DType::BF16 || scaled.reads_vectors();
        (p.k > 0 && can && shared && can_read && p.one_dtype).then_some(scaled)
    }

    fn reads_vectors(&self) -> bool {
        [self.tile.a, self.tile.b]
            .iter()
            .all(|load| *load != Load::Words)
    }

    /// The large tile, if it keeps most of a device busy and outputs fill it, or the small one, in as many shares as pay.
    pub(super) fn paying(p: &Problem, dtype: DType, ability: &Ability) -> Option<Self> {
        let tiles = tiles(dtype, p.precision);
        let all = tiles.iter().filter_map(|tile| {
            let [rows, cols] = tile.count(p.m, p.n);
            let groups = rows.saturating_mul(cols).saturating_mul(p.batches());
            let busy = ability.busy_groups * SHARES_EIGHTHS / 8;
            // Of small tiles four shares of half the depth pay where two do, and shallower ones where each has a multiprocessor of
            // its own: on an H200 256 × 1024 × 1024 of f32 24.5 µs instead of 28, 17 × 512 × 2048 14.8 instead of 23.6.
            let deep = p.k / SHARE_DEPTH;
            let alone = groups.saturating_mul(4 * 8) <= ability.busy_groups;
            let deep = if tile.rows == 64 && (deep >= 2 || alone) {
                deep.max(4.min(p.k / LEAST_SHARE))
            } else {
                deep
            };
            let room = (busy / groups.max(1)).min(deep);
            // Shares fill a wave of workgroups that tiles would leave half empty: on an H200, whose multiprocessors have two at a
            // time, 128 × 4096 × 11008, 344 tiles, of f32 319 µs in 4 shares, 374 in one, 64 × 4096 × 11008 176 in 4, 198 in two.
            let wave = ability.busy_groups / 4;
            let waves = groups.div_ceil(wave.max(1));
            let half_empty = groups.saturating_mul(7) <= waves.saturating_mul(wave * 5);
            let fills = tile.rows == 64 && half_empty && (wave / 2..wave * 2).contains(&groups);
            let room = if fills && deep >= 8 {
                room.max(4)
            } else {
                room
            };
            let several = (2..=room.min(MOST_SHARES) as u32).rev();
            // Shares are read in vectors where the product is.
            let alike = |shares: &u32| loads(&share_of(p, *shares)) == loads(p);
            let mut shared = several
                .filter(alike)
                .filter_map(|shares| Self::new(p, dtype, (*tile, shares), ability));
            let whole = || Self::new(p, dtype, (*tile, 1), ability).filter(Self::reads_vectors);
            let scaled = shared.next().or_else(whole)?;
            Some((scaled, groups.saturating_mul(u64::from(scaled.shares))))
        });
        let mut all: Vec<_> = all.collect();
        let small = all.pop()?.0;
        let fills = |tile: Tile| p.m.min(p.n) > u64::from(tile.rows / 2);
        let large = all.into_iter().find(|(scaled, groups)| {
            // On an H100 128 workgroups are slower than small tiles (1024 cubed), 172 faster (128 × 4096 × 11008).
            fills(scaled.tile.tile) && groups.saturating_mul(6) >= ability.busy_groups
        });
        Some(large.map_or(small, |(large, _)| large))
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
        let flags = Computes::Flagged(self.tile.tile.rows);
        [(self.tile, Computes::Scaled), (self.flagged, flags)]
    }

    /// Adds the dispatches.
    pub(super) fn steps(
        self,
        plan: &mut Planner<'_>,
        p: &Problem,
        dtypes: DTypes,
    ) -> Result<(), KernelError> {
        let [left, right] = operands_of(plan, p)?;
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
            add_layers(plan, dtype, layers, [1, p.outputs(), p.k], out_of_all);
        }
        Ok(())
    }
}

fn shape(len: u64) -> Result<Shape, KernelError> {
    Shape::new([usize::try_from(len).unwrap_or(usize::MAX)]).map_err(KernelError::shape(super::OP))
}
