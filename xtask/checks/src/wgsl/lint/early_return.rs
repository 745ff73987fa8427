//! No early `return` in a file that contains a barrier.
//!
//! An invocation that has left cannot reach the barrier that the others wait at. That holds for a whole
//! file, helpers included, so that the rule needs no judgement: results are carried in a variable.

use super::Finding;
use crate::wgsl::scan::{self, Token};
use xtask::workspace::TextFile;

const BARRIERS: [&str; 5] = [
    "workgroupBarrier",
    "storageBarrier",
    "textureBarrier",
    "subgroupBarrier",
    "workgroupUniformLoad",
];

pub(super) fn check(_: &TextFile, tokens: &[Token<'_>]) -> Vec<Finding> {
    if !tokens.iter().any(|token| BARRIERS.contains(&token.text)) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for function in scan::functions(tokens) {
        let last = function
            .body
            .iter()
            .rposition(|token| token.text == "return");
        let mut depth = 0_u32;
        for (at, token) in function.body.iter().enumerate() {
            match token.text {
                "{" => depth += 1,
                "}" => depth = depth.saturating_sub(1),
                "return"
                    if depth > 0 || Some(at) != last || !ends_with_statement(function.body, at) =>
                {
                    findings.push((
                        token.line,
                        "early `return` in a file that contains a barrier".into(),
                    ));
                }
                _ => {}
            }
        }
    }
    findings
}

/// True if the statement that starts at `at` is the last one of the body.
fn ends_with_statement(body: &[Token<'_>], at: usize) -> bool {
    let rest = body.get(at..).unwrap_or_default();
    rest.iter()
        .position(|token| token.text == ";")
        .is_none_or(|end| end + 1 == rest.len())
}

#[cfg(test)]
mod tests {
    use super::super::findings;
    use super::check;

    #[test]
    fn a_return_at_the_end_is_accepted() {
        let text = "fn f() -> u32 { let x = 1u; return x; }\nfn main() { workgroupBarrier(); }";
        assert!(findings(check, "a.wgsl", text).is_empty());
    }

    #[test]
    fn an_early_return_without_any_barrier_is_accepted() {
        assert!(findings(check, "a.wgsl", "fn main() { if x { return; } y(); }").is_empty());
    }

    #[test]
    fn an_early_return_beside_a_barrier_is_rejected() {
        assert_eq!(
            findings(
                check,
                "a.wgsl",
                "fn main() {\nif x {\nreturn; }\nworkgroupBarrier(); }"
            ),
            [3]
        );
        assert_eq!(
            findings(check, "a.wgsl", "fn main() {\nreturn;\nstorageBarrier(); }"),
            [2]
        );
    }

    #[test]
    fn an_early_return_in_a_function_beside_the_barrier_is_rejected() {
        let text = "fn f(x: u32) -> u32 {\nif x > 1u { return 2u; }\nreturn x; }\nfn main() { workgroupBarrier(); }";
        assert_eq!(findings(check, "a.wgsl", text), [2]);
    }
}
