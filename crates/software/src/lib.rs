#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! Ziggurat's software device: WGSL compute shaders on the CPU, behind wgpu's own interface.
//!
//! [`open`] gives the adapter, device and queue that any code written for wgpu takes; no driver is
//! involved. A [`Profile`] says which kind of GPU to look like: limits, features, subgroup size and
//! memory, so that code that chooses by them takes the same way as on that GPU.
//!
//! Two parts that know each other only through a few types: the *engine* compiles and runs one
//! entry point over buffers; the *backend* is everything else of WebGPU: objects, validation, error
//! scopes, mapping, command lists, faults on request.
//!
//! Compute only. Textures, samplers, render pipelines and ray tracing give validation errors.
//! On the web this crate is empty: a browser brings its own device.
#![cfg(not(target_arch = "wasm32"))]

mod backend;
mod engine;
mod profile;
mod sanitize;

pub use backend::{
    OpenError, Software, adapter, is_checked, mark_own, mark_undefined, memory_bytes, name_lines,
    open, take_debug_prints,
};
pub use profile::Profile;
pub use sanitize::{
    Checks, Finding, Invocation, Kind, Opened, Program, Report, SanitizeError, Sanitizer, Side,
    Target, UnknownKind, assert_clean, sanitize, sanitize_with,
};
pub use ziggurat_core::debug_print::{DebugPrint, DebugPrints, DebugValue, Value};
