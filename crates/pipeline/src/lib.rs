#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]
//!
//! # Overview
//!
//!
//! - source text from whole files, with errors that name file and line: [`ShaderSource`], [`PipelineError`]
//! - reflection by naga, with overrides resolved: [`reflect`], [`Reflection`]; warnings of barriers that some do not reach: [`KernelWarning`]; what the device's compiler says of a text: [`Pipelines::messages`]
//! - a pipeline cache in memory (full content as key, one creation per key) and on disk
//! - kernels compiled ahead of their use, from a list or a recorded trace: [`Pipelines::prewarm`], [`Trace`]
//! - grids from element counts: [`Grid`]
//! - bind groups and parameters: [`Pipelines::dispatch`], [`Arg`]
//! - structs of Rust with the bytes of a WGSL struct, and WGSL files checked when a program is compiled: [`KernelParams`](trait@KernelParams), [`kernel!`]
//! - what measurements chose, and measuring workgroup sizes: [`TuningStore`], [`Pipelines::tune`]
//!
//! Invariants: this is the only crate that creates shader modules, pipelines and bind groups. It knows no op and no
//! tensor. Every mistake in a dispatch is an error before anything is recorded.

mod arguments;
#[cfg(not(target_arch = "wasm32"))]
mod autosave;
mod bind;
mod compile;
mod copy;
mod debug;
mod descriptor;
#[cfg(not(target_arch = "wasm32"))]
mod disk;
#[cfg(not(target_arch = "wasm32"))]
mod disk_cache;
mod dispatch;
mod envelope;
mod error;
mod feature;
mod grid;
mod indirect;
mod kernel;
mod kernel_params;
mod launch;
mod library;
mod messages;
mod observe;
mod once_map;
#[cfg(not(target_arch = "wasm32"))]
mod ordered_loads;
mod param_bytes;
mod params;
mod pipelines;
mod place;
mod prepared;
mod profile;
mod quick_hash;
mod reflect;
#[cfg(all(feature = "software", not(target_arch = "wasm32")))]
mod sanitize;
mod shader_limits;
mod source;
mod stated;
mod stats;
mod tape;
mod trace;
mod tuning;
mod warning;
#[cfg(not(target_arch = "wasm32"))]
mod workers;

pub use ziggurat_core::DType;
pub use ziggurat_core::debug_print::{DebugPrint, DebugPrints, DebugValue, StatementKind, Value};
pub use ziggurat_device as device;
pub use ziggurat_device::ShaderFeature;
pub use ziggurat_macros::KernelParams;
pub use ziggurat_memory as memory;

pub use arguments::Arg;
pub use copy::{COPY_PARAMS, copy_kernels};
pub use descriptor::{Checks, KernelDescriptor, KernelKey};
pub use error::{ArgumentError, LimitError, PipelineError};
pub use feature::ShaderFeatures;
pub use grid::{Grid, GridOverflow};
pub use kernel::Kernel;
pub use kernel_params::{KernelParams, ParamField, ParamType};
pub use library::ShaderLibrary;
pub use messages::{CompileMessage, MessageKind};
pub use observe::{
    DispatchObserver, ObservedBuffer, ObservedDispatch, ObservedWorkgroups, observe_dispatches,
};
pub use params::{IMMEDIATE_PART, UNIFORM_PART, params_part};
pub use pipelines::{Pipelines, Prewarm, PrewarmStep, Prewarmed};
pub use place::Place;
pub use prepared::PreparedDispatch;
pub use profile::Profiling;
pub use quick_hash::{QuickHasher, QuickMap};
#[cfg(any(feature = "naga", not(target_arch = "wasm32")))]
pub use reflect::divergent_barriers;
pub use reflect::{
    Access, Binding, GridInputs, Member, Override, ParamSpace, Params, Reflection, Resource,
    Scalar, WorkgroupVariable, check_limits, reflect, reflect_within,
};
pub use shader_limits::ShaderLimits;
pub use source::{ShaderSource, SourcePart};
pub use stated::with_flops;
pub use stats::PipelineStats;
pub use tape::{Tape, TapeScope, TapedDispatch};
pub use trace::{Trace, TraceError};
pub use tuning::{
    CandidateTime, KernelCandidate, KernelTimes, KernelWork, Patience, RunTime, Tuned, TuningKey,
    TuningRejected, TuningStore, interleaved,
};
pub use warning::KernelWarning;

/// A typed struct of a WGSL file, which is read when the program is compiled: what is wrong with it is an error of the
/// compiler with file, line and column of the WGSL.
///
/// `kernel!("blur.wgsl")` makes a struct `Blur`, whose fields are those of the shader's parameters, for the file in the folder of
/// the source file or of the package. Its method `dispatch` takes what the shader binds, and a [`Grid`]: one buffer is an argument;
/// several buffers, textures and samplers are the fields of a struct `BlurArgs`, by the names that they have in the shader, so
/// that none takes another's place. `Blur::descriptor()` is for [`Pipelines::kernel`]. A name, a visibility and an entry point may be said:
/// `kernel!(pub Smooth = "shaders/blur.wgsl", entry = "horizontal")`.
///
/// Where `scale.wgsl` is
///
/// ```text
/// struct Params { factor: f32, size: vec2<u32> }
/// @group(0) @binding(0) var<uniform> params: Params;
/// @group(0) @binding(1) var<storage, read_write> image: array<f32>;
/// @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
///     if id.x < params.size.x * params.size.y { image[id.x] *= params.factor; }
/// }
/// ```
///
/// this is a program:
///
/// ```ignore
/// ziggurat_pipeline::kernel!("scale.wgsl");
///
/// let scale = Scale { factor: 0.5, size: [640, 480] };
/// scale.dispatch(&pipelines, &image, Grid::elements(640 * 480, 1))?;
/// ```
pub use ziggurat_macros::buffer_kernel as kernel;

/// The trait of typed parameters without its macro, for crates above that have a macro of their own.
#[doc(hidden)]
pub mod typed {
    pub use crate::kernel_params::{KernelParams, ParamField, ParamType};
}
