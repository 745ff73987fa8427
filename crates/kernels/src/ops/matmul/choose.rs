//! Which matmul kernel, as a pure function of the problem: tiles for matrices with two real sides (on matrix units where
//! there are any for the dtype), the narrow kernel for few rows, the dot kernel for everything else (a vector on the
//! right, tiny outputs, devices with small workgroups).

use ziggurat_core::DType;

use super::aligned::Aligned;
use super::packed::Packed;
use super::problem::Problem;
use super::scaled::{self, Scaled};
use super::shares::Shared;
use crate::limits::ability::Ability;
use crate::ops::reduce::lanes::{self, Lanes, Side, power_above};
use crate::ops::tile::{Tile, TileKind};
use crate::ops::ways::Ways;
use crate::tune::{Class, Named, WayName, bucket};

/// A side below this wastes most of a tile.
const NARROW: u64 = 16;
/// Rows up to which reading the columns once for every 16 of them takes less time than mostly empty tiles.
const FEW_ROWS: u64 = 32;
/// The same where tiles on matrix units, or shares of them, keep a device busy: on an H100 5 to 16 × 4096² take about 20 µs by
/// tiles, and by the kernel of few rows 8 take 23 to 29.
const FEW_ROWS_ON_UNITS: u64 = 4;
/// The same of large products whose tiles leave multiprocessors idle, and that are not packed.
const FEW_ROWS_OF_FEW_TILES: u64 = 64;

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

impl Named for Choice {
    fn name(&self) -> WayName {
        match self {
            Self::Tile(tiled) => tiled.tile.name("tile"),
            Self::Packed(packed) => packed.name(),
            Self::Scaled(scaled) => scaled.name(),
            Self::Aligned(aligned) => aligned.name(),
            Self::Shared(shared) => shared.name(),
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

/// How an operand is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Load {
    /// Four neighbours along k at a time.
    Along,
    /// Four neighbouring rows of a, or columns of b, at a time.
    Across,
    /// Any strides, word by word.
    Words,
}

/// A tile, and how the tiled kernel loads and stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Tiled {
    pub(crate) tile: Tile,
    pub(crate) a: Load,
    pub(crate) b: Load,
    /// The output is written four columns at a time.
    pub(crate) out_vec4: bool,
    /// Neighbouring invocations load neighbours along k.
    pub(crate) a_along_depth: bool,
    /// Neighbouring invocations load neighbours along k.
    pub(crate) b_along_depth: bool,
    /// k is a multiple of the tile's depth.
    pub(crate) whole: bool,
}

/// What a product of a dtype takes on a device: the default of its [`ways`].
pub(crate) fn default(p: &Problem, dtype: DType, ability: &Ability) -> Choice {
    let fits = |tile: &Tile| p.k > 0 && tile.fits(ability);
    let units = has_units(dtype, ability) && fits(&Tile::COOPERATIVE);
    // Matrix units make up for empty rows.
    let idle = !Tile::DEFAULT.fills(p.m, p.n, p.batches(), ability);
    let small = small_units(p);
    let shared = units
        .then(|| Shared::paying(p, small, dtype, ability))
        .flatten()
        .filter(|_| lies_in_vectors(p));
    let few = if units && p.n >= NARROW && (shared.is_some() || busies(p, small, ability)) {
        FEW_ROWS_ON_UNITS
    } else if units {
        FEW_ROWS / 2
    } else if idle && p.outputs().saturating_mul(p.k) >= PACKED_WORK {
        FEW_ROWS_OF_FEW_TILES
    } else {
        FEW_ROWS
    };
    // Of fewer columns than a workgroup takes most invocations have none: on an H200 4,096 products of 32 × 32 take 5 times as
    // long as by tiles.
    let covers = |narrow: &Narrow| p.n >= 4 * u64::from(narrow.vec4);
    let in_halves = in_halves(p, dtype, ability);
    let few = in_halves.map_or(few, |(_, most)| few.min(most));
    if p.m <= few
        && let Some(narrow) = narrow(p, dtype, ability).filter(covers)
    {
        return Choice::Narrow(narrow);
    }
    if let Some((choice, _)) = in_halves {
        return choice;
    }
    if let Some(choice) = of_few_tiles(p, dtype, units, ability) {
        return choice;
    }
    let [large, small] = if units {
        [Tile::COOPERATIVE, small]
    } else {
        [Tile::WIDE, Tile::DEFAULT]
    };
    let filling = large.fills(p.m, p.n, p.batches(), ability);
    let tile = if filling { large } else { small };
    // Tiles smaller than these have not been measured.
    if p.m > few.min(NARROW - 1) && p.n >= NARROW && fits(&tile) {
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

/// What takes less time than tiles where these leave most of a large GPU idle: each element of the inner extent costs them 50 ns
/// there, however few they are. Smaller devices have not been measured.
fn of_few_tiles(p: &Problem, dtype: DType, units: bool, ability: &Ability) -> Option<Choice> {
    let [rows, cols] = Tile::DEFAULT.count(p.m, p.n);
    let tiles = rows.saturating_mul(cols).saturating_mul(p.batches());
    let busy = ability.busy_groups;
    let fits = p.k > 0 && Tile::DEFAULT.fits(ability);
    if !fits || p.m.min(p.n) < NARROW || busy < Ability::LARGE.busy_groups || tiles * 8 >= busy {
        return None;
    }
    let work = p.outputs().saturating_mul(p.k);
    let [outputs, long] = FEW_LONG_OUTPUTS;
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
    let few_long = !units && p.outputs() <= outputs && p.k >= long && tiles * 64 <= busy;
    if little || few_long {
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
    let shared = Shared::new(p, 2, tile, dtype, ability);
    let all = all.chain(shared.map(Choice::Shared));
    let all = all.chain(narrow(p, dtype, ability).map(Choice::Narrow));
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

/// How the operands of a problem can be read.
pub(super) fn loads(p: &Problem) -> [Load; 2] {
    let vec4 = |n: u64| n.is_multiple_of(4);
    let stride = |s: isize| s % 4 == 0;
    let batch = |operand: usize| {
        p.batch
            .iter()
            .all(|axis| axis.strides.get(operand).is_some_and(|&s| stride(s)))
    };
    let a = match [p.a_depth, p.a_row] {
        _ if !(p.a_aligned && batch(0)) => Load::Words,
        [1, row] if vec4(p.k) && stride(row) => Load::Along,
        [depth, 1] if vec4(p.m) && stride(depth) => Load::Across,
        _ => Load::Words,
    };
    let b = match [p.b_depth, p.b_col] {
        _ if !(p.b_aligned && batch(1)) => Load::Words,
        [depth, 1] if vec4(p.n) && stride(depth) => Load::Across,
        [1, col] if vec4(p.k) && stride(col) => Load::Along,
        _ => Load::Words,
    };
    [a, b]
}

/// How the kernel of a tile loads and stores.
pub(crate) fn tiled(p: &Problem, tile: Tile) -> Tiled {
    let [mut a, mut b] = loads(p);
    if tile.kind == TileKind::Vector {
        // It has one way each to read four elements.
        a = if a == Load::Across { Load::Words } else { a };
        b = if b == Load::Along { Load::Words } else { b };
    }
    Tiled {
        tile,
        a,
        b,
        out_vec4: p.n.is_multiple_of(4),
        a_along_depth: p.a_depth.abs() == 1 || p.a_row.abs() != 1,
        b_along_depth: p.b_depth.abs() == 1 && p.b_col.abs() != 1,
        whole: p.k.is_multiple_of(u64::from(tile.depth)),
    }
}

mod few_rows;
mod samples;
mod units;

pub(crate) use few_rows::{NARROW_BYTES, NARROW_GROUP, Narrow};
pub(crate) use samples::samples;
use units::{ALIGNED_WORK, PACKED_WORK, aligning_pays, busies, has_units, in_halves, small_units};

#[cfg(test)]
mod tests;
