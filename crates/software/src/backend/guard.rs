//! naga is not ours, and what it is given is a user's: a panic in it is an error of that shader.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use ziggurat_core::large_stack::{self, LargeStackError, panic_words};
use ziggurat_core::wgsl::Extent;

/// The front end panicked.
#[derive(Debug, thiserror::Error)]
#[error("the WGSL compiler (naga) panicked on this text: {0}")]
pub(super) struct Panicked(String);

/// How long reading or compiling a text that is not small may take.
const TIME: Duration = Duration::from_secs(60);

/// What `work` gives on a text of that extent: with a large stack and for a limited time if it is not small.
pub(super) fn with_stack_for<R: Send + 'static>(
    extent: &Extent,
    work: impl FnOnce() -> R + Send + 'static,
) -> Result<R, LargeStackError> {
    if extent.is_small() {
        Ok(work())
    } else {
        large_stack::run(TIME, work)
    }
}

/// What `work` gives. What it was working on is dropped after a panic, so nothing half-done is seen.
pub(super) fn contained<R>(work: impl FnOnce() -> R) -> Result<R, Panicked> {
    catch_unwind(AssertUnwindSafe(work))
        .map_err(|payload| Panicked(panic_words(&*payload).to_owned()))
}

#[cfg(test)]
mod tests {
    use super::contained;

    #[test]
    fn a_panic_becomes_an_error_with_its_message() {
        assert_eq!(contained(|| 7).ok(), Some(7));
        let error = contained(|| panic!("on line {}", 3)).err();
        assert!(error.is_some_and(|error| error.to_string().ends_with("on line 3")));
        let error = contained(|| panic!("plain")).err();
        assert!(error.is_some_and(|error| error.to_string().ends_with("plain")));
    }
}
