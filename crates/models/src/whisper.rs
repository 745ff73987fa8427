//! Whisper: speech to text.
//!
//! A window of 30 seconds becomes a spectrum, the encoder makes of it what is heard, and the decoder writes, token by token,
//! while it attends to that. All of it is computed on the device; a token is four bytes to the host, or with timestamps, whose rules
//! are the host's, the scores of the vocabulary.

mod config;
mod greedy;
mod halves;
mod languages;
mod names;
mod stamps;
mod transcript;

pub use config::{WhisperConfig, WhisperHalf};
pub use transcript::{Segment, Transcript};

use std::path::Path;

use ziggurat_tensor::io::SafetensorsFile;
use ziggurat_tensor::{Device, Pad, Tensor};

use crate::audio::{LogMel, Waveform};
use crate::ctranslate2::Ctranslate2File;
use crate::load::{Loader, Tensors};
use crate::{Error, Tokenizer, memory};
use greedy::Search;
use halves::{Decoder, Encoder};

/// What a text of speech is to be like.
#[derive(Clone, Debug, Default)]
pub struct TranscribeOptions {
    /// The language that is spoken, such as `de`. Models that know English alone take `en` or none; without one, others take the
    /// most probable one ([`Whisper::languages`]).
    pub language: Option<String>,
    /// The most tokens of a window; without, half as many as the decoder has positions.
    pub max_tokens: Option<usize>,
    /// Whether timestamps are written, too: [`Whisper::transcript`].
    pub timestamps: bool,
}

/// A Whisper on a device.
///
/// ```no_run
/// use ziggurat_models::audio::Waveform;
/// use ziggurat_models::{TranscribeOptions, Whisper};
/// use ziggurat_tensor::{Device, DeviceOptions};
///
/// let device = Device::open_blocking(DeviceOptions::default())?;
/// let whisper = Whisper::open(&device, "whisper-tiny.en")?;
/// # #[cfg(feature = "wav")]
/// let sound = Waveform::open_wav("speech.wav")?;
/// # #[cfg(not(feature = "wav"))]
/// # let sound = Waveform { samples: Vec::new(), rate: 16_000 };
/// println!("{}", whisper.transcribe(&sound, &TranscribeOptions::default())?);
/// # Ok::<(), ziggurat_models::Error>(())
/// ```
#[derive(Debug)]
pub struct Whisper {
    config: WhisperConfig,
    tokenizer: Tokenizer,
    device: Device,
    spectrum: LogMel,
    encoder: Encoder,
    decoder: Decoder,
    search: Search,
}

impl Whisper {
    /// Loads the model of a folder, as f32: `model.safetensors`, `config.json`, `tokenizer.json` and, if it is there,
    /// `generation_config.json`, as Hugging Face's programs keep them; or CTranslate2's `model.bin` with `config.json` and
    /// `tokenizer.json`.
    ///
    /// # Errors
    /// If a file cannot be read or is malformed, a tensor is missing or has other extents, the tokenizer is another model's, or
    /// the device has no memory.
    pub fn open(device: &Device, folder: impl AsRef<Path>) -> Result<Self, Error> {
        let folder = folder.as_ref();
        let read = |name: &str| {
            let path = folder.join(name);
            std::fs::read(&path).map_err(|source| Error::Io {
                action: "read",
                path,
                source,
            })
        };
        let description = read("config.json")?;
        let tokenizer = Tokenizer::from_json(&read("tokenizer.json")?)?;
        let binary = folder.join("model.bin");
        if binary.exists() {
            let file = Ctranslate2File::open(binary)?;
            let config = WhisperConfig::from_ctranslate2(&file, &description)?;
            return Self::load(device, &file, config, tokenizer);
        }
        let generation = match read("generation_config.json") {
            Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
                description.clone()
            }
            found => found?,
        };
        let config = WhisperConfig::from_json(&description, &generation)?;
        let file = SafetensorsFile::open(folder.join("model.safetensors"))?;
        Self::load(device, &file, config, tokenizer)
    }

    fn load(
        device: &Device,
        file: &dyn Tensors,
        config: WhisperConfig,
        tokenizer: Tokenizer,
    ) -> Result<Self, Error> {
        if tokenizer.len() > config.vocabulary {
            let (tokens, vocabulary) = (tokenizer.len(), config.vocabulary);
            return Err(Error::Tokenizer(format!(
                "it has {tokens} tokens, and the model has {vocabulary}"
            )));
        }
        memory::check(device, file.bytes().saturating_add(bytes_of_pass(&config)))?;
        let source = Loader {
            device,
            file,
            prefix: "model.",
            eps: 1e-5,
        };
        Ok(Self {
            spectrum: LogMel::new(device, config.bands)?,
            encoder: Encoder::load(&source, &config)?,
            decoder: Decoder::load(&source, &config)?,
            search: Search::new(device, &config, &tokenizer)?,
            device: device.clone(),
            tokenizer,
            config,
        })
    }

    /// The extents.
    pub const fn config(&self) -> &WhisperConfig {
        &self.config
    }

    /// The tokenizer.
    pub const fn tokenizer(&self) -> &Tokenizer {
        &self.tokenizer
    }

    /// What the encoder hears in samples at 16 kHz, f32 `[n]`: f32 `[1, positions, width]`. Silence follows up to the length of
    /// a window.
    ///
    /// # Errors
    /// If there are more samples than a window has ([`WhisperConfig::window`]), or they are not of rank 1.
    pub fn encode(&self, samples: &Tensor) -> Result<Tensor, Error> {
        let window = self.config.window();
        let silence = window.checked_sub(samples.len()).ok_or_else(|| {
            let (samples, rule) = (samples.len(), "a window must have no more samples than");
            Error::Audio(format!("{rule} {window}: it has {samples}"))
        })?;
        let padded = samples.pad([[0, silence.cast_signed()]], Pad::Constant, 0.0)?;
        let spectrum = self.spectrum.forward(&padded)?.unsqueeze(0)?;
        let heard = self.encoder.forward(&spectrum)?;
        // Several layers read it.
        heard.storage()?;
        Ok(heard)
    }

    /// The text of speech: [`Whisper::transcript`] without times.
    ///
    /// # Errors
    /// As [`Whisper::transcript`].
    pub fn transcribe(
        &self,
        sound: &Waveform,
        options: &TranscribeOptions,
    ) -> Result<String, Error> {
        Ok(self.transcript(sound, options)?.text())
    }
}

/// Bytes of what is there between kernels while a window is heard: at most four activations and the greater half of a layer; and
/// keys and values of what is heard, and of tokens.
fn bytes_of_pass(config: &WhisperConfig) -> u64 {
    let product = |extents: &[usize]| memory::product(extents).saturating_mul(4);
    let (encoder, decoder, width) = (&config.encoder, &config.decoder, config.width);
    let row = width
        .saturating_mul(8)
        .saturating_add(encoder.hidden.saturating_mul(2));
    let kept = encoder.positions.saturating_add(decoder.positions);
    product(&[encoder.positions, row])
        .saturating_add(product(&[2, decoder.layers, kept, width]))
        .saturating_add(product(&[3, config.vocabulary]))
}
