#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]
//!
//! # Overview
//!
//! [`Memory`] hands out [`Buffer`]s from a pool and takes them back when their last handle is dropped. Uploads and reads
//! are copies recorded in the device's one queue, and therefore ordered with the kernels around them. [`Usage`] counts
//! bytes that are live, cached and staged.
//!
//! Invariants: this crate alone creates, writes and maps buffers; what it decides (size classes, which buffer to reuse,
//! when to free) is computed by functions without wgpu, tested without a GPU.

mod arena;
mod buffer;
mod create;
mod error;
mod free_list;
mod gauge;
mod inventory;
mod ledger;
mod mark;
mod memory;
mod options;
mod pool;
mod readback;
mod size_class;
mod span;
mod texture;
mod transfer;
mod uniform;
mod upload;
mod usage;

pub use arena::{Arena, ArenaUsage};
pub use buffer::Buffer;
pub use error::{DriverError, MemoryError};
pub use ledger::{MemoryKind, MemoryReport, MemoryRow};
pub use mark::Mark;
pub use memory::{Memory, ReadSlice};
pub use options::MemoryOptions;
pub use readback::{Mapped, Read, ReadInto, ReadMany, ReadMapped};
pub use texture::{ReadTexture, Sampler, Texture};
pub use transfer::{for_each_parallel, zeroed};
pub use uniform::UniformSlice;
pub use usage::Usage;
