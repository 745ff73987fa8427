//! Data that one binding cannot hold along the axis that indices name: each half is read or written by itself, with the
//! indices that name its elements.

use ziggurat_core::DType;

use super::plan::How;
use super::{Plan, Scatter};
use crate::compose::assemble::{narrow, signed, unsqueeze};
use crate::fused::{Expression, FusedOp, Id};
use crate::limits::split::middle;
use crate::ops::elementwise::binary::Binary;
use crate::ops::elementwise::compare::Compare;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;

/// The axes of the data that indices name, one per component.
fn named(how: How, indices: &View) -> std::ops::Range<usize> {
    match how {
        How::Along(axis) | How::Slices(axis) => axis..axis + 1,
        How::Tuples(batch) => batch..batch + indices.dims().last().copied().unwrap_or(0),
    }
}

/// One component of indices.
fn component(op: &'static str, how: How, indices: &View, axis: usize) -> Result<View, KernelError> {
    match how {
        How::Along(_) | How::Slices(_) => Ok(indices.clone()),
        How::Tuples(batch) => {
            let last = indices.rank().saturating_sub(1);
            narrow(op, indices, last, axis - batch, 1)
        }
    }
}

fn extent(view: &View, axis: usize) -> usize {
    view.dims().get(axis).copied().unwrap_or(0)
}

/// A number of positions as an operand; positions are below 2³¹.
fn number(e: &mut Expression, value: usize) -> Id {
    e.scalar(DType::I32, value as f64)
}

/// The least extent whose halves are smaller than the whole even with a position more, as [`Executor::scatter_halves`] needs.
pub(super) const LEAST_SCATTERED: usize = 4;

impl Executor {
    /// Where large data is to be cut: not along the axis that indices name, unless that has the longest steps and `least`
    /// elements.
    pub(super) fn named_axis(
        &self,
        plan: &Plan,
        (how, least): (How, usize),
        data: &View,
        indices: &View,
    ) -> Option<usize> {
        if !self.exceeds_binding(&[data]) {
            return None;
        }
        let steps = named(how, indices).filter_map(|axis| {
            let step = data.layout.strides().get(axis)?.unsigned_abs();
            (extent(data, axis) >= least).then_some((step, axis))
        });
        let (step, axis) = steps.max()?;
        let own = plan.longest_step();
        own.is_none_or(|other| other < step).then_some(axis)
    }

    /// Indices as positions from 0, i32: those outside name the nearest end.
    fn named_positions(
        &self,
        op: &'static str,
        how: How,
        data: &View,
        indices: &View,
    ) -> Result<View, KernelError> {
        let positions = self.alloc(indices.shape(), DType::I32)?;
        for axis in named(how, indices) {
            let own = component(op, how, indices, axis)?;
            let extent = extent(data, axis);
            let mut e = Expression::new();
            let mut index = e.input(own);
            let last = extent.saturating_sub(1);
            if indices.dtype == DType::I32 {
                let (zero, all) = (number(&mut e, 0), number(&mut e, extent));
                let from_end = e.op(FusedOp::Binary(Binary::Add), &[index, all])?;
                let negative = e.op(FusedOp::Compare(Compare::Lt), &[index, zero])?;
                index = e.op(FusedOp::Where, &[negative, from_end, index])?;
                index = e.op(FusedOp::Binary(Binary::Maximum), &[index, zero])?;
                let last = number(&mut e, last);
                index = e.op(FusedOp::Binary(Binary::Minimum), &[index, last])?;
            } else {
                let last = e.scalar(DType::U32, last as f64);
                index = e.op(FusedOp::Binary(Binary::Minimum), &[index, last])?;
                index = e.op(FusedOp::Cast(DType::I32), &[index])?;
            }
            let target = component(op, how, &positions, axis)?;
            let _written = self.written(e, index, &target)?;
        }
        Ok(positions)
    }

    /// As `positions`, but those along `axis` counted from `start`: outside `start .. start + len` they become `elsewhere`.
    fn within(
        &self,
        op: &'static str,
        (how, axis): (How, usize),
        positions: &View,
        (start, len): (usize, usize),
        elsewhere: usize,
    ) -> Result<View, KernelError> {
        let mut e = Expression::new();
        let position = e.input(component(op, how, positions, axis)?);
        let (from, end) = (number(&mut e, start), number(&mut e, start + len));
        let elsewhere = number(&mut e, elsewhere);
        let own = e.op(FusedOp::Binary(Binary::Sub), &[position, from])?;
        let early = e.op(FusedOp::Compare(Compare::Lt), &[position, from])?;
        let late = e.op(FusedOp::Compare(Compare::Ge), &[position, end])?;
        let own = e.op(FusedOp::Where, &[early, elsewhere, own])?;
        let own = e.op(FusedOp::Where, &[late, elsewhere, own])?;
        let counted = self.to_dense(op, positions)?;
        let target = component(op, how, &counted, axis)?;
        let _written = self.written(e, own, &target)?;
        Ok(counted)
    }

    /// Gathers from each half of the data along `axis`, and takes each element from the half that its index names.
    pub(super) fn gather_halves(
        &self,
        op: &'static str,
        (how, axis): (How, usize),
        [a, indices]: [&View; 2],
        out: &View,
    ) -> Result<(), KernelError> {
        let len = extent(a, axis);
        let at = middle(len);
        let positions = self.named_positions(op, how, a, indices)?;
        let mut e = Expression::new();
        let mut both = Vec::with_capacity(2);
        for (start, len) in [(0, at), (at, len - at)] {
            let half = narrow(op, a, axis, start, len)?;
            let own = self.within(op, (how, axis), &positions, (start, len), 0)?;
            let found = self.alloc(out.shape(), out.dtype)?;
            self.gather_parts(op, how, [&half, &own], &found)?;
            both.push(e.input(found));
        }
        let along = component(op, how, &positions, axis)?;
        let seen = as_results(op, (how, named(how, indices).len()), &along, a.rank())?;
        let (position, first) = (e.input(seen), number(&mut e, at));
        let early = e.op(FusedOp::Compare(Compare::Lt), &[position, first])?;
        let operands = [&[early], &both[..]].concat();
        let chosen = e.op(FusedOp::Where, &operands)?;
        self.written(e, chosen, out).map(drop)
    }

    /// Scatters into each half of the data along `axis`, by way of a copy with one position more, for all updates of the
    /// other half.
    pub(super) fn scatter_halves(
        &self,
        op: Scatter,
        (how, axis): (How, usize),
        [updates, indices]: [&View; 2],
        out: &View,
    ) -> Result<(), KernelError> {
        let name = op.name();
        let len = extent(out, axis);
        let at = middle(len);
        let positions = self.named_positions(name, how, out, indices)?;
        for (start, len) in [(0, at), (at, len - at)] {
            let half = narrow(name, out, axis, start, len)?;
            let mut dims = half.dims().to_vec();
            if let Some(dim) = dims.get_mut(axis) {
                *dim += 1;
            }
            let shape = ziggurat_core::Shape::new(&dims).map_err(KernelError::shape(name))?;
            let room = self.alloc(&shape, out.dtype)?;
            let own = narrow(name, &room, axis, 0, len)?;
            self.copy_into(name, &half, &own)?;
            let rest = narrow(name, &room, axis, len, 1)?;
            let _cleared = self.fill(&rest, 0.0)?;
            let indices = self.within(name, (how, axis), &positions, (start, len), len)?;
            self.scatter_parts(op, how, [updates, &indices], &room)?;
            self.copy_into(name, &own, &half)?;
        }
        Ok(())
    }
}

/// Positions in the shape of what they name, with axes of extent 1 for those of the data.
fn as_results(
    op: &'static str,
    (how, components): (How, usize),
    positions: &View,
    rank: usize,
) -> Result<View, KernelError> {
    let mut seen = positions.clone();
    let behind = match how {
        How::Along(_) => 0,
        How::Slices(axis) => {
            for _ in 0..axis {
                seen = unsqueeze(op, &seen, 0)?;
            }
            rank.saturating_sub(axis + 1)
        }
        How::Tuples(batch) => {
            let last = seen.rank().saturating_sub(1);
            let layout = seen.layout.squeeze(Some(signed(last)));
            seen = seen.with_layout(layout.map_err(KernelError::shape(op))?)?;
            rank.saturating_sub(batch + components)
        }
    };
    for _ in 0..behind {
        seen = unsqueeze(op, &seen, seen.rank())?;
    }
    Ok(seen)
}
