//! A snippet of an op declares `apply` and nothing else.
//!
//! A fused kernel holds the snippets of several ops, and each snippet's functions are renamed after its op; a helper that
//! two of them declared would clash, and one that is needed twice would be there twice. Helpers belong into
//! `shaders/functions/`, which a kernel holds once.

use super::Finding;
use crate::wgsl::scan::Token;
use xtask::workspace::TextFile;

/// The folders of the op tables; a snippet for a kind of dtype lies in a folder below.
const FOLDERS: [&str; 5] = ["unary/", "binary/", "compare/", "predicate/", "cast/"];
const DECLARING: [&str; 6] = ["fn", "const", "override", "var", "alias", "struct"];

pub(super) fn check(file: &TextFile, tokens: &[Token<'_>]) -> Vec<Finding> {
    let below = file.path.rsplit_once("shaders/elementwise/");
    if !below.is_some_and(|(_, rest)| FOLDERS.iter().any(|folder| rest.starts_with(folder))) {
        return Vec::new();
    }
    let (mut findings, mut depth, mut applies) = (Vec::new(), 0_usize, false);
    for (token, after) in tokens.iter().zip(tokens.iter().skip(1)) {
        match token.text {
            "{" | "(" => depth += 1,
            "}" | ")" => depth = depth.saturating_sub(1),
            word if depth == 0 && DECLARING.contains(&word) => {
                if (word, after.text) == ("fn", "apply") {
                    applies = true;
                } else {
                    findings.push((
                        token.line,
                        format!(
                            "a snippet declares `fn apply` only: `{word} {}` belongs into shaders/functions/",
                            after.text
                        ),
                    ));
                }
            }
            _ => {}
        }
    }
    if !applies {
        findings.push((1, "a snippet declares `fn apply`".to_owned()));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::findings;
    use super::check;

    const SNIPPET: &str = "shaders/elementwise/unary/int/neg.wgsl";

    #[test]
    fn apply_alone_is_accepted_whatever_it_holds() {
        let text = "// fn helper\nfn apply(x: f32) -> f32 {\n    const half = 0.5;\n    var y = x;\n    return y * half;\n}\n";
        assert!(findings(check, SNIPPET, text).is_empty());
    }

    #[test]
    fn helpers_constants_and_types_are_rejected() {
        let text = "const half = 0.5;\nfn helper(x: f32) -> f32 { return x; }\nfn apply(x: f32) -> f32 { return helper(x); }\nalias t = f32;\n";
        assert_eq!(findings(check, SNIPPET, text), [1, 2, 4]);
    }

    #[test]
    fn a_snippet_without_apply_is_rejected() {
        assert_eq!(findings(check, SNIPPET, "// nothing\n"), [1]);
    }

    #[test]
    fn other_files_declare_what_they_like() {
        let text = "const half = 0.5;\nfn other() {}\n";
        assert!(findings(check, "shaders/functions/exp.wgsl", text).is_empty());
        assert!(findings(check, "shaders/elementwise/unary_flat.wgsl", text).is_empty());
    }
}
