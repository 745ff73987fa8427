//! Few rows of f16 by columns that subgroups stream for themselves. A way that tuning tries and no default: the kernel has run on
//! the software device alone.

use ziggurat_core::DType;

use super::units::has_units;
use super::{Choice, Load, loads, tiled};
use crate::limits::ability::Ability;
use crate::num::saturated;
use crate::ops::matmul::problem::Problem;
use crate::ops::matmul::shares::Shared;
use crate::ops::tile::Tile;

/// Shares of an inner extent, at most, and the least of it for each.
const MOST_SHARES: u64 = 16;
const LEAST_DEPTH: u64 = 256;
/// How many workgroups the busiest multiprocessor has at most where shares count as even, in 1,024ths of the mean.
const EVEN: u64 = 1065;

/// The product by tiles of few rows, if a device can compute it so.
pub(super) fn streamed(p: &Problem, dtype: DType, ability: &Ability) -> Option<Choice> {
    if !has_units(dtype, ability) {
        return None;
    }
    let tile = match (loads(p), p.m) {
        ([Load::Along, Load::Across], ..=16) => Tile::STREAMED_ACROSS[0],
        ([Load::Along, Load::Across], ..=32) => Tile::STREAMED_ACROSS[1],
        ([Load::Along, Load::Along], ..=16) => Tile::STREAMED_ALONG,
        _ => return None,
    };
    let whole = p.k > 0 && p.k.is_multiple_of(u64::from(tile.depth));
    if !whole || !tile.fits(ability) {
        return None;
    }
    match shares(p, tile, ability) {
        1 => Some(Choice::Tile(tiled(p, tile))),
        shares => Shared::new(p, shares, tile, dtype, ability).map(Choice::Shared),
    }
}

/// The fewest shares that give multiprocessors about as many workgroups as each other, two or more.
fn shares(p: &Problem, tile: Tile, ability: &Ability) -> u32 {
    let [rows, cols] = tile.count(p.m, p.n);
    let groups = rows.saturating_mul(cols).saturating_mul(p.batches());
    let processors = (ability.busy_groups / 8).max(1);
    let most = (p.k / LEAST_DEPTH).clamp(1, MOST_SHARES);
    // Workgroups of the busiest multiprocessor, in 1,024ths of the mean.
    let unevenness = |shares: &u64| {
        let all = groups.saturating_mul(*shares);
        let busiest = all.div_ceil(processors).saturating_mul(processors);
        busiest.saturating_mul(1024) / all.max(1)
    };
    // Two workgroups for each of them, or almost.
    let fills = |shares: &u64| groups.saturating_mul(*shares) * 8 >= processors * 15;
    let all = || (1..=most).filter(fills);
    let even = all().find(|shares| unevenness(shares) <= EVEN);
    saturated(
        even.or_else(|| all().min_by_key(unevenness))
            .unwrap_or(most),
    )
}
