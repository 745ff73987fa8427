//! What the page reported, and whether that is enough.

use std::collections::BTreeMap;

use serde::Deserialize;
use xtask::failure::{Failure, Outcome};

/// One message of the page.
#[derive(Clone, Debug, Deserialize)]
struct Message {
    stage: String,
    done: u64,
    of: u64,
    failures: Vec<String>,
    note: String,
}

/// The last message of each stage, and all failures.
#[derive(Debug, Default)]
pub(super) struct Report {
    stages: BTreeMap<String, Message>,
    failures: Vec<String>,
    /// Whether the line that a page wrote on purpose was heard.
    console: bool,
}

/// The stages that must have run to their end.
pub(super) const STAGES: [&str; 7] = [
    "demo",
    "leaving",
    "memory",
    "missing",
    SHADERS,
    "behaviour",
    "conformance",
];
/// The one that other browsers may go on with.
pub(super) const SHADERS: &str = "shaders";
/// One that is run only if it is asked for.
pub(super) const CHAT: &str = "chat";
/// What the page of the stage `leaving` writes to its console, to show that somebody hears it.
const CONTROL: &str = "heard, and on purpose";

impl Report {
    pub(super) fn add(&mut self, text: &str) -> Outcome {
        let message: Message = serde_json::from_str(text)
            .map_err(|error| Failure::new(format!("the page said {text:?}: {error}")))?;
        println!(
            "{}: {} of {} {}",
            message.stage, message.done, message.of, message.note
        );
        for failure in &message.failures {
            println!("FAILED {}: {failure}", message.stage);
        }
        self.failures.extend_from_slice(&message.failures);
        self.stages.insert(message.stage.clone(), message);
        Ok(())
    }

    /// How much of a stage is done, and whether that is all of it.
    pub(super) fn reached(&self, stage: &str) -> Option<(u64, bool)> {
        let Message { done, of, .. } = self.stages.get(stage)?;
        Some((*done, done == of))
    }

    /// A line of a console, which should have none but one.
    pub(super) fn console(&mut self, line: String) {
        if line.contains(CONTROL) {
            self.console = true;
            return;
        }
        println!("FAILED leaving: {line}");
        self.failures
            .push(format!("a page that was left wrote {line}"));
    }

    /// One line, or the failures. A stage of which nothing was heard, or not the end, is a failure too.
    pub(super) fn verdict(&self, only: &[&str]) -> Outcome<String> {
        let all = || STAGES.into_iter().chain([CHAT]);
        if let Some(unknown) = only.iter().find(|name| all().all(|known| known != **name)) {
            let known = all().collect::<Vec<_>>().join(", ");
            return Err(Failure::new(format!(
                "no stage is called {unknown:?}: there are {known}"
            )));
        }
        if only.contains(&"leaving") && !self.console {
            let text = "what a page wrote to its console on purpose was not heard";
            return Err(Failure::new(text));
        }
        let mut lines = Vec::new();
        for stage in all().filter(|stage| only.contains(stage)) {
            match self.stages.get(stage) {
                Some(Message { done, of, note, .. }) if done == of && *of > 0 => {
                    lines.push(format!("{of} {stage} ({note})"));
                }
                other => {
                    return Err(Failure::new(format!(
                        "{stage} did not come to its end: {other:?}; failures: {:?}",
                        self.failures
                    )));
                }
            }
        }
        if lines.is_empty() {
            return Err(Failure::new("no stage was asked for"));
        }
        if self.failures.is_empty() {
            return Ok(lines.join("; "));
        }
        Err(Failure::new(format!(
            "{} failures in the browser, the first: {}",
            self.failures.len(),
            self.failures[0]
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(lines: &[&str]) -> Outcome<String> {
        let mut report = Report::default();
        lines.iter().try_for_each(|line| report.add(line))?;
        report.verdict(&["shaders"])
    }

    #[test]
    fn only_a_stage_that_ended_without_failures_passes() {
        let end = r#"{"stage":"shaders","done":5,"of":5,"failures":[],"note":"n"}"#;
        assert!(told(&[end]).is_ok_and(|line| line == "5 shaders (n)"));
        let part = end.replace("\"done\":5", "\"done\":4");
        let none = end.replace('5', "0");
        let failed = end.replace("[]", "[\"one\"]");
        let panicked = end.replace("[]", "[\"one\"]").replace("shaders", "panic");
        for lines in [
            &[part.as_str()][..],
            &[&none],
            &[&failed],
            &[&panicked, end],
            &[],
        ] {
            assert!(told(lines).is_err(), "{lines:?}");
        }
        assert!(told(&["nothing"]).is_err());
    }

    #[test]
    fn a_console_must_be_heard_and_be_silent() {
        let verdict = |lines: &[&str]| {
            let mut report = Report::default();
            let end = r#"{"stage":"leaving","done":2,"of":2,"failures":[],"note":""}"#;
            report.add(end)?;
            lines
                .iter()
                .for_each(|line| report.console((*line).to_owned()));
            report.verdict(&["leaving"])
        };
        let control = format!(":1] \"{CONTROL}\", source: x");
        assert!(verdict(&[&control]).is_ok());
        assert!(verdict(&[]).is_err());
        assert!(verdict(&[&control, ":1] \"Uncaught\""]).is_err());
    }
}
