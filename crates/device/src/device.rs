//! The device handle: capabilities, status, and the way into the command queue.
//!
//! A `Device` is a cheap clone of one shared core. Futures it hands out hold it, so that work
//! somebody waits for outlives the last handle of the program. Hooks and callbacks must not hold
//! it, or an unsubmitted batch would keep itself alive.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;

use crate::completion::{CallbackGuard, Completion, Failure, Submission, once};
use crate::open::{Opened, Origin};
#[cfg(not(target_arch = "wasm32"))]
pub(crate) use crate::park::Key as ParkKey;
use crate::profile::{Profile, Stage, StageSpan};
use crate::queue::{Aftermath, CommandQueue, Locked, QueueStats, Submitter};
use crate::recorder::Recorder;
use crate::state::Shared;
use crate::timestamps::{KernelTime, Profiler};
use crate::{AdapterSummary, Caps, DeviceError, DeviceOptions, LostReason};

/// How often wgpu is asked for a loss, a millisecond apart.
#[cfg(not(target_arch = "wasm32"))]
const LOSS_TRIES: usize = 5;

/// Nothing is kept in a browser.
#[cfg(target_arch = "wasm32")]
#[derive(Clone, Copy, Debug)]
pub(crate) enum ParkKey {}

/// An open GPU device. Clones share it; all methods may be called from any thread.
#[derive(Clone)]
pub struct Device {
    inner: Arc<Inner>,
}

struct Inner {
    device: wgpu::Device,
    queue: wgpu::Queue,
    adapter: AdapterSummary,
    caps: Caps,
    options: DeviceOptions,
    origin: Origin,
    shared: Arc<Shared>,
    commands: Arc<CommandQueue>,
    profiler: Arc<Profiler>,
    /// Where the driver's device goes afterwards, if it is kept.
    #[cfg_attr(
        target_arch = "wasm32",
        allow(dead_code, reason = "a browser's device is never kept")
    )]
    key: Option<ParkKey>,
    reused: bool,
    views: crate::view::Views,
    checked: bool,
    #[cfg(not(target_arch = "wasm32"))]
    driver: crate::drive::Driver,
}

impl std::fmt::Debug for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        crate::caps::describe(&self.inner.adapter, &self.inner.caps, f)
    }
}

impl Device {
    pub(crate) fn build(opened: Opened) -> Self {
        let Opened {
            adapter,
            caps,
            device,
            queue,
            options,
            origin,
            key,
            reused,
        } = opened;
        let shared = Arc::new(Shared::default());
        let commands = Arc::new(CommandQueue::default());
        install_handlers(&device, &shared, &commands);
        let period = if caps.timestamps {
            queue.get_timestamp_period()
        } else {
            1.0
        };
        #[cfg(not(target_arch = "wasm32"))]
        if let Err(error) = crate::poller::start(&device, &shared, &commands) {
            shared.fail(error);
        }
        Self {
            inner: Arc::new(Inner {
                views: crate::view::Views::default(),
                checked: crate::software::is_checked(&device),
                profiler: Arc::new(Profiler::new(caps.timestamps, options.profile, period)),
                #[cfg(not(target_arch = "wasm32"))]
                driver: crate::drive::Driver::new(device.clone(), shared.clone(), adapter.kind),
                device,
                queue,
                adapter,
                caps,
                options,
                origin,
                shared,
                commands,
                key,
                reused,
            }),
        }
    }

    /// What the device can do.
    #[must_use]
    pub fn caps(&self) -> &Caps {
        &self.inner.caps
    }

    /// The adapter it was opened on.
    #[must_use]
    pub fn adapter(&self) -> &AdapterSummary {
        &self.inner.adapter
    }

    /// The options it was opened with.
    #[must_use]
    pub fn options(&self) -> &DeviceOptions {
        &self.inner.options
    }

    pub(crate) fn origin(&self) -> &Origin {
        &self.inner.origin
    }

    /// The wgpu device.
    #[must_use]
    pub fn wgpu(&self) -> &wgpu::Device {
        &self.inner.device
    }

    /// The wgpu queue. What is submitted on it directly is not ordered with the open batch.
    #[must_use]
    pub fn wgpu_queue(&self) -> &wgpu::Queue {
        &self.inner.queue
    }

    /// Whether the driver's device was kept from an earlier [`Device`]; see [`Reuse`](crate::Reuse).
    #[must_use]
    pub fn is_reused(&self) -> bool {
        self.inner.reused
    }

    /// What shaders printed by `debug_print(value);` in dispatches submitted since the last call.
    /// Only the software device prints; on others the calls are removed and this is empty.
    #[cfg(all(feature = "software", not(target_arch = "wasm32")))]
    #[must_use]
    pub fn take_debug_prints(&self) -> ziggurat_software::DebugPrints {
        ziggurat_software::take_debug_prints(&self.inner.device).unwrap_or_default()
    }

    /// Whether kernels run under a sanitizer of the software device.
    #[must_use]
    pub fn is_checked(&self) -> bool {
        self.inner.checked
    }

    /// Says of which files, with how many lines each, a shader module is made, so that what a
    /// sanitizer finds, and what kernels print, names them. Only the software device listens.
    pub fn name_lines<'a>(
        &self,
        module: &wgpu::ShaderModule,
        parts: impl Iterator<Item = (&'a str, u32)>,
    ) {
        crate::software::name_lines(module, parts);
    }

    /// Whether the device works.
    ///
    /// # Errors
    /// [`DeviceError::Lost`] or [`DeviceError::Poisoned`], the first that happened.
    pub fn status(&self) -> Result<(), DeviceError> {
        let shared = &self.inner.shared;
        #[cfg(not(target_arch = "wasm32"))]
        if shared.is_failed() && shared.take_doubt() {
            self.look_for_loss();
        }
        shared.status()
    }

    /// Asks wgpu now whether the device still works, for a failure that the loss of the device would explain:
    /// [`status`](Self::status) knows of a loss only once somebody has polled.
    ///
    /// # Errors
    /// As [`status`](Self::status).
    pub fn check_alive(&self) -> Result<(), DeviceError> {
        self.status()?;
        #[cfg(not(target_arch = "wasm32"))]
        self.look_for_loss();
        self.status()
    }

    /// Polls until wgpu has told of a loss, if there is one to tell of.
    #[cfg(not(target_arch = "wasm32"))]
    fn look_for_loss(&self) {
        let shared = &self.inner.shared;
        let is_lost = || matches!(shared.status(), Err(DeviceError::Lost { .. }));
        for _ in 0..LOSS_TRIES {
            crate::drive::poll(&self.inner.device, shared, wgpu::PollType::Poll);
            if is_lost() {
                return;
            }
            // Another thread may be between the callbacks that answer for mappings and the one that tells of the loss.
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }

    /// Declares that results on this device cannot be trusted any more: recorded work is thrown
    /// away and everything that waits gets `error`. The first failure is kept.
    pub fn poison(&self, error: DeviceError) {
        self.inner.shared.fail(error);
        self.inner.discard_if_failed();
    }

    /// Gives the device back to the driver. Everything that waits gets [`DeviceError::Lost`].
    pub fn destroy(&self) {
        self.poison(DeviceError::Lost {
            reason: LostReason::Destroyed,
            message: "destroy was called".to_owned(),
        });
        if self.inner.views.may_destroy() {
            self.inner.device.destroy();
        }
    }

    /// Records work: `f` is called at once, under the queue's lock, and must neither block nor
    /// record. The batch is submitted when it has reached
    /// [`submit_after`](DeviceOptions::submit_after) commands. On native this waits while
    /// [`max_in_flight`](DeviceOptions::max_in_flight) submissions are unfinished.
    ///
    /// # Errors
    /// The device's failure, also one that this very work caused; [`DeviceError::Reentrant`].
    pub fn record<R>(&self, f: impl FnOnce(&mut Recorder<'_>) -> R) -> Result<R, DeviceError> {
        let inner = &*self.inner;
        self.status()?;
        inner.wait_for_room();
        let span = self.span(Stage::Record);
        let mut recorder = Recorder {
            locked: inner.commands.lock()?,
            device: &inner.device,
            profiler: &inner.profiler,
            labels: inner.options.labels,
        };
        let result = f(&mut recorder);
        drop(span);
        let mut locked = recorder.locked;
        let compiling = !locked.batch().late.is_empty() && inner.is_compiling(&mut locked);
        let full = inner.is_full(locked.batch().commands, compiling);
        let mut aftermath = None;
        if full && !compiling && inner.has_room() {
            aftermath = Some(locked.submit(&inner.submitter()));
        }
        drop(locked);
        match aftermath {
            Some(aftermath) => aftermath.run(),
            // Another thread took the last free place: wait for one, then look again.
            None if full => inner.submit_when_there_is_room(true)?,
            None => {}
        }
        inner.discard_if_failed();
        self.status()?;
        Ok(result)
    }

    /// Submits what has been recorded and returns the number of the last submission. On native
    /// this waits like [`record`](Self::record), and for pipelines that are still being made.
    ///
    /// # Errors
    /// The device's failure; [`DeviceError::Reentrant`].
    pub fn flush(&self) -> Result<Submission, DeviceError> {
        self.status()?;
        self.inner.submit_when_there_is_room(false)?;
        self.inner.discard_if_failed();
        self.status()?;
        Ok(Submission(self.submitted()))
    }

    /// Submits what has been recorded without waiting for the GPU: for use in futures. Pipelines that are still being
    /// made are waited for, as the compiling itself would be if it were done here.
    pub(crate) fn submit_now(&self) -> Result<Submission, DeviceError> {
        self.status()?;
        self.inner.wait_for_pipelines()?;
        let mut locked = self.inner.commands.lock()?;
        let aftermath = locked.submit(&self.inner.submitter());
        drop(locked);
        aftermath.run();
        self.inner.discard_if_failed();
        self.status()?;
        Ok(Submission(self.submitted()))
    }

    pub(crate) fn views(&self) -> &crate::view::Views {
        &self.inner.views
    }

    pub(crate) fn submitted(&self) -> u64 {
        self.inner.commands.submitted()
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.inner.shared
    }

    /// The number that the work recorded so far has or will get.
    #[must_use]
    pub fn pending(&self) -> Submission {
        Submission(self.inner.commands.pending())
    }

    /// A future for all work up to `submission`; polling it submits that work if need be.
    pub fn completion(&self, submission: Submission) -> Completion {
        Completion::new(self.clone(), submission)
    }

    /// Submits what has been recorded and returns a future for all work so far. Never waits for the GPU, only for
    /// pipelines that other threads are making for this work.
    pub fn synchronize(&self) -> Completion {
        // A failure is kept by the device and is what the future resolves with.
        let submission = self.submit_now().unwrap_or_else(|_| self.pending());
        self.completion(submission)
    }

    /// A future that resolves with the device's error once it fails.
    pub fn failure(&self) -> Failure {
        Failure::new(self.clone())
    }

    /// Runs `future` to its end on this thread, and wgpu's callbacks with it: the fastest way to wait for a read.
    ///
    /// Like [`block_on`](crate::block_on) for any other future. Must not be called from a wgpu callback.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        let _span = self.span(Stage::Wait);
        crate::blocking::block_on_with(future, |own, done| self.inner.driver.until(Some(own), done))
    }

    /// Polls wgpu on this thread while there is work in flight and `done` says no.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn drive_until(&self, done: impl FnMut() -> bool) {
        self.inner.driver.until(None, done);
    }

    /// Wakes a task soon: to be called in wgpu's callbacks, where calling a waker, which is foreign code, could panic
    /// through wgpu or need a lock that is held.
    pub fn wake_soon(&self, waker: std::task::Waker) {
        self.inner.shared.wake_soon(waker);
    }

    /// Keeps wgpu's callbacks running while the guard lives, for `map_async`.
    pub fn callback_guard(&self) -> CallbackGuard {
        CallbackGuard::new(self.clone())
    }

    /// The queue's counters.
    #[must_use]
    pub fn queue_stats(&self) -> QueueStats {
        let commands = &self.inner.commands;
        let state = self.inner.shared.state.lock();
        QueueStats {
            submissions: commands.submitted(),
            dispatches: commands.dispatches.load(Ordering::Relaxed),
            copies: commands.copies.load(Ordering::Relaxed),
            in_flight: state.in_flight.len() as u64,
            max_in_flight_seen: state.max_in_flight_seen as u64,
        }
    }

    /// Switches time per kernel on or off for what is recorded from now on. False if the device
    /// has no timestamps; nothing is switched then.
    pub fn set_profiling(&self, on: bool) -> bool {
        self.inner.profiler.set(on)
    }

    /// Submits what has been recorded and resolves with the times of all dispatches recorded with
    /// profiling on since the last call, longest first.
    ///
    /// # Errors
    /// The device's failure.
    pub fn take_profile(
        &self,
    ) -> impl Future<Output = Result<Vec<KernelTime>, DeviceError>> + Send + Unpin + use<> {
        let device = self.clone();
        let submitted = self.submit_now();
        once(
            async move {
                let submission = submitted?;
                let read = device.inner.profiler.when_read(submission);
                let mut read = pin!(read);
                let mut failure = pin!(device.failure());
                std::future::poll_fn(|context| match read.as_mut().poll(context) {
                    Poll::Ready(()) => Poll::Ready(Ok(device.inner.profiler.take())),
                    Poll::Pending => failure.as_mut().poll(context).map(Err),
                })
                .await
            },
            || DeviceError::Finished,
        )
    }
}

impl Device {
    /// Notes the time until the span is dropped under `stage`, if a profile is being made: one branch otherwise.
    #[inline]
    pub fn span(&self, stage: Stage) -> StageSpan<'_> {
        self.inner.profiler.host.span(stage)
    }

    /// Whether dispatches are timed.
    #[inline]
    pub fn is_profiling(&self) -> bool {
        self.inner.profiler.is_on()
    }

    /// Starts a [`Profile`] of host and GPU, from nothing. Dispatches are timed (in passes of their own) where the
    /// device has timestamps.
    pub fn start_profile(&self) {
        self.inner.profiler.take();
        self.set_profiling(true);
        self.inner.profiler.host.start();
    }

    /// Submits what has been recorded and resolves with the profile since [`start_profile`](Self::start_profile);
    /// ends it.
    ///
    /// # Errors
    /// The device's failure.
    pub fn finish_profile(
        &self,
    ) -> impl Future<Output = Result<Profile, DeviceError>> + Send + Unpin + use<> {
        let device = self.clone();
        let times = self.take_profile();
        once(
            async move {
                let kernels = times.await;
                let profiler = &device.inner.profiler;
                profiler.host.stop();
                profiler.set(device.options().profile);
                let mut profile = profiler.host.take();
                profile.kernels = kernels?;
                Ok(profile)
            },
            || DeviceError::Finished,
        )
    }
}

impl Inner {
    fn submitter(&self) -> Submitter<'_> {
        Submitter {
            device: &self.device,
            queue: &self.queue,
            shared: &self.shared,
            profiler: &self.profiler,
            options: &self.options,
        }
    }

    /// Whether a batch of so many commands should go. One that waits for pipelines may grow like that of a busy device.
    fn is_full(&self, commands: u32, compiling: bool) -> bool {
        let in_flight = if compiling {
            usize::MAX
        } else {
            self.shared.in_flight()
        };
        crate::queue::is_full(commands, self.options.submit_after, in_flight)
    }

    /// Encodes what was kept, as far as pipelines are there; whether some of it has to wait on.
    #[cold]
    fn is_compiling(&self, locked: &mut Locked<'_>) -> bool {
        locked.encode_late(&self.submitter(), false) && !locked.batch().late.is_empty()
    }

    /// Waits for the pipelines of what is recorded now, without holding the queue's lock.
    fn wait_for_pipelines(&self) -> Result<(), DeviceError> {
        #[cfg(not(target_arch = "wasm32"))]
        {
            let mut locked = self.commands.lock()?;
            if locked.batch().late.is_empty() {
                return Ok(());
            }
            let pipelines = crate::late::unsettled(&locked.batch().late);
            drop(locked);
            let _span = self.profiler.host.span(Stage::Lookup);
            for pipeline in pipelines {
                // The submission meets the same error.
                let _ = pipeline.wait();
            }
        }
        Ok(())
    }

    fn max_in_flight(&self) -> usize {
        usize::try_from(self.options.max_in_flight.max(1)).unwrap_or(usize::MAX)
    }

    /// Nothing waits in a browser, so there is always room there.
    fn has_room(&self) -> bool {
        cfg!(target_arch = "wasm32") || self.shared.in_flight() < self.max_in_flight()
    }

    fn wait_for_room(&self) {
        #[cfg(not(target_arch = "wasm32"))]
        if !self.has_room() {
            let _span = self.profiler.host.span(Stage::Wait);
            self.driver.until(None, || self.has_room());
            self.shared.wait_for_room(self.max_in_flight());
        }
    }

    /// Submits the batch (with `only_full`, if it still is full) once there is room, holding the
    /// queue's lock only while submitting: the completion thread may need it to make room.
    fn submit_when_there_is_room(&self, only_full: bool) -> Result<(), DeviceError> {
        loop {
            self.wait_for_pipelines()?;
            self.wait_for_room();
            self.shared.status()?;
            let mut locked = self.commands.lock()?;
            let batch = locked.batch();
            let wanted = if only_full {
                self.is_full(batch.commands, !batch.late.is_empty())
            } else {
                !batch.is_empty()
            };
            if !wanted {
                return Ok(());
            }
            if self.has_room() || self.is_poller() {
                let aftermath: Aftermath = locked.submit(&self.submitter());
                drop(locked);
                aftermath.run();
                return Ok(());
            }
        }
    }

    fn is_poller(&self) -> bool {
        #[cfg(not(target_arch = "wasm32"))]
        return self.shared.state.lock().poller == Some(std::thread::current().id());
        #[cfg(target_arch = "wasm32")]
        return false;
    }

    fn discard_if_failed(&self) {
        if self.shared.is_failed() {
            self.commands.discard();
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Recorded work may write to buffers that somebody else owns: it is not forgotten.
        if !self.shared.is_failed()
            && let Ok(mut locked) = self.commands.lock()
        {
            let aftermath = locked.submit(&self.submitter());
            drop(locked);
            aftermath.run();
        }
        self.commands.discard();
        #[cfg(not(target_arch = "wasm32"))]
        {
            crate::poller::stop(&self.shared);
            if let Some(key) = self.key.take() {
                let healthy = !self.shared.is_failed();
                let (device, queue) = (self.device.clone(), self.queue.clone());
                crate::park::park(key, device, queue, healthy);
            }
        }
    }
}

/// Turns wgpu's uncaught errors and the loss of the device into values.
fn install_handlers(device: &wgpu::Device, shared: &Arc<Shared>, commands: &Arc<CommandQueue>) {
    // The device keeps its handlers, and the batch keeps the device: no cycle, please.
    let (shared, commands) = (shared.clone(), Arc::downgrade(commands));
    let discard = move || {
        // The completion thread throws the batch away; a browser has none, nor other threads.
        if cfg!(target_arch = "wasm32")
            && let Some(commands) = commands.upgrade()
        {
            commands.discard();
        }
    };
    let (complaints, discard_too) = (shared.clone(), discard.clone());
    device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
        complaints.complain(error.to_string());
        discard_too();
    }));
    device.set_device_lost_callback(move |reason, message| {
        shared.lose(DeviceError::Lost {
            reason: match reason {
                wgpu::DeviceLostReason::Destroyed => LostReason::Destroyed,
                wgpu::DeviceLostReason::Unknown => LostReason::Unknown,
            },
            message,
        });
        discard();
    });
}
