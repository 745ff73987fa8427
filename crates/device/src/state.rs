//! What a device shares with its callbacks and its completion thread: failure, progress, waiters.
//!
//! One small lock that is never held while calling into wgpu, a hook or a waker. wgpu's callbacks
//! may run inside `submit` on a thread that holds the command queue's lock, so they only move
//! wakers to `ready`; a completion thread wakes them afterwards (in a browser, where callbacks
//! come from the event loop, they are woken at once). A blocked thread that polls for itself wakes
//! nobody but itself: a waker is foreign code, which may take long or panic.
//!
//! Invariants: `completed` only grows; a waker is in `wakers` only while its submission is
//! neither complete nor failed; the first failure is kept.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::Waker;

use parking_lot::{Condvar, Mutex};

use crate::DeviceError;

#[derive(Debug, Default)]
pub(crate) struct Shared {
    failed: AtomicBool,
    /// The length of `in_flight`, to be read without the lock.
    flying: AtomicUsize,
    pub(crate) state: Mutex<State>,
    /// Tells the completion thread that there is something to do.
    pub(crate) work: Condvar,
    /// Tells a completion thread that it may take over.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) standby: Condvar,
    /// Tells blocked threads that a submission completed or the device failed.
    pub(crate) progress: Condvar,
}

/// See [`Shared::complain`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Doubt {
    #[default]
    None,
    /// wgpu was not asked yet.
    New,
    #[cfg(not(target_arch = "wasm32"))]
    Asked,
}

#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) failure: Option<DeviceError>,
    /// Whether the failure may be the consequence of a loss that wgpu has not told yet.
    doubt: Doubt,
    pub(crate) completed: u64,
    pub(crate) in_flight: VecDeque<(u64, wgpu::SubmissionIndex)>,
    pub(crate) max_in_flight_seen: usize,
    wakers: BTreeMap<(u64, u64), Waker>,
    next_key: u64,
    pub(crate) ready: Vec<Waker>,
    pub(crate) guards: usize,
    /// Threads that poll for themselves.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) drivers: usize,
    /// A callback was announced: poll without delay.
    pub(crate) nudged: bool,
    /// The open batch must be thrown away because the device failed.
    pub(crate) discard: bool,
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) shutdown: bool,
    /// The completion thread that polls now.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) poller: Option<std::thread::ThreadId>,
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) crew: crate::poller::Crew,
}

impl State {
    /// Registers `waker` for submission `id`, replacing the one registered under `key`.
    pub(crate) fn register(&mut self, id: u64, key: Option<u64>, waker: &Waker) -> u64 {
        let key = key.unwrap_or_else(|| {
            self.next_key += 1;
            self.next_key
        });
        match self.wakers.get_mut(&(id, key)) {
            Some(old) => old.clone_from(waker),
            None => {
                self.wakers.insert((id, key), waker.clone());
            }
        }
        key
    }

    /// Whether some thread polls for itself, so that the completion thread may sleep on.
    #[cfg(not(target_arch = "wasm32"))]
    const fn is_driven(&self) -> bool {
        self.drivers > 0
    }

    #[cfg(target_arch = "wasm32")]
    #[allow(clippy::unused_self, reason = "the same signature as on native")]
    const fn is_driven(&self) -> bool {
        false
    }

    /// Whether there is something that a completion thread does before it polls again, or leaves to others.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn is_busy(&self) -> bool {
        !self.ready.is_empty() || self.discard || self.shutdown || self.drivers > 0
    }

    /// Whether this thread polls for itself: it then looks at `ready` itself after the callbacks.
    #[cfg(not(target_arch = "wasm32"))]
    fn is_passed_on(&self) -> bool {
        self.drivers > 0 && crate::drive::is_driving()
    }

    #[cfg(target_arch = "wasm32")]
    #[allow(clippy::unused_self, reason = "the same signature as on native")]
    const fn is_passed_on(&self) -> bool {
        false
    }

    pub(crate) fn forget(&mut self, id: u64, key: u64) -> Option<Waker> {
        self.wakers.remove(&(id, key))
    }

    #[cfg(test)]
    pub(crate) fn waiting(&self) -> usize {
        self.wakers.len()
    }
}

impl Shared {
    /// The failure, if there is one. Cheap while there is none.
    pub(crate) fn status(&self) -> Result<(), DeviceError> {
        if !self.failed.load(Ordering::Acquire) {
            return Ok(());
        }
        match &self.state.lock().failure {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }

    #[inline]
    pub(crate) fn is_failed(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }

    /// Records an error of wgpu that nobody caught. What is made on a lost device is invalid, and wgpu may complain of it
    /// before it tells of the loss: the loss then takes the place of the complaint.
    pub(crate) fn complain(&self, error: &wgpu::Error) {
        match error {
            wgpu::Error::OutOfMemory { .. } => self.fail(DeviceError::OutOfMemory {
                message: error.to_string(),
            }),
            _ => self.complain_of(error.to_string()),
        }
    }

    /// Records an error of wgpu in words.
    pub(crate) fn complain_of(&self, message: String) {
        let signs = ["is invalid", "has been destroyed", "is lost"];
        let doubtful = signs.iter().any(|sign| message.contains(sign));
        let error = DeviceError::Poisoned { message };
        self.fail(error.clone());
        let mut state = self.state.lock();
        if doubtful && state.failure.as_ref() == Some(&error) {
            state.doubt = Doubt::New;
        }
    }

    /// Whether wgpu should be asked for a loss that explains the failure; says so once.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn take_doubt(&self) -> bool {
        let mut state = self.state.lock();
        let new = state.doubt == Doubt::New;
        if new {
            state.doubt = Doubt::Asked;
        }
        new
    }

    /// Records that wgpu told of a loss.
    pub(crate) fn lose(&self, error: DeviceError) {
        let mut state = self.state.lock();
        if state.doubt != Doubt::None {
            state.doubt = Doubt::None;
            state.failure = None;
        }
        drop(state);
        self.fail(error);
    }

    /// Records the first failure and releases everybody who waits.
    pub(crate) fn fail(&self, error: DeviceError) {
        let lost = matches!(error, DeviceError::Lost { .. });
        let mut state = self.state.lock();
        if state.failure.is_none() {
            state.failure = Some(error);
            state.discard = true;
        }
        if lost {
            // Nothing on a lost device will report completion.
            state.in_flight.clear();
            self.flying.store(0, Ordering::Release);
        }
        let wakers = std::mem::take(&mut state.wakers);
        state.ready.extend(wakers.into_values());
        self.failed.store(true, Ordering::Release);
        drop(state);
        self.announce();
    }

    /// Submission `id` was handed to the driver. Called after its completion callback is set,
    /// which may have run already.
    pub(crate) fn submitted(&self, id: u64, index: wgpu::SubmissionIndex) {
        let mut state = self.state.lock();
        let lost = matches!(state.failure, Some(DeviceError::Lost { .. }));
        if state.completed < id && !lost {
            state.in_flight.push_back((id, index));
            state.max_in_flight_seen = state.max_in_flight_seen.max(state.in_flight.len());
            self.flying.store(state.in_flight.len(), Ordering::Release);
        }
        let driven = state.is_driven();
        drop(state);
        if !driven {
            self.work.notify_all();
        }
    }

    /// The GPU finished submission `id` and all before it.
    pub(crate) fn complete(&self, id: u64) {
        let mut state = self.state.lock();
        state.completed = state.completed.max(id);
        while state
            .in_flight
            .front()
            .is_some_and(|(first, _)| *first <= id)
        {
            state.in_flight.pop_front();
        }
        self.flying.store(state.in_flight.len(), Ordering::Release);
        let later = state.wakers.split_off(&(id.saturating_add(1), 0));
        let done = std::mem::replace(&mut state.wakers, later);
        state.ready.extend(done.into_values());
        let passed_on = state.is_passed_on();
        drop(state);
        self.progress.notify_all();
        if !passed_on {
            self.work.notify_all();
        }
        #[cfg(target_arch = "wasm32")]
        self.wake_ready();
    }

    fn announce(&self) {
        self.progress.notify_all();
        self.work.notify_all();
        #[cfg(target_arch = "wasm32")]
        self.wake_ready();
    }

    /// Wakes a task soon, outside of wgpu's callbacks and all locks.
    pub(crate) fn wake_soon(&self, waker: Waker) {
        let mut state = self.state.lock();
        state.ready.push(waker);
        let passed_on = state.is_passed_on();
        drop(state);
        if !passed_on {
            self.work.notify_all();
        }
        #[cfg(target_arch = "wasm32")]
        self.wake_ready();
    }

    /// Wakes the tasks whose work is done. The state is not locked meanwhile.
    #[cfg(any(target_arch = "wasm32", test))]
    pub(crate) fn wake_ready(&self) {
        let ready = std::mem::take(&mut self.state.lock().ready);
        for waker in ready {
            waker.wake();
        }
    }

    /// Wakes `own`, if its work is done, and leaves all others to the completion thread.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn wake_own(&self, own: Option<&Waker>) {
        let mut state = self.state.lock();
        if state.ready.is_empty() {
            return;
        }
        let before = state.ready.len();
        if let Some(own) = own {
            state.ready.retain(|waker| !waker.will_wake(own));
        }
        let (mine, others) = (before - state.ready.len(), !state.ready.is_empty());
        drop(state);
        if let (1.., Some(own)) = (mine, own) {
            own.wake_by_ref();
        }
        if others {
            self.work.notify_all();
        }
    }

    #[inline]
    pub(crate) fn in_flight(&self) -> usize {
        self.flying.load(Ordering::Acquire)
    }

    pub(crate) fn guard(&self) {
        let mut state = self.state.lock();
        state.guards += 1;
        let driven = state.is_driven();
        drop(state);
        if !driven {
            self.work.notify_all();
        }
    }

    pub(crate) fn nudge(&self) {
        let mut state = self.state.lock();
        state.nudged = true;
        let driven = state.is_driven();
        drop(state);
        if !driven {
            self.work.notify_all();
        }
    }

    pub(crate) fn unguard(&self) {
        let mut state = self.state.lock();
        state.guards = state.guards.saturating_sub(1);
    }
}

#[cfg(not(target_arch = "wasm32"))]
impl Shared {
    pub(crate) fn on_poller(state: &State) -> bool {
        state.poller == Some(std::thread::current().id())
    }

    /// Waits until fewer than `max` submissions are in flight or the device failed. The completion
    /// thread itself never waits: it is the one that makes room.
    pub(crate) fn wait_for_room(&self, max: usize) {
        if self.in_flight() < max {
            return;
        }
        let mut state = self.state.lock();
        if Self::on_poller(&state) {
            return;
        }
        while state.in_flight.len() >= max && state.failure.is_none() {
            self.progress.wait(&mut state);
        }
    }

    /// Whether waiting for submission `id` is over.
    pub(crate) fn is_over(&self, id: u64) -> bool {
        let state = self.state.lock();
        state.completed >= id || state.failure.is_some()
    }

    /// Waits until submission `id` completed or the device failed.
    pub(crate) fn wait(&self, id: u64) -> Result<(), DeviceError> {
        let mut state = self.state.lock();
        loop {
            if let Some(error) = &state.failure {
                return Err(error.clone());
            }
            if state.completed >= id {
                return Ok(());
            }
            self.progress.wait(&mut state);
        }
    }
}

#[cfg(test)]
mod tests;
