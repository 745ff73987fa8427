//! How large a pending expression may grow before it is computed.

use ziggurat_kernels::Executor;

use crate::node::Cost;

/// Ops of one kernel: more make longer shaders to compile, and save little.
const OPS: usize = 128;
/// The longest way through an expression.
const DEPTH: u32 = 128;

/// What a pending expression may have on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Buffers that a kernel may bind, outputs included.
    pub(crate) bindings: usize,
    pub(crate) ops: u32,
    pub(crate) depth: u32,
    /// Bytes that pending inputs may keep alive: two of the largest tensors that the device can have.
    pub(crate) bytes: u64,
    /// Bytes of a buffer that every kernel binds whole.
    pub(crate) binding_bytes: u64,
}

impl Limits {
    pub(crate) fn of(executor: &Executor) -> Self {
        let fused = executor.fused_limits();
        Self {
            bindings: fused.bindings.max(2),
            ops: u32::try_from(fused.ops.min(OPS)).unwrap_or(1),
            depth: DEPTH,
            bytes: executor.device().caps().max_binding_bytes.saturating_mul(2),
            binding_bytes: executor.whole_binding_bytes(),
        }
    }

    /// Whether one kernel can have all of it, beside one output.
    pub(crate) fn allow(&self, cost: &Cost) -> bool {
        cost.ops <= self.ops
            && cost.depth <= self.depth
            && (cost.leaves as usize) < self.bindings
            && cost.bytes <= self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_limit_counts() {
        let limits = Limits {
            bindings: 4,
            ops: 5,
            depth: 3,
            bytes: 100,
            binding_bytes: 100,
        };
        let most = Cost {
            depth: 3,
            ..Cost::kernel(5, 3, 100)
        };
        assert!(limits.allow(&most));
        assert!(!limits.allow(&Cost { ops: 6, ..most }));
        assert!(!limits.allow(&Cost { depth: 4, ..most }));
        assert!(!limits.allow(&Cost { leaves: 4, ..most }));
        assert!(!limits.allow(&Cost { bytes: 101, ..most }));
    }
}
