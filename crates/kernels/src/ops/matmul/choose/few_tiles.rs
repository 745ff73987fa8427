//! What takes less time than few tiles, or than few rows, on a large GPU most of which they would leave idle.

use ziggurat_core::DType;

use super::units::ALIGNED_WORK;
use super::{Choice, NARROW, dot, lies_in_vectors, narrow};
use crate::limits::ability::Ability;
use crate::ops::matmul::problem::Problem;
use crate::ops::matmul::shares::Shared;
use crate::ops::tile::Tile;

/// Multiplications up to which rows of lanes take less time than few tiles: on an H200 128 cubed 4.9 µs instead of 10.0. The same where
/// operands do not lie in vectors, which the other kernels then read word by word: 190 cubed 7.9 instead of 13.4, but 255 cubed 13.6
/// instead of 11.2; and where the kernel of few rows has more workgroups than there are multiprocessors, 257 cubed 14.1 instead of
/// 21.2. Of f16, where there are matrix units, 129 cubed 5.7 instead of 10, 190 cubed 10.4 by either.
const LITTLE_WORK: u64 = 1 << 21;
const LITTLE_WORK_IN_WORDS: [u64; 2] = [8 << 20, 17 << 20];
/// Outputs and inner extent up to which, and from which on, they do as well: 64 × 4096 × 64 16.9 µs instead of 209.
const FEW_LONG_OUTPUTS: [u64; 2] = [1 << 12, 1 << 11];
/// The inner extent from which on the kernel of few rows does, of columns that lie side by side, and of others.
const NARROW_DEPTH: [u64; 2] = [128, 512];
/// The inner extent that a share of a tile without matrix units is worth its sums for.
const SHARE_DEPTH: u64 = 128;

/// Whether rows of lanes take less time than few tiles, or few workgroups of few rows, because outputs are few and take long.
pub(super) fn few_long_outputs(p: &Problem, units: bool, ability: &Ability) -> bool {
    let [rows, cols] = Tile::DEFAULT.count(p.m, p.n);
    let tiles = rows.saturating_mul(cols).saturating_mul(p.batches());
    let busy = ability.busy_groups;
    let large = busy >= Ability::LARGE.busy_groups && tiles.saturating_mul(64) <= busy;
    let [outputs, long] = FEW_LONG_OUTPUTS;
    // Shares of tiles on matrix units are faster again.
    let outputs = if units { outputs / 4 } else { outputs };
    large && p.m.min(p.n) >= NARROW && p.outputs() <= outputs && p.k >= long
}

/// What takes less time than tiles where these leave most of a large GPU idle: each element of the inner extent costs them 50 ns
/// there, however few they are. Smaller devices have not been measured.
pub(super) fn of_few_tiles(
    p: &Problem,
    dtype: DType,
    units: bool,
    ability: &Ability,
) -> Option<Choice> {
    let [rows, cols] = Tile::DEFAULT.count(p.m, p.n);
    let tiles = rows.saturating_mul(cols).saturating_mul(p.batches());
    let busy = ability.busy_groups;
    let fits = p.k > 0 && Tile::DEFAULT.fits(ability);
    if !fits || p.m.min(p.n) < NARROW || busy < Ability::LARGE.busy_groups || tiles * 8 >= busy {
        return None;
    }
    let work = p.outputs().saturating_mul(p.k);
    let narrow = narrow(p, dtype, ability);
    let narrow_groups = narrow.map_or(u64::MAX, |narrow| {
        let [rows, cols] = narrow.count(p.m, p.n);
        rows.saturating_mul(cols).saturating_mul(p.batches())
    });
    // Neighbours read neighbours of both operands.
    let in_words = !lies_in_vectors(p) && (p.m <= p.n || p.b_depth.abs() == 1);
    let little = match (in_words, units) {
        (false, true) => return None,
        (true, true) => work < ALIGNED_WORK && tiles * 32 <= busy,
        (true, false) => {
            let most = LITTLE_WORK_IN_WORDS[usize::from(narrow_groups.saturating_mul(8) > busy)];
            work <= most && tiles * 32 <= busy
        }
        (false, false) => work <= LITTLE_WORK && tiles * 64 <= busy,
    };
    if little {
        return Some(Choice::Dot(dot(p, ability)));
    }
    if units {
        return None;
    }
    let narrow = narrow.filter(|narrow| {
        let depth = NARROW_DEPTH[usize::from(narrow.b_along_depth)];
        p.k >= depth && narrow_groups.saturating_mul(4) <= busy
    });
    let shared = || {
        let shares = Shared::filling(p, Tile::DEFAULT, [SHARE_DEPTH, ability.busy_groups / 4], 16)?;
        Shared::new(p, shares, Tile::DEFAULT, dtype, ability)
    };
    narrow
        .map(Choice::Narrow)
        .or_else(|| shared().map(Choice::Shared))
}
