//! A language model from a file: tokenizer, decoder and template together.

#[cfg(not(target_arch = "wasm32"))]
use std::path::Path;
use std::sync::Arc;

use ziggurat_tensor::{DType, Device};

use crate::assets::Assets;
#[cfg(feature = "chat")]
use crate::chat::{ChatTemplate, Message};
use crate::sequence::Sequence;
use crate::{Decoder, Error, GenerateOptions, Generation, ModelFile, Tokenizer};

/// How a model is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadOptions {
    /// The dtype of activations and caches, and of weights that are not quantised: f32, or f16 for half of the memory.
    pub dtype: DType,
    /// Tokens of a sequence that there is room for, if the model's context is longer. A device that is known to have no memory for
    /// one such sequence and the weights is an error ([`Error::OutOfMemory`]).
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
///
/// A clone is another handle on the same model.
#[derive(Clone, Debug)]
pub struct Model {
    decoder: Arc<Decoder>,
    tokenizer: Arc<Tokenizer>,
    ends: Arc<[u32]>,
    #[cfg(feature = "chat")]
    template: Option<Arc<ChatTemplate>>,
}

impl Model {
    /// Opens a GGUF file, or a folder with safetensors ([`ModelFile::open`]), on the device that
    /// [`ziggurat_tensor::DeviceOptions`] choose by themselves.
    ///
    /// # Errors
    /// As [`Model::load`], or if no device can be opened or a file cannot be read.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let file = ModelFile::open(path)?;
        let device = Device::open_blocking(ziggurat_tensor::DeviceOptions::default())?;
        Self::load(&device, &file, LoadOptions::default())
    }

    /// Loads a model onto a device.
    ///
    /// # Errors
    /// If the file has no model that this crate knows, is malformed, or the device has not enough memory
    /// ([`Error::OutOfMemory`] where that is known before, and nothing is uploaded then).
    pub fn load(device: &Device, file: &ModelFile, options: LoadOptions) -> Result<Self, Error> {
        let assets = Assets::read(file)?;
        let tokens = assets.tokenizer.len();
        let decoder = Decoder::load(device, file, &options)?;
        let vocabulary = decoder.config().vocabulary;
        if tokens > vocabulary {
            let text = format!("it has {tokens} tokens, and the model has {vocabulary}");
            return Err(Error::Tokenizer(text));
        }
        Ok(Self {
            decoder: Arc::new(decoder),
            ends: assets.ends.into(),
            tokenizer: Arc::new(assets.tokenizer),
            #[cfg(feature = "chat")]
            template: assets.template.map(Arc::new),
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
        self.generation(self.prompt(prompt)?, options)
    }

    /// The tokens of a prompt.
    pub(crate) fn prompt(&self, prompt: &str) -> Result<Vec<u32>, Error> {
        self.tokenizer.encode_with_specials(prompt)
    }

    fn generation(&self, prompt: Vec<u32>, options: &GenerateOptions) -> Result<Generation, Error> {
        Generation::new(&self.decoder, &self.tokenizer, &self.ends, prompt, options)
    }

    /// The text of a sequence that begins with a prompt, in a context of so many tokens.
    pub(crate) fn sequence(
        &self,
        prompt: Vec<u32>,
        context: usize,
        options: &GenerateOptions,
    ) -> Result<Sequence, Error> {
        let (decoder, tokenizer) = (&self.decoder, &self.tokenizer);
        Sequence::new(decoder, tokenizer, &self.ends, prompt, context, options)
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
        self.generation(self.chat_prompt(messages)?, options)
    }

    /// The tokens of messages.
    #[cfg(feature = "chat")]
    pub(crate) fn chat_prompt(&self, messages: &[Message]) -> Result<Vec<u32>, Error> {
        let template = self.template.as_ref();
        let template =
            template.ok_or_else(|| Error::MissingMetadata("chat_template".to_owned()))?;
        // The template writes the tokens around a text itself.
        self.tokenizer.encode(&template.render(messages)?)
    }
}
