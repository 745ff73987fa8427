//! `--suite host`: what the host pays to record small ops, to replay them, and to get a small answer back; then large
//! transfers and copies, and the start of a process.
//!
//! The kernels are as small as they get, so that nothing but overhead is left. *Recorded* is the time until all calls
//! returned, *done* until the device had finished as well; both per op. Latencies are medians of single rounds.

mod bytes;
mod values;

use std::time::Instant;

use serde::Serialize;
use ziggurat_core::{DType, Element, Shape};
use ziggurat_kernels::{Executor, View};

use crate::bench::measure::median;
use crate::bench::sizes::Sizes;
use crate::bench::{Choice, start};
use crate::setup;
use xtask::failure::{Failure, Outcome};

/// Ops of one chain.
const CHAIN: u16 = 1000;
/// Elements of the chain's operands.
const ELEMENTS: usize = 256;
/// Side of the small matrices.
const SIDE: usize = 32;
/// Rounds before the measured ones: they compile and fill caches.
const WARM: usize = 3;

/// One measured thing, in microseconds.
#[derive(Clone, Debug, Serialize)]
struct Row {
    what: String,
    /// Per op, until the calls returned.
    recorded_us: Option<f64>,
    /// Per op or round, until the device was done.
    done_us: f64,
}

#[derive(Debug, Serialize)]
struct Table {
    adapter: String,
    rows: Vec<Row>,
}

/// Seconds until recorded and until done.
type Sample = (f64, f64);

/// Measures and prints all rows.
pub(crate) fn run(executor: &Executor, choice: &Choice) -> Outcome<String> {
    let rounds = if choice.quick { 5 } else { 25 };
    let mut table = Table {
        adapter: setup::describe(executor.device().adapter()),
        rows: Vec::new(),
    };
    println!("{:44} {:>12} {:>12}", "µs", "recorded", "done");
    let mut push = |row: Row| {
        let recorded = row
            .recorded_us
            .map_or_else(|| "-".to_owned(), |time| format!("{time:.3}"));
        println!("{:44} {recorded:>12} {:>12.3}", row.what, row.done_us);
        table.rows.push(row);
    };
    let chain = Chain::new(executor)?;
    let chain_of = |what: &str| format!("{what} of {CHAIN} adds, {ELEMENTS} f32, per op");
    if choice.wants("chain") {
        let row = per_op(&chain_of("chain"), CHAIN, rounds, || {
            chain.time(executor, || chain.record(executor))
        })?;
        chain.check(executor)?;
        push(row);
    }
    if choice.wants("replay") {
        let captured = executor.capture(|executor| chain.record(executor))?;
        let row = per_op(&chain_of("replay"), CHAIN, rounds, || {
            chain.time(executor, || captured.replay().map(drop))
        })?;
        chain.check(executor)?;
        push(row);
    }
    if choice.wants("matmul") {
        let square = Shape::new([SIDE, SIDE])?;
        let matrix = || executor.alloc(&square, DType::F32);
        let (x, y, w) = (matrix()?, matrix()?, matrix()?);
        let ops = CHAIN / 10;
        let what = format!("chain of {ops} matmuls, {SIDE} x {SIDE} f32, per op");
        push(per_op(&what, ops, rounds, || {
            chain.time(executor, || {
                for index in 0..ops {
                    let (from, to) = if index % 2 == 0 { (&x, &y) } else { (&y, &x) };
                    drop(executor.matmul(from, &w, to)?);
                }
                Ok(())
            })
        })?);
    }
    let one = Shape::new([1])?;
    let small = executor.upload(&[1.0_f32], &one)?;
    if choice.wants("readback") {
        push(latency("readback of 4 bytes", rounds, || {
            executor.download(&small)?.wait()?;
            Ok(())
        })?);
        let sum = executor.alloc(&one, DType::F32)?;
        push(latency("add of one element and readback", rounds, || {
            drop(executor.add(&small, &small, &sum)?);
            let bytes = executor.download(&sum)?.wait()?;
            if f32::read_bytes(&bytes) == [2.0] {
                Ok(())
            } else {
                Err(Failure::new("add and readback: 1 + 1 is not 2"))
            }
        })?);
        push(latency("add of one element and wait", rounds, || {
            executor.add(&small, &small, &sum)?.wait()?;
            Ok(())
        })?);
    }
    if choice.wants("tensors") {
        values::chains(executor, rounds, &mut push)?;
        values::replay(executor, rounds, &mut push)?;
    }
    let kind = executor.device().adapter().kind;
    let sizes = Sizes::of(kind, executor.device().caps(), choice.quick);
    if choice.wants("transfers") {
        bytes::transfers(executor, sizes.transfer, &mut push)?;
    }
    if choice.wants("copies") {
        bytes::copies(executor, sizes.transfer, &mut push)?;
    }
    if choice.wants("start") {
        for start in start::measure()? {
            push(Row {
                what: start.what.to_owned(),
                recorded_us: None,
                done_us: start.median_ms * 1e3,
            });
        }
    }
    if choice.wants("overlap") {
        bytes::overlap(executor, sizes.transfer, &mut push)?;
    }
    if let Some(file) = &choice.json {
        std::fs::write(file, serde_json::to_string_pretty(&table)? + "\n")?;
        println!("written to {}", file.display());
    }
    Ok(format!("{} rows", table.rows.len()))
}

/// A chain of dependent adds: from one view to the other and back.
struct Chain {
    x: View,
    y: View,
    one: View,
}

impl Chain {
    fn new(executor: &Executor) -> Outcome<Self> {
        let shape = Shape::new([ELEMENTS])?;
        Ok(Self {
            x: executor.alloc(&shape, DType::F32)?,
            y: executor.alloc(&shape, DType::F32)?,
            one: executor.upload(&[1.0_f32; ELEMENTS], &shape)?,
        })
    }

    fn record(&self, executor: &Executor) -> Result<(), ziggurat_kernels::KernelError> {
        drop(executor.fill(&self.x, 0.0)?);
        for index in 0..CHAIN {
            let (from, to) = if index % 2 == 0 {
                (&self.x, &self.y)
            } else {
                (&self.y, &self.x)
            };
            drop(executor.add(from, &self.one, to)?);
        }
        Ok(())
    }

    fn time(
        &self,
        executor: &Executor,
        record: impl FnOnce() -> Result<(), ziggurat_kernels::KernelError>,
    ) -> Outcome<Sample> {
        let started = Instant::now();
        record()?;
        let recorded = started.elapsed().as_secs_f64();
        executor.synchronize().wait()?;
        Ok((recorded, started.elapsed().as_secs_f64()))
    }

    /// The chain counts its adds.
    fn check(&self, executor: &Executor) -> Outcome {
        let sums = f32::read_bytes(&executor.download(&self.x)?.wait()?);
        if sums.iter().all(|&sum| sum == f32::from(CHAIN)) {
            Ok(())
        } else {
            Err(Failure::new("chain: the sum is not the number of adds"))
        }
    }
}

/// Medians of a chain, per op.
fn per_op(
    what: &str,
    ops: u16,
    rounds: usize,
    mut round: impl FnMut() -> Outcome<Sample>,
) -> Outcome<Row> {
    let (mut recorded, mut done) = (Vec::new(), Vec::new());
    for index in 0..WARM + rounds {
        let sample = round()?;
        if index >= WARM {
            recorded.push(sample.0);
            done.push(sample.1);
        }
    }
    let us = |samples: &mut [f64]| median(samples) * 1e6 / f64::from(ops);
    Ok(Row {
        what: what.to_owned(),
        recorded_us: Some(us(&mut recorded)),
        done_us: us(&mut done),
    })
}

/// The median of single rounds; more of them, because each is short.
fn latency(what: &str, rounds: usize, mut round: impl FnMut() -> Outcome) -> Outcome<Row> {
    let mut samples = Vec::new();
    for index in 0..10 * (WARM + rounds) {
        let started = Instant::now();
        round()?;
        if index >= 10 * WARM {
            samples.push(started.elapsed().as_secs_f64());
        }
    }
    Ok(Row {
        what: what.to_owned(),
        recorded_us: None,
        done_us: median(&mut samples) * 1e6,
    })
}
