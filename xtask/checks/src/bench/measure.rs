//! Timing: batches long enough for the clock, the median of several.

use std::time::{Duration, Instant};

use ziggurat_kernels::Executor;

use xtask::failure::Outcome;

/// How long to measure; by default one short batch.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Patience {
    /// A batch runs at least this long.
    batch: Duration,
    /// Batches to take the median of, unless the time is up before.
    samples: usize,
    /// One row takes no longer than this, one batch excepted.
    total: Duration,
}

/// More calls than this in one batch teach nothing.
const MOST_CALLS: u32 = 2000;
/// Calls that are timed on the GPU.
const PROFILED_CALLS: u32 = 3;

impl Patience {
    pub(crate) fn new(quick: bool) -> Self {
        let ms = Duration::from_millis;
        if quick {
            Self {
                batch: ms(5),
                samples: 3,
                total: ms(400),
            }
        } else {
            Self {
                batch: ms(25),
                samples: 9,
                total: ms(3000),
            }
        }
    }
}

/// Seconds per call: as the host sees it, and on the GPU where that is known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Time {
    pub(crate) wall: f64,
    pub(crate) gpu: Option<f64>,
}

/// Measures `call`, which records work on the executor's device.
pub(crate) fn time(
    executor: &Executor,
    patience: &Patience,
    mut call: impl FnMut() -> Outcome,
) -> Outcome<Time> {
    let mut batch = |calls: u32| -> Outcome<Duration> {
        let started = Instant::now();
        for _ in 0..calls {
            call()?;
        }
        executor.synchronize().wait()?;
        Ok(started.elapsed())
    };
    // The first call compiles, the second fills caches.
    batch(1)?;
    let once = batch(1)?;
    let calls = calls_for(patience.batch, once);
    let started = Instant::now();
    let mut samples = Vec::new();
    while samples.len() < patience.samples
        && (samples.is_empty() || started.elapsed() < patience.total)
    {
        samples.push(batch(calls)?.as_secs_f64() / f64::from(calls));
    }
    let wall = median(&mut samples);
    let gpu = if executor.device().set_profiling(true) {
        batch(PROFILED_CALLS)?;
        let times = ziggurat_device::block_on(executor.device().take_profile())?;
        executor.device().set_profiling(false);
        let total: u64 = times.iter().map(|time| time.total_ns).sum();
        (total > 0).then(|| seconds_from_nanoseconds(total) / f64::from(PROFILED_CALLS))
    } else {
        None
    };
    Ok(Time { wall, gpu })
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a time in nanoseconds, to be printed with four digits"
)]
fn seconds_from_nanoseconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 * 1e-9
}

/// Calls that fill a batch if each takes as long as `once`.
fn calls_for(batch: Duration, once: Duration) -> u32 {
    let calls = batch.as_nanos() / once.as_nanos().max(1);
    u32::try_from(calls)
        .unwrap_or(MOST_CALLS)
        .clamp(1, MOST_CALLS)
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
        assert_eq!(calls_for(ms(20), ms(100)), 1);
        assert_eq!(calls_for(ms(20), ms(2)), 10);
        assert_eq!(calls_for(ms(20), Duration::ZERO), MOST_CALLS);
    }
}
