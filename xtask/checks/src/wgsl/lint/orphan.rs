//! Every shader file is part of some kernel.
//!
//! A file that nothing includes is compiled by nobody and rots unseen.

use std::collections::BTreeSet;

use crate::problem::Problem;

/// Files under `shaders/` that no kernel has as a part.
pub(crate) fn check<'a>(
    files: impl IntoIterator<Item = &'a str>,
    used: &BTreeSet<String>,
) -> Vec<Problem> {
    let mut problems = Vec::new();
    for path in files {
        if !used.contains(path) {
            problems.push(Problem::new(
                path,
                0,
                "orphan",
                "no kernel of the catalogue includes this file",
            ));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn used_files_are_accepted_and_others_rejected() {
        let used = BTreeSet::from(["shaders/a.wgsl".to_owned()]);
        assert_eq!(check(["shaders/a.wgsl"], &used), []);
        let problems = check(["shaders/a.wgsl", "shaders/b.wgsl"], &used);
        assert_eq!(
            problems
                .iter()
                .map(|problem| problem.file.as_str())
                .collect::<Vec<_>>(),
            ["shaders/b.wgsl"]
        );
    }
}
