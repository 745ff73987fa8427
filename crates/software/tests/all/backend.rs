//! The rules of WebGPU that compute code can break, each broken and kept; mapping, running, faults.

/// Tests run on the software device here, and on the machine's Vulkan device in `validation.rs`.
const DRIVER: bool = false;

mod absent;
mod bindings;
mod buffers;
mod encoding;
mod faults;
mod mapping;
mod opening;
mod passes;
mod pipelines;
mod queries;
mod running;
mod scopes;
mod support;
