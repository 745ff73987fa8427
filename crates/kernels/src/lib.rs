//! Ziggurat's kernels layer: an op catalogue in WGSL, and an async [`Executor`] over buffers and layouts.
//!
//! For those who write an engine or a backend of their own: no tensor, no graph, outputs given by the caller. Each op
//! is recorded at once and returns a future for its completion; the device runs ops in the order they were called.
//!
//! Invariants: this is the only crate with WGSL and op names; kernels are chosen by pure functions; nothing blocks
//! except what says so (`*_blocking`, `wait`), and that does not exist on the web.
//!
//! What only looks at memory differently has no method: make a [`View`] with another [`Layout`] (`permute`, `slice`, `select`,
//! `flip`, `expand`, `reshape`, …) or dtype (a bitcast), and [`Executor::copy`] it where dense memory is wanted; copying *into*
//! such a view assigns a slice, appends to a cache, repeats or rolls. A number stands wherever a view does, as
//! [`Executor::scalar`] (`where_` with one is a masked fill). Results whose size the values decide are [`Counted`].
//!
//! ```no_run
//! # async fn example() -> Result<(), ziggurat_kernels::KernelError> {
//! use ziggurat_kernels::{DType, Executor, Shape, device::DeviceOptions};
//!
//! let exec = Executor::open(DeviceOptions::default()).await?;
//! let shape = Shape::new([3]).map_err(|source| ziggurat_kernels::KernelError::Shape { op: "example", source })?;
//! let a = exec.upload(&[1.0_f32, 2.0, 3.0], &shape)?;
//! let out = exec.alloc(&shape, DType::F32)?;
//! let _done = exec.add(&a, &exec.scalar(DType::F32, 1.0)?, &out)?;
//! let bytes = exec.download(&out)?.await?;
//! # Ok(()) }
//! ```

// Without the catalogue nobody asks families for their variants.
#![cfg_attr(
    not(feature = "catalogue"),
    allow(dead_code, unreachable_pub, unused_imports)
)]

#[cfg(feature = "catalogue")]
mod catalogue;
mod compose;
pub mod fused;
mod limits;
mod num;
mod ops;
#[cfg(feature = "catalogue")]
pub mod reference;
mod run;
mod source;

pub use ziggurat_core as core;
pub use ziggurat_pipeline as pipeline;
pub use ziggurat_pipeline::{device, memory};

pub use ziggurat_core::{DType, Element, Layout, Shape, ShapeError};

#[cfg(feature = "catalogue")]
pub use catalogue::assembled::{ASSEMBLED, Assembled};
#[cfg(feature = "catalogue")]
pub use catalogue::catalogue;
pub use compose::composite::Composite;
#[doc(hidden)]
pub use compose::composite::{BrokenRule, Composer, CompositeKind, CompositeSpec, formulas};
#[doc(hidden)]
pub use compose::einsum::{Arranged, Contraction, ContractionStep};
pub use compose::gemm::GemmOptions;
pub use compose::loss::{ClassLossOptions, CrossEntropyOptions, Reduction};
pub use compose::meshgrid::Grids;
pub use fused::{
    Expression, FusedInput, FusedLimits, FusedOp, FusedOperands, FusedOutput, FusedReader,
    PreparedFused,
};
pub use ops::arg_reduce::ArgReduce;
pub use ops::attention::{AttentionOperands, AttentionOptions};
pub use ops::conv::{Conv2dOptions, ConvOptions, ConvTransposeOptions};
pub use ops::elementwise::binary::Binary;
pub use ops::elementwise::compare::Compare;
pub use ops::elementwise::predicate::Predicate;
#[doc(hidden)]
pub use ops::elementwise::row::{BinarySpec, CompareSpec, PredicateSpec, UnarySpec};
#[cfg(feature = "catalogue")]
pub use ops::elementwise::tolerance::{Samples, Tolerance};
pub use ops::elementwise::unary::Unary;
pub use ops::grid_sample::{GridMode, GridPadding, GridSampleOptions};
pub use ops::index::Scatter;
#[doc(hidden)]
pub use ops::norm::statistics_axes;
pub use ops::norm::{Affine, ChannelAffine, Channels, Norm};
pub use ops::numerics::Numerics;
pub use ops::pad::Pad;
pub use ops::pool::{Pool, Pool2dOptions, PoolOptions};
pub use ops::random::{Random, RandomState};
pub use ops::reduce::Reduce;
#[doc(hidden)]
pub use ops::reduce::{ReduceDTypes, ReduceSpec};
pub use ops::resize::{Coordinates, NearestMode, ResizeAxis, ResizeMode, ResizeOptions};
pub use ops::rope::{RopeOptions, RopePositions, RopeRows};
pub use ops::scan::{Scan, ScanOptions};
pub use ops::select::Unique;
pub use ops::softmax::SoftmaxKind;
pub use run::call::{Axes, Call, F32Bits, Operands, ReduceOp, Sink, Source};
pub use run::capture::Captured;
pub use run::completion::{Completion, Counted, Download, DownloadMany};
pub use run::error::{CannotFuse, KernelError};
pub use run::executor::Executor;
pub use run::plan::Plan;
pub use run::view::View;
#[cfg(feature = "catalogue")]
pub use source::candidate::Variant;
#[doc(hidden)]
pub use source::params::{ParamField, ParamType, Params};
