//! Storage bytes of a dtype known only at run time, as f64.
//!
//! For references and tests, where speed is no matter and one type for all dtypes is.

use super::Element;
use crate::DType;

/// The conversions of one element type, behind pointers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Codec {
    decode: fn(&[u8]) -> Vec<f64>,
    encode: fn(&[f64]) -> Vec<u8>,
    round: fn(f64) -> f64,
}

impl Codec {
    pub(crate) const fn of<T: Element>() -> Self {
        Self {
            decode: |bytes| T::read_bytes(bytes).into_iter().map(T::to_f64).collect(),
            encode: |values| {
                let values: Vec<T> = values.iter().copied().map(T::from_f64).collect();
                T::write_bytes(&values).into_owned()
            },
            round: |value| T::from_f64(value).to_f64(),
        }
    }
}

/// The elements of type `dtype` stored in `bytes`, as f64, exactly; bytes after the last whole
/// element are ignored.
///
/// ```
/// use ziggurat_core::{DType, decode};
///
/// assert_eq!(decode(DType::BF16, &[0x80, 0x3f]), [1.0]);
/// assert_eq!(decode(DType::I8, &[255, 1]), [-1.0, 1.0]);
/// ```
#[must_use]
pub fn decode(dtype: DType, bytes: &[u8]) -> Vec<f64> {
    (dtype.info().codec.decode)(bytes)
}

/// The storage bytes of `values` cast to `dtype` by [`Element::from_f64`].
///
/// ```
/// use ziggurat_core::{DType, encode};
///
/// assert_eq!(encode(DType::F16, &[1.0]), [0x00, 0x3c]);
/// assert_eq!(encode(DType::Bool, &[0.5, -0.0]), [1, 0]);
/// ```
#[must_use]
pub fn encode(dtype: DType, values: &[f64]) -> Vec<u8> {
    (dtype.info().codec.encode)(values)
}

/// `value` as a `dtype` holds it: cast by [`Element::from_f64`] and back.
///
/// ```
/// use ziggurat_core::{DType, round_to};
///
/// assert_eq!(round_to(DType::BF16, 1.001), 1.0);
/// assert_eq!(round_to(DType::Bool, 0.5), 1.0);
/// ```
#[must_use]
pub fn round_to(dtype: DType, value: f64) -> f64 {
    (dtype.info().codec.round)(value)
}
