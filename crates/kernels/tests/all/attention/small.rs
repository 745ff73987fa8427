//! Elements that are small compared with others of their head.

use super::*;

/// Where a query sees one key, its result is that key's value: of f32 up to 2^-23 of the largest of four neighbours, and as much for
/// rounding the result, however small these are compared with the head's largest element.
#[test]
fn small_values_keep_their_bits_next_to_large_ones() {
    let exec = common::matrix_executor();
    // As many that matrix units are the default where there are any.
    let (heads, rows, dim) = (4, 256, 64);
    let mut rng = Random(53);
    for least in [20, 24, 26] {
        let values: Vec<f64> = (0..heads * rows * dim)
            .map(|i| {
                let random =
                    f64::from(1.0 + (rng.bits() % (1 << 20)) as f32 / f32::from(1u16 << 15) / 32.0);
                match i % dim {
                    0 => 1.0,
                    c if c % 4 == 0 => random * 2f64.powi(-least),
                    _ => random * 2f64.powi(-least - 3),
                }
            })
            .collect();
        let dims = [1, heads, rows, dim];
        let case = Case {
            q: given(&exec, DType::F32, &dims, &vec![0.0; heads * rows * dim]),
            k: random(&exec, DType::F32, &dims, Arrangement::Contiguous, &mut rng),
            v: given(&exec, DType::F32, &dims, &values),
            mask: None,
            lengths: None,
            factors: None,
        };
        let causal = AttentionOptions {
            causal: true,
            ..scaled(1.0)
        };
        for way in 0..5 {
            let got = compute(&exec.in_way(way), &case, &causal);
            for (column, (got, value)) in got.iter().zip(&case.v.values).take(dim).enumerate() {
                let largest = case.v.values[column / 4 * 4..][..4]
                    .iter()
                    .fold(0.0, |a: f64, &b| a.max(b));
                let off = (got - value).abs() / largest;
                assert!(
                    off <= 2f64.powi(-22),
                    "way {way}, 2^-{least}, column {column}: {off}"
                );
            }
        }
    }
}
