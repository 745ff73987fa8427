//! What may stand on the right of a binary operation: a tensor, or a plain number.
//!
//! One sealed trait, so that `a.maximum(&b)` and `a.maximum(0.0)` are the same method and no operation needs a second,
//! `_scalar` form.

use half::{bf16, f16};
use ziggurat_core::{DType, Shape};

use crate::node::Input;
use crate::{Error, Scalar, Tensor};

/// A tensor or a plain number as the second operand of a method such as [`Tensor::add`].
///
/// Implemented for `Tensor`, `&Tensor`, [`Scalar`] and Rust's number types; sealed.
pub trait Operand: sealed::Sealed {}

pub(crate) mod sealed {
    use super::Side;

    pub trait Sealed {
        fn side(&self) -> Side<'_>;
    }
}

/// The two cases of an [`Operand`].
#[derive(Clone, Copy, Debug)]
pub enum Side<'a> {
    /// A tensor.
    Tensor(&'a Tensor),
    /// A number, which has a category but no dtype.
    Scalar(Scalar),
}

impl<'a> From<&'a Tensor> for Side<'a> {
    fn from(tensor: &'a Tensor) -> Self {
        Self::Tensor(tensor)
    }
}

impl From<Scalar> for Side<'_> {
    fn from(number: Scalar) -> Self {
        Self::Scalar(number)
    }
}

impl Side<'_> {
    /// The dtype in which this side and `other` are combined.
    pub(crate) fn combined_dtype(self, other: Self) -> DType {
        match (self, other) {
            (Self::Tensor(a), Self::Tensor(b)) => {
                crate::scalar::combined(a.dtype(), a.rank(), b.dtype(), b.rank())
            }
            (Self::Tensor(tensor), Self::Scalar(number))
            | (Self::Scalar(number), Self::Tensor(tensor)) => number.promoted_with(tensor.dtype()),
            // No public method combines two numbers.
            (Self::Scalar(a), Self::Scalar(_)) => a.promoted_with(DType::Bool),
        }
    }

    /// The shape; a number has rank 0.
    pub(crate) fn shape(self) -> Shape {
        match self {
            Self::Tensor(tensor) => *tensor.shape(),
            Self::Scalar(_) => Shape::scalar(),
        }
    }

    /// This side as an operand of `dtype` on the device of `beside`.
    pub(crate) fn to_input(
        self,
        op: &'static str,
        dtype: DType,
        beside: &Tensor,
    ) -> Result<Input, Error> {
        match self {
            Self::Tensor(tensor) if tensor.dtype() == dtype => tensor.as_input(beside.device()),
            Self::Tensor(tensor) => tensor.converted(op, dtype)?.as_input(beside.device()),
            Self::Scalar(number) if number.fits(dtype) => Ok(Input::Scalar(dtype, number.value())),
            Self::Scalar(number) => Err(Error::argument(
                op,
                format!(
                    "the number must fit the dtype: {} does not fit {dtype}",
                    number.value()
                ),
            )),
        }
    }
}

impl Operand for Tensor {}
impl sealed::Sealed for Tensor {
    fn side(&self) -> Side<'_> {
        Side::Tensor(self)
    }
}

impl Operand for &Tensor {}
impl sealed::Sealed for &Tensor {
    fn side(&self) -> Side<'_> {
        Side::Tensor(self)
    }
}

impl Operand for Scalar {}
impl sealed::Sealed for Scalar {
    fn side(&self) -> Side<'_> {
        Side::Scalar(*self)
    }
}

macro_rules! number_operand {
    ($($number:ty),*) => {
        $(impl Operand for $number {}
        impl sealed::Sealed for $number {
            fn side(&self) -> Side<'_> {
                Side::Scalar(Scalar::from(*self))
            }
        })*
    };
}

number_operand!(f32, f64, f16, bf16, i32, u32, u8, i8, bool);
