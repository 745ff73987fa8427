//! The kernels of attention: tiles of rows and keys, or, for few rows, invocations that read keys on their own; and how workgroups share
//! the keys of a row.

use super::lanes::Lanes;
use super::matrix::Matrix;
use crate::limits::ability::Ability;
use crate::tune::{Class, Named, WayName, bucket};

/// What the choice depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    /// Batches times key heads.
    pub(super) heads: u64,
    /// (Head of a group, query) pairs per key head.
    pub(super) rows: u64,
    pub(super) keys: u64,
    pub(super) head_dim: u64,
    pub(super) value_dim: u64,
    /// Queries, keys and values are read four elements at a time.
    pub(super) vec4: bool,
    /// They can be read eight elements at a time.
    pub(super) octs: bool,
    /// f16 that an element is for matrix units, 0 where they do not compute with them.
    pub(super) pieces: u32,
    /// Two more dispatches have to say which heads f16 holds, and compute the others.
    pub(super) scaled: bool,
}

/// A kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Tile(Tile),
    Few(Few),
    Lanes(Lanes),
    Matrix(Matrix),
}

/// `attention/tile.wgsl`: 4 rows by 4 keys per invocation, then 4 rows by 4 · `steps` columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tile {
    pub(super) rows: u32,
    pub(super) keys: u32,
    pub(super) steps: u32,
    /// Values in workgroup memory at a time.
    pub(super) values: u32,
}

/// `attention/few.wgsl`: 4 rows per workgroup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Few {
    /// Invocations that read a key, and pieces of eight elements that each has of it.
    pub(super) key_lanes: u32,
    pub(super) key_octs: u32,
    /// Invocations that read a value.
    pub(super) value_lanes: u32,
    /// Keys whose scores are in workgroup memory at a time.
    pub(super) keys: u32,
}

impl Tile {
    /// Rows and keys.
    pub(super) const SHAPES: [[u32; 2]; 3] = [[64, 32], [32, 64], [32, 32]];

    /// The tile for so many columns.
    pub(super) fn new([rows, keys]: [u32; 2], value_dim: u64) -> Self {
        let fits = |steps: &u32| u64::from(keys * steps) >= value_dim;
        let steps = [1, 2].into_iter().find(fits).unwrap_or(4);
        // As many values as scores of queries and keys leave room for.
        let values = if keys * steps > 128 { 4 } else { 8 };
        Self {
            rows,
            keys,
            steps,
            values,
        }
    }

    pub(super) const fn invocations(self) -> u32 {
        self.rows * self.keys / 16
    }

    /// Columns of the result per workgroup.
    pub(super) const fn columns(self) -> u32 {
        self.keys * self.steps
    }

    /// Vectors of workgroup memory: of queries and keys; then of weights and values, or one per invocation.
    pub(super) fn len(self) -> u32 {
        let across = self.keys / 4;
        let behind = (self.values * across * self.steps).max(self.invocations());
        ((self.rows + self.keys) * 9).max(self.rows * (across + 1) + behind)
    }

    /// Loop iterations of an invocation for so many tiles of keys.
    fn iterations(self, tiles: u64, p: &Problem) -> u64 {
        // Strided elements are loaded in loops of four.
        let [fetched, put] = if p.vec4 { [0, 0] } else { [8 * 5, 4 * 5] };
        let scores = p.head_dim.div_ceil(32) * (10 + fetched);
        let values = u64::from(self.keys / self.values) * (u64::from(self.values / 4) + 2 + put);
        let across = u64::from(self.keys / 4);
        (scores + values + across + 4)
            .saturating_mul(tiles)
            .saturating_add(2 * across + 100)
    }
}

impl Few {
    pub(super) const INVOCATIONS: u32 = 256;
    pub(super) const ROWS: u32 = 4;

    pub(super) fn new(p: &Problem) -> Self {
        // Each invocation reads two keys of a tile, and two or four values.
        let wide = p.head_dim.max(p.value_dim) > 128;
        let key_lanes = if wide { 16 } else { 8 };
        let value_octs = p.value_dim.div_ceil(8).next_power_of_two();
        let value_lanes = u32::try_from(value_octs).unwrap_or(u32::MAX);
        Self {
            key_lanes,
            key_octs: if p.head_dim > u64::from(8 * key_lanes) {
                2
            } else {
                1
            },
            value_lanes: value_lanes.clamp(key_lanes, 32),
            keys: 2 * Self::INVOCATIONS / key_lanes,
        }
    }

    /// Vectors of workgroup memory for parts of scores, then for sums of a row.
    pub(super) fn len(self) -> u32 {
        (self.keys * (self.key_lanes + 1)).max(2 * Self::INVOCATIONS)
    }

    /// Loop iterations of an invocation for so many tiles of keys.
    fn iterations(self, tiles: u64) -> u64 {
        (u64::from(self.key_lanes) + 24)
            .saturating_mul(tiles)
            .saturating_add(4 * (u64::from(Self::INVOCATIONS / self.value_lanes) + 8) + 40)
    }
}

impl Named for Form {
    fn name(&self) -> WayName {
        match self {
            Self::Tile(tile) => WayName::new("tile", [tile.rows, tile.keys, 0]),
            Self::Few(_) => WayName::new("few", [0; 3]),
            Self::Lanes(lanes) => WayName::new("lanes", [lanes.rows, 0, 0]),
            Self::Matrix(matrix) => {
                WayName::new("matrix", [matrix.rows(), Matrix::KEYS, matrix.invocations])
            }
        }
    }
}

impl Problem {
    /// Problems that the same kernel is the fastest for: rows, keys and heads count by their power of two. `more` is what else
    /// the kernels depend on.
    pub(super) fn class(&self, more: &[u64]) -> Class {
        let counts = [self.heads, self.rows, self.keys].map(bucket);
        let lies = [self.vec4, self.octs].map(u64::from);
        let dims = [self.head_dim, self.value_dim];
        Class::new("attention", [&counts[..], &dims, &lies, more].concat())
    }
}

impl Form {
    /// Rows per workgroup.
    pub(super) const fn rows(self) -> u32 {
        match self {
            Self::Tile(tile) => tile.rows,
            Self::Few(_) => Few::ROWS,
            Self::Lanes(lanes) => lanes.rows,
            Self::Matrix(matrix) => matrix.rows(),
        }
    }

    /// Keys at a time.
    pub(super) const fn keys(self) -> u32 {
        match self {
            Self::Tile(tile) => tile.keys,
            Self::Few(few) => few.keys,
            Self::Lanes(lanes) => lanes.keys(),
            Self::Matrix(_) => Matrix::KEYS,
        }
    }

    /// Workgroups along the columns of the result.
    pub(super) fn column_tiles(self, p: &Problem) -> u64 {
        match self {
            Self::Tile(tile) => p.value_dim.div_ceil(u64::from(tile.columns())),
            Self::Few(_) | Self::Lanes(_) | Self::Matrix(_) => 1,
        }
    }

    pub(super) const fn invocations(self) -> u32 {
        match self {
            Self::Tile(tile) => tile.invocations(),
            Self::Few(_) => Few::INVOCATIONS,
            Self::Lanes(_) => Lanes::INVOCATIONS,
            Self::Matrix(matrix) => matrix.invocations,
        }
    }

    fn workgroup_bytes(self) -> u32 {
        match self {
            Self::Tile(tile) => 16 * (tile.len() + 1),
            Self::Few(few) => {
                let queries = 8 * few.key_lanes * few.key_octs;
                16 * (few.len() + queries + few.keys + few.keys / 8)
            }
            Self::Lanes(lanes) => lanes.workgroup_bytes(),
            Self::Matrix(matrix) => matrix.workgroup_bytes(),
        }
    }

    /// The kernel of heads that this one leaves out, which are some of bf16 and f32: what f16 does not hold. It has the same keys at a
    /// time, so that splits are the same.
    pub(super) fn of_flagged(self, p: &Problem, ability: &Ability) -> Self {
        let shapes = Tile::SHAPES.into_iter();
        let shapes =
            shapes.filter(|&[rows, keys]| keys == Matrix::KEYS && rows <= self.rows().max(32));
        let mut tiles = shapes.map(|shape| Self::Tile(Tile::new(shape, p.value_dim)));
        let fits = tiles.find(|tile| tile.fits(ability));
        fits.unwrap_or(Self::Tile(Tile::new([32, Matrix::KEYS], p.value_dim)))
    }

    pub(super) fn fits(self, ability: &Ability) -> bool {
        let able = match self {
            Self::Tile(_) | Self::Few(_) => true,
            Self::Lanes(lanes) => lanes.fits(ability),
            Self::Matrix(_) => Matrix::fits(ability),
        };
        able && self.invocations() <= ability.invocations
            && self.workgroup_bytes() <= ability.workgroup_bytes
    }

    fn iterations(self, tiles: u64, p: &Problem) -> u64 {
        match self {
            Self::Tile(tile) => tile.iterations(tiles, p),
            Self::Few(few) => few.iterations(tiles),
            Self::Lanes(lanes) => lanes.iterations(tiles),
            Self::Matrix(matrix) => matrix.iterations(tiles),
        }
    }

    /// Keys that a workgroup is worth having for: of few keys a tile each takes the least time, for most of a device is idle, but not of
    /// so few that merging takes as long. On an H200, 8 key heads of 4 rows of f16: 128 keys 8 µs by one workgroup for a head, 10 by
    /// two; 512 keys 11 by 64 each, 12 by 128 each.
    const fn least_keys(self, p: &Problem) -> u64 {
        match self {
            Self::Lanes(Lanes { rows: 1, .. }) => 128,
            Self::Tile(_) | Self::Matrix(_) if p.rows > 64 => 128,
            Self::Few(_) if p.keys > 1024 => 128,
            _ if p.keys > 128 => 64,
            _ => 128,
        }
    }

    /// Workgroups of those that keep a device busy for each that is enough: one for a multiprocessor of an H200 where each has keys under way
    /// for four rows, else two, and four of the smallest. With twice as many of the first 8 key heads of 4 rows and 32,768 keys take
    /// 60 µs in place of 56 there, of the others 32 heads of 16 rows and 4,096 keys 51 in place of 46.
    const fn enough(self) -> u64 {
        match self {
            Self::Lanes(Lanes { rows: 4.., .. }) => 8,
            _ if self.invocations() <= 64 => 2,
            _ => 4,
        }
    }
}

/// How the keys of a row are shared by workgroups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Splits {
    pub(super) count: u64,
    /// Keys of each.
    pub(super) span: u64,
}

/// As many splits as keep the device busy and their states find room in, and at least so many that none loops for too long.
pub(super) fn splits(form: Form, p: &Problem, ability: &Ability, state_bytes: u64) -> Splits {
    let step = u64::from(form.keys());
    let tiles = p.keys.div_ceil(step).max(1);
    let row_tiles = p.rows.div_ceil(u64::from(form.rows())).max(1);
    let groups = p
        .heads
        .saturating_mul(row_tiles)
        .saturating_mul(form.column_tiles(p));
    // A tile of rows of every key head at a time.
    let state = u64::from(form.rows())
        .min(p.rows)
        .saturating_mul(p.heads)
        .saturating_mul(row_bytes(p.value_dim));
    let wanted = (ability.busy_groups / form.enough() / groups.max(1))
        .min(state_bytes / state.max(1))
        .max(1);
    let (mut low, mut high) = (1, tiles);
    while low < high {
        let middle = high - (high - low) / 2;
        if form.iterations(middle, p) <= ability.loop_budget {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    let each = tiles
        .div_ceil(wanted)
        .max(form.least_keys(p) / step)
        .min(low);
    Splits {
        count: tiles.div_ceil(each),
        span: each * step,
    }
}

/// Bytes of the state of a row in a split.
pub(super) const fn row_bytes(value_dim: u64) -> u64 {
    16 * (value_dim.div_ceil(4) + 1)
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::rules::ways;
    use super::*;

    /// Eight heads of 16 bits.
    pub(in super::super) fn problem(rows: u64, keys: u64, dim: u64) -> Problem {
        Problem {
            heads: 8,
            rows,
            keys,
            head_dim: dim,
            value_dim: dim,
            vec4: true,
            octs: dim.is_multiple_of(8),
            pieces: 1,
            scaled: false,
        }
    }

    #[test]
    fn forms_follow_rows_and_alignment() {
        let form = |p: &Problem| ways(p, &Ability::WEBGPU).default;
        assert!(matches!(form(&problem(4, 100, 64)), Form::Few(_)));
        assert!(matches!(form(&problem(4, 100, 20)), Form::Tile(_)));
        assert!(matches!(form(&problem(4, 100, 264)), Form::Tile(_)));
        let many = form(&problem(4000, 1000, 128));
        assert_eq!((many.rows(), many.keys()), (64, 32));
        // Smaller tiles where those would leave the device idle.
        let [wide, narrow] = [128, 64].map(|dim| form(&problem(500, 500, dim)));
        assert_eq!((wide.rows(), wide.keys()), (32, 32));
        assert_eq!((narrow.rows(), narrow.keys()), (32, 64));
        assert!(matches!(form(&problem(77, 77, 64)), Form::Few(_)));
        assert!(matches!(form(&problem(77, 1000, 64)), Form::Tile(_)));
        assert_eq!(many.column_tiles(&problem(1000, 1000, 128)), 1);
        let wide = form(&problem(1000, 1000, 256));
        assert_eq!(
            (wide.rows(), wide.column_tiles(&problem(1, 1, 256))),
            (32, 1)
        );
        assert_eq!(wide.column_tiles(&problem(1, 1, 257)), 2);
    }

    #[test]
    fn every_way_fits_the_smallest_device_that_webgpu_allows() {
        for dim in [8, 16, 24, 40, 64, 72, 128, 136, 192, 256, 400] {
            for rows in [1, 5, 16, 17, 33, 5000] {
                let p = problem(rows, 1 << 12, dim);
                let mut count = 0;
                for form in ways(&p, &Ability::WEBGPU).all() {
                    assert!(form.fits(&Ability::WEBGPU), "{form:?}");
                    count += 1;
                }
                assert!(count >= 3, "{dim} {rows}: {count}");
            }
        }
    }

    #[test]
    fn invocations_move_what_their_tile_holds() {
        for dim in [4, 64, 65, 128, 200, 256, 1000] {
            for tile in Tile::SHAPES.map(|shape| Tile::new(shape, dim)) {
                let vectors = tile.values * tile.keys / 4 * tile.steps;
                let wg = tile.invocations();
                // The shader moves up to one vector each, or one, two or four.
                assert!(
                    vectors <= wg || vectors == 2 * wg || vectors == 4 * wg,
                    "{tile:?}"
                );
                assert!(tile.rows * 8 / (wg / 8) <= 4 * 8, "{tile:?}");
            }
        }
        for dim in [8, 64, 72, 128, 136, 256] {
            let few = Few::new(&problem(1, 1, dim));
            assert_eq!(few.keys * few.key_lanes, 2 * Few::INVOCATIONS);
            let values = few.keys * few.value_lanes / Few::INVOCATIONS;
            assert!(values == 2 || values == 4, "{few:?}");
        }
    }

    #[test]
    fn keys_are_shared_where_rows_are_few_or_loops_long() {
        let ability = Ability::WEBGPU;
        let split = |p: &Problem, room| {
            let form = ways(p, &ability).default;
            splits(form, p, &ability, room)
        };
        let all = 1 << 30;
        assert_eq!(split(&problem(4, 60, 64), all).count, 1);
        // Of few keys a workgroup has all, of more a tile of 64.
        assert_eq!(split(&problem(4, 100, 64), all).count, 1);
        assert_eq!(split(&problem(4, 200, 64), all).count, 4);
        assert_eq!(split(&problem(1 << 16, 1 << 12, 64), all).count, 1);
        let few = split(&problem(4, 1 << 15, 64), all);
        assert_eq!((few.count, few.span), (16, 1 << 11));
        // No room for states, but loops end.
        assert_eq!(split(&problem(4, 1 << 15, 64), 0).count, 1);
        let long = split(&problem(4, 1 << 22, 64), 0);
        assert!(
            long.count > 1 && long.count * long.span >= 1 << 22,
            "{long:?}"
        );
    }
}
