//! Tests of devices and their queue, in one program.
//!
//! `tracing.rs` has a program of its own: it needs a feature that nothing else here is built with.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests"
)]

#[path = "../common/mod.rs"]
mod common;

#[path = "../../../kernels/tests/common/campaign.rs"]
mod campaign;
#[path = "../../../software/tests/support/random.rs"]
mod random;

mod adapter;
mod any_calls;
mod executors;
mod failure;
mod late;
mod open;
mod queue;
mod reuse;
mod software;
mod wakers;
