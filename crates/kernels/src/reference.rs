//! CPU references in f64, for tests, benches and anyone who wants to check an adapter.
//!
//! Values are dense, row-major `f64` slices, which hold every value of every dtype exactly. Elementwise references are
//! rows of the op tables ([`Unary::spec`](crate::Unary::spec), ...) and are applied here to a dtype; those of the larger
//! ops are in modules of their own. They are written to be read, not to be fast.

pub mod attention;
pub mod conv;
pub mod elementwise;
pub mod grid_sample;
pub mod index;
pub mod linalg;
pub mod matmul;
pub mod movement;
pub mod norm;
pub mod pool;
pub mod quantize_rows;
pub mod random;
pub mod reduce;
pub mod resize;
pub mod rope;
pub mod scan;
pub mod softmax;
pub(crate) mod special;

pub use elementwise::{binary, cast, compare, predicate, round_to, unary, wrap};
