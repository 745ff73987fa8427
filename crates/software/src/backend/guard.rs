//! naga is not ours, and what it is given is a user's: a panic in it is an error of that shader.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// The front end panicked.
#[derive(Debug, thiserror::Error)]
#[error("naga, which reads WGSL, failed on this text: {0}")]
pub(super) struct Panicked(String);

/// What `work` gives. What it was working on is dropped after a panic, so nothing half-done is seen.
pub(super) fn contained<R>(work: impl FnOnce() -> R) -> Result<R, Panicked> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
        Panicked(text.unwrap_or("no message").to_owned())
    })
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
