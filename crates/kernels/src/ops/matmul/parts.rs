//! Products of matrices that one binding cannot hold: by batches, rows and columns, and where a row alone is too long, as
//! a sum of products of its halves.

use super::OP;
use super::precision::MatmulPrecision;
use crate::compose::assemble::narrow;
use crate::fused::{Expression, FusedOp};
use crate::limits::split::Joint;
use crate::limits::split::middle;
use crate::ops::elementwise::binary::Binary;
use crate::run::call::Sink;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;

/// Rows, columns and every batch axis of `[a, b, out]`, counted from the last axis.
fn joints(a: &View, b: &View, out: &View) -> Vec<Joint<3>> {
    let (m, n) = (out.rank().checked_sub(2), out.rank().checked_sub(1));
    let mut all = vec![
        [a.rank().checked_sub(2), None, m],
        [None, b.rank().checked_sub(1), n],
    ];
    for back in 3..=out.rank() {
        let own = |view: &View| {
            let axis = view.rank().checked_sub(back)?;
            view.dims()
                .get(axis)
                .is_some_and(|&dim| dim > 1)
                .then_some(axis)
        };
        let axis = out.rank() - back;
        all.push([own(a), own(b), Some(axis)]);
    }
    all
}

impl Executor {
    /// Multiplies in parts, the operands being too large to be bound; whether there were any.
    pub(super) fn multiply_parts(
        &self,
        a: &View,
        b: &View,
        out: &View,
        precision: MatmulPrecision,
    ) -> Result<bool, KernelError> {
        let each = &mut |[a, b, out]: &[View; 3]| {
            self.multiply([a, b], Sink::new(out), precision).map(drop)
        };
        if self.split(OP, [a, b, out], 1, || joints(a, b, out), each)? {
            return Ok(true);
        }
        let depth = a.dims().last().copied().unwrap_or(0);
        if depth < 2 || !self.exceeds_binding(&[a, b]) {
            return Ok(false);
        }
        // Both halves in the dtype that sums are kept in, rounded once.
        let (row, column) = (a.rank().saturating_sub(1), b.rank().saturating_sub(2));
        let mut e = Expression::new();
        let mut sums = Vec::with_capacity(2);
        let at = middle(depth);
        for (start, len) in [(0, at), (at, depth - at)] {
            let (a, b) = (
                narrow(OP, a, row, start, len)?,
                narrow(OP, b, column, start, len)?,
            );
            let sum = self.alloc(out.shape(), a.dtype.compute())?;
            let _multiplied = self.multiply([&a, &b], Sink::new(&sum), precision)?;
            sums.push(e.input(sum));
        }
        let sum = e.op(FusedOp::Binary(Binary::Add), &sums)?;
        let _added = self.written(e, sum, out)?;
        Ok(true)
    }
}
