//! The table on the terminal and the same rows as JSON.

use serde::Serialize;

use crate::bench::measure::Time;
use xtask::failure::{Failure, Outcome};

/// One measured thing.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) op: String,
    pub(crate) dtype: String,
    pub(crate) shape: String,
    pub(crate) ms: Option<f64>,
    pub(crate) gpu_ms: Option<f64>,
    pub(crate) gb_per_s: Option<f64>,
    pub(crate) gflop_per_s: Option<f64>,
    /// Bandwidth as a part of the copy kernel's.
    pub(crate) of_copy: Option<f64>,
    pub(crate) error: Option<String>,
}

impl Row {
    /// A row from a time, the bytes moved and the operations done per call (0: not of interest).
    pub(crate) fn new(
        op: &str,
        dtype: &str,
        shape: &str,
        time: Time,
        bytes: f64,
        flops: f64,
    ) -> Self {
        let rate =
            |amount: f64| (amount > 0.0 && time.wall > 0.0).then(|| amount / time.wall * 1e-9);
        Self {
            op: op.into(),
            dtype: dtype.into(),
            shape: shape.into(),
            ms: Some(time.wall * 1e3),
            gpu_ms: time.gpu.map(|gpu| gpu * 1e3),
            gb_per_s: rate(bytes),
            gflop_per_s: rate(flops),
            of_copy: None,
            error: None,
        }
    }

    /// A row that says why there is no number.
    pub(crate) fn failed(op: &str, dtype: &str, shape: &str, error: String) -> Self {
        Self {
            op: op.into(),
            dtype: dtype.into(),
            shape: shape.into(),
            ms: None,
            gpu_ms: None,
            gb_per_s: None,
            gflop_per_s: None,
            of_copy: None,
            error: Some(error),
        }
    }
}

/// Rows as they come in.
#[derive(Debug, Serialize)]
pub(crate) struct Table {
    adapter: String,
    copy_gb_per_s: f64,
    rows: Vec<Row>,
}

impl Table {
    pub(crate) fn new(adapter: String, copy: f64) -> Self {
        Self {
            adapter,
            copy_gb_per_s: copy,
            rows: Vec::new(),
        }
    }

    pub(crate) fn head(&self) {
        println!(
            "{:22} {:5} {:26} {:>10} {:>10} {:>9} {:>10} {:>7}",
            "op", "dtype", "shape", "ms", "GPU ms", "GB/s", "GFLOP/s", "of copy"
        );
    }

    /// Adds and prints a row.
    pub(crate) fn push(&mut self, mut row: Row) {
        let is_transfer = row.op == "upload" || row.op == "readback";
        row.of_copy = row
            .gb_per_s
            .filter(|_| !is_transfer && self.copy_gb_per_s > 0.0)
            .map(|rate| rate / self.copy_gb_per_s);
        println!("{}", line(&row));
        self.rows.push(row);
    }

    pub(crate) fn json(&self) -> Outcome<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// The closing line; rows without a number are failures.
    pub(crate) fn verdict(&self) -> Outcome<String> {
        let failed = self.rows.iter().filter(|row| row.error.is_some()).count();
        if failed > 0 {
            return Err(Failure::new(format!(
                "{failed} of {} rows failed",
                self.rows.len()
            )));
        }
        Ok(format!("{} rows", self.rows.len()))
    }
}

fn line(row: &Row) -> String {
    let number = |value: Option<f64>, digits: usize| {
        value.map_or_else(|| "-".into(), |value| format!("{value:.digits$}"))
    };
    if let Some(error) = &row.error {
        return format!("{:22} {:5} {:26} {error}", row.op, row.dtype, row.shape);
    }
    format!(
        "{:22} {:5} {:26} {:>10} {:>10} {:>9} {:>10} {:>7}",
        row.op,
        row.dtype,
        row.shape,
        number(row.ms, 4),
        number(row.gpu_ms, 4),
        number(row.gb_per_s, 1),
        number(row.gflop_per_s, 1),
        row.of_copy
            .map_or_else(|| "-".into(), |part| format!("{:.0} %", part * 100.0)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(op: &str) -> Row {
        Row::new(
            op,
            "f32",
            "[250]",
            Time {
                wall: 1e-3,
                gpu: None,
            },
            2e6,
            0.0,
        )
    }

    #[test]
    fn bandwidth_is_told_as_a_part_of_the_copy() {
        let mut table = Table::new("test".into(), 4.0);
        table.push(row("add"));
        table.push(row("upload"));
        let parts: Vec<Option<f64>> = table.rows.iter().map(|row| row.of_copy).collect();
        assert_eq!(parts, [Some(0.5), None]);
        assert!(
            table
                .json()
                .is_ok_and(|json| json.contains("\"gb_per_s\": 2.0"))
        );
    }

    #[test]
    fn a_row_without_a_number_fails_the_run() {
        let mut table = Table::new("test".into(), 4.0);
        table.push(row("add"));
        assert!(table.verdict().is_ok());
        table.push(Row::failed("mul", "f32", "[1]", "broken".into()));
        assert!(table.verdict().is_err());
    }
}
