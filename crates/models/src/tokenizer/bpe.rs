//! Byte-level BPE: bytes of a piece are joined to tokens, the pair of the lowest rank first.

use std::collections::HashMap;

use super::merges::Merges;
use super::{bytes, wrong};
use crate::Error;

/// Tokens of bytes, and which two become which.
#[derive(Debug)]
pub(super) struct Bpe {
    /// The token of each byte.
    of_byte: Vec<Option<u32>>,
    merges: Merges,
    unknown: Option<u32>,
    /// Whole pieces that are tokens are taken as they are, whatever the merges.
    whole: Option<HashMap<Vec<u8>, u32>>,
}

impl Bpe {
    /// From names of tokens and merges in order of rank. `whole`: a piece that is a token by itself is not merged.
    pub(super) fn new<'a>(
        vocabulary: &HashMap<String, u32>,
        merges: impl Iterator<Item = (&'a str, &'a str)>,
        unknown: Option<u32>,
        whole: bool,
    ) -> Result<Self, Error> {
        let characters = bytes::characters();
        let token = |name: &str| vocabulary.get(name).copied();
        let name = |character: &char| token(character.encode_utf8(&mut [0; 4]));
        let all = || vocabulary.iter();
        let whole = whole.then(|| {
            all()
                .map(|(name, &token)| (bytes::of_name(name, &characters), token))
                .collect()
        });
        Ok(Self {
            of_byte: characters.iter().map(name).collect(),
            merges: Merges::new(vocabulary, merges)?,
            unknown,
            whole,
        })
    }

    /// Appends the tokens of a piece.
    pub(super) fn encode(&self, piece: &str, out: &mut Vec<u32>) -> Result<(), Error> {
        if let Some(&token) = self
            .whole
            .as_ref()
            .and_then(|all| all.get(piece.as_bytes()))
        {
            out.push(token);
            return Ok(());
        }
        let mut tokens = Vec::with_capacity(piece.len());
        for byte in piece.bytes() {
            let known = self.of_byte.get(usize::from(byte)).copied().flatten();
            let Some(token) = known.or(self.unknown) else {
                let text = format!(
                    "the vocabulary has no token for the byte {byte:#04x}, nor one for the unknown"
                );
                return Err(wrong(text));
            };
            tokens.push(token);
        }
        self.merges.join(&tokens, out);
        Ok(())
    }
}
