//! The composed table: elementwise functions made of rows of the other tables, each written once.
//!
//! A row's formula is written for any [`Composer`]: here it builds an [`Expression`], which runs as one kernel; a lazy graph
//! above builds its own nodes from the same formula. Floats are computed in f32 and rounded once, whatever their dtypes;
//! integers in theirs.
//!
//! Invariants: numbers are parameters of the kernel, so that another number needs no other kernel; a row's rule about its
//! numbers is checked before anything is built.

use ziggurat_core::DType;

use crate::fused::{Expression, FusedOp, Id};
use crate::ops::elementwise::compare::Compare;
use crate::ops::elementwise::row::{ALL, FLOAT, NUMERIC};
#[cfg(feature = "catalogue")]
use crate::ops::elementwise::tolerance::{Samples, Tolerance};
#[cfg(feature = "catalogue")]
use crate::reference::special;
use crate::run::completion::Completion;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;

mod formula;

pub(crate) use formula::Formula;

/// What a formula is built in: an [`Expression`], a lazy graph.
pub trait Composer {
    /// A value of the formula.
    type Value: Clone;
    /// Why a value could not be made.
    type Error;

    /// The result of an op.
    ///
    /// # Errors
    /// If the op does not exist for the operands.
    fn apply(&mut self, op: FusedOp, operands: &[&Self::Value])
    -> Result<Self::Value, Self::Error>;

    /// A number.
    fn number(&mut self, dtype: DType, value: f64) -> Self::Value;

    /// The dtype of a value.
    fn dtype(&self, value: &Self::Value) -> DType;

    /// The number that a value is, if it is one.
    fn known(&self, value: &Self::Value) -> Option<f64>;

    /// The error for a row that was given another count of operands or numbers.
    fn miscounted(&self, op: &'static str, given: usize) -> Self::Error;
}

/// In what a row is computed, and what it gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompositeKind {
    /// Numbers: floats in f32, integers in their dtype.
    Number,
    /// Whether something holds, as bool.
    Truth,
}

/// A row of the composed table.
#[derive(Clone, Copy, Debug)]
pub struct CompositeSpec {
    /// The name of op, method and documentation row.
    pub name: &'static str,
    /// The names of the operands.
    pub operands: &'static [&'static str],
    /// The names of the numbers.
    pub numbers: &'static [&'static str],
    /// The dtypes that operands may have.
    pub dtypes: &'static [DType],
    /// In what it is computed.
    pub kind: CompositeKind,
    /// The reference, for operands and numbers; of bool it is whether the result is not 0.
    #[cfg(feature = "catalogue")]
    pub reference: fn(&[f64], &[f64]) -> f64,
    /// Numbers to test with.
    #[cfg(feature = "catalogue")]
    pub examples: &'static [f64],
    /// Operands to test with.
    #[cfg(feature = "catalogue")]
    pub samples: Samples,
    /// The error allowed on floats.
    #[cfg(feature = "catalogue")]
    pub tolerance: Tolerance,
    /// What it computes, in words.
    #[cfg(feature = "catalogue")]
    pub rule: &'static str,
    /// Which number breaks a rule of its own, and that rule.
    number_rule: fn(&[f64]) -> Option<(usize, &'static str)>,
}

/// A number that a row cannot have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BrokenRule {
    /// The number's name.
    pub number: &'static str,
    /// The rule, as a predicate: `must be at least 0`.
    pub rule: &'static str,
    /// What was given.
    pub got: f64,
}

impl CompositeSpec {
    /// The rule that these numbers break.
    #[must_use]
    pub fn broken(&self, numbers: &[f64]) -> Option<BrokenRule> {
        let (at, rule) = (self.number_rule)(numbers)?;
        Some(BrokenRule {
            number: self.numbers.get(at).copied().unwrap_or("a number"),
            rule,
            got: numbers.get(at).copied().unwrap_or(f64::NAN),
        })
    }
}

fn any(_: &[f64]) -> Option<(usize, &'static str)> {
    None
}

fn not_zero(numbers: &[f64]) -> Option<(usize, &'static str)> {
    (numbers.first() == Some(&0.0)).then_some((0, "must not be 0"))
}

fn from_zero(numbers: &[f64]) -> Option<(usize, &'static str)> {
    let negative = |x: &f64| x.is_nan() || *x < 0.0;
    let first = numbers.iter().take(2).position(negative)?;
    Some((first, "must be at least 0"))
}

fn first_from_zero(numbers: &[f64]) -> Option<(usize, &'static str)> {
    from_zero(numbers.get(..1).unwrap_or_default())
}

fn above_zero(numbers: &[f64]) -> Option<(usize, &'static str)> {
    let fits = numbers.first().is_some_and(|x| *x > 0.0);
    (!fits).then_some((0, "must be above 0"))
}

fn in_order(numbers: &[f64]) -> Option<(usize, &'static str)> {
    let fits = matches!(numbers, [low, high] if low < high);
    (!fits).then_some((0, "must be below high"))
}

fn probability(numbers: &[f64]) -> Option<(usize, &'static str)> {
    let fits = numbers.first().is_some_and(|p| (0.0..=1.0).contains(p));
    (!fits).then_some((0, "must be from 0 to 1"))
}

/// `x` or, where it is not above 0, `below`.
#[cfg(feature = "catalogue")]
fn positive_or(x: f64, below: f64) -> f64 {
    if x > 0.0 { x } else { below }
}

macro_rules! composites {
    ($($(#[doc = $doc:literal])* $variant:ident $name:ident($($operand:ident),*; $($number:ident),*) $dtypes:expr, $kind:ident, $rule:expr, |$x:pat_param, $n:pat_param| $reference:expr, $examples:expr, $samples:expr, $tolerance:expr;)*) => {
        /// An elementwise function that is composed of others.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Composite { $($(#[doc = $doc])* $variant,)* }

        impl Composite {
            /// Every composed function.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The row: name, operands, numbers, dtypes, reference, samples, tolerance.
            #[must_use]
            pub const fn spec(self) -> &'static CompositeSpec {
                match self {
                    $(Self::$variant => const { &CompositeSpec {
                        name: stringify!($name),
                        operands: &[$(stringify!($operand),)*],
                        numbers: &[$(stringify!($number),)*],
                        dtypes: $dtypes,
                        kind: CompositeKind::$kind,
                        #[cfg(feature = "catalogue")]
                        reference: |operands, numbers| match (operands, numbers) {
                            (&$x, &$n) => $reference,
                            _ => f64::NAN,
                        },
                        #[cfg(feature = "catalogue")]
                        examples: $examples,
                        #[cfg(feature = "catalogue")]
                        samples: $samples,
                        #[cfg(feature = "catalogue")]
                        tolerance: $tolerance,
                        #[cfg(feature = "catalogue")]
                        rule: concat!($($doc,)*),
                        number_rule: $rule,
                    } },)*
                }
            }

            /// Builds the formula. Float operands must be f32 already; numbers must keep the row's rule.
            ///
            /// # Errors
            /// Those of the composer.
            pub fn compose<C: Composer>(
                self,
                composer: &mut C,
                operands: &[&C::Value],
                numbers: &[f64],
            ) -> Result<C::Value, C::Error> {
                let mut f = Formula(composer);
                match (self, operands, numbers) {
                    $((Self::$variant, &[$($operand),*], &[$($number),*]) => {
                        formula::$name(&mut f, $($operand,)* $($number),*)
                    })*
                    _ => Err(f.0.miscounted(self.spec().name, operands.len() + numbers.len())),
                }
            }
        }

        impl Executor {
            $($(#[doc = $doc])*
            ///
            /// # Errors
            /// See [`Executor::composite`].
            pub fn $name(&self, $($operand: &View,)* $($number: f64,)* out: &View) -> Result<Completion, KernelError> {
                self.composite(Composite::$variant, &[$($operand),*], &[$($number),*], out)
            })*
        }
    };
}

composites! {
    /// `x` at least `low` and at most `high`, which wins where they cross; NaN stays NaN.
    Clamp clamp(x, low, high;) NUMERIC, Number, any, |[x, low, high], []| special::minimum(special::maximum(x, low), high), &[], Samples::signed(8.0), Tolerance::EXACT;
    /// From `start` to `end` by `weight`: `start + weight · (end - start)`, both ends met exactly.
    Lerp lerp(start, end, weight;) FLOAT, Number, any, |[s, e, w], []| s + w * (e - s), &[], Samples::signed(4.0), Tolerance::ulps(4.0).plus(1e-5);
    /// `x + value · a · b`; integers wrap.
    Addcmul addcmul(x, a, b; value) NUMERIC, Number, any, |[x, a, b], [v]| x + v * a * b, &[3.0], Samples::signed(4.0), Tolerance::ulps(4.0).plus(1e-5);
    /// `x + value · a / b`.
    Addcdiv addcdiv(x, a, b; value) FLOAT, Number, any, |[x, a, b], [v]| x + v * a / b, &[0.5], Samples::range(0.5, 4.0), Tolerance::ulps(6.0);
    /// Whether `|a - b| <= atol + rtol · |b|`, in f32, or both are equal; NaN is close to NaN if `equal_nan` is not 0.
    Isclose isclose(a, b; rtol, atol, equal_nan) ALL, Truth, from_zero, |[a, b], [rtol, atol, nans]| f64::from(special::is_close(a, b, rtol, atol, nans != 0.0)), &[0.25, 0.5, 0.0], Samples::signed(3.0), Tolerance::EXACT;
    /// NaN replaced by `nan`, `inf` by `posinf` and `-inf` by `neginf`.
    NanToNum nan_to_num(x; nan, posinf, neginf) FLOAT, Number, any, |[x], [nan, high, low]| special::nan_to_num(x, nan, high, low), &[1.5, 7.0, -9.0], Samples::signed(8.0), Tolerance::EXACT;
    /// `x` where `uniform` is at least `p`, divided by `1 - p`; 0 elsewhere.
    Dropout dropout(x, uniform; p) FLOAT, Number, probability, |[x, u], [p]| if u >= p { x / (1.0 - p) } else { 0.0 }, &[0.25], Samples::signed(1.0), Tolerance::ulps(2.0);
    /// `x` where it is positive, `slope · x` elsewhere.
    LeakyRelu leaky_relu(x; slope) FLOAT, Number, any, |[x], [slope]| positive_or(x, slope * x), &[0.01], Samples::signed(8.0), Tolerance::ulps(2.0);
    /// `x` where it is positive, `weight · x` elsewhere.
    Prelu prelu(x, weight;) FLOAT, Number, any, |[x, w], []| positive_or(x, w * x), &[], Samples::signed(8.0), Tolerance::EXACT;
    /// `x` where it is positive, `alpha · (eˣ - 1)` elsewhere.
    Elu elu(x; alpha) FLOAT, Number, any, |[x], [alpha]| positive_or(x, alpha * x.exp_m1()), &[1.0], Samples::signed(8.0), Tolerance::ulps(5.0);
    /// `x` where it is positive, `alpha · (exp(x / alpha) - 1)` elsewhere; alpha is not 0.
    Celu celu(x; alpha) FLOAT, Number, not_zero, |[x], [alpha]| positive_or(x, alpha * (x / alpha).exp_m1()), &[1.5], Samples::signed(8.0), Tolerance::ulps(9.0);
    /// The self-normalising elu, `1.0507 · elu(x, 1.67326)`.
    Selu selu(x;) FLOAT, Number, any, |[x], []| formula::SELU_SCALE * positive_or(x, formula::SELU_ALPHA * x.exp_m1()), &[], Samples::signed(8.0), Tolerance::ulps(6.0);
    /// `ln(1 + exp(beta · x)) / beta`, and `x` itself where `beta · x` is beyond `threshold`; beta is not 0.
    SoftplusWith softplus_with(x; beta, threshold) FLOAT, Number, not_zero, |[x], [beta, threshold]| if beta * x > threshold { x } else { special::softplus(beta * x) / beta }, &[2.0, 6.0], Samples::signed(8.0), Tolerance::ulps(9.0);
    /// `min(max(alpha · x + beta, 0), 1)`.
    HardSigmoid hard_sigmoid(x; alpha, beta) FLOAT, Number, any, |[x], [alpha, beta]| special::minimum(special::maximum(alpha * x + beta, 0.0), 1.0), &[0.2, 0.5], Samples::signed(4.0), Tolerance::ulps(4.0).plus(1e-7);
    /// `x` between `low` and `high`, which it is cut off at; low is below high.
    HardTanh hard_tanh(x; low, high) FLOAT, Number, in_order, |[x], [low, high]| special::minimum(special::maximum(x, low), high), &[-1.5, 2.0], Samples::signed(4.0), Tolerance::EXACT;
    /// `min(max(x, 0), 6)`.
    Relu6 relu6(x;) NUMERIC, Number, any, |[x], []| special::minimum(special::relu(x), 6.0), &[], Samples::signed(12.0), Tolerance::EXACT;
    /// `x` where it is greater than `alpha`, 0 elsewhere; NaN stays NaN.
    ThresholdedRelu thresholded_relu(x; alpha) FLOAT, Number, any, |[x], [alpha]| if x <= alpha { 0.0 } else { x }, &[1.0], Samples::signed(4.0), Tolerance::EXACT;
    /// `x - bias` above `lambd`, `x + bias` below `-lambd`, 0 between; NaN stays NaN. lambd is at least 0.
    Shrink shrink(x; lambd, bias) FLOAT, Number, first_from_zero, |[x], [lambd, bias]| if x.abs() <= lambd { 0.0 } else if x < 0.0 { x + bias } else { x - bias }, &[0.5, 0.25], Samples::signed(4.0), Tolerance::ulps(1.0).plus(1e-7);
    /// `x · sigmoid(gate)`.
    Glu glu(x, gate;) FLOAT, Number, any, |[x, gate], []| x * special::sigmoid(gate), &[], Samples::signed(8.0), Tolerance::ulps(7.0);
    /// `x · silu(gate)`.
    Swiglu swiglu(x, gate;) FLOAT, Number, any, |[x, gate], []| x * special::silu(gate), &[], Samples::signed(8.0), Tolerance::ulps(8.0);
    /// `x · gelu(gate)`.
    Geglu geglu(x, gate;) FLOAT, Number, any, |[x, gate], []| x * special::gelu(gate), &[], Samples::signed(4.0), Tolerance::ulps(64.0);
    /// `x · relu(gate)`.
    Reglu reglu(x, gate;) FLOAT, Number, any, |[x, gate], []| x * special::relu(gate), &[], Samples::signed(8.0), Tolerance::EXACT;
    /// The squared difference, `(x - target)²`.
    MseLoss mse_loss(x, target;) FLOAT, Number, any, |[x, t], []| (x - t) * (x - t), &[], Samples::signed(4.0), Tolerance::ulps(4.0);
    /// The absolute difference, `|x - target|`.
    L1Loss l1_loss(x, target;) FLOAT, Number, any, |[x, t], []| (x - t).abs(), &[], Samples::signed(4.0), Tolerance::EXACT;
    /// With `d = |x - target|`: `d² / (2 beta)` below `beta`, `d - beta / 2` from there on; with 0 it is `d`.
    SmoothL1Loss smooth_l1_loss(x, target; beta) FLOAT, Number, from_zero, |[x, t], [beta]| special::smooth_l1((x - t).abs(), beta), &[1.5], Samples::signed(4.0), Tolerance::ulps(6.0);
    /// With `d = |x - target|`: `d² / 2` below `delta`, `delta · (d - delta / 2)` from there on; delta is above 0.
    HuberLoss huber_loss(x, target; delta) FLOAT, Number, above_zero, |[x, t], [delta]| delta * special::smooth_l1((x - t).abs(), delta), &[1.5], Samples::signed(4.0), Tolerance::ulps(6.0);
    /// The binary cross entropy of probabilities, `-(t · ln x + (1 - t) · ln(1 - x))`, the logarithms cut off at -100.
    BinaryCrossEntropy binary_cross_entropy(x, target;) FLOAT, Number, any, |[x, t], []| -(t * special::maximum(x.ln(), -100.0) + (1.0 - t) * special::maximum((-x).ln_1p(), -100.0)), &[], Samples::range(0.001, 0.999), Tolerance::ulps(8.0).plus(1e-6);
    /// The binary cross entropy of `sigmoid(x)`, without overflow and with all digits.
    BinaryCrossEntropyWithLogits binary_cross_entropy_with_logits(x, target;) FLOAT, Number, any, |[x, t], []| (1.0 - t) * x + special::softplus(-x), &[], Samples::range(-8.0, 8.0), Tolerance::ulps(16.0).plus(1e-5);
    /// The Kullback-Leibler divergence of log-probabilities: `t · (ln t - x)`, 0 where `t` is 0; with `log_target` not 0 the
    /// target holds log-probabilities too.
    KlDiv kl_div(x, target; log_target) FLOAT, Number, any, |[x, t], [log]| if log != 0.0 { t.exp() * (t - x) } else if t == 0.0 { 0.0 } else { t * (t.ln() - x) }, &[0.0], Samples::range(0.01, 2.0), Tolerance::ulps(8.0).plus(1e-5);
}

impl Composer for Expression {
    type Value = Id;
    type Error = KernelError;

    fn apply(&mut self, op: FusedOp, operands: &[&Id]) -> Result<Id, KernelError> {
        let operands: Vec<Id> = operands.iter().map(|&&id| id).collect();
        self.op(op, &operands)
    }

    fn number(&mut self, dtype: DType, value: f64) -> Id {
        self.scalar(dtype, value)
    }

    fn dtype(&self, value: &Id) -> DType {
        Self::dtype(self, *value)
    }

    fn known(&self, _: &Id) -> Option<f64> {
        None
    }

    fn miscounted(&self, op: &'static str, given: usize) -> KernelError {
        KernelError::option(
            op,
            "the number of operands",
            "must be the op's own",
            i64::try_from(given).unwrap_or(i64::MAX),
        )
    }
}

impl Executor {
    /// Computes a composed function in one kernel. Operands are broadcast to `out`'s shape, which may be one of them.
    ///
    /// Float operands may have different dtypes; `out` has any float dtype for them, the operands' one for integers, and is
    /// bool for a truth.
    ///
    /// # Errors
    /// [`KernelError::Dtype`] if the function does not exist for a dtype, integers are mixed or `out` has another dtype;
    /// [`KernelError::Number`] for a number that breaks a rule; [`KernelError::Shape`] if an operand does not broadcast;
    /// [`KernelError::Option`] for another count of operands or numbers; and the errors of the layers below.
    pub fn composite(
        &self,
        op: Composite,
        operands: &[&View],
        numbers: &[f64],
        out: &View,
    ) -> Result<Completion, KernelError> {
        let mut expression = Expression::new();
        let value = composed(&mut expression, op, operands, numbers)?;
        let value = match op.spec().kind {
            CompositeKind::Number if expression.dtype(value).is_float() && out.dtype.is_float() => {
                expression.op(FusedOp::Cast(out.dtype), &[value])?
            }
            _ => value,
        };
        if expression.dtype(value) != out.dtype {
            return Err(KernelError::dtype(
                op.spec().name,
                "out",
                "it must be a float for floats, have the operands' dtype for integers, and be bool for a truth",
                out.dtype,
            ));
        }
        self.fused(&expression, out.shape(), &[(value, out.clone())])
    }
}

/// The value of a row over views, floats in f32.
fn composed(
    expression: &mut Expression,
    op: Composite,
    operands: &[&View],
    numbers: &[f64],
) -> Result<Id, KernelError> {
    let spec = op.spec();
    let dtype = |operand, rule, got| KernelError::dtype(spec.name, operand, rule, got);
    if let Some(BrokenRule { number, rule, got }) = spec.broken(numbers) {
        return Err(KernelError::Number {
            op: spec.name,
            number,
            rule,
            got,
        });
    }
    let first = operands.first().map_or(DType::F32, |view| view.dtype);
    let mut ids = Vec::with_capacity(operands.len());
    for (&view, &name) in operands.iter().zip(spec.operands) {
        if !spec.dtypes.contains(&view.dtype) {
            let rule = "the op does not exist for this dtype";
            return Err(dtype(name, rule, view.dtype));
        }
        let mixed = first.is_float() && view.dtype.is_float();
        if !mixed && view.dtype != first {
            let rule = "it must have the dtype of the first operand";
            return Err(dtype(name, rule, view.dtype));
        }
        let id = expression.input(view.clone());
        ids.push(if mixed {
            expression.op(FusedOp::Cast(DType::F32), &[id])?
        } else {
            id
        });
    }
    if !first.is_float()
        && spec.kind == CompositeKind::Number
        && let Some((at, &got)) = numbers
            .iter()
            .enumerate()
            .find(|(_, number)| number.fract() != 0.0)
    {
        return Err(KernelError::Number {
            op: spec.name,
            number: spec.numbers.get(at).copied().unwrap_or("a number"),
            rule: "must be whole for integers",
            got,
        });
    }
    let ids: Vec<&Id> = ids.iter().collect();
    op.compose(expression, &ids, numbers)
}
