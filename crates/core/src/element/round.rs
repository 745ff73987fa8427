//! Correctly rounded f64 to 16-bit floats.
//!
//! `half`'s own `from_f64` goes through a rounded f32 where the processor converts f32 in hardware,
//! so that 1 + 2⁻¹¹ + 2⁻⁴⁰ loses its last bit, then looks like a tie, and ends one step too low.
//! Rounding to f32 *to odd* first makes the second rounding exact: an odd last bit remembers that
//! something was cut off (Boldo and Melquiond, "When double rounding is odd", 2004; it needs two
//! more bits in between than in the result, here there are 13 and 16).

use half::{bf16, f16};

/// `value` rounded to nearest, ties to even.
pub(super) fn f16_from_f64(value: f64) -> f16 {
    f16::from_f32(f32_to_odd(value))
}

/// `value` rounded to nearest, ties to even.
pub(super) fn bf16_from_f64(value: f64) -> bf16 {
    bf16::from_f32(f32_to_odd(value))
}

/// `value` if an f32 holds it, else whichever of its two f32 neighbours has an odd last bit.
fn f32_to_odd(value: f64) -> f32 {
    let nearest = value as f32;
    if nearest.is_nan() || f64::from(nearest) == value {
        return nearest;
    }
    let bits = nearest.to_bits();
    // Towards zero: one down in the bits if rounding went away from zero (infinity included).
    let cut = if f64::from(nearest).abs() > value.abs() {
        bits - 1
    } else {
        bits
    };
    f32::from_bits(cut | 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds by searching all finite values of a type: slow, and nothing to share a bug with.
    fn nearest(value: f64, decode: impl Fn(u16) -> f64, infinity: u16, limit: f64) -> u16 {
        let sign = if value.is_sign_negative() { 0x8000 } else { 0 };
        let magnitude = value.abs();
        // The value one step above the greatest finite one would be `limit`.
        let greatest = decode(infinity - 1);
        if magnitude >= f64::midpoint(greatest, limit) {
            return sign | infinity;
        }
        let above = (0..infinity).find(|&bits| decode(bits) >= magnitude);
        let Some(above) = above else {
            return sign | (infinity - 1);
        };
        if decode(above) == magnitude || above == 0 {
            return sign | above;
        }
        let (low, high) = (decode(above - 1), decode(above));
        let middle = f64::midpoint(low, high);
        let bits = if magnitude < middle || (magnitude == middle && above % 2 == 1) {
            above - 1
        } else {
            above
        };
        sign | bits
    }

    fn f16_model(value: f64) -> u16 {
        nearest(value, |bits| f16::from_bits(bits).to_f64(), 0x7c00, 65536.0)
    }

    fn bf16_model(value: f64) -> u16 {
        nearest(
            value,
            |bits| bf16::from_bits(bits).to_f64(),
            0x7f80,
            2_f64.powi(128),
        )
    }

    /// Around every kind of boundary: ties, ties nudged by far less than an f32 step, subnormals.
    fn samples(decode: impl Fn(u16) -> f64, infinity: u16) -> Vec<f64> {
        let mut samples = Vec::new();
        let picked = (0..infinity - 1)
            .step_by(997)
            .chain(0..4)
            .chain(infinity - 4..infinity - 1);
        for bits in picked {
            let (low, high) = (decode(bits), decode(bits + 1));
            let middle = f64::midpoint(low, high);
            for base in [low, middle, high] {
                for nudge in [0.0, f64::EPSILON, -f64::EPSILON, 1e-12, -1e-12, 1e-4, -1e-4] {
                    samples.push(base * (1.0 + nudge));
                    samples.push(-base * (1.0 + nudge));
                }
            }
        }
        samples
    }

    #[test]
    fn agrees_with_a_search_over_all_f16() {
        for value in samples(|bits| f16::from_bits(bits).to_f64(), 0x7c00) {
            assert_eq!(f16_from_f64(value).to_bits(), f16_model(value), "{value:e}");
        }
    }

    #[test]
    fn agrees_with_a_search_over_all_bf16() {
        for value in samples(|bits| bf16::from_bits(bits).to_f64(), 0x7f80) {
            assert_eq!(
                bf16_from_f64(value).to_bits(),
                bf16_model(value),
                "{value:e}"
            );
        }
    }

    #[test]
    fn the_samples_catch_double_rounding() {
        let twice = |value: f64| f16::from_f32(value as f32).to_bits();
        assert!(
            samples(|bits| f16::from_bits(bits).to_f64(), 0x7c00)
                .into_iter()
                .any(|value| twice(value) != f16_model(value))
        );
        let value = 1.0 + 2_f64.powi(-11) + 2_f64.powi(-40);
        assert_eq!(f16_from_f64(value).to_f64(), 1.0 + 2_f64.powi(-10));
        assert_eq!(twice(value), f16::ONE.to_bits());
    }

    #[test]
    fn beyond_the_range_of_f32_is_infinite_and_nothing_is_zero() {
        assert_eq!(f16_from_f64(f64::MAX), f16::INFINITY);
        assert_eq!(bf16_from_f64(f64::MIN), bf16::NEG_INFINITY);
        assert_eq!(f16_from_f64(f64::NEG_INFINITY), f16::NEG_INFINITY);
        assert_eq!(bf16_from_f64(f64::MIN_POSITIVE).to_bits(), 0);
        assert_eq!(f16_from_f64(-f64::MIN_POSITIVE).to_bits(), 0x8000);
        assert!(f16_from_f64(f64::NAN).is_nan() && bf16_from_f64(f64::NAN).is_nan());
    }
}
