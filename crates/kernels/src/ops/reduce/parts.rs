//! Reductions of tensors that one binding cannot hold: the kept axes are split, the reduced ones become
//! accumulators of pieces, which one last pass combines.

use ziggurat_core::{DType, Layout, Shape, sort_few_by_key};

use super::geometry::{Order, ReduceGeometry};
use super::{Job, choose_lanes, first_pass_into, kept_shape, second_pass};
use crate::fused::Operand;
use crate::limits::split::{halves, middle, stride};
use crate::run::ends::Ends;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::launch::check_output;
use crate::run::view::View;

/// The axes that are not reduced.
fn kept_axes(layout: &Layout, axes: &[usize]) -> Vec<usize> {
    (0..layout.rank())
        .filter(|axis| !axes.contains(axis))
        .collect()
}

impl Executor {
    /// Whether a reduction of `a`, which or whose outputs one binding cannot hold, is split along kept axes. What lies
    /// side by side is read once: it is split along a reduced axis if that has the largest stride.
    pub(crate) fn splits_kept(&self, a: &View, axes: &[usize], outs: &[&View]) -> bool {
        let kept = kept_axes(&a.layout, axes);
        let mut dims = kept.iter().filter_map(|&axis| a.dims().get(axis));
        if !dims.any(|&dim| dim > 1) {
            return false;
        }
        if self.too_large(outs, outs.len()).next().is_some() {
            return true;
        }
        let longest = |axes: &[usize]| {
            (axes.iter())
                .filter_map(|&axis| stride(a, Some(axis)))
                .max()
        };
        let kept = longest(&kept);
        self.exceeds_binding(&[a]) && kept.is_some() && longest(axes) <= kept
    }

    /// Runs a reduction on parts along kept axes, by calling `f` with the parts of the operand and its outputs, where
    /// [`Self::splits_kept`]. Each output has the kept axes' elements, `results` times.
    pub(crate) fn reduction_split<const N: usize>(
        &self,
        op: &'static str,
        axes: &[usize],
        (views, results): ([&View; N], usize),
        f: &mut dyn FnMut(&[View; N]) -> Result<(), KernelError>,
    ) -> Result<(), KernelError> {
        let Some((a, outs)) = views.split_first() else {
            return Ok(());
        };
        let shape = kept_shape(op, &a.layout, axes)?;
        let dims = [&[results], shape.dims()].concat();
        let dims = Shape::new(&dims).map_err(KernelError::shape(op))?;
        // Outputs in the shape of the kept axes, which they have only if they are dense.
        let mut targets = views.map(View::clone);
        let mut copies = Vec::new();
        for (slot, out) in targets.iter_mut().skip(1).zip(outs) {
            check_output(op, out)?;
            if !out.layout.is_contiguous() || out.buffer.same_memory(&a.buffer) {
                *slot = self.alloc(out.shape(), out.dtype)?;
                copies.push((slot.clone(), *out));
            }
            let seen = slot.layout.reshape(dims).map_err(KernelError::shape(op))?;
            *slot = slot.with_layout(seen.unwrap_or(slot.layout))?;
        }
        let joints = || {
            let joint = |(place, axis): (usize, usize)| {
                std::array::from_fn(|view| Some(if view == 0 { axis } else { place + 1 }))
            };
            let kept = kept_axes(&a.layout, axes);
            kept.into_iter().enumerate().map(joint).collect()
        };
        if !self.split(op, targets.each_ref(), outs.len(), joints, f)? {
            f(&targets)?;
        }
        for (scratch, out) in &copies {
            self.copy_into(op, scratch, out)?;
        }
        Ok(())
    }

    /// Pieces of `a` that can be bound, cut along the first of `axes` that has more than one position, then the next.
    pub(crate) fn pieces(
        &self,
        op: &'static str,
        a: &View,
        axes: &[usize],
    ) -> Result<Vec<View>, KernelError> {
        if !self.exceeds_binding(&[a]) {
            return Ok(vec![a.clone()]);
        }
        if !self.exceeds_dense(a) {
            return Ok(vec![self.to_dense(op, a)?]);
        }
        let long = |axis: &&usize| a.dims().get(**axis).is_some_and(|&dim| dim > 1);
        let Some(&axis) = axes.iter().find(long) else {
            return Ok(vec![a.clone()]);
        };
        let dim = a.dims().get(axis).copied().unwrap_or(0);
        let mut all = Vec::new();
        for half in &halves(op, a, axis, middle(dim))? {
            all.extend(self.pieces(op, half, axes)?);
        }
        Ok(all)
    }

    /// Reduces `axes` of `a` piece by piece into a dense output.
    pub(super) fn reduce_pieces(
        &self,
        op: &'static str,
        job: &Job,
        a: &View,
        axes: &[usize],
        out: &View,
    ) -> Result<(), KernelError> {
        let mut outermost = axes.to_vec();
        sort_few_by_key(&mut outermost, |&axis| {
            std::cmp::Reverse(stride(a, Some(axis)))
        });
        let mut all = Vec::new();
        for piece in self.pieces(op, a, &outermost)? {
            let geometry = ReduceGeometry::new(op, &piece.layout, axes, Order::Free)?;
            let job = &job.reading(&Operand::Memory(&piece), &geometry, &self.ability());
            let lanes = choose_lanes(self, &Operand::Memory(&piece), job, &geometry);
            let words = lanes.chunks.saturating_mul(job.words());
            let partial = self.partials(DType::U32, geometry.outputs, words)?;
            self.run_planned(op, &Ends::plain(&piece, &partial), |p| {
                let target = p.raw_out()?;
                first_pass_into(p, job, &geometry, &lanes, target)
            })?;
            all.push(partial);
        }
        let partial = self.concatenated_partials(op, &all)?;
        let words = partial.dims().last().copied().unwrap_or(0) as u64;
        let geometry = ReduceGeometry::new(op, &a.layout, axes, Order::Free)?;
        self.run_planned(op, &Ends::plain(&partial, out), |p| {
            let (read, write) = (p.first()?, p.raw_out()?);
            let chunks = words / u64::from(job.words());
            second_pass(
                p,
                job,
                (read, chunks),
                [geometry.outputs, geometry.len],
                write,
            );
            Ok(())
        })
    }

    /// Rows of words, joined.
    pub(crate) fn concatenated_partials(
        &self,
        op: &'static str,
        rows: &[View],
    ) -> Result<View, KernelError> {
        let words = |view: &View| view.dims().get(1).copied().unwrap_or(0);
        let outputs = rows.first().and_then(|view| view.dims().first()).copied();
        let all: usize = rows.iter().map(words).sum();
        let shape = Shape::new([outputs.unwrap_or(0), all]).map_err(KernelError::shape(op))?;
        let joined = self.alloc(&shape, DType::U32)?;
        let mut at = 0;
        for row in rows {
            let part = crate::compose::assemble::narrow(op, &joined, 1, at, words(row))?;
            self.copy_into(op, row, &part)?;
            at += words(row);
        }
        Ok(joined)
    }
}
