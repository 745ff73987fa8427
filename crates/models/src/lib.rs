#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]
//!
//! Invariants: whatever is in a file, reading it ends in a value or in an [`Error`] that says what is wrong and where;
//! nothing panics, and nothing wgpu knows is in a signature. No layer depends on this crate.

mod error;
pub mod gguf;

pub use error::Error;
