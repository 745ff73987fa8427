//! The comparison table: two inputs of one dtype, the output is bool. NaN is unequal to everything, by bits.

use ziggurat_core::DType;

use crate::ops::elementwise::row::{ALL, CompareSpec, recipe, snippets};
use crate::ops::elementwise::unary::{broadcast, check_is_bool, check_same_dtype};
use crate::ops::elementwise::walk::Recipe;
use crate::run::completion::Completion;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;
use crate::source::candidate::Candidate;

macro_rules! compare_ops {
    ($($(#[$doc:meta])* $variant:ident $method:ident $name:literal, $reference:expr;)*) => {
        /// A comparison.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Compare { $($(#[$doc])* $variant,)* }

        impl Compare {
            /// Every comparison.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The op's row: name, dtypes, reference.
            #[must_use]
            pub const fn spec(self) -> &'static CompareSpec {
                match self {
                    $(Self::$variant => const { &CompareSpec {
                        name: $name,
                        dtypes: ALL,
                        #[cfg(feature = "catalogue")]
                        reference: $reference,
                        snippets: snippets!("compare", $name),
                    } },)*
                }
            }
        }

        impl Executor {
            $($(#[$doc])*
            ///
            /// # Errors
            /// See [`Executor::compare`].
            pub fn $method(&self, a: &View, b: &View, out: &View) -> Result<Completion, KernelError> {
                self.compare(Compare::$variant, a, b, out)
            })*
        }
    };
}

compare_ops! {
    /// `a == b`.
    Eq eq "eq", |x, y| x == y;
    /// `a != b`, true where either is NaN.
    Ne ne "ne", |x, y| x != y;
    /// `a < b`.
    Lt lt "lt", |x, y| x < y;
    /// `a <= b`.
    Le le "le", |x, y| x <= y;
    /// `a > b`.
    Gt gt "gt", |x, y| x > y;
    /// `a >= b`.
    Ge ge "ge", |x, y| x >= y;
}

impl Compare {
    /// The recipe for a dtype.
    pub(crate) fn recipe(self, dtype: DType) -> Recipe {
        let spec = self.spec();
        recipe(
            spec.name,
            2,
            dtype,
            DType::Bool,
            &[],
            spec.snippets.of(dtype),
        )
    }
}

/// Catalogue entries.
pub(crate) fn variants() -> Vec<Candidate> {
    Compare::ALL
        .iter()
        .flat_map(|op| {
            ALL.iter()
                .flat_map(|&dtype| Candidate::of_recipe(&op.recipe(dtype), 2))
        })
        .collect()
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
        self.walk(&op.recipe(a.dtype), &[&a, &b], out)?;
        Ok(self.completion())
    }
}
