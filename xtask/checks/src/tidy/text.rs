//! Rules for any text file: length, trailing blanks, and that people wrote it.

use crate::docs::GENERATED;
use crate::problem::Problem;
use xtask::workspace::TextFile;

/// More lines than this fail.
const LIMIT: usize = 800;
/// More lines than this are worth a remark.
const SMELL: usize = 400;

pub(super) fn check(file: &TextFile) -> Vec<Problem> {
    let mut problems = Vec::new();
    let lines = file.text.lines().count();
    if lines > LIMIT && is_source(file) {
        problems.push(Problem::new(
            &file.path,
            0,
            "length",
            format!("{lines} lines, the limit is {LIMIT}"),
        ));
    }
    for (number, line) in (1_u32..).zip(file.text.lines()) {
        if line.ends_with([' ', '\t']) {
            problems.push(Problem::new(
                &file.path,
                number,
                "trailing-space",
                "trailing white space",
            ));
        }
        let opening = number <= 5
            && (line.contains(concat!("@", "generated"))
                || line.contains(concat!("DO NOT", " EDIT")));
        if opening && !GENERATED.contains(&file.path.as_str()) {
            problems.push(Problem::new(
                &file.path,
                number,
                "generated",
                "generated files are not committed",
            ));
        }
    }
    if !file.text.is_empty() && !file.text.ends_with('\n') {
        problems.push(Problem::new(
            &file.path,
            0,
            "last-line",
            "the last line has no end",
        ));
    }
    problems
}

/// A remark on a file that is long but not too long.
pub(super) fn long(file: &TextFile) -> Option<String> {
    let lines = file.text.lines().count();
    (is_source(file) && lines > SMELL && lines <= LIMIT)
        .then(|| format!("{}: {lines} lines", file.path))
}

fn is_source(file: &TextFile) -> bool {
    file.path.ends_with(".rs") || file.path.ends_with(".wgsl")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(path: &str, text: &str) -> Vec<&'static str> {
        check(&TextFile::new(path, text))
            .into_iter()
            .map(|problem| problem.rule)
            .collect()
    }

    #[test]
    fn a_file_of_800_lines_passes_and_one_more_fails() {
        assert_eq!(rules("a.rs", &"x\n".repeat(800)), Vec::<&str>::new());
        assert_eq!(rules("a.rs", &"x\n".repeat(801)), ["length"]);
        assert!(long(&TextFile::new("a.rs", &"x\n".repeat(401))).is_some());
        assert!(long(&TextFile::new("a.rs", &"x\n".repeat(400))).is_none());
    }

    #[test]
    fn blanks_at_the_end_of_a_line_and_missing_line_ends_fail() {
        assert_eq!(rules("a.md", "a\nb \n"), ["trailing-space"]);
        assert_eq!(rules("a.md", "a"), ["last-line"]);
    }

    #[test]
    fn generated_files_fail_except_those_of_cargo_xtask_docs() {
        let text = concat!("<!-- @", "generated -->\n");
        assert_eq!(rules("a.md", text), ["generated"]);
        assert_eq!(rules("docs/ops.md", text), Vec::<&str>::new());
    }
}
