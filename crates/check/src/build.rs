//! For build scripts.

use std::fmt;
use std::path::Path;

use crate::checker::Checker;
use crate::report::Level;

/// Shaders are refused; what and where went to cargo.
#[derive(Clone, PartialEq, Eq)]
pub struct BuildError {
    errors: usize,
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} errors in WGSL shaders, told above", self.errors)
    }
}

/// As for people, because a build script's `main` shows an error this way.
impl fmt::Debug for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl std::error::Error for BuildError {}

/// [`Checker::check`] in a package's build script: errors and warnings go to cargo, and the script runs again when the folder
/// changes.
///
/// ```no_run
/// // build.rs, with `ziggurat-check` among the build dependencies
/// fn main() -> Result<(), ziggurat_check::build::BuildError> {
///     ziggurat_check::build::check_dir("shaders")
/// }
/// ```
///
/// # Errors
///
/// If a shader is refused: the build fails.
pub fn check_dir(folder: impl AsRef<Path>) -> Result<(), BuildError> {
    check_dir_with(&Checker::new(), folder)
}

/// [`check_dir`] with a checker of one's own.
///
/// # Errors
///
/// As [`check_dir`].
#[expect(clippy::print_stdout, reason = "cargo reads it")]
pub fn check_dir_with(checker: &Checker, folder: impl AsRef<Path>) -> Result<(), BuildError> {
    let folder = folder.as_ref();
    println!("cargo::rerun-if-changed={}", folder.display());
    let report = checker.check(folder);
    for problem in &report.problems {
        let kind = match problem.level {
            Level::Error => "error",
            Level::Warning => "warning",
        };
        // Cargo takes one line.
        for line in problem.to_string().lines() {
            println!("cargo::{kind}={line}");
        }
    }
    match report.is_good() {
        true => Ok(()),
        false => Err(BuildError {
            errors: report.errors().count(),
        }),
    }
}
