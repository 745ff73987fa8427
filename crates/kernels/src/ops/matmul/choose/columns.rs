//! Few columns of many rows: the kernel of few rows computes them as rows of the transposed product, and reads the larger matrix
//! once.

use ziggurat_core::DType;

use super::{Load, NARROW, Narrow, TALL_ROWS, lies_in_vectors, loads, narrow};
use crate::limits::ability::Ability;
use crate::ops::matmul::problem::Problem;

/// Columns up to which each of them may be read word by word, and the outputs and multiplications from which on that takes less time
/// than rows of lanes: on an H200, of f32, 4,096 × 4,096 × 4 42 µs instead of 64, 16,384 × 1,024 × 2 27 instead of 77, 2,440 × 384 × 3
/// 6.8 instead of 9.2, 1,024 × 512 × 2 4.8 by either, 512 × 4,096 × 4 23 instead of 11.
const FEWEST: u64 = 4;
const OUTPUTS: u64 = 1 << 12;
const WORK: u64 = 1 << 21;
/// The same of more columns, and the inner extent up to which: 1,000 × 1,000 × 10 19 instead of 27, 1,000 × 4,096 × 8 77 instead of 48.
/// Of so many that lie along it, and are read in vectors, 16 instead of 31, but 300 × 4,096 × 12 24 instead of 16.
const ALONG: u64 = 8;
const WORK_OF_MORE: u64 = 1 << 22;
const DEPTH_OF_MORE: u64 = 1 << 11;
/// The least inner extent: 65,536 × 32 × 8 23 instead of 9 by small tiles.
const LEAST_DEPTH: [u64; 2] = [32, 256];
/// Multiplications and rows from which on tiles on matrix units take less time than rows of lanes for more columns than those: of f16
/// 1,000 × 4,096 × 8 10 µs in shares, 42 by lanes, 1,000 × 1,000 × 10 15 and 30, 128 × 2,048 × 10 16 and 8.
const UNITS_WORK: u64 = 1 << 23;
const UNITS_ROWS: u64 = 1 << 8;

/// The kernel of few rows for few columns, which programs for the web have no part for that writes down columns, for its size.
pub(super) fn few_columns(p: &Problem, dtype: DType, ability: &Ability) -> Option<Narrow> {
    let few = (2..NARROW).contains(&p.n) && p.one_dtype;
    let narrow = narrow(&few.then(|| p.flipped())?, dtype, ability)?;
    Some(Narrow {
        columns: true,
        out_vec4: false,
        ..narrow
    })
}

/// The same if it takes less time than other kernels on a large GPU; smaller ones have not been measured.
pub(super) fn columns_paying(
    p: &Problem,
    dtype: DType,
    units: bool,
    ability: &Ability,
) -> Option<Narrow> {
    let work = p.outputs().saturating_mul(p.k);
    let along = p.b_depth.abs() == 1;
    let tall = TALL_ROWS.iter().any(|&[_, rows]| p.m >= rows);
    let pays = if p.n <= FEWEST {
        // Shares of tiles on matrix units are as fast where they need no copies.
        let shared = units && !along && p.k >= DEPTH_OF_MORE && lies_in_vectors(p);
        let enough = along || p.outputs() > OUTPUTS;
        enough && work >= WORK && p.k >= LEAST_DEPTH[0] && !shared
    } else if units || work < WORK_OF_MORE || p.k < LEAST_DEPTH[1] {
        false
    } else if along && p.n <= ALONG || along && tall && p.k >= DEPTH_OF_MORE {
        !tall || dtype == DType::F32
    } else {
        !tall && p.k <= DEPTH_OF_MORE
    };
    // Tiles of all matrices of a batch: 16 products of 1,024 × 64 × 4 of f16 5 µs instead of 9, 64 of 256 × 128 × 3 11 instead of 16.
    let pays = pays && (p.batches() == 1 || p.k >= LEAST_DEPTH[1]);
    let columns = (ability.is_large() && pays).then(|| few_columns(p, dtype, ability))?;
    columns.filter(|narrow| p.m >= 4 * u64::from(narrow.vec4))
}

/// Whether columns that are fewer than a tile should have pay on matrix units all the same.
pub(super) fn fills_units(p: &Problem) -> bool {
    let work = p.outputs().saturating_mul(p.k);
    p.n >= FEWEST && p.m >= UNITS_ROWS && p.k >= LEAST_DEPTH[1] && work >= UNITS_WORK
}

/// Whether a single row is multiplied by 16-bit elements that lie in no vectors: on an H200 1 × 768 × 50257 of f16 46 µs by rows of
/// lanes, 65 by the kernel of few rows.
pub(super) fn half_words_of_a_row(p: &Problem, dtype: DType, ability: &Ability) -> bool {
    ability.is_large() && p.m == 1 && dtype.bytes() == 2 && loads(p)[1] == Load::Words
}
