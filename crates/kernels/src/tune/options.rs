//! [`TuneOptions`]: how long tuning may take, and who is told of it.

use std::fmt;
use std::ops::ControlFlow;
use std::time::Duration;

use super::report::TunedProblem;

/// One problem done: what a progress callback sees.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct TuneStep<'a> {
    /// Problems done so far, this one included.
    pub done: usize,
    /// Problems in all.
    pub total: usize,
    /// What was found.
    pub problem: &'a TunedProblem,
}

pub(super) type Progress = Box<dyn FnMut(&TuneStep<'_>) -> ControlFlow<()> + Send>;

/// How long tuning may take, and who is told of it.
///
/// ```
/// use std::ops::ControlFlow;
/// use std::time::Duration;
/// use ziggurat_kernels::TuneOptions;
///
/// let options = TuneOptions::default()
///     .time_limit(Duration::from_secs(10))
///     .progress(|step| {
///         println!("{} of {}: {}", step.done, step.total, step.problem);
///         ControlFlow::Continue(()) // `Break` ends it
///     });
/// # let _ = options;
/// ```
pub struct TuneOptions {
    pub(super) time_limit: Duration,
    pub(super) rounds: u32,
    pub(super) batch: Duration,
    pub(super) warm_up: Duration,
    pub(super) least_gain: f64,
    pub(super) again: bool,
    pub(super) max_bytes: u64,
    pub(super) progress: Option<Progress>,
}

impl Default for TuneOptions {
    fn default() -> Self {
        Self {
            time_limit: Duration::from_secs(60),
            rounds: 5,
            batch: Duration::from_millis(2),
            warm_up: Duration::from_millis(300),
            least_gain: 0.03,
            again: false,
            max_bytes: 2 << 30,
            progress: None,
        }
    }
}

impl TuneOptions {
    /// After this time no problem is begun, and the one that is being measured is left as it was; 60 s at first. In a browser,
    /// which has no clock without a binding, the GPU's time counts.
    #[must_use]
    pub fn time_limit(self, time_limit: Duration) -> Self {
        Self { time_limit, ..self }
    }

    /// How often each way is measured, in turn with the others; 5 at first.
    #[must_use]
    pub fn rounds(self, rounds: u32) -> Self {
        Self { rounds, ..self }
    }

    /// How long a batch of one way is, about; 2 ms at first.
    #[must_use]
    pub fn batch(self, batch: Duration) -> Self {
        Self { batch, ..self }
    }

    /// How long a GPU computes a problem before any way is measured, so that its clock is that of a busy GPU; 300 ms at first.
    /// Software adapters skip it.
    #[must_use]
    pub fn warm_up(self, warm_up: Duration) -> Self {
        Self { warm_up, ..self }
    }

    /// By which share of the default's time another way must be faster to be taken; 0.03 at first, so that noise changes
    /// nothing.
    #[must_use]
    pub fn least_gain(self, least_gain: f64) -> Self {
        Self { least_gain, ..self }
    }

    /// Whether problems that the store knows are measured again; they are not at first.
    #[must_use]
    pub fn again(self, again: bool) -> Self {
        Self { again, ..self }
    }

    /// Problems with more bytes of operands are skipped; 2 GiB at first.
    #[must_use]
    pub fn max_bytes(self, max_bytes: u64) -> Self {
        Self { max_bytes, ..self }
    }

    /// Who is told of each problem that is done; [`ControlFlow::Break`] ends tuning, and what was found stays.
    #[must_use]
    pub fn progress(
        self,
        progress: impl FnMut(&TuneStep<'_>) -> ControlFlow<()> + Send + 'static,
    ) -> Self {
        Self {
            progress: Some(Box::new(progress)),
            ..self
        }
    }
}

impl fmt::Debug for TuneOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TuneOptions")
            .field("time_limit", &self.time_limit)
            .field("rounds", &self.rounds)
            .field("least_gain", &self.least_gain)
            .field("again", &self.again)
            .finish_non_exhaustive()
    }
}
