//! The command queue: one open batch, one lock, record order is execution order.
//!
//! The batch is a lazily created encoder with a lazily opened compute pass; consecutive dispatches
//! share the pass and a copy ends it. Submitting numbers the batch, so that "the work recorded so
//! far" has a number before it is submitted.
//!
//! Lock order: the queue's lock comes first, the shared state's lock is a leaf. `before_submit`
//! hooks run under the queue's lock, because they belong to exactly this submission;
//! `after_submit` hooks run after it is released. A thread that records within a recording gets
//! [`DeviceError::Reentrant`] instead of a deadlock.

use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};

use crate::completion::{Submission, now_or_never};
use crate::encode::Encoding;
use crate::late::{self, Commands};
use crate::profile::Stage;
use crate::state::Shared;
use crate::timestamps::{Chunk, Profiler};
use crate::{DeviceError, DeviceOptions};

pub(crate) type BeforeSubmit = Box<dyn FnOnce(&wgpu::Queue) + Send>;
pub(crate) type AfterSubmit = Box<dyn FnOnce(Submission) + Send>;

/// Unfinished submissions that keep a device busy until the next one comes.
const ENOUGH_IN_FLIGHT: usize = 2;
/// How much a batch may outgrow the limit meanwhile.
const GROWTH: u32 = 8;
/// Commands of the first batch of an idle device, of a limit of so many times as many or less.
const FIRST: u32 = 8;
/// What recording must have taken by then. A replay takes less, and would gain nothing.
const FIRST_TIME: Duration = Duration::from_micros(8);

/// Whether a batch should be submitted, the `index`th since somebody asked for a submission, for which commands have been
/// recorded for so long. A submission costs the host as much as tens of dispatches, so the batch of a busy device goes on
/// growing. An idle one begins early, to compute while the host records the rest; if it is idle again, because its work takes
/// less time than recording it, the next batch has twice as many commands.
#[inline]
pub(crate) fn is_full(
    commands: u32,
    submit_after: u32,
    in_flight: usize,
    (index, recording): (u32, impl FnOnce() -> Duration),
) -> bool {
    let limit = submit_after.max(1);
    match in_flight {
        // The clock is looked at only where that decides.
        0 if commands < limit => {
            let first = (limit / FIRST).max(FIRST.min(limit));
            commands >= first.saturating_mul(1 << index.min(3)) && recording() >= FIRST_TIME
        }
        0..ENOUGH_IN_FLIGHT => commands >= limit,
        _ => commands >= limit.saturating_mul(GROWTH),
    }
}

/// Counters of a device's command queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueStats {
    /// Batches submitted.
    pub submissions: u64,
    /// Dispatches recorded.
    pub dispatches: u64,
    /// Copies and clears recorded.
    pub copies: u64,
    /// Submissions the GPU has not finished.
    pub in_flight: u64,
    /// The largest `in_flight` there has been.
    pub max_in_flight_seen: u64,
}

/// The immediates last set for the bound pipeline, if they are as short as most drivers want them.
#[derive(Clone, Copy)]
pub(crate) struct Immediates {
    bytes: [u8; 256],
    len: usize,
}

impl Default for Immediates {
    fn default() -> Self {
        Self {
            bytes: [0; 256],
            len: 0,
        }
    }
}

impl Immediates {
    /// Knows of none: another pipeline is bound.
    #[inline]
    pub(crate) const fn forget(&mut self) {
        self.len = 0;
    }

    /// Remembers `bytes`; whether they are the same as before.
    pub(crate) fn is_repeated(&mut self, bytes: &[u8]) -> bool {
        if self.bytes.get(..self.len) == Some(bytes) {
            return true;
        }
        self.len = 0;
        if let Some(place) = self.bytes.get_mut(..bytes.len()) {
            place.copy_from_slice(bytes);
            self.len = bytes.len();
        }
        false
    }
}

/// Work recorded and not yet submitted.
#[derive(Default)]
pub(crate) struct Batch {
    /// The pass must go before the encoder is finished.
    pub(crate) pass: Option<wgpu::ComputePass<'static>>,
    pub(crate) encoder: Option<wgpu::CommandEncoder>,
    /// What the open pass has bound.
    pub(crate) pipeline: Option<wgpu::ComputePipeline>,
    pub(crate) bind_group: Option<wgpu::BindGroup>,
    pub(crate) immediates: Immediates,
    pub(crate) commands: u32,
    /// When the first of them had been recorded.
    #[cfg(not(target_arch = "wasm32"))]
    began: Option<std::time::Instant>,
    /// What comes after all that is encoded.
    pub(crate) late: Commands,
    pub(crate) before: Vec<BeforeSubmit>,
    pub(crate) after: Vec<AfterSubmit>,
    pub(crate) timings: Vec<Chunk>,
}

impl Batch {
    pub(crate) fn is_empty(&self) -> bool {
        self.encoder.is_none()
            && self.late.is_empty()
            && self.before.is_empty()
            && self.after.is_empty()
    }

    /// Remembers when the first commands had been recorded.
    #[inline]
    pub(crate) fn begin(&mut self) {
        #[cfg(not(target_arch = "wasm32"))]
        if self.commands > 0 && self.began.is_none() {
            self.began = Some(std::time::Instant::now());
        }
    }

    /// For how long commands have been recorded; nothing in a browser, where a submission costs much more.
    pub(crate) fn recording(&self) -> Duration {
        #[cfg(not(target_arch = "wasm32"))]
        if let Some(began) = self.began {
            return began.elapsed();
        }
        Duration::ZERO
    }

    pub(crate) fn end_pass(&mut self) {
        self.pipeline = None;
        self.bind_group = None;
        self.immediates.forget();
        self.pass = None;
    }
}

/// The lock around the batch, and what can be read without it.
#[derive(Default)]
pub(crate) struct CommandQueue {
    batch: Mutex<Batch>,
    /// Identifies the thread that holds the lock; 0 for none.
    owner: AtomicUsize,
    /// The number of the last submitted batch.
    submitted: AtomicU64,
    /// The number that the work recorded so far has or will get.
    pending: AtomicU64,
    /// Batches submitted because they were full since somebody asked for a submission.
    full: AtomicU32,
    pub(crate) dispatches: AtomicU64,
    pub(crate) copies: AtomicU64,
}

impl std::fmt::Debug for CommandQueue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CommandQueue")
            .field("submitted", &self.submitted)
            .field("pending", &self.pending)
            .finish_non_exhaustive()
    }
}

/// The batch, locked by this thread.
pub(crate) struct Locked<'a> {
    queue: &'a CommandQueue,
    batch: MutexGuard<'a, Batch>,
}

impl Drop for Locked<'_> {
    #[inline]
    fn drop(&mut self) {
        let submitted = self.queue.submitted.load(Ordering::Relaxed);
        let pending = submitted + u64::from(!self.batch.is_empty());
        self.queue.pending.store(pending, Ordering::Release);
        self.queue.owner.store(0, Ordering::Relaxed);
    }
}

/// A number that differs between living threads and is never 0.
#[inline]
fn thread_token() -> usize {
    thread_local!(static TOKEN: u8 = const { 0 });
    TOKEN.with(|token| std::ptr::from_ref(token).addr())
}

impl CommandQueue {
    #[inline]
    pub(crate) fn lock(&self) -> Result<Locked<'_>, DeviceError> {
        let token = thread_token();
        if self.owner.load(Ordering::Relaxed) == token {
            return Err(DeviceError::Reentrant);
        }
        let batch = self.batch.lock();
        self.owner.store(token, Ordering::Relaxed);
        Ok(Locked { queue: self, batch })
    }

    pub(crate) fn submitted(&self) -> u64 {
        self.submitted.load(Ordering::Acquire)
    }

    #[inline]
    pub(crate) fn full_batches(&self) -> u32 {
        self.full.load(Ordering::Relaxed)
    }

    pub(crate) fn pending(&self) -> u64 {
        self.pending.load(Ordering::Acquire)
    }

    /// Throws the open batch away without running its hooks. What it held is dropped after the
    /// lock is released, because dropping may run foreign code.
    pub(crate) fn discard(&self) {
        let Ok(mut locked) = self.lock() else { return };
        let batch = std::mem::take(locked.batch());
        drop(locked);
        drop(batch);
    }
}

/// Everything a submission needs besides the batch.
pub(crate) struct Submitter<'a> {
    pub(crate) device: &'a wgpu::Device,
    pub(crate) queue: &'a wgpu::Queue,
    pub(crate) shared: &'a std::sync::Arc<Shared>,
    pub(crate) profiler: &'a std::sync::Arc<Profiler>,
    pub(crate) options: &'a DeviceOptions,
}

/// What remains to be done once the lock is released.
#[must_use = "hooks must run"]
#[derive(Default)]
pub(crate) struct Aftermath {
    submission: Submission,
    hooks: Vec<AfterSubmit>,
}

impl Aftermath {
    pub(crate) fn run(self) {
        for hook in self.hooks {
            hook(self.submission);
        }
    }
}

impl Locked<'_> {
    #[inline]
    pub(crate) fn batch(&mut self) -> &mut Batch {
        &mut self.batch
    }

    /// The number the open batch will get.
    pub(crate) fn number(&self) -> Submission {
        Submission(self.queue.submitted() + 1)
    }

    pub(crate) fn counters(&self) -> &CommandQueue {
        self.queue
    }

    /// Encodes what was kept and can be encoded now, with `wait` all; false if it cannot be, and the device has failed.
    #[cold]
    pub(crate) fn encode_late(&mut self, with: &Submitter<'_>, wait: bool) -> bool {
        let encoding = Encoding {
            device: with.device,
            profiler: with.profiler,
            labels: with.options.labels,
        };
        let encoded = late::encode(&mut self.batch, &encoding, wait);
        encoded.map_err(|error| with.shared.fail(error)).is_ok()
    }

    /// [`Locked::submit`] of a batch that is full.
    pub(crate) fn submit_full(&mut self, with: &Submitter<'_>) -> Aftermath {
        let index = self.queue.full_batches().saturating_add(1);
        let aftermath = self.submit(with);
        self.queue.full.store(index, Ordering::Relaxed);
        aftermath
    }

    /// Submits the open batch, if there is anything in it. Waits for pipelines that are still being made; a batch with
    /// one that cannot be made stays where it is, to be discarded.
    pub(crate) fn submit(&mut self, with: &Submitter<'_>) -> Aftermath {
        self.queue.full.store(0, Ordering::Relaxed);
        if self.batch.is_empty() {
            return Aftermath::default();
        }
        if !self.batch.late.is_empty() && !self.encode_late(with, true) {
            return Aftermath::default();
        }
        let submission = self.number();
        let _span = with.profiler.host.span(Stage::Submit);
        with.profiler.host.submitting(submission.0);
        let mut batch = std::mem::take(&mut *self.batch);
        batch.end_pass();

        // Scopes are thread-local and answer at once, but only on native.
        let native = !cfg!(target_arch = "wasm32");
        let scope = (native && with.options.validation)
            .then(|| with.device.push_error_scope(wgpu::ErrorFilter::Validation));
        for hook in batch.before.drain(..) {
            hook(with.queue);
        }
        let commands = batch.encoder.take().map(|mut encoder| {
            for chunk in &batch.timings {
                chunk.resolve(&mut encoder);
            }
            encoder.finish()
        });
        let index = with.queue.submit(commands);
        if let Some(scope) = scope {
            let caught = now_or_never(scope.pop()).flatten();
            if let Some(error) = caught {
                with.shared
                    .complain_of(format!("submission {}: {error}", submission.0));
            }
        }
        self.queue.submitted.store(submission.0, Ordering::Release);
        let shared = with.shared.clone();
        with.queue
            .on_submitted_work_done(move || shared.complete(submission.0));
        with.shared.submitted(submission.0, index);

        let mut hooks = batch.after;
        for chunk in batch.timings {
            hooks.push(with.profiler.reader(chunk, submission, with.shared));
        }
        Aftermath { submission, hooks }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_of_a_busy_device_grow_to_an_end() {
        let least = |in_flight: usize, since: (u32, Duration)| {
            let (index, recording) = since;
            let is_full = |commands: &u32| is_full(*commands, 64, in_flight, (index, || recording));
            (0..1000).find(is_full)
        };
        for since in [0, 1, 9].map(|index| (index, Duration::MAX)) {
            assert_eq!(least(1, since), Some(64));
            assert_eq!(least(2, since), Some(512));
            assert_eq!(least(31, since), Some(512));
        }
        let since = || (0, || Duration::MAX);
        assert!(is_full(1, 0, 0, since()));
        assert!(!is_full(u32::MAX - 1, u32::MAX, 9, since()));
    }

    #[test]
    fn an_idle_device_begins_early_and_soon_gets_whole_batches() {
        let least = |limit: u32, index: u32, recording: Duration| {
            (0..1000).find(|&commands| is_full(commands, limit, 0, (index, || recording)))
        };
        let indices = [0, 1, 2, 3, 4, u32::MAX];
        let all = indices.map(|index| least(64, index, FIRST_TIME));
        assert_eq!(all, [8, 16, 32, 64, 64, 64].map(Some));
        let all = [1, 7, 9].map(|limit| least(limit, 0, FIRST_TIME));
        assert_eq!(all, [1, 7, 8].map(Some));
        assert!(!is_full(u32::MAX / 9, u32::MAX, 0, (0, || FIRST_TIME)));
        // What is recorded at once is submitted when somebody asks for it.
        assert_eq!(least(64, 0, Duration::from_micros(4)), Some(64));
    }

    #[test]
    fn immediates_are_repeated_only_if_all_bytes_are_the_same() {
        let mut last = Immediates::default();
        assert!(!last.is_repeated(&[1, 2, 3, 4]));
        assert!(last.is_repeated(&[1, 2, 3, 4]));
        assert!(!last.is_repeated(&[1, 2, 3, 5]));
        assert!(!last.is_repeated(&[1, 2, 3, 5, 0, 0, 0, 0]));
        assert!(!last.is_repeated(&[1, 2, 3, 5]));
        let all = [7; 256];
        assert!(!last.is_repeated(&all));
        assert!(last.is_repeated(&all));
        last.forget();
        assert!(!last.is_repeated(&all));
        let long = [7; 260];
        assert!(!last.is_repeated(&long));
        assert!(!last.is_repeated(&long), "too long to remember");
    }
}
