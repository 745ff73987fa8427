//! The families of `docs/ops.md`, and the methods whose sources a macro hides.

/// Files below `crates/tensor/src/` with their headings, in the order of the page.
pub(super) const FAMILIES: &[(&str, &str)] = &[
    ("tensor/construct.rs", "Making tensors"),
    ("tensor.rs", "Properties"),
    ("tensor/read.rs", "Reading"),
    ("tensor/eval.rs", "Evaluation"),
    ("tensor/shape.rs", "Shapes and views"),
    ("tensor/views.rs", "More views"),
    ("ops/movement.rs", "Joining, repeating, padding"),
    ("ops/pattern.rs", "Triangles, diagonals, sequences"),
    ("ops/cast.rs", "Dtypes"),
    ("ops/arithmetic.rs", "Arithmetic"),
    ("ops/elementwise.rs", "Functions of one element"),
    ("ops/activation.rs", "Activations"),
    ("ops/compare.rs", "Comparison and choice"),
    ("ops/bitwise.rs", "Bits and logic"),
    ("ops/ternary.rs", "Functions of three elements"),
    ("ops/in_place.rs", "In place"),
    ("ops/reduce.rs", "Reductions"),
    ("ops/statistics.rs", "Statistics"),
    ("ops/arg_reduce.rs", "Positions of extremes"),
    ("ops/scan.rs", "Scans"),
    ("ops/sort.rs", "Sorting"),
    ("ops/select.rs", "Selection by value"),
    ("ops/index.rs", "Indexing"),
    ("ops/index/put.rs", "Scatter and assignment"),
    ("ops/matmul.rs", "Matrix products"),
    (
        "ops/gemm.rs",
        "Products with an addend, products of vectors",
    ),
    ("ops/quantized.rs", "Quantised matrices"),
    ("ops/einsum.rs", "Contractions"),
    ("ops/linalg.rs", "Linear algebra"),
    ("ops/conv.rs", "Convolution"),
    ("ops/pool.rs", "Pooling"),
    ("ops/resize.rs", "Resampling"),
    ("ops/grid_sample.rs", "Sampling at positions"),
    ("ops/softmax.rs", "Softmax"),
    ("ops/norm.rs", "Normalisation"),
    ("ops/attention.rs", "Attention"),
    ("ops/rope.rs", "Rotary embedding"),
    ("ops/loss.rs", "Losses"),
    ("ops/random.rs", "Random numbers"),
];

/// Methods that a macro makes for one, two and three axes, with `#` for their number: name, arguments, meaning.
pub(super) const PER_DIMENSION: &[(&str, &str, &str)] = &[
    ("max_pool#d", "options", "The maximum of every window."),
    (
        "max_pool#d_with_indices",
        "options",
        "Maxima and their row-major positions (i32) in the unpadded plane.",
    ),
    (
        "max_unpool#d",
        "indices, size",
        "Zeros, with each element at the position that its index names: undoes `max_pool#d_with_indices`.",
    ),
    ("avg_pool#d", "options", "The average of every window."),
    (
        "lp_pool#d",
        "p, options",
        "`(Σ \\|x\\|^p)^(1/p)` over every window; padding counts as 0.",
    ),
    (
        "adaptive_avg_pool#d",
        "size",
        "The average of `size` windows of nearly equal extents.",
    ),
    (
        "adaptive_max_pool#d",
        "size",
        "The maximum of the windows of `adaptive_avg_pool#d`.",
    ),
    (
        "adaptive_max_pool#d_with_indices",
        "size",
        "Those maxima and their positions.",
    ),
];
