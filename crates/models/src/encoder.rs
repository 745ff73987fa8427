//! Encoders of the BERT family: sentences to vectors whose products say how alike they are.

use serde_json::Value;
use ziggurat_tensor::{Device, Error as TensorError, Tensor, io::SafetensorsFile};

use crate::blocks::{EncoderLayer, LayerNorm, Mlp, SelfAttention};
use crate::load::{Loader, Tensors as _};
use crate::{Error, Tokenizer, memory};

/// The extents of an encoder, as its `config.json` says them.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct EncoderConfig {
    /// Layers.
    pub layers: usize,
    /// Elements of a token's activation.
    pub width: usize,
    /// Elements between the two products of the second half.
    pub hidden: usize,
    /// Heads.
    pub heads: usize,
    /// Tokens of a sentence, at most.
    pub positions: usize,
    /// Tokens of the vocabulary.
    pub vocabulary: usize,
    /// Kinds of sentences.
    pub kinds: usize,
    /// Added to variances.
    pub eps: f32,
}

impl EncoderConfig {
    /// The configuration in a `config.json`.
    ///
    /// # Errors
    /// If it is no JSON, lacks a number, or is that of a model that is none of this family.
    pub fn from_json(text: &[u8]) -> Result<Self, Error> {
        let json: Value = serde_json::from_slice(text)
            .map_err(|error| Error::Unsupported(format!("`config.json` is not valid ({error})")))?;
        let words = [
            ("model_type", "bert"),
            ("hidden_act", "gelu"),
            ("position_embedding_type", "absolute"),
        ];
        for (key, wanted) in words {
            let found = json
                .get(key)
                .map_or(Some(wanted), Value::as_str)
                .unwrap_or_default();
            if found != wanted {
                return Err(Error::Unsupported(format!(
                    "`{key}` of `{found}`, where `{wanted}` is known"
                )));
            }
        }
        let count = |key: &str| {
            let value = json
                .get(key)
                .ok_or_else(|| Error::MissingMetadata(key.to_owned()))?;
            let count = value.as_u64().filter(|count| (1..=1 << 24).contains(count));
            count
                .and_then(|count| usize::try_from(count).ok())
                .ok_or_else(|| Error::WrongMetadata {
                    key: key.to_owned(),
                    expected: "an integer from 1 to 2^24",
                })
        };
        let (width, heads) = (count("hidden_size")?, count("num_attention_heads")?);
        if !width.is_multiple_of(heads) {
            return Err(Error::WrongMetadata {
                key: "num_attention_heads".into(),
                expected: "a divisor of `hidden_size`",
            });
        }
        Ok(Self {
            layers: count("num_hidden_layers")?,
            width,
            hidden: count("intermediate_size")?,
            heads,
            positions: count("max_position_embeddings")?,
            vocabulary: count("vocab_size")?,
            kinds: count("type_vocab_size")?,
            eps: json
                .get("layer_norm_eps")
                .and_then(Value::as_f64)
                .unwrap_or(1e-12) as f32,
        })
    }
}

/// An encoder with its tokenizer.
///
/// ```no_run
/// use ziggurat_models::SentenceEncoder;
/// use ziggurat_tensor::{Device, DeviceOptions};
///
/// let device = Device::open_blocking(DeviceOptions::default())?;
/// let encoder = SentenceEncoder::open(&device, "all-MiniLM-L6-v2")?;
/// let vectors = encoder.embed(&["A man is eating food.", "A man is eating bread."])?;
/// let alike = vectors.matmul(&vectors.t()?)?;
/// println!("{alike}");
/// # Ok::<(), ziggurat_models::Error>(())
/// ```
#[derive(Debug)]
pub struct SentenceEncoder {
    config: EncoderConfig,
    tokenizer: Tokenizer,
    device: Device,
    words: Tensor,
    positions: Tensor,
    kind: Tensor,
    norm: LayerNorm,
    layers: Vec<EncoderLayer>,
}

impl SentenceEncoder {
    /// Loads the encoder of a folder with `config.json`, `tokenizer.json` and `model.safetensors`, as f32.
    ///
    /// # Errors
    /// If a file cannot be read or is malformed, a tensor is missing or has other extents, or the device has no memory.
    pub fn open(device: &Device, folder: impl AsRef<std::path::Path>) -> Result<Self, Error> {
        let folder = folder.as_ref();
        let read = |name: &str| {
            let path = folder.join(name);
            std::fs::read(&path).map_err(|source| Error::Io {
                action: "read",
                path,
                source,
            })
        };
        let config = EncoderConfig::from_json(&read("config.json")?)?;
        let tokenizer = Tokenizer::from_json(&read("tokenizer.json")?)?;
        if tokenizer.len() > config.vocabulary {
            let (tokens, vocabulary) = (tokenizer.len(), config.vocabulary);
            return Err(Error::Tokenizer(format!(
                "it has {tokens} tokens, and the model has {vocabulary}"
            )));
        }
        let file = SafetensorsFile::open(folder.join("model.safetensors"))?;
        let source = Loader {
            device,
            file: &file,
            // Files of classifiers have the encoder under a name of its own.
            prefix: "bert.",
            eps: config.eps,
        };
        memory::check(device, file.bytes())?;
        let width = config.width;
        let table = |name: &str, rows: usize| {
            source.tensor(
                &format!("embeddings.{name}_embeddings.weight"),
                &[rows, width],
            )
        };
        Ok(Self {
            words: table("word", config.vocabulary)?,
            positions: table("position", config.positions)?,
            kind: table("token_type", config.kinds)?.narrow(0, 0, 1)?,
            norm: source.norm("embeddings.LayerNorm", width)?,
            layers: (0..config.layers)
                .map(|at| layer(&source, at, &config))
                .collect::<Result<_, _>>()?,
            device: device.clone(),
            tokenizer,
            config,
        })
    }

    /// The extents.
    pub const fn config(&self) -> &EncoderConfig {
        &self.config
    }

    /// Vectors of length 1, f32 `[sentences, width]`: the mean over each sentence's tokens. The sentences go through the
    /// model together, padded to the longest.
    ///
    /// # Errors
    /// If there are no sentences, one has more tokens than the model has positions, or the device fails.
    pub fn embed(&self, sentences: &[&str]) -> Result<Tensor, Error> {
        let tokens = sentences
            .iter()
            .map(|text| self.tokenizer.encode_with_specials(text));
        let tokens = tokens.collect::<Result<Vec<_>, _>>()?;
        let longest = tokens.iter().map(Vec::len).max().unwrap_or(0);
        if longest == 0 || tokens.iter().any(Vec::is_empty) {
            return Err(Error::NoTokens);
        }
        if longest > self.config.positions {
            let (needed, limit) = (longest, self.config.positions);
            return Err(Error::ContextFull { needed, limit });
        }
        let batch = tokens.len();
        let (mut ids, mut shares) = (Vec::new(), Vec::new());
        for sentence in &tokens {
            let share = 1.0 / sentence.len() as f32;
            let padding = longest - sentence.len();
            ids.extend(sentence.iter().map(|token| token.cast_signed()));
            ids.extend(std::iter::repeat_n(0, padding));
            shares.extend(std::iter::repeat_n(share, sentence.len()));
            shares.extend(std::iter::repeat_n(0.0, padding));
        }
        let lengths: Vec<i32> = tokens
            .iter()
            .map(|sentence| sentence.len() as i32)
            .collect();
        let ids = Tensor::from_slice(&self.device, &ids, [batch, longest])?;
        let lengths = Tensor::from_slice(&self.device, &lengths, [batch])?;
        let shares = Tensor::from_slice(&self.device, &shares, [batch, 1, longest])?;
        let hidden = self.forward(&ids, &lengths)?;
        // What stands behind a sentence has no share in its mean.
        let mean = shares.matmul(&hidden)?.squeeze_axis(1)?;
        Ok(mean.normalize(2.0, [1], 1e-12)?)
    }

    /// Activations `[batch, length, width]` of tokens, i32 `[batch, length]`, of which so many count in each row, i32
    /// `[batch]`. Rows behind these are computed too, and mean nothing.
    ///
    /// # Errors
    /// If the extents do not fit.
    pub fn forward(&self, tokens: &Tensor, lengths: &Tensor) -> Result<Tensor, TensorError> {
        let length = tokens.dims().last().copied().unwrap_or(0);
        let places = self.positions.narrow(0, 0, length)?.add(&self.kind)?;
        let mut x = self
            .norm
            .forward(&self.words.embedding(tokens)?.add(&places)?)?;
        for layer in &self.layers {
            x = layer.forward(&x, Some(lengths))?;
        }
        Ok(x)
    }
}

fn layer(source: &Loader<'_>, at: usize, config: &EncoderConfig) -> Result<EncoderLayer, Error> {
    let name = |what: &str| format!("encoder.layer.{at}.{what}");
    let (width, hidden) = (config.width, config.hidden);
    Ok(EncoderLayer {
        attention: SelfAttention {
            q: source.linear(&name("attention.self.query"), width, width)?,
            k: source.linear(&name("attention.self.key"), width, width)?,
            v: source.linear(&name("attention.self.value"), width, width)?,
            out: source.linear(&name("attention.output.dense"), width, width)?,
            heads: config.heads,
        },
        attention_norm: source.norm(&name("attention.output.LayerNorm"), width)?,
        mlp: Mlp {
            up: source.linear(&name("intermediate.dense"), hidden, width)?,
            down: source.linear(&name("output.dense"), width, hidden)?,
        },
        mlp_norm: source.norm(&name("output.LayerNorm"), width)?,
        norm_first: false,
    })
}
