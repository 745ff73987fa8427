//! Signs of life: a spinner for one long step, numbered stages for a run of steps.
//!
//! On a terminal the spinner turns; in a log it is a line every twenty seconds, so that nothing that
//! takes longer than a few seconds is silent.

use std::io::{IsTerminal as _, stderr};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::failure::{Failure, Outcome};

const HEARTBEAT: Duration = Duration::from_secs(20);

/// One long step; it ends when this is dropped.
pub(crate) struct Step {
    bar: Option<ProgressBar>,
    heart: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Step {
    /// A step of unknown length.
    pub(crate) fn start(message: &str) -> Self {
        if stderr().is_terminal() {
            let bar = ProgressBar::new_spinner();
            if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} ({elapsed})") {
                bar.set_style(style);
            }
            bar.set_message(message.to_owned());
            bar.enable_steady_tick(Duration::from_millis(120));
            return Self {
                bar: Some(bar),
                heart: None,
            };
        }
        eprintln!("{message} ...");
        let (stop, stopped) = mpsc::channel::<()>();
        let message = message.to_owned();
        let heart = thread::spawn(move || {
            let started = Instant::now();
            while stopped.recv_timeout(HEARTBEAT) == Err(RecvTimeoutError::Timeout) {
                eprintln!("{message} ... {} s", started.elapsed().as_secs());
            }
        });
        Self {
            bar: None,
            heart: Some((stop, heart)),
        }
    }

    /// A step that shows itself on a terminal only.
    pub(crate) fn start_quietly(message: &str) -> Self {
        if stderr().is_terminal() {
            Self::start(message)
        } else {
            Self {
                bar: None,
                heart: None,
            }
        }
    }

    /// A step of `len` parts; call [`Step::advance`] after each.
    pub(crate) fn counted(message: &str, len: u64) -> Self {
        if !stderr().is_terminal() {
            return Self::start(message);
        }
        let bar = ProgressBar::new(len);
        if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} ({elapsed})")
        {
            bar.set_style(style);
        }
        bar.set_message(message.to_owned());
        Self {
            bar: Some(bar),
            heart: None,
        }
    }

    pub(crate) fn advance(&self) {
        if let Some(bar) = &self.bar {
            bar.inc(1);
        }
    }
}

impl Drop for Step {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        if let Some((stop, heart)) = self.heart.take() {
            drop(stop);
            // The thread only prints; a panic in it is of no consequence here.
            let _ = heart.join();
        }
    }
}

/// Tests that a stage ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
}

/// A run of named stages, each with its time, summed up at the end.
pub(crate) struct Stages {
    started: Instant,
    total: usize,
    tally: Tally,
    done: Vec<Done>,
}

struct Done {
    name: String,
    took: Duration,
    outcome: Result<String, String>,
}

impl Stages {
    pub(crate) fn new(total: usize) -> Self {
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
    pub(crate) fn run(
        &mut self,
        name: &str,
        stage: impl FnOnce(&mut Tally) -> Outcome<String>,
    ) -> bool {
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
    pub(crate) fn finish(self) -> Outcome<String> {
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
pub(crate) fn seconds(time: Duration) -> String {
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
