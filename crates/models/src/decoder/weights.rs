//! Weights of a file, checked against its metadata, onto a device.
//!
//! All that a model needs is listed and checked first: a tensor that is missing or has other extents, and a device that is too
//! small, are errors before anything is uploaded.

use std::collections::HashMap;

use ziggurat_tensor::{DType, Device, Tensor};

use super::config::scaling::FACTORS;
use super::{Decoder, DecoderConfig, chunk};
use crate::blocks::{
    CausalAttention, DecoderLayer, GatedMlp, Linear, Linears, RmsNorm, RopeScaling, Weight,
    rope_table,
};
use crate::file::ModelFile;
use crate::gguf::GgufFile;
use crate::memory;
use crate::{Error, LoadOptions};

/// A tensor that a model has.
struct Wanted {
    name: String,
    dims: Vec<usize>,
    /// Whether the model is none without it.
    needed: bool,
}

impl Wanted {
    fn new(name: impl Into<String>, dims: &[usize]) -> Self {
        Self {
            name: name.into(),
            dims: dims.to_vec(),
            needed: true,
        }
    }
}

const TABLE: &str = "token_embd.weight";
const SCORES: &str = "output.weight";

/// The tensors of a decoder, layer by layer.
fn wanted(config: &DecoderConfig) -> impl Iterator<Item = Wanted> {
    let (width, dim) = (config.width, config.head_dim);
    let scores = (config.tied != Some(true)).then(|| Wanted {
        needed: config.tied == Some(false),
        ..Wanted::new(SCORES, &[config.vocabulary, width])
    });
    let ends = [
        Wanted::new(TABLE, &[config.vocabulary, width]),
        Wanted::new("output_norm.weight", &[width]),
    ];
    let (all, shared) = (config.heads * dim, config.key_heads * dim);
    let [inputs, output, second] = config.biases;
    let matrices = [
        ("attn_q", all, width, inputs),
        ("attn_k", shared, width, inputs),
        ("attn_v", shared, width, inputs),
        ("attn_output", width, all, output),
        ("ffn_gate", config.hidden, width, second),
        ("ffn_up", config.hidden, width, second),
        ("ffn_down", width, config.hidden, second),
    ];
    let head_norms = config.family.head_norms;
    let mut norms = vec![("attn_norm", width), ("ffn_norm", width)];
    if head_norms {
        norms.extend([("attn_q_norm", dim), ("attn_k_norm", dim)]);
    }
    let layer = move |at: usize| {
        let matrices = matrices
            .into_iter()
            .flat_map(move |(name, out, within, bias)| {
                let bias = Wanted {
                    needed: bias,
                    ..Wanted::new(format!("blk.{at}.{name}.bias"), &[out])
                };
                [
                    Wanted::new(format!("blk.{at}.{name}.weight"), &[out, within]),
                    bias,
                ]
            });
        let norms = norms.clone().into_iter();
        let norms = norms
            .map(move |(name, width)| Wanted::new(format!("blk.{at}.{name}.weight"), &[width]));
        matrices.chain(norms)
    };
    let layers = (0..config.layers).flat_map(layer);
    ends.into_iter().chain(scores).chain(layers)
}

/// Tensors of a file that have the extents which they must have.
fn checked(file: &ModelFile, config: &DecoderConfig) -> Result<Vec<Wanted>, Error> {
    let mut all = Vec::new();
    for wanted in wanted(config) {
        match file.dims(&wanted.name) {
            Some(dims) if dims == wanted.dims => all.push(wanted),
            Some(dims) => {
                return Err(Error::WrongTensor {
                    name: file.name_of(&wanted.name),
                    expected: wanted.dims,
                    found: dims.to_vec(),
                });
            }
            None if wanted.needed => {
                let name = file.name_of(&wanted.name);
                return Err(Error::MissingTensor { name });
            }
            None => {}
        }
    }
    Ok(all)
}

/// Reads tensors.
struct Source<'a> {
    device: &'a Device,
    file: &'a ModelFile,
    dtype: DType,
    dequantise: bool,
}

impl Source<'_> {
    /// Bytes of a tensor's blocks, if it stays quantised.
    fn blocks(&self, wanted: &Wanted) -> Option<u64> {
        let stays = wanted.dims.len() == 2 && !self.dequantise;
        self.file.block_bytes(&wanted.name).filter(|_| stays)
    }

    /// Bytes of tensors on the device, and of what is there besides while they are loaded.
    fn bytes(&self, all: &[Wanted]) -> [u64; 2] {
        let elements = |wanted: &Wanted| -> u64 {
            let extents = wanted.dims.iter().map(|&extent| extent as u64);
            extents.fold(1, u64::saturating_mul)
        };
        let numbers = |wanted: &Wanted, bytes: usize| elements(wanted).saturating_mul(bytes as u64);
        let (mut total, mut widened) = (0u64, 0);
        for wanted in all {
            let bytes = self.blocks(wanted).unwrap_or_else(|| {
                if self.dtype != DType::F32 {
                    widened = widened.max(numbers(wanted, DType::F32.bytes()));
                }
                numbers(wanted, self.dtype.bytes())
            });
            total = total.saturating_add(bytes);
        }
        [total, widened]
    }

    fn load(&self, wanted: &Wanted) -> Result<Weight, Error> {
        if self.blocks(wanted).is_some() {
            return Ok(self.file.load_blocks(self.device, &wanted.name)?.into());
        }
        let tensor = self.file.load(self.device, &wanted.name)?;
        if tensor.dtype() == self.dtype {
            return Ok(tensor.into());
        }
        let tensor = tensor.to_dtype(self.dtype)?;
        // The values of the other dtype are not kept until the first pass.
        tensor.storage()?;
        Ok(tensor.into())
    }
}

/// What is to be loaded, by name.
struct Loader<'a> {
    source: Source<'a>,
    wanted: HashMap<String, Wanted>,
}

impl Loader<'_> {
    fn take(&mut self, name: &str) -> Result<Wanted, Error> {
        let wanted = self.wanted.remove(name);
        wanted.ok_or_else(|| Error::MissingTensor {
            name: name.to_owned(),
        })
    }

    fn weight(&mut self, name: &str) -> Result<Weight, Error> {
        let wanted = self.take(name)?;
        self.source.load(&wanted)
    }

    fn tensor(&mut self, name: &str) -> Result<Tensor, Error> {
        match self.weight(name)? {
            Weight::Plain(tensor) => Ok(tensor),
            Weight::Quantized(_) => {
                let text = format!("the tensor `{name}` as blocks");
                Err(Error::Unsupported(text))
            }
        }
    }

    fn linear(&mut self, name: &str) -> Result<Linear, Error> {
        let weight = self.weight(&format!("{name}.weight"))?;
        let bias = format!("{name}.bias");
        let bias = self.wanted.contains_key(&bias).then(|| self.tensor(&bias));
        Ok(Linear {
            weight,
            bias: bias.transpose()?,
        })
    }

    /// Layers over one input whose weights stay quantised and are of one format, as one; `None`, with nothing loaded, if not.
    fn joined_blocks<const N: usize>(
        &mut self,
        names: &[String; N],
    ) -> Result<Option<Linears<N>>, Error> {
        let weights = names.each_ref().map(|name| format!("{name}.weight"));
        let biases = names.each_ref().map(|name| format!("{name}.bias"));
        let blocks = |name: &String| {
            let wanted = self.wanted.get(name)?;
            self.source.blocks(wanted)?;
            self.source.file.block_format(name)
        };
        let first = weights.first().and_then(blocks);
        let like = weights.iter().all(|name| blocks(name) == first);
        let known = |name: &&String| self.wanted.contains_key(*name);
        let count = biases.iter().filter(known).count();
        if first.is_none() || !like || !(count == 0 || count == N) {
            return Ok(None);
        }
        let mut widths = [0; N];
        for (width, name) in widths.iter_mut().zip(&weights) {
            *width = self.take(name)?.dims.first().copied().unwrap_or(0);
        }
        let weight = (self.source.file)
            .load_joined_blocks(self.source.device, &weights.each_ref().map(|name| &**name))?;
        let mut all = Vec::new();
        if count == N {
            for name in &biases {
                all.push(self.tensor(name)?);
            }
        }
        let all: Vec<&Tensor> = all.iter().collect();
        let bias = (count == N).then(|| Tensor::concat(&all, 0));
        Ok(Some(Linears::Joined {
            layer: Linear {
                weight: weight.into(),
                bias: bias.transpose()?,
            },
            widths,
        }))
    }

    fn norm(&mut self, name: &str, eps: f32) -> Result<RmsNorm, Error> {
        let weight = self.tensor(&format!("{name}.weight"))?;
        Ok(RmsNorm { weight, eps })
    }

    fn layer(&mut self, config: &DecoderConfig, at: usize) -> Result<DecoderLayer, Error> {
        let name = |what: &str| format!("blk.{at}.{what}");
        let eps = config.eps;
        let norms = if config.family.head_norms {
            let q = self.norm(&name("attn_q_norm"), eps)?;
            Some([q, self.norm(&name("attn_k_norm"), eps)?])
        } else {
            None
        };
        let inputs = ["attn_q", "attn_k", "attn_v"].map(name);
        let qkv = match self.joined_blocks(&inputs)? {
            Some(joined) => joined,
            None => {
                let [q, k, v] = inputs.map(|name| self.linear(&name));
                Linears::joined([q?, k?, v?])?
            }
        };
        let inputs = ["ffn_gate", "ffn_up"].map(name);
        let gate_up = match self.joined_blocks(&inputs)? {
            Some(joined) => joined,
            None => {
                let [gate, up] = inputs.map(|name| self.linear(&name));
                Linears::joined([gate?, up?])?
            }
        };
        Ok(DecoderLayer {
            attention_norm: self.norm(&name("attn_norm"), eps)?,
            attention: CausalAttention {
                qkv,
                out: self.linear(&name("attn_output"))?,
                norms,
                heads: config.heads,
                key_heads: config.key_heads,
                interleaved: config.interleaved,
                window: config.window_of(at),
            },
            mlp_norm: self.norm(&name("ffn_norm"), eps)?,
            mlp: GatedMlp {
                gate_up,
                down: self.linear(&name("ffn_down"))?,
            },
        })
    }
}

/// The factors of a GGUF file that the frequencies of `pairs` are divided by.
fn factors(file: &GgufFile, name: &str, pairs: usize) -> Result<Vec<f64>, Error> {
    let factors = file.dequantise(name)?;
    if factors.len() != pairs {
        return Err(Error::WrongTensor {
            name: name.to_owned(),
            expected: vec![pairs],
            found: vec![factors.len()],
        });
    }
    Ok(factors.into_iter().map(f64::from).collect())
}

/// The rotary frequencies of a model: those of its metadata, and of the factors that a GGUF file may have.
fn frequencies(file: &ModelFile, config: &mut DecoderConfig) -> Result<Vec<f64>, Error> {
    const ALL: &str = "rope_freqs.weight";
    let pairs = config.rotary / 2;
    if let ModelFile::Gguf(file) = file
        && let RopeScaling::LongRope { short, long, .. } = &mut config.rope_scaling
    {
        let [of_short, of_long] = FACTORS;
        *short = factors(file, of_short, pairs)?;
        *long = factors(file, of_long, pairs)?;
    }
    let mut frequencies =
        (config.rope_scaling).frequencies(config.rope_base, config.rotary, config.context);
    if let ModelFile::Gguf(file) = file
        && file.head().tensor(ALL).is_some()
    {
        for (frequency, factor) in frequencies.iter_mut().zip(factors(file, ALL, pairs)?) {
            *frequency /= factor;
        }
    }
    Ok(frequencies)
}

pub(super) fn load(
    device: &Device,
    file: &ModelFile,
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
    let mut config = file.config()?;
    config.context = config.context.min(context.max(1));
    if config.vocabulary == 0 {
        let table = file.dims(TABLE).ok_or_else(|| Error::MissingTensor {
            name: file.name_of(TABLE),
        })?;
        config.vocabulary = table.first().copied().unwrap_or(0);
    }
    let all = checked(file, &config)?;
    let source = Source {
        device,
        file,
        dtype,
        dequantise,
    };
    let frequencies = frequencies(file, &mut config)?;
    // Cosine and sine.
    let tables = 2 * config.context as u64 * frequencies.len() as u64 * 4;
    let [weights, loading] = source.bytes(&all);
    let quantised = all.iter().any(|wanted| source.blocks(wanted).is_some());
    // What it takes to load them is free again when a sequence begins.
    let sequence = memory::of_caches(&config, 1, config.context, dtype)
        .saturating_add(memory::of_pass(&config, dtype, chunk(device), quantised));
    let besides = loading.max(sequence);
    let requested = weights.saturating_add(tables).saturating_add(besides);
    memory::check(device, requested)?;
    let wanted = all.into_iter().map(|wanted| (wanted.name.clone(), wanted));
    let mut loader = Loader {
        wanted: wanted.collect(),
        source,
    };
    let embedding = loader.weight(TABLE)?;
    let output = if loader.wanted.contains_key(SCORES) {
        loader.linear("output")?
    } else {
        Linear {
            weight: embedding.clone(),
            bias: None,
        }
    };
    let layers = (0..config.layers).map(|at| loader.layer(&config, at));
    Ok(Decoder {
        layers: layers.collect::<Result<_, _>>()?,
        norm: loader.norm("output_norm", config.eps)?,
        rope: rope_table(
            device,
            config.context,
            &frequencies,
            config.rope_scaling.amplitude(),
        )?,
        device: device.clone(),
        dtype,
        embedding,
        output,
        config,
    })
}
