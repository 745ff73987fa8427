//! Device memory: a buffer pool, staging for uploads and readbacks, and what they use.
//!
//! Everything goes through the device's one queue: a buffer is reusable the moment its last handle is
//! dropped, uploads and reads are recorded copies and therefore ordered with the kernels around them.
//!
//! ```
//! # #[cfg(not(target_arch = "wasm32"))]
//! # fn main() -> Result<(), ziggurat_memory::MemoryError> {
//! use ziggurat_device::{Device, DeviceOptions};
//! use ziggurat_memory::{Memory, MemoryOptions};
//!
//! let device = Device::noop(DeviceOptions::default(), None)?;
//! let memory = Memory::new(&device, MemoryOptions::default());
//! let buffer = memory.upload(b"odd lengths are fine")?;
//! memory.write(&buffer, 0, b"Odd")?;
//! assert_eq!(memory.read(&buffer, 0..11)?.wait()?, b"Odd lengths");
//! # Ok(())
//! # }
//! # #[cfg(target_arch = "wasm32")]
//! # fn main() {}
//! ```
//!
//! Invariants: this crate alone creates, writes and maps buffers; `size_class`, `free_list`,
//! `inventory`, `span` and the readback plan are pure and tested without a GPU.

mod buffer;
mod create;
mod error;
mod free_list;
mod gauge;
mod inventory;
mod mark;
mod memory;
mod options;
mod pool;
mod readback;
mod size_class;
mod span;
mod transfer;
mod uniform;
mod upload;
mod usage;

pub use buffer::Buffer;
pub use error::MemoryError;
pub use mark::Mark;
pub use memory::Memory;
pub use options::MemoryOptions;
pub use readback::{Mapped, Read, ReadInto, ReadMany, ReadMapped};
pub use uniform::UniformSlice;
pub use usage::Usage;
