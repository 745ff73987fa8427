//! Lazy elementwise evaluation: ops only record, and are computed together when a value is needed.
//!
//! [`record`] makes a pending node. [`evaluate`] turns the pending expression below nodes into as few kernels as it can
//! and gives the nodes their memory. In between nothing is allocated and nothing runs; what nobody asks for never does.
//!
//! Invariants: mistakes in shapes and dtypes are reported when an op is recorded, failures of the device when it is
//! evaluated, and those stay with the node; one device evaluates one expression at a time, and a node once; nothing here
//! recurses over an expression.

mod compose;
mod evaluate;
mod explain;
mod limits;
mod memo;
mod plan;
mod policy;
mod prologue;
mod reason;
mod record;
mod roofline;

use std::sync::atomic::{AtomicU8, Ordering};

use parking_lot::Mutex;
use ziggurat_kernels::Executor;

use crate::observe::Watch;
use crate::scopes::Scoped;

pub use explain::{ExplainedKernel, Explanation};
pub use memo::PlanStats;
pub use policy::{FusionPolicy, FusionScope};
pub use reason::NotFused;
pub use roofline::{Bottleneck, Roof, Roofline, RooflineRow};

#[cfg(not(target_arch = "wasm32"))]
pub(crate) use evaluate::record_alone;
pub(crate) use evaluate::{evaluate, plain};
pub(crate) use explain::explain;
pub(crate) use limits::Limits;
pub(crate) use memo::{again, form, stats as plan_stats};
pub(crate) use prologue::read;
pub(crate) use record::{defer, record, record_like, view};

/// What lazy evaluation keeps per device.
#[derive(Debug)]
pub(crate) struct Lazy {
    policy: AtomicU8,
    /// Held while an expression is planned and its kernels are recorded.
    gate: Mutex<()>,
    /// Used by whoever holds the gate.
    memo: Mutex<memo::Memo>,
    pub(crate) limits: Limits,
    watch: Watch,
}

impl Lazy {
    pub(crate) fn new(executor: &Executor) -> Self {
        Self {
            policy: AtomicU8::new(FusionPolicy::Fused as u8),
            gate: Mutex::new(()),
            memo: Mutex::default(),
            limits: Limits::of(executor),
            watch: Watch::default(),
        }
    }

    /// The policy of the innermost scope of this thread, else the device's; operations that are watched run one by one.
    #[inline]
    pub(crate) fn policy(&self) -> FusionPolicy {
        if self.watch.is_one_by_one() {
            return FusionPolicy::Unfused;
        }
        FusionPolicy::of_scope().unwrap_or_else(|| self.device_policy())
    }

    pub(crate) fn device_policy(&self) -> FusionPolicy {
        FusionPolicy::from_number(self.policy.load(Ordering::Relaxed))
    }

    /// Who watches the operations of the device.
    pub(crate) fn watch(&self) -> &Watch {
        &self.watch
    }

    pub(crate) fn set_policy(&self, policy: FusionPolicy) {
        self.policy.store(policy as u8, Ordering::Relaxed);
    }
}
