//! `cargo xtask demo`: from a fresh machine to classified digits; nothing is installed.

use crate::failure::Outcome;
use crate::{process, setup, workspace};

/// Builds and runs the example in release mode.
pub(crate) fn run(arguments: &[String]) -> Outcome<String> {
    println!("adapter: {}", setup::run(setup::Choice::default())?);
    println!("building the demo in release mode; the first time takes some minutes");
    let mut command = workspace::cargo();
    command
        .args([
            "run",
            "--release",
            "-p",
            "ziggurat-tensor",
            "--example",
            "digits",
            "--",
        ])
        .args(arguments);
    process::stream(&mut command)?;
    Ok("demo: done".into())
}
