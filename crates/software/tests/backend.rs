//! The rules of WebGPU that compute code can break, each broken and kept; mapping, running, faults.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

/// Tests run on the software device here, and on the machine's Vulkan device in `validation.rs`.
const DRIVER: bool = false;

#[path = "backend/absent.rs"]
mod absent;
#[path = "backend/bindings.rs"]
mod bindings;
#[path = "backend/buffers.rs"]
mod buffers;
#[path = "backend/encoding.rs"]
mod encoding;
#[path = "backend/faults.rs"]
mod faults;
#[path = "backend/mapping.rs"]
mod mapping;
#[path = "backend/opening.rs"]
mod opening;
#[path = "backend/passes.rs"]
mod passes;
#[path = "backend/pipelines.rs"]
mod pipelines;
#[path = "backend/queries.rs"]
mod queries;
#[path = "backend/running.rs"]
mod running;
#[path = "backend/scopes.rs"]
mod scopes;
#[path = "backend/support.rs"]
mod support;
