//! The programs of cookbook.md, on the adapter that the environment chooses.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests, and programs that print"
)]

mod cookbook;
