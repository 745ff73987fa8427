//! Unpooling: elements back to where they were the maxima.
//!
//! Zeros, and a scatter along the flattened plane of each channel: indices count there, row-major, as those of
//! [`Executor::max_pool_indices`] do.

use ziggurat_core::{DType, Shape};

use crate::ops::index::Scatter;
use crate::run::completion::Completion;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;

const OP: &str = "max_unpool";

impl Executor {
    /// Writes the elements of `x` `[n, c, ..]` to the places that `indices` (i32, the shape of `x`) name in the planes of
    /// `out` `[n, c, ..]`, and zeros elsewhere. Of several elements at one place any one stays; an index outside is taken for
    /// the nearest end.
    ///
    /// # Errors
    /// [`KernelError::Dtype`] unless the indices are i32 and `out` has the dtype of `x`; [`KernelError::Operands`] unless
    /// `x` and the indices have one shape of rank 3 to 5 that agrees with `out` in rank, batch and channels;
    /// [`KernelError::Operand`] if there is an element but no place.
    pub fn max_unpool(
        &self,
        x: &View,
        indices: &View,
        out: &View,
    ) -> Result<Completion, KernelError> {
        let dtype = |operand, rule, got| KernelError::dtype(OP, operand, rule, got);
        if indices.dtype != DType::I32 {
            return Err(dtype("indices", "indices are i32", indices.dtype));
        }
        if out.dtype != x.dtype {
            return Err(dtype("out", "it must have the dtype of x", out.dtype));
        }
        let operands =
            |rule, right: &View| KernelError::operands(OP, rule, *x.shape(), *right.shape());
        if x.shape() != indices.shape() {
            return Err(operands("the indices must have the shape of x", indices));
        }
        let fits = (3..=5).contains(&x.rank()) && out.rank() == x.rank();
        if !fits || out.dims().get(..2) != x.dims().get(..2) {
            let rule = "x and the output must be [n, c, ..] with one to three spatial axes";
            return Err(operands(rule, out));
        }
        if out.is_empty() && !x.is_empty() {
            return Err(KernelError::operand(
                OP,
                "out",
                "must have room for the elements of x",
                *out.shape(),
            ));
        }
        x.check()?;
        indices.check()?;
        self.with_dense_out(OP, out, &[x, indices], |out| {
            let _cleared = self.fill(out, 0.0)?;
            if !x.is_empty() {
                let (x, indices) = (self.planes(x)?, self.planes(indices)?);
                let _moved = self.scatter(Scatter::Set, &x, 1, &indices, &self.planes(out)?)?;
            }
            Ok(())
        })?;
        Ok(self.completion())
    }

    /// `[n, c, ..]` as a row per channel; copied where strides do not express that.
    fn planes(&self, view: &View) -> Result<View, KernelError> {
        let channels: usize = view.dims().iter().take(2).product();
        let plane: usize = view.dims().iter().skip(2).product();
        let rows = Shape::new([channels, plane]).map_err(KernelError::shape(OP))?;
        self.reshaped(OP, view, rows)
    }
}
