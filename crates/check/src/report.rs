//! What a check found.

use std::collections::BTreeMap;
use std::fmt;

use crate::class::Class;

/// How bad a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Level {
    /// It compiles and runs, but may do something else than was meant, or not everywhere.
    Warning,
    /// It is refused.
    Error,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

/// Something wrong with a shader.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Problem {
    /// The file.
    pub file: String,
    /// The line in it, from 1; 0 if it is about the whole file.
    pub line: u32,
    /// The column in it, in bytes from 1; 0 if it is about the whole line.
    pub column: u32,
    /// How bad it is.
    pub level: Level,
    /// What is wrong.
    pub message: String,
    /// The line of code with carets below; empty without one.
    pub snippet: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        for number in [self.line, self.column] {
            if number > 0 {
                write!(f, ":{number}")?;
            }
        }
        write!(f, ": {}: {}", self.level, self.message)?;
        if !self.snippet.is_empty() {
            write!(f, "\n{}", self.snippet)?;
        }
        Ok(())
    }
}

/// What a check found in all files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Files that were read.
    pub files: Vec<String>,
    /// Entry points without an error.
    pub accepted: usize,
    /// Entry points with one, and files that cannot be read as far as their entry points.
    pub refused: usize,
    /// By class: the entry points within its limits.
    pub within: BTreeMap<Class, usize>,
    /// What is wrong, by file and line; each once.
    pub problems: Vec<Problem>,
}

impl Report {
    /// The problems that are errors.
    pub fn errors(&self) -> impl Iterator<Item = &Problem> {
        self.problems
            .iter()
            .filter(|problem| problem.level == Level::Error)
    }

    /// Whether nothing is refused.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.refused == 0 && self.errors().next().is_none()
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.files.extend(other.files);
        self.accepted += other.accepted;
        self.refused += other.refused;
        for (class, count) in other.within {
            *self.within.entry(class).or_default() += count;
        }
        self.problems.extend(other.problems);
        self.problems.sort();
        self.problems.dedup();
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for problem in &self.problems {
            writeln!(f, "{problem}")?;
        }
        let warnings = self.problems.len() - self.errors().count();
        write!(
            f,
            "{} files: {} entry points accepted, {} refused, {warnings} warnings; within the limits of",
            self.files.len(),
            self.accepted,
            self.refused
        )?;
        for (i, (class, count)) in self.within.iter().enumerate() {
            let before = if i == 0 { "" } else { "," };
            write!(f, "{before} {class} {count}")?;
        }
        Ok(())
    }
}
