//! Ziggurat's pipeline layer: any WGSL, checked and compiled once, dispatched in order with everything else.
//!
//! What it does, and each part's reason, is in the modules:
//!
//! - source text from whole files, with errors that name file and line: [`ShaderSource`], [`PipelineError`]
//! - reflection by naga, with overrides resolved: [`reflect`], [`Reflection`]
//! - a pipeline cache in memory (full content as key, one creation per key) and on disk
//! - kernels compiled ahead of their use, from a list or a recorded trace: [`Pipelines::prewarm`], [`Trace`]
//! - grids from element counts: [`Grid`]
//! - bind groups and parameters: [`Pipelines::dispatch`], [`Arg`]
//!
//! Invariants: this is the only crate that creates shader modules, pipelines and bind groups. It knows no op and no
//! tensor. Every mistake in a dispatch is an error before anything is recorded.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use ziggurat_pipeline::device::{Device, DeviceOptions};
//! use ziggurat_pipeline::memory::{Memory, MemoryOptions};
//! use ziggurat_pipeline::{Arg, Grid, KernelDescriptor, Pipelines, ShaderSource};
//!
//! let device = Device::open_blocking(DeviceOptions::default())?;
//! let memory = Memory::new(&device, MemoryOptions::default());
//! let pipelines = Pipelines::new(&memory);
//! let kernel = pipelines.kernel(&KernelDescriptor::new(ShaderSource::wgsl(
//!     "double",
//!     "@group(0) @binding(0) var<storage, read_write> x: array<u32>;
//!      @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
//!          if id.x < arrayLength(&x) { x[id.x] *= 2u; }
//!      }",
//! )))?;
//! let x = memory.upload(&[1, 0, 0, 0, 2, 0, 0, 0])?;
//! pipelines.dispatch(&kernel, &[Arg::write(&x)], &[], Grid::elements(2, 1))?;
//! assert_eq!(memory.read(&x, 0..8)?.wait()?, [2, 0, 0, 0, 4, 0, 0, 0]);
//! # Ok(()) }
//! ```

#[cfg(not(target_arch = "wasm32"))]
mod autosave;
mod bind;
mod compile;
mod copy;
mod descriptor;
#[cfg(not(target_arch = "wasm32"))]
mod disk;
#[cfg(not(target_arch = "wasm32"))]
mod disk_cache;
mod dispatch;
mod error;
mod feature;
mod grid;
mod kernel;
mod once_map;
mod params;
mod pipelines;
mod place;
mod profile;
mod quick_hash;
mod reflect;
#[cfg(all(feature = "software", not(target_arch = "wasm32")))]
mod sanitize;
mod shader_limits;
mod source;
mod stats;
mod tape;
mod trace;
#[cfg(not(target_arch = "wasm32"))]
mod workers;

pub use ziggurat_core::DType;
pub use ziggurat_device as device;
pub use ziggurat_memory as memory;

pub use copy::{COPY_PARAMS, copy_kernels};
pub use descriptor::{KernelDescriptor, KernelKey};
pub use dispatch::Arg;
pub use error::PipelineError;
pub use feature::{ShaderFeature, ShaderFeatures};
pub use grid::{Grid, GridOverflow};
pub use kernel::Kernel;
pub use params::{IMMEDIATE_PART, UNIFORM_PART, params_part};
pub use pipelines::{Pipelines, Prewarm, PrewarmStep, Prewarmed};
pub use profile::Profiling;
pub use quick_hash::{QuickHasher, QuickMap};
pub use reflect::{
    Access, Binding, Member, Override, ParamSpace, Params, Reflection, Scalar, WorkgroupVariable,
    check_limits, reflect, reflect_within,
};
pub use shader_limits::ShaderLimits;
pub use source::{ShaderSource, SourcePart};
pub use stats::PipelineStats;
pub use tape::{Tape, TapeScope, TapedDispatch};
pub use trace::{Trace, TraceError};
