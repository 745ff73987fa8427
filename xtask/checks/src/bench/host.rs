//! `--suite host`: what the host pays to record small ops, to replay them, and to get a small answer back; then large
//! transfers and copies, and the start of a process.
//!
//! The kernels are as small as they get, so that nothing but overhead is left. *Recorded* is the time until all calls
//! returned, *done* until the device had finished as well; both per op. Latencies are medians of single rounds.

mod bytes;
mod values;

use std::time::Instant;

use ziggurat_core::{DType, Element, Shape};
use ziggurat_kernels::{Executor, View};

use crate::bench::measure::median;
use crate::bench::record::Record;
use crate::bench::sizes::Sizes;
use crate::bench::{Choice, start};
use xtask::failure::{Failure, Outcome};

/// Ops of one chain.
const CHAIN: u16 = 1000;
/// Elements of the chain's operands.
const ELEMENTS: usize = 256;
/// Sides of the small matrices.
const SIDES: [usize; 2] = [16, 32];
/// Rounds before the measured ones: they compile and fill caches.
const WARM: usize = 3;

/// What is measured, by the names of torch_bench.py where it has them.
#[derive(Clone, Debug)]
struct Name {
    op: &'static str,
    shape: String,
    /// Which way of doing it.
    mode: String,
}

impl Name {
    fn new(op: &'static str, shape: impl Into<String>, mode: impl Into<String>) -> Self {
        Self {
            op,
            shape: shape.into(),
            mode: mode.into(),
        }
    }
}

/// One measured thing, in microseconds.
#[derive(Clone, Debug)]
struct Row {
    name: Name,
    /// Per op, until the calls returned.
    recorded_us: Option<f64>,
    /// Per op or round, until the device was done.
    done_us: f64,
    /// GB/s, where bytes move.
    gbps: Option<f64>,
}

impl Row {
    fn record(&self) -> Record {
        Record {
            mode: Some(self.name.mode.clone()),
            recorded_ms: self.recorded_us.map(|us| us * 1e-3),
            gbps: self.gbps,
            ..Record::timed(
                self.name.op,
                "f32",
                &self.name.shape,
                Some(self.done_us * 1e-3),
            )
        }
    }
}

/// Seconds until recorded and until done.
type Sample = (f64, f64);

/// Measures and prints all rows.
pub(crate) fn run(executor: &Executor, choice: &Choice) -> Outcome<Vec<Record>> {
    let rounds = if choice.quick { 5 } else { 25 };
    let mut rows = Vec::new();
    println!(
        "{:58} {:>12} {:>12} {:>9}",
        "µs per op or round", "recorded", "done", "GB/s"
    );
    let mut push = |row: Row| {
        let number = |value: Option<f64>, digits: usize| {
            value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
        };
        let record = row.record();
        println!(
            "{:58} {:>12} {:>12.3} {:>9}",
            record.label(),
            number(row.recorded_us, 3),
            row.done_us,
            number(row.gbps, 1)
        );
        rows.push(record);
    };
    let chain = Chain::new(executor)?;
    let chain_of = |mode: &str| Name::new("tiny_add_chain", format!("{CHAIN}x{ELEMENTS}"), mode);
    if choice.wants("tiny_add_chain") {
        let row = per_op(chain_of("executor"), CHAIN, rounds, || {
            chain.time(executor, || chain.record(executor))
        })?;
        chain.check(executor)?;
        push(row);
    }
    if choice.wants("tiny_add_chain") {
        let captured = executor.capture(|executor| chain.record(executor))?;
        let row = per_op(chain_of("executor replay"), CHAIN, rounds, || {
            chain.time(executor, || captured.replay().map(drop))
        })?;
        chain.check(executor)?;
        push(row);
    }
    if choice.wants("tiny_matmul_chain") {
        for side in SIDES {
            let square = Shape::new([side, side])?;
            let matrix = || executor.alloc(&square, DType::F32);
            let (x, y, w) = (matrix()?, matrix()?, matrix()?);
            let name = Name::new(
                "tiny_matmul_chain",
                format!("{CHAIN}x{side}x{side}"),
                "executor",
            );
            push(per_op(name, CHAIN, rounds, || {
                chain.time(executor, || {
                    for index in 0..CHAIN {
                        let (from, to) = if index % 2 == 0 { (&x, &y) } else { (&y, &x) };
                        drop(executor.matmul(from, &w, to)?);
                    }
                    Ok(())
                })
            })?);
        }
    }
    let shape = Shape::new([ELEMENTS])?;
    let small = executor.upload(&[1.0_f32; ELEMENTS], &shape)?;
    if choice.wants("latency") {
        let name = |op| Name::new(op, ELEMENTS.to_string(), "executor");
        push(latency(name("latency_readback"), rounds, || {
            executor.download(&small)?.wait()?;
            Ok(())
        })?);
        let sum = executor.alloc(&shape, DType::F32)?;
        push(latency(name("latency_add_readback"), rounds, || {
            drop(executor.add(&small, &small, &sum)?);
            let bytes = executor.download(&sum)?.wait()?;
            if f32::read_bytes(&bytes).iter().all(|&sum| sum == 2.0) {
                Ok(())
            } else {
                Err(Failure::new("add and readback: 1 + 1 is not 2"))
            }
        })?);
        push(latency(name("latency_add_sync"), rounds, || {
            executor.add(&small, &small, &sum)?.wait()?;
            Ok(())
        })?);
    }
    if choice.wants("tiny_add_chain") || choice.wants("latency") {
        values::chains(executor, rounds, &mut push)?;
    }
    if choice.wants("independent_adds") {
        values::independent(executor, rounds, &mut push)?;
    }
    if choice.wants("network") {
        values::replay(executor, rounds, &mut push)?;
    }
    let kind = executor.device().adapter().kind;
    let sizes = Sizes::of(kind, executor.device().caps(), choice.quick);
    if choice.wants("upload download") {
        bytes::transfers(executor, sizes.transfer, &mut push)?;
    }
    if choice.wants("upload_blocks") {
        bytes::blocks(executor, sizes.transfer, &mut push)?;
    }
    if choice.wants("d2d_copy") {
        bytes::copies(executor, sizes.transfer, &mut push)?;
    }
    if choice.wants("cold_start_matmul") {
        for start in start::measure()? {
            push(Row {
                name: Name::new("cold_start_matmul", "256x256x256", start.what),
                recorded_us: None,
                done_us: start.median_ms * 1e3,
                gbps: None,
            });
        }
    }
    if choice.wants("overlap") {
        bytes::overlap(executor, sizes.transfer, &mut push)?;
    }
    Ok(rows)
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
    name: Name,
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
        name,
        recorded_us: Some(us(&mut recorded)),
        done_us: us(&mut done),
        gbps: None,
    })
}

/// The median of single rounds; more of them, because each is short.
fn latency(name: Name, rounds: usize, mut round: impl FnMut() -> Outcome) -> Outcome<Row> {
    let mut samples = Vec::new();
    for index in 0..10 * (WARM + rounds) {
        let started = Instant::now();
        round()?;
        if index >= 10 * WARM {
            samples.push(started.elapsed().as_secs_f64());
        }
    }
    Ok(Row {
        name,
        recorded_us: None,
        done_us: median(&mut samples) * 1e6,
        gbps: None,
    })
}
