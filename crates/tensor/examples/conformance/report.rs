//! What came out, as text and as JSON, and whether it agrees with the list of ops not yet built.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::{Value, json};

/// The end of one case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Passed,
    /// With the worst element or the error.
    Failed(String),
    Unsupported,
}

/// All cases of one op, by name.
#[derive(Clone, Debug)]
pub(crate) struct OpReport {
    pub(crate) op: String,
    pub(crate) outcomes: Vec<(String, Outcome)>,
}

impl OpReport {
    pub(crate) fn passed(&self) -> usize {
        self.count(|outcome| *outcome == Outcome::Passed)
    }

    pub(crate) fn failed(&self) -> usize {
        self.count(|outcome| matches!(outcome, Outcome::Failed(_)))
    }

    pub(crate) fn unsupported(&self) -> usize {
        self.count(|outcome| *outcome == Outcome::Unsupported)
    }

    fn count(&self, is: impl Fn(&Outcome) -> bool) -> usize {
        self.outcomes
            .iter()
            .filter(|(_, outcome)| is(outcome))
            .count()
    }

    /// A line for the op and one for each failure.
    pub(crate) fn text(&self) -> String {
        let mut text = format!("{:<22}", self.op);
        for (count, what) in [
            (self.passed(), "passed"),
            (self.failed(), "FAILED"),
            (self.unsupported(), "unsupported"),
        ] {
            if count > 0 {
                let _infallible = write!(text, " {count} {what}");
            }
        }
        for (name, outcome) in &self.outcomes {
            if let Outcome::Failed(why) = outcome {
                let _infallible = write!(text, "\n    {name}: {why}");
            }
        }
        text
    }
}

/// All ops of a folder.
#[derive(Clone, Debug)]
pub(crate) struct Report {
    pub(crate) device: String,
    pub(crate) ops: Vec<OpReport>,
}

impl Report {
    pub(crate) fn new(device: &str) -> Self {
        Self {
            device: device.to_owned(),
            ops: Vec::new(),
        }
    }

    pub(crate) fn passed(&self) -> usize {
        self.ops.iter().map(OpReport::passed).sum()
    }

    pub(crate) fn failed(&self) -> usize {
        self.ops.iter().map(OpReport::failed).sum()
    }

    pub(crate) fn unsupported(&self) -> usize {
        self.ops.iter().map(OpReport::unsupported).sum()
    }

    /// One line with all counts.
    pub(crate) fn totals(&self) -> String {
        let built = self
            .ops
            .iter()
            .filter(|op| op.unsupported() < op.outcomes.len())
            .count();
        format!(
            "{} passed, {} failed, {} unsupported; {built} of {} ops built; {}",
            self.passed(),
            self.failed(),
            self.unsupported(),
            self.ops.len(),
            self.device
        )
    }

    pub(crate) fn json(&self) -> Value {
        let ops: Vec<Value> = self
            .ops
            .iter()
            .map(|op| {
                let failures: Vec<Value> = op
                    .outcomes
                    .iter()
                    .filter_map(|(name, outcome)| match outcome {
                        Outcome::Failed(why) => Some(json!({ "case": name, "why": why })),
                        _ => None,
                    })
                    .collect();
                json!({
                    "op": op.op,
                    "passed": op.passed(),
                    "failed": op.failed(),
                    "unsupported": op.unsupported(),
                    "failures": failures,
                })
            })
            .collect();
        json!({
            "device": self.device,
            "passed": self.passed(),
            "failed": self.failed(),
            "unsupported": self.unsupported(),
            "ops": ops,
        })
    }

    /// Disagreements with the list of ops not yet built.
    pub(crate) fn disagreements(&self, unbuilt: &BTreeSet<String>) -> Vec<String> {
        let mut found = Vec::new();
        for op in &self.ops {
            let listed = unbuilt.contains(&op.op);
            if listed && op.unsupported() < op.outcomes.len() {
                found.push(format!(
                    "{} is on the list of ops not yet built, but it runs: take it off",
                    op.op
                ));
            }
            if !listed && op.unsupported() > 0 {
                found.push(format!(
                    "{} is unsupported, but not on the list of ops not yet built",
                    op.op
                ));
            }
        }
        found
    }
}

/// The ops of a list, one per line; `#` begins a comment.
pub(crate) fn read_list(text: &str) -> BTreeSet<String> {
    text.lines()
        .map(|line| line.split('#').next().unwrap_or("").trim().to_owned())
        .filter(|op| !op.is_empty())
        .collect()
}
