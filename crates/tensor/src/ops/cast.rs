//! Conversion between dtypes.

use ziggurat_core::DType;
use ziggurat_kernels::FusedOp;

use crate::{Error, Tensor};

impl Tensor {
    /// The values converted to `dtype`; `self` where it has that dtype already.
    ///
    /// Floats go to integers by truncation toward zero, saturating, NaN to 0; integers wrap among each other; anything but
    /// zero is true; f32 rounds to f16 and bf16 to nearest even, with overflow to infinity.
    ///
    /// ```
    /// # use ziggurat_tensor::{doc, DType, Tensor};
    /// # let Some(device) = doc::device() else { return Ok(()) };
    /// let a = Tensor::from_slice(&device, &[1.9f32, -300.0, f32::NAN], [3])?;
    /// assert_eq!(a.to_dtype(DType::I8)?.to_vec_blocking::<i8>()?, [1, -128, 0]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the device has no memory for the result.
    pub fn to_dtype(&self, dtype: DType) -> Result<Self, Error> {
        self.converted("to_dtype", dtype)
    }

    /// [`Tensor::to_dtype`] on behalf of `op`.
    pub(crate) fn converted(&self, op: &'static str, dtype: DType) -> Result<Self, Error> {
        if self.dtype() == dtype {
            return Ok(self.clone());
        }
        let inputs = [Some(self.as_input(self.device())?), None, None];
        Self::record(
            self.device(),
            op,
            FusedOp::Cast(dtype),
            *self.shape(),
            inputs,
        )
    }
}
