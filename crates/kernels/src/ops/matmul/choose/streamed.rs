//! Few rows of f16 by columns that workgroups stream.

use ziggurat_core::DType;

use super::units::has_units;
use super::waves::second_dispatch;
use super::{Choice, Load, loads, tiled};
use crate::limits::ability::{Ability, PROCESSOR_BYTES};
use crate::num::saturated;
use crate::ops::matmul::problem::Problem;
use crate::ops::matmul::shares::Shared;
use crate::ops::tile::Tile;

/// Shares of an inner extent, at most, and the least of it for each.
const MOST_SHARES: u64 = 16;
const LEAST_DEPTH: u64 = 256;
/// Up to so many rows elements of b from which on streaming takes less time than other kernels: on an H200 8 × 2048 × 5632 16 µs
/// instead of 21, 3 × 2048 × 4096 22 instead of 14, 48 × 4096 × 4096 21.5 instead of 22.7, 64 × 4096 × 4096 23.6 instead of 21.5.
const LARGE: [(u64, u64); 4] = [(7, 1 << 24), (32, 10 << 20), (48, 1 << 24), (64, 1 << 25)];
/// Rows from which on streaming does so, of columns that lie side by side (2 × 4096 × 11008 31 µs instead of 43) and of others (3 × 4096 ×
/// 4096 14.7 instead of 15.7, 2 × 4096 × 4096 15.7 instead of 11.9).
const LEAST_ROWS: [u64; 2] = [2, 3];
/// Nanoseconds of a step, and more for each workgroup of a multiprocessor; and what else a wave takes, as steps.
const STEP: [u64; 2] = [450, 150];
const AROUND: u64 = 4;

/// Columns that workgroups stream, if that takes less time than other kernels of a large GPU; smaller ones have not been measured, nor
/// products of a batch.
pub(super) fn streaming_pays(p: &Problem, dtype: DType, ability: &Ability) -> Option<Choice> {
    let rows = LEAST_ROWS[usize::from(p.b_col.abs() != 1)];
    let large = LARGE.iter().find(|(most, _)| p.m <= *most);
    let pays = large.is_some_and(|(_, least)| p.n.saturating_mul(p.k) >= *least);
    if !ability.is_large() || !pays || p.m < rows || p.batches() != 1 {
        return None;
    }
    // A workgroup for almost each multiprocessor; fewer have not been measured.
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
    let all = match loads(p) {
        [Load::Along, Load::Across] => Tile::STREAMED_ACROSS,
        [Load::Along, Load::Along] => Tile::STREAMED_ALONG,
        _ => return None,
    };
    all.into_iter().find(|tile| p.m <= u64::from(tile.rows))
}

/// The shares that take the least time, each of whole steps.
fn shares(p: &Problem, tile: Tile, ability: &Ability) -> u32 {
    let most = (p.k / LEAST_DEPTH).clamp(1, MOST_SHARES);
    let steps = p.k.div_ceil(u64::from(tile.depth)).max(1);
    let all = (1..=most).filter(|&shares| steps.div_ceil(steps.div_ceil(shares)) == shares);
    let least = all.min_by_key(|&shares| nanoseconds(p, tile, shares, ability));
    saturated(least.unwrap_or(1))
}

/// Workgroups run in waves, of as many as the workgroup memory of multiprocessors has room for; one that is not full takes no less
/// time. On an H200 64 × 4096 × 11008 41 µs in 3 shares, 258 workgroups of 264 that there is room for, 56 in 4 and 47 in 6.
fn nanoseconds(p: &Problem, tile: Tile, shares: u64, ability: &Ability) -> u64 {
    let each = u64::from((PROCESSOR_BYTES / tile.workgroup_bytes()).max(1));
    let room = (ability.busy_groups / 8).max(1).saturating_mul(each);
    let waves = groups(p, tile).saturating_mul(shares).div_ceil(room);
    let steps = p.k.div_ceil(u64::from(tile.depth)).div_ceil(shares);
    let wave = (steps + AROUND).saturating_mul(STEP[0] + STEP[1] * each);
    waves
        .saturating_mul(wave)
        .saturating_add(second_dispatch(p, shares))
}

fn groups(p: &Problem, tile: Tile) -> u64 {
    let [rows, cols] = tile.count(p.m, p.n);
    rows.saturating_mul(cols).saturating_mul(p.batches())
}
