//! Text that a model writes, token by token.

use std::future::{Future as _, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use ziggurat_tensor::{DType, Tensor};

use crate::decoder::DecoderState;
use crate::device_sampler::DeviceSampler;
use crate::sample::Sampling;
use crate::sequence::{Pending, Sequence};
use crate::tokenizer::Tokenizer;
use crate::{Decoder, Error};

/// What happens when a text has filled the context, and goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FullContext {
    /// [`Error::ContextFull`].
    #[default]
    Error,
    /// The window slides: of the tokens behind the first `keep`, only the last ones stay, so many that half of the
    /// context behind the first `keep` is free again. The model then reads the tokens that stay from the beginning, as
    /// it reads a prompt; it does not know the others any more. `keep` must be below the context; a prompt that is
    /// longer than the context is an error all the same.
    Slide {
        /// The first tokens of the prompt, which stay: a system message, or the token that begins every text.
        keep: usize,
    },
}

/// How a text is generated.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GenerateOptions {
    /// How tokens are drawn.
    pub sampling: Sampling,
    /// The most tokens; without, up to the model's end or the context's.
    pub max_tokens: Option<usize>,
    /// The dtype of the cache of keys and values: f32, f16, or i8 for a quarter of the memory of f32 and a bit; without, that of
    /// the model's activations. In a [`Batch`](crate::Batch) all sequences have that of the batch.
    pub cache: Option<DType>,
    /// What happens at the context's end.
    pub full: FullContext,
    /// Texts at which it ends, which are not given out.
    pub stop: Vec<String>,
    /// Go on behind tokens that end a message.
    pub ignore_end: bool,
}

/// A token that was drawn, and the text that is complete with it: empty while a character or a stop text is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The token; `None` for text that waited until the end.
    pub token: Option<u32>,
    /// Whole characters.
    pub text: String,
}

/// Why a text is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Finish {
    /// The model said so, by a token that ends a message.
    End,
    /// A stop text was found.
    Stop,
    /// It has as many tokens as it may have.
    MaxTokens,
}

/// A text under way: an iterator; for asynchronous programs a stream ([`Generation::into_stream`]), or
/// [`Generation::advance`].
#[derive(Debug)]
pub struct Generation {
    sequence: Sequence,
    state: DecoderState,
    /// Where the device draws.
    sampler: Option<DeviceSampler>,
    /// What the next token comes from.
    pending: Option<Pending>,
    /// What the one behind it comes from, where the model has been shown a token that nobody has read yet.
    ahead: Option<Pending>,
    failed: bool,
}

impl Generation {
    pub(crate) fn new(
        decoder: &Arc<Decoder>,
        tokenizer: &Arc<Tokenizer>,
        ends: &[u32],
        prompt: Vec<u32>,
        options: &GenerateOptions,
    ) -> Result<Self, Error> {
        let context = decoder.config().context;
        let most = options.max_tokens.unwrap_or(usize::MAX);
        let capacity = prompt.len().saturating_add(most).min(context);
        let cache = options.cache.unwrap_or(decoder.dtype());
        let sequence = Sequence::new(decoder, tokenizer, ends, prompt, context, options)?;
        let (on_device, vocabulary) = (sequence.is_on_device(), decoder.config().vocabulary);
        Ok(Self {
            sequence,
            state: DecoderState::with_cache(decoder, capacity, cache)?,
            sampler: on_device.then(|| DeviceSampler::new(decoder.device(), 1, vocabulary)),
            pending: None,
            ahead: None,
            failed: false,
        })
    }

    /// The tokens of the prompt, and those that were drawn.
    pub fn tokens(&self) -> &[u32] {
        self.sequence.tokens()
    }

    /// Why the text is complete; `None` while it is not, and behind an error.
    pub const fn finish(&self) -> Option<Finish> {
        self.sequence.finish()
    }

    /// The next token; `None` when the text is complete. Behind an error there is nothing either.
    ///
    /// A call that is dropped before it is ready loses nothing: the next one goes on where it was.
    pub async fn advance(&mut self) -> Option<Result<Piece, Error>> {
        if self.failed || self.sequence.finish().is_some() {
            return None;
        }
        if self.sequence.is_spent() {
            return self.sequence.end(Finish::MaxTokens).map(Ok);
        }
        match self.draw().await {
            Ok(piece) => piece.map(Ok),
            Err(error) => {
                self.failed = true;
                Some(Err(error))
            }
        }
    }

    /// Shows the model what it has not seen; what the token that follows comes from.
    fn extend(&mut self) -> Result<Pending, Error> {
        let shown = (self.sequence).shown(self.state.len(), self.state.capacity())?;
        if shown.anew {
            self.state.clear();
        }
        let scores = self.state.extend(&shown.tokens)?;
        self.drawn(scores)
    }

    /// What the token comes from that has these scores.
    fn drawn(&mut self, scores: Tensor) -> Result<Pending, Error> {
        let draw = self.sequence.on_device();
        match self.sampler.as_mut().zip(draw) {
            Some((sampler, draw)) => {
                let token = sampler.draw(&scores.unsqueeze(0)?, &[Some(draw)])?;
                Ok(Pending::Token(token))
            }
            None => Ok(Pending::Scores(scores)),
        }
    }

    /// Shows the model the token that the device has drawn before the host has read it, so that the device computes meanwhile. Nothing
    /// where the next draw depends on that token by more than its scores, or there is no room, or it is the last one. Should the
    /// token end the text, this was for nothing.
    fn go_ahead(&mut self, pending: &Pending) -> Result<(), Error> {
        let room = self.state.len() < self.state.capacity();
        if let (Pending::Token(token), None) = (pending, &self.ahead)
            && room
            && self.sequence.is_drawn_unread()
        {
            let scores = self.state.extend_drawn(token)?;
            self.ahead = Some(self.drawn(scores)?);
        }
        Ok(())
    }

    async fn draw(&mut self) -> Result<Option<Piece>, Error> {
        let known = self.pending.take().or_else(|| self.ahead.take());
        let pending = match known {
            Some(pending) => pending,
            None => self.extend()?,
        };
        let mut bytes = pin!(pending.tensor().to_bytes());
        // For whoever asks next, should this be dropped while it waits.
        self.pending = Some(pending.clone());
        // The first poll submits what was recorded, ahead of what comes next.
        let early = poll_fn(|context| Poll::Ready(bytes.as_mut().poll(context))).await;
        self.go_ahead(&pending)?;
        let bytes = match early {
            Poll::Ready(bytes) => bytes?,
            Poll::Pending => bytes.await?,
        };
        self.pending = None;
        self.sequence.draw(&pending, &bytes)
    }
}

#[cfg(not(target_arch = "wasm32"))]
impl Iterator for Generation {
    type Item = Result<Piece, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let device = self.state.device().clone();
        device.block_on(self.advance())
    }
}
