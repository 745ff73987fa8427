//! Finding the statements in a text.

use std::ops::Range;

use crate::wgsl::{is_word, skip_blank, skip_string, tokens};

/// Bytes of a label that are kept.
const LABEL: usize = 200;

/// What a statement does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StatementKind {
    /// `debug_print`: says its values.
    Print,
    /// `assert`: says that its condition does not hold.
    Assert,
}

impl StatementKind {
    fn named(word: &str) -> Option<Self> {
        match word {
            "debug_print" => Some(Self::Print),
            "assert" => Some(Self::Assert),
            _ => None,
        }
    }
}

/// A statement `debug_print("label", value, …);` or `assert(condition, "text", value, …);`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// Which of the two.
    pub kind: StatementKind,
    /// All of it, with the semicolon.
    pub whole: Range<usize>,
    /// An assertion's condition.
    pub condition: Option<Range<usize>>,
    /// What is said before the values.
    pub label: Option<String>,
    /// The values.
    pub values: Vec<Range<usize>>,
}

/// The statements of a text, in order. A name for which the text has a function stays that function's. Takes time in
/// proportion to the text.
#[must_use]
pub fn statements(text: &str) -> Vec<Statement> {
    if !text.contains("debug_print") && !text.contains("assert") {
        return Vec::new();
    }
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut own = Vec::new();
    // Open brackets: the name of the call that one belongs to, where that stands, and where its arguments begin.
    let mut open: Vec<Option<(StatementKind, usize, usize)>> = Vec::new();
    let mut name = None;
    let mut before = "";
    let mut at = skip_blank(bytes, 0);
    while let Some(&byte) = bytes.get(at) {
        let start = at;
        at += 1;
        let named = name.take();
        if is_word(byte) {
            while bytes.get(at).copied().is_some_and(is_word) {
                at += 1;
            }
            let word = text.get(start..at).unwrap_or_default();
            if let Some(kind) = StatementKind::named(word) {
                match before {
                    "fn" => own.push(kind),
                    _ => name = Some((kind, start)),
                }
            }
            before = word;
        } else {
            before = "";
            match byte {
                b'"' => at = skip_string(bytes, start).unwrap_or(at),
                b'(' => open.push(named.map(|(kind, name)| (kind, name, at))),
                b'[' => open.push(None),
                b')' | b']' => {
                    let semicolon = skip_blank(bytes, at);
                    if let Some(Some((kind, name, arguments))) = open.pop()
                        && bytes.get(semicolon) == Some(&b';')
                    {
                        at = semicolon + 1;
                        found.push(statement(text, kind, name..at, arguments..start));
                        open.clear();
                    }
                }
                b'{' | b'}' | b';' => open.clear(),
                _ => {}
            }
        }
        at = skip_blank(bytes, at);
    }
    found.retain(|statement| !own.contains(&statement.kind));
    found
}

fn statement(
    text: &str,
    kind: StatementKind,
    whole: Range<usize>,
    arguments: Range<usize>,
) -> Statement {
    let mut values = pieces(text, arguments);
    let mut condition = None;
    if kind == StatementKind::Assert && !values.is_empty() {
        condition = Some(values.remove(0));
    }
    let label = values.first().and_then(|first| label(text, first.clone()));
    if label.is_some() {
        let _label = values.remove(0);
    }
    Statement {
        kind,
        whole,
        condition,
        label,
        values,
    }
}

/// What stands between the quotes of an argument that is a text.
fn label(text: &str, argument: Range<usize>) -> Option<String> {
    let argument = text.get(argument)?;
    let mut tokens = tokens(argument);
    let (_, token) = tokens.next()?;
    let inner = token.strip_prefix('"')?.strip_suffix('"')?;
    let is_all = token.len() > 1 && tokens.next().is_none();
    is_all.then(|| crate::text::shortened(inner, LABEL).into_owned())
}

/// The arguments between commas; a last one without content is none. Commas in brackets and in lists of types
/// (`array<u32, 4>`) divide nothing.
fn pieces(text: &str, arguments: Range<usize>) -> Vec<Range<usize>> {
    let inner = text.get(arguments.clone()).unwrap_or_default();
    let mut commas = Vec::new();
    // By open `<` that may begin a list of types: the depth of brackets, and the commas before.
    let mut lists: Vec<(usize, usize)> = Vec::new();
    let mut depth = 0_usize;
    let mut last = ("", 0);
    let bytes = inner.as_bytes();
    for (at, token) in tokens(inner) {
        let next = bytes.get(at + 1).copied();
        let is_double = next == token.bytes().next();
        match token {
            "(" | "[" => depth += 1,
            ")" | "]" => {
                depth = depth.saturating_sub(1);
                while lists.last().is_some_and(|list| list.0 > depth) {
                    let _gone = lists.pop();
                }
            }
            "<" if last.0.bytes().next().is_some_and(is_word)
                && !is_double
                && next != Some(b'=') =>
            {
                lists.push((depth, commas.len()));
            }
            // The second of `->`, `>=` and the like ends nothing that could be a list of types here.
            ">" if lists.last().is_some_and(|list| list.0 == depth) => {
                if let Some((_, before)) = lists.pop() {
                    commas.truncate(before);
                }
            }
            "&" | "|" if is_double => {
                while lists.last().is_some_and(|list| list.0 >= depth) {
                    let _gone = lists.pop();
                }
            }
            "," if depth == 0 => commas.push(at),
            _ => {}
        }
        last = (token, at);
    }
    let mut pieces = Vec::with_capacity(commas.len() + 1);
    let mut begin = 0;
    for comma in commas {
        pieces.push(arguments.start + begin..arguments.start + comma);
        begin = comma + 1;
    }
    let rest = inner.get(begin..).unwrap_or_default();
    if pieces.is_empty() || tokens(rest).next().is_some() {
        pieces.push(arguments.start + begin..arguments.end);
    }
    pieces
}
