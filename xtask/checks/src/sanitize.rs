//! `cargo xtask sanitize`: every kernel of the catalogue, run under the software device's sanitizer.
//!
//! What drives the kernels is what tests them anyway: the tests of kernels with their sizes, views and dtypes, those of
//! fused graphs, the conformance vectors, and the examples. `ZIGGURAT_SANITIZE` puts all of them on a checked software
//! device that writes what it finds into a folder; this reads it and compares what ran with the catalogue. What is right as
//! it is says so in its line of WGSL (`// sanitizer: allow(kind): reason`), and such a comment must be needed.

mod coverage;
mod steps;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use clap::Args;
use ziggurat_device::ziggurat_software::Report;

use steps::Step;
use xtask::failure::{Failure, Outcome};
use xtask::workspace;

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

/// Runs the steps; any finding, needless allowance or kernel that did not run is a failure.
pub(crate) fn run(choice: &Choice) -> Outcome<String> {
    let folder = workspace::target_dir()?.join("sanitize");
    let steps: Vec<Step> = steps::all()
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
    let report = Report::read(&folder)
        .map_err(|error| Failure::new(format!("{}: {error}", folder.display())))?;
    let whole = choice.only.is_none();
    let mut problems = conclude(&report, whole)?;
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
fn conclude(report: &Report, whole: bool) -> Outcome<Vec<String>> {
    let allowed = report.allowed().len();
    println!("{allowed} findings are allowed, with reasons, on their lines");
    let mut problems = Vec::new();
    if report.programs().next().is_none() {
        problems.push("no kernel ran".to_owned());
    }
    // Kernels for several dtypes share their lines: one of each line is enough to see.
    let mut by_line: BTreeMap<_, Vec<_>> = BTreeMap::new();
    // Ours are what this looks for.
    let found = || report.findings().iter().chain(report.internal());
    for finding in found() {
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
    if !by_line.is_empty() {
        let (all, lines) = (found().count(), by_line.len());
        problems.push(format!("{all} findings on {lines} lines"));
    }
    if whole {
        problems.extend(coverage::needless(report)?);
        problems.extend(coverage::missing(report)?);
    }
    Ok(problems)
}

/// A new folder for a test.
#[cfg(test)]
fn scratch() -> std::path::PathBuf {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("ziggurat-sanitize-{}-{number}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    assert!(clear(&folder).is_ok(), "{}", folder.display());
    folder
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use ziggurat_device::ziggurat_software::{Checks, Profile, Sanitizer};
    use ziggurat_device::{Device, DeviceOptions};
    use ziggurat_kernels::memory::{Memory, MemoryOptions};
    use ziggurat_pipeline::{Arg, Grid, KernelDescriptor, Pipelines, ShaderSource};

    use super::*;

    /// What a run of a kernel of 64 invocations leaves in a folder.
    fn found(body: &str) -> Report {
        let text = format!(
            "@group(0) @binding(0) var<storage, read_write> out: array<u32>;
            var<workgroup> tile: array<u32, 64>;
            @compute @workgroup_size(64)
            fn main(@builtin(local_invocation_index) i: u32) {{ {body} }}"
        );
        let folder = scratch();
        let mut profile = Profile::nvidia();
        profile.sanitizer = Some(Sanitizer::into_folder(&folder, Checks::default()).unwrap());
        let device = Device::software(profile, DeviceOptions::default()).unwrap();
        let pipelines = Pipelines::new(&Memory::new(&device, MemoryOptions::default()));
        let source = ShaderSource::wgsl("control", text);
        let kernel = pipelines.kernel(&KernelDescriptor::new(source)).unwrap();
        let out = pipelines.memory().upload(&[0; 256]).unwrap();
        let grid = Grid::Workgroups([1, 1, 1]);
        pipelines
            .dispatch(&kernel, &[Arg::write(&out)], &[], grid)
            .unwrap();
        let _ = pipelines.memory().read(&out, 0..256).unwrap().wait();
        let report = Report::read(&folder).unwrap();
        std::fs::remove_dir_all(folder).unwrap();
        report
    }

    #[test]
    fn a_race_fails_the_run_and_a_barrier_mends_it() {
        let racy = "tile[i] = i; out[i] = tile[63u - i];";
        let problems = conclude(&found(racy), false).unwrap();
        assert_eq!(problems, ["1 findings on 1 lines"]);
        let mended = "tile[i] = i; workgroupBarrier(); out[i] = tile[63u - i];";
        assert!(conclude(&found(mended), false).unwrap().is_empty());
    }

    #[test]
    fn a_run_of_something_else_covers_no_variant() {
        let report = found("out[i] = i;");
        let problems = conclude(&report, true).unwrap();
        let missing = problems.iter().filter(|line| line.ends_with("did not run"));
        assert!(missing.count() > 1000);
        let stale = problems
            .iter()
            .filter(|line| line.contains("nothing is found"));
        assert!(stale.count() > 0, "comments that nothing needs");
        let nothing = conclude(&Report::default(), false).unwrap();
        assert_eq!(nothing, ["no kernel ran"]);
    }
}
