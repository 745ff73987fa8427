//! Futures that say when recorded work is done.
//!
//! Submissions are numbered in order and complete in order, so that "work up to number n" is one
//! comparison. A [`Completion`] knows nothing of executors: it registers a waker, and the
//! device's completion thread (or the browser's event loop) wakes it.

use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use crate::{Device, DeviceError};

/// The result of a future that is ready at its first poll: `None`, and the future dropped, if it is not.
pub fn now_or_never<F: Future>(future: F) -> Option<F::Output> {
    let mut context = Context::from_waker(Waker::noop());
    match pin!(future).poll(&mut context) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

/// The number of a batch of work. Later batches have larger numbers; 0 stands for no work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Submission(pub(crate) u64);

impl Submission {
    /// The number itself.
    #[must_use]
    pub const fn number(self) -> u64 {
        self.0
    }
}

/// Resolves when all work up to a [`Submission`] is done, or with the error of a device that
/// failed. The first poll submits that work if nobody has yet. Dropping it cancels nothing.
#[must_use = "a completion does nothing unless awaited (dropping it is fine: `let _ = …`)"]
#[derive(Debug)]
pub struct Completion {
    device: Device,
    target: u64,
    key: Option<u64>,
}

impl Completion {
    pub(crate) const fn new(device: Device, submission: Submission) -> Self {
        Self {
            device,
            target: submission.0,
            key: None,
        }
    }

    /// The work this waits for.
    #[must_use]
    pub const fn submission(&self) -> Submission {
        Submission(self.target)
    }

    /// Submits the work if that has not happened, and never waits for more than was submitted.
    fn submit(&mut self) -> Result<(), DeviceError> {
        self.device.status()?;
        if self.key.is_none() && self.target > self.device.submitted() {
            let submitted = self.device.submit_now()?;
            // A number taken while nothing was recorded afterwards: all earlier work counts.
            self.target = self.target.min(submitted.0);
        }
        Ok(())
    }

    /// Blocks this thread until the work is done. Must not be called from a wgpu callback.
    ///
    /// # Errors
    /// The device's error if it is lost or poisoned.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn wait(mut self) -> Result<(), DeviceError> {
        self.submit()?;
        let shared = self.device.shared();
        let _span = self.device.span(crate::Stage::Wait);
        self.device.drive_until(|| shared.is_over(self.target));
        shared.wait(self.target)
    }
}

impl Future for Completion {
    type Output = Result<(), DeviceError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        if let Err(error) = this.submit() {
            return Poll::Ready(Err(error));
        }
        let mut state = this.device.shared().state.lock();
        if let Some(error) = state.failure.clone() {
            drop(state);
            return Poll::Ready(Err(this.device.status().err().unwrap_or(error)));
        }
        if state.completed >= this.target {
            return Poll::Ready(Ok(()));
        }
        let key = state.register(this.target, this.key, context.waker());
        drop(state);
        this.key = Some(key);
        Poll::Pending
    }
}

impl Drop for Completion {
    fn drop(&mut self) {
        if let Some(key) = self.key {
            let waker = self.device.shared().state.lock().forget(self.target, key);
            drop(waker);
        }
    }
}

/// A future that may be polled again after its result: it then resolves with the error that `again` makes, where an `async`
/// block would panic.
///
/// ```
/// # #[cfg(not(target_arch = "wasm32"))] {
/// use ziggurat_device::{block_on, once};
///
/// let mut seven = once(async { Ok(7) }, || "it was given already");
/// assert_eq!(block_on(&mut seven), Ok(7));
/// assert_eq!(block_on(&mut seven), Err("it was given already"));
/// # }
/// ```
pub fn once<T, E, F>(
    future: F,
    again: fn() -> E,
) -> impl Future<Output = Result<T, E>> + Unpin + use<T, E, F>
where
    F: Future<Output = Result<T, E>>,
{
    let mut future = Some(Box::pin(future));
    std::future::poll_fn(move |context| match &mut future {
        None => Poll::Ready(Err(again())),
        Some(running) => {
            let result = std::task::ready!(running.as_mut().poll(context));
            future = None;
            Poll::Ready(result)
        }
    })
}

/// Resolves with the error of a device once it is lost or poisoned, and never before. For futures
/// that wait for a callback which a lost device may never run.
#[must_use = "futures do nothing unless awaited"]
#[derive(Debug)]
pub struct Failure {
    device: Device,
    key: Option<u64>,
}

impl Failure {
    pub(crate) const fn new(device: Device) -> Self {
        Self { device, key: None }
    }
}

impl Future for Failure {
    type Output = DeviceError;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let mut state = this.device.shared().state.lock();
        if let Some(error) = state.failure.clone() {
            drop(state);
            return Poll::Ready(this.device.status().err().unwrap_or(error));
        }
        let key = state.register(u64::MAX, this.key, context.waker());
        drop(state);
        this.key = Some(key);
        Poll::Pending
    }
}

impl Drop for Failure {
    fn drop(&mut self) {
        if let Some(key) = self.key {
            let waker = self.device.shared().state.lock().forget(u64::MAX, key);
            drop(waker);
        }
    }
}

/// While one lives, the device keeps running wgpu's callbacks even with no submission in flight.
/// Hold one from before `map_async` until its callback has run.
#[must_use = "callbacks are only driven while the guard lives"]
#[derive(Debug)]
pub struct CallbackGuard {
    device: Device,
}

impl CallbackGuard {
    pub(crate) fn new(device: Device) -> Self {
        device.shared().guard();
        Self { device }
    }

    /// Says that a callback has just been registered, so that it is served without delay. Not
    /// needed for correctness.
    pub fn registered(&self) {
        self.device.shared().nudge();
    }
}

impl Drop for CallbackGuard {
    fn drop(&mut self) {
        self.device.shared().unguard();
    }
}
