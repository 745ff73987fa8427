//! What ops that are made of other ops have in common: values of expressions in memory, vectors, slices.

use ziggurat_core::{DType, Layout, Shape};

use crate::fused::{Expression, FusedInput, FusedOp, Id};
use crate::ops::elementwise::binary::Binary;
use crate::ops::reduce::Reduce;
use crate::run::completion::Completion;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;

/// The shape of a vector.
pub(crate) fn vector(op: &'static str, len: usize) -> Result<Shape, KernelError> {
    Shape::new([len]).map_err(KernelError::shape(op))
}

/// An axis, counted from 0.
pub(crate) fn signed(axis: usize) -> isize {
    isize::try_from(axis).unwrap_or(isize::MAX)
}

/// `len` positions of an axis from `start` on.
pub(crate) fn narrow(
    op: &'static str,
    view: &View,
    axis: usize,
    start: usize,
    len: usize,
) -> Result<View, KernelError> {
    let layout = view.layout.narrow(signed(axis), start, len);
    view.with_layout(layout.map_err(KernelError::shape(op))?)
}

/// A new axis of extent 1.
pub(crate) fn unsqueeze(op: &'static str, view: &View, axis: usize) -> Result<View, KernelError> {
    let layout = view.layout.unsqueeze(signed(axis));
    view.with_layout(layout.map_err(KernelError::shape(op))?)
}

/// Broadcast to a shape.
pub(crate) fn expand(op: &'static str, view: &View, shape: Shape) -> Result<View, KernelError> {
    let layout = view.layout.expand(shape);
    view.with_layout(layout.map_err(KernelError::shape(op))?)
}

/// A vector along one of `rank` axes.
pub(crate) fn along(
    op: &'static str,
    view: &View,
    axis: usize,
    rank: usize,
) -> Result<View, KernelError> {
    let mut view = view.clone();
    for _ in 0..axis {
        view = unsqueeze(op, &view, 0)?;
    }
    while view.rank() < rank {
        view = unsqueeze(op, &view, view.rank())?;
    }
    Ok(view)
}

impl Executor {
    /// The same elements in another shape; copied where strides do not express that.
    pub(crate) fn reshaped(
        &self,
        op: &'static str,
        view: &View,
        shape: Shape,
    ) -> Result<View, KernelError> {
        let fail = KernelError::shape(op);
        match view.layout.reshape(shape).map_err(&fail)? {
            Some(layout) => view.with_layout(layout),
            None => self
                .to_dense(op, view)?
                .with_layout(Layout::contiguous(shape)),
        }
    }

    /// All elements, row-major, as a vector; copied where strides do not express that.
    pub(crate) fn flattened(&self, op: &'static str, view: &View) -> Result<View, KernelError> {
        self.reshaped(op, view, vector(op, view.len())?)
    }

    /// A view in a dtype: itself, or a dense conversion.
    pub(crate) fn converted(&self, view: &View, dtype: DType) -> Result<View, KernelError> {
        if view.dtype == dtype {
            return Ok(view.clone());
        }
        let out = self.alloc(view.shape(), dtype)?;
        let _cast = self.cast(view, &out)?;
        Ok(out)
    }

    /// Integers as i32: those beyond its range are its greatest, so that none of them becomes negative.
    pub(crate) fn positions(&self, view: &View) -> Result<View, KernelError> {
        if view.dtype != DType::U32 {
            return self.converted(view, DType::I32);
        }
        let mut e = Expression::new();
        let x = e.input(view.clone());
        let most = e.scalar(DType::U32, f64::from(i32::MAX));
        let x = e.op(FusedOp::Binary(Binary::Minimum), &[x, most])?;
        let x = e.op(FusedOp::Cast(DType::I32), &[x])?;
        self.computed(&e, x, view.shape())
    }

    /// A vector of i32: `start`, `start + 1`, ….
    pub(crate) fn counting(
        &self,
        op: &'static str,
        start: f64,
        len: usize,
    ) -> Result<View, KernelError> {
        let out = self.alloc(&vector(op, len)?, DType::I32)?;
        let _counted = self.arange(&out, start, 1.0)?;
        Ok(out)
    }

    /// The values of an expression in memory of their own.
    pub(crate) fn computed(
        &self,
        expression: &Expression,
        value: Id,
        shape: &Shape,
    ) -> Result<View, KernelError> {
        let out = self.alloc(shape, expression.dtype(value))?;
        let _computed = self.fused(expression, shape, &[(value, out.clone())])?;
        Ok(out)
    }

    /// The values of an expression, in the dtype of `out`.
    pub(crate) fn written(
        &self,
        mut expression: Expression,
        value: Id,
        out: &View,
    ) -> Result<Completion, KernelError> {
        let value = expression.op(FusedOp::Cast(out.dtype), &[value])?;
        self.fused(&expression, out.shape(), &[(value, out.clone())])
    }

    /// A reduction of an expression's values over `axes` of `shape`; the values are in memory only where one kernel cannot
    /// do it all.
    pub(crate) fn reduce_values(
        &self,
        op: Reduce,
        input: &FusedInput<'_>,
        axes: &[usize],
        out: &View,
    ) -> Result<Completion, KernelError> {
        match self.reduce(op, input, axes, out) {
            Err(KernelError::CannotFuse(_)) => {
                let stored = self.computed(input.expression, input.value, &input.shape)?;
                self.reduce(op, &stored, axes, out)
            }
            other => other,
        }
    }
}
