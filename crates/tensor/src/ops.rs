//! Operations, by family.
//!
//! Each method checks what this layer promises (dtype promotion, axes, shapes), then records one or a few operations of
//! the executor below. None waits.

mod activation;
mod arg_reduce;
pub(crate) mod arithmetic;
mod attention;
mod bitwise;
mod cast;
mod compare;
mod composite;
mod conv;
mod einsum;
mod elementwise;
mod gemm;
mod grid_sample;
mod in_place;
mod index;
mod linalg;
mod loss;
mod matmul;
mod movement;
mod norm;
mod pattern;
mod pool;
mod quantized;
mod random;
mod reduce;
mod resize;
mod rope;
mod scan;
mod select;
mod softmax;
mod sort;
mod statistics;
mod ternary;
mod window;

pub use activation::GateHalf;
pub use attention::{Attention, MaskedRows, QueryPosition, ScoreStage};
pub use compare::Closeness;
pub use gemm::GemmOptions;
pub use loss::{CrossEntropyOptions, Reduction};
pub use movement::DepthOrder;
pub use norm::BatchNormTrained;
pub use quantized::{QuantizedLinearOptions, QuantizedTensor};
pub use random::Generator;
pub use resize::{AspectRatio, InterpolateMode, InterpolateOptions};
pub use rope::{RopeForm, RopeTable};
pub use select::Unique;
