//! What a decoder remembers of a sequence.

use std::sync::Arc;

use ziggurat_tensor::{Captured, KvCache, Tensor};

use super::Decoder;
use crate::Error;
use crate::blocks::Place;

/// Tokens that go through the model at once while a prompt is read.
const CHUNK: usize = 256;

/// A sequence under way: its keys and values, and the captured step that adds one token.
///
/// The first tokens of a sequence go through the model together; each further one is a replay of a captured pass.
#[derive(Debug)]
pub struct DecoderState {
    decoder: Arc<Decoder>,
    caches: Vec<KvCache>,
    step: Option<Captured>,
    len: usize,
}

/// Empty caches of all layers.
fn caches(decoder: &Decoder, capacity: usize) -> Result<Vec<KvCache>, Error> {
    let config = decoder.config();
    let (heads, dim) = (config.key_heads, config.head_dim);
    let cache = |_| {
        let device = decoder.device();
        KvCache::new(device, [1, heads], capacity, [dim, dim], decoder.dtype())
    };
    Ok((0..config.layers).map(cache).collect::<Result<_, _>>()?)
}

impl DecoderState {
    /// A sequence without tokens, with room for `capacity` of them.
    ///
    /// # Errors
    /// If the capacity is beyond the decoder's context, or the device has no memory.
    pub fn new(decoder: &Arc<Decoder>, capacity: usize) -> Result<Self, Error> {
        let config = decoder.config();
        if capacity > config.context {
            let (needed, limit) = (capacity, config.context);
            return Err(Error::ContextFull { needed, limit });
        }
        Ok(Self {
            caches: caches(decoder, capacity)?,
            decoder: Arc::clone(decoder),
            step: None,
            len: 0,
        })
    }

    /// Forgets all tokens; there is room for as many as before.
    ///
    /// # Errors
    /// If the device has no memory; then there is no room for any.
    pub fn clear(&mut self) -> Result<(), Error> {
        let capacity = self.capacity();
        self.len = 0;
        // The memory of the old ones comes first: there may be none for both.
        self.step = None;
        self.caches.clear();
        self.caches = caches(&self.decoder, capacity)?;
        Ok(())
    }

    /// Tokens so far.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no tokens.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Tokens that there is room for.
    pub fn capacity(&self) -> usize {
        self.caches.first().map_or(0, KvCache::capacity)
    }

    /// Dispatches of a step that adds one token; `None` before the first one, which captures it.
    pub fn dispatches(&self) -> Option<usize> {
        self.step.as_ref().map(Captured::dispatches)
    }

    /// Adds tokens, and gives the scores of what follows the last of them: f32 `[vocabulary]`.
    ///
    /// # Errors
    /// If there are no tokens or no room for them, one is not of the vocabulary, or the device fails.
    pub fn extend(&mut self, tokens: &[u32]) -> Result<Tensor, Error> {
        self.check(tokens)?;
        let scores = match *tokens {
            [token] => self.step(token)?,
            _ => {
                let mut scores = None;
                for chunk in tokens.chunks(CHUNK) {
                    scores = Some(self.chunk(chunk, true)?);
                }
                scores.ok_or(Error::NoTokens)?
            }
        };
        Ok(scores.reshape_to([self.decoder.config().vocabulary])?)
    }

    /// Adds tokens in one pass, and gives the scores of what follows each of them: f32 `[length, vocabulary]`.
    ///
    /// # Errors
    /// As [`DecoderState::extend`].
    pub fn scores(&mut self, tokens: &[u32]) -> Result<Tensor, Error> {
        self.check(tokens)?;
        let scores = self.chunk(tokens, false)?;
        Ok(scores.reshape_to([tokens.len(), self.decoder.config().vocabulary])?)
    }

    fn check(&self, tokens: &[u32]) -> Result<(), Error> {
        let (needed, limit) = (self.len + tokens.len(), self.capacity());
        if needed > limit {
            return Err(Error::ContextFull { needed, limit });
        }
        let vocabulary = self.decoder.config().vocabulary;
        let known = |token: u32| usize::try_from(token).is_ok_and(|token| token < vocabulary);
        match tokens.iter().find(|token| !known(**token)) {
            Some(&token) => Err(Error::UnknownToken { token, vocabulary }),
            None if tokens.is_empty() => Err(Error::NoTokens),
            None => Ok(()),
        }
    }

    fn chunk(&mut self, tokens: &[u32], last: bool) -> Result<Tensor, Error> {
        let input = self.input(tokens)?;
        let place = Place::From(self.len);
        let scores = self.decoder.pass(&input, &place, &mut self.caches, last)?;
        self.len += tokens.len();
        Ok(scores)
    }

    /// One token, by a replay.
    fn step(&mut self, token: u32) -> Result<Tensor, Error> {
        let input = self.input(&[token])?;
        if self.step.is_none() {
            let (decoder, caches) = (&self.decoder, &mut self.caches);
            let captured = decoder.device().capture(&[&input], |inputs| {
                let [tokens] = inputs else {
                    return Ok(Vec::new());
                };
                let Some(first) = caches.first() else {
                    return Ok(Vec::new());
                };
                let position = first.lengths()?.reshape_to([1, 1])?;
                let scores = decoder.pass(tokens, &Place::At(&position), caches, true)?;
                Ok(vec![scores])
            })?;
            self.step = Some(captured);
        }
        let step = self.step.as_ref().ok_or(Error::NoTokens)?;
        let outputs = step.run(&[&input])?;
        self.len += 1;
        outputs.into_iter().next().ok_or(Error::NoTokens)
    }

    fn input(&self, tokens: &[u32]) -> Result<Tensor, Error> {
        // Tokens of a vocabulary are far below 2^31.
        let tokens: Vec<i32> = tokens.iter().map(|&token| token.cast_signed()).collect();
        Ok(Tensor::from_slice(
            self.decoder.device(),
            &tokens,
            [1, tokens.len()],
        )?)
    }
}
