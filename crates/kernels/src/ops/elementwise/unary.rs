//! The unary table: one input, the output has its dtype.

use ziggurat_core::DType;

use crate::ops::elementwise::row::{
    BOOL, CodeFacts, FLOAT, INT, NUMERIC, UnarySpec, recipe, snippets,
};
#[cfg(feature = "catalogue")]
use crate::ops::elementwise::tolerance::{Samples, Tolerance};
use crate::ops::elementwise::walk::Recipe;
#[cfg(feature = "catalogue")]
use crate::reference::special;
use crate::run::completion::Completion;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;
use crate::source::candidate::Candidate;

const EXP: &[&str] = &["functions/exp.wgsl"];
const DIVIDE: &[&str] = &["functions/divide.wgsl"];
const SQRT: &[&str] = &["functions/sqrt.wgsl"];
const LOG: &[&str] = &["functions/log.wgsl"];
const SIGMOID: &[&str] = &["functions/exp.wgsl", "functions/sigmoid.wgsl"];
const ERFC: &[&str] = &["functions/exp.wgsl", "functions/erfc.wgsl"];
const TRIG: &[&str] = &["functions/trig.wgsl"];
const EXPM1: &[&str] = &["functions/exp.wgsl", "functions/expm1.wgsl"];
const LOG1P: &[&str] = &["functions/log.wgsl", "functions/log1p.wgsl"];
const HYPERBOLIC: &[&str] = &["functions/exp.wgsl", "functions/hyperbolic.wgsl"];
const ASIN: &[&str] = &["functions/asin.wgsl"];
const ATAN: &[&str] = &["functions/atan.wgsl"];
const ERF: &[&str] = &[
    "functions/exp.wgsl",
    "functions/erfc.wgsl",
    "functions/erf.wgsl",
];
const SOFTPLUS: &[&str] = &[
    "functions/exp.wgsl",
    "functions/log.wgsl",
    "functions/log1p.wgsl",
    "functions/softplus.wgsl",
];

/// For rows without integer dtypes.
#[cfg(feature = "catalogue")]
fn none(x: i64) -> i64 {
    x
}

macro_rules! unary_ops {
    ($($(#[$doc:meta])* $variant:ident $method:ident $name:literal, $dtypes:expr, $functions:expr, $float:expr, $int:expr, $samples:expr, $tolerance:expr, $code:expr;)*) => {
        /// An elementwise op of one input.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Unary { $($(#[$doc])* $variant,)* }

        impl Unary {
            /// Every unary op.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The op's row: name, dtypes, references, samples, tolerance, facts for code generation.
            #[must_use]
            pub const fn spec(self) -> &'static UnarySpec {
                match self {
                    $(Self::$variant => const { &UnarySpec {
                        name: $name,
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
                        snippets: snippets!("unary", $name),
                    } },)*
                }
            }
        }

        impl Executor {
            $($(#[$doc])*
            ///
            /// # Errors
            /// See [`Executor::unary`].
            pub fn $method(&self, a: &View, out: &View) -> Result<Completion, KernelError> {
                self.unary(Unary::$variant, a, out)
            })*
        }
    };
}

unary_ops! {
    /// `|x|`; the lowest signed integer stays what it is.
    Abs abs "abs", NUMERIC, &[], f64::abs, i64::abs, Samples::signed(1e3), Tolerance::EXACT, CodeFacts::SIGN;
    /// `-x`; integers wrap.
    Neg neg "neg", NUMERIC, &[], |x| -x, |x| -x, Samples::signed(1e3), Tolerance::EXACT, CodeFacts::SIGN;
    /// -1, 0 or 1; NaN stays NaN.
    Sign sign "sign", NUMERIC, &[], special::sign, i64::signum, Samples::signed(2.0), Tolerance::EXACT, CodeFacts::EXACT;
    /// `eˣ`.
    Exp exp "exp", FLOAT, EXP, f64::exp, none, Samples::signed(20.0), Tolerance::ulps(3.0), CodeFacts::FUNCTION;
    /// `2ˣ`.
    Exp2 exp2 "exp2", FLOAT, EXP, f64::exp2, none, Samples::signed(20.0), Tolerance::ulps(3.0), CodeFacts::FUNCTION;
    /// The natural logarithm.
    Log log "log", FLOAT, LOG, f64::ln, none, Samples::range(1e-3, 1e3), Tolerance::ulps(3.0), CodeFacts::FUNCTION;
    /// The binary logarithm.
    Log2 log2 "log2", FLOAT, LOG, f64::log2, none, Samples::range(1e-3, 1e3), Tolerance::ulps(3.0), CodeFacts::FUNCTION;
    /// The square root; NaN for negative numbers.
    Sqrt sqrt "sqrt", FLOAT, SQRT, f64::sqrt, none, Samples::range(0.0, 1e3), Tolerance::EXACT, CodeFacts::FUNCTION;
    /// `1 / √x`.
    Rsqrt rsqrt "rsqrt", FLOAT, &[], |x| 1.0 / x.sqrt(), none, Samples::range(1e-3, 1e3), Tolerance::ulps(5.0), CodeFacts::FUNCTION;
    /// `x²`; integers wrap.
    Square square "square", NUMERIC, &[], |x| x * x, |x| x.wrapping_mul(x), Samples::signed(1e2), Tolerance::EXACT, CodeFacts::ROUNDED;
    /// `1 / x`.
    Reciprocal reciprocal "reciprocal", FLOAT, DIVIDE, |x| 1.0 / x, none, Samples::signed(1e2), Tolerance::EXACT, CodeFacts::FUNCTION;
    /// The sine, its argument in radians; accurate for every finite argument.
    Sin sin "sin", FLOAT, TRIG, f64::sin, none, Samples::signed(1e5), Tolerance::ulps(3.0).plus(2e-7), CodeFacts::FUNCTION;
    /// The cosine, its argument in radians; accurate for every finite argument.
    Cos cos "cos", FLOAT, TRIG, f64::cos, none, Samples::signed(1e5), Tolerance::ulps(3.0).plus(2e-7), CodeFacts::FUNCTION;
    /// The largest integer not above `x`.
    Floor floor "floor", FLOAT, &[], f64::floor, none, Samples::signed(10.0), Tolerance::EXACT, CodeFacts::EXACT;
    /// The smallest integer not below `x`.
    Ceil ceil "ceil", FLOAT, &[], f64::ceil, none, Samples::signed(10.0), Tolerance::EXACT, CodeFacts::EXACT;
    /// The nearest integer, halves to even.
    Round round "round", FLOAT, &[], f64::round_ties_even, none, Samples::signed(10.0), Tolerance::EXACT, CodeFacts::EXACT;
    /// `x` without its fraction.
    Trunc trunc "trunc", FLOAT, &[], f64::trunc, none, Samples::signed(10.0), Tolerance::EXACT, CodeFacts::EXACT;
    /// `max(x, 0)`; NaN and -0.0 stay what they are.
    Relu relu "relu", NUMERIC, &[], special::relu, |x| x.max(0), Samples::signed(8.0), Tolerance::EXACT, CodeFacts::SELECTION;
    /// `x · Φ(x)` with the normal distribution function Φ.
    Gelu gelu "gelu", FLOAT, ERFC, special::gelu, none, Samples::signed(6.0), Tolerance::ulps(6.0).per_input(12.0), CodeFacts::FUNCTION;
    /// The approximation of [`Unary::Gelu`] by tanh.
    GeluTanh gelu_tanh "gelu_tanh", FLOAT, SIGMOID, special::gelu_tanh, none, Samples::signed(6.0), Tolerance::ulps(6.0).per_input(12.0), CodeFacts::FUNCTION;
    /// `1 / (1 + e⁻ˣ)`.
    Sigmoid sigmoid "sigmoid", FLOAT, SIGMOID, special::sigmoid, none, Samples::signed(20.0), Tolerance::ulps(6.0), CodeFacts::FUNCTION;
    /// The hyperbolic tangent.
    Tanh tanh "tanh", FLOAT, EXP, f64::tanh, none, Samples::signed(6.0), Tolerance::ulps(5.0), CodeFacts::FUNCTION;
    /// `x · sigmoid(x)`.
    Silu silu "silu", FLOAT, SIGMOID, special::silu, none, Samples::signed(20.0), Tolerance::ulps(7.0), CodeFacts::FUNCTION;
    /// `eˣ - 1`, with all digits near 0.
    Expm1 expm1 "expm1", FLOAT, EXPM1, f64::exp_m1, none, Samples::signed(20.0), Tolerance::ulps(3.0), CodeFacts::FUNCTION;
    /// The decimal logarithm.
    Log10 log10 "log10", FLOAT, LOG, f64::log10, none, Samples::range(1e-3, 1e3), Tolerance::ulps(3.0), CodeFacts::FUNCTION;
    /// `ln(1 + x)`, with all digits near 0.
    Log1p log1p "log1p", FLOAT, LOG1P, f64::ln_1p, none, Samples::range(-0.99, 1e3), Tolerance::ulps(5.0), CodeFacts::FUNCTION;
    /// The tangent, its argument in radians; accurate for every finite argument.
    Tan tan "tan", FLOAT, TRIG, f64::tan, none, Samples::signed(1e5), Tolerance::ulps(8.0).plus(2e-7), CodeFacts::FUNCTION;
    /// The arc sine; NaN beyond 1 and -1.
    Asin asin "asin", FLOAT, ASIN, f64::asin, none, Samples::signed(1.0), Tolerance::ulps(4.0), CodeFacts::FUNCTION;
    /// The arc cosine; NaN beyond 1 and -1.
    Acos acos "acos", FLOAT, ASIN, f64::acos, none, Samples::signed(1.0), Tolerance::ulps(4.0), CodeFacts::FUNCTION;
    /// The arc tangent.
    Atan atan "atan", FLOAT, ATAN, f64::atan, none, Samples::signed(1e3), Tolerance::ulps(4.0), CodeFacts::FUNCTION;
    /// The hyperbolic sine.
    Sinh sinh "sinh", FLOAT, HYPERBOLIC, f64::sinh, none, Samples::signed(20.0), Tolerance::ulps(5.0), CodeFacts::FUNCTION;
    /// The hyperbolic cosine.
    Cosh cosh "cosh", FLOAT, HYPERBOLIC, f64::cosh, none, Samples::signed(20.0), Tolerance::ulps(5.0), CodeFacts::FUNCTION;
    /// The inverse hyperbolic sine.
    Asinh asinh "asinh", FLOAT, LOG, f64::asinh, none, Samples::signed(1e4), Tolerance::ulps(5.0), CodeFacts::FUNCTION;
    /// The inverse hyperbolic cosine; NaN below 1.
    Acosh acosh "acosh", FLOAT, LOG, f64::acosh, none, Samples::range(1.0, 40.0), Tolerance::ulps(5.0), CodeFacts::FUNCTION;
    /// The inverse hyperbolic tangent; infinite at 1 and -1, NaN beyond.
    Atanh atanh "atanh", FLOAT, LOG1P, f64::atanh, none, Samples::signed(0.999), Tolerance::ulps(5.0), CodeFacts::FUNCTION;
    /// The error function.
    Erf erf "erf", FLOAT, ERF, special::erf, none, Samples::signed(5.0), Tolerance::ulps(4.0), CodeFacts::FUNCTION;
    /// `1 - erf(x)`, with all its digits where it is small.
    Erfc erfc "erfc", FLOAT, ERF, special::erfc, none, Samples::range(-5.0, 9.0), Tolerance::ulps(8.0), CodeFacts::FUNCTION;
    /// `x - trunc(x)`, with the sign of `x`.
    Frac frac "frac", FLOAT, &[], |x| x - x.trunc(), none, Samples::signed(10.0), Tolerance::EXACT, CodeFacts::EXACT;
    /// `ln(1 + eˣ)`.
    Softplus softplus "softplus", FLOAT, SOFTPLUS, special::softplus, none, Samples::signed(20.0), Tolerance::ulps(7.0), CodeFacts::FUNCTION;
    /// `ln(1 / (1 + e⁻ˣ))`.
    LogSigmoid log_sigmoid "log_sigmoid", FLOAT, SOFTPLUS, |x| -special::softplus(-x), none, Samples::signed(20.0), Tolerance::ulps(7.0), CodeFacts::FUNCTION;
    /// `x / (1 + |x|)`; ±1 for infinity.
    Softsign softsign "softsign", FLOAT, &[], special::softsign, none, Samples::signed(1e3), Tolerance::ulps(4.0), CodeFacts::FUNCTION;
    /// `x · tanh(softplus(x))`.
    Mish mish "mish", FLOAT, EXP, special::mish, none, Samples::signed(20.0), Tolerance::ulps(8.0), CodeFacts::FUNCTION;
    /// `x · sigmoid(1.702 x)`, the coarser approximation of [`Unary::Gelu`].
    GeluQuick gelu_quick "gelu_quick", FLOAT, SIGMOID, special::gelu_quick, none, Samples::signed(12.0), Tolerance::ulps(7.0).per_input(2.0), CodeFacts::FUNCTION;
    /// `x · min(max(x + 3, 0), 6) / 6`.
    HardSwish hard_swish "hard_swish", FLOAT, &[], special::hard_swish, none, Samples::signed(6.0), Tolerance::ulps(4.0).plus(1e-7), CodeFacts::FUNCTION;
    /// Not `x`.
    LogicalNot logical_not "logical_not", BOOL, &[], |x| x, |x| i64::from(x == 0), Samples::range(0.0, 1.0), Tolerance::EXACT, CodeFacts::EXACT;
    /// Every bit inverted.
    BitwiseNot bitwise_not "bitwise_not", INT, &[], |x| x, |x| !x, Samples::signed(1e3), Tolerance::EXACT, CodeFacts::EXACT;
}

impl Unary {
    /// The recipe for a dtype.
    pub(crate) fn recipe(self, dtype: DType) -> Recipe {
        let spec = self.spec();
        recipe(
            spec.name,
            1,
            dtype,
            dtype,
            spec.functions,
            spec.snippets.of(dtype),
        )
    }
}

/// Catalogue entries.
pub(crate) fn variants() -> Vec<Candidate> {
    Unary::ALL
        .iter()
        .flat_map(|op| {
            op.spec()
                .dtypes
                .iter()
                .flat_map(|&dtype| Candidate::of_recipe(&op.recipe(dtype), 1))
        })
        .collect()
}

impl Executor {
    /// Computes a unary op. `a` is broadcast to `out`'s shape and must have its dtype; `out` may be `a` itself.
    ///
    /// # Errors
    /// [`KernelError::Dtype`] if the op does not exist for the dtype or `out` has another, [`KernelError::Shape`] if
    /// `a` does not broadcast to `out`, and the errors of the layers below.
    pub fn unary(&self, op: Unary, a: &View, out: &View) -> Result<Completion, KernelError> {
        let spec = op.spec();
        check_dtype(spec.name, spec.dtypes, a)?;
        check_same_dtype(spec.name, "out", out, a.dtype)?;
        let a = broadcast(spec.name, a, out)?;
        self.walk(&op.recipe(a.dtype), &[&a], out)?;
        Ok(self.completion())
    }
}

/// The op must exist for the dtype.
pub(crate) fn check_dtype(op: &'static str, dtypes: &[DType], a: &View) -> Result<(), KernelError> {
    if dtypes.contains(&a.dtype) {
        return Ok(());
    }
    let rule = if dtypes.iter().all(|dtype| dtype.is_float()) {
        "only floating-point dtypes have this op"
    } else if dtypes.iter().all(|dtype| dtype.is_bool()) {
        "only bool has this op"
    } else if dtypes.iter().all(|dtype| !dtype.is_float()) {
        "floating-point dtypes do not have this op"
    } else {
        "bool does not have this op"
    };
    Err(KernelError::Dtype {
        op,
        operand: "a",
        rule,
        got: a.dtype,
    })
}

/// The operand must have the first input's dtype.
pub(crate) fn check_same_dtype(
    op: &'static str,
    operand: &'static str,
    view: &View,
    dtype: DType,
) -> Result<(), KernelError> {
    if view.dtype == dtype {
        return Ok(());
    }
    Err(KernelError::Dtype {
        op,
        operand,
        rule: "it must have the dtype of the first input",
        got: view.dtype,
    })
}

/// The output of an op that answers yes or no.
pub(crate) fn check_is_bool(op: &'static str, out: &View) -> Result<(), KernelError> {
    if out.dtype == DType::Bool {
        return Ok(());
    }
    Err(KernelError::Dtype {
        op,
        operand: "out",
        rule: "it must be bool",
        got: out.dtype,
    })
}

/// The view broadcast to the output's shape.
pub(crate) fn broadcast(op: &'static str, view: &View, out: &View) -> Result<View, KernelError> {
    if view.shape() == out.shape() {
        // The walk checks it.
        return Ok(view.clone());
    }
    view.with_layout(
        view.layout
            .expand(*out.shape())
            .map_err(KernelError::shape(op))?,
    )
}
