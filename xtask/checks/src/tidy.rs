//! `cargo xtask tidy`: how files are named, opened and kept short.
//!
//! Each rule is a function over one file, or over all of them, and returns problems; a rule that is not
//! worth a line in the terminal is not worth having.

mod docs;
mod modules;
mod rust;
mod tables;
mod text;

use std::path::Path;

use ziggurat_kernels::Reduce;

use crate::problem::Report;
use crate::wgsl;
use xtask::failure::Outcome;
use xtask::workspace::{self, TextFile};

/// Folders with other people's files, taken over as they are.
const FOREIGN: [&str; 2] = ["/conformance/", "LICENSE"];

/// Checks the files under `root`.
pub(crate) fn check(root: &Path) -> Outcome<Report> {
    let endings = [".rs", ".wgsl", ".md", ".toml", ".yml", ".sh"];
    let files = workspace::text_files(root, "", &endings)?;
    let own: Vec<TextFile> = files
        .into_iter()
        .filter(|file| !FOREIGN.iter().any(|foreign| file.path.contains(foreign)))
        .collect();
    let mut report = Report::default();
    for file in &own {
        report.extend(text::check(file));
        report.remarks.extend(text::long(file));
        if file.path.ends_with(".rs") {
            report.extend(rust::check(file));
        }
        if file.path.ends_with(".md") {
            report.extend(docs::check(file, |path| root.join(path).exists()));
        }
    }
    report.extend(modules::check(&own));
    report.extend(tables::check(&own, &wgsl::op_rows()?));
    let reductions = Reduce::ALL.map(|op| format!("{op:?}"));
    report.extend(tables::reductions(
        &own,
        reductions.iter().map(String::as_str),
    ));
    report.scope = format!("{} files", own.len());
    Ok(report)
}
