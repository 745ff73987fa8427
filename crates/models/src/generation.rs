//! Text that a model writes, token by token.

use std::sync::Arc;

use ziggurat_tensor::Tensor;

use crate::decoder::DecoderState;
use crate::sample::{Sampler, Sampling};
use crate::stop::StopTexts;
use crate::tokenizer::{TokenDecoder, Tokenizer};
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

/// A text under way: an iterator; for asynchronous programs a stream ([`Generation::into_stream`]), or
/// [`Generation::advance`].
#[derive(Debug)]
pub struct Generation {
    tokenizer: Arc<Tokenizer>,
    state: DecoderState,
    sampler: Sampler,
    decoder: TokenDecoder,
    stops: StopTexts,
    ends: Vec<u32>,
    /// The prompt and what was drawn.
    tokens: Vec<u32>,
    /// Tokens that the model has not seen yet.
    unseen: usize,
    /// Scores of the next token, until it is drawn.
    scores: Option<Tensor>,
    full: FullContext,
    left: usize,
    over: bool,
}

impl Generation {
    pub(crate) fn new(
        decoder: &Arc<Decoder>,
        tokenizer: &Arc<Tokenizer>,
        ends: &[u32],
        prompt: Vec<u32>,
        options: &GenerateOptions,
    ) -> Result<Self, Error> {
        if prompt.is_empty() {
            return Err(Error::NoTokens);
        }
        if let FullContext::Slide { keep } = options.full
            && keep >= decoder.config().context
        {
            let context = decoder.config().context;
            return Err(Error::Options(format!(
                "FullContext::Slide: `keep` must be less than the context of {context} tokens, got {keep}"
            )));
        }
        let (context, left) = (
            decoder.config().context,
            options.max_tokens.unwrap_or(usize::MAX),
        );
        let wanted = prompt.len().saturating_add(left).min(context);
        let capacity = wanted.max(prompt.len());
        Ok(Self {
            tokenizer: Arc::clone(tokenizer),
            state: DecoderState::new(decoder, capacity)?,
            sampler: Sampler::new(options.sampling.clone())?,
            decoder: TokenDecoder::new(),
            stops: StopTexts::new(&options.stop),
            ends: if options.ignore_end {
                Vec::new()
            } else {
                ends.to_vec()
            },
            unseen: prompt.len(),
            tokens: prompt,
            scores: None,
            full: options.full,
            left,
            over: false,
        })
    }

    /// The tokens of the prompt, and those that were drawn.
    pub fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    /// The next token; `None` when the text is complete. Behind an error there is nothing either.
    ///
    /// A call that is dropped before it is ready loses nothing: the next one goes on where it was.
    pub async fn advance(&mut self) -> Option<Result<Piece, Error>> {
        if self.over {
            return None;
        }
        if self.left == 0 {
            return self.end(String::new()).map(Ok);
        }
        match self.draw().await {
            Ok(piece) => piece.map(Ok),
            Err(error) => {
                self.over = true;
                Some(Err(error))
            }
        }
    }

    /// Shows the model what it has not seen; the scores of what follows.
    fn extend(&mut self) -> Result<Tensor, Error> {
        let (len, room) = (self.tokens.len(), self.state.capacity());
        let unseen = self.tokens.get(len - self.unseen..).unwrap_or_default();
        let scores = match self.full {
            FullContext::Slide { keep } if self.state.len() + self.unseen > room => {
                let rest = (room.saturating_sub(keep) / 2).max(1);
                let first = self.tokens.get(..keep).unwrap_or_default();
                let last = self.tokens.get(len - rest..).unwrap_or_default();
                self.state.clear()?;
                self.state.extend(&[first, last].concat())?
            }
            _ => self.state.extend(unseen)?,
        };
        self.unseen = 0;
        Ok(scores)
    }

    async fn draw(&mut self) -> Result<Option<Piece>, Error> {
        let scores = match self.scores.take() {
            Some(scores) => scores,
            None => self.extend()?,
        };
        let values = scores.to_vec::<f32>();
        // For whoever asks next, should this be dropped while it waits.
        self.scores = Some(scores);
        let mut scores = values.await?;
        self.scores = None;
        let token = self.sampler.draw(&mut scores, &self.tokens)?;
        self.left -= 1;
        if self.ends.contains(&token) {
            return Ok(self.end(String::new()));
        }
        self.tokens.push(token);
        self.unseen = 1;
        let text = if self.tokenizer.is_special(token) {
            String::new()
        } else {
            self.decoder.push(&self.tokenizer, token)
        };
        let (text, found) = self.stops.push(&text);
        self.over = found;
        let token = Some(token);
        Ok(Some(Piece { token, text }))
    }

    /// What waited, if anything did.
    fn end(&mut self, mut text: String) -> Option<Piece> {
        self.over = true;
        let (rest, found) = self.stops.push(&self.decoder.finish());
        text.push_str(&rest);
        if !found {
            text.push_str(&self.stops.finish());
        }
        let token = None;
        (!text.is_empty()).then_some(Piece { token, text })
    }
}

#[cfg(not(target_arch = "wasm32"))]
impl Iterator for Generation {
    type Item = Result<Piece, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        ziggurat_tensor::block_on(self.advance())
    }
}
