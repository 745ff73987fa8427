//! SentencePiece's table of what characters become before a text is divided (`precompiled_charsmap`): a double-array trie from
//! bytes to places in a text of replacements, each of which ends with a byte of zero.

use super::wrong;
use crate::Error;

/// A table. Invariant: what is read is within it, whatever the file says.
#[derive(Debug)]
pub(super) struct Charsmap {
    units: Vec<u32>,
    replacements: String,
}

impl Charsmap {
    /// From the bytes of a file: those of the trie as u32, the trie, replacements.
    pub(super) fn new(bytes: &[u8]) -> Result<Self, Error> {
        let rule = "`precompiled_charsmap` must be the length of a trie, the trie, and texts";
        let bad = |what: String| wrong(format!("{rule}: {what}"));
        let (head, rest) = bytes
            .split_first_chunk::<4>()
            .ok_or_else(|| bad(format!("it has {} bytes", bytes.len())))?;
        let (length, available) = (u32::from_le_bytes(*head) as usize, rest.len());
        if !length.is_multiple_of(4) || length == 0 || length > available {
            return Err(bad(format!(
                "the trie has {length} bytes of {available}, in units of 4"
            )));
        }
        let (trie, texts) = rest.split_at(length);
        let (units, _) = trie.as_chunks::<4>();
        let replacements = std::str::from_utf8(texts)
            .map_err(|error| bad(format!("the texts are no UTF-8 ({error})")))?;
        Ok(Self {
            units: units.iter().map(|unit| u32::from_le_bytes(*unit)).collect(),
            replacements: replacements.to_owned(),
        })
    }

    /// What the beginnings of a text that are in the table become, with how many bytes they have, the shortest first.
    fn matches<'a>(&'a self, text: &'a str) -> impl Iterator<Item = (usize, usize)> + 'a {
        let unit = |at: usize| self.units.get(at).copied();
        let mut at = unit(0).map_or(0, offset);
        let mut bytes = text.bytes().enumerate();
        std::iter::from_fn(move || {
            loop {
                let (read, byte) = bytes.next().filter(|(_, byte)| *byte != 0)?;
                at ^= usize::from(byte);
                let found = unit(at).filter(|unit| label(*unit) == u32::from(byte))?;
                at ^= offset(found);
                if (found >> 8) & 1 == 1 {
                    // The unit of a value: all bits but the highest.
                    return Some((read + 1, unit(at)? as usize & 0x7fff_ffff));
                }
            }
        })
    }

    /// The replacement at a place.
    fn replacement(&self, at: usize) -> Result<&str, Error> {
        let rest = self.replacements.get(at..).ok_or_else(|| {
            let length = self.replacements.len();
            let rule = "`precompiled_charsmap` must point into its texts";
            wrong(format!("{rule}, {length} bytes: it points to {at}"))
        })?;
        Ok(rest.split('\0').next().unwrap_or_default())
    }

    /// A text with the longest match at each place replaced, as SentencePiece does.
    pub(super) fn longest(&self, text: &str) -> Result<String, Error> {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(character) = rest.chars().next() {
            let mut end = character.len_utf8();
            match self.matches(rest).last() {
                // A match that ends within a character is none.
                Some((bytes, at)) if rest.is_char_boundary(bytes) => {
                    out.push_str(self.replacement(at)?);
                    end = bytes;
                }
                _ => out.push(character),
            }
            rest = rest.get(end..).unwrap_or_default();
        }
        Ok(out)
    }

    /// A text with what is in the table replaced, as the package `tokenizers` does: a grapheme of fewer than six bytes becomes what its
    /// shortest beginning in the table becomes, of others each character by itself.
    pub(super) fn by_graphemes(&self, text: &str) -> Result<String, Error> {
        use unicode_segmentation::UnicodeSegmentation as _;
        let mut out = String::with_capacity(text.len());
        let take = |part: &str, out: &mut String| match self.matches(part).next() {
            Some((_, at)) => self
                .replacement(at)
                .map(|new| out.push_str(new))
                .map(|()| true),
            None => Ok(false),
        };
        for grapheme in text.graphemes(true) {
            if grapheme.len() < 6 && take(grapheme, &mut out)? {
                continue;
            }
            for character in grapheme.chars() {
                if !take(character.encode_utf8(&mut [0; 4]), &mut out)? {
                    out.push(character);
                }
            }
        }
        Ok(out)
    }
}

/// The byte that leads to a unit; a unit of a value has none.
const fn label(unit: u32) -> u32 {
    unit & 0x8000_00ff
}

/// From a unit to those behind it.
const fn offset(unit: u32) -> usize {
    ((unit >> 10) << ((unit & 0x200) >> 6)) as usize
}

/// The bytes of a text in base64, with or without padding.
pub(super) fn base64(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_end_matches('=').as_bytes();
    let mut out = Vec::with_capacity(text.len() / 4 * 3 + 2);
    for group in text.chunks(4) {
        let mut bits = 0u32;
        for &character in group {
            let value = match character {
                b'A'..=b'Z' => character - b'A',
                b'a'..=b'z' => character - b'a' + 26,
                b'0'..=b'9' => character - b'0' + 52,
                b'+' => 62,
                b'/' => 63,
                _ => return None,
            };
            bits = (bits << 6) | u32::from(value);
        }
        let bytes = match group.len() {
            4 => 3,
            3 => 2,
            2 => 1,
            _ => return None,
        };
        bits <<= 6 * (4 - group.len());
        out.extend(bits.to_be_bytes().get(1..=bytes)?);
    }
    Some(out)
}
