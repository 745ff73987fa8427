//! Norms of rows that one binding cannot hold, or of rows that cannot be split: by reductions and an elementwise
//! kernel, which run on parts.

use ziggurat_core::{DType, Layout, Shape};

use super::{Affine, Norm};
use crate::compose::assemble::narrow;
use crate::fused::{Expression, FusedOp, Id};
use crate::ops::elementwise::binary::Binary;
use crate::ops::elementwise::compare::Compare;
use crate::ops::elementwise::unary::Unary;
use crate::ops::reduce::Reduce;
use crate::run::completion::Completion;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;

impl Executor {
    /// Rows are everything behind the first `kept` axes of `a`.
    pub(super) fn normalize_long_rows(
        &self,
        op: Norm,
        a: &View,
        kept: usize,
        eps: f32,
        affine: &Affine<'_>,
        out: &View,
    ) -> Result<Completion, KernelError> {
        let name = op.name();
        let shaped = |dims: &[usize]| Shape::new(dims).map_err(KernelError::shape(name));
        let rows: usize = a.dims().iter().take(kept).product();
        let len = a.len() / rows.max(1);
        // Row o is (o / period, o % period), element r of it (r / span, r % span).
        let period = affine.channels.period.min(rows).max(1);
        let span = affine.channels.span.min(len).max(1);
        let uneven = !rows.is_multiple_of(period) || !len.is_multiple_of(span);
        let plain = affine.weight.is_none();
        let [period, span] = if uneven && plain {
            [1, 1]
        } else {
            [period, span]
        };
        if uneven && !plain {
            return Err(KernelError::option(
                name,
                "period",
                "must divide the rows, and span their length, where rows exceed a binding",
                i64::try_from(period).unwrap_or(i64::MAX),
            ));
        }
        let shape = shaped(&[rows / period, period, len / span, span])?;
        let per_row = shaped(&[rows / period, period, 1, 1])?;
        let x = self.to_dense(name, a)?;
        let x = View {
            layout: Layout::contiguous(shape),
            ..x
        };

        let mut e = Expression::new();
        let mut value = e.input(x.clone());
        value = e.op(FusedOp::Cast(DType::F32), &[value])?;
        let factor = match op {
            Norm::Layer => {
                let both = self.alloc(&shaped(&[2, rows])?, DType::F32)?;
                let _found = self.var_mean(0.0, &x, &[2, 3], &both)?;
                let part = |at| {
                    let part = narrow(name, &both, 0, at, 1)?;
                    let layout = part
                        .layout
                        .reshape(per_row)
                        .map_err(KernelError::shape(name))?;
                    part.with_layout(layout.unwrap_or(part.layout))
                };
                let (variance, mean) = (e.input(part(0)?), e.input(part(1)?));
                value = e.op(FusedOp::Binary(Binary::Sub), &[value, mean])?;
                rsqrt_of_sum(&mut e, variance, eps)?
            }
            Norm::Rms => {
                let squares = self.sum_squares_of(&x, &per_row)?;
                let (squares, count) = (e.input(squares), e.scalar(DType::F32, len as f64));
                let mean = e.op(FusedOp::Binary(Binary::Div), &[squares, count])?;
                rsqrt_of_sum(&mut e, mean, eps)?
            }
            Norm::Length => {
                let squares = e.input(self.sum_squares_of(&x, &per_row)?);
                let length = e.op(FusedOp::Unary(Unary::Sqrt), &[squares])?;
                let least = e.scalar(DType::F32, f64::from(eps));
                let short = e.op(FusedOp::Compare(Compare::Lt), &[length, least])?;
                let length = e.op(FusedOp::Where, &[short, least, length])?;
                e.op(FusedOp::Unary(Unary::Reciprocal), &[length])?
            }
        };
        value = e.op(FusedOp::Binary(Binary::Mul), &[value, factor])?;
        for (view, binary) in [(affine.weight, Binary::Mul), (affine.bias, Binary::Add)] {
            let Some(view) = view else { continue };
            let strides = [0, affine.channels.step, 1, 0].map(usize::cast_signed);
            let layout = Layout::new(shape, &strides, view.layout.offset());
            let channels = view.with_layout(layout.map_err(KernelError::shape(name))?)?;
            let channels = e.input(channels);
            let channels = e.op(FusedOp::Cast(DType::F32), &[channels])?;
            value = e.op(FusedOp::Binary(binary), &[value, channels])?;
        }
        let value = e.op(FusedOp::Cast(out.dtype), &[value])?;
        let result = self.alloc(&shape, out.dtype)?;
        let _done = self.fused(&e, &shape, &[(value, result.clone())])?;
        let result = View {
            layout: Layout::contiguous(*out.shape()),
            ..result
        };
        self.copy(&result, out)
    }

    fn sum_squares_of(&self, x: &View, per_row: &Shape) -> Result<View, KernelError> {
        let squares = self.alloc(per_row, DType::F32)?;
        let _summed = self.reduce(Reduce::SumSquares, x, &[2, 3], &squares)?;
        Ok(squares)
    }
}

/// `1 / √(value + eps)`.
fn rsqrt_of_sum(e: &mut Expression, value: Id, eps: f32) -> Result<Id, KernelError> {
    let eps = e.scalar(DType::F32, f64::from(eps));
    let sum = e.op(FusedOp::Binary(Binary::Add), &[value, eps])?;
    e.op(FusedOp::Unary(Unary::Rsqrt), &[sum])
}
