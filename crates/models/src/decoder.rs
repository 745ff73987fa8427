//! Decoders of the llama family: one program, and for each family a row of differences.
//!
//! Weights that a file quantises stay so on the device, and kernels decode them where they read them.

mod config;
mod family;
mod fields;
mod slots;
mod state;
mod weights;

pub use config::{DecoderConfig, Windowed};
pub use family::{Family, WindowRule};
pub use slots::DecoderSlots;
pub use state::DecoderState;

#[cfg(not(target_arch = "wasm32"))]
pub(crate) use fields::Fields;
pub(crate) use slots::chunk;

use ziggurat_tensor::{DType, Device, Error as TensorError, KvSlots, RopeTable, Tensor};

use crate::blocks::{DecoderLayer, Linear, Place, RmsNorm, Weight};
use crate::{Error, LoadOptions, ModelFile};

/// A decoder on a device: tokens in, scores of the next token out.
#[derive(Debug)]
pub struct Decoder {
    device: Device,
    config: DecoderConfig,
    dtype: DType,
    embedding: Weight,
    layers: Vec<DecoderLayer>,
    norm: RmsNorm,
    output: Linear,
    rope: RopeTable,
}

impl Decoder {
    /// Loads the weights of a file onto a device. There is room for sequences of up to so many tokens as the options say, or of the
    /// model's own context, if that is less.
    ///
    /// # Errors
    /// If the file's architecture is not known, metadata or a tensor is missing or has other extents than the metadata says,
    /// or the device has not enough memory.
    pub fn load(device: &Device, file: &ModelFile, options: &LoadOptions) -> Result<Self, Error> {
        weights::load(device, file, options)
    }

    /// What the file says about the model, with the context that there is room for.
    pub const fn config(&self) -> &DecoderConfig {
        &self.config
    }

    /// The device.
    pub const fn device(&self) -> &Device {
        &self.device
    }

    /// The dtype of activations and caches, and of weights that are not quantised.
    pub const fn dtype(&self) -> DType {
        self.dtype
    }

    /// An error if a token is not of the vocabulary.
    pub(crate) fn check_tokens(&self, tokens: &[u32]) -> Result<(), Error> {
        let vocabulary = self.config.vocabulary;
        let known = |token: u32| usize::try_from(token).is_ok_and(|token| token < vocabulary);
        match tokens.iter().find(|token| !known(**token)) {
            Some(&token) => Err(Error::UnknownToken { token, vocabulary }),
            None => Ok(()),
        }
    }

    /// Scores `[rows, length, vocabulary]` of what follows each of the tokens, i32 `[rows, length]`, or only the last of each row;
    /// they come behind those whose keys and values are in the caches.
    fn pass(
        &self,
        tokens: &Tensor,
        place: &Place<'_>,
        caches: &mut [KvSlots],
        last: bool,
    ) -> Result<Tensor, TensorError> {
        let mut x = self.embedding.embedding(tokens, self.dtype)?;
        for (layer, cache) in self.layers.iter().zip(caches) {
            x = layer.forward(&x, place, &self.rope, cache)?;
        }
        if last {
            let length = x.dims().get(1).copied().unwrap_or(1);
            x = x.narrow(1, length.saturating_sub(1), 1)?;
        }
        let scores = self.output.forward_behind(Some(&self.norm), &x)?;
        scores.to_dtype(DType::F32)
    }
}
