//! How many threads can compute at once.

use std::num::NonZero;
use std::sync::OnceLock;
use std::thread::available_parallelism;

/// The processors that this process may use, at least 1: asked of the system once, which takes as long as many a small
/// dispatch.
#[must_use]
pub fn processors() -> usize {
    static KNOWN: OnceLock<usize> = OnceLock::new();
    *KNOWN.get_or_init(|| available_parallelism().map_or(1, NonZero::get))
}
