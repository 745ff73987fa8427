//! Tiles on matrix units, and how many workgroups share each, by the time that they would take.
//!
//! Workgroups run in waves, of which a multiprocessor takes two at once: a wave that is not full takes no less, so it pays to share
//! tiles until one is. Of 135 products of 65 rows or more, measured on an H200 in every way, what these estimates choose takes 1.01
//! times as long as the best way in the geometric mean; what was chosen by thresholds before took 1.08 times as long.

use ziggurat_core::DType;

use super::lies_in_vectors;
use super::units::small_units;
use crate::limits::ability::Ability;
use crate::ops::matmul::problem::Problem;
use crate::ops::matmul::shares::Shared;
use crate::ops::tile::Tile;

/// Nanoseconds of a wave for each element of the inner extent: of the large tile; of the small one, where a multiprocessor has one
/// workgroup at most, and where it has two.
const LARGE: u64 = 26;
const SMALL: [u64; 2] = [8, 14];
/// Nanoseconds of the second dispatch, and of a thousand sums that it reads, the latter also for long products of so many outputs
/// that they are added four at a time (shorter products have not been measured).
const SECOND: u64 = 3000;
const SUMS: [u64; 2] = [3, 2];
const MANY: u64 = 1 << 17;
/// The least inner extent of a product, and of a share; of a product whose large tiles are shared, which shorter ones lose by
/// (520 × 2048 × 2048 43 µs instead of 39).
const DEPTH: u64 = 256;
const LARGE_DEPTH: u64 = 3072;
/// Rows and columns from which on multiprocessors read the same weights; fewer wait for memory instead.
const LINES: u64 = 65;
const MOST_SHARES: u32 = 16;

/// The tile and its shares that take the least time, of f16 that lies in vectors.
pub(super) fn least_time(p: &Problem, ability: &Ability) -> Option<(Tile, Option<Shared>)> {
    if p.m.min(p.n) < LINES || p.k < DEPTH || !lies_in_vectors(p) {
        return None;
    }
    let tiles = [small_units(p), Tile::COOPERATIVE];
    let whole = tiles.map(|tile| (nanoseconds(p, tile, 1, ability), (tile, None)));
    let enough = |tile: &Tile| tile.rows == tiles[0].rows || p.k >= LARGE_DEPTH;
    let shares = tiles.into_iter().filter(enough).flat_map(|tile| {
        let deep = (2..=MOST_SHARES).filter(|&shares| p.k / u64::from(shares) >= DEPTH);
        deep.filter_map(move |shares| {
            let shared = Shared::new(p, shares, tile, DType::F16, ability)?;
            // Estimates are no better than this.
            let time = nanoseconds(p, tile, shares.into(), ability) / 9 * 10;
            Some((time, (tile, Some(shared))))
        })
    });
    let all = whole.into_iter().chain(shares);
    all.min_by_key(|(time, _)| *time).map(|(_, way)| way)
}

fn nanoseconds(p: &Problem, tile: Tile, shares: u64, ability: &Ability) -> u64 {
    let [rows, cols] = tile.count(p.m, p.n);
    let tiles = rows.saturating_mul(cols).saturating_mul(p.batches());
    let groups = tiles.saturating_mul(shares);
    let room = (ability.busy_groups / 4).max(1);
    let step = match tile.rows {
        65.. => LARGE,
        _ => SMALL[usize::from(groups > room / 2)],
    };
    let steps = p.k.div_ceil(u64::from(tile.depth)).div_ceil(shares);
    let deep = steps.saturating_mul(tile.depth.into());
    let waves = groups.div_ceil(room).saturating_mul(deep);
    waves
        .saturating_mul(step)
        .saturating_add(second_dispatch(p, shares))
}

/// What adding shares takes.
pub(super) fn second_dispatch(p: &Problem, shares: u64) -> u64 {
    let many = p.outputs() >= MANY && p.k >= LARGE_DEPTH;
    let sums = SUMS[usize::from(many)].saturating_mul(shares);
    match shares {
        1 => 0,
        _ => SECOND.saturating_add(p.outputs().saturating_mul(sums) / 1000),
    }
}
