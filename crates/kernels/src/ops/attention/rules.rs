//! Which kernel computes attention, as a pure function of the problem: rules that were measured on an H200, where a tuner timed every
//! kernel for some 250 problems.

use super::form::{Few, Form, Problem, Tile};
use super::lanes::Lanes;
use super::matrix::Matrix;
use crate::limits::ability::{Ability, MATRIX_UNITS};
use crate::ops::ways::Ways;

/// Rows per key head up to which tiles are mostly empty.
const FEW_ROWS: u64 = 16;
/// The most elements of a head that [`Few`] keeps in registers.
const FEW_DIM: u64 = 256;

impl Problem {
    /// Workgroups of so many rows.
    const fn tiles_of(&self, rows: u64) -> u64 {
        self.heads.saturating_mul(self.rows.div_ceil(rows))
    }

    const fn dim(&self) -> u64 {
        if self.head_dim > self.value_dim {
            self.head_dim
        } else {
            self.value_dim
        }
    }

    /// Whether matrix units pay where two more dispatches have to say which heads they compute: of bf16 12 heads of 197 queries and
    /// keys take 20 µs on an H200 in place of 29 by tiles, of 77 18 in place of 16. Of f32, where each element is two f16, 12 heads of
    /// 197 take 0.85 of the time of tiles, of 128 as long, of 64 twice as long; 20 heads of 1,024 queries and 77 keys 39 µs in
    /// place of 31.
    const fn pieces_pay(&self) -> bool {
        let scores = self.rows.saturating_mul(self.keys);
        let work = scores.saturating_mul(self.heads.saturating_mul(self.head_dim + self.value_dim));
        match self.pieces {
            2 => self.rows >= 64 && self.keys >= 128 && scores >= 1 << 15 && work >= 1 << 25,
            _ => !self.scaled || scores >= 1 << 14,
        }
    }

    /// Whether few rows at a time take less time than tiles of some, or than matrix units (`matrix`). Their time is that of reading all
    /// keys for each four rows; that of tiles is hardly less for less work. On an H200, µs by few rows and by matrix units: f16, 8 key
    /// heads of 128, 8 rows and 1,024 keys 13, 13; 4,096 keys 24, 17. Those that subgroups make (`lanes`) are the fastest for f32: 32
    /// heads of 16 rows and 4,096 keys 110, tiles 126; others are for so few reads: 8 key heads, 16 rows, 512 keys 17 and 47 by tiles,
    /// 4,096 keys 57 and 37.
    const fn few_pay(&self, (matrix, lanes): (bool, bool), ability: &Ability) -> bool {
        let passes = self.rows.div_ceil(Few::ROWS as u64);
        let reads = passes.saturating_mul(self.heads).saturating_mul(self.keys);
        if passes == 1 {
            return true;
        }
        if MATRIX_UNITS && matrix {
            let most = self.dim().saturating_mul(ability.busy_groups) / 8;
            let most = if self.scaled { 2 * most } else { most };
            return self.rows <= FEW_ROWS && reads <= most;
        }
        if self.rows <= FEW_ROWS && lanes {
            return true;
        }
        // Tiles of long values of 16 bits are slower by as much.
        let long = if self.dim() > 128 && self.pieces != 2 {
            4
        } else {
            1
        };
        let small = reads <= 96 * long * ability.busy_groups;
        let short = self.rows <= FEW_ROWS || reads <= self.keys.saturating_mul(256 * long);
        passes == 2 || (small && short)
    }

    /// Whether tiles of 16 rows on matrix units take less time than those of 64: of heads of up to 64 elements where these are mostly
    /// empty, or leave processors idle. On an H200 12 heads of 384 take 14 µs in place of 20, 32 of 256 20 in place of 13.
    const fn small_tiles_pay(&self, ability: &Ability) -> bool {
        let idle = self.tiles_of(64).saturating_mul(10) < ability.busy_groups && self.keys <= 1024;
        self.dim() <= 64 && (self.rows <= 32 || idle)
    }
}

/// Shapes of tiles, the best one first.
fn tile_shapes(p: &Problem, ability: &Ability) -> [[u32; 2]; 3] {
    let mut shapes = Tile::SHAPES;
    let busy = ability.busy_groups;
    // Long rows of keys have several workgroups.
    let idle = p.tiles_of(64).saturating_mul(4) < busy && p.keys < 1024;
    let short = p.rows <= u64::from(Tile::SHAPES[1][0]) || p.value_dim > 128;
    let many =
        p.tiles_of(32).saturating_mul(2) >= busy || p.heads.saturating_mul(p.keys) >= 100 * busy;
    // On an H200 32 heads of 16 rows and 4,096 keys take 125 µs by 32 × 32, 162 by 32 × 64; 8 heads 74 and 49. Of 12 heads of 128
    // queries of 64 those of 64 rows take 1.4 times as long as those of 32, of 96 heads of 197 0.8 times.
    if (short && many && p.value_dim <= 128) || (idle && !short && p.value_dim > 64) {
        shapes.swap(0, 2);
    } else if short || idle {
        shapes.swap(0, 1);
    }
    shapes
}

/// The kernels that can compute a problem on a device.
pub(super) fn ways(p: &Problem, ability: &Ability) -> Ways<Form> {
    let few = p.octs && p.dim() <= FEW_DIM;
    let few = few.then(|| Form::Few(Few::new(p)));
    let tiles = tile_shapes(p, ability).map(|shape| Form::Tile(Tile::new(shape, p.value_dim)));
    let [.., least] = tiles;
    let tiles = tiles.map(Some);
    let fits = |form: &Form| form.fits(ability);
    let lanes = Lanes::new(p).map(Form::Lanes).filter(fits);
    let matrix = Matrix::all(p).map(|matrix| matrix.map(Form::Matrix).filter(fits));
    let [many_rows, some_rows] = matrix;
    let [first, second] = match p.small_tiles_pay(ability) {
        true if MATRIX_UNITS && some_rows.is_some() => [some_rows, many_rows],
        _ => [many_rows, some_rows],
    };
    let pays = MATRIX_UNITS && p.pieces_pay();
    let (first, slow) = if pays { (first, None) } else { (None, first) };
    let [some, other] = if p.rows <= FEW_ROWS {
        [lanes, few]
    } else {
        [few, lanes]
    };
    let order = if p.few_pay((first.is_some(), lanes.is_some()), ability) {
        [&[some, other, first][..], &tiles, &[second, slow]]
    } else {
        [&[first][..], &tiles, &[second, slow, lanes, few]]
    };
    let mut all = order.into_iter().flatten().copied().flatten().filter(fits);
    // The least tile has 64 invocations, which every device has.
    let default = all.next().unwrap_or(least);
    Ways::new(default, all)
}

#[cfg(test)]
mod tests {
    use super::super::form::tests::problem;
    use super::*;
    use crate::tune::Named;
    use ziggurat_core::DType;

    /// The default of `heads` key heads of `dim` elements on a device that has everything.
    fn default(dtype: DType, heads: u64, [rows, keys]: [u64; 2], dim: u64) -> String {
        let p = Problem {
            heads,
            pieces: if dtype == DType::F32 { 2 } else { 1 },
            scaled: dtype != DType::F16,
            ..problem(rows, keys, dim)
        };
        ways(&p, &Ability::LARGE).default.name().to_string()
    }

    #[test]
    fn rows_that_share_keys_take_what_was_the_fastest() {
        let [f32, f16, bf16] = [DType::F32, DType::F16, DType::BF16];
        let [lanes, some, many] = ["lanes 4", "matrix 16×32×64", "matrix 64×32×128"];
        for (dtype, heads, extents, dim, expected) in [
            (f16, 8, [1, 4096], 128, "lanes 1"),
            (f16, 8, [4, 4096], 128, lanes),
            (f16, 8, [8, 1024], 128, lanes),
            (f16, 8, [8, 4096], 128, many),
            (f16, 3, [24, 512], 64, some),
            (bf16, 8, [8, 1024], 128, lanes),
            (f32, 8, [16, 4096], 128, lanes),
            (f32, 3, [96, 512], 64, "few"),
            (f32, 8, [32, 4096], 128, "tile 32×64"),
            (f32, 32, [32, 4096], 128, "tile 32×32"),
            (f32, 8, [128, 4096], 128, "matrix 64×32×256"),
        ] {
            let name = default(dtype, heads, extents, dim);
            assert_eq!(name, expected, "{dtype} {heads} {extents:?} {dim}");
        }
    }

    #[test]
    fn whole_sequences_take_what_was_the_fastest() {
        let [f32, f16, bf16] = [DType::F32, DType::F16, DType::BF16];
        let [some, many] = ["matrix 16×32×64", "matrix 64×32×128"];
        for (dtype, heads, extents, dim, expected) in [
            (f16, 12, [384; 2], 64, some),
            (f16, 32, [256; 2], 64, many),
            (f16, 16, [256; 2], 80, many),
            (f16, 2048, [32; 2], 32, some),
            (bf16, 12, [197; 2], 64, some),
            (bf16, 12, [77; 2], 64, "few"),
            (bf16, 1024, [64; 2], 64, "tile 64×32"),
            (f32, 12, [77; 2], 64, "few"),
            (f32, 12, [197; 2], 64, "matrix 64×32×256"),
            (f32, 20, [1024, 77], 64, "tile 64×32"),
            (f32, 96, [128; 2], 64, "tile 32×64"),
            (f32, 384, [128; 2], 64, "tile 64×32"),
            (f32, 2048, [32; 2], 32, "tile 32×32"),
        ] {
            let name = default(dtype, heads, extents, dim);
            assert_eq!(name, expected, "{dtype} {heads} {extents:?} {dim}");
        }
    }
}
