//! Rows of others compared with ours: an older run of ours, or a peer's script that prints the same JSON lines.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::bench::record::{Info, Record, US};
use xtask::failure::{Failure, Outcome};

/// What is slower than this is told: less is noise.
const WORSE: f64 = 1.05;

/// The rows of a file that an earlier run wrote, and what measured them.
pub(crate) fn read(file: &Path) -> Outcome<(Vec<Record>, Option<Info>)> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| Failure::new(format!("{}: {error}", file.display())))?;
    let mut rows = Record::parse(&text);
    rows.retain(|row| row.peer == US);
    if rows.is_empty() {
        let file = file.display();
        return Err(Failure::new(format!("{file}: there are no rows of ours")));
    }
    Ok((rows, Info::parse(&text)))
}

/// Runs a command and returns the rows that it printed.
pub(crate) fn run(command: &str) -> Outcome<Vec<Record>> {
    println!("beside: {command}");
    let shell = if cfg!(windows) {
        ["cmd", "/C"]
    } else {
        ["sh", "-c"]
    };
    let output = Command::new(shell[0])
        .args([shell[1], command])
        .stderr(Stdio::inherit())
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let rows = Record::parse(&text);
    if rows.is_empty() {
        return Err(Failure::new(format!(
            "`{command}` ended with {} and printed no rows",
            output.status
        )));
    }
    Ok(rows)
}

/// One line per pair of rows of the same case: the other's time, ours, and the other's over ours (above 1: ours is faster),
/// by wall time and by GPU time.
pub(crate) fn ratios(ours: &[Record], others: &[Record]) -> Vec<String> {
    let mut lines = Vec::new();
    for other in others {
        let same = |row: &&Record| row.key() == other.key() && same_mode(row, other);
        for our in ours.iter().filter(same) {
            let (Some(before), Some(now)) = (other.ms, our.ms) else {
                continue;
            };
            let gpu = other.gpu_ms.zip(our.gpu_ms);
            let gpu = gpu.map_or_else(
                || "-".into(),
                |(before, now)| format!("{:.3}", before / now),
            );
            lines.push(format!(
                "{:58} {:14} {before:>10.4} {now:>10.4} {:>7.3} {gpu:>7}",
                our.label(),
                other.peer,
                before / now
            ));
        }
    }
    lines
}

/// Rows of ways that not everybody has are compared with each; the same way is compared with itself only.
fn same_mode(our: &Record, other: &Record) -> bool {
    other.peer != our.peer || our.mode == other.mode
}

/// Prints [`ratios`].
pub(crate) fn print(title: &str, ours: &[Record], others: &[Record]) {
    println!(
        "\n{:58} {:14} {:>10} {:>10} {:>7} {:>7}",
        format!("{title}: op dtype shape"),
        "peer",
        "its ms",
        "our ms",
        "ratio",
        "GPU"
    );
    for line in ratios(ours, others) {
        println!("{line}");
    }
}

/// How many rows are slower than in an older run by more than noise.
pub(crate) fn slower(ours: &[Record], older: &[Record]) -> usize {
    let worse = |row: &&Record| {
        let same = older
            .iter()
            .find(|old| old.key() == row.key() && old.mode == row.mode);
        let times = same.and_then(|old| old.ms).zip(row.ms);
        times.is_some_and(|(old, new)| new > WORSE * old)
    };
    ours.iter().filter(worse).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(peer: &str, op: &str, ms: f64) -> Record {
        Record {
            peer: peer.into(),
            ..Record::timed(op, "f32", "8", Some(ms))
        }
    }

    #[test]
    fn only_rows_of_the_same_case_are_compared() {
        let ours = [row(US, "add", 2.0), row(US, "exp", 1.0)];
        let theirs = [row("torch-f32", "add", 3.0), row("torch-f32", "sort", 3.0)];
        let lines = ratios(&ours, &theirs);
        assert_eq!(lines.len(), 1);
        assert!(lines[0].contains("add f32 8") && lines[0].contains(" 1.500 "));
    }

    #[test]
    fn slower_rows_are_counted() {
        let old = [row(US, "add", 1.0), row(US, "exp", 1.0)];
        let new = [row(US, "add", 1.2), row(US, "exp", 1.04)];
        assert_eq!(slower(&new, &old), 1);
        assert_eq!(slower(&old, &old), 0);
    }

    #[test]
    fn a_command_without_rows_is_an_error() {
        assert!(run("echo nothing").is_err());
        let rows = run(r#"echo '{"peer":"p","op":"add","dtype":"f32","shape":"8","ms":1}'"#);
        assert!(rows.is_ok_and(|rows| rows.len() == 1 && rows[0].peer == "p"));
    }
}
