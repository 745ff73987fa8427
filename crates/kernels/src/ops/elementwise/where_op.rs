//! `where`: a choice between two inputs by a condition. Elements move as bare bits, so nothing of the side that is not
//! chosen can show.

use ziggurat_core::DType;

use crate::ops::elementwise::copy::bits;
use crate::ops::elementwise::dispatch::{Bodies, Recipe};
use crate::ops::elementwise::unary::{broadcast, check_same_dtype};
use crate::run::completion::Completion;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;
use crate::source::candidate::Candidate;
use crate::source::list::List;
use crate::source::prelude;

pub(crate) fn recipe(bytes: usize) -> Recipe {
    let (name, load, store) = bits(bytes);
    Recipe {
        op: "where",
        names: List::of(&[name]),
        preludes: List::of(&[load, store, prelude::LOAD_COND]),
        snippet: List::new(),
        bodies: Bodies::WHERE,
        steps: Bodies::WHERE.steps(bytes),
    }
}

/// Catalogue entries.
pub(crate) fn variants() -> Vec<Candidate> {
    [4, 2, 1]
        .iter()
        .flat_map(|&bytes| Candidate::of_recipe(&recipe(bytes), 3))
        .collect()
}

impl Executor {
    /// `a` where `cond` is true, else `b`; all three are broadcast to `out`'s shape.
    ///
    /// # Errors
    /// [`KernelError::Dtype`] if `cond` is not bool or the other dtypes differ, [`KernelError::Shape`] if an input
    /// does not broadcast to `out`, and the errors of the layers below.
    pub fn where_(
        &self,
        cond: &View,
        a: &View,
        b: &View,
        out: &View,
    ) -> Result<Completion, KernelError> {
        let op = "where";
        if cond.dtype != DType::Bool {
            return Err(KernelError::dtype(
                op,
                "cond",
                "it must be bool",
                cond.dtype,
            ));
        }
        check_same_dtype(op, "b", b, a.dtype)?;
        check_same_dtype(op, "out", out, a.dtype)?;
        let cond = broadcast(op, cond, out)?;
        let (a, b) = (broadcast(op, a, out)?, broadcast(op, b, out)?);
        self.elementwise(&recipe(a.dtype.bytes()), &[&cond, &a, &b], out)?;
        Ok(self.completion())
    }
}
