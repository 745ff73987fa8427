//! How a text is cut into pieces before tokens are looked for.
//!
//! The patterns that vocabularies were trained with are regular expressions; they are few, so each is a variant here, and
//! one that is not known is an error.

use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory as _};

use super::normalise::SPACE;
use crate::Error;

/// One way to cut a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Splitter {
    /// A digit is a piece of its own.
    Digits,
    /// Words, numbers, and so on, as one of the known patterns has them.
    Pattern(Pattern),
    /// Words between spaces, and each mark of punctuation.
    Bert,
    /// Words between white space.
    Words {
        /// With the character for a space in front, where it is not.
        prefix: bool,
    },
    /// A character for a space begins a piece.
    Spaces,
}

/// The differences of the known patterns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pattern {
    /// `'S` ends a word as `'s` does.
    any_case: bool,
    /// What stands in front of a word's letters: any character that is no letter, number or end of line; else a space.
    any_prefix: bool,
    /// The most digits of a number; 0 for any number of them, behind a space.
    digits: usize,
    /// Ends of lines belong to the punctuation in front of them, and end runs of white space.
    lines: bool,
}

impl Pattern {
    pub(super) const GPT2: Self = Self {
        any_case: false,
        any_prefix: false,
        digits: 0,
        lines: false,
    };
    pub(super) const LLAMA3: Self = Self {
        any_case: true,
        any_prefix: true,
        digits: 3,
        lines: true,
    };
    pub(super) const QWEN2: Self = Self {
        digits: 1,
        ..Self::LLAMA3
    };

    /// The pattern that is written as this regular expression.
    pub(super) fn of_regex(regex: &str) -> Option<Self> {
        match regex {
            r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
            | r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+" => {
                Some(Self::GPT2)
            }
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+" => {
                Some(Self::LLAMA3)
            }
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+" => {
                Some(Self::QWEN2)
            }
            _ => None,
        }
    }
}

/// Hands out the pieces of a text, cut by all splitters one behind the other.
pub(super) fn all(
    splitters: &[Splitter],
    text: &str,
    take: &mut dyn FnMut(&str) -> Result<(), Error>,
) -> Result<(), Error> {
    match splitters.split_first() {
        None => take(text),
        Some((Splitter::Digits, rest)) => {
            let mut start = 0;
            for (at, digit) in text.char_indices().filter(|(_, c)| is_number(*c)) {
                let end = at + digit.len_utf8();
                for (from, to) in [(start, at), (at, end)] {
                    let piece = text.get(from..to).unwrap_or_default();
                    if !piece.is_empty() {
                        all(rest, piece, take)?;
                    }
                }
                start = end;
            }
            match text.get(start..) {
                None | Some("") => Ok(()),
                Some(piece) => all(rest, piece, take),
            }
        }
        Some((Splitter::Pattern(pattern), rest)) => {
            let mut left = text;
            while !left.is_empty() {
                // At least one character, whatever it is.
                let least = left.chars().next().map_or(left.len(), char::len_utf8);
                let end = pattern.first_piece(left).max(least);
                let (piece, behind) = left.split_at(end);
                all(rest, piece, take)?;
                left = behind;
            }
            Ok(())
        }
        Some((Splitter::Words { prefix }, rest)) => {
            let mut words = text.split_whitespace();
            words.try_for_each(|word| {
                if *prefix && !word.starts_with(SPACE) {
                    all(rest, &format!("{SPACE}{word}"), take)
                } else {
                    all(rest, word, take)
                }
            })
        }
        Some((Splitter::Spaces, rest)) => {
            let mut start = 0;
            let begins = text.match_indices(SPACE).map(|(at, _)| at);
            for end in begins.filter(|at| *at > 0).chain([text.len()]) {
                all(rest, text.get(start..end).unwrap_or_default(), take)?;
                start = end;
            }
            Ok(())
        }
        Some((Splitter::Bert, rest)) => {
            let mut pieces = text.split(char::is_whitespace).flat_map(|word| {
                let marks = word.split_inclusive(is_punctuation);
                marks.flat_map(|piece| match piece.char_indices().next_back() {
                    Some((at, last)) if is_punctuation(last) => piece.split_at(at).into(),
                    _ => [piece, ""],
                })
            });
            pieces.try_for_each(|piece| {
                if piece.is_empty() {
                    Ok(())
                } else {
                    all(rest, piece, take)
                }
            })
        }
    }
}

fn is_letter(c: char) -> bool {
    c.is_ascii_alphabetic()
        || (!c.is_ascii() && c.general_category_group() == GeneralCategoryGroup::Letter)
}

fn is_number(c: char) -> bool {
    c.is_ascii_digit()
        || (!c.is_ascii() && c.general_category_group() == GeneralCategoryGroup::Number)
}

fn is_punctuation(c: char) -> bool {
    c.is_ascii_punctuation()
        || (!c.is_ascii() && c.general_category_group() == GeneralCategoryGroup::Punctuation)
}

fn is_line_end(c: char) -> bool {
    matches!(c, '\r' | '\n')
}

/// Neither white space nor letter nor number.
fn is_other(c: char) -> bool {
    !c.is_whitespace() && !is_letter(c) && !is_number(c)
}

/// Bytes of the characters at the beginning for which `f` is true.
fn run(text: &str, f: impl Fn(char) -> bool) -> usize {
    text.find(|c| !f(c)).unwrap_or(text.len())
}

impl Pattern {
    /// The bytes of the first piece: the alternatives of the regular expression in order.
    fn first_piece(self, text: &str) -> usize {
        let contraction = self.contraction(text);
        if contraction > 0 {
            return contraction;
        }
        let mut chars = text.chars();
        let first = chars.next().unwrap_or(' ');
        let behind = chars.as_str();
        let skipped = first.len_utf8();
        let may_precede = if self.any_prefix {
            !is_line_end(first) && !is_letter(first) && !is_number(first)
        } else {
            first == ' '
        };
        let letters = run(text, is_letter);
        if letters > 0 {
            return letters;
        }
        let letters = run(behind, is_letter);
        if may_precede && letters > 0 {
            return skipped + letters;
        }
        if self.digits > 0 {
            let numbers = text.chars().take(self.digits).take_while(|&c| is_number(c));
            let bytes: usize = numbers.map(char::len_utf8).sum();
            if bytes > 0 {
                return bytes;
            }
        } else {
            let space = if first == ' ' { skipped } else { 0 };
            let numbers = run(text.get(space..).unwrap_or_default(), is_number);
            if numbers > 0 {
                return space + numbers;
            }
        }
        let space = if first == ' ' { skipped } else { 0 };
        let others = run(text.get(space..).unwrap_or_default(), is_other);
        if others > 0 {
            let end = space + others;
            let lines = text.get(end..).map_or(0, |rest| run(rest, is_line_end));
            return if self.lines { end + lines } else { end };
        }
        self.spaces(text)
    }

    /// White space: up to its last end of line, or all but the last character if something follows, or all.
    fn spaces(self, text: &str) -> usize {
        let end = run(text, char::is_whitespace);
        let spaces = text.get(..end).unwrap_or_default();
        if self.lines
            && let Some(at) = spaces.rfind(is_line_end)
        {
            return at + 1;
        }
        let last = spaces.chars().next_back().map_or(0, char::len_utf8);
        if end < text.len() && end > last {
            end - last
        } else {
            end
        }
    }

    /// `'s`, `'t`, `'re`, `'ve`, `'m`, `'ll`, `'d`.
    fn contraction(self, text: &str) -> usize {
        let Some(rest) = text.strip_prefix('\'') else {
            return 0;
        };
        let same = |c: char, wanted: char| {
            // The long s is an s in another case.
            c == wanted
                || (self.any_case
                    && (c.eq_ignore_ascii_case(&wanted) || (wanted == 's' && c == '\u{17f}')))
        };
        for ending in ["s", "t", "re", "ve", "m", "ll", "d"] {
            let mut chars = rest.chars();
            let fits = ending
                .chars()
                .all(|wanted| chars.next().is_some_and(|c| same(c, wanted)));
            if fits {
                return text.len() - chars.as_str().len();
            }
        }
        0
    }
}
