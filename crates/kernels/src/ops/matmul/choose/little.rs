//! When small tiles take less time, because larger ones would be mostly empty.

use ziggurat_core::DType;

use super::has_units;
use crate::limits::ability::{Ability, MATRIX_UNITS};
use crate::ops::matmul::problem::Problem;
use crate::ops::tile::Tile;

/// The small tile for many outputs each of which would leave much of larger tiles empty. Measured on an H200, products of each
/// shape by small tiles and by the best of others: 4,096 of 32 cubed of f32 18 and 42 µs, of f16 19 and 40.
pub(super) fn little_tile(p: &Problem, dtype: DType, ability: &Ability) -> Option<Tile> {
    let tile = Tile::SQUARE_32;
    let count = |tile: Tile| {
        let [rows, cols] = tile.count(p.m, p.n);
        rows.saturating_mul(cols)
    };
    let (small, large) = (count(tile), count(Tile::DEFAULT));
    let many = small.saturating_mul(p.batches()).saturating_mul(4) >= ability.busy_groups;
    let pays = small.saturating_mul(4) <= large.saturating_mul(worth(p, dtype, ability));
    let sides = p.m >= super::NARROW && super::has_columns(p, ability);
    // The kernel of few rows reads columns of one product once, which smaller devices have not been measured without.
    let few = p.batches() == 1 && p.m <= super::FEW_ROWS;
    let sides = sides && (!few || ability.is_large());
    (many && pays && sides && p.k > 0 && tile.fits(ability)).then_some(tile)
}

/// How many small tiles take as long as four others of four times the outputs: fewer of deep ones, where there are matrix units.
fn worth(p: &Problem, dtype: DType, ability: &Ability) -> u64 {
    match dtype {
        _ if p.k <= 8 => 16,
        DType::F16 if has_units(dtype, ability) => match p.k {
            ..=32 => 8,
            33..=64 if super::lies_in_vectors(p) => 4,
            33..=64 => 8,
            _ => 0,
        },
        // Others cannot become f16 tile by tile.
        DType::BF16
            if MATRIX_UNITS && Tile::COOPERATIVE_64.fits(ability) && super::lies_in_vectors(p) =>
        {
            match p.k {
                ..=63 => 10,
                64..=256 => 4,
                _ => 0,
            }
        }
        _ if p.k <= 512 => 10,
        // Half as many columns of it are empty: on an H200 60,000 × 784 × 10 146 µs instead of 231.
        _ if p.n < super::NARROW && p.k <= 1024 => 8,
        _ => 0,
    }
}
