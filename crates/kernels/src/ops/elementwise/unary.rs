//! The unary table: one input, the output has its dtype.

use std::convert::identity;

use ziggurat_core::DType;

use crate::ops::elementwise::dispatch::Recipe;
use crate::ops::elementwise::row::{
    BOOL, CodeFacts, DIVIDE, FLOAT, INT, NAN_EACH, NUMERIC, UnarySpec, elementwise_table, recipe,
};
#[cfg(feature = "catalogue")]
use crate::ops::elementwise::tolerance::{Samples, Tolerance};
#[cfg(feature = "catalogue")]
use crate::reference::special;
use crate::run::completion::Completion;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;
use crate::source::candidate::Candidate;

const EXP: &[&str] = &["functions/exp.wgsl"];
const TANH: &[&str] = &[NAN_EACH, "functions/exp.wgsl"];
const GELU: &[&str] = &[NAN_EACH, "functions/exp.wgsl", "functions/erfc.wgsl"];
const SQRT: &[&str] = &["functions/sqrt.wgsl"];
const LOG: &[&str] = &["functions/log.wgsl"];
pub(crate) const SIGMOID: &[&str] = &["functions/exp.wgsl", "functions/sigmoid.wgsl"];
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

elementwise_table! {
    /// An elementwise op of one input.
    Unary: UnarySpec, "unary", unary(a) -> identity;
    /// `|x|`; the lowest signed integer stays what it is.
    Abs abs (NUMERIC, &[], CodeFacts::SIGN) (f64::abs, i64::abs, Samples::signed(1e3), Tolerance::EXACT);
    /// `-x`; integers wrap.
    Neg neg (NUMERIC, &[], CodeFacts::SIGN) (|x| -x, |x| -x, Samples::signed(1e3), Tolerance::EXACT);
    /// -1, 0 or 1; NaN stays NaN.
    Sign sign (NUMERIC, &[], CodeFacts::EXACT) (special::sign, i64::signum, Samples::signed(2.0), Tolerance::EXACT);
    /// `eˣ`.
    Exp exp (FLOAT, EXP, CodeFacts::FUNCTION) (f64::exp, none, Samples::signed(20.0), Tolerance::ulps(3.0));
    /// `2ˣ`.
    Exp2 exp2 (FLOAT, EXP, CodeFacts::FUNCTION) (f64::exp2, none, Samples::signed(20.0), Tolerance::ulps(3.0));
    /// The natural logarithm.
    Log log (FLOAT, LOG, CodeFacts::FUNCTION) (f64::ln, none, Samples::range(1e-3, 1e3), Tolerance::ulps(3.0));
    /// The binary logarithm.
    Log2 log2 (FLOAT, LOG, CodeFacts::FUNCTION) (f64::log2, none, Samples::range(1e-3, 1e3), Tolerance::ulps(3.0));
    /// The square root; NaN for negative numbers.
    Sqrt sqrt (FLOAT, SQRT, CodeFacts::FUNCTION) (f64::sqrt, none, Samples::range(0.0, 1e3), Tolerance::EXACT);
    /// `1 / √x`.
    Rsqrt rsqrt (FLOAT, &[], CodeFacts::FUNCTION) (|x| 1.0 / x.sqrt(), none, Samples::range(1e-3, 1e3), Tolerance::ulps(5.0));
    /// `x²`; integers wrap.
    Square square (NUMERIC, &[], CodeFacts::ROUNDED) (|x| x * x, |x| x.wrapping_mul(x), Samples::signed(1e2), Tolerance::EXACT);
    /// `1 / x`.
    Reciprocal reciprocal (FLOAT, DIVIDE, CodeFacts::FUNCTION) (|x| 1.0 / x, none, Samples::signed(1e2), Tolerance::EXACT);
    /// The sine, its argument in radians; accurate for every finite argument.
    Sin sin (FLOAT, TRIG, CodeFacts::FUNCTION) (f64::sin, none, Samples::signed(1e5), Tolerance::ulps(3.0).plus(2e-7));
    /// The cosine, its argument in radians; accurate for every finite argument.
    Cos cos (FLOAT, TRIG, CodeFacts::FUNCTION) (f64::cos, none, Samples::signed(1e5), Tolerance::ulps(3.0).plus(2e-7));
    /// The largest integer not above `x`.
    Floor floor (FLOAT, &[], CodeFacts::EXACT) (f64::floor, none, Samples::signed(10.0), Tolerance::EXACT);
    /// The smallest integer not below `x`.
    Ceil ceil (FLOAT, &[], CodeFacts::EXACT) (f64::ceil, none, Samples::signed(10.0), Tolerance::EXACT);
    /// The nearest integer, halves to even.
    Round round (FLOAT, &[], CodeFacts::EXACT) (f64::round_ties_even, none, Samples::signed(10.0), Tolerance::EXACT);
    /// `x` without its fraction.
    Trunc trunc (FLOAT, &[], CodeFacts::EXACT) (f64::trunc, none, Samples::signed(10.0), Tolerance::EXACT);
    /// `max(x, 0)`; NaN and -0.0 stay what they are.
    Relu relu (NUMERIC, &[], CodeFacts::SELECTION) (special::relu, |x| x.max(0), Samples::signed(8.0), Tolerance::EXACT);
    /// `x · Φ(x)` with the normal distribution function Φ.
    Gelu gelu (FLOAT, GELU, CodeFacts::FUNCTION) (special::gelu, none, Samples::signed(6.0), Tolerance::ulps(6.0).per_input(12.0));
    /// The approximation of [`Unary::Gelu`] by tanh.
    GeluTanh gelu_tanh (FLOAT, SIGMOID, CodeFacts::FUNCTION) (special::gelu_tanh, none, Samples::signed(6.0), Tolerance::ulps(6.0).per_input(12.0));
    /// `1 / (1 + e⁻ˣ)`.
    Sigmoid sigmoid (FLOAT, SIGMOID, CodeFacts::FUNCTION) (special::sigmoid, none, Samples::signed(20.0), Tolerance::ulps(6.0));
    /// The hyperbolic tangent.
    Tanh tanh (FLOAT, TANH, CodeFacts::FUNCTION) (f64::tanh, none, Samples::signed(6.0), Tolerance::ulps(5.0));
    /// `x · sigmoid(x)`.
    Silu silu (FLOAT, SIGMOID, CodeFacts::FUNCTION) (special::silu, none, Samples::signed(20.0), Tolerance::ulps(7.0));
    /// `eˣ - 1`, with all digits near 0.
    Expm1 expm1 (FLOAT, EXPM1, CodeFacts::FUNCTION) (f64::exp_m1, none, Samples::signed(20.0), Tolerance::ulps(3.0));
    /// The decimal logarithm.
    Log10 log10 (FLOAT, LOG, CodeFacts::FUNCTION) (f64::log10, none, Samples::range(1e-3, 1e3), Tolerance::ulps(3.0));
    /// `ln(1 + x)`, with all digits near 0.
    Log1p log1p (FLOAT, LOG1P, CodeFacts::FUNCTION) (f64::ln_1p, none, Samples::range(-0.99, 1e3), Tolerance::ulps(5.0));
    /// The tangent, its argument in radians; accurate for every finite argument.
    Tan tan (FLOAT, TRIG, CodeFacts::FUNCTION) (f64::tan, none, Samples::signed(1e5), Tolerance::ulps(8.0).plus(2e-7));
    /// The arc sine; NaN beyond 1 and -1.
    Asin asin (FLOAT, ASIN, CodeFacts::FUNCTION) (f64::asin, none, Samples::signed(1.0), Tolerance::ulps(4.0));
    /// The arc cosine; NaN beyond 1 and -1.
    Acos acos (FLOAT, ASIN, CodeFacts::FUNCTION) (f64::acos, none, Samples::signed(1.0), Tolerance::ulps(4.0));
    /// The arc tangent.
    Atan atan (FLOAT, ATAN, CodeFacts::FUNCTION) (f64::atan, none, Samples::signed(1e3), Tolerance::ulps(4.0));
    /// The hyperbolic sine.
    Sinh sinh (FLOAT, HYPERBOLIC, CodeFacts::FUNCTION) (f64::sinh, none, Samples::signed(20.0), Tolerance::ulps(5.0));
    /// The hyperbolic cosine.
    Cosh cosh (FLOAT, HYPERBOLIC, CodeFacts::FUNCTION) (f64::cosh, none, Samples::signed(20.0), Tolerance::ulps(5.0));
    /// The inverse hyperbolic sine.
    Asinh asinh (FLOAT, LOG, CodeFacts::FUNCTION) (f64::asinh, none, Samples::signed(1e4), Tolerance::ulps(5.0));
    /// The inverse hyperbolic cosine; NaN below 1.
    Acosh acosh (FLOAT, LOG, CodeFacts::FUNCTION) (f64::acosh, none, Samples::range(1.0, 40.0), Tolerance::ulps(5.0));
    /// The inverse hyperbolic tangent; infinite at 1 and -1, NaN beyond.
    Atanh atanh (FLOAT, LOG1P, CodeFacts::FUNCTION) (f64::atanh, none, Samples::signed(0.999), Tolerance::ulps(5.0));
    /// The error function.
    Erf erf (FLOAT, ERF, CodeFacts::FUNCTION) (special::erf, none, Samples::signed(5.0), Tolerance::ulps(4.0));
    /// `1 - erf(x)`, with all its digits where it is small.
    Erfc erfc (FLOAT, ERF, CodeFacts::FUNCTION) (special::erfc, none, Samples::range(-5.0, 9.0), Tolerance::ulps(8.0));
    /// `x - trunc(x)`, with the sign of `x`.
    Frac frac (FLOAT, &[], CodeFacts::EXACT) (|x| x - x.trunc(), none, Samples::signed(10.0), Tolerance::EXACT);
    /// `ln(1 + eˣ)`.
    Softplus softplus (FLOAT, SOFTPLUS, CodeFacts::FUNCTION) (special::softplus, none, Samples::signed(20.0), Tolerance::ulps(7.0));
    /// `ln(1 / (1 + e⁻ˣ))`.
    LogSigmoid log_sigmoid (FLOAT, SOFTPLUS, CodeFacts::FUNCTION) (|x| -special::softplus(-x), none, Samples::signed(20.0), Tolerance::ulps(7.0));
    /// `x / (1 + |x|)`; ±1 for infinity.
    Softsign softsign (FLOAT, &[], CodeFacts::FUNCTION) (special::softsign, none, Samples::signed(1e3), Tolerance::ulps(4.0));
    /// `x · tanh(softplus(x))`.
    Mish mish (FLOAT, EXP, CodeFacts::FUNCTION) (special::mish, none, Samples::signed(20.0), Tolerance::ulps(8.0));
    /// `x · sigmoid(1.702 x)`, the coarser approximation of [`Unary::Gelu`].
    GeluQuick gelu_quick (FLOAT, SIGMOID, CodeFacts::FUNCTION) (special::gelu_quick, none, Samples::signed(12.0), Tolerance::ulps(7.0).per_input(2.0));
    /// `x · min(max(x + 3, 0), 6) / 6`.
    HardSwish hard_swish (FLOAT, &[], CodeFacts::FUNCTION) (special::hard_swish, none, Samples::signed(6.0), Tolerance::ulps(4.0).plus(1e-7));
    /// Not `x`.
    LogicalNot logical_not (BOOL, &[], CodeFacts::EXACT) (|x| x, |x| i64::from(x == 0), Samples::range(0.0, 1.0), Tolerance::EXACT);
    /// Every bit inverted.
    BitwiseNot bitwise_not (INT, &[], CodeFacts::EXACT) (|x| x, |x| !x, Samples::signed(1e3), Tolerance::EXACT);
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
        self.elementwise(&op.recipe(a.dtype), &[&a], out)?;
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
    Err(KernelError::dtype(op, "a", rule, a.dtype))
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
    Err(KernelError::dtype(
        op,
        operand,
        "it must have the dtype of the first input",
        view.dtype,
    ))
}

/// The output of an op that answers yes or no.
pub(crate) fn check_is_bool(op: &'static str, out: &View) -> Result<(), KernelError> {
    if out.dtype == DType::Bool {
        return Ok(());
    }
    Err(KernelError::dtype(op, "out", "it must be bool", out.dtype))
}

/// The view broadcast to the output's shape.
pub(crate) fn broadcast(op: &'static str, view: &View, out: &View) -> Result<View, KernelError> {
    if view.shape() == out.shape() {
        // The dispatch checks it.
        return Ok(view.clone());
    }
    view.with_layout(
        view.layout
            .expand(*out.shape())
            .map_err(KernelError::shape(op))?,
    )
}
