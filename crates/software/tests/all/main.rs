//! Tests of the software device, in one program.
//!
//! Programs of their own have `validation`, which has the modules of `backend` once more with the machine's Vulkan
//! adapter, and `fuzz`, which takes over the process's panic hook.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

#[path = "../support/random.rs"]
mod random;

mod backend;
mod catalogue;
mod coverage;
mod debug_print;
mod differential;
mod features;
mod sanitizer;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
