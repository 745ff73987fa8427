//! Text to the numbers of tokens, and back.
//!
//! Three kinds: byte-level BPE, SentencePiece's BPE and WordPiece. They are read from a GGUF file's metadata or from a
//! `tokenizer.json`; what such a file asks for and this module does not know is an error that names it.
//!
//! # Byte-level BPE
//! Text is cut into pieces by a pattern that the file names (words, numbers, spaces); bytes of each piece are joined, the
//! pair with the lowest rank first. Tokens are bytes: one alone may be a fraction of a character, which
//! [`TokenDecoder`] waits for.
//!
//! Invariants: the same numbers as the Python package `tokenizers` gives for the same file; time grows with `n log n` of the
//! text, whatever the text is.

mod bpe;
mod bytes;
mod decoder;
mod from_gguf;
mod from_json;
mod merges;
mod normalise;
mod pieces;
mod special;
mod split;
mod word_piece;

use std::collections::HashMap;

use bpe::Bpe;
pub use decoder::TokenDecoder;
use normalise::Normaliser;
use pieces::Pieces;
use special::Specials;
use split::Splitter;
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
}

#[derive(Debug)]
enum Kind {
    Bpe(Bpe),
    Pieces(Pieces),
    WordPiece(WordPiece),
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
        let text = normalise::all(&self.normaliser, text, first);
        split::all(&self.splitters, &text, &mut |piece| match &self.kind {
            Kind::Bpe(bpe) => bpe.encode(piece, out),
            Kind::Pieces(pieces) => pieces.encode(piece, out),
            Kind::WordPiece(words) => words.encode(piece, out),
        })
    }

    /// The text of tokens. Special tokens are left out; bytes that are no UTF-8 become `U+FFFD`, and numbers that are no
    /// token nothing.
    pub fn decode(&self, tokens: &[u32]) -> String {
        let mut decoder = TokenDecoder::new();
        let mut text = String::new();
        for &token in tokens {
            if !self.is_special(token) {
                text.push_str(&decoder.push(self, token));
            }
        }
        text.push_str(&decoder.finish());
        // The space that was put in front of the text.
        match (&self.kind, text.strip_prefix(' ')) {
            (Kind::Pieces(pieces), Some(rest)) if pieces.prefix => rest.to_owned(),
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

/// A vocabulary with merges is as large as its file; numbers of tokens beyond this are no vocabulary.
const MOST_TOKENS: usize = 1 << 24;

/// What a tokenizer is put together from.
#[derive(Debug, Default)]
struct Recipe {
    /// Names of tokens with their numbers.
    vocabulary: HashMap<String, u32>,
    specials: Vec<special::Special>,
    normaliser: Vec<Normaliser>,
    splitters: Vec<Splitter>,
    around: [Vec<u32>; 2],
}

impl Recipe {
    /// Puts it together; `bytes` says what a token that is not special stands for.
    fn build(self, kind: Kind, bytes: impl Fn(&str) -> Vec<u8>) -> Result<Tokenizer, Error> {
        let mut by_text = self.vocabulary;
        let mut tokens = Vec::new();
        let mut place = |number: u32, token: Token| {
            let at = usize::try_from(number).unwrap_or(usize::MAX);
            if at >= MOST_TOKENS {
                let most = MOST_TOKENS;
                return Err(wrong(format!(
                    "a token has the number {number}, and {most} is beyond any vocabulary"
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
        })
    }
}

fn wrong(detail: impl Into<String>) -> Error {
    Error::Tokenizer(detail.into())
}
