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

mod apart;
mod arg_reduce;
mod assemble;
mod assembled;
mod attention;
mod capture;
mod catalogue;
mod choice;
mod completion;
mod composite;
mod concat;
mod conv;
mod einsum;
mod elementwise;
mod error;
mod executor;
pub mod fused;
mod grid_sample;
mod index;
mod launch;
mod linalg;
mod list;
mod loss;
mod matmul;
mod meshgrid;
mod norm;
mod numerics;
mod pad;
mod params;
mod pattern;
mod pool;
mod prelude;
mod random;
mod reduce;
pub mod reference;
mod resize;
mod rope;
#[cfg(all(feature = "software", not(target_arch = "wasm32")))]
mod sanitize;
mod scan;
mod select;
mod shaders;
mod softmax;
mod sort;
mod turns;
mod view;

pub use ziggurat_core as core;
pub use ziggurat_pipeline as pipeline;
pub use ziggurat_pipeline::{device, memory};

pub use ziggurat_core::{DType, Element, Layout, Shape, ShapeError};

pub use arg_reduce::ArgReduce;
pub use assembled::{ASSEMBLED, Assembled};
pub use attention::{AttentionOperands, AttentionOptions};
pub use capture::Captured;
pub use catalogue::{Variant, catalogue};
pub use completion::{Completion, Counted, Download, DownloadMany};
pub use composite::{BrokenRule, Composer, Composite, CompositeKind, CompositeSpec, formulas};
pub use conv::{Conv2dOptions, ConvOptions, ConvTransposeOptions};
pub use einsum::{Arranged, Contraction, ContractionStep};
pub use elementwise::binary::Binary;
pub use elementwise::compare::Compare;
pub use elementwise::predicate::Predicate;
pub use elementwise::row::{BinarySpec, CompareSpec, PredicateSpec, Samples, Tolerance, UnarySpec};
pub use elementwise::unary::Unary;
pub use error::KernelError;
pub use executor::Executor;
pub use fused::{
    Expression, FusedInput, FusedLimits, FusedOp, FusedOperands, FusedOutput, FusedReader,
    PreparedFused, WalkInput,
};
pub use grid_sample::{GridMode, GridPadding, GridSampleOptions};
pub use index::Scatter;
pub use loss::{ClassLossOptions, CrossEntropyOptions, Reduction};
pub use matmul::GemmOptions;
pub use meshgrid::Grids;
pub use norm::{Affine, ChannelAffine, Channels, Norm, statistics_axes};
pub use numerics::Numerics;
pub use pad::Pad;
pub use params::{ParamField, ParamType, Params};
pub use pool::{Pool, Pool2dOptions, PoolOptions};
pub use random::{Random, RandomState};
pub use reduce::Reduce;
pub use resize::{Coordinates, NearestMode, ResizeAxis, ResizeMode, ResizeOptions};
pub use rope::{ROPE_READS, RopeOptions, RopePositions};
pub use scan::{Scan, ScanOptions};
pub use select::Unique;
pub use softmax::SOFTMAX_READS;
pub use view::View;
