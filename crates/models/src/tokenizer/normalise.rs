//! What is done to a text before it is cut.

use std::borrow::Cow;
use std::sync::Arc;

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory as _};

use super::charsmap::Charsmap;
use crate::Error;

/// How [`Normaliser::Map`] applies a table.
type Apply = fn(&Charsmap, &str) -> Result<String, Error>;

/// One step.
#[derive(Clone, Debug)]
pub(super) enum Normaliser {
    /// A form of Unicode.
    Form(Form),
    /// As BERT's tokenizers do.
    Bert(Bert),
    /// A character for a space stands in front of a text that is not empty.
    Prefix(Prefix),
    /// One text becomes another.
    Replace(String, String),
    /// Two or more spaces become one text.
    Runs(String),
    /// White space at the ends goes.
    Strip {
        /// In front.
        left: bool,
        /// Behind.
        right: bool,
    },
    /// Two or more spaces become one, and those at the ends go, with the character for a space at the end.
    ExtraSpaces,
    /// No capitals.
    Lowercase,
    /// Marks that are combined with letters go.
    StripAccents,
    /// A table of replacements; a function, so that programs have only the ways to apply it that they can read from a file.
    Map(Arc<Charsmap>, Apply),
}

impl Normaliser {
    /// Spaces become a character of their own.
    pub(super) fn spaces() -> Self {
        Self::Replace(" ".to_owned(), SPACE.to_string())
    }
}

/// The forms of Unicode.
#[derive(Clone, Copy, Debug)]
pub(super) enum Form {
    Nfc,
    Nfd,
    Nfkc,
    Nfkd,
}

/// Where [`Normaliser::Prefix`] puts its character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Prefix {
    /// In front of the whole text alone, and not behind special tokens.
    pub(super) first: bool,
    /// Not in front of a space.
    pub(super) once: bool,
}

impl Prefix {
    /// In front of all.
    pub(super) const ALWAYS: Self = Self {
        first: false,
        once: false,
    };
}

/// What spaces become.
pub(super) const SPACE: char = '\u{2581}';

/// Options of [`Normaliser::Bert`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bert {
    pub(super) clean: bool,
    pub(super) chinese: bool,
    pub(super) strip_accents: bool,
    pub(super) lowercase: bool,
}

impl Bert {
    /// What models that know no capitals use.
    pub(super) const UNCASED: Self = Self {
        clean: true,
        chinese: true,
        strip_accents: true,
        lowercase: true,
    };
}

/// All steps one behind the other, for a text or what follows a special token in it.
pub(super) fn all<'a>(
    steps: &[Normaliser],
    text: &'a str,
    first: bool,
) -> Result<Cow<'a, str>, Error> {
    let start = Cow::Borrowed(text);
    steps.iter().try_fold(start, |text, step| {
        Ok(match step {
            Normaliser::Form(Form::Nfc) => Cow::Owned(text.nfc().collect()),
            Normaliser::Form(Form::Nfd) => Cow::Owned(text.nfd().collect()),
            Normaliser::Form(Form::Nfkc) => Cow::Owned(text.nfkc().collect()),
            Normaliser::Form(Form::Nfkd) => Cow::Owned(text.nfkd().collect()),
            Normaliser::Bert(options) => Cow::Owned(bert(*options, &text)),
            Normaliser::Prefix(prefix)
                if text.is_empty()
                    || (prefix.first && !first)
                    || (prefix.once && text.starts_with([' ', SPACE])) =>
            {
                text
            }
            Normaliser::Prefix(_) => Cow::Owned(format!("{SPACE}{text}")),
            Normaliser::Replace(from, to) => Cow::Owned(text.replace(from, to)),
            Normaliser::Runs(to) => Cow::Owned(runs(&text, to)),
            Normaliser::Strip { left, right } => {
                let text = if *left { text.trim_start() } else { &text };
                Cow::Owned(if *right { text.trim_end() } else { text }.to_owned())
            }
            Normaliser::ExtraSpaces => {
                let text = text.trim_start_matches(' ').trim_end_matches([' ', SPACE]);
                Cow::Owned(runs(text, " "))
            }
            Normaliser::Lowercase => Cow::Owned(lowercase(&text)),
            Normaliser::StripAccents => {
                Cow::Owned(text.chars().filter(|c| !is_combining_mark(*c)).collect())
            }
            Normaliser::Map(map, apply) => Cow::Owned(apply(map, &text)?),
        })
    })
}

/// Two or more spaces become one text.
fn runs(text: &str, to: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("  ") {
        let (before, behind) = rest.split_at(at);
        out += before;
        out += to;
        rest = behind.trim_start_matches(' ');
    }
    out + rest
}

/// Each character by itself: the sigma that ends a word is none of its own.
fn lowercase(text: &str) -> String {
    text.chars().flat_map(char::to_lowercase).collect()
}

fn bert(options: Bert, text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if options.clean && is_dropped(c) {
            continue;
        }
        let c = if options.clean && c.is_whitespace() {
            ' '
        } else {
            c
        };
        if options.chinese && is_ideograph(c) {
            out.extend([' ', c, ' ']);
        } else {
            out.push(c);
        }
    }
    if options.strip_accents {
        let marks = |c: &char| c.general_category() != GeneralCategory::NonspacingMark;
        out = out.nfd().filter(marks).collect();
    }
    if options.lowercase {
        out = lowercase(&out);
    }
    out
}

/// Control characters, but for those that are white space.
fn is_dropped(c: char) -> bool {
    let control = matches!(
        c.general_category(),
        GeneralCategory::Control
            | GeneralCategory::Format
            | GeneralCategory::PrivateUse
            | GeneralCategory::Surrogate
    );
    c == '\u{fffd}' || (control && !matches!(c, '\t' | '\n' | '\r'))
}

fn is_ideograph(c: char) -> bool {
    matches!(
        u32::from(c),
        0x4e00..=0x9fff
            | 0x3400..=0x4dbf
            | 0x2_0000..=0x2_a6df
            | 0x2_a700..=0x2_b73f
            | 0x2_b740..=0x2_b81f
            | 0x2_b920..=0x2_ceaf
            | 0xf900..=0xfaff
            | 0x2_f800..=0x2_fa1f
    )
}
