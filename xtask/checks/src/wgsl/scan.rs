//! WGSL as a list of words and marks with their lines, comments left out.
//!
//! For the rules about how a file is written, which the parsed module no longer shows.

/// A word, number or mark of a WGSL file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token<'a> {
    pub(crate) text: &'a str,
    /// 1-based.
    pub(crate) line: u32,
}

impl Token<'_> {
    /// True for identifiers and keywords.
    pub(crate) fn is_word(&self) -> bool {
        self.text
            .starts_with(|c: char| c.is_alphabetic() || c == '_')
    }
}

/// Marks of two characters that must not be read as two.
const PAIRS: [&str; 10] = ["!=", "==", "->", "<=", ">=", "&&", "||", "<<", ">>", "+="];

/// Splits `text`; nested block comments are handled as WGSL does.
pub(crate) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut out = Vec::new();
    let mut line = 1;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let len = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            comment_len(rest)
        } else if c.is_alphanumeric() || c == '_' {
            rest.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '.')
                .map_or(rest.len(), |end| word_len(rest, end))
        } else if PAIRS.iter().any(|pair| rest.starts_with(pair)) {
            2
        } else {
            c.len_utf8()
        };
        let (text, after) = rest.split_at(len);
        if !c.is_whitespace() && !text.starts_with("//") && !text.starts_with("/*") {
            out.push(Token { text, line });
        }
        line += u32::try_from(text.matches('\n').count()).unwrap_or(0);
        rest = after;
    }
    out
}

/// Numbers may hold a point, words may not.
fn word_len(rest: &str, end: usize) -> usize {
    if rest.starts_with(|c: char| c.is_ascii_digit()) {
        return end;
    }
    rest.find('.').map_or(end, |point| point.min(end))
}

fn comment_len(rest: &str) -> usize {
    let mut depth = 0_u32;
    let mut at = 0;
    while let Some(tail) = rest.get(at..) {
        if tail.is_empty() {
            break;
        }
        if tail.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if tail.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += tail.chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

/// A function of a file: its name and the tokens of its body without the outer braces.
#[derive(Debug)]
pub(crate) struct Function<'a> {
    pub(crate) body: &'a [Token<'a>],
}

/// The functions of a file in order.
pub(crate) fn functions<'a>(tokens: &'a [Token<'a>]) -> Vec<Function<'a>> {
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        at += 1;
        if token.text != "fn" {
            continue;
        }
        let rest = tokens.get(at..).unwrap_or_default();
        let Some(open) = rest.iter().position(|token| token.text == "{") else {
            break;
        };
        let start = at + open + 1;
        let end = closing(tokens, start);
        out.push(Function {
            body: tokens.get(start..end).unwrap_or_default(),
        });
        at = end;
    }
    out
}

/// The index of the brace that closes the block whose first token is at `start`.
fn closing(tokens: &[Token<'_>], start: usize) -> usize {
    let mut depth = 1_i32;
    for (at, token) in tokens.iter().enumerate().skip(start) {
        match token.text {
            "{" => depth += 1,
            "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    tokens.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<&str> {
        tokens(text).iter().map(|token| token.text).collect()
    }

    #[test]
    fn comments_vanish_and_lines_are_kept() {
        let tokens = tokens("a // b\n/* c /* d */\n e */ f");
        assert_eq!(
            tokens,
            [Token { text: "a", line: 1 }, Token { text: "f", line: 3 }]
        );
    }

    #[test]
    fn numbers_keep_their_point_and_members_do_not() {
        assert_eq!(words("x.y != 1.5f"), ["x", ".", "y", "!=", "1.5f"]);
    }

    #[test]
    fn functions_are_found_with_nested_blocks() {
        let tokens = tokens("fn f() -> u32 { if a { return 1; } return 2; } fn g() {}");
        let functions = functions(&tokens);
        assert_eq!(functions.len(), 2);
        assert_eq!(functions[0].body.last().map(|token| token.text), Some(";"));
        assert!(functions[1].body.is_empty());
    }
}
