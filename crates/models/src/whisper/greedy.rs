//! What is heard, as tokens: the best one always.

use ziggurat_tensor::{DType, Device, Error as TensorError, KvSlots, Tensor, read_many_blocking};

use super::languages;
use super::stamps::Stamps;
use super::{TranscribeOptions, Whisper, WhisperConfig};
use crate::blocks::{Attended, Place};
use crate::{Error, Tokenizer};

/// Tokens that every Whisper has: what begins a text, that there are to be no timestamps, and what ends a text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Special {
    pub(super) start: u32,
    pub(super) plain: u32,
    pub(super) end: u32,
}

/// The tokens around a text, and those that are not written.
#[derive(Debug)]
pub(super) struct Search {
    pub(super) special: Special,
    pub(super) stamps: Stamps,
    /// Languages with their tokens; of a model that knows several.
    pub(super) languages: Vec<(String, u32)>,
    /// Added to scores, `[vocabulary]`: -inf for tokens that are not written, first of all or later.
    first: Tensor,
    later: Tensor,
}

impl Search {
    pub(super) fn new(
        device: &Device,
        config: &WhisperConfig,
        tokenizer: &Tokenizer,
    ) -> Result<Self, Error> {
        let special = Special {
            start: named(tokenizer, "<|startoftranscript|>")?,
            plain: named(tokenizer, "<|notimestamps|>")?,
            end: named(tokenizer, "<|endoftext|>")?,
        };
        let mut scores = vec![0.0f32; config.vocabulary];
        // What follows are timestamps.
        let stamps = scores.iter_mut().skip(special.plain as usize);
        stamps.for_each(|score| *score = f32::NEG_INFINITY);
        let mut mask = |suppressed: &[u32]| {
            for &token in suppressed {
                let score = scores.get_mut(token as usize);
                *score.ok_or(Error::UnknownToken {
                    token,
                    vocabulary: config.vocabulary,
                })? = f32::NEG_INFINITY;
            }
            Ok::<_, Error>(Tensor::from_slice(device, &scores, [config.vocabulary])?)
        };
        Ok(Self {
            later: mask(&config.suppressed)?,
            first: mask(&config.suppressed_first)?,
            stamps: Stamps::new(config, &special),
            languages: match config.multilingual {
                true => languages::of(tokenizer, &special)?,
                false => Vec::new(),
            },
            special,
        })
    }
}

/// The token of a name that every Whisper has.
pub(super) fn named(tokenizer: &Tokenizer, name: &str) -> Result<u32, Error> {
    let token = tokenizer.token(name);
    token.ok_or_else(|| Error::Tokenizer(format!("it has no token `{name}`")))
}

impl Whisper {
    /// The tokens of what is heard, f32 `[1, positions, width]`, without those that begin and end a text: the best one always. With
    /// [`TranscribeOptions::timestamps`] they are among them. Without a language, a model that knows several takes the most probable one.
    ///
    /// # Errors
    /// If the language is not known, the extents are not the model's, scores are NaN, or the device fails.
    pub fn decode(&self, heard: &Tensor, options: &TranscribeOptions) -> Result<Vec<u32>, Error> {
        let attended = self.decoder.attended(heard)?;
        let prompt = self.prompt(&attended, options)?;
        let (positions, vocabulary) = (self.config.decoder.positions, self.config.vocabulary);
        let room = positions.saturating_sub(prompt.len());
        let most = options.max_tokens.unwrap_or(positions / 2).min(room);
        if most == 0 {
            return Ok(Vec::new());
        }
        let mut caches = self.caches(prompt.len() + most)?;
        let (search, decoder) = (&self.search, &self.decoder);
        // The rules of timestamps need all scores; without them, the device finds the best token.
        let found = |scores: Tensor, mask: &Tensor| match options.timestamps {
            true => Ok(vec![scores]),
            false => best(&scores, mask),
        };
        let choose = |found: &[Tensor], written: &[u32]| match options.timestamps {
            true => search.stamps.choose(&numbers(found)?, written),
            false => drawn(found, vocabulary),
        };
        let place = Place::Slot { slot: 0, start: 0 };
        let tokens = row(&self.device, &prompt)?;
        let scores = decoder.forward(&tokens, &place, &attended, &mut caches, true)?;
        let mut token = choose(&found(scores, &search.first)?, &[])?;
        let (mut out, mut step) = (Vec::new(), None);
        while token != search.special.end {
            out.push(token);
            if out.len() == most {
                break;
            }
            let position = (prompt.len() + out.len() - 1) as u32;
            let input = row(&self.device, &[token, position])?;
            let captured = match &step {
                Some(captured) => captured,
                None => step.insert(self.device.capture(&[&input], |inputs| {
                    let (Some(input), Some(cache)) = (inputs.first(), caches.first()) else {
                        return Ok(Vec::new());
                    };
                    let place = Place::Each(&cache.positions(&input.select(1, 1)?)?);
                    let token = input.narrow(1, 0, 1)?;
                    let scores = decoder.forward(&token, &place, &attended, &mut caches, true)?;
                    found(scores, &search.later)
                })?),
            };
            token = choose(&captured.run(&[&input])?, &out)?;
        }
        Ok(out)
    }

    /// Scores of what follows each of some tokens while the model attends to what is heard, f32 `[length, vocabulary]`.
    ///
    /// # Errors
    /// If there are no tokens or more than the decoder has positions, one is not of the vocabulary, the extents are not the
    /// model's, or the device fails.
    pub fn scores(&self, heard: &Tensor, tokens: &[u32]) -> Result<Tensor, Error> {
        let (needed, limit) = (tokens.len(), self.config.decoder.positions);
        if needed == 0 {
            return Err(Error::NoTokens);
        }
        if needed > limit {
            return Err(Error::ContextFull { needed, limit });
        }
        let vocabulary = self.config.vocabulary;
        if let Some(&token) = tokens.iter().find(|&&token| token as usize >= vocabulary) {
            return Err(Error::UnknownToken { token, vocabulary });
        }
        let attended = self.decoder.attended(heard)?;
        let place = Place::Slot { slot: 0, start: 0 };
        let row = row(&self.device, tokens)?;
        let caches = &mut self.caches(needed)?;
        let scores = (self.decoder).forward(&row, &place, &attended, caches, false)?;
        Ok(scores.reshape_to([needed, vocabulary])?)
    }

    /// Empty caches of all layers.
    fn caches(&self, capacity: usize) -> Result<Vec<KvSlots>, TensorError> {
        let half = &self.config.decoder;
        let dim = self.config.width / half.heads.max(1);
        let cache = |_| {
            let extents = [1, half.heads];
            KvSlots::new(&self.device, extents, capacity, [dim, dim], DType::F32)
        };
        (0..half.layers).map(cache).collect()
    }

    /// The scores of what follows the first token of a text, of the vocabulary.
    pub(super) fn first_scores(&self, attended: &[Attended]) -> Result<Vec<f32>, Error> {
        let place = Place::Slot { slot: 0, start: 0 };
        let row = row(&self.device, &[self.search.special.start])?;
        let caches = &mut self.caches(1)?;
        numbers(&[self.decoder.forward(&row, &place, attended, caches, true)?])
    }
}

/// Tokens, i32 `[1, length]`.
fn row(device: &Device, tokens: &[u32]) -> Result<Tensor, TensorError> {
    let numbers: Vec<i32> = tokens.iter().map(|token| token.cast_signed()).collect();
    Tensor::from_slice(device, &numbers, [1, tokens.len()])
}

/// The best score with a mask added, and its token.
fn best(scores: &Tensor, mask: &Tensor) -> Result<Vec<Tensor>, TensorError> {
    let (score, token) = scores.add(mask)?.max_with_indices(-1, false)?;
    Ok(vec![score, token])
}

/// The elements of the first of some tensors.
fn numbers(found: &[Tensor]) -> Result<Vec<f32>, Error> {
    let bytes = read_many_blocking(&found.iter().collect::<Vec<_>>())?;
    let bytes = bytes.first().map(Vec::as_slice).unwrap_or_default();
    let (words, _) = bytes.as_chunks::<4>();
    Ok(words.iter().map(|word| f32::from_le_bytes(*word)).collect())
}

/// The token that [`best`] found; an error if its score is no number.
fn drawn(best: &[Tensor], vocabulary: usize) -> Result<u32, Error> {
    let all: Vec<&Tensor> = best.iter().collect();
    let bytes = read_many_blocking(&all)?;
    let word = |at: usize| {
        bytes
            .get(at)
            .and_then(|bytes| bytes.as_slice().try_into().ok())
    };
    let (score, token) = (
        word(0).map(f32::from_le_bytes),
        word(1).map(u32::from_le_bytes),
    );
    match (score, token) {
        (Some(score), Some(token)) if score.is_finite() => Ok(token),
        _ => Err(Error::Scores(vocabulary)),
    }
}
