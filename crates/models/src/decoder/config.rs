//! What a file says about a decoder.

use crate::Error;
use crate::gguf::{Gguf, Value};

/// What families of decoders differ in, beyond numbers of the metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Family {
    /// `general.architecture`.
    pub name: &'static str,
    /// Whether rotated pairs are neighbours in the file's order of rows.
    pub interleaved: bool,
    /// Whether queries, keys and values have biases.
    pub biases: bool,
    /// Whether each head of queries and keys has a norm.
    pub head_norms: bool,
}

/// All families. Mistral and SmolLM2 say that they are `llama`.
const FAMILIES: [Family; 3] = [
    Family {
        name: "llama",
        interleaved: true,
        biases: false,
        head_norms: false,
    },
    Family {
        name: "qwen2",
        interleaved: false,
        biases: true,
        head_norms: false,
    },
    Family {
        name: "qwen3",
        interleaved: false,
        biases: false,
        head_norms: true,
    },
];

/// The extents of a decoder.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct DecoderConfig {
    /// What its family differs in.
    pub family: Family,
    /// Layers.
    pub layers: usize,
    /// Elements of a token's activation.
    pub width: usize,
    /// Elements between the two products of the second half.
    pub hidden: usize,
    /// Heads of queries.
    pub heads: usize,
    /// Heads of keys and values.
    pub key_heads: usize,
    /// Elements of a head.
    pub head_dim: usize,
    /// Elements of a head that are rotated.
    pub rotary: usize,
    /// The base of rotary frequencies.
    pub rope_base: f64,
    /// What positions are divided by.
    pub rope_scale: f64,
    /// Added to means of squares.
    pub eps: f32,
    /// Tokens of a sequence, at most.
    pub context: usize,
    /// How many positions before its own a token sees.
    pub window: Option<u32>,
    /// Tokens of the vocabulary.
    pub vocabulary: usize,
}

impl DecoderConfig {
    /// The configuration that a file's metadata says.
    ///
    /// # Errors
    /// If the architecture is not known, or a key is missing or has a value that no decoder has.
    pub fn from_gguf(head: &Gguf) -> Result<Self, Error> {
        let name = head.get("general.architecture").and_then(Value::as_str);
        let name = name.ok_or_else(|| missing("general.architecture"))?;
        let family = FAMILIES.into_iter().find(|family| family.name == name);
        let family = family.ok_or_else(|| Error::UnknownArchitecture(name.to_owned()))?;
        let key = |key: &str| format!("{name}.{key}");
        let count = |wanted: &str| -> Result<Option<usize>, Error> {
            let key = key(wanted);
            let Some(value) = head.get(&key) else {
                return Ok(None);
            };
            // Beyond this no product of extents is a tensor.
            let count = value.as_u64().filter(|count| (1..=1 << 24).contains(count));
            match count.and_then(|count| usize::try_from(count).ok()) {
                Some(count) => Ok(Some(count)),
                None => Err(wrong(key, "an integer from 1 to 2^24")),
            }
        };
        let needed = |wanted: &str| count(wanted)?.ok_or_else(|| missing(&key(wanted)));
        let number = |wanted: &str| -> Result<Option<f64>, Error> {
            let key = key(wanted);
            let Some(value) = head.get(&key) else {
                return Ok(None);
            };
            match value
                .as_f64()
                .filter(|number| number.is_finite() && *number > 0.0)
            {
                Some(number) => Ok(Some(number)),
                None => Err(wrong(key, "a positive number")),
            }
        };
        let (width, heads) = (needed("embedding_length")?, needed("attention.head_count")?);
        let key_heads = count("attention.head_count_kv")?.unwrap_or(heads);
        let head_dim = count("attention.key_length")?.unwrap_or(width / heads);
        if heads % key_heads != 0 || head_dim == 0 {
            return Err(wrong(
                key("attention.head_count_kv"),
                "a divisor of the number of heads",
            ));
        }
        let rotary = count("rope.dimension_count")?.unwrap_or(head_dim);
        if rotary > head_dim || !rotary.is_multiple_of(2) {
            return Err(wrong(
                key("rope.dimension_count"),
                "an even number up to the elements of a head",
            ));
        }
        let scaling = head.get(&key("rope.scaling.type")).and_then(Value::as_str);
        let rope_scale = match scaling.unwrap_or("none") {
            "none" => 1.0,
            "linear" => number("rope.scaling.factor")?.unwrap_or(1.0),
            other => {
                return Err(Error::Unsupported(format!(
                    "the scaling `{other}` of rotary positions"
                )));
            }
        };
        if head
            .get(&key("expert_count"))
            .and_then(Value::as_u64)
            .unwrap_or(0)
            > 0
        {
            return Err(Error::Unsupported("a mixture of experts".into()));
        }
        let window = head
            .get(&key("attention.sliding_window"))
            .and_then(Value::as_u64);
        Ok(Self {
            family,
            layers: needed("block_count")?,
            width,
            hidden: needed("feed_forward_length")?,
            heads,
            key_heads,
            head_dim,
            rotary,
            rope_base: number("rope.freq_base")?.unwrap_or(10_000.0),
            rope_scale,
            eps: number("attention.layer_norm_rms_epsilon")?.unwrap_or(1e-5) as f32,
            context: needed("context_length")?,
            // A window of w tokens has its own among them.
            window: window.and_then(|window| u32::try_from(window.checked_sub(1)?).ok()),
            vocabulary: 0,
        })
    }
}

fn missing(key: &str) -> Error {
    Error::MissingMetadata(key.to_owned())
}

fn wrong(key: String, expected: &'static str) -> Error {
    Error::WrongMetadata { key, expected }
}
