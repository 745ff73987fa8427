//! The ops that have no kernel of their own: methods of the [`Executor`](crate::Executor) that are made of others, for the
//! documentation.

use ziggurat_core::DType;

use crate::ops::elementwise::row::{ALL, FLOAT, INT};

/// An op that is made of others.
#[derive(Clone, Copy, Debug)]
pub struct Assembled {
    /// The method's name.
    pub name: &'static str,
    /// The dtypes that its operand may have.
    pub dtypes: &'static [DType],
    /// The error allowed.
    pub tolerance: &'static str,
    /// What it computes, in words.
    pub rule: &'static str,
    /// Where, below `crates/kernels/src`.
    pub file: &'static str,
}

impl Assembled {
    /// A row of a list of such ops.
    pub const fn row(
        name: &'static str,
        dtypes: &'static [DType],
        tolerance: &'static str,
        rule: &'static str,
        file: &'static str,
    ) -> Self {
        Self {
            name,
            dtypes,
            tolerance,
            rule,
            file,
        }
    }
}

/// Every such op.
pub const ASSEMBLED: &[Assembled] = &[
    Assembled::row(
        "sort",
        ALL,
        "exact",
        "Elements in order, stable in both directions, NaN greatest; and where they stood.",
        "ops/sort.rs",
    ),
    Assembled::row(
        "topk",
        ALL,
        "exact",
        "The greatest or least elements in order, of equals the first; and where they stood.",
        "ops/sort.rs",
    ),
    Assembled::row(
        "kthvalue",
        ALL,
        "exact",
        "The k-th least element, and where it stands.",
        "ops/sort/ranked.rs",
    ),
    Assembled::row(
        "median",
        ALL,
        "exact",
        "The middle element (the lower of two; NaN if there is one) and its position.",
        "ops/sort/ranked.rs",
    ),
    Assembled::row(
        "nonzero",
        ALL,
        "exact",
        "The indices of the elements that are not 0, row-major; their number is read back once.",
        "ops/select.rs",
    ),
    Assembled::row(
        "masked_select",
        ALL,
        "exact",
        "The elements where a mask is true, row-major; their number is read back once.",
        "ops/select.rs",
    ),
    Assembled::row(
        "unique",
        ALL,
        "exact",
        "Each value once, ascending, every NaN separately; the inverse indices and the counts.",
        "ops/select.rs",
    ),
    Assembled::row(
        "bincount",
        INT,
        "exact; sums of weights as scatter_add",
        "How often 0, 1, 2, … occur, or the sums of their weights; a negative element is an error.",
        "ops/select/counts.rs",
    ),
    Assembled::row(
        "histogram",
        ALL,
        "exact, in f32",
        "The number of elements in each bin between neighbouring edges; the last edge belongs to the last bin.",
        "ops/select/counts.rs",
    ),
    Assembled::row(
        "histc",
        ALL,
        "exact, in f32",
        "histogram with equal parts between given bounds or the extremes.",
        "ops/select/counts.rs",
    ),
    Assembled::row(
        "repeat_interleave_by",
        ALL,
        "exact",
        "Each position of an axis repeated as often as a vector says; the total is read back once.",
        "ops/select.rs",
    ),
    Assembled::row(
        "linspace",
        FLOAT,
        "16 ε of the larger end, the ends exact",
        "Evenly spaced numbers, both ends included.",
        "ops/elementwise/generate.rs",
    ),
    Assembled::row(
        "uniform",
        FLOAT,
        "2 ε (|low| + |high|), then one rounding to the dtype",
        "Random numbers from low up to but not including high.",
        "ops/random.rs",
    ),
    Assembled::row(
        "normal",
        FLOAT,
        "2 ε |mean| + 4e-6 std, then one rounding to the dtype",
        "Normally distributed random numbers.",
        "ops/random.rs",
    ),
    Assembled::row(
        "bernoulli",
        FLOAT,
        "exact",
        "1 with the probability that each element says, else 0.",
        "ops/random/weighted.rs",
    ),
    Assembled::row(
        "multinomial",
        FLOAT,
        "that of cumsum in the probabilities",
        "Indices drawn in proportion to their weights, with or without replacement.",
        "ops/random/weighted.rs",
    ),
];
