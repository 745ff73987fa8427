//! [`Linears`]: dense layers over one input.

use ziggurat_tensor::{Error as TensorError, QuantizedLinearOptions, Tensor};

use super::{Linear, RmsNorm, Weight};

/// Dense layers over one input, computed as one product where their weights are one matrix: a step of a decoder then has fewer
/// dispatches, each of which costs a GPU some microseconds however little it computes.
#[derive(Clone, Debug)]
pub enum Linears<const N: usize> {
    /// Each with a weight of its own.
    Each([Linear; N]),
    /// All outputs behind each other.
    Joined {
        /// With as many rows as all layers together.
        layer: Linear,
        /// The outputs of each layer.
        widths: [usize; N],
    },
}

impl<const N: usize> Linears<N> {
    /// The layers as one, if their weights are numbers of one dtype, and all or none have biases; else each by itself.
    ///
    /// # Errors
    /// If the device has no memory for weights that are joined.
    pub fn joined(layers: [Linear; N]) -> Result<Self, TensorError> {
        let weights: Vec<&Tensor> = layers
            .iter()
            .filter_map(|layer| match &layer.weight {
                Weight::Plain(tensor) => Some(tensor),
                Weight::Quantized(_) => None,
            })
            .collect();
        let like = |other: &&Tensor| {
            let first = weights.first();
            first.is_some_and(|first| {
                first.dtype() == other.dtype() && first.dims().last() == other.dims().last()
            })
        };
        let biases: Vec<&Tensor> = layers
            .iter()
            .filter_map(|layer| layer.bias.as_ref())
            .collect();
        let all_or_none = biases.is_empty() || biases.len() == N;
        if weights.len() != N || N < 2 || !all_or_none || !weights.iter().all(like) {
            return Ok(Self::Each(layers));
        }
        let widths = layers
            .each_ref()
            .map(|layer| layer.weight.dims().first().copied().unwrap_or(0));
        let behind = |tensors: &[&Tensor]| {
            let all = Tensor::concat(tensors, 0)?;
            // The layers' own memory is not kept until the first pass.
            all.storage()?;
            Ok::<_, TensorError>(all)
        };
        let bias = (!biases.is_empty()).then(|| behind(&biases));
        let layer = Linear {
            weight: behind(&weights)?.into(),
            bias: bias.transpose()?,
        };
        Ok(Self::Joined { layer, widths })
    }

    /// What each layer makes of `x`, behind the norm if there is one: `[.., in]` gives `[.., out]`.
    ///
    /// # Errors
    /// If the extents do not fit.
    pub fn forward(&self, x: &Tensor, norm: Option<&RmsNorm>) -> [Result<Tensor, TensorError>; N] {
        match self {
            Self::Each(layers) => {
                let normed = norm.map_or_else(|| Ok(x.clone()), |norm| norm.forward(x));
                layers
                    .each_ref()
                    .map(|layer| layer.forward(normed.as_ref().map_err(Clone::clone)?))
            }
            Self::Joined { layer, widths } => {
                let all = layer.forward_behind(norm, x);
                let mut start = 0;
                widths.map(|width| {
                    let at = start;
                    start += width;
                    all.as_ref()
                        .map_err(Clone::clone)
                        .and_then(|all| all.narrow(-1, at, width))
                })
            }
        }
    }
}

impl Linears<2> {
    /// What the first layer lets through of the second: `silu(first(x)) · second(x)`, behind the norm if there is one.
    ///
    /// # Errors
    /// If the extents do not fit.
    pub fn forward_gated(&self, x: &Tensor, norm: Option<&RmsNorm>) -> Result<Tensor, TensorError> {
        if let Self::Joined { layer, widths } = self
            && widths[0] == widths[1]
        {
            let options = QuantizedLinearOptions {
                rms_norm: norm.map(RmsNorm::parts),
                swiglu: true,
                bias: layer.bias.as_ref(),
            };
            return layer.weight.linear_with(x, &options);
        }
        let [gate, up] = self.forward(x, norm);
        gate?.silu()?.mul(&up?)
    }
}
