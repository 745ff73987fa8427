//! `cargo xtask sanitize`: every kernel of the catalogue, run under the software device's sanitizer.
//!
//! What drives the kernels is what tests them anyway: the tests of kernels with their sizes, views and
//! dtypes, and the conformance vectors. `ZIGGURAT_SANITIZE` puts all of them on a checked software device
//! that writes what it finds into a folder; this reads it, takes off what `sanitize/suppressions.txt` explains, and
//! compares what ran with the catalogue.

mod coverage;
mod steps;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use ziggurat_device::ziggurat_software::{Report, Suppressions};

use crate::failure::{Failure, Outcome};
use crate::workspace;
use steps::Step;

/// Known findings, with reasons.
const SUPPRESSIONS: &str = "xtask/sanitize/suppressions.txt";

/// What to run.
#[derive(Args, Debug, Default)]
pub(crate) struct Choice {
    /// Only steps whose name contains this
    #[arg(long)]
    only: Option<String>,
    /// Read the reports that the last run left instead of running anything
    #[arg(long)]
    read: bool,
}

/// Runs the steps; any finding, stale suppression or kernel that did not run is a failure.
pub(crate) fn run(choice: &Choice) -> Outcome<String> {
    let folder = workspace::target_dir()?.join("sanitize");
    let steps: Vec<Step> = steps::all()?
        .into_iter()
        .filter(|step| {
            let only = choice.only.as_deref();
            only.is_none_or(|only| step.name.contains(only))
        })
        .collect();
    let mut failed = Vec::new();
    if !choice.read {
        clear(&folder)?;
        steps::build()?;
        for step in &steps {
            let start = Instant::now();
            if let Err(failure) = step.run(&folder) {
                println!("{failure}");
                failed.push(step.name);
            }
            println!("{}: {:.0} s", step.name, start.elapsed().as_secs_f64());
        }
    }
    let mut report = Report::read(&folder)
        .map_err(|error| Failure::new(format!("{}: {error}", folder.display())))?;
    let whole = choice.only.is_none();
    let mut problems = conclude(&mut report, whole)?;
    problems.extend(failed.iter().map(|name| format!("{name} failed")));
    if problems.is_empty() {
        let kernels = report.kernels().len();
        Ok(format!("sanitize: {kernels} kernels ran, nothing found"))
    } else {
        Err(Failure::new(problems.join("\n")))
    }
}

fn clear(folder: &Path) -> Outcome {
    if folder.exists() {
        std::fs::remove_dir_all(folder)?;
    }
    std::fs::create_dir_all(folder)?;
    Ok(())
}

/// What is wrong, in words; `whole`: every step has run.
fn conclude(report: &mut Report, whole: bool) -> Outcome<Vec<String>> {
    let path: PathBuf = workspace::root().join(SUPPRESSIONS);
    let list = std::fs::read_to_string(&path)?;
    let mut list = Suppressions::parse(&list)
        .map_err(|error| Failure::new(format!("{SUPPRESSIONS}: {error}")))?;
    let suppressed = list.apply(report);
    println!("{suppressed} findings are suppressed, with reasons, in {SUPPRESSIONS}");
    let mut problems = Vec::new();
    if report.programs().next().is_none() {
        problems.push("no kernel ran".to_owned());
    }
    // Kernels for several dtypes share their lines: one of each line is enough to see.
    let mut by_line: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for finding in report.findings() {
        let key = (finding.kind, &finding.file, finding.line);
        by_line.entry(key).or_default().push(finding);
    }
    for findings in by_line.values() {
        if let Some(first) = findings.first() {
            print!("{first}");
            if findings.len() > 1 {
                println!("    and in {} other kernels", findings.len() - 1);
            }
        }
    }
    if !report.is_clean() {
        let (all, lines) = (report.findings().len(), by_line.len());
        problems.push(format!("{all} findings on {lines} lines"));
    }
    if whole {
        for stale in list.stale() {
            problems.push(format!(
                "{SUPPRESSIONS}:{}: nothing is found any more that this suppresses",
                stale.line
            ));
        }
        problems.extend(coverage::missing(report)?);
    }
    Ok(problems)
}
