//! Signs of life: a spinner for one long step, numbered stages for a run of steps.
//!
//! On a terminal the spinner turns; in a log it is a line every twenty seconds, so that nothing that
//! takes longer than a few seconds is silent.

use std::io::{IsTerminal as _, Write as _, stderr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::failure::{Failure, Outcome};

/// How often a log gets a line, and a terminal a new one in place of the old.
const HEARTBEAT: Duration = Duration::from_secs(20);
const TURN: Duration = Duration::from_millis(120);

/// One long step; it ends when this is dropped.
#[derive(Debug)]
pub struct Step {
    advanced: Arc<AtomicU64>,
    heart: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Step {
    /// A step of unknown length.
    pub fn start(message: &str) -> Self {
        Self::counted(message, 0)
    }

    /// A step of `len` parts that shows itself on a terminal only.
    pub fn counted_quietly(message: &str, len: u64) -> Self {
        if stderr().is_terminal() {
            Self::counted(message, len)
        } else {
            Self {
                advanced: Arc::default(),
                heart: None,
            }
        }
    }

    /// A step of `len` parts; call [`Step::advance`] after each.
    pub fn counted(message: &str, len: u64) -> Self {
        let terminal = stderr().is_terminal();
        if !terminal {
            eprintln!("{message} ...");
        }
        let advanced = Arc::new(AtomicU64::new(0));
        let (stop, stopped) = mpsc::channel::<()>();
        let (message, seen) = (message.to_owned(), advanced.clone());
        let heart = thread::spawn(move || {
            let started = Instant::now();
            let pause = if terminal { TURN } else { HEARTBEAT };
            while stopped.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                let count = match len {
                    0 => String::new(),
                    len => format!(" {}/{len}", seen.load(Ordering::Relaxed)),
                };
                let time = started.elapsed();
                if terminal {
                    let turn = ["-", "\\", "|", "/"][time.as_millis() as usize / 120 % 4];
                    eprint!("\r\x1b[K{turn} {message}{count} ({} s)", time.as_secs());
                    // A terminal that is gone needs no signs of life.
                    let _ = stderr().flush();
                } else {
                    eprintln!("{message} ...{count} {} s", time.as_secs());
                }
            }
            if terminal {
                eprint!("\r\x1b[K");
            }
        });
        Self {
            advanced,
            heart: Some((stop, heart)),
        }
    }

    /// One part of the step is done.
    pub fn advance(&self) {
        self.advanced.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Step {
    fn drop(&mut self) {
        if let Some((stop, heart)) = self.heart.take() {
            drop(stop);
            // The thread only prints; a panic in it is of no consequence here.
            let _ = heart.join();
        }
    }
}

/// Tests that a stage ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// How many passed.
    pub passed: u64,
    /// How many failed.
    pub failed: u64,
}

/// A run of named stages, each with its time, summed up at the end.
#[derive(Debug)]
pub struct Stages {
    started: Instant,
    total: usize,
    tally: Tally,
    done: Vec<Done>,
}

#[derive(Debug)]
struct Done {
    name: String,
    took: Duration,
    outcome: Result<String, String>,
}

impl Stages {
    /// A run of `total` stages.
    pub fn new(total: usize) -> Self {
        Self {
            started: Instant::now(),
            total,
            tally: Tally::default(),
            done: Vec::new(),
        }
    }

    /// Runs one stage. A failure is shown and remembered; the stages after it still run.
    ///
    /// A stage that runs tests adds them to the tally; any other counts as one.
    pub fn run(&mut self, name: &str, stage: impl FnOnce(&mut Tally) -> Outcome<String>) -> bool {
        let number = self.done.len() + 1;
        println!("\n[{number}/{}] {name}", self.total);
        let started = Instant::now();
        let mut tally = Tally::default();
        let outcome = stage(&mut tally).map_err(|failure| failure.to_string());
        let took = started.elapsed();
        match &outcome {
            Ok(note) => println!(
                "[{number}/{}] {name}: ok in {}; {note}",
                self.total,
                seconds(took)
            ),
            Err(why) => println!(
                "[{number}/{}] {name}: FAILED in {}: {why}",
                self.total,
                seconds(took)
            ),
        }
        let passed = outcome.is_ok();
        self.tally.passed += if passed {
            tally.passed.max(1)
        } else {
            tally.passed
        };
        self.tally.failed += if passed {
            tally.failed
        } else {
            tally.failed.max(1)
        };
        self.done.push(Done {
            name: name.to_owned(),
            took,
            outcome,
        });
        passed
    }

    /// The table of all stages and the closing line.
    pub fn finish(self) -> Outcome<String> {
        let width = self
            .done
            .iter()
            .map(|done| done.name.len())
            .max()
            .unwrap_or(0);
        println!();
        for done in &self.done {
            let (mark, note) = match &done.outcome {
                Ok(note) => ("ok    ", note.as_str()),
                Err(why) => ("FAILED", why.lines().next().unwrap_or_default()),
            };
            println!(
                "{mark} {:width$} {:>12}  {note}",
                done.name,
                seconds(done.took)
            );
        }
        let broken = self
            .done
            .iter()
            .filter(|done| done.outcome.is_err())
            .count();
        let time = seconds(self.started.elapsed());
        println!(
            "{} stages in {time}, {broken} of them failed",
            self.done.len()
        );
        let line = format!("{} passed, {} failed", self.tally.passed, self.tally.failed);
        if broken == 0 {
            Ok(line)
        } else {
            Err(Failure::new(line))
        }
    }
}

/// `12.3 s`, or `4 min 05 s` from two minutes on.
pub fn seconds(time: Duration) -> String {
    let whole = time.as_secs();
    if whole < 120 {
        format!("{:.1} s", time.as_secs_f64())
    } else {
        format!("{} min {:02} s", whole / 60, whole % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_stage_fails_the_run_and_the_rest_still_runs() {
        let mut stages = Stages::new(2);
        assert!(!stages.run("first", |_| Err(Failure::new("broken"))));
        assert!(stages.run("second", |_| Ok(String::new())));
        let line = stages.finish().map_err(|failure| failure.to_string());
        assert!(line.is_err_and(|line| line == "1 passed, 1 failed"));
    }

    #[test]
    fn tests_are_counted_one_by_one() {
        let mut stages = Stages::new(1);
        stages.run("tests", |tally| {
            tally.passed = 40;
            Ok(String::new())
        });
        assert!(
            stages
                .finish()
                .is_ok_and(|line| line == "40 passed, 0 failed")
        );
    }

    #[test]
    fn long_times_are_told_in_minutes() {
        assert_eq!(seconds(Duration::from_millis(1500)), "1.5 s");
        assert_eq!(seconds(Duration::from_secs(245)), "4 min 05 s");
    }
}
