//! What the documents name exists.
//!
//! A path in backticks is looked up from the root and from the document's own folder.

use crate::problem::Problem;
use xtask::workspace::TextFile;

const ENDINGS: [&str; 11] = [
    ".rs",
    ".wgsl",
    ".md",
    ".toml",
    ".npy",
    ".safetensors",
    ".json",
    ".jsonl",
    ".sh",
    ".py",
    ".yml",
];

/// Refuses paths that lead nowhere. `exists` answers for a path relative to the root.
pub(super) fn check(file: &TextFile, exists: impl Fn(&str) -> bool) -> Vec<Problem> {
    let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut problems = Vec::new();
    let mut fenced = false;
    for (number, line) in (1_u32..).zip(file.text.lines()) {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        if fenced {
            continue;
        }
        for path in line
            .split('`')
            .skip(1)
            .step_by(2)
            .filter(|span| is_path(span))
        {
            let path = path.trim_end_matches('/');
            let beside = format!("{folder}/{path}");
            if !exists(path) && !exists(beside.trim_start_matches('/')) {
                problems.push(Problem::new(
                    &file.path,
                    number,
                    "docs-path",
                    format!("`{path}` does not exist"),
                ));
            }
        }
    }
    problems
}

/// True for what can only be meant as a file or folder of this repository.
fn is_path(span: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-');
    let rooted = [
        "crates/", "shaders/", "xtask/", "docs/", ".ci/", ".cargo/", ".config/",
    ];
    let is_file = ENDINGS.iter().any(|ending| span.ends_with(ending)) && span.contains('/');
    let is_folder = rooted.iter().any(|root| span.starts_with(root));
    span.chars().all(plain)
        && !span.starts_with(['/', '~'])
        && !span.starts_with("target/")
        && (is_file || is_folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<u32> {
        let tree = [
            "crates/core/src/shape.rs",
            "docs/data/a.npy",
            "shaders/reduce",
        ];
        let file = TextFile::new("docs/guide.md", text);
        check(&file, |path| tree.contains(&path))
            .into_iter()
            .map(|problem| problem.line)
            .collect()
    }

    #[test]
    fn paths_that_exist_and_words_that_are_none_are_accepted() {
        assert_eq!(
            lines(
                "`crates/core/src/shape.rs`, `data/a.npy`, `shaders/reduce/`, `a / b`, `i32/u32`, `cargo.toml`\n"
            ),
            Vec::<u32>::new()
        );
        assert_eq!(
            lines("`shaders/<op>.wgsl` and `crates/*/src/lib.rs`\n```\n`docs/none.md`\n```\n"),
            Vec::<u32>::new()
        );
    }

    #[test]
    fn paths_that_lead_nowhere_are_rejected() {
        assert_eq!(lines("see\n`crates/core/src/form.rs`\n"), [2]);
        assert_eq!(lines("`docs/none/`\n"), [1]);
    }
}
