//! Starting `xtask-checks`, the program with the chores that are linked with the layers.

use xtask::failure::Outcome;
use xtask::{process, workspace};

/// Its commands, and what each does.
pub(crate) const COMMANDS: [(&str, &str); 11] = [
    (
        "setup",
        "Say what computes here; nothing has to be installed",
    ),
    ("doctor", "Print adapters, limits and what to install"),
    ("check", "wgsl + layers + tidy + docs --check"),
    ("wgsl", "Check every kernel of the catalogue"),
    ("layers", "Check what depends on what, and who calls wgpu"),
    ("tidy", "Check names, lengths and documents"),
    ("docs", "Write the generated documents"),
    ("bench", "Measure ops, copies, upload and readback"),
    (
        "tune",
        "Measure which ways to compute ops are the fastest on this adapter",
    ),
    (
        "replay",
        "Run a recording of operations on this adapter, and say which one gives something else",
    ),
    (
        "sanitize",
        "Run every kernel under the software device's sanitizer",
    ),
];

/// Builds it and passes the command on.
pub(crate) fn run(command: &str, arguments: &[String]) -> Outcome<String> {
    let mut cargo = workspace::cargo();
    cargo
        .args(["run", "--quiet", "--package", "xtask-checks", "--", command])
        .args(arguments);
    process::stream(&mut cargo)?;
    Ok(format!("{command}: done"))
}

/// Runs one command as a stage of the suite. It is built with the examples of the whole workspace, as the stages around it
/// build: another choice of packages has other features of dependencies, and would build all of them once more.
pub(crate) fn built(command: &str, arguments: &[String]) -> Outcome<String> {
    let words = [
        "build",
        "--workspace",
        "--examples",
        "--bin",
        "xtask-checks",
    ];
    process::stream(workspace::cargo().args(words))?;
    let mut program = workspace::program("xtask-checks")?;
    let mut last = String::new();
    process::stream_lines(program.arg(command).args(arguments), |line| {
        line.clone_into(&mut last);
    })?;
    Ok(last)
}
