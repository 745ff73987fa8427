//! Functions of `f32`, and `f16` stored in `f32`.
//!
//! The baseline of the target may lack rounding instructions, so these are written with arithmetic
//! that every CPU has in vectors. Errors stay within WGSL's: `exp` and `exp2` within 2 units in the
//! last place.

#[inline(always)]
pub(in crate::engine) fn f(bits: u32) -> f32 {
    f32::from_bits(bits)
}

/// Above this every `f32` is an integer.
const INTEGERS: f32 = 8_388_608.0;

#[inline(always)]
fn keep_sign(value: f32, of: f32) -> f32 {
    f((value.to_bits() & 0x7fff_ffff) | (of.to_bits() & 0x8000_0000))
}

/// To nearest, ties to even.
#[inline(always)]
pub(in crate::engine) fn round(x: f32) -> f32 {
    let magnitude = x.abs();
    let rounded = (magnitude + INTEGERS) - INTEGERS;
    let small = keep_sign(rounded, x);
    if magnitude < INTEGERS { small } else { x }
}

#[inline(always)]
pub(in crate::engine) fn trunc(x: f32) -> f32 {
    let magnitude = x.abs();
    let rounded = (magnitude + INTEGERS) - INTEGERS;
    let below = if rounded > magnitude {
        rounded - 1.0
    } else {
        rounded
    };
    let small = keep_sign(below, x);
    if magnitude < INTEGERS { small } else { x }
}

#[inline(always)]
pub(in crate::engine) fn floor(x: f32) -> f32 {
    let rounded = round(x);
    if rounded > x { rounded - 1.0 } else { rounded }
}

#[inline(always)]
pub(in crate::engine) fn ceil(x: f32) -> f32 {
    -floor(-x)
}

#[inline(always)]
pub(in crate::engine) fn min(x: f32, y: f32) -> f32 {
    if y < x { y } else { x }
}

#[inline(always)]
pub(in crate::engine) fn max(x: f32, y: f32) -> f32 {
    if x < y { y } else { x }
}

#[inline(always)]
pub(in crate::engine) fn sign(x: f32) -> f32 {
    if x > 0.0 {
        1.0
    } else if x < 0.0 {
        -1.0
    } else {
        0.0
    }
}

/// One rounding in nearly all cases, without a fused instruction.
#[inline(always)]
pub(in crate::engine) fn fma(x: f32, y: f32, z: f32) -> f32 {
    (f64::from(x) * f64::from(y) + f64::from(z)) as f32
}

/// `2^n * p` for a whole number `n` from -252 to 254.
#[inline(always)]
fn scale(p: f32, n: f32) -> f32 {
    // Adding 1.5 * 2^23 puts the whole number into the low bits.
    let i = (n + 12_582_912.0).to_bits() as i32 - 0x4b40_0000;
    let half = i >> 1;
    p * f(((half + 127) << 23) as u32) * f(((i - half + 127) << 23) as u32)
}

#[inline(always)]
pub(in crate::engine) fn exp2(x: f32) -> f32 {
    let clamped = min(max(x, -160.0), 160.0);
    let n = (clamped + 12_582_912.0) - 12_582_912.0;
    let r = clamped - n;
    let p = 1.0
        + r * (std::f32::consts::LN_2
            + r * (0.240_226_5
                + r * (0.055_504_11
                    + r * (0.009_618_129 + r * (0.001_333_355_8 + r * 0.000_154_035_3)))));
    let y = scale(p, n);
    if x.is_nan() { x } else { y }
}

#[inline(always)]
pub(in crate::engine) fn exp(x: f32) -> f32 {
    let clamped = min(max(x, -120.0), 120.0);
    let n = (clamped * std::f32::consts::LOG2_E + 12_582_912.0) - 12_582_912.0;
    // ln 2 in two parts, of which the first times n is exact.
    let r = (clamped - n * 0.693_359_4) + n * 2.121_944_4e-4;
    let tail = 0.5
        + r * (0.166_666_65
            + r * (0.041_665_796 + r * (0.008_333_452 + r * (0.001_398_2 + r * 0.000_198_756_9))));
    let p = 1.0 + (r + r * r * tail);
    let y = scale(p, n);
    if x.is_nan() { x } else { y }
}

/// Bits of the `f16` nearest to an `f32`, ties to even.
pub(in crate::engine) fn half_from_f32(bits: u32) -> u32 {
    u32::from(half::f16::from_f32(f(bits)).to_bits())
}

/// Bits of the `f32` equal to an `f16`, whose bits are the lower ones; a NaN becomes a quiet one.
#[inline(always)]
pub(in crate::engine) fn f32_from_half(bits: u32) -> u32 {
    let magnitude = (bits & 0x7fff) << 13;
    // The exponents are 112 apart, also those of subnormals.
    let finite = (f(magnitude) * f(239 << 23)).to_bits();
    let quiet = if magnitude > 0x0f80_0000 {
        0x0040_0000
    } else {
        0
    };
    let special = magnitude | 0x7f80_0000 | quiet;
    let value = if magnitude < 0x0f80_0000 {
        finite
    } else {
        special
    };
    value | ((bits & 0x8000) << 16)
}

/// [`f32_from_half`] of a positive normal number: only its exponent changes.
#[inline(always)]
pub(in crate::engine) fn f32_from_normal(bits: u32) -> u32 {
    ((bits & 0x7fff) << 13) + (112 << 23)
}

/// Rounds an `f32` to the nearest `f16`.
#[inline(always)]
pub(in crate::engine) fn round_half(bits: u32) -> u32 {
    let x = f(bits);
    let magnitude = x.abs();
    // Adding and subtracting a power of two rounds at the last place of an f16, which is 2^-24 for
    // subnormals and 2^-10 of the leading bit otherwise.
    let exponent = magnitude.to_bits() & 0x7f80_0000;
    let least = 0x3880_0000; // 2^-14
    let unit = f((if exponent < least { least } else { exponent }).wrapping_add(13 << 23));
    let rounded = (magnitude + unit) - unit;
    let limited = if magnitude >= 65_520.0 {
        f32::INFINITY
    } else {
        rounded
    };
    let kept = keep_sign(limited, x).to_bits();
    if x.is_nan() { bits } else { kept }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples() -> impl Iterator<Item = f32> {
        (0..=u32::MAX).step_by(65_521).map(f32::from_bits)
    }

    #[test]
    fn rounding_agrees_with_the_standard_library() {
        for x in samples().chain([0.5, -0.5, 1.5, 2.5, -2.5, 8_388_607.5, -0.0, 0.499_999_97]) {
            if x.is_nan() {
                assert!(floor(x).is_nan() && round(x).is_nan() && trunc(x).is_nan());
                continue;
            }
            assert_eq!(floor(x), x.floor(), "floor {x}");
            assert_eq!(ceil(x), x.ceil(), "ceil {x}");
            assert_eq!(trunc(x).to_bits(), x.trunc().to_bits(), "trunc {x}");
            assert_eq!(
                round(x).to_bits(),
                x.round_ties_even().to_bits(),
                "round {x}"
            );
        }
    }

    #[test]
    fn halves_become_the_floats_of_half() {
        for bits in 0..=u16::MAX {
            let expected = half::f16::from_bits(bits).to_f32().to_bits();
            let above = u32::from(bits) | 0xabcd_0000;
            for word in [u32::from(bits), above] {
                assert_eq!(f32_from_half(word), expected, "{word:#x}");
            }
        }
    }

    #[test]
    fn half_rounding_agrees_with_half() {
        for x in samples().chain([
            65_504.0, 65_519.9, 65_520.0, 1e-8, 2.98e-8, 2.981e-8, 6.1e-5,
        ]) {
            let expected = half::f16::from_f32(x).to_f32();
            let got = f(round_half(x.to_bits()));
            assert!(
                got == expected || (got.is_nan() && expected.is_nan()),
                "{x}: {got} {expected}"
            );
        }
    }

    fn worst(function: fn(f32) -> f32, reference: fn(f64) -> f64) -> f64 {
        let mut worst = 0.0f64;
        for i in -1_000_000..=880_000 {
            let x = i as f32 * 1e-4;
            let exact = reference(f64::from(x));
            let unit = f64::from((exact as f32).abs().max(f32::MIN_POSITIVE)) * 1.2e-7;
            worst = worst.max((f64::from(function(x)) - exact).abs() / unit);
        }
        worst
    }

    #[test]
    fn exponentials_stay_within_two_units() {
        assert!(worst(exp, f64::exp) < 2.0, "{}", worst(exp, f64::exp));
        assert!(worst(exp2, f64::exp2) < 2.0, "{}", worst(exp2, f64::exp2));
        assert!(worst(|x| exp(x) * 1.000_001, f64::exp) > 4.0);
    }

    #[test]
    fn exponentials_of_special_values() {
        for function in [exp, exp2] {
            assert_eq!(function(f32::INFINITY), f32::INFINITY);
            assert_eq!(function(f32::NEG_INFINITY), 0.0);
            assert_eq!(function(200.0), f32::INFINITY);
            assert_eq!(function(-200.0), 0.0);
            assert_eq!(function(0.0), 1.0);
            assert!(function(f32::NAN).is_nan());
        }
        assert_eq!(exp2(-140.0), 2f32.powi(-140));
    }
}
