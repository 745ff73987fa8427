//! The binary table: two inputs of one dtype, which the output has too.

use std::convert::identity;

use ziggurat_core::DType;

use crate::ops::elementwise::dispatch::Recipe;
use crate::ops::elementwise::row::{
    ALL, BITS, BinarySpec, CodeFacts, DIVIDE, FLOAT, INT, NUMERIC, elementwise_table, recipe,
};
#[cfg(feature = "catalogue")]
use crate::ops::elementwise::tolerance::{Samples, Tolerance};
use crate::ops::elementwise::unary::{broadcast, check_dtype, check_same_dtype};
#[cfg(feature = "catalogue")]
use crate::reference::special;
use crate::run::completion::Completion;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;
use crate::source::candidate::Candidate;

const ATAN: &[&str] = &["functions/atan.wgsl"];
const EXP: &[&str] = &["functions/exp.wgsl"];
const FMOD: &[&str] = &["functions/fmod.wgsl"];
const FLOOR_DIVIDE: &[&str] = &[
    "functions/fmod.wgsl",
    "functions/divide.wgsl",
    "functions/enlarge.wgsl",
];
const POW: &[&str] = &[
    "functions/exp.wgsl",
    "functions/log.wgsl",
    "functions/pow.wgsl",
];

/// For rows without floating-point dtypes.
#[cfg(feature = "catalogue")]
fn none(x: f64, _: f64) -> f64 {
    x
}

/// For rows without integer dtypes.
#[cfg(feature = "catalogue")]
fn none_int(x: i64, _: i64) -> i64 {
    x
}

elementwise_table! {
    /// An elementwise op of two inputs.
    Binary: BinarySpec, "binary", binary(a, b) -> identity;
    /// `a + b`; integers wrap, for bool it is *or*.
    Add add (ALL, &[], CodeFacts::ROUNDED) (|x, y| x + y, |x, y| x + y, Samples::signed(1e3), Tolerance::EXACT);
    /// `a - b`; integers wrap.
    Sub sub (NUMERIC, &[], CodeFacts::ROUNDED) (|x, y| x - y, |x, y| x - y, Samples::signed(1e3), Tolerance::EXACT);
    /// `a · b`; integers wrap, for bool it is *and*.
    Mul mul (ALL, &[], CodeFacts::ROUNDED) (|x, y| x * y, |x, y| x.wrapping_mul(y), Samples::signed(1e2), Tolerance::EXACT);
    /// `a / b`, correctly rounded (IEEE 754), subnormals included; integers truncate, `x / 0` is `x` and `MIN / -1` is `MIN`.
    Div div (NUMERIC, DIVIDE, CodeFacts::FUNCTION) (|x, y| x / y, |x, y| if y == 0 { x } else { x / y }, Samples::signed(1e3), Tolerance::EXACT);
    /// The larger one; NaN wins, for bool it is *or*.
    Maximum maximum (ALL, &[], CodeFacts::SELECTION) (special::maximum, i64::max, Samples::signed(1e3), Tolerance::EXACT);
    /// The smaller one; NaN wins, for bool it is *and*.
    Minimum minimum (ALL, &[], CodeFacts::SELECTION) (special::minimum, i64::min, Samples::signed(1e3), Tolerance::EXACT);
    /// `aᵇ` by IEEE 754's rules; integers wrap, and a negative exponent gives the truncated reciprocal.
    Pow pow (NUMERIC, POW, CodeFacts::FUNCTION.looping(34)) (special::pow, special::pow_int, Samples::range(0.0, 12.0), Tolerance::ulps(6.0).per_input(4.0));
    /// The quotient rounded down; integers: `x / 0` is `x`.
    FloorDivide floor_divide (NUMERIC, FLOOR_DIVIDE, CodeFacts::FUNCTION.looping(34)) (special::floor_divide, special::floor_divide_int, Samples::signed(1e3), Tolerance::ulps(2.5));
    /// The remainder of the division rounded down, with the sign of `b`; integers: by 0 it is 0.
    Remainder remainder (NUMERIC, FMOD, CodeFacts::EXACT.looping(34)) (special::remainder, special::remainder_int, Samples::signed(1e3), Tolerance::EXACT);
    /// The remainder of the division rounded toward zero, with the sign of `a`; integers: by 0 it is 0.
    Fmod fmod (NUMERIC, FMOD, CodeFacts::EXACT.looping(34)) (|x, y| x % y, |x, y| x.checked_rem(y).unwrap_or(0), Samples::signed(1e3), Tolerance::EXACT);
    /// The angle of the point (`b`, `a`), in (-π, π].
    Atan2 atan2 (FLOAT, ATAN, CodeFacts::FUNCTION) (f64::atan2, none_int, Samples::signed(1e3), Tolerance::ulps(5.0));
    /// `√(a² + b²)`, without overflow of the squares.
    Hypot hypot (FLOAT, EXP, CodeFacts::FUNCTION) (f64::hypot, none_int, Samples::signed(1e3), Tolerance::ulps(4.0));
    /// The larger one; NaN loses against a number.
    Fmax fmax (FLOAT, &[], CodeFacts::SELECTION) (f64::max, none_int, Samples::signed(1e3), Tolerance::EXACT);
    /// The smaller one; NaN loses against a number.
    Fmin fmin (FLOAT, &[], CodeFacts::SELECTION) (f64::min, none_int, Samples::signed(1e3), Tolerance::EXACT);
    /// `a · 2ᵇ`, wrapping; 0 where `b` is negative or at least the width.
    ShiftLeft shift_left (INT, &[], CodeFacts::EXACT) (none, special::shift_left, Samples::signed(1e3), Tolerance::EXACT);
    /// `a / 2ᵇ` rounded down; 0, or -1 for negative `a`, where `b` is negative or at least the width.
    ShiftRight shift_right (INT, &[], CodeFacts::EXACT) (none, special::shift_right, Samples::signed(1e3), Tolerance::EXACT);
    /// The bits in both; for bool it is *and*.
    BitwiseAnd bitwise_and (BITS, &[], CodeFacts::EXACT) (none, |x, y| x & y, Samples::signed(1e3), Tolerance::EXACT);
    /// The bits in either; for bool it is *or*.
    BitwiseOr bitwise_or (BITS, &[], CodeFacts::EXACT) (none, |x, y| x | y, Samples::signed(1e3), Tolerance::EXACT);
    /// The bits in one only; for bool it is *exclusive or*.
    BitwiseXor bitwise_xor (BITS, &[], CodeFacts::EXACT) (none, |x, y| x ^ y, Samples::signed(1e3), Tolerance::EXACT);
}

impl Executor {
    /// Computes a binary op. `a` and `b` are broadcast to `out`'s shape; all three have one dtype, and `out` may
    /// be one of the inputs.
    ///
    /// # Errors
    /// [`KernelError::Dtype`] if the op does not exist for the dtype or the dtypes differ, [`KernelError::Shape`] if
    /// an input does not broadcast to `out`, and the errors of the layers below.
    pub fn binary(
        &self,
        op: Binary,
        a: &View,
        b: &View,
        out: &View,
    ) -> Result<Completion, KernelError> {
        let spec = op.spec();
        check_dtype(spec.name, spec.dtypes, a)?;
        check_same_dtype(spec.name, "b", b, a.dtype)?;
        check_same_dtype(spec.name, "out", out, a.dtype)?;
        let (a, b) = (broadcast(spec.name, a, out)?, broadcast(spec.name, b, out)?);
        self.elementwise(&op.recipe(a.dtype), &[&a, &b], out)?;
        Ok(self.completion())
    }
}
