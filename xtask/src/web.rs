//! `cargo xtask web`: what runs in a browser. Builds programs for wasm32 and the JavaScript around them: of the tests, which the
//! driver in `xtask-checks` opens in Chromium, or of the page for people; or weighs them.

mod build;
mod size;

use std::path::Path;

use crate::{checks, models};
use xtask::failure::{Failure, Outcome};

/// What `cargo xtask web --help` prints.
pub(crate) const USAGE: &str = "\
Runs the tests in a browser, or builds what pages download

Usage: cargo xtask web [--size | --page | OPTIONS]

Options:
  --size          Build the programs as pages download them, and hold their sizes against budgets
  --page          Build the page for people, a folder that any server of files can serve
  --only STAGE,…  Only these stages: demo, leaving, memory, missing, shaders, behaviour, conformance, chat
  --chat          The stage chat too, which downloads a model of 93 MB the first time
  --sample        Less of it: one case of each file of vectors, pipelines of one small shader in twenty
  --day DAY       With --sample: the shaders of another day
  --from NUMBER   The shaders from this number on, to go on with a run that was cut off
  --part K/N      One of N parts of the shaders, for runs in parallel
  --gpu           On the machine's GPU, in place of Chromium's software adapter: shaders, behaviour and conformance, unless --only says otherwise
";

/// Does what the options say; without any it runs all tests.
pub(crate) fn run(arguments: &[String]) -> Outcome<String> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["--size"] => size::run(),
        ["--page"] => page(),
        _ => tests(arguments),
    }
}

/// Builds the page for people; where it is.
fn page() -> Outcome<String> {
    let folder = build::page_folder()?;
    build::page(&folder, &[])?;
    Ok(format!(
        "any server of files can serve {}",
        folder.display()
    ))
}

/// Builds what the page of the tests needs, opens it, and gives the driver's last line.
fn tests(arguments: &[String]) -> Outcome<String> {
    known(arguments)?;
    let asks = |word: &str| word == "--chat" || word.split(',').any(|stage| stage == "chat");
    let chat = arguments.iter().any(|word| asks(word));
    let folder = build::tests(chat)?;
    if chat {
        std::fs::copy(models::language()?, folder.join("model.gguf"))?;
    }
    driven(&folder, arguments)
}

/// Refuses what the driver would refuse, before anything is built.
fn known(arguments: &[String]) -> Outcome {
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let (name, value) = match word.split_once('=') {
            Some((name, _)) => (name, true),
            None => (word.as_str(), false),
        };
        match name {
            "--chat" | "--sample" | "--gpu" if !value => {}
            "--only" | "--day" | "--from" | "--part" if value || words.next().is_some() => {}
            _ => return Err(Failure::new(format!("web: {word:?}?\n\n{USAGE}"))),
        }
    }
    Ok(())
}

/// Opens the page of a folder in a browser; the driver's last line.
fn driven(folder: &Path, arguments: &[String]) -> Outcome<String> {
    let folder = folder
        .to_str()
        .ok_or_else(|| Failure::new("the folder of builds has a name that is not UTF-8"))?;
    let mut words = vec![folder.to_owned()];
    words.extend_from_slice(arguments);
    checks::built("web", &words)
}

#[cfg(test)]
mod tests {
    #[test]
    fn words_that_mean_nothing_are_refused_before_anything_is_built() {
        let known = |line: &str| {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            super::known(&words)
        };
        for line in [
            "",
            "--chat --sample --day 3",
            "--only=shaders --from 7",
            "--gpu --part 1/2",
        ] {
            assert!(known(line).is_ok(), "{line}");
        }
        for line in ["--fast", "shaders", "--from", "--chat=3", "--size --chat"] {
            assert!(known(line).is_err(), "{line}");
        }
    }
}
