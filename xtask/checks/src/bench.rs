//! `cargo xtask bench`: what each op reaches on this adapter, compared with the adapter's own copy bandwidth and multiply-add rate.
//!
//! Times are medians of batches of back-to-back calls that end with one wait for the device, divided by the calls: what a
//! program sees, launch overhead included where it is not hidden. Where the adapter has timestamps, the GPU's own time of
//! the same batches stands next to it. Operands are random, and each result is checked once on the host. Numbers of a build
//! without optimisation say nothing, so a debug build starts the release one.

mod case;
mod cliffs;
mod expect;
mod fusion;
mod host;
mod measure;
mod peers;
mod plot;
mod probe;
mod record;
mod sizes;
mod start;
mod suites;
mod table;

use std::io::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum as _};
use ziggurat_device::{AdapterKind, DeviceOptions};
use ziggurat_kernels::Executor;
use ziggurat_tensor::Device;

use crate::setup;
use case::{Case, Lab};
use measure::Patience;
use probe::Roof;
use record::{First, Info, Record};
use suites::{OPS, Suite};
use xtask::failure::{Failure, Outcome};
use xtask::progress::Step;
use xtask::{process, workspace};

/// What to measure.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Choice {
    /// What kinds of things to measure: all ops unless given; repeat it, or separate by commas
    #[arg(long, value_enum, value_delimiter = ',')]
    suite: Vec<Suite>,
    /// Only rows whose `op dtype shape` contains one of these texts, separated by commas
    #[arg(long, value_name = "TEXT", value_delimiter = ',')]
    filter: Vec<String>,
    /// The smaller sizes of torch_bench.py; the default on adapters without a GPU
    #[arg(long)]
    quick: bool,
    /// The full sizes on any adapter
    #[arg(long, conflicts_with = "quick")]
    full: bool,
    /// No new row is begun after so many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    budget: u64,
    /// Write the rows as JSON, one line each
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Print ratios to the rows of this file, which an earlier run wrote
    #[arg(long, value_name = "FILE")]
    compare: Option<PathBuf>,
    /// Run a peer's script, such as `python3 torch_bench.py`, and print ratios to the rows that it prints
    #[arg(long, value_name = "COMMAND")]
    beside: Option<String>,
    /// Draw the rows: roofline, bars, growth curves, as SVG files in this folder
    #[arg(long, value_name = "FOLDER")]
    plots: Option<PathBuf>,
    /// Write the rows as tables in Markdown, with the peer's times; into the place for them, where the document has one
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Measure nothing: compare and draw the rows of this file
    #[arg(long, value_name = "FILE")]
    rows: Option<PathBuf>,
    /// The child of `--suite start`: only the first result
    #[arg(long, hide = true)]
    first_result: bool,
}

impl Choice {
    fn wants(&self, label: &str) -> bool {
        self.filter.is_empty() || self.filter.iter().any(|filter| label.contains(filter))
    }

    /// The suites of ops that were asked for.
    fn ops(&self) -> Vec<Suite> {
        match self.suite.as_slice() {
            [] => OPS.to_vec(),
            some => some.to_vec(),
        }
    }
}

/// Measures, prints the table, writes the JSON, compares.
pub(crate) fn run(choice: &Choice) -> Outcome<String> {
    if let Some(file) = &choice.rows {
        let (rows, info) = peers::read(file)?;
        return evaluate(choice, &rows, info.map(|info| info.roof));
    }
    if cfg!(debug_assertions) {
        return in_release();
    }
    if choice.first_result {
        return start::first_result();
    }
    println!("adapter: {}", setup::run(setup::Choice::default())?);
    let suites = choice.ops();
    if suites == [Suite::Start] {
        return start::run();
    }
    let executor = Executor::open_blocking(DeviceOptions::default())?;
    let software = executor.device().adapter().kind == AdapterKind::Software;
    let choice = &Choice {
        quick: choice.quick || (software && !choice.full),
        ..choice.clone()
    };
    let mut rows = Vec::new();
    if suites.contains(&Suite::Fusion) {
        rows.extend(fusion::run(&executor, choice)?);
    }
    if suites.contains(&Suite::Host) {
        rows.extend(host::run(&executor, choice)?);
    }
    let of = |suite: &Suite| -> Vec<Case> {
        let name = suite.to_possible_value();
        let name = name.map_or_else(String::new, |name| name.get_name().to_owned());
        let cases = suite.cases(choice.quick).into_iter();
        cases.map(|case| case.of_suite(&name)).collect()
    };
    let cases = suites.iter().flat_map(of);
    let cases: Vec<Case> = cases.filter(|case| choice.wants(&case.label())).collect();
    let mut roof = None;
    if !cases.is_empty() {
        let lab = Lab::new(&Device::from_executor(&executor));
        let patience = Patience::new(choice.quick);
        let elements = if choice.quick { 1 << 20 } else { 1 << 26 };
        let probed = Roof::probe(&lab, elements, &patience)?;
        println!(
            "copy kernel: {:.1} GB/s over {} MiB (read and write counted); f32 multiply-adds: {:.0} GFLOP/s",
            probed.copy_gbps,
            elements >> 18,
            probed.fma_gflops
        );
        rows.extend(measured(&lab, &cases, &probed, &patience, choice.budget));
        roof = Some(probed);
    }
    if let Some(file) = &choice.json {
        let mut out = std::fs::File::create(file)?;
        if let Some(roof) = roof {
            let device = setup::describe(executor.device().adapter());
            writeln!(out, "{}", serde_json::to_string(&Info::new(device, roof))?)?;
        }
        for row in &rows {
            writeln!(out, "{}", row.json()?)?;
        }
        println!("written to {}", file.display());
    }
    evaluate(choice, &rows, roof)
}

/// All cases, as lines while they come.
fn measured(
    lab: &Lab,
    cases: &[Case],
    roof: &Roof,
    patience: &Patience,
    budget: u64,
) -> Vec<Record> {
    let started = Instant::now();
    let progress = Step::counted_quietly("bench", cases.len() as u64);
    let mut rows = Vec::new();
    println!("{}", Record::head());
    for case in cases {
        let row = if started.elapsed() > Duration::from_secs(budget) {
            Record::failed(case, "skipped: over the time budget".into())
        } else {
            one(lab, case, roof, patience)
                .unwrap_or_else(|failure| Record::failed(case, failure.to_string()))
        };
        progress.advance();
        println!("{}", row.line());
        rows.push(row);
    }
    rows
}

/// One case: first call, check, times.
fn one(lab: &Lab, case: &Case, roof: &Roof, patience: &Patience) -> Outcome<Record> {
    let ready = case.prepare(lab)?;
    let executor = lab.device.executor();
    let compiled = || executor.pipelines().stats().compile_time_ns;
    lab.device.synchronize_blocking()?;
    let (started, before) = (Instant::now(), compiled());
    let out = (ready.run)()?;
    out.eval_blocking()?;
    let call = started.elapsed().as_secs_f64();
    let compile = Duration::from_nanos(compiled() - before).as_secs_f64();
    let error = (ready.check)(&out)?;
    expect::judge(error, ready.bound)?;
    drop(out);
    let time = measure::time(executor.device(), patience, || {
        // The completion is not needed: the batch waits for all of them.
        drop((ready.run)()?.eval());
        Ok(())
    })?;
    let first = First {
        call,
        compile,
        error,
    };
    Ok(Record::of(case, time, first, roof))
}

/// Compares, draws, and says how it went; rows without a number are failures.
fn evaluate(choice: &Choice, rows: &[Record], roof: Option<Roof>) -> Outcome<String> {
    let mut last = format!("{} rows", rows.len());
    if let Some(file) = &choice.compare {
        let (older, _) = peers::read(file)?;
        peers::print("older run", rows, &older);
        last.push_str(&format!(
            ", {} slower than in {}",
            peers::slower(rows, &older),
            file.display()
        ));
    }
    for cliff in cliffs::find(rows) {
        println!("cliff: {cliff}");
    }
    let mut others = Vec::new();
    if let Some(command) = &choice.beside {
        others = peers::run(command)?;
        peers::print("beside", rows, &others);
    }
    if let Some(folder) = &choice.plots {
        plot::all(folder, rows, &others, roof)?;
        last.push_str(&format!(", drawn in {}", folder.display()));
    }
    if let Some(file) = &choice.markdown {
        // A file that is not there yet has no text around the tables.
        let document = std::fs::read_to_string(file).unwrap_or_default();
        let tables = table::markdown(rows, &others);
        std::fs::write(file, table::within(&document, &tables))?;
    }
    let failed = rows.iter().filter(|row| row.error.is_some()).count();
    if failed > 0 {
        return Err(Failure::new(format!("{failed} of {last} failed")));
    }
    Ok(last)
}

/// The same command again, built in release mode.
fn in_release() -> Outcome<String> {
    let mut command = workspace::cargo();
    command.args(["run", "--release", "-p", "xtask-checks", "--"]);
    command.args(std::env::args_os().skip(1));
    process::stream(&mut command)?;
    Ok("bench: done".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suites_are_all_ops_unless_given() {
        let mut choice = Choice::default();
        assert_eq!(choice.ops(), OPS);
        choice.suite = vec![Suite::Rows];
        assert_eq!(choice.ops(), [Suite::Rows]);
        assert!(choice.wants("add f32 8"));
        choice.filter = vec!["exp".into(), "add".into()];
        assert!(choice.wants("add f32 8") && !choice.wants("sum f32 8"));
    }
}
