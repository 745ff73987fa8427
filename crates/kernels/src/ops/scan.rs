//! Running sums, products, extremes and log-sums along an axis.
//!
//! The layout over workgroups is that of [`crate::ops::reduce`]: the lanes of a row scan a tile together and carry its total to
//! the next one. A few long rows are cut into chunks and take three passes: totals of the chunks, a scan of those, and the
//! scan of each chunk from what stands before it. Every result is a fixed tree, the same on every run.
//!
//! Invariants: among equal extremes the last position counts, NaN is more extreme than everything and stays; floats are
//! added and multiplied in f32.

use ziggurat_core::DType;
use ziggurat_pipeline::Grid;

use crate::limits::split::{halves, halving_except};
use crate::ops::reduce::geometry::{Order, ReduceGeometry};
use crate::ops::reduce::{Reduce, UserCombine};
use crate::run::checks::check_shape;
use crate::run::completion::Completion;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;

mod kernel;
mod pieces;

pub(crate) use kernel::variants;
use kernel::{Form, Pass, accesses, choice};

/// What a scan combines the elements with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scan {
    /// Sums. Floats are added in f32, integers wrap.
    Sum,
    /// Products, likewise.
    Product,
    /// `log(Σ exp(x))`, floats only.
    LogSumExp,
    /// Positions of the greatest element so far, the last of equals; i32.
    ArgMax,
    /// Positions of the least element so far, the last of equals; i32.
    ArgMin,
}

impl Scan {
    /// All scans.
    pub const ALL: [Self; 5] = [
        Self::Sum,
        Self::Product,
        Self::LogSumExp,
        Self::ArgMax,
        Self::ArgMin,
    ];

    /// The name in labels and messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sum => "cumsum",
            Self::Product => "cumprod",
            Self::LogSumExp => "logcumsumexp",
            Self::ArgMax => "cummax",
            Self::ArgMin => "cummin",
        }
    }

    /// Whether `input` may be scanned into `output`.
    #[must_use]
    pub const fn accepts(self, input: DType, output: DType) -> bool {
        match self {
            Self::Sum | Self::Product => Reduce::Sum.accepts(input, output),
            Self::LogSumExp => input.is_float() && Reduce::Sum.accepts(input, output),
            Self::ArgMax | Self::ArgMin => matches!(output, DType::I32),
        }
    }

    const fn is_extreme(self) -> bool {
        matches!(self, Self::ArgMax | Self::ArgMin)
    }

    /// Words of an accumulator.
    const fn words(self) -> u32 {
        if self.is_extreme() { 2 } else { 1 }
    }
}

/// A scan as it is called: a built-in one, or a user's own combination.
///
/// ```
/// use ziggurat_kernels::{Scan, ScanOp};
///
/// assert_eq!(ScanOp::from(Scan::Sum).name(), "cumsum");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScanOp {
    /// One of the table.
    Known(Scan),
    /// By a user's function.
    User {
        /// What combines.
        op: UserCombine,
        /// The bits of the number that changes nothing that it is combined with; without a meaning where the text says its own.
        identity: u32,
    },
}

impl From<Scan> for ScanOp {
    fn from(op: Scan) -> Self {
        Self::Known(op)
    }
}

impl ScanOp {
    /// The name in labels and messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Known(op) => op.name(),
            Self::User { op, .. } => op.name(),
        }
    }

    /// Words of an accumulator.
    const fn words(self) -> u32 {
        match self {
            Self::Known(op) => op.words(),
            Self::User { op, .. } => op.words(),
        }
    }

    /// The parameter `identity` of its kernels, for elements of which the first has this position.
    const fn identity(self, first: u32) -> u32 {
        match self {
            Self::Known(_) => first,
            Self::User { identity, .. } => identity,
        }
    }

    fn check(self, input: DType, output: DType) -> Result<(), KernelError> {
        let op = match self {
            Self::Known(op) => op,
            Self::User { op, .. } => return op.check(input, output),
        };
        if op.accepts(input, output) {
            return Ok(());
        }
        let (operand, rule, got) = if op == Scan::LogSumExp && !input.is_float() {
            ("a", "it must be a float", input)
        } else if op.is_extreme() {
            ("out", "positions are i32", output)
        } else {
            let rule = "it must be the input's dtype or a wider one";
            ("out", rule, output)
        };
        Err(KernelError::dtype(op.name(), operand, rule, got))
    }
}

/// From which end a scan goes, and whether an element is part of its own result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ScanOptions {
    /// Leave each element out of its own result: the first result is that of nothing.
    pub exclusive: bool,
    /// Go from the far end of the axis.
    pub reverse: bool,
}

impl Executor {
    /// Scans `a` along `axis` into `out`, which has its shape. A rank-0 tensor has one row of one element (axis 0).
    ///
    /// # Errors
    /// [`KernelError::Dtype`] where [`Scan::accepts`] says no, or for other types than a user's function has; [`KernelError::Shape`] for an axis that `a` does not have;
    /// [`KernelError::Output`] for another shape; [`KernelError::Option`] for exclusive positions, of which the first
    /// would be none.
    pub fn scan(
        &self,
        op: impl Into<ScanOp>,
        a: &View,
        axis: usize,
        options: ScanOptions,
        out: &View,
    ) -> Result<Completion, KernelError> {
        let op = op.into();
        let name = op.name();
        op.check(a.dtype, out.dtype)?;
        if matches!(op, ScanOp::Known(op) if op.is_extreme()) && options.exclusive {
            return Err(KernelError::option(
                name,
                "exclusive",
                "is not possible for positions",
                1,
            ));
        }
        if axis >= a.rank().max(1) {
            return Err(KernelError::axis(name, axis, a.rank()));
        }
        check_shape(name, out, a.shape())?;
        let _geometry = ReduceGeometry::new(name, &a.layout, &[axis], Order::RowMajor)?;
        if a.is_empty() {
            return Ok(self.completion());
        }
        let form = Form {
            op,
            input: a.dtype,
            output: out.dtype,
            options,
        };
        self.with_dense_out(name, out, &[a], |out| self.scan_rows(form, a, axis, out))?;
        Ok(self.completion())
    }

    /// Scans into a dense output, some rows after the others where all exceed a binding.
    fn scan_rows(&self, form: Form, a: &View, axis: usize, out: &View) -> Result<(), KernelError> {
        let name = form.op.name();
        if self.exceeds_binding(&[a, out])
            && let Some((cut, at)) = halving_except(&out.layout, axis)
        {
            let (a, out) = (halves(name, a, cut, at)?, halves(name, out, cut, at)?);
            for (a, out) in a.iter().zip(&out) {
                self.with_dense_out(name, out, &[], |out| self.scan_rows(form, a, axis, out))?;
            }
            return Ok(());
        }
        // No other axis is left to be halved: this is one row.
        let is_sparse = self.exceeds_binding(&[a]);
        if is_sparse && self.exceeds_dense(a) || self.exceeds_binding(&[out]) {
            return self.scan_pieces(form, a, axis, out);
        }
        let dense = is_sparse.then(|| self.to_dense(name, a));
        let dense = dense.transpose()?;
        let a = dense.as_ref().unwrap_or(a);
        let geometry = ReduceGeometry::new(name, &a.layout, &[axis], Order::RowMajor)?;
        let inner: usize = a.dims().iter().skip(axis + 1).product();
        self.scan_geometry(form, a, &geometry, inner as u64, out)
    }

    fn scan_geometry(
        &self,
        form: Form,
        a: &View,
        geometry: &ReduceGeometry,
        inner: u64,
        out: &View,
    ) -> Result<(), KernelError> {
        let name = form.op.name();
        let lanes = self.scan_lanes(geometry);
        if lanes.chunks == 1 {
            let (read, write) = (self.bind_read(name, a)?, self.bind_write(name, out)?);
            let vec4 = accesses(geometry, inner, [read.offset, write.offset]);
            return self.launch(
                &choice(form, Pass::Whole, vec4, geometry, &lanes),
                &[read.arg, write.arg],
                &geometry.params(
                    &lanes,
                    read.offset,
                    write.offset,
                    form.op.identity(0),
                    inner,
                ),
                Grid::elements(lanes.invocations(geometry.outputs), 1),
            );
        }
        let totals = self.scan_totals(form, a, geometry, &lanes, 0)?;
        let carries = self.scan_carries(form, geometry.outputs, &totals)?;
        self.scan_chunks(form, [a, &carries, out], (geometry, &lanes, inner), 0)
    }
}
