//! Which type two operands of different types meet in.
//!
//! PyTorch's rule for two dimensioned tensors: bool gives way to anything, integers give way to
//! floats, two floats meet in the wider one. Where PyTorch would answer with a type that does not
//! exist here (i16, i64), the answer is [`DType::I32`]: it holds every u8 and i8, and wraps for
//! u32 above 2³¹ − 1.
//!
//! Invariants: commutative, associative, idempotent; never a type below either operand's kind.

use super::DType;

impl DType {
    /// The type in which `self` and `other` meet, as PyTorch's `result_type` of two dimensioned
    /// tensors.
    ///
    /// Two departures, because there is no i16 and no i64: u8 with i8 gives [`DType::I32`] (PyTorch:
    /// i16), u32 with i32 or i8 gives [`DType::I32`] (PyTorch: i64), which wraps above 2³¹ − 1.
    /// f16 with bf16 gives [`DType::F32`].
    ///
    /// ```
    /// use ziggurat_core::DType;
    ///
    /// assert_eq!(DType::I32.promote(DType::F16), DType::F16);
    /// assert_eq!(DType::U8.promote(DType::I8), DType::I32);
    /// assert_eq!(DType::F16.promote(DType::BF16), DType::F32);
    /// assert_eq!(DType::Bool.promote(DType::Bool), DType::Bool);
    /// ```
    #[must_use]
    pub const fn promote(self, other: Self) -> Self {
        use DType::{BF16, Bool, F16, F32, I8, I32, U8, U32};
        match (self, other) {
            (F32, _) | (_, F32) | (F16, BF16) | (BF16, F16) => F32,
            (F16, _) | (_, F16) => F16,
            (BF16, _) | (_, BF16) => BF16,
            (I32, _) | (_, I32) | (U32 | U8, I8) | (I8, U32 | U8) => I32,
            (U32, _) | (_, U32) => U32,
            (U8, _) | (_, U8) => U8,
            (I8, _) | (_, I8) => I8,
            (Bool, Bool) => Bool,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use DType::{BF16, Bool, F16, F32, I8, I32, U8, U32};

    #[test]
    fn the_whole_table() {
        // Rows and columns in the order of DType::ALL.
        let table = [
            // F32  F16  BF16  I32   U32   U8    I8    Bool
            [F32, F32, F32, F32, F32, F32, F32, F32], // F32
            [F32, F16, F32, F16, F16, F16, F16, F16], // F16
            [F32, F32, BF16, BF16, BF16, BF16, BF16, BF16], // BF16
            [F32, F16, BF16, I32, I32, I32, I32, I32], // I32
            [F32, F16, BF16, I32, U32, U32, I32, U32], // U32
            [F32, F16, BF16, I32, U32, U8, I32, U8],  // U8
            [F32, F16, BF16, I32, I32, I32, I8, I8],  // I8
            [F32, F16, BF16, I32, U32, U8, I8, Bool], // Bool
        ];
        for (left, row) in DType::ALL.into_iter().zip(table) {
            for (right, want) in DType::ALL.into_iter().zip(row) {
                assert_eq!(left.promote(right), want, "{left} with {right}");
            }
        }
    }

    #[test]
    fn order_and_grouping_do_not_matter() {
        for a in DType::ALL {
            assert_eq!(a.promote(a), a);
            for b in DType::ALL {
                assert_eq!(a.promote(b), b.promote(a), "{a}, {b}");
                for c in DType::ALL {
                    assert_eq!(
                        a.promote(b).promote(c),
                        a.promote(b.promote(c)),
                        "{a}, {b}, {c}"
                    );
                }
            }
        }
    }
}
