//! Plain numbers together with tensors, and the dtype of a result.
//!
//! A number in an expression has no dtype of its own, only a category (bool, integer, float): `f16_tensor * 2.0` stays
//! f16, `i32_tensor * 2.0` becomes f32. The same holds for a rank-0 tensor together with one with dimensions. This is PyTorch's
//! rule; the table itself is [`DType::promote`].
//!
//! Invariant: everything in this file is a pure function of dtypes and ranks.

use half::{bf16, f16};
use ziggurat_core::{DType, Element};

/// A plain number with its category, to stand where a literal cannot.
///
/// Rust's orphan rule forbids `Result<Tensor, Error> + f32`, so a literal behind the first operator of an expression is
/// written [`scalar(1.0)`](scalar): `(&a * 2.0 + scalar(1.0))?`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scalar {
    value: f64,
    category: Category,
}

/// What kind of number it is; later ones absorb earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Category {
    Bool,
    Int,
    Float,
}

/// A number that can be combined with a `Result<Tensor, Error>`.
///
/// ```
/// use ziggurat_tensor::{Device, DeviceOptions, Tensor, scalar};
///
/// let device = Device::open_blocking(DeviceOptions::default())?;
/// let a = Tensor::from_slice(&device, &[1.0f32, 2.0], &[2])?;
/// let b = (&a * 2.0 + scalar(1.0))?;
/// assert_eq!(b.to_vec_blocking::<f32>()?, [3.0, 5.0]);
/// # Ok::<(), ziggurat_tensor::Error>(())
/// ```
pub fn scalar(value: impl Into<Scalar>) -> Scalar {
    value.into()
}

impl Scalar {
    /// The number.
    pub const fn value(self) -> f64 {
        self.value
    }

    /// The dtype that the number is promoted to with a tensor of `dtype`.
    pub(crate) fn promoted_with(self, dtype: DType) -> DType {
        match (self.category > category(dtype), self.category) {
            (true, Category::Float) => DType::F32,
            (true, Category::Int) => DType::I32,
            _ => dtype,
        }
    }

    /// Whether it is a number of this type, which converting changes only by rounding.
    pub(crate) fn is_of(self, dtype: DType) -> bool {
        self.promoted_with(dtype) == dtype && self.fits(dtype)
    }

    /// Whether `dtype` can hold the number: always for floats and bool, by range for integers.
    pub(crate) fn fits(self, dtype: DType) -> bool {
        let info = dtype.info();
        !dtype.is_int() || (info.lowest..=info.greatest).contains(&self.value)
    }
}

macro_rules! scalar_from {
    ($($from:ty => $category:ident),* $(,)?) => {
        $(impl From<$from> for Scalar {
            fn from(value: $from) -> Self {
                Self { value: Element::to_f64(value), category: Category::$category }
            }
        })*
    };
}

scalar_from! {
    f32 => Float, f16 => Float, bf16 => Float, i32 => Int, u32 => Int, u8 => Int, i8 => Int, bool => Bool,
}

impl From<f64> for Scalar {
    fn from(value: f64) -> Self {
        Self {
            value,
            category: Category::Float,
        }
    }
}

/// The category of a dtype's elements.
pub(crate) fn category(dtype: DType) -> Category {
    match (dtype.is_float(), dtype.is_bool()) {
        (true, _) => Category::Float,
        (false, true) => Category::Bool,
        (false, false) => Category::Int,
    }
}

/// The dtype in which two tensors are combined; a rank-0 tensor yields to one with dimensions of its category.
pub(crate) fn combined(a: DType, a_rank: usize, b: DType, b_rank: usize) -> DType {
    if a == b {
        return a;
    }
    match (a_rank == 0, b_rank == 0) {
        (true, false) if category(a) <= category(b) => b,
        (false, true) if category(b) <= category(a) => a,
        _ => a.promote(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_takes_the_dtype_of_its_neighbour_unless_its_category_is_higher() {
        assert_eq!(Scalar::from(2.0).promoted_with(DType::F16), DType::F16);
        assert_eq!(Scalar::from(2).promoted_with(DType::F16), DType::F16);
        assert_eq!(Scalar::from(2).promoted_with(DType::U8), DType::U8);
        assert_eq!(Scalar::from(2.0).promoted_with(DType::I32), DType::F32);
        assert_eq!(Scalar::from(2.0).promoted_with(DType::Bool), DType::F32);
        assert_eq!(Scalar::from(2).promoted_with(DType::Bool), DType::I32);
        assert_eq!(Scalar::from(true).promoted_with(DType::Bool), DType::Bool);
        assert_eq!(Scalar::from(true).promoted_with(DType::I8), DType::I8);
    }

    #[test]
    fn a_rank_0_tensor_yields_to_one_with_dimensions() {
        assert_eq!(combined(DType::F32, 0, DType::F16, 1), DType::F16);
        assert_eq!(combined(DType::F16, 2, DType::F32, 0), DType::F16);
        assert_eq!(combined(DType::F32, 0, DType::I32, 1), DType::F32);
        assert_eq!(combined(DType::I32, 0, DType::U8, 1), DType::U8);
        assert_eq!(combined(DType::F32, 0, DType::F16, 0), DType::F32);
        assert_eq!(combined(DType::I32, 1, DType::F16, 1), DType::F16);
    }

    #[test]
    fn integers_out_of_range_do_not_fit() {
        assert!(Scalar::from(255).fits(DType::U8));
        assert!(!Scalar::from(256).fits(DType::U8));
        assert!(!Scalar::from(-1).fits(DType::U32));
        assert!(Scalar::from(1e30).fits(DType::F16));
    }
}
