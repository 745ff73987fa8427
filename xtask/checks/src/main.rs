//! `cargo xtask`: the chores of this workspace, from a fresh machine to a benchmark.
//!
//! Depends on the layers; nothing depends on it. Each command is a module, and each check is a library of
//! small rules with tests, so that a rule that never fires is noticed.

#![allow(clippy::print_stdout, reason = "a command line program")]

mod bench;
mod check;
mod demo;
mod docs;
mod doctor;
mod failure;
mod layers;
mod problem;
mod process;
mod progress;
mod rust_text;
mod sanitize;
mod setup;
mod suite;
mod threads;
mod tidy;
mod wasm;
mod wgsl;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Checks and chores of the Ziggurat workspace.
#[derive(Parser, Debug)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Options {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand, Debug)]
enum Chore {
    /// Say what computes here; nothing has to be installed
    Setup(setup::Choice),
    /// Classify handwritten digits with a small network
    Demo {
        /// Passed on to the demo
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Run every check and test
    Test(suite::Choice),
    /// wgsl + layers + tidy + docs --check
    Check,
    /// Check every kernel of the catalogue
    Wgsl(wgsl::Choice),
    /// Check what depends on what, and who calls wgpu
    Layers,
    /// Check names, lengths and documents
    Tidy,
    /// Write docs/ops.md from the tables of ops
    Docs {
        /// Only compare
        #[arg(long)]
        check: bool,
    },
    /// Print adapters, limits and what to install
    Doctor,
    /// Measure ops, copies, upload and readback
    Bench(bench::Choice),
    /// Run every kernel under the software device's sanitizer
    Sanitize(sanitize::Choice),
    /// Run the stress test under the thread sanitizer (needs a nightly toolchain with rust-src)
    Threads,
    /// Compile all layers for the web
    Wasm(wasm::Choice),
}

fn main() -> ExitCode {
    let options = Options::parse();
    let outcome = match &options.chore {
        Chore::Setup(choice) => setup::run(*choice),
        Chore::Demo { arguments } => demo::run(arguments),
        Chore::Test(choice) => suite::run(choice),
        Chore::Check => check::all(),
        Chore::Wgsl(choice) => wgsl::run(choice),
        Chore::Layers => check::layers(),
        Chore::Tidy => check::tidy(),
        Chore::Docs { check } => docs::run(*check),
        Chore::Doctor => doctor::run(),
        Chore::Bench(choice) => bench::run(choice),
        Chore::Sanitize(choice) => sanitize::run(choice),
        Chore::Threads => threads::run(),
        Chore::Wasm(choice) => wasm::run(*choice),
    };
    match outcome {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_well_formed() {
        Options::command().debug_assert();
    }

    #[test]
    fn the_demo_takes_arguments_of_its_own() {
        let options = Options::try_parse_from(["cargo xtask", "demo", "--images", "5"]);
        assert!(options.is_ok_and(|options| matches!(options.chore, Chore::Demo { arguments } if arguments == ["--images", "5"])));
    }
}
