//! A file with an entry point opens with *Computes*, *Bindings*, *Grid*, *Requires* and *Accuracy*.
//!
//! Whoever reads a kernel needs the formula, what is bound, how it is dispatched, what it expects of the parts
//! before it and how far its results may be off, and none of that can be read off the code; the documentation of
//! ops is made of it. Other parts open with a comment.

use super::{Finding, is_body};
use crate::wgsl::header::Header;
use crate::wgsl::scan::Token;
use xtask::workspace::TextFile;

const WORDS: [&str; 5] = ["Computes:", "Bindings:", "Grid:", "Requires:", "Accuracy:"];

pub(super) fn check(file: &TextFile, tokens: &[Token<'_>]) -> Vec<Finding> {
    if !file.text.starts_with("//") {
        return vec![(
            1,
            "the file does not open with a comment that says what it is for".into(),
        )];
    }
    if !is_body(tokens) {
        return Vec::new();
    }
    let header = Header::of(&file.text);
    let missing: Vec<&str> = WORDS
        .into_iter()
        .filter(|word| header.field(word).is_none())
        .collect();
    if missing.is_empty() {
        Vec::new()
    } else {
        vec![(
            1,
            format!("the opening comment lacks {}", missing.join(", ")),
        )]
    }
}

#[cfg(test)]
mod tests {
    use super::super::findings;
    use super::check;

    const MAIN: &str = "@compute @workgroup_size(WG)\nfn main() {}\n";

    #[test]
    fn a_body_with_all_five_words_is_accepted() {
        let text = format!(
            "// Computes: a\n// Bindings: b\n// Grid: c\n//   more\n// Requires: d\n// Accuracy: e\n{MAIN}"
        );
        assert!(findings(check, "shaders/a.wgsl", &text).is_empty());
    }

    #[test]
    fn a_body_that_lacks_one_is_rejected() {
        let text =
            format!("// Computes: a\n// Bindings: b\n// Requires: d\n// Accuracy: e\n{MAIN}");
        assert_eq!(findings(check, "shaders/a.wgsl", &text), [1]);
    }

    #[test]
    fn any_part_opens_with_a_comment() {
        assert_eq!(
            findings(
                check,
                "shaders/a.wgsl",
                "fn apply(x: elem) -> elem { return x; }"
            ),
            [1]
        );
        assert!(
            findings(
                check,
                "shaders/a.wgsl",
                "// x\nfn apply(x: elem) -> elem { return x; }"
            )
            .is_empty()
        );
    }
}
