//! The Rust types that elements have on the host, and their storage bytes.
//!
//! Every dtype is stored densely in its natural width, little-endian; a bool is one byte, 0 or 1
//! when written, anything but 0 being true when read. `f64` is the common ground of references and
//! tests: it holds every value of every element type exactly.
//!
//! Invariant: [`Element::from_f64`] states the project's cast rule, and kernels are tested against
//! it: nearest with ties to even for floats, truncation and saturation for integers with NaN to 0,
//! "not 0" for bool (so NaN is true).

use std::borrow::Cow;
use std::fmt::Debug;

use half::{bf16, f16};

use crate::DType;

pub(crate) mod codec;
mod round;

pub use codec::{decode, encode, round_to};

mod sealed {
    pub trait Sealed {}
}

/// A Rust type that tensor elements have on the host: `f32`, [`f16`](struct@f16), [`bf16`], `i32`,
/// `u32`, `u8`, `i8` or `bool`.
///
/// ```
/// use ziggurat_core::{DType, Element, f16};
///
/// assert_eq!(f16::DTYPE, DType::F16);
/// assert_eq!(i8::from_f64(300.7), 127);
/// assert_eq!(i32::from_f64(f64::NAN), 0);
/// assert!(bool::from_f64(f64::NAN));
/// assert_eq!(f16::from_f64(65520.0), f16::INFINITY);
/// ```
pub trait Element: sealed::Sealed + Copy + Send + Sync + Debug + PartialEq + 'static {
    /// The element type it is.
    const DTYPE: DType;

    /// The value, exactly; false is 0 and true is 1.
    ///
    /// ```
    /// use ziggurat_core::Element;
    ///
    /// assert_eq!(true.to_f64(), 1.0);
    /// ```
    fn to_f64(self) -> f64;

    /// The value cast to this type: rounded once to nearest, ties to even, for floats; truncated and
    /// saturated, with NaN to 0, for integers; whether it is not 0 (NaN is not) for bool.
    ///
    /// ```
    /// use ziggurat_core::Element;
    ///
    /// assert_eq!(u8::from_f64(-1.0), 0);
    /// assert_eq!(f32::from_f64(16_777_217.0), 16_777_216.0);
    /// ```
    #[must_use]
    fn from_f64(value: f64) -> Self;

    /// The little-endian storage bytes of `values`, borrowed where memory already looks like that.
    ///
    /// ```
    /// use ziggurat_core::Element;
    ///
    /// assert_eq!(&*u32::write_bytes(&[1, 0x0203]), &[1, 0, 0, 0, 3, 2, 0, 0]);
    /// assert_eq!(&*bool::write_bytes(&[true, false]), &[1, 0]);
    /// ```
    #[must_use]
    fn write_bytes(values: &[Self]) -> Cow<'_, [u8]>;

    /// The elements stored in `bytes`; bytes after the last whole element are ignored. Any bool byte
    /// but 0 is true.
    ///
    /// ```
    /// use ziggurat_core::Element;
    ///
    /// assert_eq!(u32::read_bytes(&[1, 0, 0, 0, 9]), [1]);
    /// assert_eq!(bool::read_bytes(&[0, 1, 7]), [false, true, true]);
    /// ```
    #[must_use]
    fn read_bytes(bytes: &[u8]) -> Vec<Self>;
}

/// Implements [`Element`] for a plain number: type, dtype, to f64, from f64.
macro_rules! number {
    ($type:ty, $dtype:ident, $to:expr, $from:expr) => {
        impl sealed::Sealed for $type {}

        impl Element for $type {
            const DTYPE: DType = DType::$dtype;

            fn to_f64(self) -> f64 {
                $to(self)
            }

            fn from_f64(value: f64) -> Self {
                $from(value)
            }

            fn write_bytes(values: &[Self]) -> Cow<'_, [u8]> {
                if cfg!(target_endian = "little") {
                    Cow::Borrowed(bytemuck::cast_slice(values))
                } else {
                    Cow::Owned(
                        values
                            .iter()
                            .flat_map(|value| value.to_le_bytes())
                            .collect(),
                    )
                }
            }

            fn read_bytes(bytes: &[u8]) -> Vec<Self> {
                let (whole, _partial) = bytes.as_chunks::<{ size_of::<Self>() }>();
                if cfg!(target_endian = "little") {
                    let mut values = vec![<Self as bytemuck::Zeroable>::zeroed(); whole.len()];
                    bytemuck::cast_slice_mut(&mut values).copy_from_slice(whole.as_flattened());
                    values
                } else {
                    whole
                        .iter()
                        .map(|&bytes| Self::from_le_bytes(bytes))
                        .collect()
                }
            }
        }
    };
}

number!(f32, F32, f64::from, |value: f64| value as Self);
number!(f16, F16, f16::to_f64, round::f16_from_f64);
number!(bf16, BF16, bf16::to_f64, round::bf16_from_f64);
number!(i32, I32, f64::from, |value: f64| value as Self);
number!(u32, U32, f64::from, |value: f64| value as Self);
number!(u8, U8, f64::from, |value: f64| value as Self);
number!(i8, I8, f64::from, |value: f64| value as Self);

impl sealed::Sealed for bool {}

impl Element for bool {
    const DTYPE: DType = DType::Bool;

    fn to_f64(self) -> f64 {
        f64::from(u8::from(self))
    }

    fn from_f64(value: f64) -> Self {
        value != 0.0
    }

    fn write_bytes(values: &[Self]) -> Cow<'_, [u8]> {
        Cow::Borrowed(bytemuck::cast_slice(values))
    }

    fn read_bytes(bytes: &[u8]) -> Vec<Self> {
        bytes.iter().map(|&byte| byte != 0).collect()
    }
}

#[cfg(test)]
mod tests;
