//! Rules for shaders that the WGSL compiler does not know, one file each.
//!
//! *File* rules read one `.wgsl` file as written; *module* rules read a parsed kernel. Each file states
//! its rule and why, and has a test that accepts and one that rejects.

mod early_return;
mod file_name;
mod header;
mod nan_compare;
mod role_names;
mod snippet;
mod workgroup_literal;

pub(crate) mod naming;
pub(crate) mod orphan;
pub(crate) mod parentheses;
pub(crate) mod uniformity;
pub(crate) mod unused;

use crate::problem::Problem;
use crate::wgsl::scan::{self, Token};
use xtask::workspace::TextFile;

/// A finding in one file: line and message.
type Finding = (u32, String);

/// A file rule: its name and its check.
type FileRule = (&'static str, fn(&TextFile, &[Token<'_>]) -> Vec<Finding>);

const FILE_RULES: [FileRule; 7] = [
    ("header", header::check),
    ("workgroup-literal", workgroup_literal::check),
    ("early-return", early_return::check),
    ("nan-compare", nan_compare::check),
    ("role-names", role_names::check),
    ("file-name", file_name::check),
    ("snippet", snippet::check),
];

/// All file rules over one file.
pub(crate) fn file(file: &TextFile) -> Vec<Problem> {
    let tokens = scan::tokens(&file.text);
    let mut problems = Vec::new();
    for (rule, check) in FILE_RULES {
        let findings = check(file, &tokens);
        problems.extend(
            findings
                .into_iter()
                .map(|(line, message)| Problem::new(&file.path, line, rule, message)),
        );
    }
    problems
}

/// True if the file holds an entry point.
fn is_body(tokens: &[Token<'_>]) -> bool {
    tokens.iter().any(|token| token.text == "compute")
}

/// Runs one rule on one piece of text, for the rules' tests.
#[cfg(test)]
fn findings(
    check: fn(&TextFile, &[Token<'_>]) -> Vec<Finding>,
    path: &str,
    text: &str,
) -> Vec<u32> {
    let file = TextFile::new(path, text);
    let tokens = scan::tokens(&file.text);
    check(&file, &tokens)
        .into_iter()
        .map(|(line, _)| line)
        .collect()
}
