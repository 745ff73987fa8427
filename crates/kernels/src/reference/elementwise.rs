//! Elementwise references: rows of the op tables applied to a dtype.

use ziggurat_core::{DType, DTypeKind, decode, encode};

use crate::ops::elementwise::binary::Binary;
use crate::ops::elementwise::compare::Compare;
use crate::ops::elementwise::predicate::Predicate;
use crate::ops::elementwise::unary::Unary;

/// The value that an element of `dtype` holds after `value` was stored to it: rounded for floats, saturated for integers
/// (NaN is 0), `!= 0` for bool.
#[must_use]
pub fn round_to(dtype: DType, value: f64) -> f64 {
    decode(dtype, &encode(dtype, &[value]))
        .first()
        .copied()
        .unwrap_or(0.0)
}

/// An integer result in `dtype`: modulo 2ⁿ for integers, `!= 0` for bool, rounded for floats.
#[must_use]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "wrapping is the point"
)]
#[expect(
    clippy::cast_precision_loss,
    reason = "rounding to a float dtype is the point"
)]
pub fn wrap(dtype: DType, value: i64) -> f64 {
    match dtype.info().kind {
        DTypeKind::Int { signed: true } => {
            let unused = 64 - 8 * dtype.bytes() as u32;
            (value << unused >> unused) as f64
        }
        DTypeKind::Int { signed: false } => {
            let unused = 64 - 8 * dtype.bytes() as u32;
            ((value as u64) << unused >> unused) as f64
        }
        DTypeKind::Bool => f64::from(u8::from(value != 0)),
        DTypeKind::Float { .. } => round_to(dtype, value as f64),
    }
}

/// An element as an integer: exact for every integer dtype and bool.
#[expect(clippy::cast_possible_truncation, reason = "integer dtypes fit i64")]
fn integer(value: f64) -> i64 {
    value as i64
}

/// A unary op on one element of `dtype`. Float results are not rounded to the dtype.
#[must_use]
pub fn unary(op: Unary, dtype: DType, x: f64) -> f64 {
    let spec = op.spec();
    if dtype.is_float() {
        (spec.float)(x)
    } else {
        wrap(dtype, (spec.int)(integer(x)))
    }
}

/// A binary op on elements of `dtype`. Float results are not rounded to the dtype.
#[must_use]
pub fn binary(op: Binary, dtype: DType, x: f64, y: f64) -> f64 {
    let spec = op.spec();
    if dtype.is_float() {
        (spec.float)(x, y)
    } else {
        wrap(dtype, (spec.int)(integer(x), integer(y)))
    }
}

/// A comparison.
#[must_use]
pub fn compare(op: Compare, x: f64, y: f64) -> bool {
    (op.spec().reference)(x, y)
}

/// A predicate.
#[must_use]
pub fn predicate(op: Predicate, x: f64) -> bool {
    (op.spec().reference)(x)
}

/// A cast: saturating from floats, wrapping from integers, `x != 0` (true for NaN) to bool.
#[must_use]
pub fn cast(from: DType, to: DType, x: f64) -> f64 {
    if from.is_float() || to.is_float() {
        round_to(to, x)
    } else {
        wrap(to, integer(x))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_wrap_and_floats_saturate() {
        assert_eq!(wrap(DType::U8, 256), 0.0);
        assert_eq!(
            wrap(DType::I32, i64::from(i32::MAX) + 1),
            f64::from(i32::MIN)
        );
        assert_eq!(cast(DType::F32, DType::U8, 300.7), 255.0);
        assert_eq!(cast(DType::F32, DType::I32, f64::NAN), 0.0);
        assert_eq!(cast(DType::I32, DType::U8, -1.0), 255.0);
        assert_eq!(cast(DType::F32, DType::Bool, f64::NAN), 1.0);
        assert_eq!(
            unary(Unary::Abs, DType::I32, f64::from(i32::MIN)),
            f64::from(i32::MIN)
        );
        assert_eq!(binary(Binary::Div, DType::I8, -128.0, -1.0), -128.0);
    }
}
