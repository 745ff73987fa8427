//! Matrix products.

use ziggurat_core::Shape;

use super::arithmetic::broadcast;
use crate::tensor::new_shape;
use crate::{Error, Tensor};

impl Tensor {
    /// The matrix product by NumPy's rules: the last two axes are matrices, those before broadcast; a rank-1 left operand
    /// is a row, a rank-1 right operand a column, and that axis is missing in the result.
    ///
    /// ```
    /// # use ziggurat_tensor::{doc, DType, Tensor};
    /// # let Some(device) = doc::device() else { return Ok(()) };
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
        const OP: &str = "matmul";
        self.same_device(OP, other)?;
        if self.rank() == 0 || other.rank() == 0 {
            return Err(self.mismatch(OP, "both operands must have rank 1 or more", other));
        }
        let dtype = self.dtype().promote(other.dtype());
        if dtype.is_bool() {
            return Err(Error::dtype(
                OP,
                "bool has no products: convert to a number type first",
            ));
        }
        let row = self.rank() == 1;
        let column = other.rank() == 1;
        let left = if row {
            self.unsqueeze(0)?
        } else {
            self.clone()
        };
        let right = if column {
            other.unsqueeze(1)?
        } else {
            other.clone()
        };
        let (batch_left, [m, k]) = matrices(left.dims());
        let (batch_right, [inner, n]) = matrices(right.dims());
        if k != inner {
            return Err(self.mismatch(OP, "inner dimensions differ", other));
        }
        let batch = broadcast(
            OP,
            &[new_shape(OP, batch_left)?, new_shape(OP, batch_right)?],
        )
        .map_err(|_| self.mismatch(OP, "batch dimensions do not broadcast", other))?;
        let shape: Shape = new_shape(OP, &[batch.dims(), &[m, n]].concat())?;
        let (left, right) = (left.converted(OP, dtype)?, right.converted(OP, dtype)?);
        let (left, right) = (left.view()?, right.view()?);
        let mut product = Self::produce(self.device(), OP, shape, dtype, |executor, out| {
            executor.matmul(left, right, out)
        })?;
        if column {
            product = product.squeeze_axis(-1)?;
        }
        if row {
            product = product.squeeze_axis(if column { -1 } else { -2 })?;
        }
        Ok(product)
    }

    /// `self · weightᵀ + bias`, a dense layer: `self` is `[.., in]`, `weight` `[out, in]`, `bias` `[out]`.
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
        let product = self.matmul(&weight.t()?)?;
        match bias {
            Some(bias) => product.add(bias),
            None => Ok(product),
        }
    }

    fn mismatch(&self, op: &'static str, rule: &str, other: &Self) -> Error {
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
