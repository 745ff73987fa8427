//! Softmax along one axis.

use crate::{Error, Tensor};

impl Tensor {
    /// `exp(x) / sum(exp(x))` along `axis`, with the maximum subtracted first; integers and bool give f32.
    ///
    /// ```
    /// # use ziggurat_tensor::{doc, Tensor};
    /// # let Some(device) = doc::device() else { return Ok(()) };
    /// let a = Tensor::from_slice(&device, &[1000.0f32, 1000.0], [2])?;
    /// assert_eq!(a.softmax(0)?.to_vec_blocking::<f32>()?, [0.5, 0.5]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the axis is out of range.
    pub fn softmax(&self, axis: isize) -> Result<Self, Error> {
        let axis = self
            .shape()
            .axis(axis)
            .map_err(|error| Error::from_shape("softmax", error))?;
        // One element is a row of its own.
        let input = self.as_float("softmax")?;
        let input = if self.rank() == 0 {
            input.unsqueeze(0)?
        } else {
            input
        };
        let out = input.produce_from(
            "softmax",
            *input.shape(),
            input.dtype(),
            |executor, input, out| executor.softmax_fused(input, axis, out),
            |executor, input, out| executor.softmax(input, axis, out),
        )?;
        if self.rank() == 0 {
            out.select(0, 0)
        } else {
            Ok(out)
        }
    }
}
