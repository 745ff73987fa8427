//! Weights of a file, checked against its metadata, onto a device.

use ziggurat_tensor::{DType, Device, Tensor};

use super::{Decoder, DecoderConfig};
use crate::blocks::{CausalAttention, DecoderLayer, GatedMlp, Linear, RmsNorm, Weight, rope_table};
use crate::gguf::{BlockType, GgufFile};
use crate::{Error, LoadOptions};

/// Reads tensors of the extents that they must have.
struct Source<'a> {
    device: &'a Device,
    file: &'a GgufFile,
    dtype: DType,
    dequantise: bool,
}

impl Source<'_> {
    /// The format of a tensor that has the extents which it must have.
    fn checked(&self, name: &str, dims: &[usize]) -> Result<BlockType, Error> {
        let info = self
            .file
            .head()
            .tensor(name)
            .ok_or_else(|| Error::MissingTensor {
                name: name.to_owned(),
            })?;
        if info.dims() != dims {
            return Err(Error::WrongTensor {
                name: name.to_owned(),
                expected: dims.to_vec(),
                found: info.dims().to_vec(),
            });
        }
        Ok(info.block())
    }

    fn matrix(&self, name: &str, dims: [usize; 2]) -> Result<Weight, Error> {
        match self.checked(name, &dims)? {
            BlockType::Blocks(_) if !self.dequantise => {
                Ok(self.file.load_blocks(self.device, name)?.into())
            }
            _ => Ok(self.tensor(name, &dims)?.into()),
        }
    }

    fn tensor(&self, name: &str, dims: &[usize]) -> Result<Tensor, Error> {
        self.checked(name, dims)?;
        let tensor = self.file.load(self.device, name)?;
        if self.dtype == DType::F32 {
            return Ok(tensor);
        }
        let tensor = tensor.to_dtype(self.dtype)?;
        // The f32 values are not kept until the first pass.
        tensor.storage()?;
        Ok(tensor)
    }

    fn has(&self, name: &str) -> bool {
        self.file.head().tensor(name).is_some()
    }

    fn linear(&self, name: &str, [out, within]: [usize; 2], bias: bool) -> Result<Linear, Error> {
        Ok(Linear {
            weight: self.matrix(&format!("{name}.weight"), [out, within])?,
            bias: if bias {
                Some(self.tensor(&format!("{name}.bias"), &[out])?)
            } else {
                None
            },
        })
    }

    fn norm(&self, name: &str, width: usize, eps: f32) -> Result<RmsNorm, Error> {
        let weight = self.tensor(&format!("{name}.weight"), &[width])?;
        Ok(RmsNorm { weight, eps })
    }

    fn layer(&self, config: &DecoderConfig, at: usize) -> Result<DecoderLayer, Error> {
        let name = |what: &str| format!("blk.{at}.{what}");
        let (width, hidden, dim, eps) = (config.width, config.hidden, config.head_dim, config.eps);
        let (all, shared) = (config.heads * dim, config.key_heads * dim);
        let biases = config.family.biases;
        let norms = if config.family.head_norms {
            Some([
                self.norm(&name("attn_q_norm"), dim, eps)?,
                self.norm(&name("attn_k_norm"), dim, eps)?,
            ])
        } else {
            None
        };
        Ok(DecoderLayer {
            attention_norm: self.norm(&name("attn_norm"), width, eps)?,
            attention: CausalAttention {
                q: self.linear(&name("attn_q"), [all, width], biases)?,
                k: self.linear(&name("attn_k"), [shared, width], biases)?,
                v: self.linear(&name("attn_v"), [shared, width], biases)?,
                out: self.linear(&name("attn_output"), [width, all], false)?,
                norms,
                heads: config.heads,
                key_heads: config.key_heads,
                interleaved: config.family.interleaved,
                window: config.window,
            },
            mlp_norm: self.norm(&name("ffn_norm"), width, eps)?,
            mlp: GatedMlp {
                gate: self.linear(&name("ffn_gate"), [hidden, width], false)?,
                up: self.linear(&name("ffn_up"), [hidden, width], false)?,
                down: self.linear(&name("ffn_down"), [width, hidden], false)?,
            },
        })
    }
}

pub(super) fn load(
    device: &Device,
    file: &GgufFile,
    options: &LoadOptions,
) -> Result<Decoder, Error> {
    let LoadOptions {
        dtype,
        context,
        dequantise,
    } = *options;
    if !matches!(dtype, DType::F32 | DType::F16) {
        return Err(Error::Unsupported(format!(
            "weights as {dtype}: f32 and f16 are"
        )));
    }
    let mut config = DecoderConfig::from_gguf(file.head())?;
    config.context = config.context.min(context.max(1));
    let source = Source {
        device,
        file,
        dtype,
        dequantise,
    };
    const TABLE: &str = "token_embd.weight";
    let table = file
        .head()
        .tensor(TABLE)
        .ok_or_else(|| Error::MissingTensor {
            name: TABLE.to_owned(),
        })?;
    config.vocabulary = table.dims().first().copied().unwrap_or(0);
    let extents = [config.vocabulary, config.width];
    let embedding = source.matrix(TABLE, extents)?;
    let factors = if source.has("rope_freqs.weight") {
        Some(file.dequantise("rope_freqs.weight")?)
    } else {
        None
    };
    let layers = (0..config.layers).map(|at| source.layer(&config, at));
    let layers = layers.collect::<Result<Vec<_>, _>>()?;
    let output = if source.has("output.weight") {
        source.linear("output", extents, false)?
    } else {
        // Tied: the table of embeddings says the scores too.
        Linear {
            weight: embedding.clone(),
            bias: None,
        }
    };
    Ok(Decoder {
        norm: source.norm("output_norm", config.width, config.eps)?,
        rope: rope_table(
            device,
            config.context,
            config.rotary,
            config.rope_base,
            config.rope_scale,
            factors.as_deref(),
        )?,
        device: device.clone(),
        dtype,
        embedding,
        layers,
        output,
        config,
    })
}
