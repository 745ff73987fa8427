//! [`Shared`]: convolutions whose tiles would leave most of a device idle: several workgroups share the channels of each tile.
//!
//! Each share is a group of its own, with all filters. Two dispatches: one leaves the sums of every share, the other adds them in
//! a fixed order.

use ziggurat_core::DType;

use super::geometry::{Direction, Geometry};
use super::plan::{Method, front, iterations};
use super::{Seen, Sums};
use crate::limits::ability::Ability;
use crate::num::{saturated, wrap};
use crate::ops::reduce::add_layers;
use crate::ops::tile::Tile;
use crate::run::error::KernelError;
use crate::run::plan::{Bound, Planner};
use crate::tune::WayName;

/// Tiles whose channels are shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Shared {
    tile: Tile,
    /// Of kernels of one element: whether four positions are read at a time.
    pointwise: Option<bool>,
    pub(super) shares: u32,
}

impl Shared {
    /// As many shares as keep a device busy, if those are several.
    pub(super) fn new(g: &Geometry, pointwise: Option<bool>, ability: &Ability) -> Option<Self> {
        /// Products of each output of a share, and of all, that are worth another dispatch.
        const DEPTH: u64 = 128;
        const LONG: u64 = 512;
        let tile = Tile::DEFAULT;
        // On an H200 196 to 392 workgroups are better than fewer and than more.
        let busy = ability.busy_groups / 8 * 3;
        let shares = most_shares(g, tile, [1, DEPTH], busy)?;
        let shared = Self {
            tile,
            pointwise,
            shares,
        };
        let share = in_shares(g, shares);
        let taps = g.kernel.map(|taps| taps as u64);
        let extents = [share.channels as u64, taps[0], taps[1], taps[2]];
        let fits = g.depth() as u64 >= LONG
            && tile.fits(ability)
            && iterations(&share, shared.method(), extents) <= ability.loop_budget
            && sums(g, shares).saturating_mul(4) <= ability.binding_bytes;
        fits.then_some(shared)
    }

    /// Whether it takes less time than whole tiles, and than outputs by themselves: of few tiles each product takes 80 ns on an
    /// H200, however few they are, and 512 channels of 7 × 7 take 39 µs instead of 352. Smaller devices have not been measured.
    pub(super) fn pays(self, g: &Geometry, ability: &Ability) -> bool {
        let busy = ability.busy_groups;
        ability.is_large() && tiles(g, self.tile) * 8 < busy
    }

    /// The kernel of each share.
    pub(super) const fn method(self) -> Method {
        match self.pointwise {
            Some(vec4) => Method::Pointwise {
                tile: self.tile,
                vec4,
            },
            None => Method::Tiled(self.tile),
        }
    }

    /// As tuning calls it: rows and columns of a tile, and how many share it.
    pub(super) const fn name(self) -> WayName {
        let Tile { rows, cols, .. } = self.tile;
        WayName::new("shared", [rows, cols, self.shares])
    }
}

/// Tiles of all outputs.
fn tiles(g: &Geometry, tile: Tile) -> u64 {
    let positions = (g.batch as u64).saturating_mul(g.plane() as u64);
    let [rows, columns] = tile.count(g.filters as u64, positions);
    rows.saturating_mul(columns)
}

/// The largest power of two of shares of whole blocks of channels, and of so many products or more, that makes no more than so
/// many workgroups; none if that is one.
pub(super) fn most_shares(
    g: &Geometry,
    tile: Tile,
    [block, depth]: [u64; 2],
    busy: u64,
) -> Option<u32> {
    let room = (busy / tiles(g, tile).max(1)).min(g.depth() as u64 / depth);
    let whole = |shares: u64| (g.channels as u64).is_multiple_of(shares * block);
    let mut most_first = [16, 8, 4, 2].into_iter();
    let shares = most_first.find(|&shares| shares <= room && whole(shares));
    shares.filter(|_| g.groups == 1).map(saturated)
}

/// A convolution of which each group is the same filters over a share of the channels.
pub(super) fn in_shares(g: &Geometry, shares: u32) -> Geometry {
    if shares == 1 {
        return *g;
    }
    let shares = shares as usize;
    Geometry {
        groups: shares,
        channels: g.channels / shares,
        ..*g
    }
}

/// The operands of a convolution whose groups are shares.
pub(super) fn seen<'a>(share: &Geometry, seen: Seen<'a>, shares: u32) -> Seen<'a> {
    if shares == 1 {
        return seen;
    }
    let (w_first, w_second) = front(seen.w);
    let step = match share.direction {
        Direction::Forward => w_second,
        Direction::Transposed => w_first,
    };
    let w_group = wrap(step).wrapping_mul(saturated(share.channels as u64));
    Seen { w_group, ..seen }
}

/// Outputs of a convolution.
fn outputs(g: &Geometry) -> u64 {
    let extents = [g.batch, g.groups, g.filters, g.plane()];
    extents
        .into_iter()
        .fold(1, |n, extent| n.saturating_mul(extent as u64))
}

/// Sums of all shares of its outputs.
pub(super) fn sums(g: &Geometry, shares: u32) -> u64 {
    outputs(g).saturating_mul(u64::from(shares))
}

/// Memory for the sums of all shares.
pub(super) fn scratch(
    p: &mut Planner<'_>,
    g: &Geometry,
    shares: u32,
) -> Result<Bound, KernelError> {
    p.partials(DType::F32, outputs(g), shares)
}

/// Adds the step that adds them, for results of a dtype.
pub(super) fn add(
    p: &mut Planner<'_>,
    g: &Geometry,
    (sums, shares): Sums,
    dtype: DType,
) -> Result<(), KernelError> {
    let out = p.out()?;
    // One image has all shares before the next one.
    let images = g.batch as u64;
    let counts = [images, outputs(g) / images.max(1), g.depth() as u64];
    add_layers(p, dtype, (sums.read(), shares), counts, out);
    Ok(())
}
