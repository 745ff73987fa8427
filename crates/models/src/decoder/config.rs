//! What a file says about a decoder.

pub(super) mod scaling;

use serde_json::Value as Json;

use super::family::{Family, WindowRule};
use super::fields::{Fields, Key};
use crate::Error;
use crate::blocks::RopeScaling;
use crate::gguf::{Gguf, Value};

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
    /// Whether rotated pairs are neighbours in the order of rows that the file has, or halves of a head.
    pub interleaved: bool,
    /// The base of rotary frequencies.
    pub rope_base: f64,
    /// How they are stretched for longer contexts.
    pub rope_scaling: RopeScaling,
    /// Added to means of squares.
    pub eps: f32,
    /// Tokens of a sequence, at most.
    pub context: usize,
    /// How many positions before its own a token sees in layers that have a window.
    pub window: Option<u32>,
    /// Which layers these are.
    pub windowed: Windowed,
    /// Whether the table of embeddings says the scores too. `None`: if the file has no other.
    pub tied: Option<bool>,
    /// Which products must have biases: of queries, keys and values, of the attention's output, of the second half. What other
    /// biases a file has is used too.
    pub biases: [bool; 3],
    /// Tokens of the vocabulary; 0 where only the table of embeddings says it.
    pub vocabulary: usize,
}

/// Which layers of a decoder have a sliding window.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Windowed {
    /// This one and all behind it.
    From(usize),
    /// Those that are true, one of each layer.
    Listed(Vec<bool>),
}

const WIDTH: Key = ["embedding_length", "hidden_size"];
const HEADS: Key = ["attention.head_count", "num_attention_heads"];
const KEY_HEADS: Key = ["attention.head_count_kv", "num_key_value_heads"];
const ROTARY: Key = ["rope.dimension_count", "partial_rotary_factor"];
const LAYERS: Key = ["block_count", "num_hidden_layers"];
const CONTEXT: Key = ["context_length", "max_position_embeddings"];

impl DecoderConfig {
    /// The configuration that a GGUF file's metadata says. Factors of LongRoPE are tensors: their lists are empty here.
    ///
    /// # Errors
    /// If the architecture is not known, or a key is missing or has a value that no decoder has.
    pub fn from_gguf(head: &Gguf) -> Result<Self, Error> {
        const KEY: &str = "general.architecture";
        let name = head.get(KEY).and_then(Value::as_str);
        let family = family(name, KEY)?;
        let fields = Fields::Gguf(head, family.name);
        let experts = head.get(&format!("{}.expert_count", family.name));
        if experts.and_then(Value::as_u64).unwrap_or(0) > 0 {
            return Err(Error::Unsupported("a mixture of experts".into()));
        }
        let mut config = Self::read(family, fields)?;
        config.interleaved = family.interleaved;
        let window = head.get(&fields.name(["attention.sliding_window", ""]));
        config.window = window.and_then(Value::as_u64).and_then(before);
        Ok(config)
    }

    /// The configuration in a `config.json`.
    ///
    /// # Errors
    /// If it is no JSON, the architecture is not known, or a key is missing or has a value that no decoder has.
    pub fn from_json(text: &[u8]) -> Result<Self, Error> {
        let json: Json = serde_json::from_slice(text)
            .map_err(|error| Error::Unsupported(format!("`config.json` is not valid ({error})")))?;
        let fields = Fields::Json(&json);
        let family = family(fields.text(["", "model_type"]), "model_type")?;
        let act = fields.text(["", "hidden_act"]).unwrap_or("silu");
        if act != "silu" {
            let text = format!("`hidden_act` of `{act}`, where `silu` is known");
            return Err(Error::Unsupported(text));
        }
        let mut config = Self::read(family, fields)?;
        config.vocabulary = fields.needed(["", "vocab_size"])?;
        config.tied = Some(fields.flag(["", "tie_word_embeddings"]));
        let [attention, second] = ["attention_bias", "mlp_bias"].map(|key| fields.flag(["", key]));
        config.biases = [family.biases || attention, attention, second];
        (config.window, config.windowed) = windows(&json, fields, family, config.layers)?;
        Ok(config)
    }

    /// What both kinds of files say.
    fn read(family: Family, fields: Fields<'_>) -> Result<Self, Error> {
        let (width, heads) = (fields.needed(WIDTH)?, fields.needed(HEADS)?);
        let key_heads = fields.count(KEY_HEADS)?.unwrap_or(heads);
        let head_dim = fields.count(["attention.key_length", "head_dim"])?;
        let head_dim = head_dim.unwrap_or(width / heads);
        if heads % key_heads != 0 || head_dim == 0 {
            return Err(fields.wrong(KEY_HEADS, "a divisor of the number of heads"));
        }
        let rotary = match fields {
            Fields::Gguf(..) => fields.count(ROTARY)?.unwrap_or(head_dim),
            Fields::Json(_) => {
                let part = fields.number(ROTARY)?.unwrap_or(1.0);
                (head_dim as f64 * part) as usize
            }
        };
        if rotary == 0 || rotary > head_dim || !rotary.is_multiple_of(2) {
            let rule = "an even number up to the elements of a head";
            return Err(fields.wrong(ROTARY, rule));
        }
        let eps = fields.number(["attention.layer_norm_rms_epsilon", "rms_norm_eps"])?;
        let usual_eps = match fields {
            Fields::Gguf(..) => 1e-5,
            Fields::Json(_) => 1e-6,
        };
        let context = fields.needed(CONTEXT)?;
        let base = match fields.number(["rope.freq_base", "rope_theta"])? {
            None => fields.number(["rope.freq_base", "rope_parameters/rope_theta"])?,
            base => base,
        };
        Ok(Self {
            family,
            layers: fields.needed(LAYERS)?,
            width,
            hidden: fields.needed(["feed_forward_length", "intermediate_size"])?,
            heads,
            key_heads,
            head_dim,
            rotary,
            interleaved: false,
            rope_base: base.unwrap_or(10_000.0),
            rope_scaling: scaling::scaling(fields, context, rotary)?,
            eps: eps.unwrap_or(usual_eps) as f32,
            context,
            window: None,
            windowed: Windowed::From(0),
            tied: None,
            biases: [family.biases, false, false],
            vocabulary: 0,
        })
    }

    /// How many positions before its own a token sees in a layer; all without.
    pub fn window_of(&self, layer: usize) -> Option<u32> {
        let has = match &self.windowed {
            Windowed::From(first) => layer >= *first,
            Windowed::Listed(layers) => layers.get(layer).copied().unwrap_or(false),
        };
        self.window.filter(|_| has)
    }
}

fn family(name: Option<&str>, key: &str) -> Result<Family, Error> {
    let name = name.ok_or_else(|| Error::MissingMetadata(key.to_owned()))?;
    Family::named(name).ok_or_else(|| Error::UnknownArchitecture(name.to_owned()))
}

/// A window of w tokens has its own among them; none of 0 tokens.
fn before(window: u64) -> Option<u32> {
    u32::try_from(window.checked_sub(1)?).ok()
}

/// The sliding window of a `config.json`, and the layers that have it.
fn windows(
    json: &Json,
    fields: Fields<'_>,
    family: Family,
    layers: usize,
) -> Result<(Option<u32>, Windowed), Error> {
    let all = Windowed::From(0);
    let said = fields.count(["", "sliding_window"])?;
    let said = said.map(|window| window as u64);
    let (window, from) = match family.window {
        WindowRule::Never => return Ok((None, all)),
        WindowRule::Always(usual) => {
            let is_said = json.get("sliding_window").is_some();
            (if is_said { said } else { Some(usual) }, all)
        }
        WindowRule::Asked if !fields.flag(["", "use_sliding_window"]) => return Ok((None, all)),
        WindowRule::Asked => {
            let first = json.get("max_window_layers").and_then(Json::as_u64);
            let first = usize::try_from(first.unwrap_or(28)).unwrap_or(usize::MAX);
            (said, Windowed::From(first))
        }
    };
    let Some(types) = json.get("layer_types").filter(|types| !types.is_null()) else {
        return Ok((window.and_then(before), from));
    };
    let kind = |kind: &Json| match kind.as_str() {
        Some("full_attention") => Some(false),
        Some("sliding_attention") => Some(true),
        _ => None,
    };
    let types = types.as_array().filter(|types| types.len() == layers);
    let types: Option<Vec<bool>> = types.and_then(|types| types.iter().map(kind).collect());
    let rule = "`full_attention` or `sliding_attention`, one of each layer";
    let types = types.ok_or_else(|| fields.wrong(["", "layer_types"], rule))?;
    Ok((window.and_then(before), Windowed::Listed(types)))
}
