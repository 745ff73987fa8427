//! Shader files and folders are named in snake_case.
//!
//! The stem is the op's name in the table, the reference function, the test and the docs.

use super::Finding;
use crate::wgsl::scan::Token;
use xtask::workspace::TextFile;

pub(super) fn check(file: &TextFile, _: &[Token<'_>]) -> Vec<Finding> {
    let path = file.path.trim_end_matches(".wgsl");
    let bad = path.split('/').find(|part| !is_snake_case(part));
    bad.map(|part| (0, format!("`{part}` is not snake_case")))
        .into_iter()
        .collect()
}

fn is_snake_case(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::super::findings;
    use super::check;

    #[test]
    fn snake_case_is_accepted() {
        assert!(findings(check, "shaders/elementwise/log1p.wgsl", "").is_empty());
        assert!(findings(check, "shaders/reduce/arg_max.wgsl", "").is_empty());
    }

    #[test]
    fn anything_else_is_rejected() {
        assert_eq!(findings(check, "shaders/argMax.wgsl", ""), [0]);
        assert_eq!(findings(check, "shaders/arg-max.wgsl", ""), [0]);
        assert_eq!(findings(check, "shaders/Reduce/sum.wgsl", ""), [0]);
    }
}
