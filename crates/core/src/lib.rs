#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! Element types ([`DType`], [`Element`]), shapes ([`Shape`]), strided views ([`Layout`]) and the
//! rules between them: broadcasting, axes, reshaping, the merging of dimensions for a kernel
//! ([`coalesce()`]). There is one copy of these rules, for every layer.
//!
//! Besides, what several layers need for text: [`wgsl`] measures shaders, [`debug_print`] rewrites them, `large_stack` is
//! the thread on which compilers read them, [`processors()`] how many
//! threads compute at once, [`text`] keeps errors short.
//!
//! Invariants: no GPU and no I/O; every function is total or returns a [`ShapeError`]; element
//! counts and addresses are checked when a [`Shape`] or [`Layout`] is made, so that arithmetic on
//! an existing one cannot overflow; strides and offsets count elements, never bytes.

mod axes;
mod blocks;
mod broadcast;
mod coalesce;
pub mod debug_print;
mod dtype;
mod element;
mod error;
mod few;
#[cfg(not(target_arch = "wasm32"))]
pub mod large_stack;
mod layout;
mod processors;
mod shape;
pub mod text;
pub mod wgsl;

pub use axes::{normalize_axes, normalize_axis};
pub use blocks::{BlockField, BlockFormat, FieldLayout, QuantizeError};
pub use broadcast::{broadcast_shapes, infer_expand};
pub use coalesce::{Coalesced, coalesce};
pub use dtype::{DType, DTypeInfo, DTypeKind, ParseDTypeError};
pub use element::{Element, decode, encode, round_to};
pub use error::ShapeError;
pub use few::sort_few_by_key;
pub use half::{bf16, f16};
pub use layout::{Layout, Offsets};
pub use processors::processors;
pub use shape::{MAX_RANK, Shape, infer_reshape};
