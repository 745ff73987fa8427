//! Work on a thread with a large stack, for a limited time.
//!
//! Compilers recurse over what they read, and a user's text decides how deep; where the stack of a thread ends, the
//! process ends. Threads cannot be stopped: work that takes too long goes on in the background and is forgotten, so what
//! is run here should be limited in size as well.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc;
use std::time::Duration;

/// Bytes of the stack. They are addresses only, until they are used.
pub const STACK_BYTES: usize = if cfg!(target_pointer_width = "64") {
    512 << 20
} else {
    64 << 20
};

/// Why there is no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LargeStackError {
    /// The work took longer than it may.
    #[error("it took longer than {limit:?}")]
    Time {
        /// How long it may take.
        limit: Duration,
    },
    /// The system refused the thread.
    #[error("no thread for it: {message}")]
    Thread {
        /// The system's words.
        message: String,
    },
}

/// What `work` gives, if it ends in time. A panic of it is a panic here.
///
/// # Errors
///
/// [`LargeStackError`] if it takes longer than `limit`, or the system refuses the thread.
pub fn run<R: Send + 'static>(
    limit: Duration,
    work: impl FnOnce() -> R + Send + 'static,
) -> Result<R, LargeStackError> {
    let (sender, receiver) = mpsc::sync_channel(1);
    let work = move || {
        let result = catch_unwind(AssertUnwindSafe(work));
        // Nobody listens any more once the time is over.
        let _ = sender.send(result);
    };
    std::thread::Builder::new()
        .name("ziggurat-compile".to_owned())
        .stack_size(STACK_BYTES)
        .spawn(work)
        .map_err(|error| LargeStackError::Thread {
            message: error.to_string(),
        })?;
    match receiver.recv_timeout(limit) {
        Ok(Ok(result)) => Ok(result),
        Ok(Err(panic)) => resume_unwind(panic),
        Err(_) => Err(LargeStackError::Time { limit }),
    }
}

/// The words of a panic.
#[must_use]
pub fn panic_words(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic without words")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deep(levels: usize) -> usize {
        let frame = std::hint::black_box([levels; 128]);
        if levels == 0 {
            return 0;
        }
        deep(levels - 1) + usize::from(frame[7] == levels)
    }

    #[test]
    fn deep_recursion_has_room() {
        let levels = 100_000;
        assert_eq!(run(Duration::MAX, move || deep(levels)), Ok(levels));
    }

    #[test]
    fn what_takes_too_long_is_given_up() {
        let limit = Duration::from_millis(5);
        let result = run(limit, || std::thread::sleep(Duration::from_secs(1)));
        assert_eq!(result, Err(LargeStackError::Time { limit }));
    }

    #[test]
    fn a_panic_comes_back_with_its_words() {
        let panicked = catch_unwind(|| run(Duration::MAX, || panic!("at {}", 7)));
        assert!(panicked.is_err_and(|payload| panic_words(&*payload) == "at 7"));
        assert_eq!(panic_words(&5), "a panic without words");
    }
}
