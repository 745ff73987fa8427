//! [`Ends`]: what a call reads and writes, as its plan sees it.

use ziggurat_core::DType;

use crate::fused::{Epilogue, Operand};
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;

/// A call's operands and outputs as its plan sees them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ends<'a> {
    pub(crate) a: Operand<'a>,
    pub(crate) others: [Option<&'a View>; 5],
    pub(crate) out: &'a View,
    pub(crate) also: Option<&'a View>,
    pub(crate) epilogue: Option<&'a Epilogue>,
}

impl<'a> Ends<'a> {
    /// One view is read, one written.
    pub(crate) const fn plain(a: &'a View, out: &'a View) -> Self {
        Self {
            a: Operand::Memory(a),
            others: [None; 5],
            out,
            also: None,
            epilogue: None,
        }
    }

    /// The dtype of the results, before an epilogue.
    pub(crate) fn computed(&self) -> DType {
        self.epilogue
            .map_or(self.out.dtype, |epilogue| epilogue.computed)
    }

    /// The bindings of the last step, without those that the epilogue adds.
    pub(crate) fn bindings(&self) -> usize {
        let others = self.others.iter().flatten().count();
        self.a.bindings() + others + 1 + usize::from(self.also.is_some())
    }

    /// All memory that is read, and that of further values of the epilogue.
    pub(super) fn inputs(&self) -> impl Iterator<Item = &'a View> {
        let epilogue = self.epilogue.into_iter().flat_map(Epilogue::views);
        let others = self.others.into_iter().flatten();
        self.a.views().iter().chain(others).chain(epilogue)
    }

    /// One of the others, which the op cannot do without.
    pub(crate) fn other(
        &self,
        op: &'static str,
        at: usize,
        operand: &'static str,
    ) -> Result<&'a View, KernelError> {
        self.others.get(at).copied().flatten().ok_or_else(|| {
            KernelError::operand(
                op,
                operand,
                "must be given besides the first operand",
                *self.a.layout().shape(),
            )
        })
    }

    /// The first operand if it is memory that may be cut into parts, and an error if something besides a generated end would
    /// have to be cut.
    pub(crate) fn divisible(&self, exec: &Executor) -> Result<Option<&'a View>, KernelError> {
        match (self.a, self.epilogue) {
            (Operand::Memory(view), None) => Ok(Some(view)),
            (Operand::Memory(view), Some(_)) => exec
                .refuse_over_binding([view, self.out].into_iter())
                .map(|()| None),
            (Operand::Fused(_), _) => exec
                .refuse_over_binding(std::iter::once(self.out))
                .map(|()| None),
        }
    }
}
