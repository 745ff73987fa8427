#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]
//!
//! # Overview
//!
//! | to | see |
//! | --- | --- |
//! | open a GPU, or the CPU | [`Device`], [`DeviceOptions`], [`adapters`] |
//! | make tensors | [`Tensor::from_slice`], [`Tensor::zeros`], [`Tensor::arange`], [`Generator`] with [`Tensor::randn`] |
//! | compute | the operators, and the methods of [`Tensor`]: [`matmul`](Tensor::matmul), [`sum`](Tensor::sum), [`softmax`](Tensor::softmax), … |
//! | change shapes without copies | [`reshape`](Tensor::reshape), [`permute`](Tensor::permute), [`slice`](Tensor::slice), [`expand`](Tensor::expand) |
//! | get values | [`to_vec`](Tensor::to_vec), [`item`](Tensor::item), `println!("{tensor}")` |
//! | read and write files | [`io`] |
//! | see what runs, and how long | [`Tensor::explain`], [`Device::set_profiling`], [`Device::usage`] |
//! | repeat a computation without planning | [`Device::capture`] |
//! | run own WGSL | [`TensorKernel`], of which one writes only the body; [`CustomKernel`], a whole shader |
//! | share a device with other wgpu code | [`interop`] |
//!
//! Operations return at once, and their effects are in order. Only reading waits: as a future or, on native targets, in
//! the `_blocking` forms ([`block_on`] runs a future).
//!
//! Axes, positions and diagonals are `isize`, and negative ones count from the end; extents, counts and sizes are `usize`,
//! but where one of several extents may be -1 ([`Tensor::reshape`], `view`, `expand`, `unflatten`). Constructors take the
//! device, the shape, then what fills it.
//!
//! Elementwise operations are *lazy*: they run when a value is needed by another kind of operation, a read or
//! [`Tensor::eval`]; several of them run as one kernel. [`Tensor::explain`] shows it, [`FusionPolicy`] switches it off.
//!
//! Invariants: a caller's mistake is an [`Error`], never a panic; no WGSL in this crate; no wgpu type in a public
//! signature outside [`interop`].

mod capture;
#[cfg(all(feature = "software", not(target_arch = "wasm32")))]
mod check_kernel;
mod custom;
mod custom_op;
mod custom_reduce;
mod custom_scan;
mod device;
mod display;
mod error;
mod few;
mod index_checks;
pub mod interop;
pub mod io;
mod kv_cache;
mod kv_slots;
mod lazy;
mod named;
mod node;
mod observe;
mod once;
mod operand;
mod operators;
mod ops;
mod precision;
mod range;
#[cfg(all(feature = "software", not(target_arch = "wasm32")))]
mod sanitize;
mod scalar;
mod scopes;
mod sequence;
mod tensor;
mod tensor_kernel;
mod tune;

pub use capture::{Captured, CapturedKernel, MemoryPlan};
#[cfg(all(feature = "software", not(target_arch = "wasm32")))]
pub use check_kernel::{
    HostValues, KernelCheck, KernelReport, KernelToCheck, WorstElement, check_kernel,
};
pub use custom::{CustomCall, CustomKernel};
pub use custom_op::CustomOp;
pub use custom_reduce::CustomReduce;
pub use custom_scan::CustomScan;
pub use device::Device;
pub use display::Printed;
pub use error::Error;
pub use kv_cache::KvCache;
pub use kv_slots::{KvSlots, SlotPositions};
pub use lazy::{Bottleneck, Roof, Roofline, RooflineRow};
pub use lazy::{ExplainedKernel, Explanation, FusionPolicy, FusionScope, NotFused, PlanStats};
#[cfg(not(target_arch = "wasm32"))]
pub use observe::{
    Accuracy, CallDifference, CallNotRun, CallRecording, RecordedCalls, ReplayOptions, ReplayReport,
};
pub use observe::{NanReport, NanTrace, NonFinite};
pub use operand::Operand;
pub use ops::DepthOrder;
pub use ops::{AspectRatio, InterpolateMode, InterpolateOptions};
pub use ops::{
    Attention, BatchNormTrained, MaskedRows, QueryPosition, RopeForm, RopeTable, ScoreStage,
};
pub use ops::{Closeness, CrossEntropyOptions, GateHalf, Reduction};
pub use ops::{GemmOptions, Generator, Unique};
pub use ops::{QuantizedLinearOptions, QuantizedTensor};
pub use precision::PrecisionScope;
pub use range::AxisRange;
pub use scalar::{Scalar, scalar};
pub use sequence::{Sequence, SequenceBuffer, SequenceStep};
#[cfg(not(target_arch = "wasm32"))]
pub use tensor::read_many_blocking;
pub use tensor::{Nested, Tensor, read_many};
pub use tensor_kernel::{Any, InputType, KernelParam, OutputType, TensorCall, TensorKernel, like};
pub use ziggurat_kernels::MatmulPrecision;
pub use ziggurat_kernels::{Conv1dOptions, Conv2dOptions, Conv3dOptions, ConvOptions};
pub use ziggurat_kernels::{
    ConvTranspose1dOptions, ConvTranspose2dOptions, ConvTranspose3dOptions, ConvTransposeOptions,
    Pool1dOptions, Pool2dOptions, Pool3dOptions, PoolOptions,
};
pub use ziggurat_kernels::{Coordinates, NearestMode, ResizeMode, ResizeOptions};
pub use ziggurat_kernels::{GridMode, GridPadding, GridSampleOptions};

pub use ziggurat_core::{BlockFormat, DType, Element, Layout, MAX_RANK, Shape, bf16, f16};
/// The software device: profiles, and the sanitizer for kernels of one's own.
#[cfg(all(feature = "software", not(target_arch = "wasm32")))]
pub use ziggurat_device::ziggurat_software as software;
pub use ziggurat_device::{
    AdapterKind, AdapterSummary, AdapterWish, Caps, DeviceOptions, KernelTime, MemoryBytes,
    PowerPreference, Reuse, ShaderFeature, SoftwareWish, adapters,
};
#[cfg(not(target_arch = "wasm32"))]
pub use ziggurat_device::{adapters_blocking, block_on};
pub use ziggurat_kernels::{Pad, ScanOptions, Scatter, View};
pub use ziggurat_kernels::{
    TuneEnd, TuneOptions, TuneReport, TuneStep, TunedOutcome, TunedProblem, TunedWay, WayOutcome,
};
pub use ziggurat_macros::TensorKernelParams as KernelParams;
/// A typed struct of a WGSL file with a kernel on tensors, which is read when the program is compiled: what is wrong with it
/// is an error of the compiler with file, line and column of the WGSL.
///
/// `kernel!("blur.wgsl")` makes a struct `Blur`, whose fields are those of the shader's parameters, for the file in the folder of
/// the source file or of the package. `Blur { sigma: 2.0 }.run(&image)` takes the tensor for the shader's read-only buffer; several
/// are the fields of a struct, by the names of the shader, so that none takes another's place:
/// `Blend { share: 0.5 }.run(BlendArgs { over: &a, under: &b })`. The only `read_write` buffer is behind them and is the result.
/// `call` instead of `run` gives a [`CustomCall`], of which shape and grid can be said. A name, a visibility and an entry point
/// may be given: `kernel!(pub Smooth = "shaders/blur.wgsl", entry = "horizontal")`.
pub use ziggurat_macros::kernel;
pub use ziggurat_memory::{MemoryKind, MemoryReport, MemoryRow, Usage};
pub use ziggurat_pipeline::typed::{KernelParams, ParamField, ParamType};
pub use ziggurat_pipeline::{CandidateTime, KernelCandidate, KernelTimes, RunTime};
pub use ziggurat_pipeline::{DebugPrint, DebugPrints, DebugValue, KernelWarning, StatementKind};
pub use ziggurat_pipeline::{PipelineStats, Tuned, TuningKey, TuningRejected, TuningStore};
