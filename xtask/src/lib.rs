//! What the chores share: other programs, signs of life, and where the workspace is.
//!
//! Without dependencies. `cargo xtask` is built from this in seconds and starts everything else: the demo, cargo's own
//! commands, and the package `xtask-checks`, which is linked with the layers.

#![allow(
    clippy::print_stdout,
    clippy::missing_errors_doc,
    reason = "chores speak to a terminal; each error is a sentence for it"
)]

pub mod failure;
pub mod process;
pub mod progress;
pub mod workspace;
