//! `cargo xtask demo`: from a fresh machine to classified digits; nothing is installed.

use xtask::failure::Outcome;
use xtask::{process, workspace};

/// Builds and runs the demo, in a profile that spends its time on neither optimisation nor debug information. This program
/// shares no dependency with the demo, so nothing is compiled twice.
pub(crate) fn run(arguments: &[String]) -> Outcome<String> {
    println!("building the demo; the first time takes some minutes");
    let mut command = workspace::cargo();
    command
        .args(["run", "--profile", "demo", "--package", "digits", "--"])
        .args(arguments);
    process::stream(&mut command)?;
    Ok("demo: done; `cargo run --release -p digits` is the optimised build".into())
}
