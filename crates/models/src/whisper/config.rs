//! The extents of a Whisper, from the descriptions in the folder of its weights or from the weights themselves.

use serde_json::Value as Json;

use crate::Error;
use crate::audio::HOP;
use crate::ctranslate2::Ctranslate2File;
use crate::decoder::Fields;

/// The extents of one half of a Whisper.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WhisperHalf {
    /// Layers.
    pub layers: usize,
    /// Heads.
    pub heads: usize,
    /// Elements between the two products of the second half of a layer.
    pub hidden: usize,
    /// Positions: of the encoder 20 ms each, of the decoder tokens.
    pub positions: usize,
}

/// What is known about a Whisper besides its weights.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WhisperConfig {
    /// Bands of the spectrum.
    pub bands: usize,
    /// Elements of an activation.
    pub width: usize,
    /// The encoder.
    pub encoder: WhisperHalf,
    /// The decoder.
    pub decoder: WhisperHalf,
    /// Tokens of the vocabulary.
    pub vocabulary: usize,
    /// Tokens that are never written.
    pub suppressed: Vec<u32>,
    /// Tokens that a text does not begin with.
    pub suppressed_first: Vec<u32>,
    /// Whether it knows more languages than English.
    pub multilingual: bool,
    /// The latest timestamp that a window begins with, in steps of 20 ms.
    pub latest_start: usize,
}

/// What OpenAI's program takes for [`WhisperConfig::latest_start`]: one second.
const LATEST_START: usize = 50;
/// Models with as many tokens as this know more languages than English.
const MULTILINGUAL: usize = 51_865;

impl WhisperConfig {
    /// Samples at 16 kHz that the encoder hears at once: 480,000, which are 30 seconds, in all of OpenAI's models.
    pub const fn window(&self) -> usize {
        2 * HOP * self.encoder.positions
    }

    /// The configuration in a `config.json` of Hugging Face's programs, and in the `generation_config.json` in the same folder, or the
    /// first one again.
    ///
    /// # Errors
    /// If one is no JSON, a number is missing or wrong, or it is that of another model.
    pub fn from_json(config: &[u8], generation: &[u8]) -> Result<Self, Error> {
        let config = json("config.json", config)?;
        let generation = json("generation_config.json", generation)?;
        for (key, wanted) in [("model_type", "whisper"), ("activation_function", "gelu")] {
            let found = config.get(key).and_then(Json::as_str).unwrap_or_default();
            if found != wanted {
                let text = format!("`{key}` of `{found}`, where `{wanted}` is known");
                return Err(Error::Unsupported(text));
            }
        }
        let fields = Fields::Json(&config);
        if fields.flag(["", "scale_embedding"]) {
            return Err(Error::Unsupported("`scale_embedding`".to_owned()));
        }
        let count = |key| fields.needed(["", key]);
        let vocabulary = count("vocab_size")?;
        let this = Self {
            bands: count("num_mel_bins")?,
            width: count("d_model")?,
            encoder: WhisperHalf {
                layers: count("encoder_layers")?,
                heads: count("encoder_attention_heads")?,
                hidden: count("encoder_ffn_dim")?,
                positions: count("max_source_positions")?,
            },
            decoder: WhisperHalf {
                layers: count("decoder_layers")?,
                heads: count("decoder_attention_heads")?,
                hidden: count("decoder_ffn_dim")?,
                positions: count("max_target_positions")?,
            },
            suppressed: tokens(&generation, "suppress_tokens")?,
            suppressed_first: tokens(&generation, "begin_suppress_tokens")?,
            multilingual: generation
                .get("is_multilingual")
                .and_then(Json::as_bool)
                .unwrap_or(vocabulary >= MULTILINGUAL),
            latest_start: latest_start(&generation)?,
            vocabulary,
        };
        this.checked()
    }

    /// The configuration that follows from a file of CTranslate2, and the `config.json` in the same folder.
    ///
    /// # Errors
    /// If the layout is another model's, a tensor is missing or of another rank, or the JSON is not valid.
    pub fn from_ctranslate2(file: &Ctranslate2File, config: &[u8]) -> Result<Self, Error> {
        let config = json("config.json", config)?;
        let layout = (file.layout(), file.revision());
        if layout != ("WhisperSpec", 3) {
            let text = format!("the layout `{}`, revision {}", layout.0, layout.1);
            return Err(Error::Unsupported(text));
        }
        // Norms in front, the exact GELU, and embeddings as they are.
        for (key, wanted) in [("pre_norm", 1), ("activation", 3), ("scale_embeddings", 0)] {
            let found = file.integer(&format!("decoder/{key}"))?.unwrap_or(wanted);
            if found != wanted {
                let text = format!("`{key}` of {found}, where {wanted} is known");
                return Err(Error::Unsupported(text));
            }
        }
        let extent = |name: &str, axis: usize, rank: usize| match file.dims(name) {
            Some(dims) if dims.len() == rank => Ok(dims.get(axis).copied().unwrap_or(0)),
            Some(dims) => Err(Error::Unsupported(format!(
                "`{name}` of rank {}",
                dims.len()
            ))),
            None => Err(Error::MissingTensor {
                name: name.to_owned(),
            }),
        };
        let half = |side: &str| {
            let hidden = |at: usize| format!("{side}/layer_{at}/ffn/linear_0/weight");
            let heads = file.integer(&format!("{side}/num_heads"))?;
            let heads = heads.and_then(|heads| usize::try_from(heads).ok());
            Ok::<_, Error>(WhisperHalf {
                layers: (0..)
                    .take_while(|&at| file.dims(&hidden(at)).is_some())
                    .count(),
                heads: heads.ok_or_else(|| Error::MissingMetadata(format!("{side}/num_heads")))?,
                hidden: extent(&hidden(0), 0, 2)?,
                positions: extent(&format!("{side}/position_encodings/encodings"), 0, 2)?,
            })
        };
        let vocabulary = extent("decoder/embeddings/weight", 0, 2)?;
        let this = Self {
            bands: extent("encoder/conv1/weight", 1, 3)?,
            width: extent("encoder/conv1/weight", 0, 3)?,
            encoder: half("encoder")?,
            decoder: half("decoder")?,
            suppressed: tokens(&config, "suppress_ids")?,
            suppressed_first: tokens(&config, "suppress_ids_begin")?,
            multilingual: vocabulary >= MULTILINGUAL,
            latest_start: LATEST_START,
            vocabulary,
        };
        this.checked()
    }

    /// An error if heads do not divide the width.
    fn checked(self) -> Result<Self, Error> {
        for (half, key) in [
            (&self.encoder, "encoder_attention_heads"),
            (&self.decoder, "decoder_attention_heads"),
        ] {
            if half.heads == 0 || !self.width.is_multiple_of(half.heads) {
                return Err(Error::WrongMetadata {
                    key: key.to_owned(),
                    expected: "a divisor of the width",
                });
            }
        }
        Ok(self)
    }
}

fn json(name: &str, text: &[u8]) -> Result<Json, Error> {
    let json = serde_json::from_slice(text);
    json.map_err(|error| Error::Unsupported(format!("`{name}` is not valid ({error})")))
}

/// The limit of the first timestamp, if there is one.
fn latest_start(json: &Json) -> Result<usize, Error> {
    let key = "max_initial_timestamp_index";
    match json.get(key) {
        None => Ok(LATEST_START),
        Some(Json::Null) => Ok(usize::MAX),
        Some(number) => {
            let number = number
                .as_u64()
                .and_then(|number| usize::try_from(number).ok());
            number.ok_or_else(|| Error::WrongMetadata {
                key: key.to_owned(),
                expected: "a number of timestamps",
            })
        }
    }
}

/// A list of tokens, if there is one.
fn tokens(json: &Json, key: &str) -> Result<Vec<u32>, Error> {
    let Some(list) = json.get(key).filter(|list| !list.is_null()) else {
        return Ok(Vec::new());
    };
    let token = |json: &Json| u32::try_from(json.as_u64()?).ok();
    let all = list.as_array().map(|all| all.iter().map(token).collect());
    all.flatten().ok_or_else(|| Error::WrongMetadata {
        key: key.to_owned(),
        expected: "a list of tokens",
    })
}
