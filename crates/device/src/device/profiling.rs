//! Profiles of a device: time per kernel, and of the host's stages.

use std::future::Future;
use std::pin::pin;
use std::task::Poll;

use super::Device;
use crate::DeviceError;
use crate::completion::once;
use crate::profile::{Profile, Stage, StageSpan};
use crate::timestamps::{KernelTime, Profiler};

impl Device {
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
        self.when_timed(Profiler::take)
    }

    /// Submits what has been recorded and resolves with the times in nanoseconds, from an arbitrary beginning, at which
    /// the GPU came to each [`Recorder::mark_time`](crate::Recorder::mark_time) since the last call, earliest first.
    /// Their differences are the time of whole batches: no dispatch gets a pass of its own.
    ///
    /// # Errors
    /// The device's failure.
    pub fn take_marks(
        &self,
    ) -> impl Future<Output = Result<Vec<u64>, DeviceError>> + Send + Unpin + use<> {
        self.when_timed(Profiler::take_marks)
    }

    /// What `take` finds once all timestamps recorded so far were read.
    fn when_timed<T: Send + 'static>(
        &self,
        take: fn(&Profiler) -> T,
    ) -> impl Future<Output = Result<T, DeviceError>> + Send + Unpin + use<T> {
        let device = self.clone();
        let submitted = self.submit_now();
        once(
            async move {
                let submission = submitted?;
                let read = device.inner.profiler.when_read(submission);
                let mut read = pin!(read);
                let mut failure = pin!(device.failure());
                std::future::poll_fn(|context| match read.as_mut().poll(context) {
                    Poll::Ready(()) => Poll::Ready(Ok(take(&device.inner.profiler))),
                    Poll::Pending => failure.as_mut().poll(context).map(Err),
                })
                .await
            },
            || DeviceError::Finished,
        )
    }

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
