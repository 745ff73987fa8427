//! SentencePiece with BPE: characters are joined to tokens, the pair that becomes the one with the best score first. A character
//! that is in no token is written as its bytes.

use std::collections::HashMap;

use super::merges::Merges;
use super::{of_bytes, wrong};
use crate::Error;

/// Characters that are no token by themselves have numbers from here on: no vocabulary is as large.
const CHARACTERS: u32 = 1 << 31;
/// Bytes of a token that text is joined to, at most: each of its divisions is looked at.
const LONGEST: usize = 256;

/// Tokens of characters, and those of bytes.
#[derive(Debug)]
pub(super) struct Pieces {
    of_character: HashMap<char, u32>,
    merges: Merges,
    /// The token of each byte.
    of_byte: Vec<Option<u32>>,
    unknown: Option<u32>,
}

/// A token that text is joined to: its number, its characters and its score.
pub(super) type Piece<'a> = (u32, &'a str, f32);

impl Pieces {
    pub(super) fn new(
        pieces: &[Piece<'_>],
        of_byte: Vec<Option<u32>>,
        unknown: Option<u32>,
    ) -> Result<Self, Error> {
        let mut scores: Vec<f32> = pieces.iter().map(|&(.., score)| score).collect();
        if scores.iter().any(|score| score.is_nan()) {
            return Err(wrong("the scores of tokens must be numbers: one is NaN"));
        }
        // The best first; equal scores have the same rank.
        scores.sort_by(|a, b| b.total_cmp(a));
        scores.dedup();
        let mut tokens = HashMap::new();
        for &(token, text, _) in pieces {
            if text.len() > LONGEST {
                let bytes = text.len();
                let rule = "a token must be no longer than";
                return Err(wrong(format!(
                    "{rule} {LONGEST} bytes: {token} has {bytes}"
                )));
            }
            tokens.entry(text).or_insert(token);
        }
        let find = |text: &str| tokens.get(text).copied().or_else(|| alone(text));
        let mut merges = Merges::default();
        for &(_, text, score) in pieces {
            let rank = scores.partition_point(|&other| other > score) as u32;
            let joined = tokens.get(text).copied().unwrap_or_default();
            for (at, _) in text.char_indices().skip(1) {
                let (left, right) = text.split_at(at);
                if let (Some(left), Some(right)) = (find(left), find(right)) {
                    merges.0.entry((left, right)).or_insert((rank, joined));
                }
            }
        }
        let all = tokens.iter().map(|(text, &token)| (*text, token));
        Ok(Self {
            of_character: characters(all),
            merges,
            of_byte,
            unknown,
        })
    }

    /// From merges in order of rank, and a vocabulary with a token for each byte (`<0x0A>`).
    pub(super) fn from_merges<'a>(
        vocabulary: &HashMap<String, u32>,
        merges: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, Error> {
        let all = vocabulary
            .iter()
            .map(|(text, &token)| (text.as_str(), token));
        Ok(Self {
            of_character: characters(all),
            merges: Merges::new(vocabulary, merges)?,
            of_byte: of_bytes(vocabulary)?.into_iter().map(Some).collect(),
            unknown: None,
        })
    }

    /// Appends the tokens of a piece of text.
    pub(super) fn encode(&self, piece: &str, out: &mut Vec<u32>) -> Result<(), Error> {
        let token = |c: char| self.of_character.get(&c).copied();
        let tokens = piece
            .chars()
            .map(|c| token(c).unwrap_or(CHARACTERS | u32::from(c)));
        let tokens: Vec<u32> = tokens.collect();
        let mut joined = Vec::with_capacity(tokens.len());
        self.merges.join(&tokens, &mut joined);
        for token in joined {
            let character = token.checked_sub(CHARACTERS).and_then(char::from_u32);
            match character {
                None => out.push(token),
                Some(character) => self.spell(character, out)?,
            }
        }
        Ok(())
    }

    /// Appends the bytes of a character that is no token.
    fn spell(&self, character: char, out: &mut Vec<u32>) -> Result<(), Error> {
        let bytes = character.to_string().into_bytes();
        let tokens = bytes
            .iter()
            .map(|&byte| self.of_byte.get(usize::from(byte)).copied()?);
        let tokens: Option<Vec<u32>> = tokens.collect();
        match (tokens, self.unknown) {
            (Some(tokens), _) => out.extend(tokens),
            (None, Some(unknown)) => out.push(unknown),
            (None, None) => {
                let rule = "the vocabulary has no token for the character";
                return Err(wrong(format!(
                    "{rule} {character:?}, nor one for the unknown"
                )));
            }
        }
        Ok(())
    }
}

/// The tokens that are one character.
fn characters<'a>(all: impl Iterator<Item = (&'a str, u32)>) -> HashMap<char, u32> {
    let single = |(text, token): (&str, u32)| {
        let mut characters = text.chars();
        Some((characters.next()?, token)).filter(|_| characters.next().is_none())
    };
    all.filter_map(single).collect()
}

/// The byte that a token such as `<0x0A>` stands for.
pub(super) fn byte_of(name: &str) -> Option<u8> {
    let digits = name.strip_prefix("<0x")?.strip_suffix('>')?;
    let right = digits.len() == 2 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    u8::from_str_radix(digits, 16).ok().filter(|_| right)
}

/// The number of a text that is one character.
fn alone(text: &str) -> Option<u32> {
    let mut characters = text.chars();
    let first = characters.next()?;
    characters
        .next()
        .is_none()
        .then(|| CHARACTERS | u32::from(first))
}
