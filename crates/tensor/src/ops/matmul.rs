//! Matrix products.

use ziggurat_core::{DType, Shape};
use ziggurat_kernels::{Call, CallKind};

use super::arithmetic::broadcast;
use crate::tensor::new_shape;
use crate::{Error, Tensor};

impl Tensor {
    /// The matrix product by NumPy's rules: the last two axes are matrices, those before broadcast; a rank-1 left operand
    /// is a row, a rank-1 right operand a column, and that axis is missing in the result.
    ///
    /// ```
    /// use ziggurat_tensor::{DType, Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::from_slice(&device, &[1.0f32, 2.0, 3.0, 4.0], [2, 2])?;
    /// let v = Tensor::from_slice(&device, &[1.0f32, -1.0], [2])?;
    /// assert_eq!(a.matmul(&v)?.to_vec_blocking::<f32>()?, [-1.0, -1.0]);
    /// assert!(a.matmul(&Tensor::ones(&device, [3], DType::F32)?).is_err_and(|error| error.is_shape()));
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the inner extents differ, the batches do not broadcast, an operand has rank 0, or the dtype is bool.
    pub fn matmul(&self, other: &Self) -> Result<Self, Error> {
        self.product("matmul", other, None)
    }

    /// [`Tensor::matmul`] written as `dtype`, which is the operands' own or the one that sums are kept in: f32 for floats, i32
    /// for i8, u32 for u8. Products of f16 that overflow f16, or of bytes that overflow a byte, keep their value.
    ///
    /// ```
    /// use ziggurat_tensor::{DType, Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::from_slice(&device, &[100i8, 100], [1, 2])?;
    /// assert_eq!(a.matmul_to(&a.t()?, DType::I32)?.to_vec_blocking::<i32>()?, [20_000]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::matmul`], or for another `dtype`.
    pub fn matmul_to(&self, other: &Self, dtype: DType) -> Result<Self, Error> {
        self.product("matmul_to", other, Some(dtype))
    }

    /// The product on behalf of `op`; written in the promoted dtype if no other is asked for.
    pub(super) fn product(
        &self,
        op: &'static str,
        other: &Self,
        written: Option<DType>,
    ) -> Result<Self, Error> {
        self.same_device(op, other)?;
        if self.rank() == 0 || other.rank() == 0 {
            return Err(self.mismatch(op, "both operands must have rank 1 or more", other));
        }
        let dtype = self.dtype().promote(other.dtype());
        if dtype.is_bool() {
            return Err(Error::dtype(
                op,
                "bool has no products: convert to a number type first",
            ));
        }
        let written = written.unwrap_or(dtype);
        if written != dtype && written != dtype.compute() {
            return Err(Error::dtype(
                op,
                format!(
                    "products of {dtype} are written as {dtype} or {}: {written} asked for",
                    dtype.compute()
                ),
            ));
        }
        let row = self.rank() == 1;
        let column = other.rank() == 1;
        let (as_row, as_column);
        let left = if row {
            as_row = self.unsqueeze(0)?;
            &as_row
        } else {
            self
        };
        let right = if column {
            as_column = other.unsqueeze(1)?;
            &as_column
        } else {
            other
        };
        let (batch_left, [m, k]) = matrices(left.dims());
        let (batch_right, [inner, n]) = matrices(right.dims());
        if k != inner {
            return Err(self.mismatch(op, "inner dimensions differ", other));
        }
        let shape: Shape = if batch_left.is_empty() && batch_right.is_empty() {
            new_shape(op, &[m, n])?
        } else {
            let batches = [new_shape(op, batch_left)?, new_shape(op, batch_right)?];
            let batch = broadcast(op, &batches)
                .map_err(|_| self.mismatch(op, "batch dimensions do not broadcast", other))?;
            new_shape(op, &[batch.dims(), &[m, n]].concat())?
        };
        // Kernels read floats of both dtypes as they are stored: a weight of f16 is not copied for inputs of f32.
        let is_ready = |t: &Self| t.dtype().is_float() && dtype.is_float();
        let (converted_left, converted_right);
        let left = if is_ready(left) {
            left
        } else {
            converted_left = left.converted(op, dtype)?;
            &converted_left
        };
        let right = if is_ready(right) {
            right
        } else {
            converted_right = right.converted(op, dtype)?;
            &converted_right
        };
        let precision = self.device().matmul_precision();
        let (call, made) = (Call::new(CallKind::Matmul { precision }), (shape, written));
        let mut product = left.produce_call(op, made, call, &[right], None)?;
        if column {
            product = product.squeeze_axis(-1)?;
        }
        if row {
            product = product.squeeze_axis(if column { -1 } else { -2 })?;
        }
        Ok(product)
    }

    /// `self · weightᵀ + bias`, a dense layer: `self` is `[.., in]`, `weight` `[out, in]`, `bias` `[out]`. f16 and bf16 are
    /// rounded once, behind the sum.
    ///
    /// # Errors
    /// As [`Tensor::matmul`], or if the weight has not rank 2 or the bias does not broadcast.
    pub fn linear(&self, weight: &Self, bias: Option<&Self>) -> Result<Self, Error> {
        if weight.rank() != 2 {
            return Err(Error::shape(
                "linear",
                format!("the weight must be [out, in]: it is {}", weight.shape()),
            ));
        }
        if self.dims().last() != weight.dims().last() {
            return Err(self.mismatch(
                "linear",
                "input and weight differ in the last dimension",
                weight,
            ));
        }
        self.scaled_product("linear", &weight.t()?, bias, [1.0, 1.0])
    }

    pub(super) fn mismatch(&self, op: &'static str, rule: &str, other: &Self) -> Error {
        Error::shape(
            op,
            format!(
                "{rule}: left is {}, right is {}",
                self.shape(),
                other.shape()
            ),
        )
    }
}

/// The batch dimensions and the two of the matrices; a rank below 2 has been raised before.
fn matrices(dims: &[usize]) -> (&[usize], [usize; 2]) {
    match dims {
        [batch @ .., rows, cols] => (batch, [*rows, *cols]),
        _ => (&[], [1, 1]),
    }
}
