//! Tokens with names that are found in a text before everything else.

use std::collections::HashMap;

/// A token that is found by its name.
#[derive(Clone, Debug)]
pub(super) struct Special {
    pub(super) text: String,
    pub(super) token: u32,
    /// Not a part of decoded text.
    pub(super) hidden: bool,
}

/// All of them, by their first bytes.
#[derive(Debug)]
pub(super) struct Specials {
    /// For each first byte the names with their tokens, the longest first.
    by_first: HashMap<u8, Vec<(String, u32)>>,
}

impl Specials {
    pub(super) fn new(all: Vec<Special>) -> Self {
        let mut by_first: HashMap<u8, Vec<(String, u32)>> = HashMap::new();
        for special in all {
            if let Some(&first) = special.text.as_bytes().first() {
                by_first
                    .entry(first)
                    .or_default()
                    .push((special.text, special.token));
            }
        }
        for names in by_first.values_mut() {
            names.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        }
        Self { by_first }
    }

    /// Beginning, end and token of each that is in the text, from the left.
    pub(super) fn find<'a>(
        &'a self,
        text: &'a str,
    ) -> impl Iterator<Item = (usize, usize, u32)> + 'a {
        let mut at = 0;
        std::iter::from_fn(move || {
            while let Some(rest) = text.as_bytes().get(at..) {
                let first = rest.first()?;
                let names = self.by_first.get(first).map_or(&[][..], Vec::as_slice);
                let found = names
                    .iter()
                    .find(|(name, _)| rest.starts_with(name.as_bytes()));
                if let Some((name, token)) = found {
                    let start = at;
                    at += name.len();
                    return Some((start, at, *token));
                }
                at += 1;
            }
            None
        })
    }
}
