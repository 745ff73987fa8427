//! The chores of this workspace that are linked with its layers; `cargo xtask` starts them.
//!
//! Nothing depends on it. Each command is a module, and each check is a library of
//! small rules with tests, so that a rule that never fires is noticed.

#![allow(clippy::print_stdout, reason = "a command line program")]

mod bench;
mod check;
mod docs;
mod doctor;
mod layers;
mod problem;
mod replay;
mod rust_text;
mod sanitize;
mod setup;
mod tidy;
mod tune;
mod web;
mod wgsl;

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
    /// Measure which ways to compute ops are the fastest on this adapter
    Tune(tune::Choice),
    /// Run a recording of operations on this adapter, and say which one gives something else
    Replay(replay::Choice),
    /// Run every kernel under the software device's sanitizer
    Sanitize(sanitize::Choice),
    /// Serve the page of the tests in a browser, and open it
    Web(web::Choice),
}

fn main() -> ExitCode {
    let options = Options::parse();
    let outcome = match &options.chore {
        Chore::Setup(choice) => setup::run(*choice),
        Chore::Check => check::all(),
        Chore::Wgsl(choice) => wgsl::run(choice),
        Chore::Layers => check::layers(),
        Chore::Tidy => check::tidy(),
        Chore::Docs { check } => docs::run(*check),
        Chore::Doctor => doctor::run(),
        Chore::Bench(choice) => bench::run(choice),
        Chore::Tune(choice) => tune::run(choice),
        Chore::Replay(choice) => replay::run(choice),
        Chore::Sanitize(choice) => sanitize::run(choice),
        Chore::Web(choice) => web::run(choice),
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
}
