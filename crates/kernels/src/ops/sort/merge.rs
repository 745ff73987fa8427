//! Rows that are too long to be sorted at once: halves are sorted, and each element goes behind those before it in its own
//! half and in the other.

use ziggurat_core::{DType, Layout};

use super::OP;
use crate::compose::assemble::{narrow, vector};
use crate::fused::{Expression, FusedOp};
use crate::limits::split::middle;
use crate::ops::elementwise::binary::Binary;
use crate::ops::index::Scatter;
use crate::run::completion::Completion;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;

/// A sorted half: its values, where they stood in the row, and how many they are.
struct Half {
    values: View,
    places: View,
    len: usize,
}

impl Executor {
    /// Where the elements of the one row of `a` stand in order, into the dense `out`.
    pub(super) fn sort_long_row(
        &self,
        a: &View,
        descending: bool,
        out: &View,
    ) -> Result<(), KernelError> {
        let len = a.len();
        let axis = a.rank().saturating_sub(1);
        let at = middle(len);
        let flat = View {
            layout: out
                .layout
                .reshape(vector(OP, len)?)
                .map_err(KernelError::shape(OP))?
                .unwrap_or(out.layout),
            ..out.clone()
        };
        let half = |start, len| -> Result<Half, KernelError> {
            let own = self.to_dense(OP, &narrow(OP, a, axis, start, len)?)?;
            let own = View {
                layout: Layout::contiguous(vector(OP, len)?),
                ..own
            };
            let order = self.alloc(own.shape(), DType::I32)?;
            let _sorted = self.argsort(&own, 0, descending, &order)?;
            let values = self.alloc(own.shape(), a.dtype)?;
            let _values = self.gather(&own, 0, &order, &values)?;
            let mut e = Expression::new();
            let (order, start) = (e.input(order), e.scalar(DType::I32, start as f64));
            let place = e.op(FusedOp::Binary(Binary::Add), &[order, start])?;
            let places = self.computed(&e, place, values.shape())?;
            Ok(Half {
                values,
                places,
                len,
            })
        };
        let (first, second) = (half(0, at)?, half(at, len - at)?);
        // Of equals those of the first half come first.
        let _first = self.merge(&first, &second, [descending, false], &flat)?;
        let _second = self.merge(&second, &first, [descending, true], &flat)?;
        Ok(())
    }

    /// Writes the places of `own` at their ranks among both halves: `equals_first` if equals of the other half stand before.
    fn merge(
        &self,
        own: &Half,
        other: &Half,
        [descending, equals_first]: [bool; 2],
        out: &View,
    ) -> Result<Completion, KernelError> {
        let counted = self.alloc(own.values.shape(), DType::I32)?;
        let mut e = Expression::new();
        // In descending order those before an element are the ones that, from the far end, do not stand before it.
        let sorted = if descending {
            let flipped = other
                .values
                .layout
                .flip(&[0])
                .map_err(KernelError::shape(OP))?;
            other.values.with_layout(flipped)?
        } else {
            other.values.clone()
        };
        let right = descending != equals_first;
        let _counted = self.search_sorted(&sorted, &own.values, right, &counted)?;
        let mut before = e.input(counted);
        if descending {
            let all = e.scalar(DType::I32, other.len as f64);
            before = e.op(FusedOp::Binary(Binary::Sub), &[all, before])?;
        }
        let own_rank = e.input(self.counting(OP, 0.0, own.len)?);
        let rank = e.op(FusedOp::Binary(Binary::Add), &[before, own_rank])?;
        let ranks = self.computed(&e, rank, own.values.shape())?;
        self.scatter(Scatter::Set, &own.places, 0, &ranks, out)
    }
}
