//! `cargo xtask threads`: the stress test under the thread sanitizer.
//!
//! Everything is compiled with the sanitizer, the standard library too, and the device is the software one, which is Rust:
//! no driver's library is between the threads that the sanitizer would not see. A control, a race on purpose, must be
//! reported first, so that silence means something.

use std::process::Command;

use xtask::failure::{Failure, Outcome};
use xtask::{process, workspace};

const TOOLCHAIN: &str = "nightly";
/// The test that races.
const CONTROL: &str = "a_race_that_the_thread_sanitizer_must_report";
/// What the sanitizer says.
const FOUND: &str = "WARNING: ThreadSanitizer";

/// Runs the control and the stress test.
pub(crate) fn run() -> Outcome<String> {
    let target = workspace::host()?;
    if !installed()? {
        return Err(Failure::new(format!(
            "needs `rustup toolchain install {TOOLCHAIN} --component rust-src`"
        )));
    }
    let control = found(&["--ignored", CONTROL], &target)?;
    if control == 0 {
        return Err(Failure::new(
            "the thread sanitizer does not see a race that is there",
        ));
    }
    let found = found(&[], &target)?;
    if found == 0 {
        Ok("the race of the control reported, none in the stress test".into())
    } else {
        Err(Failure::new(format!("{found} reports, printed above")))
    }
}

fn installed() -> Outcome<bool> {
    let mut command = Command::new("rustup");
    command.args(["component", "list", "--installed", "--toolchain", TOOLCHAIN]);
    let Ok(output) = command.output() else {
        return Err(Failure::new("needs rustup"));
    };
    Ok(String::from_utf8_lossy(&output.stdout).contains("rust-src"))
}

/// Runs the stress test with these arguments; how many reports there were. It fails without a report if a test does, or
/// none ran.
fn found(arguments: &[&str], target: &str) -> Outcome<u64> {
    let mut command = Command::new("rustup");
    command.current_dir(workspace::root());
    command.args(["run", TOOLCHAIN, "cargo", "test", "-Zbuild-std"]);
    command.args(["--target", target, "-p", "ziggurat-tensor"]);
    command.args(["--test", "stress", "--"]).args(arguments);
    command
        .env("RUSTFLAGS", "-Zsanitizer=thread")
        .env("CARGO_TARGET_DIR", workspace::target_dir()?.join("threads"))
        .env("ZIGGURAT_ADAPTER", "software")
        .env_remove("CARGO")
        .env_remove("RUSTC");
    let (mut reports, mut passed) = (0, false);
    let outcome = process::stream_lines(&mut command, |line| {
        reports += u64::from(line.contains(FOUND));
        passed |= line.contains("test result: ok. 1 passed");
    });
    if reports > 0 {
        return Ok(reports);
    }
    outcome?;
    if passed {
        Ok(0)
    } else {
        Err(Failure::new("no test ran"))
    }
}
