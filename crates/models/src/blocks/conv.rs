//! Convolutions with their weights.

use ziggurat_tensor::{Conv1dOptions, Error as TensorError, Tensor};

/// A convolution along one axis.
#[derive(Clone, Debug)]
pub struct Conv1d {
    /// `[out, in, kernel]`.
    pub weight: Tensor,
    /// `[out]`.
    pub bias: Option<Tensor>,
    /// Stride, padding and the like.
    pub options: Conv1dOptions,
}

impl Conv1d {
    /// `[batch, in, length]` to `[batch, out, ..]`, with zeros around.
    ///
    /// # Errors
    /// As [`Tensor::conv1d`].
    pub fn forward(&self, x: &Tensor) -> Result<Tensor, TensorError> {
        x.conv1d(&self.weight, self.bias.as_ref(), &self.options)
    }
}
