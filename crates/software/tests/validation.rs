//! The rules that `backend.rs` breaks and keeps on the software device, on the machine's Vulkan device: the
//! same calls, with the same kind of error or none, so both devices agree.
//!
//! Without a Vulkan adapter they run on the software device once more, which is shown;
//! `ZIGGURAT_REQUIRE_VULKAN=1` makes that a failure.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

/// Words of messages are not compared: they are wgpu's own here.
const DRIVER: bool = true;

#[path = "backend/agree.rs"]
mod agree;
#[path = "backend/bindings.rs"]
mod bindings;
#[path = "backend/buffers.rs"]
mod buffers;
#[path = "backend/encoding.rs"]
mod encoding;
#[path = "backend/mapping.rs"]
mod mapping;
#[path = "backend/passes.rs"]
mod passes;
#[path = "backend/pipelines.rs"]
mod pipelines;
#[path = "backend/queries.rs"]
mod queries;
#[path = "backend/scopes.rs"]
mod scopes;
#[path = "backend/support.rs"]
mod support;
