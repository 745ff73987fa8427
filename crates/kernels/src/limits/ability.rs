//! [`Ability`]: what an adapter can do, as far as the choice of a kernel depends on it.

use ziggurat_pipeline::device::Caps;

use crate::run::executor::Executor;

const BUSY_GROUPS: u64 = 512;

/// What an adapter can do, in the numbers that choices of kernels depend on: small and `Copy`, so that every choice is a
/// pure function of a problem and of this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Ability {
    /// Most invocations of a workgroup, all along x.
    pub(crate) invocations: u32,
    /// Preferred invocations of a one-dimensional workgroup.
    pub(crate) workgroup_size: u32,
    /// Bytes of workgroup memory.
    pub(crate) workgroup_bytes: u32,
    /// Workgroups that keep the device busy: fewer, and a long reduction is cut into chunks. Adapters do not say, so it is
    /// one number for all.
    pub(crate) busy_groups: u64,
    /// Loop iterations of an invocation in one dispatch.
    pub(crate) loop_budget: u64,
}

impl Ability {
    /// The least that WebGPU promises.
    pub(crate) const WEBGPU: Self = Self {
        invocations: 256,
        workgroup_size: 256,
        workgroup_bytes: 16_384,
        busy_groups: BUSY_GROUPS,
        loop_budget: 1 << 15,
    };

    pub(crate) fn of(caps: &Caps) -> Self {
        let limits = &caps.limits;
        Self {
            invocations: limits
                .max_compute_invocations_per_workgroup
                .min(limits.max_compute_workgroup_size_x),
            workgroup_size: caps.workgroup_size,
            workgroup_bytes: limits.max_compute_workgroup_storage_size,
            busy_groups: BUSY_GROUPS,
            loop_budget: u64::from(caps.max_loop_turns),
        }
    }
}

impl Executor {
    /// What the device can do.
    pub(crate) fn ability(&self) -> Ability {
        Ability::of(self.device().caps())
    }
}
