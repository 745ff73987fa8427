//! The catalogue: every kernel variant this crate can dispatch, for checks that need no device.
//!
//! `cargo xtask wgsl` walks it to parse, validate and translate each shader and to compare parameter offsets. It is
//! made by the same `choose` functions that the ops call, so there is no second list to keep in step.

use std::borrow::Cow;

use ziggurat_pipeline::{IMMEDIATE_PART, KernelDescriptor, UNIFORM_PART};

use crate::choice::{CATALOGUE_WG, KernelChoice};
use crate::elementwise::walk::{FlatParams, Recipe, StridedParams};
use crate::elementwise::{binary, cast, compare, copy, generate, predicate, unary, where_op};
use crate::error::KernelError;
use crate::params::{ParamField, Params};
use crate::{
    arg_reduce, attention, conv, fused, grid_sample, index, linalg, matmul, norm, numerics, pad,
    pool, random, reduce, resize, rope, scan, softmax, sort,
};

/// One kernel as a device would compile it.
#[derive(Clone, Debug)]
pub struct Variant {
    /// A unique name: the label the kernel has in profiles, its constants, and where its parameters come from.
    pub name: String,
    /// The shader's parts, entry point and constants.
    pub descriptor: KernelDescriptor,
    /// The host's idea of the shader's `Params`.
    pub params: Cow<'static, [ParamField]>,
}

/// A variant before it is decided where its parameters come from.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    choice: KernelChoice,
    params: &'static [ParamField],
}

impl Candidate {
    pub(crate) fn new(choice: KernelChoice, params: &'static [ParamField]) -> Self {
        Self { choice, params }
    }

    /// The flat variants with no scalar and with each operand a scalar, and two strided ones.
    pub(crate) fn of_recipe(recipe: &Recipe, operands: usize) -> Vec<Self> {
        let mut all = vec![Self::new(
            recipe.flat(&vec![false; operands]),
            FlatParams::FIELDS,
        )];
        all.push(Self::new(
            recipe.flat(&vec![true; operands]),
            FlatParams::FIELDS,
        ));
        all.push(Self::new(recipe.strided(3), StridedParams::FIELDS));
        all
    }

    fn variant(
        &self,
        part: (&'static str, &'static str),
        suffix: &str,
    ) -> Result<Variant, KernelError> {
        let constants: String = self
            .choice
            .constants()
            .map(|(name, value)| format!(" {name}={value}"))
            .collect();
        Ok(Variant {
            name: format!("{}{constants} {suffix}", self.choice.label()),
            descriptor: self.choice.descriptor(part, CATALOGUE_WG)?,
            params: Cow::Borrowed(self.params),
        })
    }
}

fn candidates() -> Vec<Candidate> {
    let mut all = Vec::new();
    all.extend(unary::variants());
    all.extend(binary::variants());
    all.extend(compare::variants());
    all.extend(predicate::variants());
    all.extend(where_op::variants());
    all.extend(cast::variants());
    all.extend(copy::variants());
    all.extend(generate::variants());
    all.extend(numerics::variants());
    all.extend(reduce::variants());
    all.extend(arg_reduce::variants());
    all.extend(softmax::variants());
    all.extend(norm::variants());
    all.extend(rope::variants());
    all.extend(attention::variants());
    all.extend(linalg::variants());
    all.extend(matmul::variants());
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
    all.extend(fused::variants()?);
    Ok(all)
}
