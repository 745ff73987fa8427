//! Functions of three operands, composed of the others: they fuse into one kernel.
//!
//! Floats are computed in f32 and rounded once, also where the operands are f16 or bf16.

use ziggurat_core::DType;

use super::arithmetic::{add, div, mul, sub};
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
    /// # use ziggurat_tensor::{doc, Tensor};
    /// # let Some(device) = doc::device() else { return Ok(()) };
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
        let (start, end) = (
            self.converted(OP, DType::F32)?,
            end.converted(OP, DType::F32)?,
        );
        let way = end.sub(&start)?;
        // From whichever end is nearer, as PyTorch does.
        let result = match weight {
            Side::Scalar(weight) if weight.value() < 0.5 => start.add(way.mul(weight)?)?,
            Side::Scalar(weight) => end.sub(way.mul(1.0 - weight.value())?)?,
            Side::Tensor(weight) => {
                let weight = weight.converted(OP, DType::F32)?;
                let from_start = start.add(way.mul(&weight)?)?;
                let from_end =
                    end.sub(way.mul(sub(Scalar::from(1.0).into(), (&weight).into())?)?)?;
                weight.lt(0.5)?.where_(from_start, from_end)?
            }
        };
        result.converted(OP, dtype)
    }

    /// `self + value · a · b`. Floats are computed in f32 and rounded once, integers wrap.
    ///
    /// ```
    /// # use ziggurat_tensor::{doc, Tensor};
    /// # let Some(device) = doc::device() else { return Ok(()) };
    /// let a = Tensor::from_slice(&device, &[1.0f32, 2.0], [2])?;
    /// assert_eq!(a.addcmul(&a, &a, -2.0)?.to_vec_blocking::<f32>()?, [-1.0, -6.0]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the shapes do not broadcast, the number does not fit the dtype, or the tensors are on different devices.
    pub fn addcmul(&self, a: &Self, b: &Self, value: impl Into<Scalar>) -> Result<Self, Error> {
        self.add_combined("addcmul", a, b, value.into(), mul)
    }

    /// `self + value · a / b`, computed in f32 and rounded once.
    ///
    /// # Errors
    /// As [`Tensor::addcmul`]; the dtypes must promote to a float.
    pub fn addcdiv(&self, a: &Self, b: &Self, value: impl Into<Scalar>) -> Result<Self, Error> {
        must_be_float("addcdiv", value_dtype(self, a, b, Scalar::from(false)))?;
        self.add_combined("addcdiv", a, b, value.into(), div)
    }

    fn add_combined(
        &self,
        op: &'static str,
        a: &Self,
        b: &Self,
        value: Scalar,
        combine: fn(Side<'_>, Side<'_>) -> Result<Self, Error>,
    ) -> Result<Self, Error> {
        let dtype = value_dtype(self, a, b, value);
        let wide = if dtype.is_float() { DType::F32 } else { dtype };
        let of = |tensor: &Self| tensor.converted(op, wide);
        let (base, a, b) = (of(self)?, of(a)?, of(b)?);
        let scaled = if value.value() == 1.0 {
            a
        } else {
            a.mul(value)?
        };
        let sum = add(
            (&base).into(),
            (&combine((&scaled).into(), (&b).into())?).into(),
        )?;
        sum.converted(op, dtype)
    }
}

fn value_dtype(base: &Tensor, a: &Tensor, b: &Tensor, value: Scalar) -> DType {
    value.beside(combined(base, a, b))
}
