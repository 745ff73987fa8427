//! `debug_print(value);` in WGSL text: where it stands, and what stands there instead.
//!
//! WGSL has no such function. A device that can print gets [`expanded`] text, in which each call is a variable that is
//! set and then set again to itself: valid WGSL of any type, which the device recognises by [`VARIABLE`]. Every other
//! device gets [`removed`] text. Lines stay where they are in both.

use std::borrow::Cow;
use std::ops::Range;

/// The variables of [`expanded`] text have this name, and a number after it.
pub const VARIABLE: &str = "ziggurat_debug_print_";

const NAME: &str = "debug_print";

/// A statement `debug_print(argument);`.
struct Call {
    /// All of it, with the semicolon.
    statement: Range<usize>,
    argument: Range<usize>,
}

/// The text with its calls made into variables; as it is if it has none, or defines such a function itself.
///
/// ```
/// let text = ziggurat_core::debug_print::expanded("debug_print(x + 1u);");
/// let name = "ziggurat_debug_print_0";
/// assert_eq!(text, format!("{{ var {name} = (x + 1u); {name} = {name}; }}"));
/// ```
#[must_use]
pub fn expanded(text: &str) -> Cow<'_, str> {
    let mut number = 0;
    replaced(text, |out, argument, statement| {
        let name = format!("{VARIABLE}{number}");
        number += 1;
        out.push_str(&format!(
            "{{ var {name} = ({argument}); {name} = {name}; }}"
        ));
        let lines = |text: &str| text.matches('\n').count();
        let around = lines(statement).saturating_sub(lines(argument));
        out.extend(std::iter::repeat_n('\n', around));
    })
}

/// The text without its calls; as it is if it has none, or defines such a function itself.
///
/// ```
/// let text = ziggurat_core::debug_print::removed("if odd {\n  debug_print(x,\n y); }");
/// assert_eq!(text, "if odd {\n  \n }");
/// ```
#[must_use]
pub fn removed(text: &str) -> Cow<'_, str> {
    replaced(text, |out, _, statement| {
        out.extend(statement.chars().filter(|c| *c == '\n'));
    })
}

fn replaced<'a>(text: &'a str, mut put: impl FnMut(&mut String, &str, &str)) -> Cow<'a, str> {
    if !text.contains(NAME) {
        return Cow::Borrowed(text);
    }
    let calls = calls(text);
    if calls.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 64 * calls.len());
    let mut at = 0;
    for call in calls {
        let part = |range: Range<usize>| text.get(range).unwrap_or_default();
        out.push_str(part(at..call.statement.start));
        put(&mut out, part(call.argument), part(call.statement.clone()));
        at = call.statement.end;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    Cow::Owned(out)
}

/// The statements, in order; none if the text has a function of that name.
fn calls(text: &str) -> Vec<Call> {
    let bytes = text.as_bytes();
    let mut calls = Vec::new();
    let mut at = 0;
    let mut before = "";
    while at < bytes.len() {
        at = skip_blank(bytes, at);
        let start = at;
        if bytes.get(at).copied().is_some_and(is_word) {
            while bytes.get(at).copied().is_some_and(is_word) {
                at += 1;
            }
            let word = text.get(start..at).unwrap_or_default();
            if word == NAME {
                if before == "fn" {
                    return Vec::new();
                }
                if let Some(call) = statement(bytes, start, at) {
                    at = call.statement.end;
                    calls.push(call);
                }
            }
            before = word;
        } else {
            at += 1;
            before = "";
        }
    }
    calls
}

/// The call whose name is at `start..end`, if a semicolon follows its parenthesis.
fn statement(bytes: &[u8], start: usize, end: usize) -> Option<Call> {
    let open = skip_blank(bytes, end);
    if bytes.get(open) != Some(&b'(') {
        return None;
    }
    let mut depth = 0_usize;
    let mut at = open;
    let close = loop {
        match bytes.get(at)? {
            b'(' | b'[' => depth += 1,
            b')' | b']' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    break at;
                }
            }
            b'{' | b'}' | b';' => return None,
            _ => {}
        }
        // Of a comment only its own bytes are passed over: an argument may hold one.
        at = skip_blank(bytes, at + 1);
    };
    let semicolon = skip_blank(bytes, close + 1);
    (bytes.get(semicolon) == Some(&b';')).then(|| Call {
        statement: start..semicolon + 1,
        argument: open + 1..close,
    })
}

/// Letters of names; bytes of names in other scripts count too.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// The first byte at or after `at` that is neither blank nor in a comment. Comments nest in WGSL.
fn skip_blank(bytes: &[u8], mut at: usize) -> usize {
    let two = |at: usize| bytes.get(at..at + 2).unwrap_or_default();
    loop {
        match bytes.get(at) {
            Some(byte) if byte.is_ascii_whitespace() => at += 1,
            Some(b'/') if two(at) == b"//" => {
                while bytes.get(at).is_some_and(|byte| *byte != b'\n') {
                    at += 1;
                }
            }
            Some(b'/') if two(at) == b"/*" => {
                let mut depth = 0_usize;
                while at < bytes.len() {
                    match two(at) {
                        b"/*" => {
                            depth += 1;
                            at += 2;
                        }
                        b"*/" => {
                            depth -= 1;
                            at += 2;
                            if depth == 0 {
                                break;
                            }
                        }
                        _ => at += 1,
                    }
                }
            }
            _ => return at,
        }
    }
}

#[cfg(test)]
mod tests {
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
                matches!(expanded(text), std::borrow::Cow::Borrowed(_)),
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
        let expanded = expanded(text);
        assert_eq!(expanded.lines().count(), 6, "{expanded}");
        assert!(expanded.contains("f(x, y)[2]"), "{expanded}");
    }

    #[test]
    fn each_call_has_a_variable_of_its_own() {
        let text = expanded("debug_print(x);debug_print(vec2(y, 1));");
        assert!(
            text.contains("print_0 = (x);") && text.contains("print_1 = (vec2(y, 1));"),
            "{text}"
        );
    }

    #[test]
    fn a_comment_at_the_end_of_an_argument_does_not_hide_the_rest() {
        let text = expanded("debug_print(x // the sum\n);");
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
        assert_eq!(expanded(text), text);
        assert_eq!(removed(text), text);
    }
}
