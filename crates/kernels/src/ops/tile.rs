//! A [`Tile`]: how much of a product one workgroup computes, as data that matrix products and convolutions share.
//!
//! A new tile is a value here and its entry in [`Tile::ALL`]; its numbers reach the one shader of its kind as override
//! constants.

use crate::limits::ability::{Ability, Cooperative};
use crate::limits::budget::nested;
use crate::tune::WayName;

/// A shader that computes tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum TileKind {
    /// `matmul/tile.wgsl`: 4 × 4 outputs per invocation, in f32 or 32-bit integers, one copy of each operand in
    /// workgroup memory.
    Vector,
    /// `matmul/tile_wide.wgsl`: 8 × 8 outputs per invocation, the next part of the operands loaded meanwhile.
    Wide,
    /// `matmul/tile_cooperative.wgsl` and its smaller form: a quarter of the outputs for each of 4 subgroups of 32, by
    /// matrix units that multiply f16 and add in f32.
    Cooperative,
    /// `matmul/tile_split.wgsl`: the same for f32, of which each element is packed as two f16, without workgroup memory for them.
    Split,
    /// `matmul/tile_pieces.wgsl`: as [`TileKind::Cooperative`], for f32, of which each element becomes two f16 there.
    Pieces,
    /// `matmul/tile_streamed.wgsl`: few rows of f16 by matrix units; a quarter of the columns for each of 4 subgroups. The inner
    /// extent is whole steps.
    Streamed,
}

/// The part of a product that one workgroup computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Tile {
    pub(crate) kind: TileKind,
    /// Rows of the output.
    pub(crate) rows: u32,
    /// Columns of the output.
    pub(crate) cols: u32,
    /// Elements of the inner extent that are in workgroup memory at a time.
    pub(crate) depth: u32,
}

impl Tile {
    /// 64 × 64 outputs.
    pub(crate) const SQUARE_64: Self = Self::vector(64, 64, 16);
    /// For devices with small workgroups, and for many small outputs.
    pub(crate) const SQUARE_32: Self = Self::vector(32, 32, 8);
    /// Half the rows: every invocation loads more columns than rows.
    pub(crate) const HALF_64: Self = Self::vector(32, 64, 16);
    /// For outputs of many tiles.
    pub(crate) const WIDE: Self = Self::of(TileKind::Wide, 128, 128, 16);
    /// Of f16, where there are matrix units for them.
    pub(crate) const COOPERATIVE: Self = Self::of(TileKind::Cooperative, 128, 128, 32);
    /// The same for outputs of few tiles: on an H100 128 × 4096² take 51 µs instead of 68 by steps of 32.
    pub(crate) const COOPERATIVE_64: Self = Self::of(TileKind::Cooperative, 64, 64, 64);
    /// The same for inner extents that are no multiple of 64, and for convolutions of blocks of 32 channels.
    pub(crate) const COOPERATIVE_64_BY_32: Self = Self::of(TileKind::Cooperative, 64, 64, 32);
    /// Of f32 by the same units.
    pub(crate) const SPLIT: Self = Self::of(TileKind::Split, 64, 64, 16);
    /// The same for outputs of few tiles, whose operands are not packed first. Its workgroup memory is half of
    /// `PROCESSOR_BYTES` to the byte: on an H100 four bytes more take twice as long.
    pub(crate) const PIECES: Self = Self::of(TileKind::Pieces, 64, 64, 32);
    /// Of f16, for up to so many rows, of columns that lie side by side.
    pub(crate) const STREAMED_ACROSS: [Self; 4] = Self::streamed(128, 32);
    /// The same of columns that lie along the inner extent.
    pub(crate) const STREAMED_ALONG: [Self; 4] = Self::streamed(64, 64);

    /// What a device takes that can, for outputs of few tiles.
    pub(crate) const DEFAULT: Self = Self::SQUARE_64;

    /// Every tile that computes in any dtype, the default first.
    pub(crate) const ALL: [Self; 4] = [Self::DEFAULT, Self::WIDE, Self::SQUARE_32, Self::HALF_64];

    /// Bytes of a matrix of 16 × 16 sums of each of 4 subgroups.
    const STRIPS: u32 = 4 * 4 * 16 * 16;

    const fn vector(rows: u32, cols: u32, depth: u32) -> Self {
        Self::of(TileKind::Vector, rows, cols, depth)
    }

    const fn streamed(cols: u32, depth: u32) -> [Self; 4] {
        [
            Self::of(TileKind::Streamed, 16, cols, depth),
            Self::of(TileKind::Streamed, 32, cols, depth),
            Self::of(TileKind::Streamed, 48, cols, depth),
            Self::of(TileKind::Streamed, 64, cols, depth),
        ]
    }

    const fn of(kind: TileKind, rows: u32, cols: u32, depth: u32) -> Self {
        assert!(
            rows.is_multiple_of(4) && cols.is_multiple_of(4) && depth.is_multiple_of(4),
            "operands and outputs are handled in vectors of four"
        );
        Self {
            kind,
            rows,
            cols,
            depth,
        }
    }

    /// The name of a way that computes by this tile.
    pub(crate) const fn name(self, kind: &'static str) -> WayName {
        // Tiles of one kind differ in size, and those of different kinds too.
        WayName::new(kind, [self.rows, self.cols, self.depth])
    }

    /// The same of few rows: rows and columns of a tile, and workgroups that share it.
    pub(crate) const fn streamed_name(self, shares: u32) -> WayName {
        WayName::new("streamed", [self.rows, self.cols, shares])
    }

    /// The shader.
    pub(crate) const fn body(self) -> &'static str {
        match self.kind {
            TileKind::Vector => "matmul/tile.wgsl",
            TileKind::Wide => "matmul/tile_wide.wgsl",
            TileKind::Cooperative if self.rows == 64 => "matmul/tile_cooperative_64.wgsl",
            TileKind::Cooperative => "matmul/tile_cooperative.wgsl",
            TileKind::Split => "matmul/tile_split.wgsl",
            TileKind::Pieces => "matmul/tile_pieces.wgsl",
            TileKind::Streamed => "matmul/tile_streamed.wgsl",
        }
    }

    /// The part that says how deep the tiles of the kind are, where there are several depths.
    pub(crate) const fn depth_part(self) -> &'static [&'static str] {
        match (self.kind, self.depth) {
            (TileKind::Cooperative, 64) => &["matmul/depth_64.wgsl"],
            (TileKind::Cooperative | TileKind::Pieces, _) => &["matmul/depth_32.wgsl"],
            _ => &[],
        }
    }

    /// The part by which the scales of lines reach sums: of large tiles through workgroup memory. On an H200 a convolution of 256
    /// channels of bf16 takes 178 µs instead of 190 so, one of 64 by small tiles 75 instead of 72.
    pub(crate) const fn scales_part(self) -> &'static str {
        match self.kind {
            TileKind::Cooperative if self.rows == 128 => "matmul/scales_from_tile.wgsl",
            _ => "matmul/scales_from_storage.wgsl",
        }
    }

    /// Invocations of a workgroup.
    pub(crate) const fn invocations(self) -> u32 {
        let outputs = self.rows * self.cols;
        match self.kind {
            TileKind::Vector => outputs / 16,
            TileKind::Wide => outputs / 64,
            TileKind::Cooperative | TileKind::Split | TileKind::Pieces | TileKind::Streamed => 128,
        }
    }

    /// f16 along the depth, on matrix units.
    pub(crate) const fn halves(self) -> u32 {
        match self.kind {
            TileKind::Split => 2 * self.depth,
            _ => self.depth,
        }
    }

    /// Bytes of workgroup memory, at most.
    pub(crate) const fn workgroup_bytes(self) -> u32 {
        let [rows, cols, depth] = [self.rows, self.cols, self.depth];
        match self.kind {
            // Rows of vectors, each with one more against bank conflicts.
            TileKind::Vector => 16 * (rows * (depth / 4 + 1) + depth * (cols / 4 + 1)),
            TileKind::Wide => 4 * depth * (rows + cols),
            // Lines of f16, each with two vectors more; and a matrix of 16 × 16 sums of each of 4 subgroups.
            TileKind::Cooperative => 8 * (rows + cols) * (depth / 4 + 2) + Self::STRIPS,
            // Two f16 for each element.
            TileKind::Pieces => 16 * (rows + cols) * (depth / 4 + 2) + Self::STRIPS,
            TileKind::Split => Self::STRIPS,
            // Rows and 4096 elements of b in f16, each line with two vectors more.
            TileKind::Streamed => {
                8 * (rows * (depth / 4 + 2) + 4096 / cols * (cols / 4 + 2)) + Self::STRIPS
            }
        }
    }

    /// Whether a device can run it.
    pub(crate) const fn fits(self, ability: &Ability) -> bool {
        let can = match self.kind {
            TileKind::Vector | TileKind::Wide => true,
            TileKind::Cooperative | TileKind::Split | TileKind::Pieces | TileKind::Streamed => {
                let units = ability.cooperative.has(Cooperative::F16_F32_16);
                let waits = ability.subgroup_barriers || !matches!(self.kind, TileKind::Streamed);
                units && ability.f16 && ability.subgroup == 32 && waits
            }
        };
        can && self.invocations() <= ability.invocations
            && self.workgroup_bytes() <= ability.workgroup_bytes
    }

    /// The override constants of the shader: only small tiles, and those of few rows, differ in size.
    pub(crate) fn constants(self) -> impl Iterator<Item = (&'static str, f64)> {
        let sizes = match self.kind {
            TileKind::Vector | TileKind::Streamed => 3,
            TileKind::Wide | TileKind::Cooperative | TileKind::Split | TileKind::Pieces => 0,
        };
        [
            ("WG", self.invocations()),
            ("ROWS", self.rows),
            ("COLS", self.cols),
            ("DEPTH", self.depth),
        ]
        .into_iter()
        .take(1 + sizes)
        .map(|(name, value)| (name, f64::from(value)))
    }

    /// How many tiles cover an output, along its rows and its columns.
    pub(crate) const fn count(self, rows: u64, cols: u64) -> [u64; 2] {
        [
            rows.div_ceil(self.rows as u64),
            cols.div_ceil(self.cols as u64),
        ]
    }

    /// Whether the tiles of this many outputs keep every part of a device busy, and outputs fill half of them: on an H200
    /// 1,024 products of 64 × 64 take 2.6 times as long by tiles of 128 × 128 as by those of 32 × 32.
    pub(crate) const fn fills(self, rows: u64, cols: u64, batches: u64, ability: &Ability) -> bool {
        let [m, n] = self.count(rows, cols);
        let covered = m
            .saturating_mul(n)
            .saturating_mul((self.rows * self.cols) as u64);
        if covered > rows.saturating_mul(cols).saturating_mul(2) {
            return false;
        }
        // A multiprocessor holds eight of the workgroups of 256 that are counted, but one of these keeps it busy.
        m.saturating_mul(n)
            .saturating_mul(batches)
            .saturating_mul(8)
            >= ability.busy_groups
    }

    /// Loop iterations of an invocation for an inner extent of `k`.
    pub(crate) fn iterations(self, k: u64) -> u64 {
        let steps = k.div_ceil(u64::from(self.depth));
        let vectors = u64::from(self.depth / 4);
        let invocations = u64::from(self.invocations());
        // Matrices of 16 × 16 outputs per subgroup.
        let strips = u64::from(self.rows * self.cols / (4 * 16 * 16)) * nested(&[2]);
        match self.kind {
            TileKind::Vector => {}
            TileKind::Wide => return nested(&[steps, 16]),
            TileKind::Split | TileKind::Streamed => return steps.saturating_add(strips + 1),
            // Loads; in each step stores, loads and two parts.
            TileKind::Cooperative | TileKind::Pieces => {
                let loads = nested(&[u64::from(self.rows) * vectors / invocations]);
                let step = 2 * loads + nested(&[2]) + 1;
                // Of two operands the magnitudes of lines are added.
                let weights = match self.kind {
                    TileKind::Pieces => 2 * nested(&[8]),
                    _ => 0,
                };
                return steps
                    .saturating_mul(step)
                    .saturating_add(loads + strips + weights + 1);
            }
        }
        // Vectors that an invocation loads beyond its first.
        let loads = [
            u64::from(self.rows) * vectors,
            u64::from(self.depth * self.cols / 4),
        ];
        let further = loads
            .map(|loads| (loads.div_ceil(invocations)).saturating_sub(1))
            .into_iter()
            .filter(|&n| n > 0)
            .map(|n| steps.saturating_mul(n + 1).saturating_add(1));
        further.fold(nested(&[steps, vectors]), u64::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_the_tile_that_was_measured() {
        let tile = Tile::DEFAULT;
        assert_eq!(Tile::ALL[0], tile);
        assert_eq!(tile.invocations(), 256);
        assert_eq!(tile.workgroup_bytes(), 16 * (320 + 272));
        assert_eq!(tile.iterations(1000), nested(&[63, 4]));
        assert_eq!(tile.count(65, 64), [2, 1]);
    }

    #[test]
    fn every_tile_fits_the_smallest_device_that_webgpu_allows() {
        assert_eq!(Tile::WIDE.workgroup_bytes(), 16_384);
        for tile in Tile::ALL {
            assert!(tile.fits(&Ability::WEBGPU), "{tile:?}");
            assert!(tile.invocations().is_power_of_two(), "{tile:?}");
        }
        let fit = |ability: Ability| Tile::ALL.map(|tile| tile.fits(&ability));
        let few = Ability {
            invocations: 128,
            ..Ability::WEBGPU
        };
        assert_eq!(fit(few), [false, false, true, true]);
        let little = Ability {
            workgroup_bytes: 4096,
            ..Ability::WEBGPU
        };
        assert_eq!(fit(little), [false, false, true, false]);
    }

    #[test]
    fn tiles_that_load_in_loops_count_them() {
        // 128 invocations load 128 vectors of a and 256 of b: one further load per step.
        assert_eq!(Tile::HALF_64.invocations(), 128);
        assert_eq!(Tile::HALF_64.iterations(160), nested(&[10, 4]) + 10 * 2 + 1);
    }

    #[test]
    fn matrix_units_are_used_where_they_are() {
        let tile = Tile::COOPERATIVE;
        assert!(tile.fits(&Ability::LARGE) && !tile.fits(&Ability::WEBGPU));
        // An H200 takes twice as long with 4 bytes more: it has one such workgroup less at a time.
        assert_eq!(tile.workgroup_bytes(), 24_576);
        assert_eq!(tile.invocations(), 128);
        let lacking = [
            Ability {
                subgroup: 64,
                ..Ability::LARGE
            },
            Ability {
                f16: false,
                ..Ability::LARGE
            },
            Ability {
                cooperative: Cooperative::NONE,
                ..Ability::LARGE
            },
            Ability {
                workgroup_bytes: 16_384,
                ..Ability::LARGE
            },
        ];
        assert!(lacking.iter().all(|ability| !tile.fits(ability)));
    }

    #[test]
    fn large_tiles_are_for_outputs_that_fill_a_device() {
        let fills = |n| Tile::WIDE.fills(n, n, 1, &Ability::LARGE);
        assert!(fills(2048) && !fills(1024));
        assert!(Tile::WIDE.fills(128, 128, 132, &Ability::LARGE));
        // Of small outputs most of a tile would be empty.
        assert!(!Tile::WIDE.fills(64, 64, 1024, &Ability::LARGE));
        assert!(Tile::WIDE.fills(64, 128, 1024, &Ability::LARGE));
    }
}
