#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]
//!
//! # Overview
//!
//! [`Executor`] has one method per op. A [`View`] is a buffer with a layout and a dtype; ops read views and write views
//! that the caller provides ([`Executor::alloc`]). Ops run on the device in the order of their calls.
//!
//! Invariants: this is the only crate with WGSL and op names; kernels are chosen by pure functions; nothing blocks
//! except what says so (`*_blocking`, `wait`), and that does not exist on the web.
//!
//! Movement without computation needs no op: make a [`View`] with another [`Layout`] (`permute`, `slice`, `select`, `flip`,
//! `expand`, `reshape`) or dtype (a bitcast), and [`Executor::copy`] it where dense memory is needed. Copying *into* such
//! a view assigns a slice, appends to a cache, repeats or rolls. [`Executor::scalar`] is a view of one number, for
//! operands (`where_` with one is a masked fill). Results whose size depends on values are [`Counted`].

#![cfg_attr(
    not(feature = "catalogue"),
    allow(
        dead_code,
        unreachable_pub,
        unused_imports,
        reason = "without the catalogue nobody asks families for their variants"
    )
)]

#[cfg(feature = "catalogue")]
mod catalogue;
mod compose;
pub mod fused;
mod limits;
mod num;
mod ops;
mod own;
#[cfg(feature = "catalogue")]
pub mod reference;
mod run;
mod source;
mod tune;

pub use ziggurat_core as core;
pub use ziggurat_pipeline as pipeline;
pub use ziggurat_pipeline::{device, memory};

pub use ziggurat_core::{BlockFormat, DType, Element, Layout, Shape, ShapeError};

#[cfg(feature = "catalogue")]
pub use catalogue::assembled::{ASSEMBLED, Assembled};
#[cfg(feature = "catalogue")]
pub use catalogue::catalogue;
pub use compose::composite::Composite;
#[doc(hidden)]
pub use compose::composite::{BrokenRule, Composer, CompositeKind, CompositeSpec};
pub use fused::{
    Expression, FusedInput, FusedLimits, FusedOp, FusedOutput, FusedReader, MAX_OPERANDS, UserOp,
};
pub use ops::arg_reduce::ArgReduce;
pub use ops::attention::{AttentionOperands, AttentionOptions};
pub use ops::conv::{Conv1dOptions, Conv2dOptions, Conv3dOptions, ConvOptions};
pub use ops::conv::{
    ConvTranspose1dOptions, ConvTranspose2dOptions, ConvTranspose3dOptions, ConvTransposeOptions,
};
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
pub use ops::matmul::precision::MatmulPrecision;
pub use ops::norm::{Affine, Channels, Norm};
pub use ops::numerics::Numerics;
pub use ops::pad::Pad;
pub use ops::pool::{Pool, Pool1dOptions, Pool2dOptions, Pool3dOptions, PoolOptions};
pub use ops::quantised::{BlockShape, Blocks, LinearForm};
pub use ops::random::{Random, RandomState};
pub use ops::reduce::{Reduce, UserCombine};
#[doc(hidden)]
pub use ops::reduce::{ReduceDTypes, ReduceSpec};
pub use ops::resize::{Coordinates, NearestMode, ResizeAxis, ResizeMode, ResizeOptions};
pub use ops::rope::{RopeAppend, RopeAppended, RopeOptions, RopePositions, RopeRows};
pub use ops::scan::{Scan, ScanOp, ScanOptions};
pub use ops::select::Unique;
pub use ops::softmax::SoftmaxKind;
pub use own::{ElementKernel, ParamType as ElementParam, SHADER_NAMES};
pub use run::call::{Axes, Call, CallKind, F32Bits, Operands, ReduceOp, Sink, Source};
pub use run::call_text::CallTextError;
pub use run::capture::Captured;
pub use run::completion::{Completion, Counted, Download, DownloadMany};
pub use run::error::{CannotFuse, KernelError};
pub use run::executor::Executor;
pub use run::plan::Plan;
pub use run::program::{Noting, Program};
pub use run::view::View;
#[cfg(feature = "catalogue")]
pub use source::candidate::Variant;
#[doc(hidden)]
pub use source::params::{ParamField, ParamType, Params};
pub use tune::{
    Problems, TuneEnd, TuneOptions, TuneReport, TuneStep, TunedOutcome, TunedProblem, TunedWay,
    WayOutcome,
};
