//! Fused elementwise kernels: an expression over views and scalars, computed by one dispatch.
//!
//! An [`Expression`] is built node by node and given to [`Executor::fused`] with its outputs. What it *is*
//! (ops, dtypes, how operands lie in memory) decides the kernel; shapes and scalars are parameters.
//!
//! Invariants: the WGSL is the op snippets, called in order, and glue, which is all that is generated; values
//! between ops of a packed dtype are rounded as they would be in memory, and a product is rounded before it is
//! added to anything, so that exact ops give the bits of the unfused path.

pub(crate) mod ends;
pub(crate) mod epilogue;
mod expression;
pub(crate) mod form;
pub(crate) mod generate;
pub(crate) mod graph;
pub(crate) mod op;
pub(crate) mod params;
mod parts;
pub(crate) mod prologue;
mod run;
pub(crate) mod user;

use ziggurat_core::Shape;

use crate::run::completion::Completion;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;

pub use epilogue::FusedOutput;
pub use expression::{Expression, Id};
pub use op::FusedOp;
pub use prologue::{FusedInput, FusedReader};
pub use user::{MAX_OPERANDS, UserOp};

pub(crate) use epilogue::Epilogue;
pub(crate) use params::number_bits;
pub(crate) use prologue::Operand;

/// The most ops in one kernel.
pub const MAX_OPS: usize = 256;
/// The most buffers that one kernel binds, if the device allows so many.
pub const MAX_BINDINGS: usize = 32;

/// The most that a kernel which reads its input several times may compute again, in ops a few instructions long (a
/// function such as `exp` counts as eight). Beyond, a pass through memory is cheaper.
pub const MAX_REPEATED_WORK: usize = 48;

/// What one fused kernel may have on a device: split an expression before it grows beyond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FusedLimits {
    /// Views read plus views written; one that is written in place counts once.
    pub bindings: usize,
    /// Ops that the outputs depend on (inputs and scalars do not count).
    pub ops: usize,
}

impl Executor {
    /// The size that a fused expression may have on this device.
    #[must_use]
    pub fn fused_limits(&self) -> FusedLimits {
        let bindings = self.device().caps().max_storage_buffers as usize;
        FusedLimits {
            bindings: bindings.min(MAX_BINDINGS),
            ops: MAX_OPS,
        }
    }

    /// Computes values of an expression into views of `shape`, in one dispatch. Inputs are broadcast to the shape.
    ///
    /// An output may be exactly one of the inputs: it is then written in place.
    ///
    /// # Errors
    /// [`KernelError::Shape`] if an input does not broadcast, [`KernelError::Output`] and [`KernelError::Dtype`] for an
    /// output of another shape or dtype, [`KernelError::CannotFuse`], and the errors of the layers below.
    pub fn fused(
        &self,
        expression: &Expression,
        shape: &Shape,
        outputs: &[(Id, View)],
    ) -> Result<Completion, KernelError> {
        self.run_fused(expression, shape, outputs)?;
        Ok(self.completion())
    }

    /// The WGSL that [`Self::fused`] would run for these outputs; empty without outputs.
    ///
    /// # Errors
    /// Those of [`Self::fused`].
    pub fn fused_source(
        &self,
        expression: &Expression,
        outputs: &[(Id, View)],
    ) -> Result<String, KernelError> {
        self.explain_fused(expression, outputs)
    }
}
