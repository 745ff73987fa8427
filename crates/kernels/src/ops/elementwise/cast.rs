//! Casts between all dtypes.
//!
//! The load prelude widens, a snippet converts between compute types, the store prelude rounds (to nearest even) or
//! wraps. Float to integer truncates and saturates with NaN as 0; anything to bool is `x != 0`. A cast to the same
//! dtype is a copy.

use ziggurat_core::DType;

use crate::ops::elementwise::dispatch::Recipe;
use crate::ops::elementwise::row;
use crate::ops::elementwise::unary::broadcast;
use crate::run::completion::Completion;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;
use crate::source::candidate::Candidate;
use crate::source::prelude;

pub(crate) fn recipe(from: DType, to: DType) -> Recipe {
    let mut recipe = row::recipe("cast", 1, from, to, &[], prelude::cast(from, to));
    recipe.names.push(to.name());
    recipe
}

/// Catalogue entries.
pub(crate) fn variants() -> Vec<Candidate> {
    let pairs = DType::ALL
        .iter()
        .flat_map(|&from| DType::ALL.iter().map(move |&to| (from, to)));
    pairs
        .filter(|(from, to)| from != to)
        .flat_map(|(from, to)| Candidate::of_recipe(&recipe(from, to), 1))
        .collect()
}

impl Executor {
    /// Converts `a`, broadcast to `out`'s shape, to `out`'s dtype.
    ///
    /// # Errors
    /// [`KernelError::Shape`] if `a` does not broadcast to `out`, and the errors of the layers below.
    pub fn cast(&self, a: &View, out: &View) -> Result<Completion, KernelError> {
        if a.dtype == out.dtype {
            return self.copy(a, out);
        }
        let a = broadcast("cast", a, out)?;
        self.elementwise(&recipe(a.dtype, out.dtype), &[&a], out)?;
        Ok(self.completion())
    }
}
