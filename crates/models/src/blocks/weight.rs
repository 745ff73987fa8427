//! [`Weight`]: a matrix as a layer has it.

use ziggurat_tensor::{
    DType, Error as TensorError, GateHalf, QuantizedLinearOptions, QuantizedTensor, Tensor,
};

/// A matrix of weights: numbers, or the blocks that a file has.
#[derive(Clone, Debug)]
pub enum Weight {
    /// Of any float dtype.
    Plain(Tensor),
    /// Decoded where it is read.
    Quantized(QuantizedTensor),
}

impl From<Tensor> for Weight {
    fn from(tensor: Tensor) -> Self {
        Self::Plain(tensor)
    }
}

impl From<QuantizedTensor> for Weight {
    fn from(tensor: QuantizedTensor) -> Self {
        Self::Quantized(tensor)
    }
}

impl Weight {
    /// The extents.
    pub fn dims(&self) -> &[usize] {
        match self {
            Self::Plain(tensor) => tensor.dims(),
            Self::Quantized(tensor) => tensor.dims(),
        }
    }

    /// `x · selfᵀ + bias`: `[.., in]` gives `[.., out]`.
    ///
    /// # Errors
    /// If the extents do not fit.
    pub fn linear(&self, x: &Tensor, bias: Option<&Tensor>) -> Result<Tensor, TensorError> {
        match self {
            Self::Plain(tensor) => x.linear(tensor, bias),
            Self::Quantized(tensor) => tensor.linear(x, bias),
        }
    }

    /// [`Weight::linear`] behind a norm, or in front of gates: [`QuantizedTensor::linear_with`], of numbers by three operations.
    ///
    /// # Errors
    /// If the extents do not fit.
    pub fn linear_with(
        &self,
        x: &Tensor,
        options: &QuantizedLinearOptions<'_>,
    ) -> Result<Tensor, TensorError> {
        let tensor = match self {
            Self::Plain(tensor) => tensor,
            Self::Quantized(tensor) => return tensor.linear_with(x, options),
        };
        let normed = options
            .rms_norm
            .map(|(weight, eps)| x.rms_norm(weight.dims(), Some(weight), eps));
        let out = normed
            .transpose()?
            .as_ref()
            .unwrap_or(x)
            .linear(tensor, options.bias)?;
        if options.swiglu {
            return out.swiglu(-1, GateHalf::First);
        }
        Ok(out)
    }

    /// The rows that tokens name, as numbers of a dtype: `[..]` gives `[.., width]`.
    ///
    /// # Errors
    /// If the tokens are no integers.
    pub fn embedding(&self, tokens: &Tensor, dtype: DType) -> Result<Tensor, TensorError> {
        match self {
            Self::Plain(tensor) => tensor.embedding(tokens)?.to_dtype(dtype),
            Self::Quantized(tensor) => tensor.embedding(tokens, dtype),
        }
    }
}
