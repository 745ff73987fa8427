//! When matrix units that multiply f16 take less time, and by which tiles.

use ziggurat_core::DType;

use super::{Choice, Narrow, has_columns, lies_in_vectors};
use crate::limits::ability::{Ability, MATRIX_UNITS};
use crate::ops::matmul::packed::Packed;
use crate::ops::matmul::problem::Problem;
use crate::ops::matmul::scaled::Scaled;
use crate::ops::tile::Tile;

/// Rows or columns up to which other kernels take less time than operands that become f16 tile by tile: on an H100 8 x 4096² of
/// bf16 24 to 33 µs, by tiles 37, and 12 rows 51; 16 rows of f32 52 to 57, by tiles 70, and 24 rows 78 to 92.
const FEW_LINES: [u64; 2] = [8, 16];
/// The inner extent, and multiplications, from which on it pays: on an H100 16 × 2048² of bf16 take 20 µs instead of 27, and
/// 256 cubed 15 instead of 10, on an H200 16 × 1024² 13.8 instead of 16.4, 320 cubed 12 instead of 18, 96 products of 512 × 64 × 512
/// 425 instead of 648, 96 of 128 × 64 × 128 14 instead of 10; 64 × 2048² of f32 29 instead of 40, and 32 × 2048² 28 instead of 22.
const SCALED: [&[[u64; 2]]; 2] = [
    &[[128, 3 << 23], [64, 1 << 27], [1024, 1 << 23]],
    &[[256, 3 << 26]],
];
/// The inner extent of up to 16 rows below which the kernel of few rows takes less time: 16 × 768 × 3072 of bf16 14.4 µs instead of 17.3.
const SHORT_FEW: u64 = 1024;
/// The same for few columns of many rows: on an H200 4,096 × 4,096 × 4 of f32 65 µs instead of 304.
const TALL_WORK: u64 = 1 << 26;
const TALL_DEPTHS: [u64; 2] = [128, 256];
/// The inner extents between which tiles pay instead of rows in waves: for more than 16 rows there is no longest.
const WAVES_DEPTH: u64 = 256;
const SHORT_WAVES: u64 = 512;
/// How often each element of an operand is used, m n / (m + n), from which on packing both first takes less time than splitting
/// or scaling it each time: on an H100 64 products of 512 cubed of f32, 256 times, 0.42 ms instead of 0.48, 256 × 4096², 241 times,
/// 0.25 instead of 0.22; of bf16 512 × 4096², 455 times, 0.17 instead of 0.14, 2048 cubed, 1,024 times, 0.107 instead of 0.123.
const PACKED_USES: [u64; 2] = [512, 256];
/// Lines of both operands, the inner extent and the multiplications from which on packing pays without that alternative.
const PACKED_LINES: u64 = 48;
const PACKED_DEPTH: u64 = 256;
pub(super) const PACKED_WORK: u64 = 1 << 28;

/// Lines of both operands and multiplications from which on copying f16 into whole vectors and tiles pays: on an H100 4095 cubed
/// takes 0.69 ms instead of 1.40, on an H200 197 × 197 × 64 8.1 µs instead of 16.
const ALIGNED_LINES: u64 = 5;
/// Lines of operands that lie in vectors, and are copied only because the inner extent is no multiple of the tile's: on an H200 2,048
/// products of 48 cubed take 116 µs as they lie, with copies 159, 300 cubed 10.0 and 9.1; and a quarter of them from an inner extent on:
/// 64 × 784 × 128 19.2 and 12.1, 100 × 500 × 100 13.4 and 10.0.
const ALIGNED_VECTORS: [u64; 2] = [200, 384];
const ALIGNED_LEAST: u64 = 1 << 20;
/// Multiplications from which on it takes less time than rows of lanes do.
pub(super) const ALIGNED_WORK: u64 = 1 << 23;

/// The product of operands that become f16 first, if that takes less time than the product of the operands as they are; and the
/// rows up to which the kernel of few rows takes less again.
pub(super) fn in_halves(p: &Problem, dtype: DType, ability: &Ability) -> Option<(Choice, u64)> {
    // One f16 for each element, or two.
    let two = usize::from(dtype == DType::F32 && !p.precision.is_reduced());
    let work = p.outputs().saturating_mul(p.k);
    let lines = p.m.min(p.n);
    let packed = || Packed::new(p, dtype, ability);
    let uses = p.m.saturating_mul(p.n) / p.m.saturating_add(p.n).max(1);
    if uses >= PACKED_USES[two] && work >= PACKED_WORK && p.k >= PACKED_DEPTH {
        let filling = packed().filter(|packed| packed.fills(p, ability));
        if let Some(packed) = filling {
            return Some((Choice::Packed(packed), FEW_LINES[1]));
        }
    }
    let few = FEW_LINES[usize::from(dtype == DType::F32)];
    let short = p.m <= 16 && p.k < SHORT_FEW;
    let enough = SCALED[two]
        .iter()
        .any(|&[depth, least]| p.k >= depth && work >= least && !short);
    // Few columns of many rows would be tiles that nobody shares.
    let tall = p.m > few && p.n <= few && has_columns(p, ability);
    let shared = tall && p.k >= TALL_DEPTHS[two] && work >= TALL_WORK;
    if (lines > few && enough || shared)
        && let Some(scaled) = Scaled::paying(p, dtype, ability)
    {
        return Some((Choice::Scaled(scaled), few));
    }
    let pays = lines >= PACKED_LINES && p.k >= PACKED_DEPTH && work >= PACKED_WORK;
    let packed = if pays { packed() } else { None };
    packed.map(|packed| (Choice::Packed(packed), super::FEW_ROWS))
}

/// Whether copying operands into vectors takes less time than loading them element by element.
pub(super) fn aligning_pays(p: &Problem) -> bool {
    let work = p.outputs().saturating_mul(p.k);
    let [lines, depth] = if lies_in_vectors(p) {
        ALIGNED_VECTORS
    } else {
        [ALIGNED_LINES, u64::MAX]
    };
    let least = p.m.min(p.n);
    let enough = least >= lines || least >= lines / 4 && p.k >= depth;
    enough && work >= ALIGNED_LEAST
}

/// The large tile on matrix units, if tiles keep most of a device busy and cover less than half as much again as small ones would,
/// which is what it takes less time for: on an H200, of 132 multiprocessors, 81 of them take 100 µs and small ones 126 (1,152 cubed),
/// 64 take longer (1,024 cubed); 256 products of 80 cubed 50 and 80, 96 of 512 × 512 × 64 152 and 101.
pub(in crate::ops::matmul) fn units_tile(p: &Problem, small: Tile, ability: &Ability) -> Tile {
    let large = Tile::COOPERATIVE;
    let count = |tile: Tile| {
        let [rows, cols] = tile.count(p.m, p.n);
        rows.saturating_mul(cols)
    };
    let tiles = count(large).saturating_mul(p.batches());
    // One of them has four times the outputs of a small one.
    let full = count(large).saturating_mul(8) <= count(small).saturating_mul(3);
    if full && tiles.saturating_mul(14) >= ability.busy_groups {
        large
    } else {
        small
    }
}

/// What takes less time than few rows whose workgroups a large GPU has in waves, one for each multiprocessor at a time: on an H200
/// 17 × 1024 × 4096 of f32 by a transposed weight 24 µs instead of 46, 17 × 1024 × 1024, in one wave, 18 instead of 14.
pub(super) fn rows_in_waves(
    p: &Problem,
    narrow: &Narrow,
    dtype: DType,
    ability: &Ability,
) -> Option<Choice> {
    let [rows, cols] = narrow.count(p.m, p.n);
    let groups = rows.saturating_mul(cols).saturating_mul(p.batches());
    // Up to 16 rows each wave reads other columns, and tiles pay for short ones: 16 × 256 × 8192 16 µs instead of 36, but
    // 16 × 4096 × 50257 0.64 ms instead of 0.57.
    let waves = match (p.m, dtype) {
        (17.., _) => 1,
        (9.., _) | (5.., DType::BF16) if p.k <= SHORT_WAVES => 3,
        _ => return None,
    };
    if !ability.is_large()
        || groups.saturating_mul(8) <= waves * ability.busy_groups
        || p.k < WAVES_DEPTH
    {
        return None;
    }
    Scaled::paying(p, dtype, ability).map(Choice::Scaled)
}

/// Whether there are as many tiles as workgroups of shares.
pub(super) fn busies(p: &Problem, tile: Tile, ability: &Ability) -> bool {
    let [rows, cols] = tile.count(p.m, p.n);
    let tiles = rows.saturating_mul(cols).saturating_mul(p.batches());
    tiles >= ability.busy_groups / 4
}

/// The small tile on matrix units: with half as many steps, unless that leaves half a step over, for which operands would be
/// copied. On an H100 4,096 products of 32 cubed took 0.071 ms so, of which the copies are most.
pub(super) fn small_units(p: &Problem) -> Tile {
    let [deep, shallow] = [Tile::COOPERATIVE_64, Tile::COOPERATIVE_64_BY_32];
    let fills = |tile: Tile| p.k.is_multiple_of(u64::from(tile.depth));
    if fills(shallow) && !fills(deep) {
        shallow
    } else {
        deep
    }
}

/// Whether there are matrix units for a dtype.
pub(super) fn has_units(dtype: DType, ability: &Ability) -> bool {
    MATRIX_UNITS && dtype == DType::F16 && Tile::COOPERATIVE_64.fits(ability)
}
