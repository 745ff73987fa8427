//! Findings of the checks: one line each, with file and line, sorted and without repeats.
//!
//! A shader file is part of hundreds of kernels; a mistake in it is one problem, not hundreds.

use std::collections::BTreeSet;
use std::fmt;

use xtask::failure::{Failure, Outcome};

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Problem {
    /// Relative to the workspace root, with forward slashes.
    pub(crate) file: String,
    /// 1-based; 0 where the whole file is meant.
    pub(crate) line: u32,
    /// The rule's short name.
    pub(crate) rule: &'static str,
    pub(crate) message: String,
}

impl Problem {
    pub(crate) fn new(
        file: impl Into<String>,
        line: u32,
        rule: &'static str,
        message: impl Into<String>,
    ) -> Self {
        Self {
            file: file.into(),
            line,
            rule,
            message: message.into(),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line == 0 {
            write!(f, "{}: [{}] {}", self.file, self.rule, self.message)
        } else {
            write!(
                f,
                "{}:{}: [{}] {}",
                self.file, self.line, self.rule, self.message
            )
        }
    }
}

/// What a check found and what it looked at.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) problems: BTreeSet<Problem>,
    /// Remarks that do not fail the check.
    pub(crate) remarks: Vec<String>,
    /// What was looked at, for the closing line: `312 kernels`.
    pub(crate) scope: String,
}

impl Report {
    pub(crate) fn extend(&mut self, problems: impl IntoIterator<Item = Problem>) {
        self.problems.extend(problems);
    }

    /// Prints everything once; a failure if there is any problem.
    pub(crate) fn conclude(self, check: &str) -> Outcome<String> {
        for remark in &self.remarks {
            println!("note: {remark}");
        }
        for problem in &self.problems {
            println!("{problem}");
        }
        if self.problems.is_empty() {
            Ok(self.scope)
        } else {
            Err(Failure::new(format!(
                "{check}: {} problem(s) in {}",
                self.problems.len(),
                self.scope
            )))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_finding_from_many_kernels_is_one_problem() {
        let mut report = Report::default();
        report.extend((0..3).map(|_| Problem::new("shaders/a.wgsl", 4, "naming", "bad name")));
        assert_eq!(report.problems.len(), 1);
        assert!(report.conclude("wgsl").is_err());
    }

    #[test]
    fn no_problems_conclude_with_the_scope() {
        let report = Report {
            scope: "3 files".into(),
            ..Report::default()
        };
        assert!(
            report
                .conclude("tidy")
                .is_ok_and(|scope| scope == "3 files")
        );
    }
}
