//! What is done to a text before it is cut.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization as _;
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory as _};

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Normaliser {
    /// The composed form of Unicode.
    Nfc,
    /// As BERT's tokenizers do.
    Bert(Bert),
    /// A character for a space stands in front.
    Prefix(Prefix),
    /// Spaces become a character of their own.
    Spaces,
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
pub(super) fn all<'a>(steps: &[Normaliser], text: &'a str, first: bool) -> Cow<'a, str> {
    let start = Cow::Borrowed(text);
    steps.iter().fold(start, |text, step| match step {
        Normaliser::Nfc => Cow::Owned(text.nfc().collect()),
        Normaliser::Bert(options) => Cow::Owned(bert(*options, &text)),
        Normaliser::Prefix(prefix)
            if (prefix.first && !first) || (prefix.once && text.starts_with([' ', SPACE])) =>
        {
            text
        }
        Normaliser::Prefix(_) => Cow::Owned(format!("{SPACE}{text}")),
        Normaliser::Spaces => Cow::Owned(text.replace(' ', SPACE.encode_utf8(&mut [0; 4]))),
    })
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
        out = out.chars().flat_map(char::to_lowercase).collect();
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
