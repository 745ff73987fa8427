//! `+ - * /` and unary `-` on tensors, numbers, and results of earlier operators.
//!
//! Every operator gives `Result<Tensor, Error>`, and takes one on either side, so that a whole expression needs a single
//! `?`: `(&a * &b + &c)?.sqrt()?`. The first error wins.
//!
//! What Rust's orphan rule leaves out: an operator between two `Result`s, between a `Result` and a bare number (write
//! [`scalar(2.0)`](crate::scalar)), and `-result`. Close the inner expression with a `?` there:
//! `((&a * &b)? + &c * &d)?`.

use std::ops::{Add, Div, Mul, Neg, Sub};

use crate::operand::sealed::Sealed;
use crate::ops::arithmetic;
use crate::{Error, Scalar, Tensor};

type Outcome = Result<Tensor, Error>;

/// `left op right` with at least one side a tensor.
macro_rules! operator {
    ($trait:ident, $method:ident, $function:path: $([$left:ty, $right:ty])*) => {
        $(impl $trait<$right> for $left {
            type Output = Outcome;

            fn $method(self, right: $right) -> Outcome {
                $function(self.side(), right.side())
            }
        })*
    };
}

/// `result op right` and `left op result`.
macro_rules! operator_on_result {
    ($trait:ident, $method:ident, $function:path: $($side:ty)*) => {
        $(impl $trait<$side> for Outcome {
            type Output = Self;

            fn $method(self, right: $side) -> Self {
                $function(self?.side(), right.side())
            }
        }

        impl $trait<Outcome> for $side {
            type Output = Outcome;

            fn $method(self, right: Outcome) -> Outcome {
                $function(self.side(), right?.side())
            }
        })*
    };
}

macro_rules! operators {
    ($($trait:ident, $method:ident, $function:path;)*) => {
        $(
            operator!($trait, $method, $function:
                [Tensor, Tensor] [Tensor, &Tensor] [&Tensor, Tensor] [&Tensor, &Tensor]
                [Tensor, f32] [&Tensor, f32] [f32, Tensor] [f32, &Tensor]
                [Tensor, i32] [&Tensor, i32] [i32, Tensor] [i32, &Tensor]
                [Tensor, Scalar] [&Tensor, Scalar] [Scalar, Tensor] [Scalar, &Tensor]);
            operator_on_result!($trait, $method, $function: Tensor &Tensor Scalar);
        )*
    };
}

operators! {
    Add, add, arithmetic::add;
    Sub, sub, arithmetic::sub;
    Mul, mul, arithmetic::mul;
    Div, div, arithmetic::div;
}

impl Neg for &Tensor {
    type Output = Outcome;

    fn neg(self) -> Outcome {
        Tensor::neg(self)
    }
}

impl Neg for Tensor {
    type Output = Outcome;

    fn neg(self) -> Outcome {
        Self::neg(&self)
    }
}
