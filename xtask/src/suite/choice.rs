//! The stages of `cargo xtask test`, and the options that choose among them.

use xtask::failure::{Failure, Outcome};

/// Which stages to run.
#[derive(Debug, Default)]
pub(crate) struct Choice {
    only: Vec<Stage>,
    skip: Vec<Stage>,
    gl: bool,
    threads: bool,
    models: bool,
    wasm: bool,
    web: bool,
    package: bool,
}

/// What `cargo xtask test --help` prints.
pub(crate) const USAGE: &str = "\
Runs every check and test, stage by stage

Usage: cargo xtask test [OPTIONS]

Options:
  --only STAGE,…  Only these stages
  --skip STAGE,…  All but these stages
  --gl            Also run the smoke tests on OpenGL (needs Mesa or a driver with EGL)
  --threads       Also run the stress test under the thread sanitizer (needs a nightly toolchain with rust-src)
  --models        Also run the proofs of a language model that others made (downloads 93 MB the first time; needs Python)
  --package       Also pack the crates, and build and run a program from the packages
  --wasm          Also compile for the web (fetches a toolchain the first time)
  --web           Also run a sample of the tests in a browser (installs Chromium the first time), and weigh what pages download
                  (gets an optimiser from npm the first time)
";

/// A stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Setup,
    Format,
    Check,
    Clippy,
    Tests,
    Adapter,
    Fuzz,
    Limits,
    Gl,
    Doctests,
    Tracing,
    Docs,
    Examples,
    Sanitize,
    Threads,
    Models,
    Package,
    Wasm,
    Web,
    Size,
}

impl Stage {
    /// In the order in which they run.
    const ALL: [(&str, Self); 20] = [
        ("setup", Self::Setup),
        ("format", Self::Format),
        ("check", Self::Check),
        ("clippy", Self::Clippy),
        ("tests", Self::Tests),
        ("adapter", Self::Adapter),
        ("fuzz", Self::Fuzz),
        ("limits", Self::Limits),
        ("gl", Self::Gl),
        ("doctests", Self::Doctests),
        ("tracing", Self::Tracing),
        ("docs", Self::Docs),
        ("examples", Self::Examples),
        ("sanitize", Self::Sanitize),
        ("threads", Self::Threads),
        ("models", Self::Models),
        ("package", Self::Package),
        ("wasm", Self::Wasm),
        ("web", Self::Web),
        ("size", Self::Size),
    ];
}

impl Choice {
    /// Reads the words behind `cargo xtask test`.
    pub(crate) fn parse(words: &[String]) -> Outcome<Self> {
        let mut choice = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let (name, value) = match word.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (word.as_str(), None),
            };
            match name {
                "--only" | "--skip" => {
                    let names = value.or_else(|| words.next().map(String::as_str));
                    let names = names
                        .ok_or_else(|| Failure::new(format!("{name} needs names of stages")))?;
                    let stages = names.split(',').map(stage).collect::<Outcome<Vec<_>>>()?;
                    let list = if name == "--only" {
                        &mut choice.only
                    } else {
                        &mut choice.skip
                    };
                    list.extend(stages);
                }
                "--gl" => choice.gl = true,
                "--threads" => choice.threads = true,
                "--models" => choice.models = true,
                "--wasm" => choice.wasm = true,
                "--web" => choice.web = true,
                "--package" => choice.package = true,
                _ => return Err(Failure::new(format!("unknown option {word}\n\n{USAGE}"))),
            }
        }
        Ok(choice)
    }

    /// The chosen stages with their names, in order.
    pub(super) fn stages(&self) -> Vec<(&'static str, Stage)> {
        let all = Stage::ALL.into_iter();
        all.filter(|(_, stage)| match self.only.is_empty() {
            true => self.is_usual(*stage),
            false => self.only.contains(stage),
        })
        .filter(|(_, stage)| !self.skip.contains(stage))
        .collect()
    }

    /// Whether a stage runs where none is named: always, or with its option.
    const fn is_usual(&self, stage: Stage) -> bool {
        match stage {
            Stage::Gl => self.gl,
            Stage::Threads => self.threads,
            Stage::Models => self.models,
            Stage::Package => self.package,
            Stage::Wasm => self.wasm,
            Stage::Web | Stage::Size => self.web,
            _ => true,
        }
    }
}

fn stage(name: &str) -> Outcome<Stage> {
    let found = Stage::ALL.into_iter().find(|(other, _)| *other == name);
    found.map(|(_, stage)| stage).ok_or_else(|| {
        let names = Stage::ALL.map(|(name, _)| name).join(", ");
        Failure::new(format!("no stage is called {name:?}: there are {names}"))
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn stages(line: &str) -> Vec<Stage> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let choice = Choice::parse(&words).unwrap();
        choice
            .stages()
            .into_iter()
            .map(|(_, stage)| stage)
            .collect()
    }

    #[test]
    fn stages_can_be_picked_and_left_out() {
        let all = stages("");
        assert!(all.contains(&Stage::Tests) && all.contains(&Stage::Sanitize));
        for (option, stage) in [
            ("--wasm", Stage::Wasm),
            ("--web", Stage::Web),
            ("--web", Stage::Size),
            ("--gl", Stage::Gl),
            ("--threads", Stage::Threads),
            ("--models", Stage::Models),
            ("--package", Stage::Package),
        ] {
            assert!(!all.contains(&stage) && stages(option).contains(&stage));
        }
        assert_eq!(
            stages("--only check,tests --skip=tests --wasm"),
            [Stage::Check]
        );
        assert_eq!(stages("--only gl"), [Stage::Gl]);
    }

    #[test]
    fn words_that_mean_nothing_are_refused() {
        for line in ["--only nothing", "--only", "--fast", "tests"] {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            assert!(Choice::parse(&words).is_err(), "{line}");
        }
    }
}
