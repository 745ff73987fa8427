//! Scalar references that the standard library does not have, or has with other edges.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

/// -1, 0 or 1; NaN stays NaN, both zeros give 0.
pub(crate) fn sign(x: f64) -> f64 {
    if x.is_nan() || x == 0.0 {
        x.abs()
    } else {
        x.signum()
    }
}

/// `max(x, 0)` that keeps NaN and -0.0.
pub(crate) fn relu(x: f64) -> f64 {
    if x < 0.0 { 0.0 } else { x }
}

/// The larger one; NaN wins.
pub(crate) fn maximum(x: f64, y: f64) -> f64 {
    if x.is_nan() || y.is_nan() {
        f64::NAN
    } else {
        x.max(y)
    }
}

/// The smaller one; NaN wins.
pub(crate) fn minimum(x: f64, y: f64) -> f64 {
    if x.is_nan() || y.is_nan() {
        f64::NAN
    } else {
        x.min(y)
    }
}

/// `1 / (1 + e⁻ˣ)`.
pub(crate) fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// `x · sigmoid(x)`, -0.0 for -inf.
pub(crate) fn silu(x: f64) -> f64 {
    if x == f64::NEG_INFINITY {
        -0.0
    } else {
        x * sigmoid(x)
    }
}

/// `x · Φ(x)`, -0.0 for -inf.
pub(crate) fn gelu(x: f64) -> f64 {
    if x == f64::NEG_INFINITY {
        -0.0
    } else {
        x * 0.5 * erfc(-x * FRAC_1_SQRT_2)
    }
}

/// The approximation of [`gelu`] by tanh, -0.0 for -inf.
pub(crate) fn gelu_tanh(x: f64) -> f64 {
    let inner = (2.0 / PI).sqrt() * (x + 0.044_715 * x * x * x);
    // (1 + tanh u) / 2 = sigmoid(2 u), which does not cancel.
    if x == f64::NEG_INFINITY {
        -0.0
    } else {
        x * sigmoid(2.0 * inner)
    }
}

/// `x · sigmoid(1.702 x)`, -0.0 for -inf.
pub(crate) fn gelu_quick(x: f64) -> f64 {
    if x == f64::NEG_INFINITY {
        -0.0
    } else {
        x * sigmoid(1.702 * x)
    }
}

/// `x · tanh(softplus(x))`, -0.0 for -inf.
pub(crate) fn mish(x: f64) -> f64 {
    if x == f64::NEG_INFINITY {
        -0.0
    } else {
        x * softplus(x).tanh()
    }
}

/// `ln(1 + eˣ)`.
pub(crate) fn softplus(x: f64) -> f64 {
    if x.is_nan() {
        x
    } else {
        x.max(0.0) + (-x.abs()).exp().ln_1p()
    }
}

/// `x / (1 + |x|)`, ±1 for infinity.
pub(crate) fn softsign(x: f64) -> f64 {
    if x.is_infinite() {
        x.signum()
    } else {
        x / (1.0 + x.abs())
    }
}

/// `x · min(max(x + 3, 0), 6) / 6`, with its limits for infinity.
pub(crate) fn hard_swish(x: f64) -> f64 {
    if x <= -3.0 {
        -0.0
    } else if x >= 3.0 || x.is_nan() {
        x
    } else {
        x * (x + 3.0) / 6.0
    }
}

/// Whether `|a - b| <= atol + rtol · |b|`, or both are equal, or both NaN if NaN equals NaN.
pub(crate) fn is_close(a: f64, b: f64, rtol: f64, atol: f64, equal_nan: bool) -> bool {
    let error = (a - b).abs();
    a == b
        || (error.is_finite() && error <= atol + rtol * b.abs())
        || (equal_nan && a.is_nan() && b.is_nan())
}

/// NaN and the infinities replaced by numbers.
pub(crate) fn nan_to_num(x: f64, nan: f64, high: f64, low: f64) -> f64 {
    if x.is_nan() {
        nan
    } else if x == f64::INFINITY {
        high
    } else if x == f64::NEG_INFINITY {
        low
    } else {
        x
    }
}

/// The smooth loss of a distance: quadratic below `beta`, linear from there on.
pub(crate) fn smooth_l1(distance: f64, beta: f64) -> f64 {
    if distance < beta {
        distance * distance / (2.0 * beta)
    } else {
        distance - beta / 2.0
    }
}

/// The remainder of a division rounded down, with the sign of `y`.
pub(crate) fn remainder(x: f64, y: f64) -> f64 {
    let rest = x % y;
    if rest == 0.0 {
        0f64.copysign(y)
    } else if (rest < 0.0) == (y < 0.0) {
        rest
    } else {
        rest + y
    }
}

/// The quotient rounded down, from the exact remainder.
pub(crate) fn floor_divide(x: f64, y: f64) -> f64 {
    if y == 0.0 {
        return x / y;
    }
    let rest = x % y;
    let quotient = ((x - rest) / y).round();
    if rest != 0.0 && (rest < 0.0) != (y < 0.0) {
        quotient - 1.0
    } else if quotient == 0.0 {
        0f64.copysign(x / y)
    } else {
        quotient
    }
}

/// The remainder of a division rounded down, with the sign of `y`; by 0 it is 0.
pub(crate) fn remainder_int(x: i64, y: i64) -> i64 {
    let rest = x.checked_rem(y).unwrap_or(0);
    if rest != 0 && (rest < 0) != (y < 0) {
        rest + y
    } else {
        rest
    }
}

/// The quotient rounded down; by 0 it is `x`.
pub(crate) fn floor_divide_int(x: i64, y: i64) -> i64 {
    if y == 0 {
        return x;
    }
    let rest = x % y;
    x / y - i64::from(rest != 0 && (rest < 0) != (y < 0))
}

/// `x · 2ʸ`; 0 for shifts that no 32-bit integer survives.
pub(crate) fn shift_left(x: i64, y: i64) -> i64 {
    if (0..32).contains(&y) { x << y } else { 0 }
}

/// `x / 2ʸ` rounded down; what is left of the sign for shifts that no 32-bit integer survives.
pub(crate) fn shift_right(x: i64, y: i64) -> i64 {
    x >> (if (0..32).contains(&y) { y } else { 63 })
}

/// `xʸ` of IEEE 754, which is what the standard library has.
pub(crate) fn pow(x: f64, y: f64) -> f64 {
    x.powf(y)
}

/// `xʸ` modulo 2⁶⁴; a negative exponent gives the truncated reciprocal.
pub(crate) fn pow_int(x: i64, y: i64) -> i64 {
    match (x, y) {
        (1, _) => 1,
        (-1, y) => {
            if y % 2 == 0 {
                1
            } else {
                -1
            }
        }
        (_, y) if y < 0 => 0,
        (x, y) => {
            let (mut result, mut power, mut rest) = (1i64, x, y);
            while rest > 0 {
                if rest & 1 == 1 {
                    result = result.wrapping_mul(power);
                }
                power = power.wrapping_mul(power);
                rest >>= 1;
            }
            result
        }
    }
}

/// The error function, by its series where [`erfc`] would cancel.
pub(crate) fn erf(x: f64) -> f64 {
    if x.abs() < 2.5 {
        erf_series(x)
    } else {
        1.0 - erfc(x)
    }
}

/// Abramowitz and Stegun, 7.1.6.
fn erf_series(x: f64) -> f64 {
    let (mut term, mut sum) = (x, x);
    for n in 1..200 {
        term *= 2.0 * x * x / f64::from(2 * n + 1);
        sum += term;
    }
    sum * 2.0 / PI.sqrt() * (-x * x).exp()
}

/// The complementary error function: the series of erf for small `|x|`, the continued fraction of erfc beyond.
/// Source: Abramowitz and Stegun, 7.1.6 and 7.1.14.
pub(crate) fn erfc(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    if x < 0.0 {
        return 2.0 - erfc(-x);
    }
    if x < 2.5 {
        return 1.0 - erf_series(x);
    }
    let mut fraction = 0.0;
    for n in (1..=200).rev() {
        fraction = f64::from(n) / 2.0 / (x + fraction);
    }
    if x.is_infinite() {
        0.0
    } else {
        (-x * x).exp() / PI.sqrt() / (x + fraction)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    #[test]
    fn erfc_agrees_with_published_values() {
        for (x, expected) in [
            (0.0, 1.0),
            (0.5, 0.479_500_122_186_953_5),
            (1.0, 0.157_299_207_050_285_13),
            (2.0, 0.004_677_734_981_047_266),
            (3.0, 2.209_049_699_858_544e-5),
            (5.0, 1.537_459_794_428_034_8e-12),
            (-1.0, 1.842_700_792_949_715),
        ] {
            assert_relative_eq!(erfc(x), expected, max_relative = 1e-11);
        }
        assert_eq!(erfc(f64::INFINITY), 0.0);
        assert_eq!(erfc(f64::NEG_INFINITY), 2.0);
        assert!(erfc(f64::NAN).is_nan());
    }

    #[test]
    fn activations_reach_their_limits() {
        for f in [silu, gelu, gelu_tanh] {
            assert_eq!(f(f64::NEG_INFINITY), 0.0);
            assert_eq!(f(f64::INFINITY), f64::INFINITY);
            assert!(f(f64::NAN).is_nan());
        }
        assert_eq!(sigmoid(-1000.0), 0.0);
        assert_eq!(sigmoid(1000.0), 1.0);
    }

    #[test]
    fn integer_powers_wrap_and_invert() {
        assert_eq!(pow_int(3, 4), 81);
        assert_eq!(pow_int(0, 0), 1);
        assert_eq!(pow_int(2, -1), 0);
        assert_eq!(pow_int(-1, -3), -1);
        assert_eq!(pow_int(-2, 63), i64::MIN);
        assert_eq!(pow_int(10, 64), 0);
    }
}
