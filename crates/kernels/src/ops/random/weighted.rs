//! Random choices by probabilities and weights.

use ziggurat_core::{DType, Shape};

use crate::compose::assemble::narrow;
use crate::compose::composite::Formula;
use crate::fused::{Expression, FusedOp};
use crate::ops::elementwise::binary::Binary;
use crate::ops::elementwise::compare::Compare;
use crate::ops::elementwise::unary::Unary;
use crate::ops::random::{Random, RandomState};
use crate::ops::scan::{Scan, ScanOptions};
use crate::run::checks::{check_dtype, check_shape};
use crate::run::completion::Completion;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;

impl Executor {
    /// 1 with the probability that each element says, else 0, in the dtype of `out`. Uses as many numbers as there are
    /// elements.
    ///
    /// # Errors
    /// [`KernelError::Dtype`] if the probabilities are no floats; [`KernelError::Output`].
    pub fn bernoulli(
        &self,
        probabilities: &View,
        state: RandomState,
        out: &View,
    ) -> Result<Completion, KernelError> {
        const OP: &str = "bernoulli";
        let dtype = probabilities.dtype;
        check_dtype(
            OP,
            "probabilities",
            dtype,
            dtype.is_float(),
            "they must be floats",
        )?;
        check_shape(OP, out, probabilities.shape())?;
        let uniform = self.alloc(out.shape(), DType::F32)?;
        let _drawn = self.random(Random::Uniform, state, &uniform)?;
        let mut e = Expression::new();
        let (uniform, p) = (e.input(uniform), e.input(probabilities.clone()));
        let p = e.op(FusedOp::Cast(DType::F32), &[p])?;
        let hit = e.op(FusedOp::Compare(Compare::Lt), &[uniform, p])?;
        self.written(e, hit, out)
    }

    /// Indices into the last axis of `weights`, each drawn with a probability in proportion to its weight, which must not
    /// be negative: as many per row as `out` (i32) has. Without replacement no index occurs twice in a row, and those of
    /// weight 0 come last.
    ///
    /// With replacement it uses as many numbers as are drawn, without as many as there are weights.
    ///
    /// # Errors
    /// [`KernelError::Dtype`] unless the weights are floats and `out` is i32; [`KernelError::Operands`] unless both have a
    /// last axis and agree in the others; [`KernelError::Operand`] if there are no weights, or fewer than are drawn without
    /// replacement.
    pub fn multinomial(
        &self,
        weights: &View,
        replacement: bool,
        state: RandomState,
        out: &View,
    ) -> Result<Completion, KernelError> {
        const OP: &str = "multinomial";
        let dtype = weights.dtype;
        check_dtype(
            OP,
            "weights",
            dtype,
            dtype.is_float(),
            "they must be floats",
        )?;
        check_dtype(
            OP,
            "out",
            out.dtype,
            out.dtype == DType::I32,
            "indices are i32",
        )?;
        let rows = |view: &View| {
            view.dims()
                .split_last()
                .map(|(&n, rows)| (n, rows.to_vec()))
        };
        let ((choices, outer), n) = match (rows(weights), rows(out)) {
            (Some(given), Some((n, outer))) if given.1 == outer => (given, n),
            _ => {
                return Err(KernelError::operands(
                    OP,
                    "weights and output must have a last axis and agree in the others",
                    *weights.shape(),
                    *out.shape(),
                ));
            }
        };
        if choices == 0 || (!replacement && n > choices) {
            return Err(KernelError::operand(
                OP,
                "weights",
                "must have something to draw on the last axis, without replacement as much as is drawn",
                *weights.shape(),
            ));
        }
        if out.is_empty() {
            return Ok(self.completion());
        }
        let axis = outer.len();
        if !replacement {
            return self.earliest(OP, weights, axis, state, out);
        }
        let own = self.converted(weights, DType::F32)?;
        let sums = self.alloc(weights.shape(), DType::F32)?;
        let _scanned = self.scan(Scan::Sum, &own, axis, ScanOptions::default(), &sums)?;
        let uniform = self.alloc(out.shape(), DType::F32)?;
        let _drawn = self.random(Random::Uniform, state, &uniform)?;
        let mut e = Expression::new();
        let share = e.input(uniform);
        let total = e.input(narrow(OP, &sums, axis, choices - 1, 1)?);
        let wanted = e.op(FusedOp::Binary(Binary::Mul), &[share, total])?;
        let wanted = self.computed(&e, wanted, out.shape())?;
        let places = self.alloc(out.shape(), DType::I32)?;
        let _found = self.search_sorted(&sums, &wanted, true, &places)?;
        let mut e = Expression::new();
        let place = e.input(places);
        let value = Formula(&mut e).with(Binary::Minimum, &place, choices as f64 - 1.0)?;
        self.written(e, value, out)
    }

    /// Where the earliest of exponential waiting times stand.
    fn earliest(
        &self,
        op: &'static str,
        weights: &View,
        axis: usize,
        state: RandomState,
        out: &View,
    ) -> Result<Completion, KernelError> {
        let shape: &Shape = weights.shape();
        let uniform = self.alloc(shape, DType::F32)?;
        let _drawn = self.random(Random::Uniform, state, &uniform)?;
        let mut e = Expression::new();
        let (uniform, weight) = (e.input(uniform), e.input(weights.clone()));
        let weight = e.op(FusedOp::Cast(DType::F32), &[weight])?;
        let mut f = Formula(&mut e);
        let time = f.less(1.0, &uniform)?;
        let time = f.one(Unary::Log, &time)?;
        let time = f.one(Unary::Neg, &time)?;
        let time = f.two(Binary::Div, &time, &weight)?;
        let times = self.computed(&e, time, shape)?;
        let order = self.alloc(shape, DType::I32)?;
        let _sorted = self.argsort(&times, axis, false, &order)?;
        let n = out.dims().get(axis).copied().unwrap_or(0);
        self.copy(&narrow(op, &order, axis, 0, n)?, out)
    }
}
