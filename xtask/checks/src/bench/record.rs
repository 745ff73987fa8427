//! One measured row: as JSON, one object per line with the names that torch_bench.py prints, and as a line of the table.

use serde::{Deserialize, Serialize};

use crate::bench::case::Case;
use crate::bench::measure::Time;
use crate::bench::probe::Roof;

/// Who measured, in our rows.
pub(crate) const US: &str = "ziggurat";

/// A measured case, ours or a peer's.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Record {
    pub(crate) peer: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) suite: Option<String>,
    pub(crate) op: String,
    pub(crate) dtype: String,
    pub(crate) shape: String,
    /// How it was run, where the same case is run in several ways.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) mode: Option<String>,
    /// Median wall time per call.
    pub(crate) ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) min_ms: Option<f64>,
    /// Until the calls returned, per call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) recorded_ms: Option<f64>,
    /// GPU time per call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) gpu_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) gflops: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) gbps: Option<f64>,
    /// The least time by the adapter's copy bandwidth and FMA rate, over the time measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) roofline: Option<f64>,
    /// Calls of a batch, and batches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) n: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reps: Option<usize>,
    /// The first call until its result was there, and what of that was compilation (summed over threads).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) first_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) compile_ms: Option<f64>,
    /// The largest error of the elements that were checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_rel_err: Option<f64>,
    /// Elements, or the length of a row: what a growth curve is drawn over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) size: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) flops: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bytes: Option<f64>,
    /// Other units, which peers use for short things.
    #[serde(skip_serializing)]
    pub(crate) us_per_op: Option<f64>,
    #[serde(skip_serializing)]
    pub(crate) us: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}

/// The line ahead of our rows: what measured them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Info {
    pub(crate) peer: String,
    pub(crate) op: String,
    pub(crate) device: String,
    #[serde(flatten)]
    pub(crate) roof: Roof,
}

impl Info {
    pub(crate) fn new(device: String, roof: Roof) -> Self {
        Self {
            peer: US.into(),
            op: "info".into(),
            device,
            roof,
        }
    }

    /// The first among lines of output.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        lines.find_map(|line| serde_json::from_str(line).ok())
    }
}

/// What was found out about the first call and the result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct First {
    /// Seconds.
    pub(crate) call: f64,
    pub(crate) compile: f64,
    pub(crate) error: f64,
}

impl Record {
    pub(crate) fn of(case: &Case, time: Time, first: First, roof: &Roof) -> Self {
        let rate =
            |amount: f64| (amount > 0.0 && time.wall > 0.0).then(|| amount / time.wall * 1e-9);
        Self {
            ms: Some(time.wall * 1e3),
            min_ms: Some(time.least * 1e3),
            gpu_ms: time.gpu.map(|gpu| gpu * 1e3),
            gflops: rate(case.cost.flops),
            gbps: rate(case.cost.bytes),
            roofline: roof.ratio(case.cost, time.wall),
            n: Some(time.calls),
            reps: Some(time.batches),
            first_ms: Some(first.call * 1e3),
            compile_ms: Some(first.compile * 1e3),
            max_rel_err: Some(first.error),
            flops: (case.cost.flops > 0.0).then_some(case.cost.flops),
            bytes: (case.cost.bytes > 0.0).then_some(case.cost.bytes),
            ..Self::named(case)
        }
    }

    /// A row that says why there is no number.
    pub(crate) fn failed(case: &Case, error: String) -> Self {
        Self {
            error: Some(error),
            ..Self::named(case)
        }
    }

    fn named(case: &Case) -> Self {
        Self {
            suite: Some(case.suite.clone()),
            size: case.size,
            ..Self::timed(&case.op, &case.dtype.to_string(), &case.shape, None)
        }
    }

    /// A row of a time in milliseconds and nothing else.
    pub(crate) fn timed(op: &str, dtype: &str, shape: &str, ms: Option<f64>) -> Self {
        Self {
            peer: US.into(),
            op: op.into(),
            dtype: dtype.into(),
            shape: shape.into(),
            ms,
            ..Self::default()
        }
    }

    /// The rows among lines of output, whatever else is printed between them.
    pub(crate) fn parse(text: &str) -> Vec<Self> {
        let rows = text
            .lines()
            .filter_map(|line| serde_json::from_str::<Self>(line).ok());
        rows.filter(|row| !row.op.is_empty() && !row.dtype.is_empty())
            .map(Self::in_ms)
            .collect()
    }

    fn in_ms(mut self) -> Self {
        let us = self.us_per_op.or(self.us);
        self.ms = self.ms.or(us.map(|us| us / 1e3));
        self
    }

    pub(crate) fn json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }

    /// What names the same case for everybody.
    pub(crate) fn key(&self) -> (&str, &str, &str) {
        (&self.op, &self.dtype, &self.shape)
    }

    pub(crate) fn label(&self) -> String {
        let mode = self
            .mode
            .as_ref()
            .map_or_else(String::new, |mode| format!(" ({mode})"));
        format!("{} {} {}{mode}", self.op, self.dtype, self.shape)
    }

    /// The head of the table.
    pub(crate) fn head() -> String {
        format!(
            "{:58} {:>10} {:>10} {:>9} {:>9} {:>8} {:>9} {:>9} {:>8}",
            "op dtype shape",
            "ms",
            "GPU ms",
            "GB/s",
            "GFLOP/s",
            "roofline",
            "first ms",
            "compile",
            "error"
        )
    }

    /// Its line in the table.
    pub(crate) fn line(&self) -> String {
        let label = self.label();
        if let Some(error) = &self.error {
            return format!("{label:58} {error}");
        }
        let number = |value: Option<f64>, digits: usize| {
            value.map_or_else(|| "-".into(), |value| format!("{value:.digits$}"))
        };
        format!(
            "{label:58} {:>10} {:>10} {:>9} {:>9} {:>8} {:>9} {:>9} {:>8}",
            number(self.ms, 4),
            number(self.gpu_ms, 4),
            number(self.gbps, 1),
            number(self.gflops, 0),
            number(self.roofline, 3),
            number(self.first_ms, 1),
            number(self.compile_ms, 1),
            self.max_rel_err
                .map_or_else(|| "-".into(), |error| format!("{error:.1e}")),
        )
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn rows_are_found_among_other_lines_and_in_other_units() {
        let text = r#"starting
{"peer": "torch-f32", "op": "add", "dtype": "f32", "shape": "64M", "ms": 0.19, "gbps": 4200.0, "gflops": null, "ok": true}
{"peer": "torch-f32", "op": "tiny_add_chain", "dtype": "f32", "shape": "1000x256", "mode": "eager", "us_per_op": 8.0}
{"peer": "torch", "op": "total", "seconds": 3}
not json {"#;
        let rows = Record::parse(text);
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[0].key(), ("add", "f32", "64M"));
        assert_eq!(rows[1].ms, Some(0.008));
        assert_eq!(rows[1].label(), "tiny_add_chain f32 1000x256 (eager)");
    }

    #[test]
    fn a_row_survives_its_json() {
        let row = Record {
            gbps: Some(2.5),
            ..Record::timed("add", "f32", "8", Some(1.5))
        };
        let again = Record::parse(&row.json().unwrap());
        assert_eq!((again[0].ms, again[0].gbps), (Some(1.5), Some(2.5)));
        assert_eq!(again[0].peer, US);
    }
}
