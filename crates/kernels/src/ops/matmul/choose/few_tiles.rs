//! What takes less time than few tiles, or than few rows, on a large GPU most of which they would leave idle.

use ziggurat_core::DType;

use super::units::ALIGNED_WORK;
use super::{Choice, NARROW, dot, lies_in_vectors, narrow};
use crate::limits::ability::Ability;
use crate::ops::matmul::problem::Problem;
use crate::ops::matmul::shares::Shared;
use crate::ops::tile::Tile;

/// Multiplications up to which rows of lanes take less time than few tiles, and of how many of those: on an H200 128 cubed 4.9 µs
/// instead of 10.0, 64 × 784 × 128 10.0 instead of 11.8. The same where operands do not lie in vectors, which the other kernels then
/// read word by word: 190 cubed 7.9 instead of 13.4, but 255 cubed 13.6 instead of 11.2; and where the kernel of few rows has more
/// workgroups than there are multiprocessors, 257 cubed 14.1 instead of 21.2. Of f16, where there are matrix units, 129 cubed 5.7
/// instead of 10, 190 cubed 10.4 by either.
const LITTLE_WORK: [[u64; 2]; 2] = [[1 << 21, 64], [13 << 19, 256]];
const LITTLE_WORK_IN_WORDS: [u64; 2] = [8 << 20, 17 << 20];
/// Outputs up to which they do as well, if those take long: 64 × 4096 × 64 16.9 µs instead of 209.
const FEW_OUTPUTS: u64 = 1 << 12;
/// The inner extents from which on they take long: those of more than 8 rows, which the kernel of few rows takes twice as long for
/// (16 × 1024 × 64 7 µs instead of 13); of the same on matrix units; of fewer in up to 8 tiles (4 × 8192 × 256 11 instead of 27,
/// 1 × 2048 × 512 7.5 instead of 5.6), and in up to 32, of columns that do not lie along it (1 × 16,384 × 1024 24 instead of 48).
const LONG: [u64; 4] = [1 << 10, 1 << 11, 1 << 12, 1 << 13];
/// The inner extent from which on the kernel of few rows does, of columns that lie side by side, and of others.
const NARROW_DEPTH: [u64; 2] = [128, 512];
/// The inner extent that a share of a tile without matrix units is worth its sums for, in sixteenths of the workgroups that a device
/// has room for, and in so many at most: on an H200 384 cubed in 8 shares 12.4 µs, 4 14.7, 2 17.4; 384 × 768 × 768, 72 tiles, 27.2, 28.7
/// and 40.2; 96 tiles 29.2, 28.3 and 37.0.
const SHARE_DEPTH: u64 = 48;
const SHARE_SIXTEENTHS: u64 = 9;
const MOST_SHARES: u32 = 8;
/// Tiles times the inner extent up to which such shares take less time than those on matrix units, for which elements become two of
/// f16: 64 × 768 × 768 11.8 µs instead of 16.6, 512 × 1536 × 384 28.4 and 30.6, 384 × 1024 × 1024 36.4 and 35.9.
const SHALLOW: u64 = 72 << 10;
const SHALLOW_DEPTH: u64 = 3 << 10;

/// Whether rows of lanes take less time than few tiles, or few workgroups of few rows, because outputs are few and take long.
pub(super) fn few_long_outputs(p: &Problem, units: bool, ability: &Ability) -> bool {
    if !ability.is_large() {
        return false;
    }
    let [rows, cols] = Tile::DEFAULT.count(p.m, p.n);
    let tiles = rows.saturating_mul(cols).saturating_mul(p.batches());
    let busy = ability.busy_groups;
    // Shares of tiles on matrix units are faster again, and few columns that are read in vectors.
    let along = p.b_depth.abs() == 1;
    let faster = units && p.m > 1 || p.n < NARROW && along;
    let outputs = if faster { FEW_OUTPUTS / 4 } else { FEW_OUTPUTS };
    let (long, each) = match p.m {
        9.. => (LONG[usize::from(units)], 64),
        _ if p.k < LONG[3] || along => (LONG[2], 128),
        _ => (LONG[3], 32),
    };
    tiles.saturating_mul(each) <= busy && p.outputs() <= outputs && p.k >= long
}

/// Whether all tiles without matrix units take so little time that they need not become f16 for these.
pub(super) fn are_shallow(p: &Problem) -> bool {
    let [rows, cols] = Tile::DEFAULT.count(p.m, p.n);
    let tiles = rows.saturating_mul(cols).saturating_mul(p.batches());
    tiles.saturating_mul(p.k) <= SHALLOW && p.k <= SHALLOW_DEPTH
}

/// What takes less time than tiles where these leave most of a large GPU idle: each element of the inner extent costs them 50 ns
/// there, however few they are. Smaller devices have not been measured.
pub(super) fn of_few_tiles(
    p: &Problem,
    dtype: DType,
    units: bool,
    ability: &Ability,
) -> Option<Choice> {
    if !ability.is_large() || p.m.min(p.n) < NARROW {
        return None;
    }
    let [rows, cols] = Tile::DEFAULT.count(p.m, p.n);
    let tiles = rows.saturating_mul(cols).saturating_mul(p.batches());
    let busy = ability.busy_groups;
    if p.k == 0 || !Tile::DEFAULT.fits(ability) || tiles * 8 >= busy {
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
        (false, false) => LITTLE_WORK
            .iter()
            .any(|&[most, tiles_each]| work <= most && tiles * tiles_each <= busy),
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
    // A workgroup for each multiprocessor takes no longer than shares; two of them do, where there are shares of whole steps.
    let in_one_wave = narrow_groups.saturating_mul(8) <= busy;
    let shared = || {
        let groups = busy * SHARE_SIXTEENTHS / 16;
        let shares = Shared::filling(p, Tile::DEFAULT, [SHARE_DEPTH, groups], MOST_SHARES)?;
        Shared::up_to(p, shares, Tile::DEFAULT, dtype, ability)
    };
    match narrow.map(Choice::Narrow) {
        Some(narrow) if in_one_wave => Some(narrow),
        narrow => shared().map(Choice::Shared).or(narrow),
    }
}
