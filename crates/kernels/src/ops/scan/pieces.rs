//! The passes of long rows, and rows that one binding cannot hold: the totals of all pieces' chunks are scanned together,
//! so that each piece knows what stands before it.

use ziggurat_core::DType;
use ziggurat_pipeline::Grid;

use super::kernel::{Form, Pass, accesses, choice, spread};
use crate::compose::assemble::narrow;
use crate::limits::split::middle;
use crate::ops::elementwise::dispatch::count;
use crate::ops::reduce::geometry::{Order, ReduceGeometry};
use crate::ops::reduce::lanes::Lanes;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;

impl Executor {
    /// How rows lie over workgroups, in chunks where there are few of them, or where lanes would loop too long.
    pub(super) fn scan_lanes(&self, geometry: &ReduceGeometry) -> Lanes {
        let lanes = spread(geometry, true, &self.ability());
        // Each tile of lanes is combined in as many steps as their number has bits.
        let iterations = 2 + u64::from(lanes.lanes.ilog2()) + 1 + geometry.reduced.len() as u64;
        lanes.within(geometry.len, iterations, self.max_iterations())
    }

    /// The totals of the chunks of each row, whose first element has position `first`.
    pub(super) fn scan_totals(
        &self,
        form: Form,
        a: &View,
        geometry: &ReduceGeometry,
        lanes: &Lanes,
        first: u32,
    ) -> Result<View, KernelError> {
        let name = form.op.name();
        let words = lanes.chunks.saturating_mul(form.op.words());
        let totals = self.partials(DType::U32, geometry.outputs, words)?;
        let (read, total) = (self.bind_read(name, a)?, self.bind_write(name, &totals)?);
        let [read4, _] = accesses(geometry, 1, [read.offset, 0]);
        let vec4 = [read4, false];
        self.launch(
            &choice(form, Pass::Totals, vec4, geometry, lanes),
            &[read.arg, total.arg],
            &geometry.params(lanes, read.offset, 0, form.op.identity(first), 1),
            Grid::elements(lanes.invocations(geometry.outputs), 1),
        )?;
        Ok(totals.clone())
    }

    /// What stands before each chunk.
    pub(super) fn scan_carries(
        &self,
        form: Form,
        outputs: u64,
        totals: &View,
    ) -> Result<View, KernelError> {
        let name = form.op.name();
        let words = totals.dims().last().map_or(0, |&words| words as u64);
        let carries = self.alloc(totals.shape(), DType::U32)?;
        let rows = ReduceGeometry::rows(outputs, words / u64::from(form.op.words()));
        let lanes = spread(&rows, false, &self.ability());
        let (total, carry) = (
            self.bind_read(name, totals)?,
            self.bind_write(name, &carries)?,
        );
        self.launch(
            &choice(form, Pass::Carries, [false; 2], &rows, &lanes),
            &[total.arg, carry.arg],
            &rows.params(&lanes, 0, 0, form.op.identity(0), 1),
            Grid::elements(lanes.invocations(rows.outputs), 1),
        )?;
        Ok(carries.clone())
    }

    /// The results of chunks from what stands before them; the first element of a row has position `first`.
    pub(super) fn scan_chunks(
        &self,
        form: Form,
        [a, carries, out]: [&View; 3],
        (geometry, lanes, inner): (&ReduceGeometry, &Lanes, u64),
        first: u32,
    ) -> Result<(), KernelError> {
        let name = form.op.name();
        let (read, write) = (self.bind_read(name, a)?, self.bind_write(name, out)?);
        let carry = self.bind_read(name, carries)?;
        let vec4 = accesses(geometry, inner, [read.offset, write.offset]);
        self.launch(
            &choice(form, Pass::Chunks, vec4, geometry, lanes),
            &[read.arg, write.arg, carry.arg],
            &geometry.params(
                lanes,
                read.offset,
                write.offset,
                form.op.identity(first),
                inner,
            ),
            Grid::elements(lanes.invocations(geometry.outputs), 1),
        )
    }

    /// Scans the one row of `a` piece by piece.
    pub(super) fn scan_pieces(
        &self,
        form: Form,
        a: &View,
        axis: usize,
        out: &View,
    ) -> Result<(), KernelError> {
        let name = form.op.name();
        let mut pieces = Vec::new();
        self.scan_halves([a, out], axis, (form, 0), &mut pieces)?;
        if form.options.reverse {
            pieces.reverse();
        }
        let mut steps = Vec::with_capacity(pieces.len());
        for ([a, out], first) in pieces {
            let geometry = ReduceGeometry::new(name, &a.layout, &[axis], Order::RowMajor)?;
            let lanes = self.scan_lanes(&geometry);
            let first = count(name, first)?;
            let totals = self.scan_totals(form, &a, &geometry, &lanes, first)?;
            steps.push((a, out, geometry, lanes, first, totals));
        }
        let totals: Vec<View> = steps.iter().map(|step| step.5.clone()).collect();
        let totals = self.concatenated_partials(name, &totals)?;
        let carries = self.scan_carries(form, 1, &totals)?;
        let mut at = 0;
        for (a, out, geometry, lanes, first, totals) in &steps {
            let own = narrow(name, &carries, 1, at, totals.len())?;
            at += totals.len();
            let own = self.to_dense(name, &own)?;
            self.with_dense_out(name, out, &[], |out| {
                self.scan_chunks(form, [a, &own, out], (geometry, lanes, 1), *first)
            })?;
        }
        Ok(())
    }

    /// Pieces of a row that can be bound, in order, and the position of the first element of each.
    fn scan_halves(
        &self,
        [a, out]: [&View; 2],
        axis: usize,
        (form, first): (Form, usize),
        all: &mut Vec<([View; 2], usize)>,
    ) -> Result<(), KernelError> {
        let name = form.op.name();
        let len = a.dims().get(axis).copied().unwrap_or(0);
        if len > 1 && (self.exceeds_binding(&[a]) || self.exceeds_dense(out)) {
            let at = middle(len);
            for (start, len) in [(0, at), (at, len - at)] {
                let (a, out) = (
                    narrow(name, a, axis, start, len)?,
                    narrow(name, out, axis, start, len)?,
                );
                self.scan_halves([&a, &out], axis, (form, first + start), all)?;
            }
            return Ok(());
        }
        all.push(([a.clone(), out.clone()], first));
        Ok(())
    }
}
