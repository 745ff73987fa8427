//! The ops that have kernels, one module for each family.

pub(crate) mod arg_reduce;
pub(crate) mod attention;
pub(crate) mod concat;
pub(crate) mod conv;
pub(crate) mod elementwise;
pub(crate) mod grid_sample;
pub(crate) mod index;
pub(crate) mod linalg;
pub(crate) mod matmul;
pub(crate) mod norm;
pub(crate) mod numerics;
pub(crate) mod pad;
pub(crate) mod pool;
pub(crate) mod quantised;
pub(crate) mod quantize_rows;
pub(crate) mod random;
pub(crate) mod reduce;
pub(crate) mod resize;
pub(crate) mod rope;
pub(crate) mod scan;
pub(crate) mod select;
pub(crate) mod softmax;
pub(crate) mod sort;
pub(crate) mod spatial;
pub(crate) mod tile;
pub(crate) mod ways;
