//! Products whose tiles would leave most of a device idle: several workgroups share the inner extent of each tile.
//!
//! Each share is an entry of one more batch axis, the outermost. Two dispatches: one leaves the sums of every share, the other
//! adds them in a fixed order.

use ziggurat_core::DType;

use super::choose::{Tiled, tiled};
use super::dispatch::dispatch_tiles;
use super::dtypes::DTypes;
use super::kernel::Writes;
use super::problem::Problem;
use super::{MatmulParams, operands_of};
use crate::limits::ability::Ability;
use crate::num::saturated;
use crate::ops::reduce::add_layers;
use crate::ops::reduce::axes::Axis;
use crate::ops::tile::{Tile, TileKind};
use crate::run::error::KernelError;
use crate::run::plan::{Bound, Planner};
use crate::tune::WayName;

/// The inner extent from which on shares on matrix units pay, and from which on more of them do.
const LEAST_INNER: u64 = 768;
const LONG_INNER: u64 = 3072;
/// The least of it that a share is worth its sums for there, and the most shares; the same of long ones.
const LEAST_DEPTHS: [u64; 2] = [192, 384];
const MOST_SHARES: [u32; 2] = [4, 16];

/// Tiles of a product cut along its inner extent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shared {
    pub(crate) tile: Tiled,
    pub(crate) shares: u32,
}

impl Shared {
    /// As many shares as keep a device busy on matrix units, if those are several: on an H100 16 to 64 × 4096² take half as long
    /// in 4 shares, 256 workgroups of 128 invocations, and in 8 longer again; 128 × 4096² take 0.9 times as long in 2. Short ones fill
    /// half as many: on an H200 64 × 1024 × 1024 8.4 µs instead of 10.8, 192 × 1536 × 384 9.6 instead of 14.4, but 384 × 1024 × 1024
    /// 14.8 instead of 11.3, and 64 × 384 × 384 7.6 instead of 6.3.
    pub(super) fn paying(p: &Problem, tile: Tile, dtype: DType, ability: &Ability) -> Option<Self> {
        let long = usize::from(p.k >= LONG_INNER);
        let busy = ability.busy_groups / [8, 4][long];
        let depth = (p.k >= LEAST_INNER).then_some(LEAST_DEPTHS[long])?;
        let shares = Self::filling(p, tile, [depth, busy], MOST_SHARES[long])?;
        Self::up_to(p, shares, tile, dtype, ability)
    }

    /// The power of two of shares, each of this inner extent or more, that make so many workgroups; none if that is one.
    pub(super) fn filling(
        p: &Problem,
        tile: Tile,
        [depth, busy]: [u64; 2],
        most: u32,
    ) -> Option<u32> {
        let [rows, cols] = tile.count(p.m, p.n);
        let groups = rows.saturating_mul(cols).saturating_mul(p.batches());
        let room = (busy / groups.max(1)).min(p.k / depth);
        let shares = (1 << room.checked_ilog2()?.min(8)).min(most);
        (shares > 1).then_some(shares)
    }

    /// So many shares, a power of two, or the largest smaller one of which each is whole tiles deep.
    pub(super) fn up_to(
        p: &Problem,
        shares: u32,
        tile: Tile,
        dtype: DType,
        ability: &Ability,
    ) -> Option<Self> {
        let mut shares = shares;
        while shares > 1 {
            let shared = Self::new(p, shares, tile, dtype, ability);
            if shared.is_some() {
                return shared;
            }
            shares /= 2;
        }
        None
    }

    /// So many shares, if there are: whole tiles deep, equal (but for the last one on matrix units), and with room for their sums.
    pub(super) fn new(
        p: &Problem,
        shares: u32,
        tile: Tile,
        dtype: DType,
        ability: &Ability,
    ) -> Option<Self> {
        fits(p, shares, tile, dtype, ability).then(|| Self {
            tile: tiled(&cut(p, shares, tile), tile),
            shares,
        })
    }

    /// As tuning calls it: rows and columns of a tile, and how many share it.
    pub(super) const fn name(self) -> WayName {
        let Tile { rows, cols, .. } = self.tile.tile;
        match self.tile.tile.kind {
            TileKind::Streamed => self.tile.tile.streamed_name(self.shares),
            _ => WayName::new("shared", [rows, cols, self.shares]),
        }
    }

    /// Adds the dispatches.
    pub(super) fn steps(
        self,
        plan: &mut Planner<'_>,
        p: &Problem,
        dtypes: DTypes,
    ) -> Result<(), KernelError> {
        let [left, right] = operands_of(plan, p)?;
        let dtype = dtypes.read();
        let sums: Bound = plan.partials(dtype.compute(), p.outputs(), self.shares)?;
        let share = cut(p, self.shares, self.tile.tile);
        let (choice, params, grid) = dispatch_tiles(&share, self.tile, dtypes, Writes::Sums);
        let params = MatmulParams {
            a_offset: left.offset,
            b_offset: right.offset,
            out_offset: sums.offset,
            // Of all shares: the last one may be shorter.
            chunks: self.shares,
            chunk_len: saturated(p.k),
            ..params
        };
        plan.step(choice, [left, right, sums], &params, grid);
        let out = plan.out()?;
        let layers = (sums.read(), self.shares);
        add_layers(plan, dtype, layers, [1, p.outputs(), p.k], out);
        Ok(())
    }
}

/// Whether there are so many shares, whole tiles deep and with room for their sums.
fn fits(p: &Problem, shares: u32, tile: Tile, dtype: DType, ability: &Ability) -> bool {
    let each = each(p, shares, tile);
    p.k > 0
        && each.is_multiple_of(u64::from(tile.depth))
        && p.k.is_multiple_of(u64::from(tile.depth))
        && p.k.div_ceil(each.max(1)) == u64::from(shares)
        && (p.k.is_multiple_of(u64::from(shares)) || may_be_shorter(tile))
        && tile.fits(ability)
        && tile.iterations(each) <= ability.loop_budget
        && has_room(p, shares, dtype, ability)
}

/// Whether one binding holds the sums of so many shares.
pub(super) fn has_room(p: &Problem, shares: u32, dtype: DType, ability: &Ability) -> bool {
    let bytes = u64::from(shares)
        .saturating_mul(p.outputs())
        .saturating_mul(dtype.compute().bytes() as u64);
    bytes <= ability.binding_bytes
}

/// The inner extent of a share: whole steps, of which the last share may have fewer, or an equal part.
fn each(p: &Problem, shares: u32, tile: Tile) -> u64 {
    let (shares, depth) = (u64::from(shares), u64::from(tile.depth));
    match may_be_shorter(tile) {
        true => p.k.div_ceil(depth * shares) * depth,
        false => p.k / shares,
    }
}

/// Whether the kernel takes a last share that is shorter than the others.
const fn may_be_shorter(tile: Tile) -> bool {
    matches!(tile.kind, TileKind::Streamed | TileKind::Cooperative)
}

/// The product of all shares of a tile as one batch.
fn cut(p: &Problem, shares: u32, tile: Tile) -> Problem {
    by_parts(p, shares, each(p, shares, tile))
}

/// The product of all equal shares as one batch.
pub(super) fn share_of(p: &Problem, shares: u32) -> Problem {
    by_parts(p, shares, p.k / u64::from(shares))
}

fn by_parts(p: &Problem, shares: u32, k: u64) -> Problem {
    // No inner extent is longer than what an index reaches.
    let depth = isize::try_from(k).unwrap_or(isize::MAX);
    let axis = Axis {
        dim: u64::from(shares),
        strides: [p.a_depth, p.b_depth].map(|stride| stride.wrapping_mul(depth)),
    };
    Problem {
        k,
        batch: [&[axis], &p.batch[..]].concat(),
        ..p.clone()
    }
}
