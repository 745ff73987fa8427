//! `cargo xtask layers`: the tower stands on what is below it and on nothing else.
//!
//! Four rules: no crate depends on one above it; the wgpu calls that a layer owns are named by no other
//! layer; the tensor crate's dependency tree stays within its budget; whatever blocks does not exist on
//! the web.

mod blocking;
mod budget;
mod edges;
mod metadata;
mod owners;

use std::path::Path;

use crate::problem::Report;
use xtask::failure::Outcome;
use xtask::workspace;

/// Checks the workspace under `root`.
pub(crate) fn check(root: &Path) -> Outcome<Report> {
    let mut report = Report::default();
    report.extend(edges::check(&metadata::of(false)?));
    // An upward edge closes a cycle, and cargo resolves nothing then: say what is wrong before asking it.
    if !report.problems.is_empty() {
        return Ok(report);
    }
    let crates = budget::count(&metadata::of(true)?)?;
    report.extend(budget::check(crates));
    let sources = workspace::text_files(root, "crates", &[".rs"])?;
    report.extend(owners::check(&sources));
    report.extend(blocking::check(&sources));
    report.scope = format!(
        "{} layers, {} source files, {crates} of {} crates in the tensor crate's tree",
        workspace::LAYERS.len(),
        sources.len(),
        budget::LIMIT
    );
    Ok(report)
}
