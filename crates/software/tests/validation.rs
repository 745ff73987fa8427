//! The rules that `backend.rs` breaks and keeps on the software device, on the machine's Vulkan device: the
//! same calls, with the same kind of error or none, so both devices agree.
//!
//! Without a Vulkan adapter they run on the software device once more, which is shown;
//! `ZIGGURAT_REQUIRE_VULKAN=1` makes that a failure.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

/// Words of messages are not compared: they are wgpu's own here.
const DRIVER: bool = true;

#[path = "all/backend/agree.rs"]
mod agree;
#[path = "all/backend/bindings.rs"]
mod bindings;
#[path = "all/backend/buffers.rs"]
mod buffers;
#[path = "all/backend/encoding.rs"]
mod encoding;
#[path = "all/backend/mapping.rs"]
mod mapping;
#[path = "all/backend/passes.rs"]
mod passes;
#[path = "all/backend/pipelines.rs"]
mod pipelines;
#[path = "all/backend/queries.rs"]
mod queries;
#[path = "all/backend/scopes.rs"]
mod scopes;
#[path = "all/backend/support.rs"]
mod support;
