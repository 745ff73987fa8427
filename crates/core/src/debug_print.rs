//! `debug_print(value);` in WGSL text: where it stands, and what stands there instead.
//!
//! WGSL has no such function. A device that can print gets [`expanded`] text, in which each call is a variable that is
//! set and then set again to itself: valid WGSL of any type, which the device recognises by [`VARIABLE`]. Every other
//! device gets [`removed`] text. Lines stay where they are in both.

use std::borrow::Cow;
use std::ops::Range;

use crate::wgsl::{is_word, skip_blank};

/// The variables of [`expanded`] text have this name, and a number after it.
pub const VARIABLE: &str = "ziggurat_debug_print_";

const NAME: &str = "debug_print";

/// A statement `debug_print(argument);`.
struct Call {
    /// All of it, with the semicolon.
    statement: Range<usize>,
    argument: Range<usize>,
}

/// Text with its calls made into variables, and where its bytes come from.
#[derive(Debug)]
pub struct Expanded<'a> {
    /// The text; as it was if it has no calls, or defines such a function itself.
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
    /// The place in the original text of a place in the expanded one: of what was not there, the call's.
    #[must_use]
    pub fn original(&self, at: usize) -> usize {
        let after = self.copied.partition_point(|(here, _, _)| *here <= at);
        let before = after.checked_sub(1).and_then(|i| self.copied.get(i));
        before.map_or(at, |(here, there, len)| there + (at - here).min(*len))
    }
}

/// The text with its calls made into variables.
///
/// ```
/// let text = ziggurat_core::debug_print::expanded("debug_print(x + 1u);").text;
/// let name = "ziggurat_debug_print_0";
/// assert_eq!(text, format!("{{ var {name} = (x + 1u); {name} = {name}; }}"));
/// ```
#[must_use]
pub fn expanded(text: &str) -> Expanded<'_> {
    let mut copied = Vec::new();
    let mut copy = |out: &mut String, range: Range<usize>| {
        let piece = text.get(range.clone()).unwrap_or_default();
        copied.push((out.len(), range.start, piece.len()));
        out.push_str(piece);
    };
    let calls = calls(text);
    if calls.is_empty() {
        return Expanded {
            text: Cow::Borrowed(text),
            places: Places::default(),
        };
    }
    let mut out = String::with_capacity(text.len() + 64 * calls.len());
    let mut at = 0;
    for (number, call) in calls.into_iter().enumerate() {
        let Call {
            statement,
            argument,
        } = call;
        copy(&mut out, at..statement.start);
        let name = format!("{VARIABLE}{number}");
        let lines = |range: Range<usize>| {
            let text = text.get(range).unwrap_or_default();
            text.matches('\n').count()
        };
        let around = lines(statement.clone()).saturating_sub(lines(argument.clone()));
        out.push_str(&format!("{{ var {name} = ("));
        copy(&mut out, argument);
        out.push_str(&format!("); {name} = {name}; }}"));
        out.extend(std::iter::repeat_n('\n', around));
        at = statement.end;
    }
    copy(&mut out, at..text.len());
    Expanded {
        text: Cow::Owned(out),
        places: Places { copied },
    }
}

/// The text without its calls; as it is if it has none, or defines such a function itself.
///
/// ```
/// let text = ziggurat_core::debug_print::removed("if odd {\n  debug_print(x,\n y); }");
/// assert_eq!(text, "if odd {\n  \n }");
/// ```
#[must_use]
pub fn removed(text: &str) -> Cow<'_, str> {
    let calls = calls(text);
    if calls.is_empty() {
        return Cow::Borrowed(text);
    }
    let part = |range: Range<usize>| text.get(range).unwrap_or_default();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for call in calls {
        out.push_str(part(at..call.statement.start));
        out.extend(part(call.statement.clone()).chars().filter(|c| *c == '\n'));
        at = call.statement.end;
    }
    out.push_str(part(at..text.len()));
    Cow::Owned(out)
}

/// The statements, in order; none if the text has a function of that name. Takes time in proportion to the text.
fn calls(text: &str) -> Vec<Call> {
    if !text.contains(NAME) {
        return Vec::new();
    }
    let bytes = text.as_bytes();
    let mut calls = Vec::new();
    // Open brackets: where the name of the call stands that one belongs to, and where its argument begins.
    let mut open: Vec<Option<(usize, usize)>> = Vec::new();
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
            if word == NAME {
                if before == "fn" {
                    return Vec::new();
                }
                name = Some(start);
            }
            before = word;
        } else {
            before = "";
            match byte {
                b'(' => open.push(named.map(|name| (name, at))),
                b'[' => open.push(None),
                b')' | b']' => {
                    let semicolon = skip_blank(bytes, at);
                    if let Some(Some((name, argument))) = open.pop()
                        && bytes.get(semicolon) == Some(&b';')
                    {
                        at = semicolon + 1;
                        calls.push(Call {
                            statement: name..at,
                            argument: argument..start,
                        });
                        open.clear();
                    }
                }
                b'{' | b'}' | b';' => open.clear(),
                _ => {}
            }
        }
        at = skip_blank(bytes, at);
    }
    calls
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::{expanded, removed};

    #[test]
    fn text_without_calls_is_not_copied() {
        for text in [
            "",
            "fn main() {}",
            "let debug_printer = 1;",
            "// debug_print(x);\nx",
        ] {
            assert!(
                matches!(expanded(text).text, std::borrow::Cow::Borrowed(_)),
                "{text}"
            );
            assert!(
                matches!(removed(text), std::borrow::Cow::Borrowed(_)),
                "{text}"
            );
        }
    }

    #[test]
    fn lines_stay_where_they_are() {
        let text = "a\ndebug_print( // why\n f(x, y)[2]\n ) /* so\n */ ;\nb";
        assert_eq!(removed(text), "a\n\n\n\n\nb");
        let expanded = expanded(text).text;
        assert_eq!(expanded.lines().count(), 6, "{expanded}");
        assert!(expanded.contains("f(x, y)[2]"), "{expanded}");
    }

    #[test]
    fn each_call_has_a_variable_of_its_own() {
        let text = expanded("debug_print(x);debug_print(vec2(y, 1));").text;
        assert!(
            text.contains("print_0 = (x);") && text.contains("print_1 = (vec2(y, 1));"),
            "{text}"
        );
    }

    #[test]
    fn a_comment_at_the_end_of_an_argument_does_not_hide_the_rest() {
        let text = expanded("debug_print(x // the sum\n);").text;
        assert!(
            text.starts_with("{ var ziggurat_debug_print_0 = (x // the sum\n);"),
            "{text}"
        );
    }

    #[test]
    fn comments_nest_and_hide() {
        let text = "/* /* */ debug_print(x); */ y";
        assert_eq!(removed(text), text);
        assert_eq!(removed("/* a */debug_print(x);y"), "/* a */y");
    }

    #[test]
    fn what_is_no_statement_is_left_to_the_compiler() {
        for text in [
            "debug_print(x",
            "debug_print(x)",
            "debug_print x;",
            "debug_print(x));",
            "let y = debug_print(x) + 1;",
            "debug_print(a; b);",
            "debug_print([)];",
            "debug_print",
            "/* debug_print(x);",
        ] {
            let _ = expanded(text);
            let _ = removed(text);
        }
        assert_eq!(
            removed("for (;; debug_print(i)) {}"),
            "for (;; debug_print(i)) {}"
        );
    }

    #[test]
    fn a_function_of_the_users_own_stays() {
        let text = "fn debug_print(x: f32) {}\nfn main() { debug_print(1.0); }";
        assert_eq!(expanded(text).text, text);
        assert_eq!(removed(text), text);
    }

    #[test]
    fn places_map_back_to_the_original_text() {
        let text = "a; debug_print(x + 1); b; debug_print(y); c";
        let expanded = expanded(text);
        let at = |part: &str| expanded.text.find(part).unwrap();
        assert_eq!(
            expanded.places.original(at("x + 1")),
            text.find("x + 1").unwrap()
        );
        assert_eq!(expanded.places.original(at("b;")), text.find("b;").unwrap());
        assert_eq!(
            expanded.places.original(at("var zig")),
            text.find("debug_print(x").unwrap()
        );
        assert_eq!(super::expanded("abc").places.original(2), 2);
    }

    #[test]
    fn hostile_texts_take_no_longer_than_others() {
        let start = std::time::Instant::now();
        for piece in [
            "debug_print(",
            "debug_print((;",
            "debug_print(x);",
            "debug_print([",
            "fn debug_print ",
        ] {
            let text = piece.repeat(100_000);
            let _ = (expanded(&text), removed(&text));
        }
        assert!(start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
    }
}
