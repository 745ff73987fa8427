//! What every object of a device has: an owner, a label, and whether its creation succeeded.
//!
//! wgpu never fails to return an object. One whose creation failed is *invalid*: it is passed
//! around like the others, and each use of it is an error of its own.

use std::sync::Arc;

use super::state::State;

/// An object that belongs to one device.
pub(super) trait Object {
    /// What the object is called in messages.
    const KIND: &'static str;
    fn state(&self) -> &Arc<State>;
    fn label(&self) -> &str;
    fn is_valid(&self) -> bool;
}

/// Why an object cannot be used at all.
#[derive(Debug, thiserror::Error)]
pub(super) enum ObjectError {
    #[error("{kind} with label '{label}' is invalid")]
    Invalid { kind: &'static str, label: String },
    #[error("{kind} with label '{label}' has been destroyed")]
    Destroyed { kind: &'static str, label: String },
    #[error("{kind} with label '{label}' belongs to another device")]
    OtherDevice { kind: &'static str, label: String },
    #[error("{kind} was not made by a software device")]
    Foreign { kind: &'static str },
    #[error("features {missing:?} are required but not enabled on the device")]
    MissingFeature { missing: wgpu::Features },
    #[error("{what} are not supported: the software device computes only")]
    Unsupported { what: &'static str },
}

/// `object`, if it is one of `state`'s and valid.
pub(super) fn own<'a, T: Object>(
    state: &Arc<State>,
    object: Option<&'a T>,
) -> Result<&'a T, ObjectError> {
    let kind = T::KIND;
    let object = object.ok_or(ObjectError::Foreign { kind })?;
    let label = || object.label().to_owned();
    if !Arc::ptr_eq(state, object.state()) {
        return Err(ObjectError::OtherDevice {
            kind,
            label: label(),
        });
    }
    if !object.is_valid() {
        return Err(ObjectError::Invalid {
            kind,
            label: label(),
        });
    }
    Ok(object)
}

/// `Debug` by name: objects hold memory, locks and callbacks that say nothing in print.
macro_rules! debug_by_name {
    ($($name:ident),* $(,)?) => {
        $(impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        })*
    };
}
pub(super) use debug_by_name;
