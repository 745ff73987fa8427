//! Softmax of rows that one binding cannot hold: by a reduction to the greatest element, one to the sum, and elementwise
//! kernels, all of which run on parts.

use ziggurat_core::{DType, Shape};

use super::SoftmaxKind;
use crate::fused::{Expression, FusedOp};
use crate::ops::elementwise::binary::Binary;
use crate::ops::elementwise::unary::Unary;
use crate::ops::reduce::Reduce;
use crate::run::completion::Completion;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;

impl Executor {
    pub(super) fn softmax_of_long_row(
        &self,
        kind: SoftmaxKind,
        a: &View,
        axis: usize,
        out: &View,
    ) -> Result<Completion, KernelError> {
        let mut dims = a.dims().to_vec();
        if let Some(dim) = dims.get_mut(axis) {
            *dim = 1;
        }
        let per_row = Shape::new(&dims).map_err(KernelError::shape(kind.name()))?;
        let greatest = self.alloc(&per_row, a.dtype)?;
        let _greatest = self.reduce(Reduce::Max, a, &[axis], &greatest)?;

        let mut e = Expression::new();
        let (x, top) = (e.input(a.clone()), e.input(greatest.clone()));
        let [x, top] = [x, top].map(|value| e.op(FusedOp::Cast(DType::F32), &[value]));
        let below = e.op(FusedOp::Binary(Binary::Sub), &[x?, top?])?;
        let below = self.computed(&e, below, a.shape())?;

        let mut e = Expression::new();
        let exponent = e.input(below.clone());
        let weight = e.op(FusedOp::Unary(Unary::Exp), &[exponent])?;
        let weights = self.computed(&e, weight, a.shape())?;
        let sum = self.alloc(&per_row, DType::F32)?;
        let _sum = self.reduce(Reduce::Sum, &weights, &[axis], &sum)?;

        let mut e = Expression::new();
        let sum = e.input(sum);
        let result = match kind {
            SoftmaxKind::Softmax => {
                let weight = e.input(weights);
                e.op(FusedOp::Binary(Binary::Div), &[weight, sum])?
            }
            SoftmaxKind::LogSoftmax => {
                let below = e.input(below);
                let logarithm = e.op(FusedOp::Unary(Unary::Log), &[sum])?;
                e.op(FusedOp::Binary(Binary::Sub), &[below, logarithm])?
            }
        };
        self.written(e, result, out)
    }
}
