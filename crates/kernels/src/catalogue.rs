//! The catalogue: every kernel variant this crate can dispatch, for checks that need no device.
//!
//! `cargo xtask wgsl` walks it to parse, validate and translate each shader and to compare parameter offsets. It is
//! made by the same `choose` functions that the ops call, so there is no second list to keep in step.

use ziggurat_pipeline::{IMMEDIATE_PART, UNIFORM_PART};

use crate::ops::elementwise::{
    binary, cast, compare, copy, generate, non_finite, predicate, unary, where_op,
};
use crate::ops::{
    arg_reduce, attention, conv, grid_sample, index, linalg, matmul, norm, numerics, pad, pool,
    quantised, quantize_rows, random, reduce, resize, rope, scan, softmax, sort,
};
use crate::run::error::KernelError;
use crate::source::candidate::{Candidate, Variant};

pub(crate) mod assembled;
mod corpus;

fn candidates() -> Vec<Candidate> {
    let mut all = Vec::new();
    all.extend(unary::Unary::variants());
    all.extend(binary::Binary::variants());
    all.extend(compare::Compare::variants());
    all.extend(predicate::Predicate::variants());
    all.extend(where_op::variants());
    all.extend(cast::variants());
    all.extend(copy::variants());
    all.extend(generate::variants());
    all.extend(non_finite::variants());
    all.extend(numerics::variants());
    all.extend(reduce::variants());
    all.extend(arg_reduce::variants());
    all.extend(softmax::variants());
    all.extend(norm::variants());
    all.extend(rope::variants());
    all.extend(quantize_rows::variants());
    all.extend(attention::variants());
    all.extend(linalg::variants());
    all.extend(matmul::variants());
    all.extend(quantised::variants());
    all.extend(conv::variants());
    all.extend(pool::variants());
    all.extend(resize::variants());
    all.extend(grid_sample::variants());
    all.extend(pad::variants());
    all.extend(index::variants());
    all.extend(scan::variants());
    all.extend(sort::variants());
    all.extend(random::variants());
    all
}

/// Every variant with its parameters in a uniform, as every device can run it; one of each body and parameter block
/// with immediates; and a corpus of fused kernels, which are generated and thus without number.
///
/// # Errors
/// [`KernelError::MissingPart`] if a table names a shader file that is not there.
pub fn catalogue() -> Result<Vec<Variant>, KernelError> {
    let mut all = Vec::new();
    let mut bodies = std::collections::HashSet::new();
    for candidate in candidates() {
        all.push(candidate.variant(UNIFORM_PART, "uniform")?);
        if bodies.insert((candidate.choice.body(), candidate.params)) {
            all.push(candidate.variant(IMMEDIATE_PART, "immediate")?);
        }
    }
    all.extend(corpus::variants()?);
    Ok(all)
}
