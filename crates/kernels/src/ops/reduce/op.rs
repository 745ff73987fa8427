//! The table of reductions: one row each, with every fact that code, catalogue and tests need.
//!
//! A new reduction is a row here, its operator's shader in `shaders/reduce/op/`, and a method of `Tensor`. Every row
//! says every field, so nothing is true of a reduction because nobody thought of it.

use ziggurat_core::DType;

use crate::limits::budget::POWER_ITERATIONS;
#[cfg(feature = "catalogue")]
use crate::reference::reduce::{self as reference, Term, sum_of};
use crate::source::prelude;

/// Which dtypes a reduction reads and writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReduceDTypes {
    /// The output has the input's dtype, whichever that is.
    Same,
    /// Floats into the same dtype or f32.
    Floats,
    /// Numbers: floats into the same dtype or f32, integers into the same dtype or a wider one.
    Numbers,
    /// [`Self::Numbers`], and bool into integers of 32 bits.
    NumbersAndBool,
}

/// What the kernel's parameter `identity` holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Identity {
    /// The key that no element's key is below; with `least` keys are reversed, because a minimum is the maximum of
    /// reversed keys.
    LowestKey { least: bool },
    /// The bits of the reduction's argument.
    Argument,
}

/// The operator's shader files, by the input's kind of dtype.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operator {
    float: &'static [&'static str],
    int: &'static [&'static str],
    bool: &'static [&'static str],
}

impl Operator {
    const fn any(files: &'static [&'static str]) -> Self {
        Self {
            float: files,
            int: files,
            bool: files,
        }
    }

    const fn floats(files: &'static [&'static str]) -> Self {
        Self {
            float: files,
            int: &[],
            bool: &[],
        }
    }
}

/// A row of the table of reductions.
#[derive(Clone, Copy, Debug)]
pub struct ReduceSpec {
    /// The name in labels, messages and the catalogue.
    pub name: &'static str,
    /// Which dtypes it reads and writes.
    pub dtypes: ReduceDTypes,
    /// The argument that [`Executor::reduce`](crate::Executor::reduce) uses; 0 for reductions without one.
    pub default_argument: f32,
    /// Whether reducing one element gives it back.
    pub keeps_one: bool,
    /// The reference for an output's elements and the argument.
    #[cfg(feature = "catalogue")]
    pub reference: fn(&[f64], f64) -> Term,
    /// The reference for integers, modulo 2⁶⁴; `None` for reductions of floats only.
    #[cfg(feature = "catalogue")]
    pub integers: Option<fn(&[i64]) -> i64>,
    pub(crate) operator: Operator,
    /// The override constant of the operator's file, if it has one.
    pub(crate) constant: Option<(&'static str, u32)>,
    /// 32-bit words of a partial result between two passes.
    pub(crate) accumulator_words: u32,
    pub(crate) identity: Identity,
    /// Iterations of the loops that one element takes.
    pub(crate) loop_iterations: u64,
}

macro_rules! reductions {
    ($($(#[$doc:meta])* $variant:ident { $($field:ident: $value:expr,)* } tested { $($fact:ident: $known:expr,)* })*) => {
        /// A reduction of many elements to one.
        ///
        /// [`Norm`](Self::Norm), [`Var`](Self::Var) and [`Std`](Self::Std) take an argument, see
        /// [`Reduce::with`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Reduce { $($(#[$doc])* $variant,)* }

        impl Reduce {
            /// All reductions.
            pub const ALL: [Self; [$(Self::$variant,)*].len()] = [$(Self::$variant,)*];

            /// The reduction's row.
            #[must_use]
            pub const fn spec(self) -> &'static ReduceSpec {
                match self {
                    $(Self::$variant => const { &ReduceSpec {
                        $($field: $value,)*
                        $(#[cfg(feature = "catalogue")] $fact: $known,)*
                    } },)*
                }
            }
        }
    };
}

reductions! {
    /// The sum; 0 over no elements. Floats are added in f32, integers wrap.
    Sum {
        name: "sum",
        dtypes: ReduceDTypes::NumbersAndBool,
        default_argument: 0.0,
        keeps_one: true,
        operator: Operator {
            bool: &["reduce/op/sum_bool.wgsl"],
            ..Operator::any(&["reduce/op/sum.wgsl"])
        },
        constant: None,
        accumulator_words: 1,
        identity: Identity::Argument,
        loop_iterations: 0,
    } tested {
        reference: |v, _| sum_of(v, |x| x),
        integers: Some(|v| v.iter().copied().fold(0, i64::wrapping_add)),
    }
    /// The mean, floats only; NaN over no elements.
    Mean {
        name: "mean",
        dtypes: ReduceDTypes::Floats,
        default_argument: 0.0,
        keeps_one: true,
        operator: Operator::floats(&["reduce/op/mean.wgsl"]),
        constant: None,
        accumulator_words: 1,
        identity: Identity::Argument,
        loop_iterations: 0,
    } tested {
        reference: |v, _| reference::mean(v),
        integers: None,
    }
    /// The greatest element; NaN wins. Over no elements −inf, or the least integer. "Any" for bool.
    Max {
        name: "reduce_max",
        dtypes: ReduceDTypes::Same,
        default_argument: 0.0,
        keeps_one: true,
        operator: EXTREMUM,
        constant: Some(("LEAST", 0)),
        accumulator_words: 1,
        identity: Identity::LowestKey { least: false },
        loop_iterations: 0,
    } tested {
        reference: |v, _| reference::extreme(v, f64::NEG_INFINITY, f64::max),
        integers: Some(|v| v.iter().copied().fold(i64::MIN, i64::max)),
    }
    /// The least element; NaN wins. Over no elements +inf, or the greatest integer. "All" for bool.
    Min {
        name: "reduce_min",
        dtypes: ReduceDTypes::Same,
        default_argument: 0.0,
        keeps_one: true,
        operator: EXTREMUM,
        constant: Some(("LEAST", 1)),
        accumulator_words: 1,
        identity: Identity::LowestKey { least: true },
        loop_iterations: 0,
    } tested {
        reference: |v, _| reference::extreme(v, f64::INFINITY, f64::min),
        integers: Some(|v| v.iter().copied().fold(i64::MAX, i64::min)),
    }
    /// The product; 1 over no elements. Floats are multiplied in f32, integers wrap.
    Prod {
        name: "prod",
        dtypes: ReduceDTypes::Numbers,
        default_argument: 0.0,
        keeps_one: true,
        operator: Operator::any(&["reduce/op/prod.wgsl"]),
        constant: None,
        accumulator_words: 1,
        identity: Identity::Argument,
        loop_iterations: 0,
    } tested {
        reference: |v, _| Term::exact(v.iter().product()),
        integers: Some(|v| v.iter().copied().fold(1, i64::wrapping_mul)),
    }
    /// The sum of squares; 0 over no elements.
    SumSquares {
        name: "sum_squares",
        dtypes: ReduceDTypes::Numbers,
        default_argument: 0.0,
        keeps_one: false,
        operator: Operator::any(&["reduce/op/sum_squares.wgsl"]),
        constant: None,
        accumulator_words: 1,
        identity: Identity::Argument,
        loop_iterations: 0,
    } tested {
        reference: |v, _| sum_of(v, |x| x * x),
        integers: Some(|v| v.iter().fold(0, |sum: i64, x| sum.wrapping_add(x.wrapping_mul(*x)))),
    }
    /// The sum of absolute values; 0 over no elements.
    SumAbs {
        name: "sum_abs",
        dtypes: ReduceDTypes::Numbers,
        default_argument: 0.0,
        keeps_one: false,
        operator: Operator::any(&["reduce/op/sum_abs.wgsl"]),
        constant: None,
        accumulator_words: 1,
        identity: Identity::Argument,
        loop_iterations: 0,
    } tested {
        reference: |v, _| sum_of(v, f64::abs),
        integers: Some(|v| v.iter().fold(0, |sum: i64, x| sum.wrapping_add(x.wrapping_abs()))),
    }
    /// The square root of the sum of squares, floats only; 0 over no elements.
    Norm2 {
        name: "norm2",
        dtypes: ReduceDTypes::Floats,
        default_argument: 0.0,
        keeps_one: false,
        operator: Operator::floats(&[
            "functions/sqrt.wgsl",
            "elementwise/unary/sqrt.wgsl",
            "reduce/op/norm2.wgsl",
        ]),
        constant: None,
        accumulator_words: 1,
        identity: Identity::Argument,
        loop_iterations: 0,
    } tested {
        reference: |v, _| Term::exact(sum_of(v, |x| x * x).value.sqrt()),
        integers: None,
    }
    /// `(Σ |x|^p)^(1/p)`, floats only, for an argument p that is neither 0 nor infinite.
    Norm {
        name: "norm",
        dtypes: ReduceDTypes::Floats,
        default_argument: 2.0,
        keeps_one: false,
        operator: Operator::floats(&[
            "functions/exp.wgsl",
            "functions/log.wgsl",
            "functions/pow.wgsl",
            "elementwise/binary/pow.wgsl",
            "reduce/op/norm.wgsl",
        ]),
        constant: None,
        accumulator_words: 1,
        identity: Identity::Argument,
        // With two for the loops over elements.
        loop_iterations: POWER_ITERATIONS + 3,
    } tested {
        reference: reference::norm,
        integers: None,
    }
    /// `ln Σ exp x` without overflow, floats only; −inf over no elements.
    LogSumExp {
        name: "logsumexp",
        dtypes: ReduceDTypes::Floats,
        default_argument: 0.0,
        keeps_one: false,
        operator: Operator::floats(&[
            "functions/log.wgsl",
            "elementwise/unary/log.wgsl",
            "reduce/key/float.wgsl",
            "softmax/exp.wgsl",
            "reduce/op/logsumexp.wgsl",
        ]),
        constant: Some(("LEAST", 0)),
        accumulator_words: 2,
        identity: Identity::Argument,
        loop_iterations: 0,
    } tested {
        reference: |v, _| reference::logsumexp(v),
        integers: None,
    }
    /// The sum of squared distances from the mean over `n − correction` (the argument), floats only; NaN over no
    /// elements.
    Var {
        name: "var",
        dtypes: ReduceDTypes::Floats,
        default_argument: 1.0,
        keeps_one: false,
        operator: VARIANCE,
        constant: Some(("ROOT", 0)),
        accumulator_words: 4,
        identity: Identity::Argument,
        loop_iterations: 0,
    } tested {
        reference: reference::var,
        integers: None,
    }
    /// The square root of [`Var`](Self::Var).
    Std {
        name: "std",
        dtypes: ReduceDTypes::Floats,
        default_argument: 1.0,
        keeps_one: false,
        operator: VARIANCE,
        constant: Some(("ROOT", 1)),
        accumulator_words: 4,
        identity: Identity::Argument,
        loop_iterations: 0,
    } tested {
        reference: reference::std,
        integers: None,
    }
}

const EXTREMUM: Operator = Operator {
    float: &["reduce/key/float.wgsl", "reduce/op/extremum.wgsl"],
    int: &["reduce/key/int.wgsl", "reduce/op/extremum.wgsl"],
    bool: &["reduce/key/bool.wgsl", "reduce/op/extremum.wgsl"],
};

const VARIANCE: Operator = Operator::floats(&[
    "functions/sqrt.wgsl",
    "elementwise/unary/sqrt.wgsl",
    "reduce/op/var.wgsl",
    "reduce/op/var_finish.wgsl",
]);

impl Reduce {
    /// The name in labels and messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.spec().name
    }

    /// The argument that [`Executor::reduce`](crate::Executor::reduce) uses: p = 2, correction 1, and 0 for reductions
    /// without one.
    #[must_use]
    pub const fn default_argument(self) -> f32 {
        self.spec().default_argument
    }

    /// Whether only floats have this reduction.
    #[must_use]
    pub const fn needs_floats(self) -> bool {
        matches!(self.spec().dtypes, ReduceDTypes::Floats)
    }

    /// Whether reducing one element gives it back.
    #[must_use]
    pub const fn keeps_one(self) -> bool {
        self.spec().keeps_one
    }

    /// Whether `input` may be reduced into `output`: the same dtype; of floats also f32, but for extremes; for sums and
    /// products of integers also a wider integer. Bool has a sum (in a wider integer) and extremes.
    #[must_use]
    pub const fn accepts(self, input: DType, output: DType) -> bool {
        let same = input as u8 == output as u8;
        let float = input.is_float() && (same || output as u8 == input.compute() as u8);
        // Every value of the input is one of the output, which is computed in 32 bits.
        let wider = !input.is_float()
            && output.is_int()
            && input.bytes() < output.bytes()
            && (output.is_signed() || !input.is_signed());
        match self.spec().dtypes {
            ReduceDTypes::Same => same,
            ReduceDTypes::Floats => float,
            ReduceDTypes::Numbers => float || input.is_int() && (same || wider),
            ReduceDTypes::NumbersAndBool => float || input.is_int() && same || wider,
        }
    }

    /// The parameter `identity`.
    pub(crate) const fn identity(self, input: DType, argument: f32) -> u32 {
        match self.spec().identity {
            Identity::LowestKey { least } => prelude::lowest_key(input, least),
            Identity::Argument => argument.to_bits(),
        }
    }

    /// The files with what sixteen elements, and up to four, accumulate to.
    pub(crate) const fn block(self) -> &'static [&'static str] {
        match self {
            Self::Var | Self::Std => &["reduce/op/var_block.wgsl", "reduce/tail.wgsl"],
            Self::LogSumExp => &["reduce/op/logsumexp_block.wgsl", "reduce/tail.wgsl"],
            Self::Norm => &["reduce/op/norm_block.wgsl"],
            _ => &["reduce/block.wgsl", "reduce/tail.wgsl"],
        }
    }

    /// The operator's shader files.
    pub(crate) const fn operator(self, input: DType) -> &'static [&'static str] {
        let operator = &self.spec().operator;
        if input.is_float() {
            operator.float
        } else if input.is_bool() {
            operator.bool
        } else {
            operator.int
        }
    }
}

#[cfg(test)]
mod tests;
