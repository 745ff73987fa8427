//! The ops of the tensor crate that are made of other ops and so have no row and no kernel of their own.

use ziggurat_kernels::{Assembled, DType};

const FLOATS: &[DType] = &[DType::F32, DType::F16, DType::BF16];
const INTS: &[DType] = &[DType::I32, DType::U32, DType::U8, DType::I8];
const NUMBERS: &[DType] = &[
    DType::F32,
    DType::F16,
    DType::BF16,
    DType::I32,
    DType::U32,
    DType::U8,
    DType::I8,
];

/// Every such op, with the file below `crates/tensor/src`.
pub(crate) const ALL: &[Assembled] = &[
    Assembled::row(
        "gemm",
        NUMBERS,
        "that of matmul, rounded once",
        "alpha · a b + beta · c, either matrix transposed first; with beta 0 nothing of c enters.",
        "ops/gemm.rs",
    ),
    Assembled::row(
        "linear",
        NUMBERS,
        "that of matmul, rounded once",
        "x wᵀ + bias.",
        "ops/matmul.rs",
    ),
    Assembled::row(
        "einsum",
        NUMBERS,
        "that of matmul per product; f16 and bf16 rounded once",
        "The sum of products over letters: repeated ones take diagonals, those missing on the right are summed, `...` and extents of 1 broadcast.",
        "ops/einsum.rs",
    ),
    Assembled::row(
        "tensordot",
        NUMBERS,
        "that of matmul",
        "The sum of products over pairs of axes.",
        "ops/einsum.rs",
    ),
    Assembled::row(
        "meshgrid",
        &DType::ALL,
        "exact",
        "Vectors as grids over all of them, each along its own axis.",
        "tensor/views.rs",
    ),
    Assembled::row(
        "batch_norm",
        FLOATS,
        "16 ε of the largest term, then one rounding to the dtype",
        "(x - mean) / √(var + eps) · weight + bias with given statistics per channel.",
        "ops/norm.rs",
    ),
    Assembled::row(
        "batch_norm_train",
        FLOATS,
        "that of var_mean, then that of batch_norm",
        "batch_norm with the batch's mean and uncorrected variance, which are written too.",
        "ops/norm.rs",
    ),
    Assembled::row(
        "global_lp_pool",
        FLOATS,
        "that of norm",
        "The p-norm of each channel.",
        "ops/pool.rs",
    ),
    Assembled::row(
        "masked_scatter",
        &DType::ALL,
        "exact",
        "Where a mask is true, the elements of a source in order.",
        "ops/index/put.rs",
    ),
    Assembled::row(
        "tril",
        &DType::ALL,
        "exact",
        "The elements on and below the k-th diagonal; zeros above.",
        "ops/pattern.rs",
    ),
    Assembled::row(
        "triu",
        &DType::ALL,
        "exact",
        "The elements on and above the k-th diagonal; zeros below.",
        "ops/pattern.rs",
    ),
    Assembled::row(
        "one_hot",
        INTS,
        "exact",
        "One number at each index, another elsewhere; negative indices count from the end.",
        "ops/pattern.rs",
    ),
    Assembled::row(
        "cross_entropy",
        FLOATS,
        "16 ε (1 + the largest term) per target, then one rounding to the dtype",
        "Minus the log-probability of the target's class, or of its probabilities; with class weights, ignored index and label smoothing. An index that is neither a class nor ignored gives NaN.",
        "ops/loss.rs",
    ),
    Assembled::row(
        "nll_loss",
        FLOATS,
        "16 ε (1 + the largest term) per target, then one rounding to the dtype",
        "Minus the given log-probability of the target's class.",
        "ops/loss.rs",
    ),
];
