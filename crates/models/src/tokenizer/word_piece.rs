//! WordPiece: a word is cut into the longest pieces of the vocabulary, from its beginning.

use std::collections::HashMap;

use super::wrong;
use crate::Error;

/// Pieces that begin words, and those that continue them.
#[derive(Debug)]
pub(super) struct WordPiece {
    begin: HashMap<String, u32>,
    within: HashMap<String, u32>,
    unknown: u32,
    most_chars: usize,
    /// Bytes of the longest piece.
    longest: usize,
}

impl WordPiece {
    /// From names of tokens, of which those that continue a word have a prefix.
    pub(super) fn new(
        vocabulary: &HashMap<String, u32>,
        prefix: &str,
        unknown: &str,
        most_chars: usize,
    ) -> Result<Self, Error> {
        let Some(&unknown) = vocabulary.get(unknown) else {
            let rule = "the token for unknown words must be in the vocabulary";
            return Err(wrong(format!("{rule}: `{unknown}` is not")));
        };
        let (mut begin, mut within) = (HashMap::new(), HashMap::new());
        for (name, &token) in vocabulary {
            if let Some(rest) = name.strip_prefix(prefix) {
                within.insert(rest.to_owned(), token);
            }
            begin.insert(name.clone(), token);
        }
        Ok(Self {
            longest: vocabulary.keys().map(String::len).max().unwrap_or(0),
            begin,
            within,
            unknown,
            most_chars,
        })
    }

    /// Appends the tokens of a word.
    pub(super) fn encode(&self, word: &str, out: &mut Vec<u32>) -> Result<(), Error> {
        let before = out.len();
        if word.chars().count() > self.most_chars {
            out.push(self.unknown);
            return Ok(());
        }
        let mut rest = word;
        while !rest.is_empty() {
            let pieces = if rest.len() == word.len() {
                &self.begin
            } else {
                &self.within
            };
            let ends = rest.char_indices().map(|(at, c)| at + c.len_utf8());
            let ends: Vec<usize> = ends.take_while(|&end| end <= self.longest).collect();
            let found = ends.iter().rev().find_map(|&end| {
                let (piece, behind) = rest.split_at(end);
                Some((*pieces.get(piece)?, behind))
            });
            let Some((token, behind)) = found else {
                out.truncate(before);
                out.push(self.unknown);
                return Ok(());
            };
            out.push(token);
            rest = behind;
        }
        Ok(())
    }
}
