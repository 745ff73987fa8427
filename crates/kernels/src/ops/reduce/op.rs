//! The reductions: names, dtypes, accumulators and shader parts, one row each.

use ziggurat_core::DType;

use crate::limits::budget::POWER_TURNS;

/// A reduction of many elements to one.
///
/// [`Norm`](Self::Norm), [`Var`](Self::Var) and [`Std`](Self::Std) take an argument, see
/// [`Executor::reduce_with`](crate::Executor::reduce_with).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reduce {
    /// The sum; 0 over no elements. Floats are added in f32, integers wrap.
    Sum,
    /// The mean, floats only; NaN over no elements.
    Mean,
    /// The greatest element; NaN wins. Over no elements −inf, or the least integer. "Any" for bool.
    Max,
    /// The least element; NaN wins. Over no elements +inf, or the greatest integer. "All" for bool.
    Min,
    /// The product; 1 over no elements. Floats are multiplied in f32, integers wrap.
    Prod,
    /// The sum of squares; 0 over no elements.
    SumSquares,
    /// The sum of absolute values; 0 over no elements.
    SumAbs,
    /// The square root of the sum of squares, floats only; 0 over no elements.
    Norm2,
    /// `(Σ |x|^p)^(1/p)`, floats only, for an argument p that is neither 0 nor infinite.
    Norm,
    /// `ln Σ exp x` without overflow, floats only; −inf over no elements.
    LogSumExp,
    /// The sum of squared distances from the mean over `n − correction` (the argument), floats only; NaN over no
    /// elements.
    Var,
    /// The square root of [`Var`](Self::Var).
    Std,
}

impl Reduce {
    /// All reductions.
    pub const ALL: [Self; 12] = [
        Self::Sum,
        Self::Mean,
        Self::Max,
        Self::Min,
        Self::Prod,
        Self::SumSquares,
        Self::SumAbs,
        Self::Norm2,
        Self::Norm,
        Self::LogSumExp,
        Self::Var,
        Self::Std,
    ];

    /// The name in labels and messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Mean => "mean",
            Self::Max => "reduce_max",
            Self::Min => "reduce_min",
            Self::Prod => "prod",
            Self::SumSquares => "sum_squares",
            Self::SumAbs => "sum_abs",
            Self::Norm2 => "norm2",
            Self::Norm => "norm",
            Self::LogSumExp => "logsumexp",
            Self::Var => "var",
            Self::Std => "std",
        }
    }

    /// The argument that [`Executor::reduce`](crate::Executor::reduce) uses: p = 2, correction 1, and 0 for reductions
    /// without one.
    #[must_use]
    pub const fn default_argument(self) -> f32 {
        match self {
            Self::Norm => 2.0,
            Self::Var | Self::Std => 1.0,
            _ => 0.0,
        }
    }

    /// Whether only floats have this reduction.
    #[must_use]
    pub const fn needs_floats(self) -> bool {
        matches!(
            self,
            Self::Mean | Self::Norm2 | Self::Norm | Self::LogSumExp | Self::Var | Self::Std
        )
    }

    /// Whether reducing one element gives it back.
    #[must_use]
    pub const fn keeps_one(self) -> bool {
        matches!(
            self,
            Self::Sum | Self::Mean | Self::Max | Self::Min | Self::Prod
        )
    }

    /// Whether `input` may be reduced into `output`: the same dtype; of floats also f32, but for extremes; for sums and
    /// products of integers also a wider integer. Bool has a sum (in a wider integer) and extremes.
    #[must_use]
    pub const fn accepts(self, input: DType, output: DType) -> bool {
        let same = input as u8 == output as u8;
        match self {
            Self::Max | Self::Min => same,
            Self::Sum | Self::Prod | Self::SumSquares | Self::SumAbs => match input {
                DType::F32 | DType::F16 | DType::BF16 => same || matches!(output, DType::F32),
                DType::I32 | DType::U32 => same,
                DType::I8 => same || matches!(output, DType::I32),
                DType::U8 => same || matches!(output, DType::I32 | DType::U32),
                DType::Bool => {
                    matches!(self, Self::Sum) && matches!(output, DType::I32 | DType::U32)
                }
            },
            _ => input.is_float() && (same || matches!(output, DType::F32)),
        }
    }

    /// 32-bit words of a partial result between two passes.
    pub(super) const fn words(self) -> u32 {
        match self {
            Self::LogSumExp => 2,
            Self::Var | Self::Std => 4,
            _ => 1,
        }
    }

    /// Turns of the loops that one element takes.
    pub(super) const fn turns(self) -> u64 {
        match self {
            Self::Norm => POWER_TURNS + 1,
            _ => 0,
        }
    }

    /// The parameter `identity`: the least key for extremes, the argument's bits for those that take one.
    pub(super) fn identity(self, input: DType, argument: f32) -> u32 {
        match self {
            // A minimum is the maximum of reversed keys, so both start at the bottom of the keys.
            Self::Max | Self::Min => lowest_key(input, self == Self::Min),
            _ => argument.to_bits(),
        }
    }

    /// The operator's shader parts.
    pub(crate) const fn operator(self, input: DType) -> &'static [&'static str] {
        match (self, input.compute()) {
            (Self::Sum, DType::Bool) => &["reduce/op/sum_bool.wgsl"],
            (Self::Sum, _) => &["reduce/op/sum.wgsl"],
            (Self::Mean, _) => &["reduce/op/mean.wgsl"],
            (Self::Max | Self::Min, DType::F32) => {
                &["reduce/key/float.wgsl", "reduce/op/extremum.wgsl"]
            }
            (Self::Max | Self::Min, DType::Bool) => {
                &["reduce/key/bool.wgsl", "reduce/op/extremum.wgsl"]
            }
            (Self::Max | Self::Min, _) => &["reduce/key/int.wgsl", "reduce/op/extremum.wgsl"],
            (Self::Prod, _) => &["reduce/op/prod.wgsl"],
            (Self::SumSquares, _) => &["reduce/op/sum_squares.wgsl"],
            (Self::SumAbs, _) => &["reduce/op/sum_abs.wgsl"],
            (Self::Norm2, _) => &[
                "functions/sqrt.wgsl",
                "elementwise/unary/sqrt.wgsl",
                "reduce/op/norm2.wgsl",
            ],
            (Self::Norm, _) => &[
                "functions/exp.wgsl",
                "functions/log.wgsl",
                "functions/pow.wgsl",
                "elementwise/binary/pow.wgsl",
                "reduce/op/norm.wgsl",
            ],
            (Self::LogSumExp, _) => &[
                "functions/log.wgsl",
                "elementwise/unary/log.wgsl",
                "reduce/key/float.wgsl",
                "softmax/exp.wgsl",
                "reduce/op/logsumexp.wgsl",
            ],
            (Self::Var | Self::Std, _) => &[
                "functions/sqrt.wgsl",
                "elementwise/unary/sqrt.wgsl",
                "reduce/op/var.wgsl",
                "reduce/op/var_finish.wgsl",
            ],
        }
    }

    /// The constant of the operator's part, if it has one.
    pub(super) const fn constant(self) -> Option<(&'static str, u32)> {
        match self {
            Self::Max | Self::LogSumExp => Some(("LEAST", 0)),
            Self::Min => Some(("LEAST", 1)),
            Self::Var => Some(("ROOT", 0)),
            Self::Std => Some(("ROOT", 1)),
            _ => None,
        }
    }
}

/// Bits of the key that every element's key reaches: that of the least element, or with `least` (keys reversed) of
/// the greatest.
pub(crate) const fn lowest_key(dtype: DType, least: bool) -> u32 {
    match (dtype, least) {
        // The key of −inf, and the reversed key of +inf.
        (DType::F32 | DType::F16 | DType::BF16, _) => 0x807f_ffff,
        (DType::I32, _) => 0x8000_0000,
        (DType::I8, _) => 0xffff_ff80,
        (DType::U8, true) => !0xff,
        (DType::U32 | DType::U8 | DType::Bool, _) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_widen_and_extrema_keep_their_dtype() {
        assert!(
            Reduce::Sum.accepts(DType::Bool, DType::I32)
                && !Reduce::Sum.accepts(DType::Bool, DType::Bool)
        );
        assert!(
            Reduce::Sum.accepts(DType::F16, DType::F32)
                && !Reduce::Sum.accepts(DType::F32, DType::F16)
        );
        assert!(
            !Reduce::Mean.accepts(DType::I32, DType::I32)
                && Reduce::Mean.accepts(DType::BF16, DType::BF16)
        );
        for dtype in DType::ALL {
            assert!(Reduce::Max.accepts(dtype, dtype));
            assert_eq!(Reduce::Min.accepts(dtype, DType::F32), dtype == DType::F32);
        }
    }

    #[test]
    fn the_lowest_keys_are_those_of_the_extreme_values() {
        let key = |x: f32| (x.to_bits() as i32) ^ ((x.to_bits() as i32 >> 31) & 0x7fff_ffff);
        assert_eq!(lowest_key(DType::F32, false), key(f32::NEG_INFINITY) as u32);
        assert_eq!(lowest_key(DType::F32, true), !key(f32::INFINITY) as u32);
        assert_eq!(lowest_key(DType::I8, false) as i32, -128);
        assert_eq!(!(lowest_key(DType::I8, true) as i32), 127);
        assert_eq!(!lowest_key(DType::U8, true), 255);
        assert_eq!(!lowest_key(DType::I32, true), i32::MAX as u32);
        assert_eq!(!lowest_key(DType::U32, true), u32::MAX);
    }
}
