//! What tuning found: [`TuneReport`].

use std::fmt;

/// What became of one way.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum WayOutcome {
    /// Nanoseconds of one call.
    Time(f64),
    /// Its result was further from the default's than the op's bound allows: how far, where.
    Refused(String),
    /// It could not run: why.
    Failed(String),
}

/// One way to compute a problem.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TunedWay {
    /// The sort of kernel and its sizes.
    pub name: String,
    /// What became of it.
    pub outcome: WayOutcome,
}

/// What became of a problem.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TunedOutcome {
    /// The way at this place is taken from now on; 0 is the default.
    Chosen(usize),
    /// The store knew it already.
    Known,
    /// It was not measured: why.
    Skipped(String),
}

/// A problem that was met. Prints as a line.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TunedProblem {
    /// The family of kernels.
    pub family: &'static str,
    /// Op, dtypes and shapes.
    pub problem: String,
    /// Its ways, the default first; empty if nothing was measured.
    pub ways: Vec<TunedWay>,
    /// What became of it.
    pub outcome: TunedOutcome,
}

impl TunedProblem {
    fn time(&self, way: usize) -> Option<f64> {
        match self.ways.get(way)?.outcome {
            WayOutcome::Time(ns) => Some(ns),
            _ => None,
        }
    }

    /// The way that is taken, if it was measured.
    #[must_use]
    pub fn chosen(&self) -> Option<&TunedWay> {
        match self.outcome {
            TunedOutcome::Chosen(at) => self.ways.get(at),
            _ => None,
        }
    }

    /// The time of the default divided by that of the way that is taken; 1 where that is the default.
    #[must_use]
    pub fn gain(&self) -> Option<f64> {
        match self.outcome {
            TunedOutcome::Chosen(at) => Some(self.time(0)? / self.time(at)?),
            _ => None,
        }
    }
}

fn milliseconds(ns: f64) -> String {
    format!("{:.4} ms", ns / 1e6)
}

impl fmt::Display for TunedProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: ", self.family, self.problem)?;
        match (&self.outcome, self.ways.first(), self.chosen(), self.gain()) {
            (TunedOutcome::Chosen(at), Some(default), Some(chosen), Some(gain)) => {
                let time = |way| self.time(way).map_or_else(String::new, milliseconds);
                write!(f, "{} {}, ", default.name, time(0))?;
                write!(
                    f,
                    "chosen {} {}, {gain:.2} times as fast",
                    chosen.name,
                    time(*at)
                )
            }
            (TunedOutcome::Skipped(why), ..) => write!(f, "skipped: {why}"),
            (TunedOutcome::Known, ..) => f.write_str("known"),
            (TunedOutcome::Chosen(_), ..) => f.write_str("not measured"),
        }
    }
}

/// How tuning ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TuneEnd {
    /// Every problem was looked at.
    Complete,
    /// [`TuneOptions::time_limit`](super::TuneOptions::time_limit) was reached.
    TimeLimit,
    /// The progress callback said so.
    Cancelled,
}

/// What tuning found. Prints as a table.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TuneReport {
    /// A row for each problem that was looked at.
    pub problems: Vec<TunedProblem>,
    /// Problems that were met.
    pub met: usize,
    /// How it ended.
    pub ended: TuneEnd,
}

impl fmt::Display for TuneReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "| family | problem | default | chosen | times as fast | refused |"
        )?;
        writeln!(f, "| --- | --- | --- | --- | --- | --- |")?;
        for row in &self.problems {
            let time = |way: &TunedWay| match &way.outcome {
                WayOutcome::Time(ns) => format!("{}, {}", way.name, milliseconds(*ns)),
                WayOutcome::Refused(why) | WayOutcome::Failed(why) => {
                    format!("{}: {why}", way.name)
                }
            };
            let default = row.ways.first().map_or_else(String::new, time);
            let (chosen, gain) = match (&row.outcome, row.chosen()) {
                (TunedOutcome::Chosen(0), _) => ("the default".to_owned(), 1.0),
                (TunedOutcome::Chosen(_), Some(way)) => (time(way), row.gain().unwrap_or(1.0)),
                (TunedOutcome::Skipped(why), _) => (format!("skipped: {why}"), 1.0),
                _ => ("known".to_owned(), 1.0),
            };
            let is_out = |way: &&TunedWay| !matches!(way.outcome, WayOutcome::Time(_));
            let refused: Vec<String> = row.ways.iter().skip(1).filter(is_out).map(time).collect();
            let (family, problem) = (row.family, &row.problem);
            writeln!(
                f,
                "| {family} | {problem} | {default} | {chosen} | {gain:.2} | {} |",
                refused.join("; ")
            )?;
        }
        let (rows, met) = (self.problems.len(), self.met);
        match self.ended {
            TuneEnd::Complete => Ok(()),
            TuneEnd::TimeLimit => {
                writeln!(f, "\nThe time limit came after {rows} of {met} problems.")
            }
            TuneEnd::Cancelled => writeln!(f, "\nCancelled after {rows} of {met} problems."),
        }
    }
}
