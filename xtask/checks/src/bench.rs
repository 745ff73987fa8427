//! `cargo xtask bench`: what each op reaches on this adapter, beside the adapter's own copy bandwidth.
//!
//! Times are medians of batches that end with a wait for the device, divided by the batch: what a
//! program sees, launch overhead included where it is not hidden. Where the adapter has timestamps the
//! GPU's own time stands beside it. Numbers of a debug build say nothing, so a debug build starts the
//! release one.

mod cases;
mod fusion;
mod host;
mod measure;
mod report;
mod sizes;
mod start;
mod transfer;

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use ziggurat_device::DeviceOptions;
use ziggurat_kernels::Executor;

use crate::setup;
use measure::Patience;
use report::{Row, Table};
use sizes::Sizes;
use xtask::failure::{Failure, Outcome};
use xtask::progress::Step;
use xtask::{process, workspace};

/// What to measure.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Choice {
    /// What kind of things to measure
    #[arg(long, value_enum, default_value_t)]
    suite: Suite,
    /// Only rows whose `op dtype shape` contains this text
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// Smaller sizes and fewer repetitions
    #[arg(long)]
    quick: bool,
    /// Also write the rows as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// The child of `--suite start`: only the first result
    #[arg(long, hide = true)]
    first_result: bool,
}

/// A family of measurements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Suite {
    /// Every op at sizes that fill the adapter, and transfers
    #[default]
    Ops,
    /// The smallest ops: what the host pays to record, replay and wait; transfers, copies and the start of a process
    Host,
    /// The same expressions on tensors, unfused and fused: what fusing saves
    Fusion,
    /// From the start of a process to its first result
    Start,
}

impl Choice {
    fn wants(&self, label: &str) -> bool {
        self.filter
            .as_deref()
            .is_none_or(|filter| label.contains(filter))
    }
}

/// Measures, prints the table, writes the JSON.
pub(crate) fn run(choice: &Choice) -> Outcome<String> {
    if cfg!(debug_assertions) {
        return in_release(choice);
    }
    if choice.first_result {
        return start::first_result();
    }
    println!("adapter: {}", setup::run(setup::Choice::default())?);
    if choice.suite == Suite::Start {
        return start::run();
    }
    let executor = Executor::open_blocking(DeviceOptions::default())?;
    if choice.suite == Suite::Host {
        return host::run(&executor, choice);
    }
    if choice.suite == Suite::Fusion {
        return fusion::run(&executor, choice);
    }
    let sizes = Sizes::of(
        executor.device().adapter().kind,
        executor.device().caps(),
        choice.quick,
    );
    let patience = Patience::new(choice.quick);
    let copy = cases::copy_bandwidth(&executor, &sizes, &patience)?;
    println!(
        "copy kernel: {:.1} GB/s over {} MiB (read and write counted)",
        copy,
        sizes.elements >> 18
    );
    let mut table = Table::new(setup::describe(executor.device().adapter()), copy);
    table.head();
    for case in cases::all(&sizes) {
        if choice.wants(&case.label()) {
            let step = Step::start_quietly(&case.label());
            let row = cases::measure(&executor, &case, &patience);
            drop(step);
            match row {
                Ok(row) => table.push(row),
                Err(failure) => table.push(Row::failed(
                    &case.op,
                    case.dtype.name(),
                    &case.shape,
                    failure.to_string(),
                )),
            }
        }
    }
    for row in transfer::rows(&executor, &sizes, &patience, |label| choice.wants(label))? {
        table.push(row);
    }
    if let Some(file) = &choice.json {
        std::fs::write(file, table.json()?)?;
        println!("written to {}", file.display());
    }
    table.verdict()
}

/// The same command again, built in release mode.
fn in_release(choice: &Choice) -> Outcome<String> {
    let mut command = workspace::cargo();
    command.args(["run", "--release", "-p", "xtask-checks", "--", "bench"]);
    match choice.suite {
        Suite::Ops => {}
        Suite::Host => {
            command.args(["--suite", "host"]);
        }
        Suite::Fusion => {
            command.args(["--suite", "fusion"]);
        }
        Suite::Start => {
            command.args(["--suite", "start"]);
        }
    }
    if let Some(filter) = &choice.filter {
        command.args(["--filter", filter]);
    }
    if choice.quick {
        command.arg("--quick");
    }
    if let Some(file) = &choice.json {
        let file = std::path::absolute(file)
            .map_err(|error| Failure::new(format!("{}: {error}", file.display())))?;
        command.arg("--json").arg(file);
    }
    process::stream(&mut command)?;
    Ok("bench: done".into())
}
