//! No `x != x` and no `x == x`.
//!
//! Shader compilers may assume that NaN does not occur and fold both; NaN is found by its bits.

use super::Finding;
use crate::wgsl::scan::Token;
use xtask::workspace::TextFile;

pub(super) fn check(_: &TextFile, tokens: &[Token<'_>]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        if !matches!(token.text, "!=" | "==") {
            continue;
        }
        let before = operand_before(tokens, at);
        let after = operand_after(tokens, at);
        let same = before
            .iter()
            .map(|token| token.text)
            .eq(after.iter().map(|token| token.text));
        if same && before.iter().any(Token::is_word) {
            let name: String = before.iter().map(|token| token.text).collect();
            findings.push((
                token.line,
                format!(
                    "`{name} {} {name}` may be folded: test the bits",
                    token.text
                ),
            ));
        }
    }
    findings
}

/// The names, members and indices that end right before `at`.
fn operand_before<'a>(tokens: &'a [Token<'a>], at: usize) -> &'a [Token<'a>] {
    let mut start = at;
    let mut depth = 0_i32;
    while let Some(token) = start.checked_sub(1).and_then(|before| tokens.get(before)) {
        match token.text {
            "]" => depth += 1,
            "[" if depth > 0 => depth -= 1,
            "." => {}
            _ if depth > 0 => {}
            _ if token.is_word() && follows_operand(tokens, start, at) => {}
            _ => break,
        }
        start -= 1;
    }
    tokens.get(start..at).unwrap_or_default()
}

/// A word joins what follows it only through a point or a bracket.
fn follows_operand(tokens: &[Token<'_>], next: usize, end: usize) -> bool {
    next == end
        || tokens
            .get(next)
            .is_some_and(|token| matches!(token.text, "." | "["))
}

/// The names, members and indices that start right after `at`.
fn operand_after<'a>(tokens: &'a [Token<'a>], at: usize) -> &'a [Token<'a>] {
    let rest = tokens.get(at + 1..).unwrap_or_default();
    let mut depth = 0_i32;
    let mut end = 0;
    for token in rest {
        match token.text {
            "[" => depth += 1,
            "]" if depth > 0 => depth -= 1,
            "." => {}
            _ if depth > 0 => {}
            _ if token.is_word() => {}
            _ => break,
        }
        end += 1;
    }
    rest.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::findings;
    use super::check;

    #[test]
    fn comparing_different_values_is_accepted() {
        assert!(
            findings(
                check,
                "a.wgsl",
                "if x != y && v.x == v.y && a[i] != a[j] && k != best { }"
            )
            .is_empty()
        );
    }

    #[test]
    fn comparing_a_value_with_itself_is_rejected() {
        assert_eq!(findings(check, "a.wgsl", "\nif x != x {"), [2]);
        assert_eq!(findings(check, "a.wgsl", "let n = v.x == v.x;"), [1]);
        assert_eq!(
            findings(
                check,
                "a.wgsl",
                "return select(a, b, p[i + 1] != p[i + 1]);"
            ),
            [1]
        );
    }
}
