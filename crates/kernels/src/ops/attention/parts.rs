//! Attention over operands that one binding cannot hold: by batches, then by heads of keys and values.

use super::{AttentionOperands, AttentionOptions, Extents, OP, check, operands, seen_mask};
use crate::compose::assemble::narrow;
use crate::limits::split::middle;
use crate::run::ends::Ends;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;

/// Which axis of all operands is cut, and into what: where each part begins, and its length.
pub(super) struct Cut {
    axis: usize,
    parts: Vec<(usize, usize)>,
}

/// What is bound as it is cut: everything but lengths.
fn memory<'a>(operands: &AttentionOperands<'a>) -> impl Iterator<Item = &'a View> {
    let AttentionOperands {
        q,
        k,
        v,
        mask,
        factors,
        ..
    } = *operands;
    [q, k, v].into_iter().chain(mask).chain(factors)
}

/// How operands are cut that are too large to be bound; `None` if they can be bound, or cannot be cut. The mask is seen
/// with every batch and head.
pub(super) fn cut(
    exec: &Executor,
    operands: &AttentionOperands<'_>,
    extents: &Extents,
    out: &View,
) -> Option<Cut> {
    let inputs = || memory(operands);
    let large = |view: &View| exec.exceeds_binding(&[view]);
    let written = large(out) && exec.exceeds_dense(out);
    if !inputs().any(large) && !written {
        return None;
    }
    let (axis, len) = if extents.q[0] > 1 {
        (0, extents.q[0])
    } else {
        (1, extents.kv_heads)
    };
    let parts = if len > 1 {
        vec![(0, middle(len)), (middle(len), len - middle(len))]
    } else if inputs().any(|view| large(view) && !exec.exceeds_dense(view)) {
        vec![(0, len)]
    } else {
        return None;
    };
    Some(Cut { axis, parts })
}

/// Runs [`Call::Attention`](crate::Call::Attention) on parts of its operands.
pub(crate) fn run_parts(
    exec: &Executor,
    ends: &Ends<'_>,
    options: &AttentionOptions,
) -> Result<(), KernelError> {
    let given = operands(ends)?;
    let extents = check(&given, ends.out)?;
    let mask = given
        .mask
        .map(|mask| mask.with_layout(seen_mask(mask, &extents)?))
        .transpose()?;
    let AttentionOperands {
        q,
        k,
        v,
        lengths,
        factors,
        ..
    } = given;
    let seen = AttentionOperands {
        mask: mask.as_ref(),
        ..given
    };
    let Some(Cut { axis, parts }) = cut(exec, &seen, &extents, ends.out) else {
        return Err(KernelError::Internal {
            op: OP,
            what: "parts of operands that need not be cut",
        });
    };
    if memory(&seen).any(|view| view.buffer.same_memory(&ends.out.buffer)) {
        let scratch = exec.alloc(ends.out.shape(), ends.out.dtype)?;
        let apart = Ends {
            out: &scratch,
            ..*ends
        };
        run_parts(exec, &apart, options)?;
        return exec.copy_into(OP, &scratch, ends.out);
    }
    let group = if axis == 1 {
        extents.q[1] / extents.kv_heads.max(1)
    } else {
        1
    };
    for (start, len) in parts {
        let keys = |view: &View| fitting(exec, narrow(OP, view, axis, start, len)?);
        let queries = |view: &View| narrow(OP, view, axis, start * group, len * group);
        let (k, v) = (keys(k)?, keys(v)?);
        let (q, out) = (fitting(exec, queries(q)?)?, queries(ends.out)?);
        let factors = factors.map(keys).transpose()?;
        let mask = seen
            .mask
            .map(|mask| fitting(exec, queries(mask)?))
            .transpose()?;
        let lengths = match lengths {
            Some(lengths) if axis == 0 => Some(narrow(OP, lengths, 0, start, len)?),
            other => other.cloned(),
        };
        let part = AttentionOperands {
            q: &q,
            k: &k,
            v: &v,
            mask: mask.as_ref(),
            lengths: lengths.as_ref(),
            factors: factors.as_ref(),
        };
        let _attended = exec.attention(&part, options, &out)?;
    }
    Ok(())
}

/// The view, or a dense copy of it where only that can be bound.
fn fitting(exec: &Executor, view: View) -> Result<View, KernelError> {
    if exec.exceeds_binding(&[&view]) && !exec.exceeds_dense(&view) {
        return exec.to_dense(OP, &view);
    }
    Ok(view)
}
