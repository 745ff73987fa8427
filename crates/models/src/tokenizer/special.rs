//! Tokens with names that are found in a text before everything else.

use std::collections::HashMap;

/// A token that is found by its name.
#[derive(Clone, Debug)]
pub(super) struct Special {
    pub(super) text: String,
    pub(super) token: u32,
    /// Not a part of decoded text.
    pub(super) hidden: bool,
    /// Whether white space in front of it, and behind it, is a part of it.
    pub(super) strip: [bool; 2],
}

/// All of them, by their first bytes.
#[derive(Debug)]
pub(super) struct Specials {
    /// For each first byte the tokens, the longest name first.
    by_first: HashMap<u8, Vec<Special>>,
}

impl Specials {
    pub(super) fn new(all: Vec<Special>) -> Self {
        let mut by_first: HashMap<u8, Vec<Special>> = HashMap::new();
        for special in all {
            if let Some(&first) = special.text.as_bytes().first() {
                by_first.entry(first).or_default().push(special);
            }
        }
        for names in by_first.values_mut() {
            names.sort_by_key(|name| std::cmp::Reverse(name.text.len()));
        }
        Self { by_first }
    }

    /// Beginning, end and token of each that is in the text, from the left.
    pub(super) fn find<'a>(
        &'a self,
        text: &'a str,
    ) -> impl Iterator<Item = (usize, usize, u32)> + 'a {
        let (mut at, mut end) = (0, 0);
        std::iter::from_fn(move || {
            while let Some(rest) = text.as_bytes().get(at..) {
                let first = rest.first()?;
                let names = self.by_first.get(first).map_or(&[][..], Vec::as_slice);
                let found = names
                    .iter()
                    .find(|name| rest.starts_with(name.text.as_bytes()));
                if let Some(Special {
                    text: name,
                    token,
                    strip: [left, right],
                    ..
                }) = found
                {
                    let before = text.get(end..at).unwrap_or_default();
                    let behind = text.get(at + name.len()..).unwrap_or_default();
                    let kept = if *left { before.trim_end() } else { before };
                    let gone = if *right {
                        behind.len() - behind.trim_start().len()
                    } else {
                        0
                    };
                    let start = end + kept.len();
                    end = at + name.len() + gone;
                    at = end;
                    return Some((start, end, *token));
                }
                at += 1;
            }
            None
        })
    }
}
