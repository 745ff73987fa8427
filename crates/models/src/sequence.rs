//! The text of one sequence: which tokens the model is shown next, which one is drawn of its scores, and where it ends.
//!
//! What the model remembers is not in here, so that a sequence alone and one of a batch are written by the same code.

use std::sync::Arc;

use ziggurat_tensor::{Element, Tensor};

use crate::device_sampler::Draw;
use crate::generation::{Finish, FullContext, GenerateOptions, Piece};
use crate::sample::Sampler;
use crate::stop::StopTexts;
use crate::tokenizer::{TokenDecoder, Tokenizer};
use crate::{Decoder, Error};

/// A text under way.
#[derive(Debug)]
pub(crate) struct Sequence {
    tokenizer: Arc<Tokenizer>,
    sampler: Sampler,
    decoder: TokenDecoder,
    stops: StopTexts,
    ends: Vec<u32>,
    /// The prompt and what was drawn.
    tokens: Vec<u32>,
    /// Tokens that the model has not seen yet.
    unseen: usize,
    vocabulary: usize,
    full: FullContext,
    left: usize,
    finish: Option<Finish>,
}

/// What the next token comes from, until somebody has read it.
#[derive(Clone, Debug)]
pub(crate) enum Pending {
    /// Scores of all tokens, f32.
    Scores(Tensor),
    /// The token that the device has drawn, i32.
    Token(Tensor),
}

impl Pending {
    pub(crate) const fn tensor(&self) -> &Tensor {
        match self {
            Self::Scores(tensor) | Self::Token(tensor) => tensor,
        }
    }
}

/// What the model is shown next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    /// Whether it forgets before what it knows.
    pub(crate) anew: bool,
    pub(crate) tokens: Vec<u32>,
}

impl Sequence {
    /// One that begins with a prompt, in a context of so many tokens.
    pub(crate) fn new(
        decoder: &Decoder,
        tokenizer: &Arc<Tokenizer>,
        ends: &[u32],
        prompt: Vec<u32>,
        context: usize,
        options: &GenerateOptions,
    ) -> Result<Self, Error> {
        if prompt.is_empty() {
            return Err(Error::NoTokens);
        }
        let (needed, limit) = (prompt.len(), context);
        if needed > limit {
            return Err(Error::ContextFull { needed, limit });
        }
        decoder.check_tokens(&prompt)?;
        let biased: Vec<u32> = options
            .sampling
            .logit_bias
            .iter()
            .map(|bias| bias.0)
            .collect();
        decoder.check_tokens(&biased)?;
        if let FullContext::Slide { keep } = options.full
            && keep >= context
        {
            return Err(Error::Options(format!(
                "FullContext::Slide: `keep` must be less than the context of {context} tokens, got {keep}"
            )));
        }
        Ok(Self {
            tokenizer: Arc::clone(tokenizer),
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
            vocabulary: decoder.config().vocabulary,
            full: options.full,
            left: options.max_tokens.unwrap_or(usize::MAX),
            finish: None,
        })
    }

    /// The tokens of the prompt, and those that were drawn.
    pub(crate) fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    /// Why it is complete; `None` while it is not.
    pub(crate) const fn finish(&self) -> Option<Finish> {
        self.finish
    }

    /// Whether it has as many tokens as it may have.
    pub(crate) const fn is_spent(&self) -> bool {
        self.left == 0
    }

    /// What the model, which knows `known` tokens and has room for `room`, is to be shown.
    ///
    /// # Errors
    /// If there is no room, and the sequence does not slide.
    pub(crate) fn shown(&self, known: usize, room: usize) -> Result<Shown, Error> {
        let len = self.tokens.len();
        let needed = known + self.unseen;
        if needed <= room {
            let tokens = self.tokens.get(len - self.unseen..).unwrap_or_default();
            let tokens = tokens.to_vec();
            return Ok(Shown {
                anew: false,
                tokens,
            });
        }
        match self.full {
            FullContext::Error => Err(Error::ContextFull {
                needed,
                limit: room,
            }),
            FullContext::Slide { keep } => {
                let rest = (room.saturating_sub(keep) / 2).max(1);
                let first = self.tokens.get(..keep).unwrap_or_default();
                let last = self.tokens.get(len - rest..).unwrap_or_default();
                Ok(Shown {
                    anew: true,
                    tokens: [first, last].concat(),
                })
            }
        }
    }

    /// Whether the device draws its tokens.
    pub(crate) fn is_on_device(&self) -> bool {
        self.sampler.is_on_device()
    }

    /// Whether the token behind the next one, if there may be one, is drawn by the device without knowing the next one but by its
    /// scores.
    pub(crate) fn is_drawn_unread(&self) -> bool {
        self.left > 1 && self.sampler.is_on_device() && !self.sampler.looks_back()
    }

    /// What the device draws the next token by; `None` if the host does. Each call is for a token of its own.
    pub(crate) fn on_device(&mut self) -> Option<Draw> {
        self.sampler.on_device(&self.tokens)
    }

    /// The token that follows, of the bytes of what was pending; `None` if nothing is to be given out. The model has seen what it
    /// was shown.
    pub(crate) fn draw(&mut self, pending: &Pending, bytes: &[u8]) -> Result<Option<Piece>, Error> {
        let token = match pending {
            Pending::Scores(_) => {
                let mut scores = f32::read_bytes(bytes);
                self.sampler.draw(&mut scores, &self.tokens)?
            }
            Pending::Token(_) => {
                let token = i32::read_bytes(bytes).first().copied();
                let token = token.and_then(|token| u32::try_from(token).ok());
                token.ok_or(Error::Scores(self.vocabulary))?
            }
        };
        self.left = self.left.saturating_sub(1);
        if self.ends.contains(&token) {
            self.unseen = 0;
            return Ok(self.end(Finish::End));
        }
        self.tokens.push(token);
        self.unseen = 1;
        let text = if self.tokenizer.is_special(token) {
            String::new()
        } else {
            self.decoder.push(&self.tokenizer, token)
        };
        let (text, found) = self.stops.push(&text);
        self.finish = found.then_some(Finish::Stop);
        let token = Some(token);
        Ok(Some(Piece { token, text }))
    }

    /// Completes it; what waited, if anything did.
    pub(crate) fn end(&mut self, finish: Finish) -> Option<Piece> {
        self.finish = Some(finish);
        let (mut text, found) = self.stops.push(&self.decoder.finish());
        if found {
            self.finish = Some(Finish::Stop);
        } else {
            text.push_str(&self.stops.finish());
        }
        let token = None;
        (!text.is_empty()).then_some(Piece { token, text })
    }
}
