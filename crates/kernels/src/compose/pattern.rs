//! Triangles, one-hot vectors and even spacing: formulas of places, one kernel each.

use ziggurat_core::{DType, Shape};

use crate::compose::assemble::{along, check_axis, check_dtype, check_shape, unsqueeze, without};
use crate::compose::composite::formulas::{self, Triangle};
use crate::fused::Expression;
use crate::run::completion::Completion;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;

impl Executor {
    /// The lower triangle of the last two axes, up to the `k`-th diagonal; zeros above.
    ///
    /// # Errors
    /// [`KernelError::Operand`] if `a` has fewer than two axes; [`KernelError::Output`], [`KernelError::Dtype`] if `out` is
    /// not like `a`.
    pub fn tril(&self, a: &View, k: i64, out: &View) -> Result<Completion, KernelError> {
        self.triangle("tril", a, Triangle::Lower, k, out)
    }

    /// The upper triangle of the last two axes, from the `k`-th diagonal on; zeros below.
    ///
    /// # Errors
    /// As [`Executor::tril`].
    pub fn triu(&self, a: &View, k: i64, out: &View) -> Result<Completion, KernelError> {
        self.triangle("triu", a, Triangle::Upper, k, out)
    }

    fn triangle(
        &self,
        op: &'static str,
        a: &View,
        side: Triangle,
        k: i64,
        out: &View,
    ) -> Result<Completion, KernelError> {
        let &[.., rows, columns] = a.dims() else {
            return Err(KernelError::Operand {
                op,
                operand: "a",
                rule: "must have two axes",
                got: Box::new(*a.shape()),
            });
        };
        let rule = "it must have the dtype of a";
        check_dtype(op, "out", out.dtype, out.dtype == a.dtype, rule)?;
        check_shape(op, out, a.shape())?;
        if a.is_empty() {
            return Ok(self.completion());
        }
        let mut e = Expression::new();
        let x = e.input(a.clone());
        let row = e.input(unsqueeze(op, &self.counting(op, 0.0, rows)?, 1)?);
        let column = e.input(self.counting(op, 0.0, columns)?);
        let value = formulas::triangle(&mut e, &x, [&row, &column], side, k)?;
        self.written(e, value, out)
    }

    /// `on` at the place along `axis` of `out` that the index names, `off` elsewhere. Negative indices count from the end;
    /// an index outside gives `off` everywhere. `out` has an axis more than the indices, of any extent.
    ///
    /// # Errors
    /// [`KernelError::Dtype`] unless the indices are integers; [`KernelError::Shape`] for an axis that `out` does not have;
    /// [`KernelError::Output`] if `out` without it has not the shape of the indices; [`KernelError::IndexTooLarge`] for an
    /// extent of 2³¹ or more.
    pub fn one_hot(
        &self,
        indices: &View,
        axis: usize,
        (on, off): (f64, f64),
        out: &View,
    ) -> Result<Completion, KernelError> {
        const OP: &str = "one_hot";
        let dtype = indices.dtype;
        check_dtype(OP, "indices", dtype, dtype.is_int(), "indices are integers")?;
        let depth = check_axis(OP, out, axis)?;
        if without(OP, out.shape(), axis)? != *indices.shape() {
            let mut dims = indices.dims().to_vec();
            dims.insert(axis.min(dims.len()), depth);
            let expected = Shape::new(&dims).map_err(KernelError::shape(OP))?;
            check_shape(OP, out, &expected)?;
        }
        let depth = u32::try_from(depth)
            .ok()
            .filter(|&depth| i32::try_from(depth).is_ok())
            .ok_or(KernelError::IndexTooLarge {
                op: OP,
                elements: depth as u64,
                limit: i32::MAX as u64,
            })?;
        if out.is_empty() {
            return Ok(self.completion());
        }
        let places = self.counting(OP, 0.0, depth as usize)?;
        let mut e = Expression::new();
        let index = e.input(unsqueeze(OP, indices, axis)?);
        let place = e.input(along(OP, &places, axis, out.rank())?);
        let value = formulas::one_hot(&mut e, [&index, &place], depth, [on, off], out.dtype)?;
        self.fused(&e, out.shape(), &[(value, out.clone())])
    }

    /// As many f32 numbers as `out` has elements, evenly spaced from `start` to `end`, both exact; one is `start`.
    ///
    /// # Errors
    /// [`KernelError::Number`] unless the bounds are finite; [`KernelError::Dtype`] if `out` is no float.
    pub fn linspace(&self, start: f32, end: f32, out: &View) -> Result<Completion, KernelError> {
        const OP: &str = "linspace";
        for (number, got) in [("start", start), ("end", end)] {
            if !got.is_finite() {
                return Err(KernelError::Number {
                    op: OP,
                    number,
                    rule: "must be finite",
                    got: f64::from(got),
                });
            }
        }
        check_dtype(
            OP,
            "out",
            out.dtype,
            out.dtype.is_float(),
            "it must be a float",
        )?;
        if out.len() < 2 {
            return self.fill(out, f64::from(start));
        }
        let places = self.alloc(out.shape(), DType::F32)?;
        let _counted = self.arange(&places, 0.0, 1.0)?;
        let mut e = Expression::new();
        let place = e.input(places);
        let bounds = [f64::from(start), f64::from(end)];
        let value = formulas::linspace(&mut e, &place, bounds, out.len())?;
        self.written(e, value, out)
    }
}
