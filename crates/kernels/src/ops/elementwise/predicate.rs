//! The predicate table: one input, the output is bool. Answers are found in the bits, because WGSL lets compilers assume
//! that NaN and infinity do not occur.

use ziggurat_core::DType;

use crate::ops::elementwise::dispatch::Recipe;
use crate::ops::elementwise::row::{FLOAT, PredicateSpec, elementwise_table, recipe};
use crate::ops::elementwise::unary::{broadcast, check_dtype, check_is_bool};
use crate::run::completion::Completion;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;
use crate::source::candidate::Candidate;

elementwise_table! {
    /// A question about one element of a floating-point dtype.
    Predicate: PredicateSpec, "predicate", predicate(a) -> |_| DType::Bool;
    /// Whether it is NaN.
    IsNan is_nan (FLOAT) (f64::is_nan);
    /// Whether it is `inf` or `-inf`.
    IsInf is_inf (FLOAT) (f64::is_infinite);
    /// Whether it is neither infinite nor NaN.
    IsFinite is_finite (FLOAT) (f64::is_finite);
}

impl Executor {
    /// Asks about every element. `a` is broadcast to the shape of `out`, which is bool.
    ///
    /// # Errors
    /// [`KernelError::Dtype`] if `a` is not a float or `out` is not bool, [`KernelError::Shape`] if `a` does not
    /// broadcast to `out`, and the errors of the layers below.
    pub fn predicate(
        &self,
        op: Predicate,
        a: &View,
        out: &View,
    ) -> Result<Completion, KernelError> {
        let spec = op.spec();
        check_dtype(spec.name, spec.dtypes, a)?;
        check_is_bool(spec.name, out)?;
        let a = broadcast(spec.name, a, out)?;
        self.elementwise(&op.recipe(a.dtype), &[&a], out)?;
        Ok(self.completion())
    }
}
