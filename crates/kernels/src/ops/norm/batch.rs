//! Batch norm: with given statistics one elementwise kernel, with the batch's own one more that finds them.

use ziggurat_core::{DType, Shape, ShapeError};

use crate::compose::assemble::{
    along, check_axis, check_dtype, check_shape, narrow, signed, vector,
};
use crate::compose::composite::formulas;
use crate::fused::{Expression, Id};
use crate::run::completion::Completion;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;

/// What [`Executor::batch_norm`] multiplies with and adds: vectors of any float dtype, one number per channel.
#[derive(Clone, Copy, Debug, Default)]
pub struct ChannelAffine<'a> {
    /// Factors.
    pub weight: Option<&'a View>,
    /// What is added.
    pub bias: Option<&'a View>,
}

/// The axes that a channel's statistics run over, the channels lying along `axis`.
///
/// # Errors
/// [`KernelError::Shape`] for an axis that is not there; [`KernelError::Operand`] if there is at most one value per channel.
pub fn statistics_axes(
    op: &'static str,
    x: &Shape,
    axis: usize,
) -> Result<Vec<usize>, KernelError> {
    let rank = x.dims().len();
    let channels = x.dims().get(axis).ok_or(KernelError::Shape {
        op,
        source: ShapeError::AxisOutOfRange {
            axis: signed(axis),
            rank,
        },
    })?;
    if x.len() <= *channels {
        return Err(KernelError::Operand {
            op,
            operand: "x",
            rule: "must have more than one value per channel",
            got: Box::new(*x),
        });
    }
    Ok((0..rank).filter(|&other| other != axis).collect())
}

impl Executor {
    /// `(x − mean) / √(var + eps) · weight + bias` with given statistics per channel, the channels lying along `axis`. All
    /// may have different float dtypes; it is computed in f32 and rounded once.
    ///
    /// # Errors
    /// [`KernelError::Dtype`] for anything but floats; [`KernelError::Shape`] for an axis that `x` does not have;
    /// [`KernelError::Operands`] unless there is one number per channel; [`KernelError::Output`].
    pub fn batch_norm(
        &self,
        x: &View,
        axis: usize,
        (mean, var): (&View, &View),
        affine: &ChannelAffine<'_>,
        eps: f32,
        out: &View,
    ) -> Result<Completion, KernelError> {
        const OP: &str = "batch_norm";
        let channels = check_axis(OP, x, axis)?;
        check_shape(OP, out, x.shape())?;
        for (operand, view) in [("x", x), ("out", out)] {
            let dtype = view.dtype;
            check_dtype(OP, operand, dtype, dtype.is_float(), "it must be a float")?;
        }
        let mut e = Expression::new();
        let value = e.input(x.clone());
        let mut input = |operand: &'static str, view: &View| -> Result<Id, KernelError> {
            let dtype = view.dtype;
            check_dtype(OP, operand, dtype, dtype.is_float(), "it must be a float")?;
            if view.dims() != [channels] {
                return Err(KernelError::Operands {
                    op: OP,
                    rule: "there must be one number per channel",
                    left: Box::new(*x.shape()),
                    right: Box::new(*view.shape()),
                });
            }
            Ok(e.input(along(OP, view, axis, x.rank())?))
        };
        let statistics = [input("mean", mean)?, input("var", var)?];
        let weight = affine
            .weight
            .map(|view| input("weight", view))
            .transpose()?;
        let bias = affine.bias.map(|view| input("bias", view)).transpose()?;
        let [mean, var] = &statistics;
        let affine = [weight.as_ref(), bias.as_ref()];
        let y = formulas::batch_norm(&mut e, &value, [mean, var], affine, f64::from(eps))?;
        self.written(e, y, out)
    }

    /// [`Executor::batch_norm`] with the statistics of this batch, which are written too: the mean of each channel and its
    /// variance (not corrected), f32.
    ///
    /// # Errors
    /// As [`Executor::batch_norm`]; [`KernelError::Operand`] if there is at most one value per channel.
    pub fn batch_norm_train(
        &self,
        x: &View,
        axis: usize,
        affine: &ChannelAffine<'_>,
        eps: f32,
        (out, mean, var): (&View, &View, &View),
    ) -> Result<Completion, KernelError> {
        const OP: &str = "batch_norm_train";
        let channels = check_axis(OP, x, axis)?;
        let dtype = x.dtype;
        check_dtype(OP, "x", dtype, dtype.is_float(), "it must be a float")?;
        for (operand, view) in [("mean", mean), ("var", var)] {
            let dtype = view.dtype;
            check_dtype(
                OP,
                operand,
                dtype,
                dtype == DType::F32,
                "statistics are f32",
            )?;
            check_shape(OP, view, &vector(OP, channels)?)?;
        }
        let others = statistics_axes(OP, x.shape(), axis)?;
        let both = self.alloc(&vector(OP, 2 * channels)?, DType::F32)?;
        let _found = self.var_mean(0.0, x, &others, &both)?;
        let found = (
            narrow(OP, &both, 0, channels, channels)?,
            narrow(OP, &both, 0, 0, channels)?,
        );
        // Before the statistics are written: an output that does not fit is an error that wrote nothing.
        let done = self.batch_norm(x, axis, (&found.0, &found.1), affine, eps, out)?;
        let _mean = self.copy(&found.0, mean)?;
        let _var = self.copy(&found.1, var)?;
        drop(done);
        Ok(self.completion())
    }
}
