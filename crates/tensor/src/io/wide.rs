//! Numbers of files that no tensor holds: 64-bit and 16-bit ones.
//!
//! f64 becomes f32 (rounded, in range), i64 and the 16-bit integers i32, u64 u32. A value out of range is an error that
//! names it and its position.

use std::borrow::Cow;

use ziggurat_core::{DType, Element};

use crate::Error;

/// A number type that is converted on reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wide {
    F64,
    I64,
    U64,
    I16,
    U16,
}

impl Wide {
    pub(super) const fn bytes(self) -> usize {
        match self {
            Self::F64 | Self::I64 | Self::U64 => 8,
            Self::I16 | Self::U16 => 2,
        }
    }

    /// The dtype it is converted to.
    pub(super) const fn dtype(self) -> DType {
        match self {
            Self::F64 => DType::F32,
            Self::I64 | Self::I16 | Self::U16 => DType::I32,
            Self::U64 => DType::U32,
        }
    }

    /// Converts little-endian values to little-endian values of [`Wide::dtype`].
    pub(super) fn convert(self, bytes: &[u8]) -> Result<Vec<u8>, Error> {
        match self {
            Self::F64 => narrow(bytes, f64::from_le_bytes, |value| {
                let rounded = value as f32;
                (rounded.is_finite() || !value.is_finite()).then_some(rounded)
            }),
            Self::I64 => narrow(bytes, i64::from_le_bytes, |value| i32::try_from(value).ok()),
            Self::U64 => narrow(bytes, u64::from_le_bytes, |value| u32::try_from(value).ok()),
            Self::I16 => narrow(bytes, i16::from_le_bytes, |value| Some(i32::from(value))),
            Self::U16 => narrow(bytes, u16::from_le_bytes, |value| Some(i32::from(value))),
        }
    }
}

/// How the numbers of a file become a tensor's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Numbers {
    Same(DType),
    Converted(Wide),
}

impl Numbers {
    /// Bytes of one number in the file.
    pub(super) const fn bytes(self) -> usize {
        match self {
            Self::Same(dtype) => dtype.bytes(),
            Self::Converted(wide) => wide.bytes(),
        }
    }

    /// The tensor's dtype.
    pub(super) const fn dtype(self) -> DType {
        match self {
            Self::Same(dtype) => dtype,
            Self::Converted(wide) => wide.dtype(),
        }
    }

    /// The tensor's values, from little-endian ones of the file.
    pub(super) fn values(self, bytes: &[u8]) -> Result<Cow<'_, [u8]>, Error> {
        match self {
            Self::Same(_) => Ok(Cow::Borrowed(bytes)),
            Self::Converted(wide) => wide.convert(bytes).map(Cow::Owned),
        }
    }
}

fn narrow<const N: usize, W: Copy + std::fmt::Display, T: Element>(
    bytes: &[u8],
    parse: fn([u8; N]) -> W,
    convert: impl Fn(W) -> Option<T>,
) -> Result<Vec<u8>, Error> {
    let (words, _) = bytes.as_chunks::<N>();
    let mut values = Vec::with_capacity(words.len());
    for (position, &word) in words.iter().enumerate() {
        let value = parse(word);
        values.push(convert(value).ok_or_else(|| {
            Error::format(format!(
                "value {value} at position {position} does not fit {}, which it is converted to",
                T::DTYPE
            ))
        })?);
    }
    Ok(T::write_bytes(&values).into_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn bytes<const N: usize>(words: &[[u8; N]]) -> Vec<u8> {
        words.concat()
    }

    #[test]
    fn converts_what_fits() {
        let wide = bytes(&[
            1.5f64.to_le_bytes(),
            f64::NAN.to_le_bytes(),
            f64::INFINITY.to_le_bytes(),
        ]);
        let values = f32::read_bytes(&Wide::F64.convert(&wide).unwrap());
        assert!(values[0] == 1.5 && values[1].is_nan() && values[2] == f32::INFINITY);
        let wide = bytes(&[(-5i64).to_le_bytes(), i64::from(i32::MAX).to_le_bytes()]);
        assert_eq!(
            i32::read_bytes(&Wide::I64.convert(&wide).unwrap()),
            [-5, i32::MAX]
        );
        let wide = bytes(&[u64::from(u32::MAX).to_le_bytes()]);
        assert_eq!(
            u32::read_bytes(&Wide::U64.convert(&wide).unwrap()),
            [u32::MAX]
        );
        let wide = bytes(&[(-3i16).to_le_bytes()]);
        assert_eq!(i32::read_bytes(&Wide::I16.convert(&wide).unwrap()), [-3]);
        let wide = bytes(&[u16::MAX.to_le_bytes()]);
        assert_eq!(i32::read_bytes(&Wide::U16.convert(&wide).unwrap()), [65535]);
    }

    #[test]
    fn names_the_value_that_does_not_fit() {
        let wide = bytes(&[0i64.to_le_bytes(), (1i64 << 40).to_le_bytes()]);
        let error = Wide::I64.convert(&wide).unwrap_err();
        assert!(error.is_format());
        assert_eq!(
            error.to_string(),
            "value 1099511627776 at position 1 does not fit i32, which it is converted to"
        );
        assert!(Wide::F64.convert(&1e300f64.to_le_bytes()).is_err());
        assert!(Wide::U64.convert(&u64::MAX.to_le_bytes()).is_err());
    }
}
