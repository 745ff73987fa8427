//! The device handle: capabilities, status, and the way into the command queue.
//!
//! A `Device` is a cheap clone of one shared core. Futures it hands out hold it, so that work
//! somebody waits for outlives the last handle of the program. Hooks and callbacks must not hold
//! it, or an unsubmitted batch would keep itself alive.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::completion::{CallbackGuard, Completion, Failure, Submission};
use crate::open::{Opened, Origin};
#[cfg(not(target_arch = "wasm32"))]
pub(crate) use crate::park::Key as ParkKey;
#[cfg(not(target_arch = "wasm32"))]
use crate::patience::Patience;
use crate::profile::Stage;
use crate::queue::{CommandQueue, QueueStats};
use crate::recorder::Recorder;
use crate::state::Shared;
use crate::timestamps::Profiler;
use crate::{AdapterSummary, Caps, DeviceError, DeviceOptions};

mod loss;
mod profiling;
mod submit;

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
        loss::install_handlers(&device, &shared, &commands);
        let period = if caps.timestamps {
            queue.get_timestamp_period()
        } else {
            1.0
        };
        #[cfg(not(target_arch = "wasm32"))]
        if let Err(error) = crate::poller::start(
            &device,
            &shared,
            &commands,
            Patience::of(&adapter, &options),
        ) {
            shared.fail(error);
        }
        Self {
            inner: Arc::new(Inner {
                views: crate::view::Views::default(),
                checked: crate::software::is_checked(&device),
                profiler: Arc::new(Profiler::new(
                    &adapter,
                    caps.timestamps,
                    options.profile,
                    period,
                )),
                #[cfg(not(target_arch = "wasm32"))]
                driver: crate::drive::Driver::new(
                    device.clone(),
                    shared.clone(),
                    Patience::of(&adapter, &options),
                ),
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
    #[inline]
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

    /// What shaders printed by `debug_print(value);` on the software device in dispatches submitted since the last call.
    /// What kernels print on other devices, and on ones with `debug_kernels`, the pipeline layer has.
    #[cfg(all(feature = "software", not(target_arch = "wasm32")))]
    #[must_use]
    pub fn take_debug_prints(&self) -> ziggurat_software::DebugPrints {
        ziggurat_software::take_debug_prints(&self.inner.device).unwrap_or_default()
    }

    /// Whether kernels run under a sanitizer of the software device.
    #[must_use]
    #[inline]
    pub fn is_checked(&self) -> bool {
        cfg!(not(target_arch = "wasm32")) && self.inner.checked
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

    /// Says that a shader module's text is the library's own, so that a sanitizer does not report what it finds there as the
    /// program's mistake. Only the software device listens.
    pub fn mark_own(&self, module: &wgpu::ShaderModule) {
        crate::software::mark_own(module);
    }

    /// Records work: `f` is called at once, under the queue's lock, and must neither block nor
    /// record. The batch is submitted when it has reached
    /// [`submit_after`](DeviceOptions::submit_after) commands, that of an idle device earlier. On native this waits while
    /// [`max_in_flight`](DeviceOptions::max_in_flight) submissions are unfinished.
    ///
    /// # Errors
    /// The device's failure, also one that this very work caused; [`DeviceError::Reentrant`].
    #[inline]
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
        locked.batch().begin();
        let full = inner.is_full(locked.batch(), compiling);
        let mut aftermath = None;
        if full && !compiling && inner.has_room() {
            aftermath = Some(locked.submit_full(&inner.submitter()));
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
}
