//! `debug_print("label", value, …);` and `assert(condition, "text", value, …);` in WGSL text: where they stand, and what
//! stands there instead.
//!
//! WGSL has no such functions. What checks a text, and a device that prints by itself, get [`expanded`] text, in which each
//! value is a variable that is set and then set again to itself: valid WGSL of any type, recognised by [`VARIABLE`].
//! Others get text in which a [`Statement`] is [`rewritten`] to what says it by other means, or to nothing. Lines stay where
//! they are in all.

mod said;
mod statement;

use std::borrow::Cow;
use std::ops::Range;

pub use said::{DebugPrint, DebugPrints, DebugValue, SAID_WORDS, Value, read_values};
pub use statement::{Statement, StatementKind, statements};

/// The variables of [`expanded`] text have this name, the number of the statement, `_`, and how many values of the statement
/// come behind.
pub const VARIABLE: &str = "ziggurat_debug_print_";

/// The variables of a statement's values in expanded text; one for a statement without values.
pub fn variables(number: usize, statement: &Statement) -> impl Iterator<Item = String> + use<> {
    let behind = (0..statement.values.len().max(1)).rev();
    behind.map(move |behind| format!("{VARIABLE}{number}_{behind}"))
}

/// The number of the statement that a variable is for, and how many values come behind.
#[must_use]
pub fn numbers(variable: &str) -> Option<(usize, usize)> {
    let (statement, value) = variable.strip_prefix(VARIABLE)?.split_once('_')?;
    Some((statement.parse().ok()?, value.parse().ok()?))
}

/// Text with its statements made into variables, and where its bytes come from.
#[derive(Debug)]
pub struct Expanded<'a> {
    /// The text; as it was if it has no statements.
    pub text: Cow<'a, str>,
    /// Where its bytes were before.
    pub places: Places,
}

/// Where the bytes of expanded text were before.
#[derive(Debug, Default)]
pub struct Places {
    /// Copied stretches: where each begins now, where it began, and its length.
    copied: Vec<(usize, usize, usize)>,
}

impl Places {
    /// The place in the original text of a place in the expanded one: of what was not there, the statement's.
    #[must_use]
    pub fn original(&self, at: usize) -> usize {
        let after = self.copied.partition_point(|(here, _, _)| *here <= at);
        let before = after.checked_sub(1).and_then(|i| self.copied.get(i));
        before.map_or(at, |(here, there, len)| there + (at - here).min(*len))
    }
}

/// Text being written instead of a statement: pieces of the old one, and new ones.
#[derive(Debug)]
pub struct Rewrite<'a> {
    old: &'a str,
    text: String,
    copied: Vec<(usize, usize, usize)>,
}

impl Rewrite<'_> {
    /// Appends a piece of the old text.
    pub fn copy(&mut self, range: Range<usize>) {
        let piece = self.old.get(range.clone()).unwrap_or_default();
        self.copied
            .push((self.text.len(), range.start, piece.len()));
        self.text.push_str(piece);
    }

    /// Appends new text.
    pub fn add(&mut self, text: &str) {
        self.text.push_str(text);
    }
}

/// The text with `write` called for each of `statements`, in whose place is what that appends. Line breaks of a statement
/// that are not copied follow it.
pub fn rewritten<'a>(
    text: &'a str,
    statements: &[Statement],
    mut write: impl FnMut(usize, &Statement, &mut Rewrite<'a>),
) -> Expanded<'a> {
    if statements.is_empty() {
        return Expanded {
            text: Cow::Borrowed(text),
            places: Places::default(),
        };
    }
    let mut out = Rewrite {
        old: text,
        text: String::with_capacity(text.len() + 64 * statements.len()),
        copied: Vec::new(),
    };
    let lines = |text: &str| text.bytes().filter(|byte| *byte == b'\n').count();
    let mut at = 0;
    for (number, statement) in statements.iter().enumerate() {
        out.copy(at..statement.whole.start);
        let start = out.text.len();
        write(number, statement, &mut out);
        let written = lines(out.text.get(start..).unwrap_or_default());
        let had = lines(text.get(statement.whole.clone()).unwrap_or_default());
        let missing = had.saturating_sub(written);
        out.text.extend(std::iter::repeat_n('\n', missing));
        at = statement.whole.end;
    }
    out.copy(at..text.len());
    Expanded {
        text: Cow::Owned(out.text),
        places: Places { copied: out.copied },
    }
}

/// The text with its statements made into variables.
///
/// ```
/// let text = ziggurat_core::debug_print::expanded("debug_print(x + 1u);").text;
/// let name = "ziggurat_debug_print_0_0";
/// assert_eq!(text, format!("{{ var {name} = (x + 1u); {name} = {name}; }}"));
/// ```
#[must_use]
pub fn expanded(text: &str) -> Expanded<'_> {
    rewritten(text, &statements(text), |number, statement, out| {
        out.add(statement.condition.as_ref().map_or("{", |_| "if !("));
        if let Some(condition) = &statement.condition {
            out.copy(condition.clone());
            out.add(") {");
        }
        declare(number, statement, out);
        for name in variables(number, statement) {
            out.add(&format!(" {name} = {name};"));
        }
        out.add(" }");
    })
}

/// Declares the variables of a statement's values; of one without values, a number.
pub fn declare(number: usize, statement: &Statement, out: &mut Rewrite<'_>) {
    for (value, name) in variables(number, statement).enumerate() {
        out.add(&format!(" var {name} = ("));
        match statement.values.get(value) {
            Some(range) => out.copy(range.clone()),
            // Somebody must see that it is here.
            None => out.add("0u"),
        }
        out.add(");");
    }
}

/// The text without its statements; as it is if it has none.
///
/// ```
/// let text = ziggurat_core::debug_print::removed("if odd {\n  debug_print(x,\n y); }");
/// assert_eq!(text, "if odd {\n  \n }");
/// ```
#[must_use]
pub fn removed(text: &str) -> Cow<'_, str> {
    rewritten(text, &statements(text), |_, _, _| {}).text
}

/// The text without its `assert`s, for a device that prints by itself.
#[must_use]
pub fn without_asserts(text: &str) -> Cow<'_, str> {
    let mut asserts = statements(text);
    asserts.retain(|statement| statement.kind == StatementKind::Assert);
    rewritten(text, &asserts, |_, _, _| {}).text
}

#[cfg(test)]
mod tests;
