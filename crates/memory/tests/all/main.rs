//! Tests of memory on a device that computes nothing, in one program.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

#[path = "../../../kernels/tests/common/campaign.rs"]
mod campaign;
#[path = "../common/mod.rs"]
mod common;

mod any_calls;
mod borrowed_reads;
mod loss;
mod pool;
mod reads;
mod round_trip;
mod threads;
mod uniform;
mod wakers;
