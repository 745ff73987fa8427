//! Timing: batches long enough for the clock, the median of several.

use std::time::{Duration, Instant};

use ziggurat_device::Device;

use xtask::failure::Outcome;

/// How long to measure; by default one short batch.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Patience {
    /// The device computes so long before anything counts: one that has idled has lowered its clock.
    warm: Duration,
    /// A batch runs at least this long.
    batch: Duration,
    /// Batches to take the median of, unless the time is up before.
    samples: usize,
    /// One row takes no longer than this, one batch excepted.
    total: Duration,
}

/// More calls than this in one batch teach nothing.
const MOST_CALLS: u32 = 20_000;

impl Patience {
    pub(crate) fn new(quick: bool) -> Self {
        let ms = Duration::from_millis;
        if quick {
            Self {
                warm: ms(0),
                batch: ms(5),
                samples: 3,
                total: ms(300),
            }
        } else {
            Self {
                // An H100's clock is a fifth after a pause of a second, and stays so for more than 0.15 s of work.
                warm: ms(500),
                // Long next to the time until a batch's first command runs, which is most of a millisecond.
                batch: ms(30),
                samples: 5,
                total: ms(300),
            }
        }
    }
}

/// Seconds per call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Time {
    /// As the host sees it: calls back to back with one wait at the end, divided by the calls. The median of batches.
    pub(crate) wall: f64,
    /// The shortest batch.
    pub(crate) least: f64,
    /// On the GPU, from the first command of a batch to the end of the last; where the adapter has timestamps.
    pub(crate) gpu: Option<f64>,
    /// Calls of a batch.
    pub(crate) calls: u32,
    /// Batches.
    pub(crate) batches: usize,
}

/// Measures `call`, which records work on the device and has been called before.
pub(crate) fn time(
    device: &Device,
    patience: &Patience,
    mut call: impl FnMut() -> Outcome,
) -> Outcome<Time> {
    let mut batch = |calls: u32| -> Outcome<(f64, Option<f64>)> {
        let started = Instant::now();
        device.record(|recorder| recorder.mark_time())?;
        for _ in 0..calls {
            call()?;
        }
        device.record(|recorder| recorder.mark_time())?;
        device.synchronize().wait()?;
        let wall = started.elapsed().as_secs_f64();
        let gpu = match device.block_on(device.take_marks())?.as_slice() {
            [first, .., last] => Some(seconds_from_nanoseconds(last - first)),
            _ => None,
        };
        Ok((wall, gpu))
    };
    batch(1)?;
    // Batches grow until they are long enough: a short one is mostly the wait.
    let started = Instant::now();
    let mut calls = 1;
    loop {
        let (wall, _) = batch(calls)?;
        let more = calls_for(patience.batch, wall / f64::from(calls));
        if more <= calls || wall >= patience.batch.as_secs_f64() {
            break;
        }
        calls = more.min(calls.saturating_mul(16));
    }
    while started.elapsed() < patience.warm {
        batch(calls)?;
    }
    // What was counted at a low clock may be too few.
    let (wall, _) = batch(calls)?;
    calls = calls.max(calls_for(patience.batch, wall / f64::from(calls)));
    let started = Instant::now();
    let (mut walls, mut gpus) = (Vec::new(), Vec::new());
    while walls.len() < patience.samples && (walls.is_empty() || started.elapsed() < patience.total)
    {
        let (wall, gpu) = batch(calls)?;
        walls.push(wall / f64::from(calls));
        gpus.extend(gpu.map(|gpu| gpu / f64::from(calls)));
    }
    let batches = walls.len();
    Ok(Time {
        wall: median(&mut walls),
        least: walls.first().copied().unwrap_or(0.0),
        gpu: (!gpus.is_empty()).then(|| median(&mut gpus)),
        calls,
        batches,
    })
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a time in nanoseconds, to be printed with four digits"
)]
fn seconds_from_nanoseconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 * 1e-9
}

/// Calls that fill a batch, and a little more, if each takes so many seconds.
fn calls_for(batch: Duration, once: f64) -> u32 {
    let most = f64::from(MOST_CALLS);
    let calls = (batch.as_secs_f64() * 1.15 / once.max(1e-9)).ceil();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped to the range of a u32"
    )]
    let calls = calls.clamp(1.0, most) as u32;
    calls
}

/// The median; 0 of nothing.
pub(crate) fn median(samples: &mut [f64]) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples.get(samples.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_not_moved_by_one_slow_batch() {
        assert!((median(&mut [1.0, 90.0, 2.0]) - 2.0).abs() < 1e-12);
        assert!(median(&mut []).abs() < 1e-12);
    }

    #[test]
    fn batches_hold_at_least_one_call_and_not_too_many() {
        let ms = Duration::from_millis;
        assert_eq!(calls_for(ms(20), 0.1), 1);
        assert_eq!(calls_for(ms(20), 0.002), 12);
        assert_eq!(calls_for(ms(20), 0.0), MOST_CALLS);
    }
}
