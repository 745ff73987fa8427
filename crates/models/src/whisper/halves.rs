//! Encoder and decoder: lists of blocks.

use ziggurat_tensor::{Conv1dOptions, Error as TensorError, KvSlots, Tensor};

use super::{WhisperConfig, WhisperHalf};
use crate::Error;
use crate::blocks::{
    Attended, CausalAttention, Conv1d, CrossAttention, CrossDecoderLayer, EncoderLayer, LayerNorm,
    Linear, Linears, Mlp, Place, SelfAttention, Weight,
};
use crate::load::Loader;

/// Spectra in, what is heard out.
#[derive(Debug)]
pub(super) struct Encoder {
    stem: [Conv1d; 2],
    positions: Tensor,
    layers: Vec<EncoderLayer>,
    norm: LayerNorm,
}

impl Encoder {
    pub(super) fn load(source: &Loader<'_>, config: &WhisperConfig) -> Result<Self, Error> {
        let (width, half) = (config.width, &config.encoder);
        let conv = |name: &str, within: usize, stride: usize| {
            Ok::<_, Error>(Conv1d {
                weight: source.tensor(&format!("encoder.{name}.weight"), &[width, within, 3])?,
                bias: Some(source.tensor(&format!("encoder.{name}.bias"), &[width])?),
                options: Conv1dOptions {
                    stride: [stride],
                    padding_begin: [1],
                    padding_end: [1],
                    ..Conv1dOptions::default()
                },
            })
        };
        let layer = |at: usize| {
            let name = format!("encoder.layers.{at}.");
            let [q, k, v, out] = attention(source, &format!("{name}self_attn"), width)?;
            let (attention_norm, mlp_norm, mlp) = rest(source, &name, width, half)?;
            Ok::<_, Error>(EncoderLayer {
                attention: SelfAttention {
                    q,
                    k,
                    v,
                    out,
                    heads: half.heads,
                },
                attention_norm,
                mlp,
                mlp_norm,
                norm_first: true,
            })
        };
        let positions = &[half.positions, width];
        Ok(Self {
            stem: [conv("conv1", config.bands, 1)?, conv("conv2", width, 2)?],
            positions: source.tensor("encoder.embed_positions.weight", positions)?,
            layers: (0..half.layers).map(layer).collect::<Result<_, _>>()?,
            norm: source.norm("encoder.layer_norm", width)?,
        })
    }

    /// `[1, bands, 2 · positions]` to `[1, positions, width]`.
    pub(super) fn forward(&self, spectrum: &Tensor) -> Result<Tensor, TensorError> {
        let mut x = spectrum.clone();
        for conv in &self.stem {
            x = conv.forward(&x)?.gelu()?;
        }
        x = x.transpose(1, 2)?.add(&self.positions)?;
        for layer in &self.layers {
            x = layer.forward(&x, None)?;
        }
        self.norm.forward(&x)
    }
}

/// Tokens in, scores of what follows out.
#[derive(Debug)]
pub(super) struct Decoder {
    embedding: Weight,
    positions: Tensor,
    layers: Vec<CrossDecoderLayer>,
    norm: LayerNorm,
    output: Linear,
}

impl Decoder {
    pub(super) fn load(source: &Loader<'_>, config: &WhisperConfig) -> Result<Self, Error> {
        let (width, half) = (config.width, &config.decoder);
        let layer = |at: usize| {
            let name = format!("decoder.layers.{at}.");
            let [q, k, v, out] = attention(source, &format!("{name}self_attn"), width)?;
            let (attention_norm, mlp_norm, mlp) = rest(source, &name, width, half)?;
            let own = CausalAttention {
                qkv: Linears::joined([q, k, v])?,
                out,
                norms: None,
                heads: half.heads,
                key_heads: half.heads,
                interleaved: false,
                window: None,
            };
            let [q, k, v, out] = attention(source, &format!("{name}encoder_attn"), width)?;
            Ok::<_, Error>(CrossDecoderLayer {
                attention_norm,
                attention: own,
                cross_norm: source.norm(&format!("{name}encoder_attn_layer_norm"), width)?,
                cross: CrossAttention {
                    q,
                    k,
                    v,
                    out,
                    heads: half.heads,
                },
                mlp_norm,
                mlp,
            })
        };
        let (rows, positions) = (&[config.vocabulary, width], &[half.positions, width]);
        let embedding: Weight = source.tensor("decoder.embed_tokens.weight", rows)?.into();
        Ok(Self {
            positions: source.tensor("decoder.embed_positions.weight", positions)?,
            layers: (0..half.layers).map(layer).collect::<Result<_, _>>()?,
            norm: source.norm("decoder.layer_norm", width)?,
            output: Linear {
                weight: embedding.clone(),
                bias: None,
            },
            embedding,
        })
    }

    /// Keys and values of what is heard, of each layer.
    pub(super) fn attended(&self, heard: &Tensor) -> Result<Vec<Attended>, TensorError> {
        let layers = self.layers.iter();
        layers.map(|layer| layer.cross.attended(heard)).collect()
    }

    /// Scores `[1, length, vocabulary]` of what follows each of the tokens, i32 `[1, length]`, or only the last.
    pub(super) fn forward(
        &self,
        tokens: &Tensor,
        place: &Place<'_>,
        attended: &[Attended],
        caches: &mut [KvSlots],
        last: bool,
    ) -> Result<Tensor, TensorError> {
        let length = tokens.len();
        let positions = match place {
            Place::Slot { start, .. } => self.positions.narrow(0, *start, length)?,
            Place::Each(at) => self.positions.embedding(at.tensor())?,
        };
        let tokens = self.embedding.embedding(tokens, positions.dtype())?;
        let mut x = tokens.add(&positions)?;
        for ((layer, attended), cache) in self.layers.iter().zip(attended).zip(caches) {
            x = layer.forward(&x, place, attended, cache)?;
        }
        if last {
            x = x.narrow(1, length.saturating_sub(1), 1)?;
        }
        self.output.forward(&self.norm.forward(&x)?)
    }
}

/// Queries, keys (which have no bias), values, and the product behind them.
fn attention(source: &Loader<'_>, name: &str, width: usize) -> Result<[Linear; 4], Error> {
    let linear = |what: &str| source.linear(&format!("{name}.{what}_proj"), width, width);
    let keys = source.linear_without_bias(&format!("{name}.k_proj"), width, width)?;
    Ok([linear("q")?, keys, linear("v")?, linear("out")?])
}

/// The norms of a layer's halves, and its second half.
fn rest(
    source: &Loader<'_>,
    name: &str,
    width: usize,
    half: &WhisperHalf,
) -> Result<(LayerNorm, LayerNorm, Mlp), Error> {
    Ok((
        source.norm(&format!("{name}self_attn_layer_norm"), width)?,
        source.norm(&format!("{name}final_layer_norm"), width)?,
        Mlp {
            up: source.linear(&format!("{name}fc1"), half.hidden, width)?,
            down: source.linear(&format!("{name}fc2"), width, half.hidden)?,
        },
    ))
}
