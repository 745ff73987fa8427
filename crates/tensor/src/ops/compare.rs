//! Comparisons, and choosing by their outcome.
//!
//! Results are bool tensors. Comparing with NaN is false, except that it differs from everything.

use ziggurat_core::DType;
use ziggurat_kernels::{Compare, FusedOp};

use super::arithmetic::{broadcast, launch};
use crate::operand::{Operand, Side};
use crate::{Error, Tensor};

fn compare(op: &'static str, kernel: Compare, a: &Tensor, b: Side<'_>) -> Result<Tensor, Error> {
    let a = Side::Tensor(a);
    launch(op, FusedOp::Compare(kernel), a, b, a.combined_dtype(b))
}

macro_rules! comparisons {
    ($($(#[$doc:meta])* $name:ident, $kernel:ident;)*) => {
        impl Tensor {
            $($(#[$doc])*
            ///
            /// # Errors
            /// If the shapes do not broadcast, or the tensors are on different devices.
            pub fn $name(&self, other: impl Operand) -> Result<Self, Error> {
                compare(stringify!($name), Compare::$kernel, self, other.side())
            })*
        }
    };
}

comparisons! {
    /// Where `self` equals `other`.
    eq, Eq;
    /// Where `self` differs from `other`.
    ne, Ne;
    /// Where `self` is less than `other`.
    lt, Lt;
    /// Where `self` is at most `other`.
    le, Le;
    /// Where `self` is greater than `other`.
    gt, Gt;
    /// Where `self` is at least `other`.
    ge, Ge;
}

impl Tensor {
    /// `a` where `self` (a bool tensor) is true, `b` elsewhere; all three broadcast.
    ///
    /// ```
    /// # use ziggurat_tensor::{doc, Tensor};
    /// # let Some(device) = doc::device() else { return Ok(()) };
    /// let a = Tensor::from_slice(&device, &[-1.0f32, f32::NAN, 3.0], [3])?;
    /// let b = a.gt(0.0)?.where_(&a, 0.0)?;
    /// assert_eq!(b.to_vec_blocking::<f32>()?, [0.0, 0.0, 3.0]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If `self` is not bool, the shapes do not broadcast, or the tensors are on different devices.
    pub fn where_(&self, a: impl Operand, b: impl Operand) -> Result<Self, Error> {
        const OP: &str = "where";
        if !self.dtype().is_bool() {
            return Err(Error::dtype(
                OP,
                format!("the condition must be bool: it is {}", self.dtype()),
            ));
        }
        let (a, b) = (a.side(), b.side());
        let dtype = match (a, b) {
            (Side::Scalar(a), Side::Scalar(b)) => b.beside(a.beside(DType::Bool)),
            _ => a.combined_dtype(b),
        };
        for side in [a, b] {
            if let Side::Tensor(tensor) = side {
                self.same_device(OP, tensor)?;
            }
        }
        let shape = broadcast(OP, &[*self.shape(), a.shape(), b.shape()])?;
        let (a, b) = (a.to_input(OP, dtype, self)?, b.to_input(OP, dtype, self)?);
        let inputs = [Some(self.as_input(self.device())?), Some(a), Some(b)];
        Self::record(self.device(), OP, FusedOp::Where, shape, inputs)
    }
}
