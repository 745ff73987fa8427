//! GGUF files: metadata, and tensors whose blocks may be quantised.
//!
//! [`Gguf`] is the head of a file (keys with typed values, and where which tensor is), parsed from bytes; [`GgufFile`] is a
//! file with its head, from which tensors are read, and [`BlockType`] the formats that their data has. The parser is this
//! crate's own.
//!
//! Invariants: whatever the bytes are, the result is a head whose tensors lie within the file, aligned and without overlap,
//! or a [`GgufError`] with the offset of the field; no memory is asked for because a field says so, only for what was read.

mod block;
mod cursor;
mod error;
mod file;
mod head;
mod value;

pub use block::BlockType;
pub use error::{GgufError, GgufProblem};
pub use file::GgufFile;
pub use head::{Gguf, TensorInfo};
pub use value::{Array, Value};
