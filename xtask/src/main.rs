//! `cargo xtask`: the chores of this workspace, from a fresh machine to a benchmark.
//!
//! This program has no dependencies and starts what it needs: the demo compiles the layers once and nothing else, and
//! checks are a program of their own.

#![allow(clippy::print_stdout, reason = "a command line program")]

mod checks;
mod demo;
mod fuzz;
mod models;
mod package;
mod suite;
mod threads;
mod wasm;
mod web;

use std::process::ExitCode;

use xtask::failure::{Failure, Outcome};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match run(&words) {
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

fn run(words: &[String]) -> Outcome<String> {
    let Some((chore, rest)) = words.split_first() else {
        return Err(Failure::new(format!("which chore?\n\n{}", usage())));
    };
    let asks = |word: &String| word == "--help" || word == "-h";
    match chore.as_str() {
        "help" | "--help" | "-h" => Ok(usage()),
        "demo" => demo::run(rest),
        "test" if rest.iter().any(asks) => Ok(suite::USAGE.to_owned()),
        "test" => suite::run(&suite::Choice::parse(rest)?),
        "package" if rest.is_empty() => package::run(),
        "fuzz" if rest.iter().any(asks) => Ok(fuzz::USAGE.to_owned()),
        "fuzz" => fuzz::run(&fuzz::Choice::parse(rest)?),
        "models" if rest.len() < 2 => models::run(rest.first().map(String::as_str)),
        "threads" if rest.is_empty() => threads::run(),
        "wasm" => match rest {
            [] => wasm::run(false),
            [word] if word == "--debian" => wasm::run(true),
            _ => Err(Failure::new("wasm takes no option but --debian")),
        },
        "web" if rest.iter().any(asks) => Ok(web::USAGE.to_owned()),
        "web" => web::run(rest),
        name if checks::COMMANDS.iter().any(|(other, _)| *other == name) => checks::run(name, rest),
        _ => Err(Failure::new(format!(
            "cannot do `{}`\n\n{}",
            words.join(" "),
            usage()
        ))),
    }
}

/// All commands.
fn usage() -> String {
    let own = [
        ("demo", "Classify handwritten digits with a small network"),
        ("test", "Run every check and test"),
        (
            "fuzz",
            "Run random calls, files and shaders against every layer",
        ),
    ];
    let rest = [
        (
            "package",
            "Pack the crates, and build and run a program outside of the workspace from the packages",
        ),
        (
            "models",
            "Download model files with Python's client, check their hashes, and run the proofs on them; `models decoder`, sentences, speech or pictures: one of them",
        ),
        (
            "threads",
            "Run the stress test under the thread sanitizer (needs a nightly toolchain with rust-src)",
        ),
        (
            "wasm",
            "Compile all layers for the web; --debian takes the compiler from Debian's packages",
        ),
        (
            "web",
            "Run the tests in a browser (installs Chromium on Debian); --only demo,missing,shaders,behaviour,conformance; --sample takes less of each; --size weighs programs, --page builds the page for people",
        ),
    ];
    let mut text = String::from(
        "Chores of the Ziggurat workspace\n\nUsage: cargo xtask COMMAND [OPTIONS]\n\n",
    );
    for (name, what) in own.into_iter().chain(checks::COMMANDS).chain(rest) {
        text.push_str(&format!("  {name:9} {what}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn what_is_no_command_is_refused_with_the_list() {
        for line in ["", "tests", "wasm --fast", "threads now", "test --fast"] {
            let error = run(&words(line)).map_err(|failure| failure.to_string());
            assert!(error.is_err_and(|text| text.len() > 20), "{line}");
        }
        let text = usage();
        assert!(
            ["demo", "test", "doctor", "bench"]
                .iter()
                .all(|name| text.contains(name))
        );
        assert!(run(&words("test --help")).is_ok_and(|text| text.contains("--only")));
    }
}
