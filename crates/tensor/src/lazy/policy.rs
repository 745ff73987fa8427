//! [`FusionPolicy`]: whether elementwise ops wait for each other.
//!
//! A device has a policy, and a scope of a thread may have another: to find out whether fusion is to blame for something,
//! run it both ways.

use std::thread::LocalKey;

use crate::scopes::{Open, Scope, Scoped};

/// Whether elementwise operations are recorded to be computed together.
///
/// ```
/// use ziggurat_tensor::{Device, DeviceOptions, FusionPolicy, Tensor};
///
/// let device = Device::open_blocking(DeviceOptions::default())?;
/// let a = Tensor::from_slice(&device, &[1.0f32, 4.0], [2])?;
/// let plain = FusionPolicy::Unfused.scope(|| a.sqrt()?.add(1.0))?;
/// let fused = a.sqrt()?.add(1.0)?;
/// assert_eq!(plain.to_vec_blocking::<f32>()?, fused.to_vec_blocking::<f32>()?);
/// # Ok::<(), ziggurat_tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum FusionPolicy {
    /// Operations wait until a value is needed; then one kernel computes the whole expression where it can.
    #[default]
    Fused = 0,
    /// Every operation runs its own kernel when it is called; what was left waiting is computed op by op.
    Unfused = 1,
}

thread_local! {
    static OPEN: Open<FusionPolicy> = const { Open::new() };
}

impl Scoped for FusionPolicy {
    const OPEN: &'static LocalKey<Open<Self>> = &OPEN;
}

impl FusionPolicy {
    /// Runs `f` under this policy, whatever the device's. Holds on this thread, within `f`.
    pub fn scope<R>(self, f: impl FnOnce() -> R) -> R {
        let _scope = self.enter();
        f()
    }

    /// This policy on this thread until the guard is dropped. Of several guards the one that was made last counts, in
    /// whichever order they go.
    #[must_use = "the policy ends with the guard"]
    pub fn enter(self) -> FusionScope {
        FusionScope { _open: self.open() }
    }

    pub(super) fn from_number(number: u8) -> Self {
        if number == Self::Unfused as u8 {
            Self::Unfused
        } else {
            Self::Fused
        }
    }
}

/// Keeps a [`FusionPolicy`] for a thread; see [`FusionPolicy::enter`]. It stays on its thread, so it cannot be held over an
/// `.await` of a task that moves between threads.
#[derive(Debug)]
pub struct FusionScope {
    _open: Scope<FusionPolicy>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_nest_and_end() {
        assert_eq!(FusionPolicy::of_scope(), None);
        FusionPolicy::Unfused.scope(|| {
            assert_eq!(FusionPolicy::of_scope(), Some(FusionPolicy::Unfused));
            let inner = FusionPolicy::Fused.enter();
            assert_eq!(FusionPolicy::of_scope(), Some(FusionPolicy::Fused));
            drop(inner);
            assert_eq!(FusionPolicy::of_scope(), Some(FusionPolicy::Unfused));
        });
        assert_eq!(FusionPolicy::of_scope(), None);
    }

    #[test]
    fn scopes_may_end_in_any_order() {
        let outer = FusionPolicy::Unfused.enter();
        let inner = FusionPolicy::Fused.enter();
        drop(outer);
        assert_eq!(FusionPolicy::of_scope(), Some(FusionPolicy::Fused));
        let last = FusionPolicy::Unfused.enter();
        drop(inner);
        assert_eq!(FusionPolicy::of_scope(), Some(FusionPolicy::Unfused));
        drop(last);
        assert_eq!(FusionPolicy::of_scope(), None);
    }

    #[test]
    fn numbers_name_policies() {
        for policy in [FusionPolicy::Fused, FusionPolicy::Unfused] {
            assert_eq!(FusionPolicy::from_number(policy as u8), policy);
        }
    }
}
