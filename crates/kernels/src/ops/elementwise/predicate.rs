//! The predicate table: one input, the output is bool. Answers are found in the bits, because WGSL lets compilers assume
//! that NaN and infinity do not occur.

use ziggurat_core::DType;

use crate::ops::elementwise::row::{FLOAT, PredicateSpec, recipe, snippets};
use crate::ops::elementwise::unary::{broadcast, check_dtype, check_is_bool};
use crate::ops::elementwise::walk::Recipe;
use crate::run::completion::Completion;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;
use crate::source::candidate::Candidate;

macro_rules! predicate_ops {
    ($($(#[$doc:meta])* $variant:ident $method:ident $name:literal, $reference:expr;)*) => {
        /// A question about one element of a floating-point dtype.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Predicate { $($(#[$doc])* $variant,)* }

        impl Predicate {
            /// Every predicate.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The op's row: name, dtypes, reference.
            #[must_use]
            pub const fn spec(self) -> &'static PredicateSpec {
                match self {
                    $(Self::$variant => const { &PredicateSpec {
                        name: $name,
                        dtypes: FLOAT,
                        #[cfg(feature = "catalogue")]
                        reference: $reference,
                        snippets: snippets!("predicate", $name),
                    } },)*
                }
            }
        }

        impl Executor {
            $($(#[$doc])*
            ///
            /// # Errors
            /// See [`Executor::predicate`].
            pub fn $method(&self, a: &View, out: &View) -> Result<Completion, KernelError> {
                self.predicate(Predicate::$variant, a, out)
            })*
        }
    };
}

predicate_ops! {
    /// Whether it is NaN.
    IsNan is_nan "is_nan", f64::is_nan;
    /// Whether it is `inf` or `-inf`.
    IsInf is_inf "is_inf", f64::is_infinite;
    /// Whether it is neither infinite nor NaN.
    IsFinite is_finite "is_finite", f64::is_finite;
}

impl Predicate {
    /// The recipe for a dtype.
    pub(crate) fn recipe(self, dtype: DType) -> Recipe {
        let spec = self.spec();
        recipe(
            spec.name,
            1,
            dtype,
            DType::Bool,
            &[],
            spec.snippets.of(dtype),
        )
    }
}

/// Catalogue entries.
pub(crate) fn variants() -> Vec<Candidate> {
    Predicate::ALL
        .iter()
        .flat_map(|op| {
            FLOAT
                .iter()
                .flat_map(|&dtype| Candidate::of_recipe(&op.recipe(dtype), 1))
        })
        .collect()
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
        self.walk(&op.recipe(a.dtype), &[&a], out)?;
        Ok(self.completion())
    }
}
