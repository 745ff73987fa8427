//! What a row of the op tables says, and the choice of its snippet.
//!
//! References work in f64 for floats and in i64 for integers and bool (0 and 1); an integer result is wrapped to
//! the dtype afterwards, and a bool is whether it is not 0. Samples must tell the op from the others of its table,
//! and a test sees to it.

use ziggurat_core::DType;

use crate::ops::elementwise::dispatch::{Bodies, Recipe};
#[cfg(feature = "catalogue")]
use crate::ops::elementwise::tolerance::{Samples, Tolerance};
use crate::source::list::List;
use crate::source::prelude;

/// The floating-point dtypes.
pub(crate) const FLOAT: &[DType] = &[DType::F32, DType::F16, DType::BF16];
/// The integer dtypes.
pub(crate) const INT: &[DType] = &[DType::I32, DType::U32, DType::U8, DType::I8];
/// Everything but bool.
pub(crate) const NUMERIC: &[DType] = &[
    DType::F32,
    DType::F16,
    DType::BF16,
    DType::I32,
    DType::U32,
    DType::U8,
    DType::I8,
];
/// Integers and bool.
pub(crate) const BITS: &[DType] = &[DType::I32, DType::U32, DType::U8, DType::I8, DType::Bool];
/// Bool alone.
pub(crate) const BOOL: &[DType] = &[DType::Bool];
/// Every dtype.
pub(crate) const ALL: &[DType] = &DType::ALL;

/// How an op makes a float result, so far as code around it must know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResultKind {
    /// One of the operands, or a constant: nothing to be rounded.
    Selection,
    /// The operand with another sign: nothing to be rounded in floats; integers wrap.
    Sign,
    /// A value that f32 holds exactly whatever it is computed from.
    Exact,
    /// A sum, product or function, rounded to f32: a compiler that sees further may contract or rearrange it with what
    /// is computed from it, so a guard stands between.
    Rounded,
}

/// What code generation and fusion plans must know of an op. How exactly tests compare it is another matter
/// ([`Tolerance`]) and changes no kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CodeFacts {
    pub(crate) result: ResultKind,
    /// The work of one element, in ops of a few instructions; a function such as `exp` counts as 8.
    pub(crate) cost: u8,
    /// Iterations of loops that one element takes at most.
    pub(crate) loop_iterations: u8,
}

impl CodeFacts {
    pub(crate) const SELECTION: Self = Self::new(ResultKind::Selection, 1);
    pub(crate) const SIGN: Self = Self::new(ResultKind::Sign, 1);
    pub(crate) const EXACT: Self = Self::new(ResultKind::Exact, 1);
    /// A few rounded instructions.
    pub(crate) const ROUNDED: Self = Self::new(ResultKind::Rounded, 1);
    /// A rounded function.
    pub(crate) const FUNCTION: Self = Self::new(ResultKind::Rounded, 8);

    const fn new(result: ResultKind, cost: u8) -> Self {
        Self {
            result,
            cost,
            loop_iterations: 0,
        }
    }

    pub(crate) const fn looping(self, loop_iterations: u8) -> Self {
        Self {
            loop_iterations,
            ..self
        }
    }
}

/// A row of a table whose results have the operands' dtype.
#[derive(Clone, Copy, Debug)]
pub struct NumberSpec<F: 'static, I: 'static> {
    /// The name of op, snippet, method and documentation row.
    pub name: &'static str,
    /// The dtypes it exists for; operands and output have the same.
    pub dtypes: &'static [DType],
    /// The reference for floats.
    #[cfg(feature = "catalogue")]
    pub float: F,
    /// The reference for integers and bool, before wrapping.
    #[cfg(feature = "catalogue")]
    pub int: I,
    /// First operands to test with.
    #[cfg(feature = "catalogue")]
    pub samples: Samples,
    /// The error allowed on floats.
    #[cfg(feature = "catalogue")]
    pub tolerance: Tolerance,
    pub(crate) code: CodeFacts,
    pub(crate) functions: &'static [&'static str],
    pub(crate) snippets: Snippets,
    #[cfg(not(feature = "catalogue"))]
    pub(crate) references: std::marker::PhantomData<(F, I)>,
}

/// A row of a table whose results are bool.
#[derive(Clone, Copy, Debug)]
pub struct TruthSpec<F: 'static> {
    /// The name of op, snippet, method and documentation row.
    pub name: &'static str,
    /// The dtypes it exists for.
    pub dtypes: &'static [DType],
    /// The reference, which is exact for every dtype.
    #[cfg(feature = "catalogue")]
    pub reference: F,
    pub(crate) functions: &'static [&'static str],
    pub(crate) snippets: Snippets,
    #[cfg(not(feature = "catalogue"))]
    pub(crate) references: std::marker::PhantomData<F>,
}

/// A row of the unary table.
pub type UnarySpec = NumberSpec<fn(f64) -> f64, fn(i64) -> i64>;
/// A row of the binary table.
pub type BinarySpec = NumberSpec<fn(f64, f64) -> f64, fn(i64, i64) -> i64>;
/// A row of the comparison table.
pub type CompareSpec = TruthSpec<fn(f64, f64) -> bool>;
/// A row of the predicate table.
pub type PredicateSpec = TruthSpec<fn(f64) -> bool>;

/// One row: what every build has of it, then what only tests need; and the executor's method for it.
macro_rules! row {
    (count ($($operand:ident),+)) => {
        [$(stringify!($operand)),+].len()
    };
    ($(#[$doc:meta])* method $name:ident($($operand:ident),+) runs $run:ident($op:expr)) => {
        $(#[$doc])*
        ///
        /// # Errors
        #[doc = concat!("See [`Executor::", stringify!($run), "`].")]
        pub fn $name(&self, $($operand: &View,)+ out: &View) -> Result<Completion, KernelError> {
            self.$run($op, $($operand,)+ out)
        }
    };
    ($folder:literal, $name:ident, ($dtypes:expr, $functions:expr, $code:expr), ($float:expr, $int:expr, $samples:expr, $tolerance:expr)) => {
        $crate::ops::elementwise::row::NumberSpec {
            name: stringify!($name),
            dtypes: $dtypes,
            #[cfg(feature = "catalogue")]
            float: $float,
            #[cfg(feature = "catalogue")]
            int: $int,
            #[cfg(feature = "catalogue")]
            samples: $samples,
            #[cfg(feature = "catalogue")]
            tolerance: $tolerance,
            code: $code,
            functions: $functions,
            snippets: $crate::ops::elementwise::row::snippets!($folder, $name),
            #[cfg(not(feature = "catalogue"))]
            references: std::marker::PhantomData,
        }
    };
    ($folder:literal, $name:ident, ($dtypes:expr), ($reference:expr)) => {
        $crate::ops::elementwise::row::TruthSpec {
            name: stringify!($name),
            dtypes: $dtypes,
            #[cfg(feature = "catalogue")]
            reference: $reference,
            functions: &[],
            snippets: $crate::ops::elementwise::row::snippets!($folder, $name),
            #[cfg(not(feature = "catalogue"))]
            references: std::marker::PhantomData,
        }
    };
}
pub(crate) use row;

/// A table of elementwise ops: its enum, the rows, the executor's method for each, the kernels. The line behind the enum's
/// name says the type of a row, the folder of the snippets, the executor's method for any row, and the dtype of a result
/// for that of the operands.
macro_rules! elementwise_table {
    (
        $(#[$about:meta])*
        $Table:ident: $Spec:ident, $folder:literal, $run:ident $operands:tt -> $to:expr;
        $($(#[$doc:meta])* $variant:ident $name:ident $facts:tt $tested:tt;)*
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $Table { $($(#[$doc])* $variant,)* }

        impl $Table {
            /// Every row of the table.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The row: name, dtypes, references, samples, tolerance.
            #[must_use]
            pub const fn spec(self) -> &'static $Spec {
                match self {
                    $(Self::$variant => const {
                        &$crate::ops::elementwise::row::row!($folder, $name, $facts, $tested)
                    },)*
                }
            }

            /// The recipe for a dtype.
            pub(crate) fn recipe(self, dtype: DType) -> Recipe {
                let (spec, to) = (self.spec(), $to);
                let operands = $crate::ops::elementwise::row::row!(count $operands);
                let snippet = spec.snippets.of(dtype);
                let functions = spec.snippets.functions(dtype, spec.functions);
                recipe(spec.name, operands, dtype, to(dtype), functions, snippet)
            }

            /// Catalogue entries.
            pub(crate) fn variants() -> Vec<Candidate> {
                let operands = $crate::ops::elementwise::row::row!(count $operands);
                let of = |op: &Self| {
                    let op = *op;
                    let dtypes = op.spec().dtypes.iter();
                    dtypes.flat_map(move |&dtype| Candidate::of_recipe(&op.recipe(dtype), operands))
                };
                Self::ALL.iter().flat_map(of).collect()
            }
        }

        impl Executor {
            $($crate::ops::elementwise::row::row! {
                $(#[$doc])* method $name $operands runs $run($Table::$variant)
            })*
        }
    };
}
pub(crate) use elementwise_table;

/// What snippets for results of 16 bits may call: all but that of a quotient.
const NARROW: &[&str] = &[NAN_EACH, "functions/narrow.wgsl"];
/// With it they see to NaN themselves.
pub(crate) const NAN_EACH: &str = "functions/nan_each.wgsl";
/// With it they are not asked for NaN.
pub(crate) const NAN_ELSEWHERE: &str = "functions/nan_elsewhere.wgsl";
/// What quotients call, of 16 bits too.
pub(crate) const DIVIDE: &[&str] = &["functions/divide.wgsl"];

/// Where an op's snippet may lie: one for its kind of dtype goes before the general one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Snippets {
    pub(crate) general: &'static str,
    /// For floats of 16 bits, which fewer instructions compute.
    pub(crate) narrow: &'static str,
    pub(crate) int: &'static str,
    pub(crate) bool: &'static str,
}

impl Snippets {
    /// The snippet for `dtype`.
    pub(crate) fn of(&self, dtype: DType) -> &'static str {
        if dtype.is_bool() {
            self.bool
        } else if !dtype.is_float() {
            self.int
        } else if dtype == DType::F32 {
            self.general
        } else {
            self.narrow
        }
    }

    /// The functions that the snippet for `dtype` calls, `general` being those of the general one.
    pub(crate) fn functions(
        &self,
        dtype: DType,
        general: &'static [&'static str],
    ) -> &'static [&'static str] {
        if !dtype.is_float() {
            &[]
        } else if dtype != DType::F32 && self.narrow != self.general && general != DIVIDE {
            NARROW
        } else {
            general
        }
    }
}

/// The snippet paths of the op `$name` in the table `$table`.
macro_rules! snippets {
    ($table:literal, $name:ident) => {
        $crate::ops::elementwise::row::Snippets {
            general: concat!("elementwise/", $table, "/", stringify!($name), ".wgsl"),
            narrow: $crate::source::shaders::first_of(
                concat!(
                    "elementwise/",
                    $table,
                    "/narrow/",
                    stringify!($name),
                    ".wgsl"
                ),
                concat!("elementwise/", $table, "/", stringify!($name), ".wgsl"),
            ),
            int: $crate::source::shaders::first_of(
                concat!("elementwise/", $table, "/int/", stringify!($name), ".wgsl"),
                concat!("elementwise/", $table, "/", stringify!($name), ".wgsl"),
            ),
            bool: $crate::source::shaders::first_of(
                concat!("elementwise/", $table, "/bool/", stringify!($name), ".wgsl"),
                concat!("elementwise/", $table, "/", stringify!($name), ".wgsl"),
            ),
        }
    };
}
pub(crate) use snippets;

/// The recipe of an op with one input dtype and one output dtype.
pub(crate) fn recipe(
    op: &'static str,
    operands: usize,
    from: DType,
    to: DType,
    functions: &'static [&'static str],
    snippet: &'static str,
) -> Recipe {
    let mut parts = List::of(functions);
    parts.push(snippet);
    let bodies = if operands == 1 {
        Bodies::UNARY
    } else {
        Bodies::BINARY
    };
    Recipe {
        op,
        names: List::of(&[from.name()]),
        preludes: List::of(&[prelude::load(from), prelude::store(to)]),
        snippet: parts,
        bodies,
        // Functions of bf16 wait for the integer operations that round: on an H200 four vectors take 2 to 10 % less, of f16 3 % more.
        steps: if from == DType::BF16 && functions == NARROW {
            4
        } else {
            bodies.steps(from.bytes())
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_snippets_go_before_general_ones() {
        let neg = snippets!("unary", neg);
        assert_eq!(neg.of(DType::U8), "elementwise/unary/int/neg.wgsl");
        assert_eq!(neg.of(DType::F16), "elementwise/unary/neg.wgsl");
        assert_eq!(
            snippets!("unary", abs).of(DType::I8),
            "elementwise/unary/abs.wgsl"
        );
        let tanh = snippets!("unary", tanh);
        assert_eq!(tanh.of(DType::F32), "elementwise/unary/tanh.wgsl");
        for dtype in [DType::F16, DType::BF16] {
            assert_eq!(tanh.of(dtype), "elementwise/unary/narrow/tanh.wgsl");
            assert_eq!(tanh.functions(dtype, &["general"]), NARROW);
            assert_eq!(neg.functions(dtype, &["general"]), ["general"]);
        }
        assert_eq!(tanh.functions(DType::F32, &["general"]), ["general"]);
        assert!(neg.functions(DType::I32, &["general"]).is_empty());
    }
}
