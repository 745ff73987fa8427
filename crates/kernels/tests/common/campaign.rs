//! Random cases, each from a seed of its own: which ones to run, and a note of the one that runs, which outlives a process
//! that is aborted or killed. `cargo xtask fuzz` runs them by the thousand.
//!
//! `ZIGGURAT_FUZZ_SEED` is the first seed (1), `ZIGGURAT_FUZZ_CASES` their number, `ZIGGURAT_FUZZ_SECONDS` a time to go on for
//! instead, `ZIGGURAT_FUZZ_NOTE` the file of the note.

#![allow(dead_code, reason = "each program of tests uses its share")]

use std::fs::File;
use std::io::{Seek as _, Write as _};
use std::time::{Duration, Instant};

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// The cases that a test runs.
#[derive(Debug)]
pub(crate) struct Campaign {
    first: u64,
    cases: Option<u64>,
    time: Option<Duration>,
    done: u64,
    start: Instant,
    note: Option<File>,
}

impl Campaign {
    /// So many cases, unless the environment asks for others.
    pub(crate) fn new(usual: u64) -> Self {
        let asked = variable("ZIGGURAT_FUZZ_CASES");
        let time = variable("ZIGGURAT_FUZZ_SECONDS").map(Duration::from_secs);
        let note = std::env::var_os("ZIGGURAT_FUZZ_NOTE").map(|path| File::create(path).unwrap());
        Self {
            first: variable("ZIGGURAT_FUZZ_SEED").unwrap_or(1),
            cases: asked.or(time.is_none().then_some(usual)),
            time,
            done: 0,
            start: Instant::now(),
            note,
        }
    }

    /// Whether the usual cases run, of which a test may expect more than of others.
    pub(crate) fn is_usual(&self) -> bool {
        self.time.is_none() && variable("ZIGGURAT_FUZZ_CASES").is_none() && self.first == 1
    }

    /// Cases done or under way.
    pub(crate) const fn done(&self) -> u64 {
        self.done
    }

    /// The seed of the next case, if there is one.
    pub(crate) fn next(&mut self) -> Option<u64> {
        let is_over = match (self.cases, self.time) {
            (Some(cases), _) => self.done >= cases,
            (None, Some(time)) => self.start.elapsed() >= time,
            (None, None) => true,
        };
        if is_over {
            return None;
        }
        let seed = self.first + self.done;
        self.done += 1;
        self.note(seed, "");
        Some(seed)
    }

    /// Says what is done with a seed, before it is done.
    pub(crate) fn note(&mut self, seed: u64, what: &str) {
        if let Some(file) = &mut self.note {
            let text = format!("{seed} {what}\n");
            file.rewind().unwrap();
            file.write_all(text.as_bytes()).unwrap();
            file.set_len(text.len() as u64).unwrap();
        }
    }
}
