//! Logic on bool and on the bits of integers.
//!
//! The `logical_` forms take any dtype, where anything but 0 is true, and give bool; the `bitwise_` forms keep the
//! promoted dtype and have no meaning for floats.

use ziggurat_core::DType;
use ziggurat_kernels::{Binary, FusedOp};

use super::arithmetic::launch;
use crate::operand::{Operand, Side};
use crate::{Error, Tensor};

macro_rules! bitwise {
    ($($(#[$doc:meta])* $name:ident, $kernel:ident;)*) => {
        impl Tensor {
            $($(#[$doc])*
            ///
            /// # Errors
            /// If a dtype is a float, the shapes do not broadcast, or the tensors are on different devices.
            pub fn $name(&self, other: impl Operand) -> Result<Self, Error> {
                let (a, b) = (Side::Tensor(self), other.side());
                let dtype = a.combined_dtype(b);
                launch(stringify!($name), FusedOp::Binary(Binary::$kernel), a, b, dtype)
            })*
        }
    };
}

bitwise! {
    /// The bits set in both; for bool, *and*.
    bitwise_and, BitwiseAnd;
    /// The bits set in either; for bool, *or*.
    bitwise_or, BitwiseOr;
    /// The bits set in one only; for bool, *exclusive or*.
    bitwise_xor, BitwiseXor;
    /// The bits moved `other` places to the left, zeros following. PyTorch's `bitwise_left_shift`. 0 where `other` is
    /// negative or at least the dtype's width.
    #[doc(alias = "bitwise_left_shift")]
    shift_left, ShiftLeft;
    /// The bits moved `other` places to the right, the sign following for signed dtypes. PyTorch's
    /// `bitwise_right_shift`. Where `other` is negative or at least the dtype's width, only the sign is left: 0 or -1.
    #[doc(alias = "bitwise_right_shift")]
    shift_right, ShiftRight;
}

macro_rules! logical {
    ($($(#[$doc:meta])* $name:ident, $kernel:ident;)*) => {
        impl Tensor {
            $($(#[$doc])*
            ///
            /// # Errors
            /// If the shapes do not broadcast, or the tensors are on different devices.
            pub fn $name(&self, other: &Self) -> Result<Self, Error> {
                let (a, b) = (Side::Tensor(self), Side::Tensor(other));
                launch(stringify!($name), FusedOp::Binary(Binary::$kernel), a, b, DType::Bool)
            })*
        }
    };
}

logical! {
    /// Where both are true.
    logical_and, BitwiseAnd;
    /// Where at least one is true.
    logical_or, BitwiseOr;
    /// Where exactly one is true.
    logical_xor, BitwiseXor;
}
