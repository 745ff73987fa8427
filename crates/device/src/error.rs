//! What can go wrong between asking for a GPU and having its work done.
//!
//! Fields are values, so that a caller can decide by them. The error is `Clone` because one lost
//! device answers every waiting future with the same reason.

use crate::LimitName;

/// Why a device was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LostReason {
    /// The driver, the system or the browser took it away.
    Unknown,
    /// [`Device::destroy`](crate::Device::destroy) was called.
    Destroyed,
}

impl std::fmt::Display for LostReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Unknown => "taken away by the driver or the system",
            Self::Destroyed => "destroyed by the program",
        })
    }
}

/// An error of the device layer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// No adapter fits the wish.
    #[error("no adapter fits ({wish}); seen: {}; {advice}", list(.seen))]
    NoAdapter {
        /// One line per adapter that is present.
        seen: Vec<String>,
        /// The wish, in words.
        wish: String,
        /// What to install or change.
        advice: String,
    },
    /// A backend name that is not known, from `ZIGGURAT_BACKEND`.
    #[error("unknown backend {given:?}: expected one of {known}")]
    UnknownBackend {
        /// What was given.
        given: String,
        /// The accepted names.
        known: &'static str,
    },
    /// The folder for a sanitizer's reports, from `ZIGGURAT_SANITIZE`, cannot be written.
    #[cfg(not(target_arch = "wasm32"))]
    #[error("cannot write reports of the sanitizer into {folder:?}: {error}")]
    Reports {
        /// The folder.
        folder: std::path::PathBuf,
        /// Why.
        error: String,
    },
    /// A profile of the software device that is not known, from `ZIGGURAT_ADAPTER` or the options.
    #[error("unknown profile {given:?} of the software device: expected one of {known}")]
    UnknownProfile {
        /// What was given.
        given: String,
        /// The known names.
        known: String,
    },
    /// A word that is not known, from `ZIGGURAT_LIMITS`.
    #[error("unknown limit {given:?} in ZIGGURAT_LIMITS: expected one of {known}")]
    UnknownLimit {
        /// What was given.
        given: String,
        /// The accepted words.
        known: &'static str,
    },
    /// An option with a value that no device can have.
    #[error("the option {option} is {given}: it must be at least {least}")]
    Option {
        /// The option's name.
        option: &'static str,
        /// Its value.
        given: u64,
        /// The least value that it may have.
        least: u64,
    },
    /// A device of the host application cannot be opened again by Ziggurat.
    #[error("the device was given by the application, which alone can open another one")]
    HostDevice,
    /// The adapter refused to open a device.
    #[error("adapter {adapter} did not open: {reason}")]
    RequestDevice {
        /// The adapter's name and backend.
        adapter: String,
        /// The driver's or wgpu's words.
        reason: String,
    },
    /// A limit the caller requires is beyond the adapter.
    #[error("limit not met: {limit} of {wanted} is wanted, the adapter has {got}")]
    LimitNotMet {
        /// Which limit.
        limit: LimitName,
        /// The value that was required.
        wanted: u64,
        /// The value the adapter has.
        got: u64,
    },
    /// A feature that the caller asks for is not there, or switched off by another option.
    #[error(
        "feature not met: {feature} is wanted, the adapter does not have it (or it is switched off)"
    )]
    FeatureNotMet {
        /// What is missing.
        feature: &'static str,
    },
    /// The device is gone; so is everything on it.
    #[error("device lost ({reason}): {message}")]
    Lost {
        /// Why.
        reason: LostReason,
        /// What the driver said; may be empty.
        message: String,
    },
    /// An earlier error that nobody caught: results on this device cannot be trusted any more.
    #[error("device poisoned by an earlier error: {message}")]
    Poisoned {
        /// The first uncaught error.
        message: String,
    },
    /// The driver said only after an allocation was used that it had no memory for it, as browsers do: results on this device
    /// cannot be trusted any more. Natively the allocation itself fails, and the device goes on working.
    #[error(
        "out of memory, told too late: what was recorded with the allocation is lost: {message}"
    )]
    OutOfMemory {
        /// The driver's or wgpu's words.
        message: String,
    },
    /// A kernel that was compiled while work with it was already recorded could not be compiled: that work and what
    /// follows it was not done, so results on this device cannot be trusted any more.
    #[error(
        "kernel `{kernel}` could not be compiled, and work recorded with it is lost: {message}"
    )]
    Kernel {
        /// The kernel's name, which is the label of its dispatches.
        kernel: String,
        /// The driver's or wgpu's words.
        message: String,
    },
    /// `record` or `flush` was called from within `record` or a `before_submit` hook.
    #[error("the command queue was used again from within a recording on the same thread")]
    Reentrant,
    /// A future was polled again after it had given its result.
    #[error("this future was polled again after it had given its result")]
    Finished,
    /// The thread that drives completions could not be started.
    #[error("the completion thread did not start: {reason}")]
    Thread {
        /// The system's words.
        reason: String,
    },
}

/// Text from outside as it stands in an error: its beginning, and how long it is if that is not all.
pub(crate) fn shorten(text: &str) -> std::borrow::Cow<'_, str> {
    const MOST: usize = 64;
    match text.char_indices().nth(MOST) {
        None => text.into(),
        Some((end, _)) => {
            let start = text.get(..end).unwrap_or_default();
            format!("{start}… ({} bytes)", text.len()).into()
        }
    }
}

fn list(seen: &[String]) -> String {
    if seen.is_empty() {
        "none".to_owned()
    } else {
        seen.join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_adapter_says_what_was_seen_and_what_to_do() {
        let error = DeviceError::NoAdapter {
            seen: vec!["0: X".into(), "1: Y".into()],
            wish: "backend metal".into(),
            advice: "install Z".into(),
        };
        assert_eq!(
            error.to_string(),
            "no adapter fits (backend metal); seen: 0: X; 1: Y; install Z"
        );
    }

    #[test]
    fn an_unmet_limit_names_both_values() {
        let error = DeviceError::LimitNotMet {
            limit: LimitName::WorkgroupMemory,
            wanted: 65536,
            got: 16384,
        };
        assert_eq!(
            error.to_string(),
            "limit not met: workgroup memory bytes of 65536 is wanted, the adapter has 16384"
        );
    }
}
