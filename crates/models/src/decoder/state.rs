//! What a decoder remembers of one sequence.

use std::sync::Arc;

#[cfg(not(target_arch = "wasm32"))]
use ziggurat_tensor::Device;
use ziggurat_tensor::{DType, Tensor};

use super::{Decoder, DecoderSlots};
use crate::Error;

/// A sequence under way: [`DecoderSlots`] with one slot.
///
/// The first tokens of a sequence go through the model together; each further one is a replay of a captured pass.
#[derive(Debug)]
pub struct DecoderState(DecoderSlots);

impl DecoderState {
    /// The device that computes.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn device(&self) -> &Device {
        self.0.device()
    }

    /// A sequence without tokens, with room for `capacity` of them.
    ///
    /// # Errors
    /// If the capacity is beyond the decoder's context, or the device has no memory.
    pub fn new(decoder: &Arc<Decoder>, capacity: usize) -> Result<Self, Error> {
        DecoderSlots::new(decoder, 1, capacity).map(Self)
    }

    /// As [`DecoderState::new`], in caches of f32, f16 or i8.
    ///
    /// # Errors
    /// As [`DecoderState::new`], or if the dtype is another one.
    pub fn with_cache(
        decoder: &Arc<Decoder>,
        capacity: usize,
        dtype: DType,
    ) -> Result<Self, Error> {
        DecoderSlots::with_cache(decoder, 1, capacity, dtype).map(Self)
    }

    /// Forgets all tokens; there is room for as many as before.
    pub fn clear(&mut self) {
        self.0.clear(0);
    }

    /// Tokens so far.
    pub fn len(&self) -> usize {
        self.0.len(0)
    }

    /// Whether there are no tokens.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty(0)
    }

    /// Tokens that there is room for.
    pub const fn capacity(&self) -> usize {
        self.0.capacity()
    }

    /// Dispatches of a step that adds one token; `None` before the first one, which captures it.
    pub fn dispatches(&self) -> Option<usize> {
        self.0.dispatches()
    }

    /// Adds tokens, and gives the scores of what follows the last of them: f32 `[vocabulary]`.
    ///
    /// # Errors
    /// If there are no tokens or no room for them, one is not of the vocabulary, or the device fails.
    pub fn extend(&mut self, tokens: &[u32]) -> Result<Tensor, Error> {
        match *tokens {
            [token] => Ok(self.0.step(&[(0, token)])?.squeeze_axis(0)?),
            _ => self.0.extend(0, tokens),
        }
    }

    /// Adds the token that a device has drawn, i32 `[1]`: [`DecoderSlots::step_drawn`].
    ///
    /// # Errors
    /// As there.
    pub fn extend_drawn(&mut self, token: &Tensor) -> Result<Tensor, Error> {
        Ok(self.0.step_drawn(&[0], token)?.squeeze_axis(0)?)
    }

    /// Adds tokens in one pass, and gives the scores of what follows each of them: f32 `[length, vocabulary]`.
    ///
    /// # Errors
    /// As [`DecoderState::extend`].
    pub fn scores(&mut self, tokens: &[u32]) -> Result<Tensor, Error> {
        self.0.scores(0, tokens)
    }
}
