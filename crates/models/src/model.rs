//! A language model from a file: tokenizer, decoder and template together.

#[cfg(not(target_arch = "wasm32"))]
use std::path::Path;
use std::sync::Arc;

use ziggurat_tensor::{DType, Device};

#[cfg(feature = "chat")]
use crate::chat::{ChatTemplate, Message};
use crate::gguf::{Gguf, GgufFile, Value};
use crate::{Decoder, Error, GenerateOptions, Generation, Tokenizer};

/// How a model is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadOptions {
    /// The dtype of activations and caches, and of weights that are not quantised: f32, or f16 for half of the memory.
    pub dtype: DType,
    /// Tokens of a sequence that there is room for, if the model's context is longer.
    pub context: usize,
    /// Whether quantised weights are made numbers of the dtype when they are loaded. That takes up to eight times the memory, and
    /// long prompts go through the model faster.
    pub dequantise: bool,
}

impl Default for LoadOptions {
    fn default() -> Self {
        Self {
            dtype: DType::F32,
            context: 4096,
            dequantise: false,
        }
    }
}

/// A language model.
///
/// ```no_run
/// use ziggurat_models::{GenerateOptions, Model};
///
/// let model = Model::open("model.gguf")?;
/// let options = GenerateOptions { max_tokens: Some(100), ..GenerateOptions::default() };
/// for piece in model.generate("Once upon a time", &options)? {
///     print!("{}", piece?.text);
/// }
/// # Ok::<(), ziggurat_models::Error>(())
/// ```
#[derive(Debug)]
pub struct Model {
    decoder: Arc<Decoder>,
    tokenizer: Arc<Tokenizer>,
    ends: Vec<u32>,
    #[cfg(feature = "chat")]
    template: Option<ChatTemplate>,
}

impl Model {
    /// Opens a GGUF file on the device that [`ziggurat_tensor::DeviceOptions`] choose by themselves.
    ///
    /// # Errors
    /// As [`Model::load`], or if no device can be opened or the file cannot be read.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let file = GgufFile::open(path)?;
        let device = Device::open_blocking(ziggurat_tensor::DeviceOptions::default())?;
        Self::load(&device, &file, LoadOptions::default())
    }

    /// Loads the model of a file onto a device.
    ///
    /// # Errors
    /// If the file has no model that this crate knows, is malformed, or the device has no memory.
    pub fn load(device: &Device, file: &GgufFile, options: LoadOptions) -> Result<Self, Error> {
        let head = file.head();
        let tokenizer = Tokenizer::from_gguf(head)?;
        #[cfg(feature = "chat")]
        let template = template(head, &tokenizer)?;
        let decoder = Decoder::load(device, file, &options)?;
        let vocabulary = decoder.config().vocabulary;
        if tokenizer.len() > vocabulary {
            let text = format!(
                "it has {} tokens, and the model has {vocabulary}",
                tokenizer.len()
            );
            return Err(Error::Tokenizer(text));
        }
        Ok(Self {
            decoder: Arc::new(decoder),
            ends: ends(head, &tokenizer),
            tokenizer: Arc::new(tokenizer),
            #[cfg(feature = "chat")]
            template,
        })
    }

    /// The decoder.
    pub const fn decoder(&self) -> &Arc<Decoder> {
        &self.decoder
    }

    /// The tokenizer.
    pub fn tokenizer(&self) -> &Tokenizer {
        &self.tokenizer
    }

    /// What follows a prompt: an iterator of pieces, each of which is computed when it is asked for. Names of special tokens
    /// in the prompt are these tokens. To cancel, drop it.
    ///
    /// # Errors
    /// If the prompt has no tokens or more than there is room for, an option is out of its range, or the device has no memory.
    pub fn generate(&self, prompt: &str, options: &GenerateOptions) -> Result<Generation, Error> {
        let tokens = self.tokenizer.encode_with_specials(prompt)?;
        Generation::new(&self.decoder, &self.tokenizer, &self.ends, tokens, options)
    }

    /// The answer to messages, put together by the model's template.
    ///
    /// # Errors
    /// As [`Model::generate`], or if the file has no template or it refuses the messages.
    #[cfg(feature = "chat")]
    pub fn chat(
        &self,
        messages: &[Message],
        options: &GenerateOptions,
    ) -> Result<Generation, Error> {
        let template = self.template.as_ref();
        let template = template.ok_or_else(|| Error::MissingMetadata(TEMPLATE.to_owned()))?;
        // The template writes the tokens around a text itself.
        let tokens = self.tokenizer.encode(&template.render(messages)?)?;
        Generation::new(&self.decoder, &self.tokenizer, &self.ends, tokens, options)
    }
}

#[cfg(feature = "chat")]
const TEMPLATE: &str = "tokenizer.chat_template";

#[cfg(feature = "chat")]
fn template(head: &Gguf, tokenizer: &Tokenizer) -> Result<Option<ChatTemplate>, Error> {
    let Some(source) = head.get(TEMPLATE).and_then(Value::as_str) else {
        return Ok(None);
    };
    let name = |key: &str| {
        let token = head
            .get(&format!("tokenizer.ggml.{key}"))
            .and_then(Value::as_u64);
        let token = token.and_then(|token| u32::try_from(token).ok());
        let bytes = token.and_then(|token| tokenizer.bytes(token));
        bytes.map_or_else(String::new, |bytes| {
            String::from_utf8_lossy(bytes).into_owned()
        })
    };
    ChatTemplate::new(source, &name("bos_token_id"), &name("eos_token_id")).map(Some)
}

/// The tokens that end a message.
fn ends(head: &Gguf, tokenizer: &Tokenizer) -> Vec<u32> {
    let keys = ["eos_token_id", "eot_token_id"];
    let of_keys = keys.into_iter().filter_map(|key| {
        let token = head.get(&format!("tokenizer.ggml.{key}"))?.as_u64()?;
        u32::try_from(token).ok()
    });
    let names = [
        "<|im_end|>",
        "<|eot_id|>",
        "<|end_of_text|>",
        "<|endoftext|>",
    ];
    let mut ends: Vec<u32> = of_keys
        .chain(names.iter().filter_map(|name| tokenizer.token(name)))
        .collect();
    ends.sort_unstable();
    ends.dedup();
    ends
}
