//! The completion thread: one per device, asleep while nothing is pending; native only.
//!
//! wgpu runs callbacks only while somebody polls. This thread does, so that any executor can
//! await a future of ours. It waits for the *oldest* submission in flight, which makes callbacks
//! prompt when several are queued. It waits without a timeout: where a wait times out while another
//! thread submits, wgpu-core 30 can find its queue empty before the fence value it has read, and
//! panics (`Device::maintain`), which drops callbacks. The price is that an explicit `destroy` of a
//! buffer waits for that submission, because wgpu holds a lock meanwhile. With no submission in
//! flight but a [`CallbackGuard`] alive it polls at growing intervals: a `map_async` registered
//! after the GPU finished is served too. It sleeps while a blocked thread polls for itself (see [`drive`]).
//!
//! It holds no `Device`, so a device can be dropped; dropping joins the thread.
//!
//! [`CallbackGuard`]: crate::CallbackGuard
//! [`drive`]: crate::drive

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use crate::DeviceError;
use crate::drive::poll;
use crate::queue::CommandQueue;
use crate::state::Shared;

const FIRST_PAUSE: Duration = Duration::from_micros(50);
const LAST_PAUSE: Duration = Duration::from_millis(2);

enum Step {
    Wake,
    Discard,
    Poll(wgpu::PollType),
    Stop,
}

/// Starts the thread for `device`.
pub(crate) fn start(
    device: wgpu::Device,
    shared: Arc<Shared>,
    queue: Arc<CommandQueue>,
) -> Result<JoinHandle<()>, DeviceError> {
    std::thread::Builder::new()
        .name("ziggurat-poll".to_owned())
        .spawn(move || run(&device, &shared, &queue))
        .map_err(|error| DeviceError::Thread {
            reason: error.to_string(),
        })
}

fn run(device: &wgpu::Device, shared: &Shared, queue: &CommandQueue) {
    shared.state.lock().poller = Some(std::thread::current().id());
    let mut pause = FIRST_PAUSE;
    let mut dead = false;
    loop {
        match next(shared, &mut pause, dead) {
            // A waker is foreign code: its panic must not end the thread that everybody needs.
            Step::Wake => {
                let _ = catch_unwind(AssertUnwindSafe(|| shared.wake_ready()));
            }
            Step::Discard => queue.discard(),
            Step::Poll(how) => {
                if !dead && !poll(device, shared, how) {
                    // wgpu gave up on a lost device.
                    dead = true;
                }
            }
            Step::Stop => return,
        }
    }
}

fn next(shared: &Shared, pause: &mut Duration, dead: bool) -> Step {
    let mut state = shared.state.lock();
    let mut paused = false;
    loop {
        if !state.ready.is_empty() {
            return Step::Wake;
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
        if let Some((_, index)) = state.in_flight.front() {
            return Step::Poll(wgpu::PollType::Wait {
                submission_index: Some(index.clone()),
                timeout: None,
            });
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
