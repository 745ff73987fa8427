//! Places of values in sorted rows, by bisection of their keys.

use ziggurat_core::DType;
use ziggurat_pipeline::Grid;

use super::keyed;
use crate::compose::assemble::narrow;
use crate::fused::{Expression, FusedOp};
use crate::limits::split::middle;
use crate::ops::elementwise::binary::Binary;
use crate::ops::elementwise::dispatch::count;
use crate::run::checks::{check_dtype, check_shape};
use crate::run::completion::Completion;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;
use crate::source::candidate::Candidate;
use crate::source::choice::KernelChoice;
use crate::source::params::{Params, params};

const OP: &str = "searchsorted";

params! {
    /// Parameters of the search in sorted rows.
    pub(crate) struct SearchParams {
        len: u32,
        sorted: u32,
        values: u32,
        step: u32,
        offset_a: u32,
        offset_b: u32,
        offset_out: u32,
    }
}

fn search(dtype: DType, right: bool) -> KernelChoice {
    keyed(KernelChoice::new(OP).name(dtype.name()), dtype)
        .part("sort/search.wgsl")
        .constant("RIGHT", u8::from(right))
}

pub(super) fn variant(dtype: DType) -> Candidate {
    Candidate::new(search(dtype, true), SearchParams::FIELDS)
}

impl Executor {
    /// For every value of `b` how many elements of the sorted rows of `a` stand before it: those less, with `right` also
    /// those equal; i32. `a` is one row of rank 1, or has a row per row of `b`.
    ///
    /// # Errors
    /// [`KernelError::Dtype`] unless `a` and `b` agree and `out` is i32; [`KernelError::Operands`] if the leading axes
    /// differ; [`KernelError::Output`] unless `out` has the shape of `b`.
    pub fn search_sorted(
        &self,
        a: &View,
        b: &View,
        right: bool,
        out: &View,
    ) -> Result<Completion, KernelError> {
        let op = OP;
        let rule = "it must have the dtype of a";
        check_dtype(op, "b", b.dtype, b.dtype == a.dtype, rule)?;
        let rule = "positions are i32";
        check_dtype(op, "out", out.dtype, out.dtype == DType::I32, rule)?;
        let (sorted, outer) = a.dims().split_last().unwrap_or((&1, &[]));
        let (values, rows) = b.dims().split_last().unwrap_or((&1, &[]));
        if a.rank() == 0 || (a.rank() > 1 && outer != rows) {
            return Err(KernelError::operands(
                op,
                "the sorted rows must be one vector or have the leading axes of the values",
                *a.shape(),
                *b.shape(),
            ));
        }
        check_shape(op, out, b.shape())?;
        if b.is_empty() {
            return Ok(self.completion());
        }
        let joints = || {
            let all = (0..b.rank()).rev();
            let rows = a.rank() > 1;
            all.map(|axis| {
                let own = rows && axis + 1 < b.rank();
                [own.then_some(axis), Some(axis), Some(axis)]
            })
            .collect()
        };
        let each = &mut |[a, b, out]: &[View; 3]| {
            let part = self.search_sorted(a, b, right, out);
            part.map(drop)
        };
        if self.split(op, [a, b, out], 1, joints, each)? {
            return Ok(self.completion());
        }
        if self.exceeds_binding(&[a]) && *sorted > 1 {
            return self.search_halves(a, b, right, out);
        }
        let dense = |view: &View| match view.layout.is_contiguous() {
            true => Ok(view.clone()),
            false => self.to_dense(op, view),
        };
        let (a, b) = (dense(a)?, dense(b)?);
        let sorted = count(op, *sorted)?;
        let params = SearchParams {
            len: count(op, b.len())?,
            sorted,
            values: count(op, (*values).max(1))?,
            step: if a.rank() > 1 { sorted } else { 0 },
            ..SearchParams::default()
        };
        self.with_dense_out(op, out, &[&a, &b], |out| {
            let (rows, wanted) = (self.bind_read(op, &a)?, self.bind_read(op, &b)?);
            let write = self.bind_write(op, out)?;
            let params = SearchParams {
                offset_a: rows.offset,
                offset_b: wanted.offset,
                offset_out: write.offset,
                ..params
            };
            self.launch(
                &search(a.dtype, right),
                &[rows.arg, wanted.arg, write.arg],
                &params,
                Grid::stride(u64::from(params.len), 1),
            )
        })?;
        Ok(self.completion())
    }

    /// As [`Executor::search_sorted`], for one row that no binding can hold: the counts of its halves.
    fn search_halves(
        &self,
        a: &View,
        b: &View,
        right: bool,
        out: &View,
    ) -> Result<Completion, KernelError> {
        let op = OP;
        let axis = a.rank().saturating_sub(1);
        let len = a.dims().last().copied().unwrap_or(0);
        let at = middle(len);
        let mut e = Expression::new();
        let mut counts = Vec::with_capacity(2);
        for (start, len) in [(0, at), (at, len - at)] {
            let half = narrow(op, a, axis, start, len)?;
            let counted = self.alloc(out.shape(), DType::I32)?;
            let _counted = self.search_sorted(&half, b, right, &counted)?;
            counts.push(e.input(counted));
        }
        let sum = e.op(FusedOp::Binary(Binary::Add), &counts)?;
        self.written(e, sum, out)
    }
}
