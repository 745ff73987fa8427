//! A [`Tile`]: how much of a product one workgroup computes, as data that matrix products and convolutions share.
//!
//! A new tile is a value here and its entry in [`Tile::ALL`]; its numbers reach the one shader of its kind as override
//! constants.

use crate::limits::ability::Ability;
use crate::limits::budget::nested;

/// A shader that computes tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum TileKind {
    /// `matmul/tile.wgsl`: 4 × 4 outputs per invocation, in f32 or 32-bit integers, one copy of each operand in
    /// workgroup memory.
    Vector,
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
    const SQUARE_64: Self = Self::vector(64, 64, 16);
    /// For devices with small workgroups, and for outputs of few tiles.
    const SQUARE_32: Self = Self::vector(32, 32, 8);
    /// Half the rows of the default: every invocation loads more columns than rows.
    const WIDE: Self = Self::vector(32, 64, 16);

    /// What a device takes that can.
    pub(crate) const DEFAULT: Self = Self::SQUARE_64;

    /// Every tile, the default first.
    pub(crate) const ALL: [Self; 3] = [Self::DEFAULT, Self::SQUARE_32, Self::WIDE];

    const fn vector(rows: u32, cols: u32, depth: u32) -> Self {
        assert!(
            rows.is_multiple_of(4) && cols.is_multiple_of(4) && depth.is_multiple_of(4),
            "operands and outputs are handled in vectors of four"
        );
        Self {
            kind: TileKind::Vector,
            rows,
            cols,
            depth,
        }
    }

    /// The shader.
    pub(crate) const fn body(self) -> &'static str {
        match self.kind {
            TileKind::Vector => "matmul/tile.wgsl",
        }
    }

    /// Rows and columns of the output that one invocation computes.
    const fn outputs_per_invocation(self) -> [u32; 2] {
        match self.kind {
            TileKind::Vector => [4, 4],
        }
    }

    /// Invocations of a workgroup.
    pub(crate) const fn invocations(self) -> u32 {
        let [rows, cols] = self.outputs_per_invocation();
        (self.rows / rows) * (self.cols / cols)
    }

    /// Bytes of workgroup memory.
    pub(crate) const fn workgroup_bytes(self) -> u32 {
        // Rows of vectors, each with one more against bank conflicts.
        let [a, b] = [
            self.rows * (self.depth / 4 + 1),
            self.depth * (self.cols / 4 + 1),
        ];
        16 * (a + b)
    }

    /// Whether a device can run it.
    pub(crate) const fn fits(self, ability: &Ability) -> bool {
        self.invocations() <= ability.invocations
            && self.workgroup_bytes() <= ability.workgroup_bytes
    }

    /// The override constants of the shader.
    pub(crate) fn constants(self) -> [(&'static str, f64); 4] {
        [
            ("WG", self.invocations()),
            ("ROWS", self.rows),
            ("COLS", self.cols),
            ("DEPTH", self.depth),
        ]
        .map(|(name, value)| (name, f64::from(value)))
    }

    /// How many tiles cover an output, along its rows and its columns.
    pub(crate) const fn count(self, rows: u64, cols: u64) -> [u64; 2] {
        [
            rows.div_ceil(self.rows as u64),
            cols.div_ceil(self.cols as u64),
        ]
    }

    /// Loop iterations of an invocation for an inner extent of `k`.
    pub(crate) fn iterations(self, k: u64) -> u64 {
        let steps = k.div_ceil(u64::from(self.depth));
        let vectors = u64::from(self.depth / 4);
        let invocations = u64::from(self.invocations());
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
        for tile in Tile::ALL {
            assert!(tile.fits(&Ability::WEBGPU), "{tile:?}");
            assert!(tile.invocations().is_power_of_two(), "{tile:?}");
        }
        let fit = |ability: Ability| Tile::ALL.map(|tile| tile.fits(&ability));
        let few = Ability {
            invocations: 128,
            ..Ability::WEBGPU
        };
        assert_eq!(fit(few), [false, true, true]);
        let little = Ability {
            workgroup_bytes: 4096,
            ..Ability::WEBGPU
        };
        assert_eq!(fit(little), [false, true, false]);
    }

    #[test]
    fn tiles_that_load_in_loops_count_them() {
        // 128 invocations load 128 vectors of a and 256 of b: one further load per step.
        assert_eq!(Tile::WIDE.invocations(), 128);
        assert_eq!(Tile::WIDE.iterations(160), nested(&[10, 4]) + 10 * 2 + 1);
    }
}
