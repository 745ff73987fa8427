//! Threads that wait may poll for themselves; native only.
//!
//! Waiting through the completion thread costs two changes of threads: the driver wakes that thread, which wakes
//! the one that waits. A blocked thread has nothing better to do, so it polls wgpu itself: at first without
//! sleeping, for as long as a small piece of work takes, then asleep, as [`patience`](crate::patience) says. While it does, the completion
//! thread keeps out of the way.
//!
//! Only waits without a timeout and polls without a wait are used, for the reason given in [`poller`](crate::poller);
//! with these, any number of threads may poll at once. The completion thread itself never drives: it would wait for
//! itself.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::Waker;
use std::time::Instant;

use crate::patience::{Next, Patience};
use crate::state::Shared;
use crate::{DeviceError, LostReason};

/// Polls wgpu on behalf of a device.
#[derive(Clone, Debug)]
pub(crate) struct Driver {
    device: wgpu::Device,
    shared: Arc<Shared>,
    patience: Patience,
}

thread_local! {
    /// How many devices this thread drives: a wait may begin within another device's callback.
    static DRIVING: Cell<usize> = const { Cell::new(0) };
}

/// Whether this thread polls for itself.
pub(crate) fn is_driving() -> bool {
    DRIVING.get() > 0
}

/// Announces that this thread polls, and wakes the completion thread when it stops.
struct Driving<'a>(&'a Shared);

impl<'a> Driving<'a> {
    /// `None` on the completion thread, and where polling has no future.
    fn start(shared: &'a Shared) -> Option<Self> {
        let mut state = shared.state.lock();
        if state.failure.is_some() || Shared::on_poller(&state) {
            return None;
        }
        state.drivers += 1;
        DRIVING.set(DRIVING.get() + 1);
        Some(Self(shared))
    }
}

impl Drop for Driving<'_> {
    fn drop(&mut self) {
        DRIVING.set(DRIVING.get().saturating_sub(1));
        let mut state = self.0.state.lock();
        state.drivers = state.drivers.saturating_sub(1);
        let left = state.drivers == 0
            && (state.guards > 0 || !state.in_flight.is_empty() || !state.ready.is_empty());
        drop(state);
        if left {
            self.0.work.notify_all();
        }
    }
}

impl Driver {
    pub(crate) fn new(device: wgpu::Device, shared: Arc<Shared>, patience: Patience) -> Self {
        Self {
            device,
            shared,
            patience,
        }
    }

    /// Polls until `done`, or until there is nothing to be gained from polling: the caller then waits to be woken. Wakes
    /// `own`, the caller's waker, and no other.
    pub(crate) fn until(&self, own: Option<&Waker>, mut done: impl FnMut() -> bool) {
        if done() {
            return;
        }
        let Some(_driving) = Driving::start(&self.shared) else {
            return;
        };
        let started = Instant::now();
        while !done() {
            let oldest = {
                let state = self.shared.state.lock();
                if state.failure.is_some() || (state.in_flight.is_empty() && state.guards == 0) {
                    return;
                }
                state.in_flight.front().map(|(_, index)| index.clone())
            };
            let how = match (self.patience.next(started.elapsed()), oldest) {
                (Next::Ask, _) => wgpu::PollType::Poll,
                // A callback that comes late: the completion thread looks after it.
                (_, None) => return,
                (Next::Nap(nap), Some(_)) => {
                    std::thread::sleep(nap);
                    wgpu::PollType::Poll
                }
                (Next::Driver, Some(index)) => wgpu::PollType::Wait {
                    submission_index: Some(index),
                    timeout: None,
                },
            };
            if !poll(&self.device, &self.shared, how) {
                return;
            }
            self.shared.wake_own(own);
        }
    }
}

/// Polls; false if that panicked, which fails the device unless it has failed already.
pub(crate) fn poll(device: &wgpu::Device, shared: &Shared, how: wgpu::PollType) -> bool {
    let polled = catch_unwind(AssertUnwindSafe(|| device.poll(how)));
    if polled.is_err() && !shared.is_failed() {
        // A callback panicked: what it should have done will never be done.
        shared.fail(DeviceError::Lost {
            reason: LostReason::Unknown,
            message: "polling the device panicked".to_owned(),
        });
        return true;
    }
    polled.is_ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use crate::{Device, DeviceOptions};
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn many_threads_that_record_and_wait_all_get_their_turn() {
        let device = Device::noop(DeviceOptions::default(), None).unwrap();
        let waits = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let buffer = device.wgpu().create_buffer(&wgpu::BufferDescriptor {
                        label: None,
                        size: 64,
                        usage: wgpu::BufferUsages::COPY_DST,
                        mapped_at_creation: false,
                    });
                    for _ in 0..200 {
                        device
                            .record(|recorder| recorder.clear_buffer(&buffer, 0, 64))
                            .unwrap();
                        device.synchronize().wait().unwrap();
                        waits.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(waits.load(Ordering::Relaxed), 1600);
        assert_eq!(device.queue_stats().in_flight, 0);
    }

    #[test]
    fn a_future_that_another_thread_finishes_is_waited_for_without_work_in_flight() {
        let device = Device::noop(DeviceOptions::default(), None).unwrap();
        let (sender, receiver) = futures::channel::oneshot::channel();
        let thread = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(5));
            sender.send(7)
        });
        assert_eq!(device.block_on(receiver), Ok(7));
        assert_eq!(thread.join().unwrap(), Ok(()));
    }
}
