//! Functions of one element.
//!
//! Functions that leave the integers (`sqrt`, `exp`, …) give f32 for integers and bool, as in PyTorch; rounding leaves
//! integers as they are; the others compute in the dtype.

use ziggurat_core::DType;
use ziggurat_kernels::{FusedOp, Unary};

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

    fn unary(&self, op: &'static str, kernel: Unary) -> Result<Self, Error> {
        let inputs = [Some(self.as_input(self.device())?), None, None];
        Self::record(
            self.device(),
            op,
            FusedOp::Unary(kernel),
            *self.shape(),
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
    /// Every bit of an integer inverted.
    Keep bitwise_not, BitwiseNot;
}
