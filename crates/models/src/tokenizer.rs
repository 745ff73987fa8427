//! Text to the numbers of tokens, and back.
//!
//! Four kinds: byte-level BPE, SentencePiece's BPE, its unigram models and WordPiece. They are read from a GGUF file's metadata or
//! from a `tokenizer.json`; what such a file asks for and this module does not know is an error that names it.
//!
//! # Byte-level BPE
//! Text is cut into pieces by a pattern that the file names (words, numbers, spaces); bytes of each piece are joined, the
//! pair with the lowest rank first. Tokens are bytes: one alone may be a fraction of a character, which
//! [`TokenDecoder`] waits for.
//!
//! # Unigram
//! Each token has a score, the logarithm of a probability; of all ways to divide a text into tokens, the one whose scores have the
//! greatest sum is taken. A character that is no token is unknown, with its neighbours that are unknown, too, or is written as its
//! bytes.
//!
//! Invariants: the same numbers as the Python package `tokenizers` gives for the same file; time grows with `n log n` of the
//! text, whatever the text is.

mod bpe;
mod bytes;
mod charsmap;
mod decoder;
mod from_gguf;
mod from_json;
mod json_steps;
mod merges;
mod normalise;
mod pieces;
mod special;
mod split;
mod unigram;
mod word_piece;

use std::collections::HashMap;

use bpe::Bpe;
pub use decoder::TokenDecoder;
use normalise::Normaliser;
use pieces::Pieces;
use special::Specials;
use split::Splitter;
use unigram::Unigram;
use word_piece::WordPiece;

use crate::Error;

/// Text to tokens and back, as a model's files describe it.
///
/// ```no_run
/// use ziggurat_models::Tokenizer;
///
/// let tokenizer = Tokenizer::from_json(&std::fs::read("tokenizer.json").unwrap_or_default())?;
/// let tokens = tokenizer.encode("Hello, world")?;
/// assert_eq!(tokenizer.decode(&tokens), "Hello, world");
/// # Ok::<(), ziggurat_models::Error>(())
/// ```
#[derive(Debug)]
pub struct Tokenizer {
    specials: Specials,
    normaliser: Vec<Normaliser>,
    splitters: Vec<Splitter>,
    kind: Kind,
    /// What each token is as bytes, by number; `None` for numbers that are no token.
    tokens: Vec<Option<Token>>,
    by_text: HashMap<String, u32>,
    /// In front of and behind an encoded text.
    around: [Vec<u32>; 2],
    lead: Lead,
}

#[derive(Debug)]
enum Kind {
    Bpe(Bpe),
    Pieces(Pieces),
    Unigram(Unigram),
    WordPiece(WordPiece),
}

/// What is left out at the beginning of a decoded text, because encoding put it there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Lead {
    /// Nothing.
    #[default]
    Kept,
    /// A space.
    Space,
    /// All spaces of the first token.
    FirstToken,
}

#[derive(Clone, Debug)]
struct Token {
    bytes: Vec<u8>,
    special: bool,
}

impl Tokenizer {
    /// The tokens of a text. Names of special tokens within the text (`<|im_start|>`) are these tokens.
    ///
    /// # Errors
    /// If the text has bytes for which the vocabulary has no token, not even one for the unknown.
    pub fn encode(&self, text: &str) -> Result<Vec<u32>, Error> {
        let mut out = Vec::new();
        let mut at = 0;
        for (start, end, token) in self.specials.find(text) {
            let part = text.get(at..start).unwrap_or_default();
            self.encode_plain(part, at == 0, &mut out)?;
            out.push(token);
            at = end;
        }
        self.encode_plain(text.get(at..).unwrap_or_default(), at == 0, &mut out)?;
        Ok(out)
    }

    /// As [`Tokenizer::encode`], but names of special tokens are text like any other: for what users wrote.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`].
    pub fn encode_text(&self, text: &str) -> Result<Vec<u32>, Error> {
        let mut out = Vec::new();
        self.encode_plain(text, true, &mut out)?;
        Ok(out)
    }

    /// As [`Tokenizer::encode`], between the tokens that the model wants around a text (`[CLS]`, `[SEP]`, the beginning).
    ///
    /// # Errors
    /// As [`Tokenizer::encode`].
    pub fn encode_with_specials(&self, text: &str) -> Result<Vec<u32>, Error> {
        let [before, behind] = &self.around;
        Ok([before.as_slice(), &self.encode(text)?, behind].concat())
    }

    /// The tokens of a text, or of what follows a special token in it.
    fn encode_plain(&self, text: &str, first: bool, out: &mut Vec<u32>) -> Result<(), Error> {
        if text.is_empty() {
            return Ok(());
        }
        let text = normalise::all(&self.normaliser, text, first)?;
        split::all(&self.splitters, &text, &mut |piece| match &self.kind {
            Kind::Bpe(bpe) => bpe.encode(piece, out),
            Kind::Pieces(pieces) => pieces.encode(piece, out),
            Kind::Unigram(unigram) => unigram.encode(piece, out),
            Kind::WordPiece(words) => words.encode(piece, out),
        })
    }

    /// The text of tokens. Special tokens are left out; bytes that are no UTF-8 become `U+FFFD`, and numbers that are no
    /// token nothing.
    pub fn decode(&self, tokens: &[u32]) -> String {
        let mut decoder = TokenDecoder::new();
        let mut text = String::new();
        let mut shown = tokens.iter().filter(|token| !self.is_special(**token));
        if self.lead == Lead::FirstToken
            && let Some(&first) = shown.next()
        {
            text = decoder.push(self, first).replace(' ', "");
        }
        for &token in shown {
            text.push_str(&decoder.push(self, token));
        }
        text.push_str(&decoder.finish());
        match text.strip_prefix(' ') {
            Some(rest) if self.lead == Lead::Space => rest.to_owned(),
            _ => text,
        }
    }

    /// The bytes that a token stands for; `None` for a number that is no token.
    pub fn bytes(&self, token: u32) -> Option<&[u8]> {
        let token = self.tokens.get(usize::try_from(token).ok()?)?.as_ref()?;
        Some(&token.bytes)
    }

    /// Whether a token is one that no text is made of, such as the end of a message.
    pub fn is_special(&self, token: u32) -> bool {
        let at = usize::try_from(token).ok();
        let token = at.and_then(|at| self.tokens.get(at)?.as_ref());
        token.is_some_and(|token| token.special)
    }

    /// The number of the token with this name in the vocabulary.
    pub fn token(&self, name: &str) -> Option<u32> {
        self.by_text.get(name).copied()
    }

    /// One more than the highest number of a token.
    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    /// Whether there are no tokens.
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    fn is_word_piece(&self) -> bool {
        matches!(self.kind, Kind::WordPiece(_))
    }
}

/// Numbers of tokens from here on are no vocabulary's.
const MOST_TOKENS: usize = 1 << 24;
/// Numbers without a token are few: below this many for each token, and these.
const NUMBERS_PER_TOKEN: usize = 8;
const SPARE_NUMBERS: usize = 1 << 10;

/// What a tokenizer is put together from.
#[derive(Debug, Default)]
struct Recipe {
    /// Names of tokens with their numbers.
    vocabulary: HashMap<String, u32>,
    specials: Vec<special::Special>,
    normaliser: Vec<Normaliser>,
    splitters: Vec<Splitter>,
    around: [Vec<u32>; 2],
    lead: Lead,
}

impl Recipe {
    /// Puts it together; `bytes` says what a token that is not special stands for.
    fn build(self, kind: Kind, bytes: impl Fn(&str) -> Vec<u8>) -> Result<Tokenizer, Error> {
        let mut by_text = self.vocabulary;
        let mut tokens = Vec::new();
        let count = by_text.len().saturating_add(self.specials.len());
        // So that the list takes no more memory than a multiple of the file.
        let most = count.saturating_mul(NUMBERS_PER_TOKEN);
        let most = most.saturating_add(SPARE_NUMBERS).min(MOST_TOKENS);
        let mut place = |number: u32, token: Token| {
            let at = usize::try_from(number).unwrap_or(usize::MAX);
            if at >= most {
                return Err(wrong(format!(
                    "numbers of {count} tokens must be below {most}: one is {number}"
                )));
            }
            if tokens.len() <= at {
                tokens.resize(at + 1, None);
            }
            if let Some(slot) = tokens.get_mut(at) {
                *slot = Some(token);
            }
            Ok(())
        };
        for (text, &number) in &by_text {
            let bytes = bytes(text);
            place(
                number,
                Token {
                    bytes,
                    special: false,
                },
            )?;
        }
        for special in &self.specials {
            let (bytes, special_one) = (special.text.clone().into_bytes(), special.hidden);
            place(
                special.token,
                Token {
                    bytes,
                    special: special_one,
                },
            )?;
            by_text.insert(special.text.clone(), special.token);
        }
        Ok(Tokenizer {
            specials: Specials::new(self.specials),
            normaliser: self.normaliser,
            splitters: self.splitters,
            kind,
            tokens,
            by_text,
            around: self.around,
            lead: self.lead,
        })
    }
}

/// The token of each byte (`<0x0A>`).
fn of_bytes(vocabulary: &HashMap<String, u32>) -> Result<Vec<u32>, Error> {
    let byte = |byte: u8| {
        let name = format!("<0x{byte:02X}>");
        let token = vocabulary.get(&name).copied();
        token.ok_or_else(|| {
            wrong(format!(
                "a tokenizer with `byte_fallback` must have a token `{name}`"
            ))
        })
    };
    (0..=u8::MAX).map(byte).collect()
}

fn wrong(detail: impl Into<String>) -> Error {
    Error::Tokenizer(detail.into())
}
