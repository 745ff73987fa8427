//! Upload and readback through staging memory that is reused.

use std::time::Instant;

use ziggurat_kernels::Executor;

use crate::bench::measure::{Patience, Time, median};
use crate::bench::report::Row;
use crate::bench::sizes::Sizes;
use xtask::failure::{Failure, Outcome};

/// Rounds before the measured ones: they make the staging memory.
const WARM: usize = 2;
const ROUNDS: usize = 7;

/// One row each way; both check that the bytes arrived.
pub(crate) fn rows(
    executor: &Executor,
    sizes: &Sizes,
    _: &Patience,
    wants: impl Fn(&str) -> bool,
) -> Outcome<Vec<Row>> {
    let bytes = sizes.transfer;
    let shape = format!("{} MiB", bytes >> 20);
    let memory = executor.memory();
    let data: Vec<u8> = (0_u8..=250).cycle().take(bytes).collect();
    let buffer = memory.upload(&data)?;
    let len = bytes as u64;
    let mut rows = Vec::new();
    let time = |wall| Time { wall, gpu: None };
    #[expect(clippy::cast_precision_loss, reason = "a few hundred MiB")]
    let amount = bytes as f64;
    if wants(&format!("upload u8 {shape}")) {
        let wall = rounds(|| {
            memory.write(&buffer, 0, &data)?;
            executor.synchronize().wait()?;
            Ok(())
        })?;
        rows.push(Row::new("upload", "u8", &shape, time(wall), amount, 0.0));
    }
    if wants(&format!("readback u8 {shape}")) {
        let mut last = Vec::new();
        let wall = rounds(|| {
            let bytes = memory.read(&buffer, 0..len)?.wait()?;
            Ok(std::mem::replace(&mut last, bytes))
        })?;
        if last != data {
            return Err(Failure::new(
                "readback: the bytes are not those that were uploaded",
            ));
        }
        rows.push(Row::new("readback", "u8", &shape, time(wall), amount, 0.0));
    }
    Ok(rows)
}

/// The median time of several rounds. What a round returns is dropped after the clock was read: giving hundreds of
/// megabytes back to the system is not part of a transfer.
fn rounds<T>(mut round: impl FnMut() -> Outcome<T>) -> Outcome<f64> {
    let mut samples = Vec::new();
    for index in 0..WARM + ROUNDS {
        let started = Instant::now();
        let leftover = round()?;
        let elapsed = started.elapsed().as_secs_f64();
        drop(leftover);
        if index >= WARM {
            samples.push(elapsed);
        }
    }
    Ok(median(&mut samples))
}
