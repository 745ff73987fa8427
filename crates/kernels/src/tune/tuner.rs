//! Measures problems and keeps the fastest way of each.

use std::ops::ControlFlow;
use std::time::Duration;

use ziggurat_device::{DeviceError, once};
use ziggurat_pipeline::{Patience, Tuned, interleaved};

use super::check::{Bound, Difference};
use super::meet::{Forced, Met, Problems};
use super::name::WayName;
use super::options::{TuneOptions, TuneStep};
use super::report::{TuneEnd, TuneReport, TunedOutcome, TunedProblem, TunedWay, WayOutcome};
use super::trial::{Trial, is_fatal};
use crate::run::error::KernelError;
use crate::run::executor::Executor;

/// When tuning began. The web has no clock without a browser binding: the GPU's time counts there.
struct Clock {
    #[cfg(not(target_arch = "wasm32"))]
    began: std::time::Instant,
    #[cfg(target_arch = "wasm32")]
    measured: Duration,
}

impl Clock {
    fn new() -> Self {
        Self {
            #[cfg(not(target_arch = "wasm32"))]
            began: std::time::Instant::now(),
            #[cfg(target_arch = "wasm32")]
            measured: Duration::ZERO,
        }
    }

    #[cfg(not(target_arch = "wasm32"))]
    fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    #[cfg(target_arch = "wasm32")]
    fn elapsed(&self) -> Duration {
        self.measured
    }

    fn measured(&mut self, ns: f64) {
        #[cfg(target_arch = "wasm32")]
        {
            self.measured += Duration::from_nanos(ns as u64);
        }
        #[cfg(not(target_arch = "wasm32"))]
        let _ = ns;
    }
}

impl Executor {
    /// Calls `f`, and measures in which of their ways the problems that it has are computed fastest on this adapter. From then
    /// on they are computed so, until [`TuningStore::clear`](ziggurat_pipeline::TuningStore::clear):
    /// [`pipelines().tuning()`](ziggurat_pipeline::Pipelines::tuning) holds what was chosen, to be saved and loaded.
    ///
    /// Only `f` is run as it is. Ways are measured on scratch memory that lies like the operands, in turn with each other, and
    /// one whose results are further from the default's than the op's bound is never taken. The bits of results may change
    /// with the choice, their bounds do not. What was captured before stays as it is.
    ///
    /// ```
    /// # use ziggurat_kernels::{DType, Executor, KernelError, Shape, TuneOptions, device::DeviceOptions};
    /// let exec = Executor::open_blocking(DeviceOptions::default())?;
    /// let shape = Shape::new([64, 64])?;
    /// let (a, out) = (exec.upload(&[1.0f32; 4096], &shape)?, exec.alloc(&shape, DType::F32)?);
    /// let report = exec.tune_blocking(TuneOptions::default(), |exec| exec.matmul(&a, &a, &out).map(drop))?;
    /// println!("{report}");
    /// let bytes = exec.pipelines().tuning().export(); // to be shipped, for this model of adapter
    /// # assert_eq!(report.problems.len(), 1);
    /// # assert!(!bytes.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// What `f` returns, and the device's failure. What goes wrong with one way or problem stands in its row.
    pub fn tune<E: From<KernelError>>(
        &self,
        options: TuneOptions,
        f: impl FnOnce(&Self) -> Result<(), E>,
    ) -> impl Future<Output = Result<TuneReport, E>> + Unpin {
        let (called, problems) = self.meet(|| f(self));
        let tuned = self.tune_problems(options, problems);
        let tuned = async move {
            called?;
            Ok(tuned.await?)
        };
        once(tuned, || KernelError::from(DeviceError::Finished).into())
    }

    /// Like [`Self::tune`], blocking.
    ///
    /// # Errors
    /// As [`Self::tune`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn tune_blocking<E: From<KernelError>>(
        &self,
        options: TuneOptions,
        f: impl FnOnce(&Self) -> Result<(), E>,
    ) -> Result<TuneReport, E> {
        self.device().block_on(self.tune(options, f))
    }

    /// [`Self::tune`] for problems that [`Self::meet`] has noted.
    ///
    /// # Errors
    /// The device's failure.
    pub fn tune_problems(
        &self,
        options: TuneOptions,
        problems: Problems,
    ) -> impl Future<Output = Result<TuneReport, KernelError>> + Unpin + use<> {
        let exec = self.clone();
        let tuned = async move { exec.tune_all(options, &problems.met).await };
        once(tuned, || DeviceError::Finished.into())
    }

    async fn tune_all(
        &self,
        mut options: TuneOptions,
        met: &[Met],
    ) -> Result<TuneReport, KernelError> {
        let mut progress = options.progress.take();
        let mut clock = Clock::new();
        let mut report = TuneReport {
            problems: Vec::with_capacity(met.len()),
            met: met.len(),
            ended: TuneEnd::Complete,
        };
        for (before, one) in met.iter().enumerate() {
            let Some(row) = self.tune_one(&options, &mut clock, one).await? else {
                report.ended = TuneEnd::TimeLimit;
                break;
            };
            let step = TuneStep {
                done: before + 1,
                total: met.len(),
                problem: &row,
            };
            let said = progress.as_mut().map(|tell| tell(&step));
            report.problems.push(row);
            if said == Some(ControlFlow::Break(())) {
                report.ended = TuneEnd::Cancelled;
                break;
            }
        }
        Ok(report)
    }

    /// `None` if the time was up before the problem was measured.
    async fn tune_one(
        &self,
        options: &TuneOptions,
        clock: &mut Clock,
        met: &Met,
    ) -> Result<Option<TunedProblem>, KernelError> {
        let store = self.pipelines().tuning();
        let row = |ways, outcome| {
            Ok(Some(TunedProblem {
                family: met.class.family,
                problem: met.text(),
                ways,
                outcome,
            }))
        };
        if clock.elapsed() >= options.time_limit {
            return Ok(None);
        }
        if !options.again && store.way(met.class.key).is_some() {
            return row(Vec::new(), TunedOutcome::Known);
        }
        if met.bytes() > options.max_bytes {
            let why = format!("its operands have {} bytes", met.bytes());
            return row(Vec::new(), TunedOutcome::Skipped(why));
        }
        let measured = match self.measure(options, clock, met).await {
            Ok(measured) => measured,
            Err(error) => {
                if let Some(failure) = is_fatal(self) {
                    return Err(failure.into());
                }
                return row(Vec::new(), TunedOutcome::Skipped(error.to_string()));
            }
        };
        let Some(outcomes) = measured else {
            if clock.elapsed() >= options.time_limit {
                return Ok(None);
            }
            let why = "the device has no timestamps and the platform no clock";
            return row(Vec::new(), TunedOutcome::Skipped(why.to_owned()));
        };
        let chosen = fastest(&outcomes, options.least_gain);
        if let Some(name) = met.ways.get(chosen) {
            let tuned = Tuned {
                way: name.bits(),
                family: met.class.family.to_owned(),
                problem: met.text(),
                name: name.to_string(),
            };
            store.insert(met.class.key, tuned);
        }
        let ways = met.ways.iter().zip(outcomes);
        let ways = ways.map(|(name, outcome)| TunedWay {
            name: name.to_string(),
            outcome,
        });
        row(ways.collect(), TunedOutcome::Chosen(chosen))
    }

    /// What becomes of each way; `None` if there was no time, or is no clock.
    async fn measure(
        &self,
        options: &TuneOptions,
        clock: &mut Clock,
        met: &Met,
    ) -> Result<Option<Vec<WayOutcome>>, KernelError> {
        let forced = |name: &WayName| {
            self.forced_to(Forced {
                key: met.class.key,
                way: name.bits(),
            })
        };
        let execs: Vec<Self> = met.ways.iter().map(forced).collect();
        let mut outcomes = vec![None; execs.len()];
        let mut kept = None;
        for (fill, bound) in met.checks() {
            let trial = Trial::new(self, met, fill)?;
            let time_is_up = || clock.elapsed() >= options.time_limit;
            let run = |way: usize| execs.get(way).map_or(self, |exec| exec);
            if !check(&trial, bound, run, &mut outcomes, time_is_up).await? {
                return Ok(None);
            }
            kept = Some(trial);
        }
        let Some(trial) = kept else { return Ok(None) };
        let able = execs.iter().zip(&outcomes);
        let able: Vec<&Self> = able
            .filter_map(|(exec, outcome)| outcome.is_none().then_some(exec))
            .collect();
        let patience = Patience {
            rounds: options.rounds,
            batch: options.batch,
            warm_up: options.warm_up,
        };
        let record = |at: usize| able.get(at).map_or(Ok(()), |exec| trial.run(exec));
        let go_on = || clock.elapsed() < options.time_limit;
        let times = interleaved(self.device(), able.len(), &patience, record, go_on).await?;
        let Some(times) = times else { return Ok(None) };
        let all = times.iter().map(|time| time.ns * f64::from(time.calls));
        clock.measured(all.sum());
        let mut times = times.into_iter();
        let filled = outcomes.into_iter().map(|outcome| {
            outcome.unwrap_or_else(|| {
                let ns = times.next().map_or(f64::INFINITY, |time| time.ns);
                WayOutcome::Time(ns)
            })
        });
        Ok(Some(filled.collect()))
    }
}

/// Compares what every way leaves with what the default does; says whether there was time for that.
pub(super) async fn check<'e>(
    trial: &Trial<'_>,
    bound: Bound,
    run: impl Fn(usize) -> &'e Executor,
    outcomes: &mut [Option<WayOutcome>],
    time_is_up: impl Fn() -> bool,
) -> Result<bool, KernelError> {
    let wanted = trial.result(run(0)).await?;
    for (way, outcome) in outcomes.iter_mut().enumerate().skip(1) {
        if outcome.is_some() {
            continue;
        }
        if time_is_up() {
            return Ok(false);
        }
        let exec = run(way);
        let got = match trial.compile(exec) {
            Ok(()) => trial.result(exec).await,
            Err(error) => Err(error),
        };
        *outcome = match got {
            Ok(got) => trial
                .first_beyond(bound, &wanted, &got)
                .map(|difference: Difference| WayOutcome::Refused(difference.to_string())),
            Err(error) => {
                if let Some(failure) = is_fatal(exec) {
                    return Err(failure.into());
                }
                Some(WayOutcome::Failed(error.to_string()))
            }
        };
    }
    Ok(true)
}

/// The fastest way, if it is faster than the default by that share.
fn fastest(outcomes: &[WayOutcome], least_gain: f64) -> usize {
    let time = |outcome: &WayOutcome| match outcome {
        WayOutcome::Time(ns) => *ns,
        _ => f64::INFINITY,
    };
    let times = outcomes.iter().map(time).enumerate();
    let best = times.min_by(|(_, a), (_, b)| a.total_cmp(b));
    let (at, ns) = best.unwrap_or((0, f64::INFINITY));
    let default = outcomes.first().map_or(f64::INFINITY, time);
    if ns < default * (1.0 - least_gain) {
        at
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_way_is_taken_only_if_it_is_clearly_faster_and_right() {
        let time = WayOutcome::Time;
        let refused = WayOutcome::Refused(String::new());
        assert_eq!(fastest(&[time(100.0), time(98.0), time(120.0)], 0.03), 0);
        assert_eq!(fastest(&[time(100.0), time(90.0), time(80.0)], 0.03), 2);
        assert_eq!(fastest(&[time(100.0), refused, time(99.0)], 0.03), 0);
        assert_eq!(fastest(&[time(100.0)], 0.0), 0);
        assert_eq!(fastest(&[], 0.0), 0);
    }
}
