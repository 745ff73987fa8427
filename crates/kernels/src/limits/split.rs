//! Operands larger than one storage binding: ops run on parts of them.
//!
//! An op says which axes its operands share ([`Joint`]): a part of the output needs only that part of those which have the
//! axis. Work is split along such axes until every part can be bound. If no shared axis suffices, the op itself combines
//! the results of parts: reductions combine partial results, products are added.

use ziggurat_core::Layout;

use crate::run::completion::Completion;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::launch::check_output;
use crate::run::view::View;

/// An axis that operands share: which one it is of each, if it has it. Outputs come last.
pub(crate) type Joint<const N: usize> = [Option<usize>; N];

/// The joints of operands of one shape: every axis but those that must stay whole.
pub(crate) fn alike<const N: usize>(rank: usize, whole: impl Fn(usize) -> bool) -> Vec<Joint<N>> {
    let axes = (0..rank).filter(|&axis| !whole(axis));
    axes.map(|axis| [Some(axis); N]).collect()
}

/// Bytes of the view's elements without gaps.
fn dense_bytes(view: &View) -> u64 {
    (view.len() as u64).saturating_mul(view.dtype.bytes() as u64)
}

/// The stride along an axis that can be split.
pub(crate) fn stride(view: &View, axis: Option<usize>) -> Option<usize> {
    let axis = axis?;
    let (dim, stride) = (view.dims().get(axis)?, view.layout.strides().get(axis)?);
    (*dim > 1 && *stride != 0).then_some(stride.unsigned_abs())
}

/// The first axis that can be halved, and where.
pub(crate) fn halving(layout: &Layout) -> Option<(usize, usize)> {
    halving_except(layout, usize::MAX)
}

/// As [`halving`], of any axis but one.
pub(crate) fn halving_except(layout: &Layout, but: usize) -> Option<(usize, usize)> {
    let mut axes = layout.dims().iter().enumerate();
    let first = axes.find(|&(axis, &dim)| axis != but && dim > 1);
    first.map(|(axis, &dim)| (axis, middle(dim)))
}

/// Where to halve an axis: at a multiple of 1024 if it is long, so that halves stay aligned.
pub(crate) const fn middle(dim: usize) -> usize {
    let half = dim / 2;
    if half >= 1024 {
        half / 1024 * 1024
    } else {
        half
    }
}

/// Both halves of a view.
pub(crate) fn halves(
    op: &'static str,
    view: &View,
    axis: usize,
    at: usize,
) -> Result<[View; 2], KernelError> {
    let dim = view.dims().get(axis).copied().unwrap_or(0);
    #[expect(
        clippy::cast_possible_wrap,
        reason = "an axis is below the maximal rank"
    )]
    let narrow = |start, len| {
        view.layout
            .narrow(axis as isize, start, len)
            .map_err(KernelError::shape(op))
    };
    Ok([
        view.with_layout(narrow(0, at)?)?,
        view.with_layout(narrow(at, dim - at)?)?,
    ])
}

impl Executor {
    /// Runs an op into a dense output by `whole`; or, where one of its operands cannot be bound, on parts of them by `each`,
    /// which is the op itself. The last of the views is the output.
    pub(crate) fn whole_or_split<const N: usize>(
        &self,
        op: &'static str,
        views: [&View; N],
        joints: impl FnOnce() -> Vec<Joint<N>>,
        mut each: impl FnMut(&[View; N]) -> Result<Completion, KernelError>,
        whole: impl FnOnce(&View) -> Result<(), KernelError>,
    ) -> Result<Completion, KernelError> {
        let in_parts = self.split(op, views, 1, joints, &mut |parts| each(parts).map(drop))?;
        if let (false, Some((out, inputs))) = (in_parts, views.split_last()) {
            self.with_dense_out(op, out, inputs, whole)?;
        }
        Ok(self.completion())
    }

    /// Runs an op on parts of its operands if one of them is too large to be bound, by calling `f` with each; whether it
    /// did. Then `f` is called with operands that can be bound, or that no joint makes smaller. The last `written` are
    /// outputs.
    pub(crate) fn split<const N: usize>(
        &self,
        op: &'static str,
        views: [&View; N],
        written: usize,
        joints: impl FnOnce() -> Vec<Joint<N>>,
        f: &mut dyn FnMut(&[View; N]) -> Result<(), KernelError>,
    ) -> Result<bool, KernelError> {
        let Some((inputs, outputs)) = views.split_at_checked(N.saturating_sub(written)) else {
            return Ok(false);
        };
        if self.too_large(&views, written).next().is_none() {
            return Ok(false);
        }
        let mut targets = views.map(View::clone);
        let mut copies = Vec::new();
        for (slot, out) in targets.iter_mut().rev().zip(outputs.iter().rev()) {
            check_output(op, out)?;
            // An input that is written must be read whole before.
            if inputs
                .iter()
                .any(|input| input.buffer.same_memory(&out.buffer))
            {
                *slot = self.alloc(out.shape(), out.dtype)?;
                copies.push((slot.clone(), *out));
            }
        }
        let done = self.cut(op, &targets, written, &joints(), f)?;
        if done {
            for (scratch, out) in &copies {
                self.copy_into(op, scratch, out)?;
            }
        }
        Ok(done)
    }

    /// The operands that cannot be bound. An output that is not dense is written by way of one that is.
    pub(crate) fn too_large<'v, V: std::borrow::Borrow<View>>(
        &self,
        views: &'v [V],
        written: usize,
    ) -> impl Iterator<Item = (usize, &'v View)> {
        let outputs = views.len().saturating_sub(written);
        let views = views.iter().map(std::borrow::Borrow::borrow).enumerate();
        views.filter(move |&(at, view)| {
            self.exceeds_binding(&[view])
                && (at < outputs || view.is_vec4() || self.exceeds_dense(view))
        })
    }

    /// Whether the view's elements are too many for a binding however they lie.
    pub(crate) fn exceeds_dense(&self, view: &View) -> bool {
        // What is bound ends at a multiple of 16 bytes.
        dense_bytes(view).div_ceil(16).saturating_mul(16) > self.device().caps().max_binding_bytes
    }

    fn cut<const N: usize>(
        &self,
        op: &'static str,
        views: &[View; N],
        written: usize,
        joints: &[Joint<N>],
        f: &mut dyn FnMut(&[View; N]) -> Result<(), KernelError>,
    ) -> Result<bool, KernelError> {
        let mut large = self.too_large(views, written).peekable();
        let Some(&(at, first)) = large.peek() else {
            f(views)?;
            return Ok(true);
        };
        if at + written < N && !self.exceeds_dense(first) {
            let mut views = views.clone();
            if let Some(slot) = views.get_mut(at) {
                *slot = self.to_dense(op, first)?;
            }
            return self.cut(op, &views, written, joints, f);
        }
        // The axis with the longest steps: halves of that lie side by side.
        let best = large.find_map(|(at, view)| {
            let along = |joint: &Joint<N>| joint.get(at).copied().flatten();
            let steps = |joint| Some((stride(view, along(joint))?, joint));
            let (_, joint) = (joints.iter().filter_map(steps)).max_by_key(|(stride, _)| *stride)?;
            Some((joint, *view.dims().get(along(joint)?)?))
        });
        let Some((joint, dim)) = best else {
            return Ok(false);
        };
        let middle = middle(dim);
        let (mut first, mut second) = (views.clone(), views.clone());
        for ((view, axis), (first, second)) in
            (views.iter().zip(joint)).zip(first.iter_mut().zip(&mut second))
        {
            if let Some(axis) = *axis {
                [*first, *second] = halves(op, view, axis, middle)?;
            }
        }
        for half in [&first, &second] {
            if !self.cut(op, half, written, joints, f)? {
                f(half)?;
            }
        }
        Ok(true)
    }
}
