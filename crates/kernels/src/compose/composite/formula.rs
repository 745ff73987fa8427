//! The formulas of the composed table, in the order of its rows.
//!
//! Each is a function of its operands and numbers with the row's name.

use ziggurat_core::DType;

use super::{Compare, Composer};
use crate::fused::FusedOp;
use crate::ops::elementwise::binary::Binary;
use crate::ops::elementwise::predicate::Predicate;
use crate::ops::elementwise::unary::Unary;

/// The scale and slope of selu, from Klambauer et al., "Self-Normalizing Neural Networks".
pub(super) const SELU_SCALE: f64 = 1.050_700_987_355_480_5;
pub(super) const SELU_ALPHA: f64 = 1.673_263_242_354_377_2;

/// A composer with short names for what formulas are made of.
pub(crate) struct Formula<'c, C>(pub(crate) &'c mut C);

pub(crate) type Made<C> = Result<<C as Composer>::Value, <C as Composer>::Error>;

impl<C: Composer> Formula<'_, C> {
    pub(crate) fn one(&mut self, op: Unary, x: &C::Value) -> Made<C> {
        self.0.apply(FusedOp::Unary(op), &[x])
    }

    pub(crate) fn two(&mut self, op: Binary, a: &C::Value, b: &C::Value) -> Made<C> {
        self.0.apply(FusedOp::Binary(op), &[a, b])
    }

    /// An op with a number on its right.
    pub(crate) fn with(&mut self, op: Binary, a: &C::Value, number: f64) -> Made<C> {
        let number = self.constant_like(a, number);
        self.two(op, a, &number)
    }

    /// `number - x`.
    pub(crate) fn less(&mut self, number: f64, x: &C::Value) -> Made<C> {
        let number = self.constant_like(x, number);
        self.two(Binary::Sub, &number, x)
    }

    pub(crate) fn is(&mut self, op: Compare, a: &C::Value, number: f64) -> Made<C> {
        let number = self.constant_like(a, number);
        self.0.apply(FusedOp::Compare(op), &[a, &number])
    }

    pub(crate) fn choose(&mut self, condition: &C::Value, a: &C::Value, b: &C::Value) -> Made<C> {
        self.0.apply(FusedOp::Where, &[condition, a, b])
    }

    /// `number` where the condition holds, else `x`.
    pub(crate) fn replace(&mut self, condition: &C::Value, number: f64, x: &C::Value) -> Made<C> {
        let number = self.constant_like(x, number);
        self.choose(condition, &number, x)
    }

    /// `x` where it is positive, else `below`.
    pub(crate) fn positive_or(&mut self, x: &C::Value, below: &C::Value) -> Made<C> {
        let positive = self.is(Compare::Gt, x, 0.0)?;
        self.choose(&positive, x, below)
    }

    /// A number in the dtype of a value.
    pub(crate) fn constant_like(&mut self, value: &C::Value, number: f64) -> C::Value {
        let dtype = self.0.dtype(value);
        self.0.number(dtype, number)
    }

    pub(crate) fn distance(&mut self, a: &C::Value, b: &C::Value) -> Made<C> {
        let difference = self.two(Binary::Sub, a, b)?;
        self.one(Unary::Abs, &difference)
    }
}

macro_rules! formulas {
    ($($name:ident($f:ident $(, $operand:ident)*; $($number:ident),*) $body:block)*) => {
        $(pub(super) fn $name<C: Composer>(
            $f: &mut Formula<'_, C>,
            $($operand: &C::Value,)*
            $($number: f64,)*
        ) -> Made<C> $body)*
    };
}

formulas! {
    clamp(f, x, low, high;) {
        let raised = f.two(Binary::Maximum, x, low)?;
        f.two(Binary::Minimum, &raised, high)
    }

    // From whichever end is nearer, as PyTorch does.
    lerp(f, start, end, weight;) {
        let way = f.two(Binary::Sub, end, start)?;
        if let Some(weight) = f.0.known(weight) {
            let (from, op, share) = if weight < 0.5 {
                (start, Binary::Add, weight)
            } else {
                (end, Binary::Sub, 1.0 - weight)
            };
            let part = f.with(Binary::Mul, &way, share)?;
            return f.two(op, from, &part);
        }
        let part = f.two(Binary::Mul, &way, weight)?;
        let from_start = f.two(Binary::Add, start, &part)?;
        let rest = f.less(1.0, weight)?;
        let part = f.two(Binary::Mul, &way, &rest)?;
        let from_end = f.two(Binary::Sub, end, &part)?;
        let near = f.is(Compare::Lt, weight, 0.5)?;
        f.choose(&near, &from_start, &from_end)
    }

    addcmul(f, x, a, b; value) {
        let scaled = if value == 1.0 { a.clone() } else { f.with(Binary::Mul, a, value)? };
        let product = f.two(Binary::Mul, &scaled, b)?;
        f.two(Binary::Add, x, &product)
    }

    addcdiv(f, x, a, b; value) {
        let scaled = if value == 1.0 { a.clone() } else { f.with(Binary::Mul, a, value)? };
        let quotient = f.two(Binary::Div, &scaled, b)?;
        f.two(Binary::Add, x, &quotient)
    }

    isclose(f, a, b; rtol, atol, equal_nan) {
        let equal = f.0.apply(FusedOp::Compare(Compare::Eq), &[a, b])?;
        if rtol == 0.0 && atol == 0.0 && equal_nan == 0.0 {
            return Ok(equal);
        }
        let a = f.0.apply(FusedOp::Cast(DType::F32), &[a])?;
        let b = f.0.apply(FusedOp::Cast(DType::F32), &[b])?;
        let size = f.one(Unary::Abs, &b)?;
        let relative = f.with(Binary::Mul, &size, rtol)?;
        let allowed = f.with(Binary::Add, &relative, atol)?;
        let error = f.distance(&a, &b)?;
        let near = f.0.apply(FusedOp::Compare(Compare::Le), &[&error, &allowed])?;
        let finite = f.0.apply(FusedOp::Predicate(Predicate::IsFinite), &[&error])?;
        let near = f.two(Binary::BitwiseAnd, &near, &finite)?;
        let close = f.two(Binary::BitwiseOr, &equal, &near)?;
        if equal_nan == 0.0 {
            return Ok(close);
        }
        let a = f.0.apply(FusedOp::Predicate(Predicate::IsNan), &[&a])?;
        let b = f.0.apply(FusedOp::Predicate(Predicate::IsNan), &[&b])?;
        let both = f.two(Binary::BitwiseAnd, &a, &b)?;
        f.two(Binary::BitwiseOr, &close, &both)
    }

    nan_to_num(f, x; nan, posinf, neginf) {
        let above = f.is(Compare::Eq, x, f64::INFINITY)?;
        let below = f.is(Compare::Eq, x, f64::NEG_INFINITY)?;
        let neither = f.0.apply(FusedOp::Predicate(Predicate::IsNan), &[x])?;
        let y = f.replace(&above, posinf, x)?;
        let y = f.replace(&below, neginf, &y)?;
        f.replace(&neither, nan, &y)
    }

    // The product is not taken where nothing is kept, so that infinity does not become NaN.
    dropout(f, x, uniform; p) {
        let scale = if p < 1.0 { 1.0 / (1.0 - p) } else { 1.0 };
        let scaled = f.with(Binary::Mul, x, scale)?;
        let zero = f.constant_like(x, 0.0);
        let kept = f.is(Compare::Ge, uniform, p)?;
        f.choose(&kept, &scaled, &zero)
    }

    leaky_relu(f, x; slope) {
        let below = f.with(Binary::Mul, x, slope)?;
        f.positive_or(x, &below)
    }

    prelu(f, x, weight;) {
        let below = f.two(Binary::Mul, x, weight)?;
        f.positive_or(x, &below)
    }

    elu(f, x; alpha) {
        let below = f.one(Unary::Expm1, x)?;
        let below = f.with(Binary::Mul, &below, alpha)?;
        f.positive_or(x, &below)
    }

    celu(f, x; alpha) {
        let below = f.with(Binary::Div, x, alpha)?;
        let below = f.one(Unary::Expm1, &below)?;
        let below = f.with(Binary::Mul, &below, alpha)?;
        f.positive_or(x, &below)
    }

    selu(f, x;) {
        let y = elu(f, x, SELU_ALPHA)?;
        f.with(Binary::Mul, &y, SELU_SCALE)
    }

    softplus_with(f, x; beta, threshold) {
        let scaled = if beta == 1.0 { x.clone() } else { f.with(Binary::Mul, x, beta)? };
        let soft = f.one(Unary::Softplus, &scaled)?;
        let soft = if beta == 1.0 { soft } else { f.with(Binary::Div, &soft, beta)? };
        let beyond = f.is(Compare::Gt, &scaled, threshold)?;
        f.choose(&beyond, x, &soft)
    }

    hard_sigmoid(f, x; alpha, beta) {
        let y = f.with(Binary::Mul, x, alpha)?;
        let y = f.with(Binary::Add, &y, beta)?;
        hard_tanh(f, &y, 0.0, 1.0)
    }

    hard_tanh(f, x; low, high) {
        let raised = f.with(Binary::Maximum, x, low)?;
        f.with(Binary::Minimum, &raised, high)
    }

    relu6(f, x;) {
        let y = f.one(Unary::Relu, x)?;
        f.with(Binary::Minimum, &y, 6.0)
    }

    thresholded_relu(f, x; alpha) {
        let small = f.is(Compare::Le, x, alpha)?;
        f.replace(&small, 0.0, x)
    }

    shrink(f, x; lambd, bias) {
        let negative = f.is(Compare::Lt, x, 0.0)?;
        let (up, down) = (f.with(Binary::Add, x, bias)?, f.with(Binary::Sub, x, bias)?);
        let outside = f.choose(&negative, &up, &down)?;
        let size = f.one(Unary::Abs, x)?;
        let small = f.is(Compare::Le, &size, lambd)?;
        f.replace(&small, 0.0, &outside)
    }

    glu(f, x, gate;) {
        let gate = f.one(Unary::Sigmoid, gate)?;
        f.two(Binary::Mul, x, &gate)
    }

    swiglu(f, x, gate;) {
        let gate = f.one(Unary::Silu, gate)?;
        f.two(Binary::Mul, x, &gate)
    }

    geglu(f, x, gate;) {
        let gate = f.one(Unary::Gelu, gate)?;
        f.two(Binary::Mul, x, &gate)
    }

    reglu(f, x, gate;) {
        let gate = f.one(Unary::Relu, gate)?;
        f.two(Binary::Mul, x, &gate)
    }

    mse_loss(f, x, target;) {
        let difference = f.two(Binary::Sub, x, target)?;
        f.one(Unary::Square, &difference)
    }

    l1_loss(f, x, target;) {
        f.distance(x, target)
    }

    smooth_l1_loss(f, x, target; beta) {
        let distance = f.distance(x, target)?;
        if beta == 0.0 {
            return Ok(distance);
        }
        let near = f.one(Unary::Square, &distance)?;
        let near = f.with(Binary::Mul, &near, 0.5 / beta)?;
        let far = f.with(Binary::Sub, &distance, 0.5 * beta)?;
        let is_near = f.is(Compare::Lt, &distance, beta)?;
        f.choose(&is_near, &near, &far)
    }

    huber_loss(f, x, target; delta) {
        let distance = f.distance(x, target)?;
        let near = f.one(Unary::Square, &distance)?;
        let near = f.with(Binary::Mul, &near, 0.5)?;
        let far = f.with(Binary::Sub, &distance, 0.5 * delta)?;
        let far = f.with(Binary::Mul, &far, delta)?;
        let is_near = f.is(Compare::Lt, &distance, delta)?;
        f.choose(&is_near, &near, &far)
    }

    binary_cross_entropy(f, x, target;) {
        let yes = f.one(Unary::Log, x)?;
        let yes = f.with(Binary::Maximum, &yes, -100.0)?;
        let yes = f.two(Binary::Mul, &yes, target)?;
        let no = f.one(Unary::Neg, x)?;
        let no = f.one(Unary::Log1p, &no)?;
        let no = f.with(Binary::Maximum, &no, -100.0)?;
        let rest = f.less(1.0, target)?;
        let no = f.two(Binary::Mul, &no, &rest)?;
        let sum = f.two(Binary::Add, &yes, &no)?;
        f.one(Unary::Neg, &sum)
    }

    // (1 - t) x + ln(1 + e^-x)
    binary_cross_entropy_with_logits(f, x, target;) {
        let tail = f.one(Unary::Neg, x)?;
        let tail = f.one(Unary::Softplus, &tail)?;
        let rest = f.less(1.0, target)?;
        let rest = f.two(Binary::Mul, &rest, x)?;
        f.two(Binary::Add, &rest, &tail)
    }

    kl_div(f, x, target; log_target) {
        if log_target != 0.0 {
            let share = f.one(Unary::Exp, target)?;
            let ratio = f.two(Binary::Sub, target, x)?;
            return f.two(Binary::Mul, &share, &ratio);
        }
        let ratio = f.one(Unary::Log, target)?;
        let ratio = f.two(Binary::Sub, &ratio, x)?;
        let loss = f.two(Binary::Mul, target, &ratio)?;
        let none = f.is(Compare::Eq, target, 0.0)?;
        f.replace(&none, 0.0, &loss)
    }
}
