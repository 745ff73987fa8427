#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]
//!
//! # Overview
//!
//! [`Device::open`] picks an adapter by a pure ranking ([`select`]), asks it for its real limits
//! and the optional features the layers above can use, and reports what it got as [`Caps`].
//! Everything that runs on the GPU is recorded through [`Device::record`] into one open batch, so
//! record order is execution order, whichever thread records. A [`Completion`] is an ordinary
//! future: any executor can await it, because one thread per device drives wgpu's callbacks.
//!
//! Invariants:
//! * this is the only crate that requests adapters and devices, creates command encoders, submits
//!   and polls;
//! * a lost or poisoned device is a value ([`DeviceError`]), never a panic;
//! * environment variables are read in [`env`](mod@env) and nowhere else;
//! * nothing that blocks exists on `wasm32`.

mod adapter;
#[cfg(not(target_arch = "wasm32"))]
mod blocking;
mod caps;
mod completion;
mod device;
#[cfg(not(target_arch = "wasm32"))]
mod drive;
mod encode;
pub mod env;
mod error;
mod late;
mod limit;
mod mapped_lock;
mod memory_bytes;
mod open;
mod options;
#[cfg(not(target_arch = "wasm32"))]
mod park;
#[cfg(not(target_arch = "wasm32"))]
mod patience;
#[cfg(not(target_arch = "wasm32"))]
mod poller;
mod profile;
mod queue;
mod recorder;
mod select;
mod shader_feature;
mod software;
mod state;
mod timestamps;
mod view;

pub use adapter::{AdapterKind, AdapterSummary, adapters, is_available};
#[cfg(not(target_arch = "wasm32"))]
pub use adapter::{adapters_blocking, is_available_blocking};
#[cfg(not(target_arch = "wasm32"))]
pub use blocking::block_on;
pub use caps::{Caps, CooperativeShape};
pub use completion::{CallbackGuard, Completion, Failure, Submission, now_or_never, once};
pub use device::Device;
pub use error::{DeviceError, LostReason};
pub use late::LatePipeline;
pub use limit::LimitName;
pub use memory_bytes::MemoryBytes;
pub use options::{AdapterWish, DeviceOptions, PowerPreference, Reuse, Sleep, SoftwareWish};
pub use profile::{Profile, Stage, StageSpan, StageTime};
pub use queue::QueueStats;
pub use recorder::{BoundGroup, Dispatch, Recorder, TextureCopy, Work, Workgroups};
pub use select::{install_advice, select};
pub use shader_feature::ShaderFeature;
pub use timestamps::KernelTime;
pub use view::ViewGuard;
pub use wgpu;
#[cfg(all(feature = "software", not(target_arch = "wasm32")))]
pub use ziggurat_software;
