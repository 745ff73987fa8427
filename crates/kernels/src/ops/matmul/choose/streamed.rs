//! Few rows of f16 by columns that subgroups stream for themselves.

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
/// Elements of b from which on streaming takes less time than other kernels: on an H200 16 × 2048 × 8192 19.7 µs instead of 19.9,
/// 16 × 1024 × 8192 18 instead of 13.
const LARGE: u64 = 1 << 24;
/// The same of rows: of columns that lie side by side (2 × 4096 × 11008 31 µs instead of 43) and of others (4 × 4096 × 4096 15.3
/// instead of 15.5, 2 × 4096 × 11008 40 instead of 37).
const LEAST_ROWS: [u64; 2] = [2, 4];

/// Columns that subgroups stream, if that takes less time than other kernels of a large GPU; smaller ones have not been measured, nor
/// products of a batch.
pub(super) fn streaming_pays(p: &Problem, dtype: DType, ability: &Ability) -> Option<Choice> {
    let rows = LEAST_ROWS[usize::from(p.b_col.abs() != 1)];
    let large = p.batches() == 1 && p.n.saturating_mul(p.k) >= LARGE;
    if !ability.is_large() || !large || p.m < rows {
        return None;
    }
    // A workgroup for almost each multiprocessor: 16 × 8192 × 2048, 128 of them, 14.1 µs instead of 19.1.
    let busies = |tile| {
        let all = groups(p, tile) * u64::from(shares(p, tile, ability));
        all.saturating_mul(9) >= ability.busy_groups
    };
    tile(p).filter(|tile| busies(*tile))?;
    streamed(p, dtype, ability)
}

/// The product by tiles of few rows, if a device can compute it so.
pub(super) fn streamed(p: &Problem, dtype: DType, ability: &Ability) -> Option<Choice> {
    let tile = tile(p).filter(|tile| has_units(dtype, ability) && tile.fits(ability))?;
    if p.k == 0 || !p.k.is_multiple_of(u64::from(tile.depth)) {
        return None;
    }
    match shares(p, tile, ability) {
        1 => Some(Choice::Tile(tiled(p, tile))),
        shares => Shared::new(p, shares, tile, dtype, ability).map(Choice::Shared),
    }
}

/// The tile that has room for all rows.
fn tile(p: &Problem) -> Option<Tile> {
    match (loads(p), p.m) {
        ([Load::Along, Load::Across], ..=16) => Some(Tile::STREAMED_ACROSS[0]),
        ([Load::Along, Load::Across], ..=32) => Some(Tile::STREAMED_ACROSS[1]),
        ([Load::Along, Load::Along], ..=16) => Some(Tile::STREAMED_ALONG),
        _ => None,
    }
}

/// As many shares as run at a time: on an H200 16 × 4096 × 14336 42 µs in 4 shares, 224 workgroups of 264 that there is room for, 51 in
/// 7, and 47 in 9, which fill all but 24 places twice; 16 × 4096 × 50256 119 in one share, 197 workgroups, 134 in two.
fn shares(p: &Problem, tile: Tile, ability: &Ability) -> u32 {
    let most = (p.k / LEAST_DEPTH).clamp(1, MOST_SHARES);
    let shares = room(ability) / groups(p, tile).max(1);
    saturated(shares.clamp(1, most))
}

fn groups(p: &Problem, tile: Tile) -> u64 {
    let [rows, cols] = tile.count(p.m, p.n);
    rows.saturating_mul(cols).saturating_mul(p.batches())
}

/// Workgroups that run at a time: two on each multiprocessor, by their workgroup memory.
fn room(ability: &Ability) -> u64 {
    ability.busy_groups / 4
}
