//! Tensors on any GPU: the top of Ziggurat.
//!
//! ```
//! # use ziggurat_tensor::doc;
//! use ziggurat_tensor::{DType, Tensor};
//!
//! # let Some(device) = doc::device() else { return Ok(()) };
//! let a = Tensor::from_slice(&device, &[1.0f32, 2.0, 3.0, 4.0], [2, 2])?;
//! let b = Tensor::eye(&device, 2, DType::F32)?;
//! let c = (a.matmul(&b)? * &a - &b)?.sqrt()?;
//! println!("{c}");
//! assert_eq!(c.dims(), [2, 2]);
//! # Ok::<(), ziggurat_tensor::Error>(())
//! ```
//!
//! [`Device`] opens an adapter, [`Tensor`] holds values, [`io`] reads and writes files, [`CustomKernel`] runs own WGSL, and
//! [`interop`] shares a device with other wgpu code. Operations return at once and their effects are in order; only reading
//! waits, as a future or, on native targets, in the `_blocking` forms.
//!
//! Axes, positions and diagonals are `isize`, and negative ones count from the end; extents, counts and sizes are `usize`,
//! but where one of several extents may be -1 ([`Tensor::reshape`], `view`, `expand`, `unflatten`). Constructors take the
//! device, the shape, then what fills it.
//!
//! Elementwise operations (arithmetic, comparisons, functions, casts, choices) are *lazy*: they wait until a value is needed,
//! by another kind of operation, a read or [`Tensor::eval`], and then run as one kernel with one result in memory.
//! [`Tensor::explain`] shows it, [`FusionPolicy`] switches it off.
//!
//! Invariants: every mistake of a caller is an [`Error`], never a panic; no WGSL in this crate; no wgpu type in a public
//! signature outside [`interop`].

mod capture;
mod custom;
mod device;
mod display;
#[cfg(not(target_arch = "wasm32"))]
#[doc(hidden)]
pub mod doc;
mod error;
mod index_checks;
pub mod interop;
pub mod io;
mod kv_cache;
mod lazy;
mod node;
mod operand;
mod operators;
mod ops;
mod range;
#[cfg(all(feature = "software", not(target_arch = "wasm32")))]
mod sanitize;
mod scalar;
mod tensor;

pub use capture::{Captured, CapturedKernel};
pub use custom::{CustomCall, CustomKernel};
pub use device::Device;
pub use display::Printed;
pub use error::Error;
pub use kv_cache::KvCache;
pub use lazy::{ExplainedKernel, Explanation, FusionPolicy, FusionScope};
pub use operand::Operand;
pub use ops::DepthOrder;
pub use ops::{AspectRatio, InterpolateMode, InterpolateOptions};
pub use ops::{
    Attention, BatchNormTrained, MaskedRows, QueryPosition, RopeForm, RopeTable, ScoreStage,
};
pub use ops::{Closeness, CrossEntropyOptions, GateHalf, Reduction};
pub use ops::{
    Conv1dOptions, Conv2dOptions, Conv3dOptions, ConvOptions, ConvTranspose1dOptions,
    ConvTranspose2dOptions, ConvTranspose3dOptions, ConvTransposeOptions, Pool1dOptions,
    Pool2dOptions, Pool3dOptions, PoolOptions,
};
pub use ops::{Generator, Unique};
pub use range::AxisRange;
pub use scalar::{Scalar, scalar};
#[cfg(not(target_arch = "wasm32"))]
pub use tensor::read_many_blocking;
pub use tensor::{Nested, Tensor, read_many};
pub use ziggurat_kernels::{Coordinates, NearestMode, ResizeMode, ResizeOptions};
pub use ziggurat_kernels::{GemmOptions, GridMode, GridPadding, GridSampleOptions};

pub use ziggurat_core::{DType, Element, Layout, MAX_RANK, Shape, bf16, f16};
/// The software device: profiles, and the sanitizer for kernels of one's own.
#[cfg(all(feature = "software", not(target_arch = "wasm32")))]
pub use ziggurat_device::ziggurat_software as software;
pub use ziggurat_device::{
    AdapterKind, AdapterSummary, AdapterWish, Caps, DeviceOptions, KernelTime, PowerPreference,
    Reuse, SoftwareWish, adapters,
};
#[cfg(not(target_arch = "wasm32"))]
pub use ziggurat_device::{adapters_blocking, block_on};
pub use ziggurat_kernels::{Pad, ScanOptions, Scatter, View};
pub use ziggurat_memory::Usage;
pub use ziggurat_pipeline::PipelineStats;

/// The programs in the README compile.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
