//! The completion threads: one per device polls, asleep while nothing is pending; native only.
//!
//! wgpu runs callbacks only while somebody polls. This thread does, so that any executor can
//! await a future of ours. It waits for the *oldest* submission in flight, which makes callbacks
//! prompt when several are queued (or asks again and again, see [`patience`](crate::patience)). It waits without a timeout: where a wait times out while another
//! thread submits, wgpu-core 30 can find its queue empty before the fence value it has read, and
//! panics (`Device::maintain`), which drops callbacks. The price is that an explicit `destroy` of a
//! buffer waits for that submission, because wgpu holds a lock meanwhile. With no submission in
//! flight but a [`CallbackGuard`] alive it polls at growing intervals: a `map_async` registered
//! after the GPU finished is served too. It sleeps while a blocked thread polls for itself (see [`drive`]).
//!
//! Wakers are foreign code: one may take long, wait for this very device, or panic. So before a completion thread calls
//! wakers it hands the polling over to another one, which is started when it is first needed; at most
//! [`MOST_THREADS`] wakers can take their time at once before the rest has to wait for them. A panic of a waker is caught.
//!
//! The threads hold no `Device`, so a device can be dropped; dropping joins those that are not busy with a waker.
//!
//! Invariants: at most one of the threads polls, `State::poller`; whoever calls a waker holds no lock, and if there is
//! another thread does not poll.
//!
//! [`CallbackGuard`]: crate::CallbackGuard
//! [`drive`]: crate::drive

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Waker;
use std::thread::{JoinHandle, ThreadId};
use std::time::{Duration, Instant};

use crate::DeviceError;
use crate::drive::poll;
use crate::patience::{Next, Patience};
use crate::queue::CommandQueue;
use crate::state::Shared;

const FIRST_PAUSE: Duration = Duration::from_micros(50);
const LAST_PAUSE: Duration = Duration::from_millis(2);

/// Completion threads of one device at most.
const MOST_THREADS: usize = 16;

/// The completion threads of a device.
#[derive(Debug, Default)]
pub(crate) struct Crew {
    threads: Vec<JoinHandle<()>>,
    /// How many wait to take over.
    standby: usize,
    /// Those that are busy with wakers.
    waking: Vec<ThreadId>,
}

enum Step {
    Wake(Vec<Waker>),
    Discard,
    Poll(wgpu::PollType),
    Stop,
}

/// What the threads share.
#[derive(Clone)]
struct Poller {
    device: wgpu::Device,
    shared: Arc<Shared>,
    queue: Arc<CommandQueue>,
    /// wgpu gave up on a lost device.
    dead: Arc<AtomicBool>,
    patience: Patience,
}

/// Starts the first thread for `device`.
pub(crate) fn start(
    device: &wgpu::Device,
    shared: &Arc<Shared>,
    queue: &Arc<CommandQueue>,
    patience: Patience,
) -> Result<(), DeviceError> {
    let poller = Poller {
        device: device.clone(),
        shared: shared.clone(),
        queue: queue.clone(),
        dead: Arc::default(),
        patience,
    };
    poller
        .spawn(&mut shared.state.lock().crew)
        .map_err(|error| DeviceError::Thread {
            reason: error.to_string(),
        })
}

/// Ends the threads once all that is ready has been woken. Those that are busy with a waker end after it.
pub(crate) fn stop(shared: &Shared) {
    let mut state = shared.state.lock();
    state.shutdown = true;
    let busy = std::mem::take(&mut state.crew.waking);
    let threads = std::mem::take(&mut state.crew.threads);
    drop(state);
    shared.work.notify_all();
    shared.standby.notify_all();
    let me = std::thread::current().id();
    for thread in threads {
        let id = thread.thread().id();
        if id != me && !busy.contains(&id) {
            // It catches panics itself; there is nothing to learn from the result.
            let _ = thread.join();
        }
    }
}

impl Poller {
    fn spawn(&self, crew: &mut Crew) -> std::io::Result<()> {
        let poller = self.clone();
        let thread = std::thread::Builder::new()
            .name("ziggurat-poll".to_owned())
            .spawn(move || poller.run())?;
        crew.threads.retain(|thread| !thread.is_finished());
        crew.threads.push(thread);
        Ok(())
    }

    fn run(&self) {
        let mut waiting = Waiting {
            pause: FIRST_PAUSE,
            since: (0, Instant::now()),
            patience: self.patience,
        };
        while self.take_over() {
            let wakers = loop {
                match waiting.next(&self.shared, self.dead.load(Ordering::Relaxed)) {
                    Step::Wake(wakers) => break wakers,
                    Step::Discard => self.queue.discard(),
                    Step::Poll(how) => {
                        if !poll(&self.device, &self.shared, how) {
                            self.dead.store(true, Ordering::Relaxed);
                        }
                    }
                    Step::Stop => {
                        self.shared.state.lock().poller = None;
                        return;
                    }
                }
            };
            self.hand_over();
            for waker in wakers {
                // Foreign code: its panic must not end the thread, nor the wakers after it.
                let _ = catch_unwind(AssertUnwindSafe(|| waker.wake()));
            }
            let me = std::thread::current().id();
            let mut state = self.shared.state.lock();
            state.crew.waking.retain(|thread| *thread != me);
        }
    }

    /// Waits until no other thread polls; false if this one is not needed any more.
    fn take_over(&self) -> bool {
        let me = std::thread::current().id();
        let mut state = self.shared.state.lock();
        while state.poller.is_some_and(|poller| poller != me) {
            if state.shutdown || state.crew.standby > 0 {
                return false;
            }
            state.crew.standby += 1;
            self.shared.standby.wait(&mut state);
            state.crew.standby -= 1;
        }
        state.poller = Some(me);
        true
    }

    /// Lets another thread poll, if there can be one.
    fn hand_over(&self) {
        let mut state = self.shared.state.lock();
        if state.crew.standby == 0 {
            let crew = &mut state.crew;
            crew.threads.retain(|thread| !thread.is_finished());
            let is_full = crew.threads.len() >= MOST_THREADS;
            // During a shutdown nobody would join a new one.
            if state.shutdown || is_full || self.spawn(&mut state.crew).is_err() {
                return;
            }
        }
        state.poller = None;
        drop(state);
        self.shared.standby.notify_one();
    }
}

/// How long the thread that polls has waited.
struct Waiting {
    /// Before it looks again for callbacks without a submission.
    pause: Duration,
    /// For which submission, from when on.
    since: (u64, Instant),
    patience: Patience,
}

impl Waiting {
    fn next(&mut self, shared: &Shared, dead: bool) -> Step {
        let pause = &mut self.pause;
        let mut napped = false;
        let mut state = shared.state.lock();
        let mut paused = false;
        loop {
            if !state.ready.is_empty() {
                // From now on nobody waits for this thread.
                state.crew.waking.push(std::thread::current().id());
                return Step::Wake(std::mem::take(&mut state.ready));
            }
            if std::mem::take(&mut state.discard) {
                return Step::Discard;
            }
            if state.shutdown {
                return Step::Stop;
            }
            // Another thread polls: it wakes this one when it stops.
            if dead || state.drivers > 0 {
                shared.work.wait(&mut state);
                continue;
            }
            if let Some((number, index)) = state.in_flight.front() {
                if self.since.0 != *number {
                    self.since = (*number, Instant::now());
                }
                let nap = match self.patience.asleep(self.since.1.elapsed()) {
                    Next::Nap(nap) => nap,
                    Next::Ask | Next::Driver => {
                        return Step::Poll(wgpu::PollType::Wait {
                            submission_index: Some(index.clone()),
                            timeout: None,
                        });
                    }
                };
                if napped {
                    return Step::Poll(wgpu::PollType::Poll);
                }
                // Submissions that come meanwhile wake it, and change nothing.
                let end = Instant::now() + nap;
                while !napped && !state.is_busy() {
                    napped = shared.work.wait_until(&mut state, end).timed_out();
                }
                continue;
            }
            if state.guards == 0 {
                *pause = FIRST_PAUSE;
                shared.work.wait(&mut state);
                continue;
            }
            if std::mem::take(&mut state.nudged) {
                *pause = FIRST_PAUSE;
                return Step::Poll(wgpu::PollType::Poll);
            }
            if paused {
                *pause = (*pause * 2).min(LAST_PAUSE);
                return Step::Poll(wgpu::PollType::Poll);
            }
            paused = shared.work.wait_for(&mut state, *pause).timed_out();
        }
    }
}
