//! Which matmul kernel, as a pure function of the problem: tiles for matrices with two real sides (on matrix units where
//! there are any for the dtype), the narrow kernel for few rows, the dot kernel for everything else (a vector on the
//! right, tiny outputs, devices with small workgroups).

use ziggurat_core::DType;

use super::aligned::Aligned;
use super::packed::Packed;
use super::problem::Problem;
use super::scaled::{self, Scaled};
use super::shares::Shared;
use crate::limits::ability::{Ability, MATRIX_UNITS};
use crate::ops::reduce::lanes::{self, Lanes, Side, power_above};
use crate::ops::tile::{Tile, TileKind};
use crate::ops::ways::Ways;
use crate::tune::{Class, Named, WayName, bucket};

/// A side below this wastes most of a tile.
const NARROW: u64 = 16;
/// Rows up to which reading the columns once for every 16 of them takes less time than mostly empty tiles.
const FEW_ROWS: u64 = 32;
/// The same on matrix units, of operands that lie in vectors and of others, from an inner extent on: on an H200 16 × 4096 × 11008 of
/// f16 59 µs by tiles and 205 by few rows, 16 × 1024 × 1024 8 by shares and 16, 16 × 512 × 4096 7 by tiles and 12; 8 × 768 × 50257,
/// whose rows are odd, 95 by copies of both operands and 81 by few rows.
const FEW_ROWS_ON_UNITS: [u64; 2] = [4, 8];
const UNITS_INNER: u64 = 512;
/// The same where so many shares are few tiles, of columns that lie along the inner extent and of others: 4 × 4096 × 1024 10 µs by 8
/// shares and 19 by few rows, by a transposed weight 10 and 12.
const MANY_SHARES: u32 = 8;
const FEW_ROWS_OF_SHARES: [u64; 2] = [2, 0];
/// The same of large products whose tiles leave multiprocessors idle, and that are not packed.
const FEW_ROWS_OF_FEW_TILES: u64 = 64;

/// Columns, and rows from which on tiles are better for so few of them, and the inner extent of both.
const TALL_ROWS: [[u64; 2]; 2] = [[4, 1 << 11], [2, 1 << 14]];
const TALL_DEPTH: u64 = 32;
const TALL_ROWS_EACH: u64 = 64;
/// The inner extent from which on tiles of 128 × 128 take less time than those of 64 × 64 (on an H200 65,536 × 16 × 64 55 and 34 µs),
/// and from which on as many of them as this do that are full.
const WIDE_DEPTH: u64 = 128;
const WIDE_DEPTH_OF_MANY: [u64; 2] = [64, 256];
/// The same of matrix units, of operands that lie in vectors and of others: 65,536 × 16 × 64 53 µs by them and 24 without.
const UNITS_DEPTH: [u64; 2] = [32, 33];
/// The kernel and its fixed properties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// Tiles through workgroup memory.
    Tile(Tiled),
    /// Tiles on matrix units, of operands that are packed for them first.
    Packed(Packed),
    /// Tiles on matrix units, of operands that become f16 tile by tile.
    Scaled(Scaled),
    /// Tiles on matrix units, of f16 that is copied into vectors first.
    Aligned(Aligned),
    /// Tiles of which each is computed by several workgroups.
    Shared(Shared),
    /// Few rows: blocks of b times all of them.
    Narrow(Narrow),
    /// A row of lanes per output.
    Dot(Lanes),
}

impl Choice {
    /// Whether workgroups stream columns for few rows.
    pub(super) const fn is_streamed(&self) -> bool {
        match self {
            Self::Tile(tiled) => matches!(tiled.tile.kind, TileKind::Streamed),
            Self::Shared(shared) => matches!(shared.tile.tile.kind, TileKind::Streamed),
            _ => false,
        }
    }
}

impl Named for Choice {
    fn name(&self) -> WayName {
        match self {
            Self::Tile(tiled) if self.is_streamed() => tiled.tile.streamed_name(1),
            Self::Tile(tiled) => tiled.tile.name("tile"),
            Self::Packed(packed) => packed.name(),
            Self::Scaled(scaled) => scaled.name(),
            Self::Aligned(aligned) => aligned.name(),
            Self::Shared(shared) => shared.name(),
            Self::Narrow(narrow) if narrow.columns => WayName::new("columns", [0; 3]),
            Self::Narrow(_) => WayName::new("narrow", [0; 3]),
            Self::Dot(_) => WayName::new("dot", [0; 3]),
        }
    }
}

/// Products that the same kernel is the fastest for: rows and matrices of a batch count by their power of two.
pub(super) fn class(p: &Problem, dtypes: [DType; 3]) -> Class {
    let loads = loads(p).map(|load| load as u64);
    let along = [p.a_depth.abs() == 1, p.b_depth.abs() == 1].map(u64::from);
    let dtypes = dtypes.map(|dtype| dtype as u64);
    let extents = [bucket(p.m), p.n, p.k, bucket(p.batches())];
    let precision = [u64::from(p.precision.is_reduced())];
    let facts = [&dtypes[..], &extents, &loads, &along, &precision];
    Class::new("matmul", facts.concat())
}

/// What a product of a dtype takes on a device: the default of its [`ways`].
pub(crate) fn default(p: &Problem, dtype: DType, ability: &Ability) -> Choice {
    let fits = |tile: &Tile| p.k > 0 && tile.fits(ability);
    let units = has_units(dtype, ability) && fits(&Tile::COOPERATIVE);
    // Matrix units make up for empty rows.
    let idle = !Tile::DEFAULT.fills(p.m, p.n, p.batches(), ability);
    let small = small_units(p);
    let timed = if units { least_time(p, ability) } else { None };
    let shared = match timed {
        Some((_, shared)) => shared,
        None if units && lies_in_vectors(p) => Shared::paying(p, small, dtype, ability),
        None => None,
    };
    let deep = p.k >= UNITS_INNER || busies(p, small, ability);
    let few = if shared.is_some_and(|shared| shared.shares >= MANY_SHARES) {
        FEW_ROWS_OF_SHARES[usize::from(p.b_depth.abs() != 1)]
    } else if units && has_columns(p, ability) && deep {
        FEW_ROWS_ON_UNITS[usize::from(!lies_in_vectors(p))]
    } else if units {
        FEW_ROWS / 2
    } else if idle && p.outputs().saturating_mul(p.k) >= PACKED_WORK {
        FEW_ROWS_OF_FEW_TILES
    } else {
        FEW_ROWS
    };
    // Of fewer columns than a workgroup takes most invocations have none: on an H200 4,096 products of 32 × 32 take 5 times as
    // long as by tiles.
    // A few rows of a single one leave lanes nothing to share: 1 × 1024 × 16 4.5 µs instead of 12.
    let single = p.batches() == 1 && p.m <= 4 && p.k >= 512;
    let covers = |narrow: &Narrow| p.n * (1 + u64::from(single)) >= 4 * u64::from(narrow.vec4);
    let in_halves = in_halves(p, dtype, ability);
    let few = in_halves.map_or(few, |(_, most)| few.min(most));
    if few_long_outputs(p, units, ability) || half_words_of_a_row(p, dtype, ability) {
        return Choice::Dot(dot(p, ability));
    }
    if MATRIX_UNITS && let Some(columns) = columns_paying(p, dtype, units, ability) {
        return Choice::Narrow(columns);
    }
    if let Some(streamed) = streaming_pays(p, dtype, ability) {
        return streamed;
    }
    if let Some(tile) = little_tile(p, dtype, ability) {
        return Choice::Tile(tiled(p, tile));
    }
    let in_waves = |narrow: &Narrow| rows_in_waves(p, narrow, dtype, ability);
    if p.m <= few
        && let Some(narrow) = narrow(p, dtype, ability).filter(covers)
    {
        return in_waves(&narrow).unwrap_or(Choice::Narrow(narrow));
    }
    let of_few_tiles = || of_few_tiles(p, dtype, units, ability);
    let shallow = dtype == DType::F32 && are_shallow(p);
    let halves = in_halves.map(|(choice, _)| choice);
    let choice = if shallow {
        of_few_tiles().or(halves)
    } else {
        halves.or_else(of_few_tiles)
    };
    match choice {
        Some(Choice::Narrow(narrow)) => {
            return in_waves(&narrow).unwrap_or(Choice::Narrow(narrow));
        }
        Some(choice) => return choice,
        None => {}
    }
    let deep_enough = p.k >= UNITS_DEPTH[usize::from(!lies_in_vectors(p))];
    let tile = match timed {
        Some((tile, _)) => tile,
        None if units && deep_enough => units_tile(p, small, ability),
        None => vector_tile(p, ability),
    };
    // Tiles smaller than these have not been measured.
    let has_columns = has_columns(p, ability) || units && deep && fills_units(p);
    if p.m > few.min(NARROW - 1) && has_columns && fits(&tile) {
        if let Some(shared) = shared {
            return Choice::Shared(shared);
        }
        if let Some(aligned) = Aligned::new(p, tile, ability).filter(|_| aligning_pays(p)) {
            return Choice::Aligned(aligned);
        }
        return Choice::Tile(tiled(p, tile));
    }
    Choice::Dot(dot(p, ability))
}

/// The large tile without matrix units, if such tiles keep a device busy and are worth their loads, or the default one: on an H200
/// 4,096 × 64 × 4,096 302 µs by large ones instead of 343, 12 products of 512 × 64 × 512, 192 tiles, 26.5 instead of 22.5.
fn vector_tile(p: &Problem, ability: &Ability) -> Tile {
    let large = Tile::WIDE;
    let [rows, cols] = large.count(p.m, p.n);
    let tiles = rows.saturating_mul(cols);
    let covered = tiles.saturating_mul(u64::from(large.rows * large.cols));
    let full = covered.saturating_mul(2) <= p.m.saturating_mul(p.n).saturating_mul(3);
    let [depth, many] = WIDE_DEPTH_OF_MANY;
    let pays =
        p.k >= WIDE_DEPTH || p.k >= depth && full && tiles.saturating_mul(p.batches()) >= many;
    if pays && large.fills(p.m, p.n, p.batches(), ability) {
        large
    } else {
        Tile::DEFAULT
    }
}

/// Whether there are as many columns as a tile should have, or so many rows that lanes, which read them once for each column, take
/// longer than tiles that are mostly empty: on an H200 50,257 × 768 × 8 905 µs by lanes, 116 by tiles, in f16 945 and 41.
fn has_columns(p: &Problem, ability: &Ability) -> bool {
    let tall = !ability.idle_costs && p.k >= TALL_DEPTH;
    // Those of a batch count together, if each fills a tile.
    let all = match p.m {
        TALL_ROWS_EACH.. => p.m.saturating_mul(p.batches()),
        m => m,
    };
    let few = TALL_ROWS
        .iter()
        .any(|&[columns, rows]| p.n >= columns && all >= rows);
    p.n >= NARROW || tall && few
}

/// Whether both operands lie in vectors.
fn lies_in_vectors(p: &Problem) -> bool {
    loads(p).iter().all(|load| *load != Load::Words)
}

/// The ways to compute a product of a dtype on a device; the output starts at a multiple of four elements.
pub(crate) fn ways(p: &Problem, dtype: DType, ability: &Ability) -> Ways<Choice> {
    let default = default(p, dtype, ability);
    let units = [Tile::COOPERATIVE, small_units(p)].into_iter();
    let tiles = units.filter(|_| has_units(dtype, ability)).chain(Tile::ALL);
    let tiles = tiles.filter(|tile| p.k > 0 && tile.fits(ability));
    let all = tiles.map(|tile| Choice::Tile(tiled(p, tile)));
    let all = all.chain(Packed::new(p, dtype, ability).map(Choice::Packed));
    let scaled = scaled::tiles(dtype, p.precision).iter();
    let scaled = scaled
        .flat_map(|tile| [1, 4].map(|shares| Scaled::new(p, dtype, (*tile, shares), ability)));
    let all = all.chain(scaled.flatten().map(Choice::Scaled));
    let aligned = [Tile::COOPERATIVE, small_units(p)].into_iter();
    let aligned = aligned.filter(|_| has_units(dtype, ability));
    let aligned = aligned.filter_map(|tile| Aligned::new(p, tile, ability));
    let all = all.chain(aligned.map(Choice::Aligned));
    let tile = if has_units(dtype, ability) {
        small_units(p)
    } else {
        Tile::DEFAULT
    };
    let large = has_units(dtype, ability).then_some(Tile::COOPERATIVE);
    let mut shared = Vec::new();
    for tile in [Some(tile), large].into_iter().flatten() {
        for shares in [2, 3, 4, 8] {
            shared.extend(Shared::new(p, shares, tile, dtype, ability).map(Choice::Shared));
        }
    }
    let all = all.chain(shared).chain(streamed(p, dtype, ability));
    let columns = match MATRIX_UNITS {
        true => few_columns(p, dtype, ability),
        false => None,
    };
    let narrow = narrow(p, dtype, ability).into_iter().chain(columns);
    let all = all.chain(narrow.map(Choice::Narrow));
    let all = all.chain([Choice::Dot(dot(p, ability))]);
    Ways::new(default, all.filter(|way| *way != default))
}

/// The kernel of few rows, for outputs whose columns and inner extent are worth a workgroup.
fn narrow(p: &Problem, dtype: DType, ability: &Ability) -> Option<Narrow> {
    let fits = ability.invocations >= NARROW_GROUP && ability.workgroup_bytes >= NARROW_BYTES;
    if !fits || p.n < NARROW || p.k < NARROW {
        return None;
    }
    let [a, b] = loads(p);
    let b_along_depth = p.b_depth.abs() == 1 && p.b_col.abs() != 1;
    // Neighbours that read along k want whole lines of memory; and parts of k that there are.
    let most = if b_along_depth { 4 } else { 8 };
    let slices = NARROW_GROUP / most;
    let parts_of = |each: u64| slices.min(power_within(p.k / each, slices).max(4));
    // Parts of k are added in a tree, which takes longer than short ones: of 512 rows by 128 × 1024 of f16 on an H100 parts of 4
    // take 0.096 ms, of 8 0.067, of 16 and of 32 0.061. Few workgroups want short parts all the same.
    let long = parts_of(16);
    let columns = u64::from(4 * NARROW_GROUP / long);
    let groups = p.n.div_ceil(columns).saturating_mul(p.batches());
    let slices = if groups >= ability.busy_groups / 4 {
        long
    } else {
        parts_of(4)
    };
    let narrow = Narrow {
        lines: power_above(p.m, 16),
        vec4: NARROW_GROUP / slices,
        slices,
        a: if a == Load::Across { Load::Words } else { a },
        b,
        out_vec4: p.n.is_multiple_of(4),
        b_along_depth,
        native: has_units(dtype, ability),
        columns: false,
    };
    (narrow.iterations(p.k) <= ability.loop_budget).then_some(narrow)
}

/// The largest power of two that is not above `n`, at most `most`.
fn power_within(n: u64, most: u32) -> u32 {
    let power = n.checked_ilog2().map_or(1, |log| 1_u64 << log);
    u32::try_from(power).unwrap_or(most).min(most)
}

fn dot(p: &Problem, ability: &Ability) -> Lanes {
    // The larger matrix decides what neighbours should read.
    let along_depth = if p.m <= p.n {
        p.b_depth.abs() == 1
    } else {
        p.a_depth.abs() == 1
    };
    let side = if along_depth {
        Side::Reduced
    } else {
        Side::Kept
    };
    let lanes = lanes::choose(p.outputs(), p.k, side, true, ability);
    lanes.within(p.k, 1, ability.loop_budget)
}

mod columns;
mod few_rows;
mod few_tiles;
mod little;
mod loads;
mod samples;
mod streamed;
mod units;
mod waves;

use columns::{columns_paying, few_columns, fills_units, half_words_of_a_row};
pub(crate) use few_rows::{NARROW_BYTES, NARROW_GROUP, Narrow};
use few_tiles::{are_shallow, few_long_outputs, of_few_tiles};
use little::little_tile;
pub(super) use loads::loads;
pub(crate) use loads::{Load, Tiled, tiled};
pub(crate) use samples::{samples, streamed_samples};
use streamed::{streamed, streaming_pays};
pub(super) use units::units_tile;
use units::{PACKED_WORK, aligning_pays, busies, has_units, in_halves, rows_in_waves, small_units};
use waves::least_time;

#[cfg(test)]
mod tests;
