//! f64 reference of rows as integers with a factor.

/// What two f32 are divided to, rounded to f32 once: f64 has more than twice their bits.
#[expect(clippy::cast_possible_truncation, reason = "f32 is what is computed")]
fn quotient(x: f64, y: f64) -> f64 {
    f64::from((x / y) as f32)
}

/// The integers of a row of f32, and the factor that they are multiplied by.
#[must_use]
pub fn quantize(row: &[f64]) -> (Vec<f64>, f64) {
    let mut greatest = f64::from(1e-30_f32);
    for x in row {
        // NaN stays, whatever it is compared with.
        if !(greatest.is_nan() || x.abs() <= greatest) {
            greatest = x.abs();
        }
    }
    let factor = quotient(greatest, 127.0);
    let integer = |&x| {
        let nearest = quotient(x, factor).round_ties_even();
        // Of a cast NaN becomes 0; and there is one zero.
        if nearest.is_nan() { 0.0 } else { nearest + 0.0 }
    };
    (row.iter().map(integer).collect(), factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_become_integers_of_their_greatest_magnitude() {
        let (integers, factor) = quantize(&[254.0, -127.0, 1.0, 3.0, -0.9, 0.0]);
        assert_eq!(factor, 2.0);
        // Halves to even.
        assert_eq!(integers, [127.0, -64.0, 0.0, 2.0, 0.0, 0.0]);
        let (integers, factor) = quantize(&[0.0, -0.0, 1e-38]);
        assert_eq!(factor, quotient(f64::from(1e-30_f32), 127.0));
        assert!(integers.iter().all(|&x| x == 0.0 && x.is_sign_positive()));
    }

    #[test]
    fn what_is_not_finite_reaches_the_factor() {
        let odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
        for (at, odd) in odd.into_iter().enumerate() {
            let (integers, factor) = quantize(&[1.0, odd, 2.0]);
            assert_eq!(integers, [0.0; 3]);
            assert_eq!(
                (factor.is_nan(), factor == f64::INFINITY),
                (at == 0, at > 0)
            );
        }
    }
}
