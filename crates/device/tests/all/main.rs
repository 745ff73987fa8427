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

mod adapter;
mod executors;
mod failure;
mod late;
mod open;
mod queue;
mod reuse;
mod software;
mod wakers;
