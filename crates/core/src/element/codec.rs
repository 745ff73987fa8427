//! Storage bytes of a dtype known only at run time, as f64.
//!
//! For references and tests, where speed is no matter and one type for all dtypes is.

use half::{bf16, f16};

use super::Element;
use crate::DType;

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
    fn typed<T: Element>(bytes: &[u8]) -> Vec<f64> {
        T::read_bytes(bytes).into_iter().map(T::to_f64).collect()
    }
    match dtype {
        DType::F32 => typed::<f32>(bytes),
        DType::F16 => typed::<f16>(bytes),
        DType::BF16 => typed::<bf16>(bytes),
        DType::I32 => typed::<i32>(bytes),
        DType::U32 => typed::<u32>(bytes),
        DType::U8 => typed::<u8>(bytes),
        DType::I8 => typed::<i8>(bytes),
        DType::Bool => typed::<bool>(bytes),
    }
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
    fn typed<T: Element>(values: &[f64]) -> Vec<u8> {
        let values: Vec<T> = values.iter().copied().map(T::from_f64).collect();
        T::write_bytes(&values).into_owned()
    }
    match dtype {
        DType::F32 => typed::<f32>(values),
        DType::F16 => typed::<f16>(values),
        DType::BF16 => typed::<bf16>(values),
        DType::I32 => typed::<i32>(values),
        DType::U32 => typed::<u32>(values),
        DType::U8 => typed::<u8>(values),
        DType::I8 => typed::<i8>(values),
        DType::Bool => typed::<bool>(values),
    }
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
    match dtype {
        DType::F32 => f32::from_f64(value).to_f64(),
        DType::F16 => <f16 as Element>::from_f64(value).to_f64(),
        DType::BF16 => <bf16 as Element>::from_f64(value).to_f64(),
        DType::I32 => i32::from_f64(value).to_f64(),
        DType::U32 => u32::from_f64(value).to_f64(),
        DType::U8 => u8::from_f64(value).to_f64(),
        DType::I8 => i8::from_f64(value).to_f64(),
        DType::Bool => bool::from_f64(value).to_f64(),
    }
}
