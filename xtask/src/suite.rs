//! `cargo xtask test`: everything that must hold, stage by stage.
//!
//! Every stage runs even if one before it failed, so that one run shows all that is wrong. Components
//! that a fresh machine may lack (rustfmt, Clippy) are left out with a word.

mod choice;

use std::process::Command;

use crate::{checks, fuzz, models, package, threads, wasm, web};
use choice::Stage;
pub(crate) use choice::{Choice, USAGE};
use xtask::failure::{Failure, Outcome};
use xtask::progress::{Stages, Tally};
use xtask::{process, workspace};

/// Examples that run by themselves and must end well, each of another layer, by their paths in the folder of builds.
const EXAMPLES: [&str; 5] = [
    "examples/adapters",
    "examples/custom_wgsl",
    "examples/executor",
    "examples/first",
    "digits",
];

/// Runs the chosen stages.
pub(crate) fn run(choice: &Choice) -> Outcome<String> {
    let stages = choice.stages();
    let mut run = Stages::new(stages.len());
    for (name, stage) in stages {
        run.run(name, |tally| match stage {
            Stage::Setup => checks::built("setup", &[]),
            Stage::Format => format(),
            Stage::Check => checks::built("check", &[]),
            Stage::Clippy => clippy(),
            Stage::Tests => tests(tally),
            Stage::Adapter => adapter(tally),
            Stage::Fuzz => fuzz::run(&fuzz::Choice::default()),
            Stage::Limits => limits(tally),
            Stage::Gl => gl(tally),
            Stage::Doctests => doctests(tally),
            Stage::Tracing => tracing(tally),
            Stage::Docs => docs(),
            Stage::Examples => examples(tally),
            Stage::Sanitize => checks::built("sanitize", &[]),
            Stage::Threads => threads::run(),
            Stage::Models => models::sample(),
            Stage::Package => package::run(),
            Stage::Wasm => wasm::run(false),
            Stage::Web => web::run(&["--sample".to_owned()]),
            Stage::Size => web::run(&["--size".to_owned()]),
        });
    }
    run.finish()
}

fn cargo(words: &[&str]) -> Command {
    let mut command = workspace::cargo();
    command.args(words);
    command
}

fn has_subcommand(name: &str) -> bool {
    process::succeeds(&mut cargo(&[name, "--version"]))
}

fn format() -> Outcome<String> {
    if !has_subcommand("fmt") {
        return Ok("left out: `rustup component add rustfmt` for it".into());
    }
    process::stream(&mut cargo(&["fmt", "--all", "--check"]))?;
    Ok("formatted".into())
}

fn clippy() -> Outcome<String> {
    if !has_subcommand("clippy") {
        return Ok("left out: `rustup component add clippy` for it".into());
    }
    process::stream(&mut cargo(&[
        "clippy",
        "--workspace",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ]))?;
    Ok("no warnings".into())
}

/// What the stage `check` does, as tests for those who run no more than these.
const CHECKED: &str = "check::tests::shaders_are_valid_on_every_backend";

/// All tests.
fn tests(tally: &mut Tally) -> Outcome<String> {
    let mut command = cargo(&[
        "test",
        "--workspace",
        "--lib",
        "--bins",
        "--tests",
        "--no-fail-fast",
        "--",
        "--skip",
        CHECKED,
    ]);
    process::stream_lines(workspace::on_software(&mut command), |line| {
        count(line, tally);
    })?;
    note(tally, "tests")
}

/// Files of tests that together reach every family of ops and the ways to write kernels of one's own, in a few minutes.
const SMOKE: [&str; 5] = [
    "edges::",
    "edges_binary::",
    "conformance::",
    "losses::",
    "cookbook::",
];

/// Leaves out what is about how graphs are cut, which no driver decides, and random values, of which the vectors have enough.
const ELSEWHERE: [&str; 3] = [
    "--skip=unfused",
    "--skip=bindings_are_small",
    "--skip=fuzz_values",
];

/// What of the sweep runs on OpenGL. Reductions, scans, rows and functions of one operand take minutes there: what they have are
/// the vectors of [`SMOKE`].
const SWEEP_ON_GL: [&str; 5] = [
    "sweep::products_hold_everywhere",
    "sweep::windowed_ops_hold_everywhere",
    "sweep::indexed_ops_hold_everywhere",
    "sweep::rows_of_two_operands_hold_everywhere",
    "sweep::casts_moves_and_fused_kernels_hold_everywhere",
];

/// The machine's own adapter, a second opinion on what all tests have shown on the software device; `cargo test` runs
/// everything there.
fn adapter(tally: &mut Tally) -> Outcome<String> {
    let tests = [&SMOKE[..], &["sweep::"]].concat();
    let mut command = all(&tests, &ELSEWHERE);
    smoke(tally, &mut command, "the machine's adapter", &tests)
}

/// No more than WebGPU promises.
fn limits(tally: &mut Tally) -> Outcome<String> {
    let tests = [&SMOKE[..], &["sweep::"]].concat();
    let mut command = all(&tests, &[]);
    workspace::on_software(&mut command).env("ZIGGURAT_LIMITS", "default");
    smoke(tally, &mut command, "WebGPU's default limits", &tests)
}

fn gl(tally: &mut Tally) -> Outcome<String> {
    let tests = [&SMOKE[..], &SWEEP_ON_GL].concat();
    // wgpu waits six seconds for its OpenGL context and then panics: one test at a time.
    let arguments = [&ELSEWHERE[..], &["--test-threads=1"]].concat();
    let mut command = all(&tests, &arguments);
    // The vectors of the folder beside the repository run everywhere else.
    command.env("ZIGGURAT_BACKEND", "gl");
    command.env_remove("ZIGGURAT_CONFORMANCE_EXTRA");
    smoke(tally, &mut command, "OpenGL", &tests)
}

/// Tests of results whose paths contain one of these words.
fn all(tests: &[&str], arguments: &[&str]) -> Command {
    // Of the whole workspace, as the stage of all tests: another choice of packages has other features of dependencies, and
    // would build all of them once more.
    let mut command = cargo(&[
        "test",
        "--workspace",
        "--test",
        "all",
        "--no-fail-fast",
        "--",
    ]);
    command.args(arguments).args(tests);
    command
}

/// Runs them, on another kind of device than all tests.
fn smoke(tally: &mut Tally, command: &mut Command, on: &str, tests: &[&str]) -> Outcome<String> {
    process::stream_lines(command, |line| count(line, tally))?;
    if tally.passed == 0 {
        return Err(Failure::new(format!("{on}: no test of {tests:?} ran")));
    }
    note(tally, on)
}

fn doctests(tally: &mut Tally) -> Outcome<String> {
    process::stream_lines(
        &mut cargo(&["test", "--workspace", "--doc", "--no-fail-fast"]),
        |line| count(line, tally),
    )?;
    note(tally, "doctests")
}

/// The spans of the feature `tracing`, which no other stage switches on.
fn tracing(tally: &mut Tally) -> Outcome<String> {
    let feature = "ziggurat-device/tracing";
    let words = ["test", "--workspace", "--features", feature];
    let mut command = cargo(&words);
    process::stream_lines(command.args(["--test", "tracing"]), |line| {
        count(line, tally);
    })?;
    note(tally, "tracing")
}

/// A run that found no test has proved nothing.
fn note(tally: &Tally, what: &str) -> Outcome<String> {
    if tally.passed == 0 {
        return Err(Failure::new(format!("{what}: no test ran")));
    }
    Ok(format!("{} passed ({what})", tally.passed))
}

fn docs() -> Outcome<String> {
    let mut command = cargo(&["doc", "--workspace", "--no-deps"]);
    process::stream(command.env("RUSTDOCFLAGS", "-D warnings"))?;
    Ok("no warnings".into())
}

/// Builds all examples at once, so that every crate keeps the features it was tested with.
fn examples(tally: &mut Tally) -> Outcome<String> {
    let words = ["build", "--workspace", "--examples", "--bin", "digits"];
    process::stream(&mut cargo(&words))?;
    for name in EXAMPLES {
        let mut command = workspace::program(name)?;
        match process::stream(&mut command) {
            Ok(()) => tally.passed += 1,
            Err(failure) => {
                println!("{failure}");
                tally.failed += 1;
            }
        }
    }
    if tally.failed == 0 {
        Ok(format!("ran {}", EXAMPLES.join(", ")))
    } else {
        Err(Failure::new(format!(
            "{} of {} failed",
            tally.failed,
            EXAMPLES.len()
        )))
    }
}

/// Adds the tests that a line of cargo's or nextest's output sums up.
fn count(line: &str, tally: &mut Tally) {
    let plain = without_colour(line);
    let trimmed = plain.trim_start();
    if !trimmed.starts_with("test result:") && !trimmed.starts_with("Summary [") {
        return;
    }
    tally.passed += number_before(&plain, " passed");
    tally.failed += number_before(&plain, " failed") + number_before(&plain, " timed out");
}

fn number_before(line: &str, word: &str) -> u64 {
    let Some(end) = line.find(word) else { return 0 };
    let digits = line
        .get(..end)
        .unwrap_or_default()
        .rsplit(|c: char| !c.is_ascii_digit())
        .next();
    digits.and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

/// The line without terminal colour codes.
fn without_colour(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut pieces = line.split("\u{1b}[");
    out.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        out.push_str(piece.split_once('m').map_or("", |(_, rest)| rest));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(lines: &[&str]) -> (u64, u64) {
        let mut tally = Tally::default();
        lines.iter().for_each(|line| count(line, &mut tally));
        (tally.passed, tally.failed)
    }

    #[test]
    fn cargo_test_results_add_up() {
        let lines = [
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out",
            "test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured",
            "I passed 7 passed",
        ];
        assert_eq!(counted(&lines), (15, 2));
    }

    #[test]
    fn nextest_summaries_are_read_in_colour() {
        let line = "\u{1b}[32;1m     Summary\u{1b}[0m [  12.345s] \u{1b}[1m340\u{1b}[0m tests run: \u{1b}[1m338\u{1b}[0m \u{1b}[32;1mpassed\u{1b}[0m (2 slow), 2 failed, 4 skipped";
        assert_eq!(counted(&[line]), (338, 2));
    }

    #[test]
    fn a_run_without_tests_is_a_failure() {
        assert!(note(&Tally::default(), "tests").is_err());
        assert!(
            note(
                &Tally {
                    passed: 1,
                    failed: 0
                },
                "tests"
            )
            .is_ok()
        );
    }
}
