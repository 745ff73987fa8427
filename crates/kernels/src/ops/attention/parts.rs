//! Attention over operands that one binding cannot hold: by batches, then by heads of keys and values.

use super::{AttentionOperands, AttentionOptions, Extents, OP};
use crate::compose::assemble::narrow;
use crate::limits::split::middle;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;

impl Executor {
    /// Attends in parts if the operands are too large to be bound; whether it did. The mask is seen with every batch and head.
    pub(super) fn attend_parts(
        &self,
        operands: &AttentionOperands<'_>,
        extents: &Extents,
        options: &AttentionOptions,
        out: &View,
    ) -> Result<bool, KernelError> {
        let AttentionOperands {
            q,
            k,
            v,
            mask,
            lengths,
        } = *operands;
        let inputs = || [Some(q), Some(k), Some(v), mask].into_iter().flatten();
        let large = |view: &View| self.exceeds_binding(&[view]);
        let written = large(out) && self.exceeds_dense(out);
        if !inputs().any(large) && !written {
            return Ok(false);
        }
        let [batch, heads, ..] = extents.q;
        let (axis, len) = if batch > 1 {
            (0, batch)
        } else {
            (1, extents.kv_heads)
        };
        let parts = if len > 1 {
            vec![(0, middle(len)), (middle(len), len - middle(len))]
        } else if inputs().any(|view| large(view) && !self.exceeds_dense(view)) {
            vec![(0, len)]
        } else {
            return Ok(false);
        };
        if inputs().any(|view| view.buffer.same_memory(&out.buffer)) {
            let scratch = self.alloc(out.shape(), out.dtype)?;
            let done = self.attend_parts(operands, extents, options, &scratch)?;
            self.copy_into(OP, &scratch, out)?;
            return Ok(done);
        }
        let group = if axis == 1 {
            heads / extents.kv_heads.max(1)
        } else {
            1
        };
        for (start, len) in parts {
            let keys = |view: &View| self.fitting(narrow(OP, view, axis, start, len)?);
            let queries = |view: &View| narrow(OP, view, axis, start * group, len * group);
            let (k, v) = (keys(k)?, keys(v)?);
            let (q, out) = (self.fitting(queries(q)?)?, queries(out)?);
            let mask = mask.map(|mask| self.fitting(queries(mask)?)).transpose()?;
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
            };
            let _attended = self.attention(&part, options, &out)?;
        }
        Ok(true)
    }

    /// The view, or a dense copy of it where only that can be bound.
    fn fitting(&self, view: View) -> Result<View, KernelError> {
        if self.exceeds_binding(&[&view]) && !self.exceeds_dense(&view) {
            return self.to_dense(OP, &view);
        }
        Ok(view)
    }
}
