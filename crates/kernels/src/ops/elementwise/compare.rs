//! The comparison table: two inputs of one dtype, the output is bool. NaN is unequal to everything, by bits.

use ziggurat_core::DType;

use crate::ops::elementwise::dispatch::Recipe;
use crate::ops::elementwise::row::{ALL, CompareSpec, elementwise_table, recipe};
use crate::ops::elementwise::unary::{broadcast, check_is_bool, check_same_dtype};
use crate::run::completion::Completion;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;
use crate::source::candidate::Candidate;

elementwise_table! {
    /// A comparison.
    Compare: CompareSpec, "compare", compare(a, b) -> |_| DType::Bool;
    /// `a == b`.
    Eq eq (ALL) (|x, y| x == y);
    /// `a != b`, true where either is NaN.
    Ne ne (ALL) (|x, y| x != y);
    /// `a < b`.
    Lt lt (ALL) (|x, y| x < y);
    /// `a <= b`.
    Le le (ALL) (|x, y| x <= y);
    /// `a > b`.
    Gt gt (ALL) (|x, y| x > y);
    /// `a >= b`.
    Ge ge (ALL) (|x, y| x >= y);
}

impl Executor {
    /// Compares. `a` and `b` are broadcast to the shape of `out`, which is bool.
    ///
    /// # Errors
    /// [`KernelError::Dtype`] if the inputs' dtypes differ or `out` is not bool, [`KernelError::Shape`] if an input
    /// does not broadcast to `out`, and the errors of the layers below.
    pub fn compare(
        &self,
        op: Compare,
        a: &View,
        b: &View,
        out: &View,
    ) -> Result<Completion, KernelError> {
        let name = op.spec().name;
        check_same_dtype(name, "b", b, a.dtype)?;
        check_is_bool(name, out)?;
        let (a, b) = (broadcast(name, a, out)?, broadcast(name, b, out)?);
        self.elementwise(&op.recipe(a.dtype), &[&a, &b], out)?;
        Ok(self.completion())
    }
}
