//! Findings that are known and right: a list of them, each with a reason.
//!
//! One suppression per line, five fields between bars:
//! `kind | kernel | file | part of the line of code | reason`. In kernel and file `*` stands for
//! anything. Empty lines and lines that begin with `#` say nothing.

use super::kind::{Kind, UnknownKind};
use super::report::{Finding, Report};

/// Why a list cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ListError {
    /// A line without its five fields.
    #[error("line {line}: five fields between | are wanted: kind, kernel, file, code, reason")]
    Fields {
        /// Line of the list, from 1.
        line: usize,
    },
    /// A kind that there is not.
    #[error("line {line}: {source}")]
    Kind {
        /// Line of the list, from 1.
        line: usize,
        /// The name.
        source: UnknownKind,
    },
    /// A suppression that says nothing about why.
    #[error("line {line}: a reason is wanted")]
    Reason {
        /// Line of the list, from 1.
        line: usize,
    },
}

/// Findings that are let pass.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Suppression {
    /// Of this kind,
    pub kind: Kind,
    /// in kernels whose label matches this,
    pub kernel: String,
    /// in files that match this,
    pub file: String,
    /// on lines that contain this.
    pub code: String,
    /// Why it is right.
    pub reason: String,
    /// Line of the list.
    pub line: usize,
}

impl Suppression {
    /// Whether it is about this finding.
    #[must_use]
    pub fn covers(&self, finding: &Finding) -> bool {
        self.kind == finding.kind
            && matches(&self.kernel, &finding.kernel)
            && matches(&self.file, &finding.file)
            && finding.code.contains(&self.code)
    }
}

/// A list of suppressions.
#[derive(Clone, Debug, Default)]
pub struct Suppressions {
    all: Vec<Suppression>,
    used: Vec<bool>,
}

impl Suppressions {
    /// Reads a list.
    ///
    /// # Errors
    ///
    /// [`ListError`] for a line that is no suppression.
    pub fn parse(text: &str) -> Result<Self, ListError> {
        let mut all = Vec::new();
        for (line, text) in (1..).zip(text.lines()) {
            let text = text.trim();
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            let fields: Vec<&str> = text.splitn(5, " | ").map(str::trim).collect();
            let [kind, kernel, file, code, reason] = fields[..] else {
                return Err(ListError::Fields { line });
            };
            if reason.is_empty() {
                return Err(ListError::Reason { line });
            }
            let kind = kind
                .parse()
                .map_err(|source| ListError::Kind { line, source })?;
            all.push(Suppression {
                kind,
                kernel: kernel.to_owned(),
                file: file.to_owned(),
                code: code.to_owned(),
                reason: reason.to_owned(),
                line,
            });
        }
        let used = vec![false; all.len()];
        Ok(Self { all, used })
    }

    /// Takes the findings that the list covers out of a report; gives how many there were.
    pub fn apply(&mut self, report: &mut Report) -> usize {
        let before = report.findings().len();
        report.retain(|finding| {
            let mut open = true;
            for (suppression, used) in self.all.iter().zip(&mut self.used) {
                if suppression.covers(finding) {
                    *used = true;
                    open = false;
                }
            }
            open
        });
        before - report.findings().len()
    }

    /// The suppressions that have covered nothing so far.
    pub fn stale(&self) -> impl Iterator<Item = &Suppression> {
        let pairs = self.all.iter().zip(&self.used);
        pairs.filter(|(_, used)| !**used).map(|(one, _)| one)
    }
}

/// Whether `text` is as `pattern` says, in which `*` stands for anything.
fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let mut last = None;
    for part in parts {
        if let Some(part) = last.replace(part) {
            let part: &str = part;
            let Some(at) = rest.find(part) else {
                return false;
            };
            rest = rest.get(at + part.len()..).unwrap_or_default();
        }
    }
    match last {
        Some(part) => rest.ends_with(part),
        None => rest.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::super::report::Text;
    use super::*;
    use crate::engine::Raw;

    #[test]
    fn stars_stand_for_anything() {
        for (pattern, text, wanted) in [
            ("*", "", true),
            ("*", "x", true),
            ("a", "a", true),
            ("a", "ab", false),
            ("a*", "ab", true),
            ("*b", "ab", true),
            ("a*c*e", "abcde", true),
            ("a*c*e", "abde", false),
            ("a*a", "a", false),
            ("b*", "ab", false),
        ] {
            assert_eq!(matches(pattern, text), wanted, "{pattern} {text}");
        }
    }

    fn report() -> Report {
        let text = Text {
            source: "let x = a << b;",
            parts: &[],
            label: "k.wgsl",
        };
        let raw = Raw {
            kind: Kind::Shift,
            line: 1,
            party: None,
            other: None,
            message: String::new(),
            with: None,
            count: 1,
        };
        let mut report = Report::default();
        let _ = report.add(Finding::new("kernel_a", &text, raw));
        report
    }

    #[test]
    fn a_suppression_covers_its_finding_and_no_other() {
        for (list, left, stale) in [
            ("shift | kernel_* | k.wgsl | a << b | meant", 0, 0),
            ("race | kernel_* | k.wgsl | a << b | other kind", 1, 1),
            ("shift | other | k.wgsl | a << b | other kernel", 1, 1),
            ("shift | * | * | a >> b | other code", 1, 1),
            (
                "# nothing\n\nshift | * | * | << | first\nshift | * | * | x | second",
                0,
                0,
            ),
        ] {
            let mut list = Suppressions::parse(list).unwrap();
            let mut report = report();
            let _ = list.apply(&mut report);
            assert_eq!(
                (report.findings().len(), list.stale().count()),
                (left, stale)
            );
        }
    }

    #[test]
    fn what_is_no_suppression_is_refused() {
        let error = |text| Suppressions::parse(text).unwrap_err();
        assert_eq!(error("\nshift | a | b"), ListError::Fields { line: 2 });
        assert_eq!(error("shift | a | b | c | "), ListError::Fields { line: 1 });
        assert!(matches!(
            error("shit | a | b | c | d"),
            ListError::Kind { line: 1, .. }
        ));
    }
}
