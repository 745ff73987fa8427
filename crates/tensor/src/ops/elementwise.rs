//! Functions of one element.
//!
//! Functions that leave the integers (`sqrt`, `exp`, …) give f32 for integers and bool, as in PyTorch; rounding leaves
//! integers as they are; the others compute in the dtype.

use ziggurat_core::DType;
use ziggurat_kernels::{FusedOp, Predicate, Unary};

use crate::{Error, Tensor};

/// What a function does with integers and bool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Computes in their dtype.
    Keep,
    /// Computes in f32.
    Float,
    /// Leaves them as they are: they are whole already.
    Whole,
}

impl Tensor {
    fn of_kind(&self, kind: Kind, op: &'static str, kernel: Unary) -> Result<Self, Error> {
        match kind {
            Kind::Keep => self.unary(op, kernel),
            Kind::Float => self.as_float(op)?.unary(op, kernel),
            Kind::Whole if self.dtype().is_float() => self.unary(op, kernel),
            Kind::Whole => Ok(self.clone()),
        }
    }

    /// True where the element is 0 (false), false elsewhere.
    ///
    /// # Errors
    /// If the device has no memory for the result.
    pub fn logical_not(&self) -> Result<Self, Error> {
        self.converted("logical_not", DType::Bool)?
            .unary("logical_not", Unary::LogicalNot)
    }

    pub(crate) fn unary(&self, op: &'static str, kernel: Unary) -> Result<Self, Error> {
        let inputs = [Some(self.as_own_input()), None, None];
        self.record_like(op, FusedOp::Unary(kernel), inputs)
    }

    fn predicate(&self, op: &'static str, kernel: Predicate) -> Result<Self, Error> {
        let float = self.as_float(op)?;
        let inputs = [Some(float.as_input(self.device())?), None, None];
        Self::record(
            self.device(),
            op,
            FusedOp::Predicate(kernel),
            self.shape(),
            inputs,
        )
    }

    /// The same values if they are floats, otherwise converted to f32.
    pub(crate) fn as_float(&self, op: &'static str) -> Result<Self, Error> {
        if self.dtype().is_float() {
            Ok(self.clone())
        } else {
            self.converted(op, DType::F32)
        }
    }
}

macro_rules! predicates {
    ($($(#[$doc:meta])* $name:ident, $kernel:ident;)*) => {
        impl Tensor {
            $($(#[$doc])*
            ///
            /// # Errors
            /// If the device has no memory for the result.
            pub fn $name(&self) -> Result<Self, Error> {
                self.predicate(stringify!($name), Predicate::$kernel)
            })*
        }
    };
}

predicates! {
    /// Where the element is NaN, as a bool tensor; integers and bool never are.
    #[doc(alias = "isnan")]
    is_nan, IsNan;
    /// Where the element is infinite, of either sign, as a bool tensor; integers and bool never are.
    #[doc(alias = "isinf")]
    is_inf, IsInf;
    /// Where the element is neither infinite nor NaN, as a bool tensor; integers and bool always are.
    #[doc(alias = "isfinite")]
    is_finite, IsFinite;
}

macro_rules! unary {
    ($($(#[$doc:meta])* $kind:ident $name:ident, $kernel:ident;)*) => {
        impl Tensor {
            $($(#[$doc])*
            ///
            /// # Errors
            /// If the function has no meaning for the dtype, or the device has no memory for the result.
            pub fn $name(&self) -> Result<Self, Error> {
                self.of_kind(Kind::$kind, stringify!($name), Unary::$kernel)
            })*
        }
    };
}

unary! {
    /// |x|. The most negative integer stays as it is.
    Keep abs, Abs;
    /// -x, the method behind unary `-`. Unsigned integers wrap.
    Keep neg, Neg;
    /// -1, 0 or 1; NaN stays NaN.
    Keep sign, Sign;
    /// x².
    Keep square, Square;
    /// max(x, 0); NaN stays NaN.
    Keep relu, Relu;
    /// The largest whole number that is not greater.
    Whole floor, Floor;
    /// The smallest whole number that is not less.
    Whole ceil, Ceil;
    /// To the nearest whole number, halves to the even one.
    Whole round, Round;
    /// The whole part, toward zero.
    Whole trunc, Trunc;
    /// √x.
    Float sqrt, Sqrt;
    /// 1 / √x.
    Float rsqrt, Rsqrt;
    /// 1 / x.
    Float reciprocal, Reciprocal;
    /// e to the power of x.
    Float exp, Exp;
    /// 2 to the power of x.
    Float exp2, Exp2;
    /// The natural logarithm.
    Float log, Log;
    /// The logarithm to base 2.
    Float log2, Log2;
    /// The sine of an angle in radians.
    Float sin, Sin;
    /// The cosine of an angle in radians.
    Float cos, Cos;
    /// The hyperbolic tangent.
    Float tanh, Tanh;
    /// 1 / (1 + exp(-x)).
    Float sigmoid, Sigmoid;
    /// x · sigmoid(x), also called swish.
    Float silu, Silu;
    /// x/2 · (1 + erf(x / √2)).
    Float gelu, Gelu;
    /// x/2 · (1 + tanh(√(2/π) · (x + 0.044715 x³))), the usual approximation of [`Tensor::gelu`].
    Float gelu_tanh, GeluTanh;
    /// exp(x) - 1, with all digits near 0.
    Float expm1, Expm1;
    /// The logarithm to base 10.
    Float log10, Log10;
    /// The natural logarithm of 1 + x, with all digits near 0.
    Float log1p, Log1p;
    /// The tangent of an angle in radians.
    Float tan, Tan;
    /// The angle in [-π/2, π/2] whose sine is x; NaN beyond 1 and -1.
    #[doc(alias = "arcsin")]
    Float asin, Asin;
    /// The angle in [0, π] whose cosine is x; NaN beyond 1 and -1.
    #[doc(alias = "arccos")]
    Float acos, Acos;
    /// The angle in [-π/2, π/2] whose tangent is x.
    #[doc(alias = "arctan")]
    Float atan, Atan;
    /// The hyperbolic sine.
    Float sinh, Sinh;
    /// The hyperbolic cosine.
    Float cosh, Cosh;
    /// The inverse of [`Tensor::sinh`].
    Float asinh, Asinh;
    /// The inverse of [`Tensor::cosh`], at least 0; NaN for x below 1.
    Float acosh, Acosh;
    /// The inverse of [`Tensor::tanh`]: infinite at 1 and -1, NaN beyond.
    Float atanh, Atanh;
    /// The error function, 2/√π times the integral of exp(-t²) from 0 to x.
    Float erf, Erf;
    /// 1 - erf(x), with all its digits where it is small.
    Float erfc, Erfc;
    /// x - trunc(x), with the sign of x.
    Float frac, Frac;
    /// ln(1 / (1 + exp(-x))), without overflow or cancellation.
    #[doc(alias = "logsigmoid")]
    Float log_sigmoid, LogSigmoid;
    /// x / (1 + |x|); ±1 for infinity.
    Float softsign, Softsign;
    /// x · tanh(ln(1 + exp(x))).
    Float mish, Mish;
    /// x · sigmoid(1.702 x), the coarser approximation of [`Tensor::gelu`].
    Float gelu_quick, GeluQuick;
    /// x · min(max(x + 3, 0), 6) / 6.
    #[doc(alias = "hardswish")]
    Float hard_swish, HardSwish;
    /// Every bit of an integer inverted.
    Keep bitwise_not, BitwiseNot;
}
