//! 64-bit numbers: two words each, the low one first. Slow, lane by lane.

use naga::{BinaryOperator as Op, ScalarKind as Kind};

use super::{Fun, flag};

/// What 64 bits and 32 bits become in conversions.
fn u(a: &[u32; 8], i: usize) -> u64 {
    let (low, high) = (a.get(2 * i), a.get(2 * i + 1));
    u64::from(low.copied().unwrap_or(0)) | u64::from(high.copied().unwrap_or(0)) << 32
}

fn i(a: &[u32; 8], at: usize) -> i64 {
    u(a, at) as i64
}

fn d(a: &[u32; 8], at: usize) -> f64 {
    f64::from_bits(u(a, at))
}

fn out(value: u64) -> [u32; 2] {
    [value as u32, (value >> 32) as u32]
}

fn int(value: i64) -> [u32; 2] {
    out(value as u64)
}

fn float(value: f64) -> [u32; 2] {
    out(value.to_bits())
}

fn truth(on: bool) -> [u32; 2] {
    [flag(on), 0]
}

/// A binary operation on 64-bit numbers; shifts take one word as their second operand.
pub(in crate::engine) fn binary(op: Op, kind: Kind) -> Option<Fun> {
    Some(Fun(match (op, kind) {
        (Op::Add, Kind::Float) => |a| float(d(a, 0) + d(a, 1)),
        (Op::Subtract, Kind::Float) => |a| float(d(a, 0) - d(a, 1)),
        (Op::Multiply, Kind::Float) => |a| float(d(a, 0) * d(a, 1)),
        (Op::Divide, Kind::Float) => |a| float(d(a, 0) / d(a, 1)),
        (Op::Modulo, Kind::Float) => |a| float(d(a, 0) % d(a, 1)),
        (Op::Equal, Kind::Float) => |a| truth(d(a, 0) == d(a, 1)),
        (Op::NotEqual, Kind::Float) => |a| truth(d(a, 0) != d(a, 1)),
        (Op::Less, Kind::Float) => |a| truth(d(a, 0) < d(a, 1)),
        (Op::LessEqual, Kind::Float) => |a| truth(d(a, 0) <= d(a, 1)),
        (Op::Greater, Kind::Float) => |a| truth(d(a, 0) > d(a, 1)),
        (Op::GreaterEqual, Kind::Float) => |a| truth(d(a, 0) >= d(a, 1)),
        (Op::Add, _) => |a| out(u(a, 0).wrapping_add(u(a, 1))),
        (Op::Subtract, _) => |a| out(u(a, 0).wrapping_sub(u(a, 1))),
        (Op::Multiply, _) => |a| out(u(a, 0).wrapping_mul(u(a, 1))),
        (Op::Divide, Kind::Sint) => |a| match i(a, 1) {
            0 => int(i(a, 0)),
            y => int(i(a, 0).wrapping_div(y)),
        },
        (Op::Modulo, Kind::Sint) => |a| match i(a, 1) {
            0 => int(0),
            y => int(i(a, 0).wrapping_rem(y)),
        },
        (Op::Divide, _) => |a| out(u(a, 0).checked_div(u(a, 1)).unwrap_or(u(a, 0))),
        (Op::Modulo, _) => |a| out(u(a, 0).checked_rem(u(a, 1)).unwrap_or(0)),
        (Op::Equal, _) => |a| truth(u(a, 0) == u(a, 1)),
        (Op::NotEqual, _) => |a| truth(u(a, 0) != u(a, 1)),
        (Op::Less, Kind::Sint) => |a| truth(i(a, 0) < i(a, 1)),
        (Op::LessEqual, Kind::Sint) => |a| truth(i(a, 0) <= i(a, 1)),
        (Op::Greater, Kind::Sint) => |a| truth(i(a, 0) > i(a, 1)),
        (Op::GreaterEqual, Kind::Sint) => |a| truth(i(a, 0) >= i(a, 1)),
        (Op::Less, _) => |a| truth(u(a, 0) < u(a, 1)),
        (Op::LessEqual, _) => |a| truth(u(a, 0) <= u(a, 1)),
        (Op::Greater, _) => |a| truth(u(a, 0) > u(a, 1)),
        (Op::GreaterEqual, _) => |a| truth(u(a, 0) >= u(a, 1)),
        (Op::And, _) => |a| out(u(a, 0) & u(a, 1)),
        (Op::InclusiveOr, _) => |a| out(u(a, 0) | u(a, 1)),
        (Op::ExclusiveOr, _) => |a| out(u(a, 0) ^ u(a, 1)),
        (Op::ShiftLeft, _) => |a| out(u(a, 0) << (a[2] & 63)),
        (Op::ShiftRight, Kind::Sint) => |a| int(i(a, 0) >> (a[2] & 63)),
        (Op::ShiftRight, _) => |a| out(u(a, 0) >> (a[2] & 63)),
        (Op::LogicalAnd | Op::LogicalOr, _) => return None,
    }))
}

// The greatest floats that 64-bit integers hold: what is above becomes these.
const MOST_I64_F: f32 = 9_223_371_487_098_961_920.0;
const MOST_U64_F: f32 = 18_446_742_974_197_923_840.0;
const MOST_I64_D: f64 = 9_223_372_036_854_774_784.0;
const MOST_U64_D: f64 = 18_446_744_073_709_549_568.0;

/// A conversion of which at least one side has 64 bits; `f16` comes as `f32`.
pub(in crate::engine) fn convert(from: naga::Scalar, to: naga::Scalar) -> Option<Fun> {
    let (wide_from, wide_to) = (from.width == 8, to.width == 8);
    Some(Fun(match (from.kind, wide_from, to.kind, wide_to) {
        (Kind::Float, true, Kind::Float, false) => |a| [(d(a, 0) as f32).to_bits(), 0],
        (Kind::Float, true, Kind::Sint, false) if to.width == 2 => {
            |a| [i32::from(d(a, 0) as i16) as u32, 0]
        }
        (Kind::Float, true, Kind::Uint, false) if to.width == 2 => {
            |a| [u32::from(d(a, 0) as u16), 0]
        }
        (Kind::Float, true, Kind::Sint, false) => |a| [d(a, 0) as i32 as u32, 0],
        (Kind::Float, true, Kind::Uint, false) => |a| [d(a, 0) as u32, 0],
        (Kind::Float, true, Kind::Bool, _) => |a| truth(d(a, 0) != 0.0),
        (Kind::Float, true, Kind::Sint, true) => {
            |a| int(d(a, 0).clamp(f64::NEG_INFINITY, MOST_I64_D) as i64)
        }
        (Kind::Float, true, Kind::Uint, true) => {
            |a| out(d(a, 0).clamp(f64::NEG_INFINITY, MOST_U64_D) as u64)
        }
        (Kind::Sint, true, Kind::Float, true) => |a| float(i(a, 0) as f64),
        (Kind::Uint, true, Kind::Float, true) => |a| float(u(a, 0) as f64),
        (Kind::Sint, true, Kind::Float, false) => |a| [(i(a, 0) as f32).to_bits(), 0],
        (Kind::Uint, true, Kind::Float, false) => |a| [(u(a, 0) as f32).to_bits(), 0],
        (Kind::Sint | Kind::Uint, true, Kind::Bool, _) => |a| truth(u(a, 0) != 0),
        (Kind::Sint | Kind::Uint, true, Kind::Sint | Kind::Uint, false) => |a| [a[0], 0],
        (_, true, _, true) => |a| [a[0], a[1]],
        (Kind::Float, false, Kind::Float, true) => |a| float(f32::from_bits(a[0]).into()),
        (Kind::Float, false, Kind::Sint, true) if from.width == 2 => {
            |a| int(f32::from_bits(a[0]).clamp(-65_504.0, 65_504.0) as i64)
        }
        (Kind::Float, false, Kind::Uint, true) if from.width == 2 => {
            |a| out(f32::from_bits(a[0]).clamp(0.0, 65_504.0) as u64)
        }
        (Kind::Float, false, Kind::Sint, true) => {
            |a| int(f32::from_bits(a[0]).clamp(f32::NEG_INFINITY, MOST_I64_F) as i64)
        }
        (Kind::Float, false, Kind::Uint, true) => {
            |a| out(f32::from_bits(a[0]).clamp(f32::NEG_INFINITY, MOST_U64_F) as u64)
        }
        (Kind::Sint, false, Kind::Float, true) => |a| float((a[0] as i32).into()),
        (Kind::Uint, false, Kind::Float, true) => |a| float(a[0].into()),
        (Kind::Bool, _, Kind::Float, true) => |a| float(if a[0] == 0 { 0.0 } else { 1.0 }),
        (Kind::Sint, false, _, true) => |a| int((a[0] as i32).into()),
        (Kind::Uint, false, _, true) => |a| [a[0], 0],
        (Kind::Bool, _, _, true) => |a| [a[0] & 1, 0],
        _ => return None,
    }))
}

/// A function of 64-bit numbers; further operands are 64-bit too unless it says otherwise.
pub(in crate::engine) fn math(fun: naga::MathFunction, kind: Kind) -> Option<Fun> {
    use naga::MathFunction as M;
    Some(Fun(match (fun, kind) {
        (M::Abs, Kind::Float) => |a| float(d(a, 0).abs()),
        (M::Min, Kind::Float) => |a| float(if d(a, 1) < d(a, 0) { d(a, 1) } else { d(a, 0) }),
        (M::Max, Kind::Float) => |a| float(if d(a, 0) < d(a, 1) { d(a, 1) } else { d(a, 0) }),
        (M::Sign, Kind::Float) => |a| {
            float(match d(a, 0) {
                x if x > 0.0 => 1.0,
                x if x < 0.0 => -1.0,
                _ => 0.0,
            })
        },
        (M::Saturate, Kind::Float) => |a| float(d(a, 0).clamp(0.0, 1.0)),
        (M::Floor, _) => |a| float(d(a, 0).floor()),
        (M::Ceil, _) => |a| float(d(a, 0).ceil()),
        (M::Trunc, _) => |a| float(d(a, 0).trunc()),
        (M::Round, _) => |a| float(d(a, 0).round_ties_even()),
        (M::Sqrt, _) => |a| float(d(a, 0).sqrt()),
        (M::InverseSqrt, _) => |a| float(1.0 / d(a, 0).sqrt()),
        (M::Exp, _) => |a| float(d(a, 0).exp()),
        (M::Exp2, _) => |a| float(d(a, 0).exp2()),
        (M::Log, _) => |a| float(d(a, 0).ln()),
        (M::Log2, _) => |a| float(d(a, 0).log2()),
        (M::Sin, _) => |a| float(d(a, 0).sin()),
        (M::Cos, _) => |a| float(d(a, 0).cos()),
        (M::Tan, _) => |a| float(d(a, 0).tan()),
        (M::Asin, _) => |a| float(d(a, 0).asin()),
        (M::Acos, _) => |a| float(d(a, 0).acos()),
        (M::Atan, _) => |a| float(d(a, 0).atan()),
        (M::Sinh, _) => |a| float(d(a, 0).sinh()),
        (M::Cosh, _) => |a| float(d(a, 0).cosh()),
        (M::Tanh, _) => |a| float(d(a, 0).tanh()),
        (M::Asinh, _) => |a| float(d(a, 0).asinh()),
        (M::Acosh, _) => |a| float(d(a, 0).acosh()),
        (M::Atanh, _) => |a| float(d(a, 0).atanh()),
        (M::Pow, _) => |a| float(d(a, 0).powf(d(a, 1))),
        (M::Atan2, _) => |a| float(d(a, 0).atan2(d(a, 1))),
        (M::Fma, _) => |a| float(d(a, 0).mul_add(d(a, 1), d(a, 2))),
        (M::Abs, Kind::Sint) => |a| int(i(a, 0).wrapping_abs()),
        (M::Sign, Kind::Sint) => |a| int(i(a, 0).signum()),
        (M::Min, Kind::Sint) => |a| int(i(a, 0).min(i(a, 1))),
        (M::Max, Kind::Sint) => |a| int(i(a, 0).max(i(a, 1))),
        (M::Abs, _) => |a| out(u(a, 0)),
        (M::Min, _) => |a| out(u(a, 0).min(u(a, 1))),
        (M::Max, _) => |a| out(u(a, 0).max(u(a, 1))),
        (M::CountOneBits, _) => |a| out(u(a, 0).count_ones().into()),
        (M::CountLeadingZeros, _) => |a| out(u(a, 0).leading_zeros().into()),
        (M::CountTrailingZeros, _) => |a| out(u(a, 0).trailing_zeros().into()),
        (M::ReverseBits, _) => |a| out(u(a, 0).reverse_bits()),
        (M::FirstTrailingBit, _) => |a| match u(a, 0) {
            0 => out(!0),
            x => out(x.trailing_zeros().into()),
        },
        (M::FirstLeadingBit, Kind::Sint) => |a| match u(a, 0) ^ (i(a, 0) >> 63) as u64 {
            0 => out(!0),
            x => out((63 - x.leading_zeros()).into()),
        },
        (M::FirstLeadingBit, _) => |a| match u(a, 0) {
            0 => out(!0),
            x => out((63 - x.leading_zeros()).into()),
        },
        _ => return None,
    }))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn words(x: u64, y: u64) -> [u32; 8] {
        let ([a, b], [c, d]) = (out(x), out(y));
        [a, b, c, d, 0, 0, 0, 0]
    }

    #[test]
    fn arithmetic_carries_between_the_words() {
        let add = binary(Op::Add, Kind::Uint).unwrap();
        assert_eq!((add.0)(&words(0xffff_ffff, 1)), [0, 1]);
        let divide = binary(Op::Divide, Kind::Sint).unwrap();
        assert_eq!(
            (divide.0)(&words(i64::MIN as u64, -1i64 as u64)),
            out(1 << 63)
        );
        assert_eq!((divide.0)(&words(7, 0)), [7, 0]);
        let less = binary(Op::Less, Kind::Sint).unwrap();
        assert_eq!((less.0)(&words(-1i64 as u64, 0))[0], !0);
        assert_eq!(
            (binary(Op::Less, Kind::Uint).unwrap().0)(&words(-1i64 as u64, 0))[0],
            0
        );
    }

    #[test]
    fn floats_convert_with_saturation() {
        let to = convert(naga::Scalar::F64, naga::Scalar::I32).unwrap();
        assert_eq!((to.0)(&words(1e10f64.to_bits(), 0))[0], i32::MAX as u32);
        assert_eq!((to.0)(&words(f64::NAN.to_bits(), 0))[0], 0);
    }
}
