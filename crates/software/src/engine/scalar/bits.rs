//! Bit fields, exponents, and products of packed bytes.

use super::Fun;
use super::float::f;

/// The highest bit that differs from the sign; all ones for 0 and -1.
#[inline(always)]
pub(in crate::engine) fn first_leading_signed(x: u32) -> u32 {
    let folded = x ^ ((x as i32) >> 31) as u32;
    if folded == 0 {
        !0
    } else {
        31 - folded.leading_zeros()
    }
}

/// The low 16 bits as an `i16`.
#[inline(always)]
pub(in crate::engine) fn sign_extended(x: u32) -> u32 {
    i32::from(x as i16) as u32
}

/// Offset and count of a bit field, within the word.
fn field(offset: u32, count: u32) -> (u32, u32) {
    let offset = offset.min(32);
    (offset, count.min(32 - offset))
}

fn mask(count: u32) -> u32 {
    if count == 0 { 0 } else { !0 >> (32 - count) }
}

/// `extractBits(x, offset, count)` for `u32`.
pub(in crate::engine) const EXTRACT_U: Fun = Fun(|a| {
    let (offset, count) = field(a[1], a[2]);
    [
        if count == 0 {
            0
        } else {
            (a[0] >> offset) & mask(count)
        },
        0,
    ]
});

/// `extractBits(x, offset, count)` for `i32`.
pub(in crate::engine) const EXTRACT_I: Fun = Fun(|a| {
    let (offset, count) = field(a[1], a[2]);
    if count == 0 {
        return [0, 0];
    }
    let high = a[0] << (32 - count - offset);
    [((high as i32) >> (32 - count)) as u32, 0]
});

/// `insertBits(x, new, offset, count)`.
pub(in crate::engine) const INSERT: Fun = Fun(|a| {
    let (offset, count) = field(a[2], a[3]);
    if count == 0 {
        return [a[0], 0];
    }
    let mask = mask(count) << offset;
    [(a[0] & !mask) | ((a[1] << offset) & mask), 0]
});

/// `ldexp(x, exponent)`.
pub(in crate::engine) const LDEXP: Fun = Fun(|a| {
    let exponent = (a[1] as i32).clamp(-2000, 2000);
    [
        ((f64::from(f(a[0])) * 2f64.powi(exponent.clamp(-1000, 1000))) as f32).to_bits(),
        0,
    ]
});

/// `frexp(x)`: fraction and exponent.
pub(in crate::engine) const FREXP: Fun = Fun(|a| {
    let x = f(a[0]);
    if x == 0.0 || !x.is_finite() {
        return [a[0], 0];
    }
    let wide = f64::from(x).to_bits();
    let exponent = ((wide >> 52) & 0x7ff) as i32 - 1022;
    let fraction = f64::from_bits((wide & !(0x7ff << 52)) | (1022 << 52));
    [(fraction as f32).to_bits(), exponent as u32]
});

/// `dot4I8Packed(a, b)`.
pub(in crate::engine) const DOT4_I8: Fun = Fun(|a| {
    let pairs = a[0].to_le_bytes().into_iter().zip(a[1].to_le_bytes());
    let sum: i32 = pairs
        .map(|(x, y)| i32::from(x as i8) * i32::from(y as i8))
        .sum();
    [sum as u32, 0]
});

/// `dot4U8Packed(a, b)`.
pub(in crate::engine) const DOT4_U8: Fun = Fun(|a| {
    let pairs = a[0].to_le_bytes().into_iter().zip(a[1].to_le_bytes());
    [pairs.map(|(x, y)| u32::from(x) * u32::from(y)).sum(), 0]
});

/// A function of one `f32`.
macro_rules! float_functions {
    ($($name:ident => |$x:ident| $body:expr;)*) => {
        $(pub(in crate::engine) const $name: Fun = Fun(|a| { let $x = f(a[0]); [f32::to_bits($body), 0] });)*
    };
}
float_functions! {
    TAN => |x| x.tan();
    ASIN => |x| x.asin();
    ACOS => |x| x.acos();
    ATAN => |x| x.atan();
    SINH => |x| x.sinh();
    COSH => |x| x.cosh();
    ASINH => |x| x.asinh();
    ACOSH => |x| x.acosh();
    ATANH => |x| x.atanh();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(fun: Fun, args: &[u32]) -> [u32; 2] {
        let mut words = [0; 8];
        for (to, from) in words.iter_mut().zip(args) {
            *to = *from;
        }
        (fun.0)(&words)
    }

    #[test]
    fn fields_at_the_ends_of_the_word() {
        assert_eq!(call(EXTRACT_U, &[0xabcd_1234, 8, 8])[0], 0x12);
        assert_eq!(call(EXTRACT_U, &[0xabcd_1234, 0, 32])[0], 0xabcd_1234);
        assert_eq!(call(EXTRACT_U, &[!0, 40, 8])[0], 0);
        assert_eq!(call(EXTRACT_I, &[0x0000_0f00, 8, 4])[0], !0);
        assert_eq!(call(EXTRACT_I, &[0x8000_0000, 31, 9])[0], !0);
        assert_eq!(call(INSERT, &[0, 0xff, 28, 8])[0], 0xf000_0000);
        assert_eq!(call(INSERT, &[7, 0xff, 3, 0])[0], 7);
        assert_eq!(call(INSERT, &[0, 0x1234_5678, 0, 32])[0], 0x1234_5678);
    }

    #[test]
    fn exponents_come_apart_and_together() {
        for x in [1.0f32, -0.75, 3.0e38, 1e-45, 6.0] {
            let [fraction, exponent] = call(FREXP, &[x.to_bits()]);
            assert!((0.5..1.0).contains(&f(fraction).abs()));
            assert_eq!(f(call(LDEXP, &[fraction, exponent])[0]), x);
        }
        assert_eq!(call(FREXP, &[0]), [0, 0]);
        assert_eq!(f(call(LDEXP, &[1f32.to_bits(), 5000])[0]), f32::INFINITY);
    }

    #[test]
    fn leading_bits_of_signed_words() {
        for (x, bit) in [
            (0, !0),
            (!0, !0),
            (1, 0),
            (-2i32 as u32, 0),
            (i32::MIN as u32, 30),
        ] {
            assert_eq!(first_leading_signed(x), bit);
        }
    }

    #[test]
    fn products_of_bytes() {
        assert_eq!(
            call(DOT4_I8, &[0x80ff_0102, 0x0101_0203])[0] as i32,
            -128 - 1 + 2 + 6
        );
        assert_eq!(
            call(DOT4_U8, &[0x80ff_0102, 0x0101_0203])[0],
            128 + 255 + 2 + 6
        );
    }
}
