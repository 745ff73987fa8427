//! What runs under the sanitizer.
//!
//! Everything is built for the whole workspace, as the other stages build it, so that nothing is compiled anew.

use std::path::Path;
use std::process::Command;

use crate::failure::{Failure, Outcome};
use crate::{process, workspace};

/// One command.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) name: &'static str,
    /// Which kind of GPU the software device looks like.
    profile: &'static str,
    what: What,
}

#[derive(Debug)]
enum What {
    /// Test files: package and file.
    Tests(Vec<(&'static str, String)>),
    /// An example with its arguments.
    Example(&'static [&'static str]),
}

const KERNELS: &str = "ziggurat-kernels";
const TENSOR: &str = "ziggurat-tensor";

/// Test files of the kernels that are left out, with the reason.
const LEFT_OUT: [(&str, &str); 3] = [
    (
        "large",
        "tensors of more than 128 MiB take minutes when each word is checked",
    ),
    (
        "allocations",
        "counts allocations of the host; a sanitizer makes more",
    ),
    ("fused_structure", "runs no kernel"),
];

/// Tests whose names contain this are left out: grids of hundreds of thousands of workgroups and operands beyond a binding
/// take minutes when each word is checked, and other tests run the same kernels.
const TOO_LARGE: [&str; 4] = [
    "fold_the_grid",
    "more_elements_than_a_row_of_workgroups",
    "over_the_binding_limit",
    "beyond_a_plane_of_workgroups",
];

/// Test files of tensors: graphs that fuse, at random and by hand.
const FUSED: [&str; 3] = ["fusion", "epilogue", "prologue"];

/// All steps; between them every variant of the catalogue has to run.
pub(super) fn all() -> Outcome<Vec<Step>> {
    let mut tests = kernel_tests()?;
    tests.extend(FUSED.map(|file| (TENSOR, file.to_owned())));
    let step = |name, profile, what| Step {
        name,
        profile,
        what,
    };
    let vectors = What::Example(&["conformance", "crates/tensor/conformance"]);
    let mut steps = vec![
        step("conformance", "webgpu-default", vectors),
        step("tests", "nvidia", What::Tests(tests)),
    ];
    for words in [&["digits"][..], &["first"], &["executor"], &["custom_wgsl"]] {
        let name = words.first().copied().unwrap_or_default();
        steps.push(step(name, "nvidia", What::Example(words)));
    }
    Ok(steps)
}

/// The kernels' test files but those left out.
fn kernel_tests() -> Outcome<Vec<(&'static str, String)>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(workspace::root().join("crates/kernels/tests"))? {
        let path = entry?.path();
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        let is_test = path.extension() == Some("rs".as_ref()) || path.join("main.rs").exists();
        if let (Some(stem), true) = (stem, is_test) {
            files.push((KERNELS, stem.to_owned()));
        }
    }
    files.sort();
    for (name, _) in LEFT_OUT {
        let before = files.len();
        files.retain(|(_, file)| file != name);
        if files.len() == before {
            return Err(Failure::new(format!(
                "{name}.rs is left out, but is not there"
            )));
        }
    }
    Ok(files)
}

/// Builds what the steps run.
pub(super) fn build() -> Outcome {
    let mut command = workspace::cargo();
    process::stream(command.args(["build", "--workspace", "--examples"]))
}

impl Step {
    pub(super) fn run(&self, folder: &Path) -> Outcome {
        let mut command = match &self.what {
            What::Tests(files) => tests(files),
            What::Example(words) => example(words)?,
        };
        command
            .current_dir(workspace::root())
            .env("ZIGGURAT_SANITIZE", folder)
            .env("ZIGGURAT_ADAPTER", format!("software:{}", self.profile))
            .env("ZIGGURAT_REQUIRE_GPU", "1");
        process::stream(&mut command)
    }
}

/// Runs test files with nextest, or else with cargo, which takes files of one name in other packages along.
fn tests(files: &[(&str, String)]) -> Command {
    let mut command = workspace::cargo();
    if process::succeeds(workspace::cargo().args(["nextest", "--version"])) {
        let files: Vec<String> = files
            .iter()
            .map(|(package, file)| format!("binary_id({package}::{file})"))
            .collect();
        command.args(["nextest", "run", "--workspace", "--profile", "ci", "-E"]);
        let large = TOO_LARGE.map(|name| format!(" - test(~{name})"));
        command.arg(format!("({}){}", files.join(" | "), large.concat()));
    } else {
        command.args(["test", "-q", "--workspace", "--no-fail-fast"]);
        for (_, file) in files {
            command.args(["--test", file]);
        }
        command.arg("--");
        for name in TOO_LARGE {
            command.args(["--skip", name]);
        }
    }
    command
}

/// An example that is built.
fn example(words: &[&str]) -> Outcome<Command> {
    let (name, arguments) = words
        .split_first()
        .ok_or_else(|| Failure::new("an example without a name"))?;
    let folder = workspace::target_dir()?.join("debug").join("examples");
    let mut command = Command::new(folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX)));
    command.args(arguments);
    Ok(command)
}
