//! Arithmetic of two operands, with broadcasting and type promotion.
//!
//! The operators and the methods meet here. The dtype of a result is decided in [`crate::scalar`], before any shape is
//! looked at; both operands are then converted to it.

use ziggurat_core::{DType, Shape, broadcast_shapes};
use ziggurat_kernels::{Binary, Composite, FusedOp};

use crate::operand::{Operand, Side};
use crate::{Error, Tensor};

pub(crate) fn add(a: Side<'_>, b: Side<'_>) -> Result<Tensor, Error> {
    promoted("add", Binary::Add, a, b)
}

pub(crate) fn sub(a: Side<'_>, b: Side<'_>) -> Result<Tensor, Error> {
    promoted("sub", Binary::Sub, a, b)
}

pub(crate) fn mul(a: Side<'_>, b: Side<'_>) -> Result<Tensor, Error> {
    promoted("mul", Binary::Mul, a, b)
}

/// True division: integers give f32.
pub(crate) fn div(a: Side<'_>, b: Side<'_>) -> Result<Tensor, Error> {
    floating("div", Binary::Div, a, b)
}

/// As [`promoted`], in f32 where both are integers or bool.
fn floating(op: &'static str, kernel: Binary, a: Side<'_>, b: Side<'_>) -> Result<Tensor, Error> {
    let dtype = a.combined_dtype(b);
    let dtype = if dtype.is_float() { dtype } else { DType::F32 };
    launch(op, FusedOp::Binary(kernel), a, b, dtype)
}

fn promoted(op: &'static str, kernel: Binary, a: Side<'_>, b: Side<'_>) -> Result<Tensor, Error> {
    if let (Side::Tensor(a), Side::Tensor(b)) = (a, b)
        && a.is_like(b)
    {
        return a.record_alike(op, FusedOp::Binary(kernel), b);
    }
    launch(op, FusedOp::Binary(kernel), a, b, a.combined_dtype(b))
}

/// Converts both sides to `dtype`, finds the shape of the result, and records.
pub(crate) fn launch(
    op: &'static str,
    kernel: FusedOp,
    a: Side<'_>,
    b: Side<'_>,
    dtype: DType,
) -> Result<Tensor, Error> {
    let beside = match (a, b) {
        (Side::Tensor(a), Side::Tensor(b)) if a.is_like(b) && a.dtype() == dtype => {
            return a.record_alike(op, kernel, b);
        }
        (Side::Tensor(a), Side::Tensor(b)) => {
            a.same_device(op, b)?;
            a
        }
        (Side::Tensor(tensor), Side::Scalar(_)) | (Side::Scalar(_), Side::Tensor(tensor)) => tensor,
        (Side::Scalar(_), Side::Scalar(_)) => {
            return Err(Error::argument(op, "one operand must be a tensor"));
        }
    };
    let (left, right) = (
        a.to_input(op, dtype, beside)?,
        b.to_input(op, dtype, beside)?,
    );
    let inputs = [Some(left), Some(right), None];
    if let (Side::Tensor(a), Side::Tensor(b)) = (a, b) {
        let shape = broadcast(op, &[*a.shape(), *b.shape()])?;
        return Tensor::record(beside.device(), op, kernel, &shape, inputs);
    }
    if beside.dtype() == dtype {
        return beside.record_like(op, kernel, inputs);
    }
    Tensor::record(beside.device(), op, kernel, beside.shape(), inputs)
}

pub(crate) fn broadcast(op: &'static str, shapes: &[Shape]) -> Result<Shape, Error> {
    // Most often there is nothing to broadcast.
    if let [first, rest @ ..] = shapes
        && rest.iter().all(|shape| shape == first || shape.rank() == 0)
    {
        return Ok(*first);
    }
    broadcast_shapes(shapes).map_err(|error| Error::from_shape(op, error))
}

impl Tensor {
    /// `self + other`, the method behind `+`. Integers wrap.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::from_slice(&device, &[1.0f32, 2.0, 3.0, 4.0], [2, 2])?;
    /// let row = Tensor::from_slice(&device, &[10.0f32, 20.0], [2])?;
    /// assert_eq!((&a + &row)?.to_vec2_blocking::<f32>()?, [[11.0, 22.0], [13.0, 24.0]]);
    /// assert_eq!(a.add(0.5)?.to_vec2_blocking::<f32>()?, [[1.5, 2.5], [3.5, 4.5]]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the shapes do not broadcast, or the tensors are on different devices.
    pub fn add(&self, other: impl Operand) -> Result<Self, Error> {
        add(Side::Tensor(self), other.side())
    }

    /// `self - other`, the method behind `-`. Integers wrap.
    ///
    /// # Errors
    /// As [`Tensor::add`]; bool has no difference.
    pub fn sub(&self, other: impl Operand) -> Result<Self, Error> {
        sub(Side::Tensor(self), other.side())
    }

    /// `self * other`, the method behind `*`. Integers wrap.
    ///
    /// # Errors
    /// As [`Tensor::add`].
    #[doc(alias = "multiply")]
    pub fn mul(&self, other: impl Operand) -> Result<Self, Error> {
        mul(Side::Tensor(self), other.side())
    }

    /// `self / other`, the method behind `/`: true division, so integers give f32.
    ///
    /// # Errors
    /// As [`Tensor::add`].
    #[doc(alias = "true_divide")]
    pub fn div(&self, other: impl Operand) -> Result<Self, Error> {
        div(Side::Tensor(self), other.side())
    }

    /// The exact quotient rounded toward zero, in the operands' dtype: what [`Tensor::fmod`] leaves is less than `other`. For
    /// integers x / 0 is x and MIN / -1 is MIN.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Tensor, f16};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// // The quotient is 1960.98, which f16 rounds to 1961.
    /// let a = Tensor::from_slice(&device, &[f16::from_f32(100.0)], [1])?;
    /// let b = Tensor::from_slice(&device, &[f16::from_f32(0.051)], [1])?;
    /// assert_eq!(a.div_trunc(&b)?.to_vec_blocking::<f16>()?, [f16::from_f32(1960.0)]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::add`].
    pub fn div_trunc(&self, other: impl Operand) -> Result<Self, Error> {
        const OP: &str = "div_trunc";
        let other = other.side();
        let quotient = promoted(OP, Binary::Div, Side::Tensor(self), other)?;
        if !quotient.dtype().is_float() {
            return Ok(quotient);
        }
        // A division is rounded, perhaps to a whole number beyond the exact quotient; its floor is exact. Only its sign is
        // taken from the division, and itself where it is 0 or not finite.
        let numerator = self.converted(OP, quotient.dtype())?;
        let negative = quotient.lt(0)?;
        let turned = negative.where_(&numerator.neg()?, &numerator)?;
        let floor = promoted(OP, Binary::FloorDivide, Side::Tensor(&turned), other)?;
        let whole = negative.where_(&floor.neg()?, &floor)?;
        let plain = quotient.is_finite()?.logical_and(&quotient.ne(0)?)?;
        plain.where_(&whole, &quotient)
    }

    /// The quotient rounded down, in the operands' dtype: `floor_divide(-7, 2)` is -4. Floats: by 0 it is infinite or NaN;
    /// integers: x / 0 is x.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::from_slice(&device, &[-7i32, 7], [2])?;
    /// assert_eq!(a.floor_divide(2)?.to_vec_blocking::<i32>()?, [-4, 3]);
    /// assert_eq!(a.remainder(2)?.to_vec_blocking::<i32>()?, [1, 1]);
    /// assert_eq!(a.fmod(2)?.to_vec_blocking::<i32>()?, [-1, 1]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::add`]; bool has no quotient.
    pub fn floor_divide(&self, other: impl Operand) -> Result<Self, Error> {
        let (a, b) = (Side::Tensor(self), other.side());
        promoted("floor_divide", Binary::FloorDivide, a, b)
    }

    /// What [`Tensor::floor_divide`] leaves, with the sign of `other`. By 0 it is NaN for floats and 0 for integers.
    ///
    /// # Errors
    /// As [`Tensor::add`]; bool has no remainder.
    pub fn remainder(&self, other: impl Operand) -> Result<Self, Error> {
        let (a, b) = (Side::Tensor(self), other.side());
        promoted("remainder", Binary::Remainder, a, b)
    }

    /// What [`Tensor::div_trunc`] leaves, with the sign of `self`; exact for all magnitudes. By 0 it is NaN for floats and
    /// 0 for integers.
    ///
    /// # Errors
    /// As [`Tensor::add`]; bool has no remainder.
    pub fn fmod(&self, other: impl Operand) -> Result<Self, Error> {
        promoted("fmod", Binary::Fmod, Side::Tensor(self), other.side())
    }

    /// The angle in (-π, π] of the points whose ordinates are `self` and whose abscissas are `other`.
    ///
    /// # Errors
    /// As [`Tensor::add`].
    pub fn atan2(&self, other: impl Operand) -> Result<Self, Error> {
        floating("atan2", Binary::Atan2, Side::Tensor(self), other.side())
    }

    /// √(self² + other²), without overflow of the squares.
    ///
    /// # Errors
    /// As [`Tensor::add`].
    pub fn hypot(&self, other: impl Operand) -> Result<Self, Error> {
        floating("hypot", Binary::Hypot, Side::Tensor(self), other.side())
    }

    /// The larger of two; a NaN loses against a number.
    ///
    /// # Errors
    /// As [`Tensor::add`].
    pub fn fmax(&self, other: impl Operand) -> Result<Self, Error> {
        let (a, b) = (Side::Tensor(self), other.side());
        let float = a.combined_dtype(b).is_float();
        let kernel = if float { Binary::Fmax } else { Binary::Maximum };
        promoted("fmax", kernel, a, b)
    }

    /// The smaller of two; a NaN loses against a number.
    ///
    /// # Errors
    /// As [`Tensor::add`].
    pub fn fmin(&self, other: impl Operand) -> Result<Self, Error> {
        let (a, b) = (Side::Tensor(self), other.side());
        let float = a.combined_dtype(b).is_float();
        let kernel = if float { Binary::Fmin } else { Binary::Minimum };
        promoted("fmin", kernel, a, b)
    }

    /// `base` to the power of `self`: [`Tensor::pow`] with a number or tensor below.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let exponents = Tensor::from_slice(&device, &[0.0f32, 3.0, -1.0], [3])?;
    /// assert_eq!(exponents.rpow(2)?.to_vec_blocking::<f32>()?, [1.0, 8.0, 0.5]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::add`].
    pub fn rpow(&self, base: impl Operand) -> Result<Self, Error> {
        promoted("rpow", Binary::Pow, base.side(), Side::Tensor(self))
    }

    /// `self` to the power of `other`; a negative base with an integral exponent is defined.
    ///
    /// # Errors
    /// As [`Tensor::add`].
    pub fn pow(&self, other: impl Operand) -> Result<Self, Error> {
        promoted("pow", Binary::Pow, Side::Tensor(self), other.side())
    }

    /// The larger of two; NaN where either is NaN.
    ///
    /// # Errors
    /// As [`Tensor::add`].
    pub fn maximum(&self, other: impl Operand) -> Result<Self, Error> {
        promoted("maximum", Binary::Maximum, Side::Tensor(self), other.side())
    }

    /// The smaller of two; NaN where either is NaN.
    ///
    /// # Errors
    /// As [`Tensor::add`].
    pub fn minimum(&self, other: impl Operand) -> Result<Self, Error> {
        promoted("minimum", Binary::Minimum, Side::Tensor(self), other.side())
    }

    /// Every element at least `low` and at most `high`; `high` wins where they cross, NaN stays NaN.
    ///
    /// # Errors
    /// As [`Tensor::add`].
    #[doc(alias = "clip")]
    pub fn clamp(&self, low: impl Operand, high: impl Operand) -> Result<Self, Error> {
        const OP: &str = "clamp";
        let (low, high) = (low.side(), high.side());
        let mut dtype = self.dtype();
        let mut rank = self.rank();
        for side in [low, high] {
            dtype = match side {
                Side::Scalar(number) => number.promoted_with(dtype),
                Side::Tensor(bound) => {
                    let other = crate::scalar::combined(dtype, rank, bound.dtype(), bound.rank());
                    rank = rank.max(bound.rank());
                    other
                }
            };
        }
        let operands = [Side::Tensor(self), low, high];
        Self::composed(OP, Composite::Clamp, &operands, &[], dtype)?.converted(OP, dtype)
    }

    /// `alpha * self + beta`; f16 and bf16 are computed in f32 and rounded once.
    ///
    /// # Errors
    /// If the device has no memory for the result.
    pub fn affine(&self, alpha: f32, beta: f32) -> Result<Self, Error> {
        let dtype = self.dtype();
        let exact = self.converted("affine", if dtype.is_float() { DType::F32 } else { dtype })?;
        let moved = exact.mul(alpha)?.add(beta)?;
        if dtype.is_float() {
            moved.converted("affine", dtype)
        } else {
            Ok(moved)
        }
    }
}
