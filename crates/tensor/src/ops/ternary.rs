//! Functions of three operands: rows of the kernels' composed table, which fuse into one kernel.
//!
//! Floats are computed in f32 and rounded once, also where the operands are f16 or bf16.

use ziggurat_core::DType;
use ziggurat_kernels::Composite;

use crate::operand::{Operand, Side};
use crate::{Error, Scalar, Tensor};

/// The dtype in which three tensors are combined.
fn combined(a: &Tensor, b: &Tensor, c: &Tensor) -> DType {
    let first = crate::scalar::combined(a.dtype(), a.rank(), b.dtype(), b.rank());
    crate::scalar::combined(first, a.rank().max(b.rank()), c.dtype(), c.rank())
}

fn must_be_float(op: &'static str, dtype: DType) -> Result<(), Error> {
    if dtype.is_float() {
        return Ok(());
    }
    let rule = "the dtypes must promote to a float";
    Err(Error::dtype(op, format!("{rule}: they give {dtype}")))
}

impl Tensor {
    /// From `self` to `end` by `weight`: `self + weight · (end - self)`, both ends met exactly. Computed in f32 and rounded
    /// once.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::from_slice(&device, &[1.0f32, 2.0], [2])?;
    /// let b = Tensor::from_slice(&device, &[3.0f32, 6.0], [2])?;
    /// assert_eq!(a.lerp(&b, 0.25)?.to_vec_blocking::<f32>()?, [1.5, 3.0]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the dtypes promote to no float, the shapes do not broadcast, or the tensors are on different devices.
    pub fn lerp(&self, end: &Self, weight: impl Operand) -> Result<Self, Error> {
        const OP: &str = "lerp";
        let weight = weight.side();
        let dtype = match weight {
            Side::Tensor(weight) => combined(self, end, weight),
            Side::Scalar(_) => Side::Tensor(self).combined_dtype(Side::Tensor(end)),
        };
        must_be_float(OP, dtype)?;
        let operands = [Side::Tensor(self), Side::Tensor(end), weight];
        Self::composed(OP, Composite::Lerp, &operands, &[], dtype)?.converted(OP, dtype)
    }

    /// `self + value · a · b`. Floats are computed in f32 and rounded once, integers wrap.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::from_slice(&device, &[1.0f32, 2.0], [2])?;
    /// assert_eq!(a.addcmul(&a, &a, -2.0)?.to_vec_blocking::<f32>()?, [-1.0, -6.0]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the shapes do not broadcast, the number does not fit the dtype, or the tensors are on different devices.
    pub fn addcmul(&self, a: &Self, b: &Self, value: impl Into<Scalar>) -> Result<Self, Error> {
        self.add_combined("addcmul", Composite::Addcmul, [a, b], value.into())
    }

    /// `self + value · a / b`, computed in f32 and rounded once.
    ///
    /// # Errors
    /// As [`Tensor::addcmul`]; the dtypes must promote to a float.
    pub fn addcdiv(&self, a: &Self, b: &Self, value: impl Into<Scalar>) -> Result<Self, Error> {
        must_be_float("addcdiv", value_dtype(self, a, b, Scalar::from(false)))?;
        self.add_combined("addcdiv", Composite::Addcdiv, [a, b], value.into())
    }

    fn add_combined(
        &self,
        op: &'static str,
        row: Composite,
        [a, b]: [&Self; 2],
        value: Scalar,
    ) -> Result<Self, Error> {
        let dtype = value_dtype(self, a, b, value);
        let operands = [self, a, b].map(Side::Tensor);
        if !value.fits(dtype) {
            let given = value.value();
            let rule = format!("the number must fit the dtype: {given} does not fit {dtype}");
            return Err(Error::argument(op, rule));
        }
        Self::composed(op, row, &operands, &[value.value()], dtype)?.converted(op, dtype)
    }
}

fn value_dtype(base: &Tensor, a: &Tensor, b: &Tensor, value: Scalar) -> DType {
    value.promoted_with(combined(base, a, b))
}
