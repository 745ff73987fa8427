//! How long several runs take, measured in turn so that clocks, other programs and heat are the same for all of them.
//!
//! By timestamps where the device has them: marks between batches that nothing waits for. Else by the host's clock, a batch
//! at a time. Of several rounds the least time counts: nothing makes a device faster than it is.

use std::time::Duration;

use ziggurat_device::{AdapterKind, Device, DeviceError, once};

/// How long [`interleaved`] measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// How often each run is measured.
    pub rounds: u32,
    /// How long a batch of the same run takes, about.
    pub batch: Duration,
    /// How long a GPU computes run 0 before anything counts. Those that were idle have a low clock, at which memory is as
    /// fast as ever and arithmetic is not: other runs are the fastest then.
    pub warm_up: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            rounds: 5,
            batch: Duration::from_millis(2),
            warm_up: Duration::from_millis(300),
        }
    }
}

/// Calls of a batch, at most.
const MOST_CALLS: u32 = 512;
/// How long a batch is that only keeps a device busy.
const WARMING: Duration = Duration::from_millis(5);
/// What takes so many times as long as the fastest run is not measured again.
const HOPELESS: f64 = 4.0;

/// What was measured of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunTime {
    /// Nanoseconds of one call.
    pub ns: f64,
    /// Calls that were measured.
    pub calls: u32,
}

/// Measures runs 0 to `count`, which `record` records, and which have run before (a first call compiles). `go_on` is asked
/// before every round. Each round begins with another run: nothing is queued before the first, so that a device may wait for
/// the host as it does not during the others.
///
/// `None` if it said no, or if there is neither a timestamp nor a clock, as in a browser without timestamps. What takes more
/// than four times as long as the fastest run is only called twice, unless it is run 0, which others are compared with.
///
/// # Errors
/// What `record` returns, and the device's failure.
pub fn interleaved<'a, E: From<DeviceError> + 'a>(
    device: &'a Device,
    count: usize,
    patience: &'a Patience,
    record: impl FnMut(usize) -> Result<(), E> + 'a,
    go_on: impl FnMut() -> bool + 'a,
) -> impl Future<Output = Result<Option<Vec<RunTime>>, E>> {
    let measured = measured(device, count, patience, record, go_on);
    once(measured, || DeviceError::Finished.into())
}

async fn measured<E: From<DeviceError>>(
    device: &Device,
    count: usize,
    patience: &Patience,
    mut record: impl FnMut(usize) -> Result<(), E>,
    mut go_on: impl FnMut() -> bool,
) -> Result<Option<Vec<RunTime>>, E> {
    if !warm_up(device, patience.warm_up, &mut record, &mut go_on).await? {
        return Ok(None);
    }
    let mut calls = vec![1_u32; count];
    let mut least = vec![f64::INFINITY; count];
    // Single calls say how many make a batch; twice, because one of them may meet a busy machine.
    for first in 0..2 {
        if !go_on() {
            return Ok(None);
        }
        let Some(round) = round(device, (&calls, first), &mut record).await? else {
            return Ok(None);
        };
        for (least, ns) in least.iter_mut().zip(round) {
            *least = least.min(ns);
        }
    }
    let fastest = least.iter().copied().fold(f64::INFINITY, f64::min);
    for (at, (calls, ns)) in calls.iter_mut().zip(&least).enumerate() {
        *calls = if at > 0 && *ns > HOPELESS * fastest {
            0
        } else {
            calls_for(patience.batch, *ns)
        };
    }
    let single = least.iter().map(|&ns| RunTime { ns, calls: 2 });
    let mut times: Vec<RunTime> = single.collect();
    for at in 0..patience.rounds.max(1) {
        if !go_on() {
            return Ok(None);
        }
        let first = usize::try_from(at).unwrap_or_default();
        let Some(round) = round(device, (&calls, first), &mut record).await? else {
            return Ok(None);
        };
        for ((time, ns), &calls) in times.iter_mut().zip(round).zip(&calls) {
            if calls > 0 {
                // Batches are what programs do; a single call has no other behind it.
                time.ns = if at == 0 { ns } else { time.ns.min(ns) };
                time.calls = time.calls.saturating_add(calls);
            }
        }
    }
    Ok(Some(times))
}

/// Computes run 0 for so long on a GPU, which other kinds of adapters are not; says whether there was time, and a clock.
async fn warm_up<E: From<DeviceError>>(
    device: &Device,
    wanted: Duration,
    record: &mut impl FnMut(usize) -> Result<(), E>,
    go_on: &mut impl FnMut() -> bool,
) -> Result<bool, E> {
    let kind = device.adapter().kind;
    if matches!(kind, AdapterKind::Software | AdapterKind::Other) {
        return Ok(true);
    }
    let (mut calls, mut warm) = ([1], Duration::ZERO);
    // Batches take a millisecond or more, except where a device claims that they take no time.
    for _ in 0..wanted.as_millis() {
        if !go_on() {
            return Ok(false);
        }
        let Some(times) = round(device, (&calls, 0), record).await? else {
            return Ok(false);
        };
        let each = times.first().copied().unwrap_or_default();
        warm += Duration::from_nanos((each * f64::from(calls[0])) as u64);
        if warm >= wanted {
            break;
        }
        calls = [calls_for(WARMING, each)];
    }
    Ok(true)
}

/// Calls that take so long.
fn calls_for(batch: Duration, ns: f64) -> u32 {
    let wanted = batch.as_nanos() as f64 / ns.max(1.0);
    (wanted.ceil() as u32).clamp(1, MOST_CALLS)
}

/// The runs of a round in their order, of which number `first` comes first; those without calls are left out.
fn rotated(calls: &[u32], first: usize) -> Vec<(usize, u32)> {
    let mut all: Vec<(usize, u32)> = calls.iter().copied().enumerate().collect();
    all.retain(|(_, calls)| *calls > 0);
    let first = first.checked_rem(all.len()).unwrap_or_default();
    all.rotate_left(first);
    all
}

/// Nanoseconds of a call of each run; 0 where there are no calls.
async fn round<E: From<DeviceError>>(
    device: &Device,
    (calls, first): (&[u32], usize),
    record: &mut impl FnMut(usize) -> Result<(), E>,
) -> Result<Option<Vec<f64>>, E> {
    let order = rotated(calls, first);
    let mut each = vec![0.0; calls.len()];
    let mut measured = |run: usize, ns: f64, calls: u32| {
        if let Some(each) = each.get_mut(run) {
            *each = ns.max(1.0) / f64::from(calls);
        }
    };
    let mut batch = |run: usize, calls: u32| (0..calls).try_for_each(|_| record(run));
    if device.caps().timestamps {
        let _earlier = device.take_marks().await?;
        device.record(|recorder| recorder.mark_time())?;
        for &(run, calls) in &order {
            batch(run, calls)?;
            device.record(|recorder| recorder.mark_time())?;
        }
        let marks = device.take_marks().await?;
        // Somebody else's marks are in between, or a clock was reset: the host's clock is left.
        if marks.len() == order.len() + 1 {
            for (pair, (run, calls)) in marks.windows(2).zip(order) {
                if let [begin, end] = pair {
                    measured(run, end.saturating_sub(*begin) as f64, calls);
                }
            }
            return Ok(Some(each));
        }
    }
    #[cfg(target_arch = "wasm32")]
    return Ok(None);
    #[cfg(not(target_arch = "wasm32"))]
    {
        for (run, calls) in order {
            device.synchronize().await?;
            let started = std::time::Instant::now();
            batch(run, calls)?;
            device.synchronize().await?;
            measured(run, started.elapsed().as_nanos() as f64, calls);
        }
        Ok(Some(each))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_long_enough_and_end() {
        let ms = Duration::from_millis;
        assert_eq!(calls_for(ms(2), 1e6), 2);
        assert_eq!(calls_for(ms(2), 5e6), 1);
        assert_eq!(calls_for(ms(2), 0.0), MOST_CALLS);
        assert_eq!(calls_for(ms(2), f64::INFINITY), 1);
    }

    #[test]
    fn every_run_comes_first_in_turn() {
        let calls = [5, 0, 7, 9];
        assert_eq!(rotated(&calls, 0), [(0, 5), (2, 7), (3, 9)]);
        assert_eq!(rotated(&calls, 1), [(2, 7), (3, 9), (0, 5)]);
        assert_eq!(rotated(&calls, 2), [(3, 9), (0, 5), (2, 7)]);
        assert_eq!(rotated(&calls, 3), rotated(&calls, 0));
        assert_eq!(rotated(&[0, 0], 1), []);
    }
}
