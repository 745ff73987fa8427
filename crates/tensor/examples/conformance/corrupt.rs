//! Expected values made wrong on purpose, to prove that the comparison notices.

use ziggurat_tensor::{DType, f16};

use super::compare::Expected;

/// A way to be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Corruption {
    /// One float off by more than any tolerance of the vectors.
    Value,
    /// One float replaced by NaN (or a NaN by 0).
    Nan,
    /// One float's sign flipped to the other infinity.
    Infinity,
    /// One integer off by one, or one bool the other way round.
    Integer,
    /// One extent larger by one.
    Shape,
    /// The dtype another of the same width.
    Dtype,
}

impl Corruption {
    pub(crate) const ALL: [Self; 6] = [
        Self::Value,
        Self::Nan,
        Self::Infinity,
        Self::Integer,
        Self::Shape,
        Self::Dtype,
    ];
}

/// Corrupts the last expected value; false where this kind has nothing to corrupt.
pub(crate) fn apply(corruption: Corruption, expected: &mut Expected) -> bool {
    match corruption {
        Corruption::Shape => match expected.shape.last_mut() {
            Some(extent) => {
                *extent += 1;
                true
            }
            None => false,
        },
        Corruption::Dtype => {
            let other = match expected.dtype {
                DType::F32 => DType::I32,
                DType::I32 => DType::U32,
                DType::U32 => DType::F32,
                DType::F16 => DType::BF16,
                DType::BF16 => DType::F16,
                DType::U8 => DType::I8,
                DType::I8 => DType::Bool,
                DType::Bool => DType::U8,
            };
            expected.dtype = other;
            true
        }
        Corruption::Integer => match (
            expected.dtype,
            expected.values.len().checked_sub(expected.dtype.bytes()),
        ) {
            (DType::F32 | DType::F16 | DType::BF16, _) | (_, None) => false,
            (_, Some(last)) => expected.values.get_mut(last).is_some_and(|byte| {
                *byte ^= 1;
                true
            }),
        },
        Corruption::Value => change(expected, |value| {
            if value.is_finite() {
                value + 1.0 + value.abs()
            } else {
                0.5
            }
        }),
        Corruption::Nan => change(
            expected,
            |value| if value.is_nan() { 0.0 } else { f64::NAN },
        ),
        Corruption::Infinity => change(expected, |value| {
            if value == f64::INFINITY {
                f64::NEG_INFINITY
            } else {
                f64::INFINITY
            }
        }),
    }
}

fn change(expected: &mut Expected, to: impl Fn(f64) -> f64) -> bool {
    match expected.dtype {
        DType::F32 => expected
            .values
            .last_chunk_mut()
            .is_some_and(|word: &mut [u8; 4]| {
                *word = (to(f64::from(f32::from_le_bytes(*word))) as f32).to_le_bytes();
                true
            }),
        DType::F16 => expected
            .values
            .last_chunk_mut()
            .is_some_and(|word: &mut [u8; 2]| {
                *word = f16::from_f64(to(f16::from_le_bytes(*word).to_f64())).to_le_bytes();
                true
            }),
        _ => false,
    }
}
