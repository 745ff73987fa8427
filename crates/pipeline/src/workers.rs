//! Threads that compile kernels while their caller goes on recording.
//!
//! Threads exist only while there is something to do and for a moment after it. Invariants: every job that was given
//! is run once, on the caller's thread if no other can be had; a job that panics takes no other with it; after
//! [`Workers::finish`] no job is waiting or running, and no thread does anything.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// More threads than this gain nothing: drivers serialise part of the work.
pub(crate) const MAX_WORKERS: usize = 8;

/// How long a thread without a job stays: the next new kernel of a program's first pass comes sooner.
const LINGER: Duration = Duration::from_millis(100);

type Job = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    threads: usize,
    sleeping: usize,
    running: usize,
    ending: bool,
    handles: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// There is a job, or none will come.
    wake: Condvar,
    /// A job is done.
    done: Condvar,
}

impl Shared {
    fn work(&self) {
        let mut state = self.state.lock();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                state.running += 1;
                drop(state);
                // Whoever waits for the job learns of its end by what the job itself dropped.
                let _ = catch_unwind(AssertUnwindSafe(job));
                state = self.state.lock();
                state.running -= 1;
                self.done.notify_all();
                continue;
            }
            if state.ending {
                break;
            }
            state.sleeping += 1;
            let slept = self.wake.wait_for(&mut state, LINGER);
            state.sleeping -= 1;
            if slept.timed_out() && state.jobs.is_empty() && !state.ending {
                // Nobody may come to join it: it lets go of itself, so that its stack goes with it.
                let own = std::thread::current().id();
                state.handles.retain(|handle| handle.thread().id() != own);
                break;
            }
        }
        state.threads -= 1;
    }
}

/// See the module.
#[derive(Default)]
pub(crate) struct Workers {
    shared: Arc<Shared>,
}

impl std::fmt::Debug for Workers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = self.shared.state.lock();
        f.debug_struct("Workers")
            .field("threads", &state.threads)
            .field("waiting", &state.jobs.len())
            .finish_non_exhaustive()
    }
}

impl Workers {
    /// Has a job done soon, by another thread if there can be one.
    pub(crate) fn run(&self, job: impl FnOnce() + Send + 'static) {
        let most = ziggurat_core::processors().min(MAX_WORKERS);
        let mut state = self.shared.state.lock();
        state.jobs.push_back(Box::new(job));
        if state.jobs.len() > state.sleeping && state.threads < most {
            let shared = Arc::clone(&self.shared);
            let spawned = Builder::new()
                .name("ziggurat compile".to_owned())
                .spawn(move || shared.work());
            match spawned {
                Ok(handle) => {
                    state.threads += 1;
                    state.handles.push(handle);
                }
                Err(_) if state.threads == 0 => {
                    let jobs = std::mem::take(&mut state.jobs);
                    drop(state);
                    jobs.into_iter().for_each(|job| job());
                    return;
                }
                // One of the others will come to it.
                Err(_) => {}
            }
        }
        drop(state);
        self.shared.wake.notify_one();
    }

    /// Waits until all jobs given so far are done.
    pub(crate) fn wait(&self) {
        let mut state = self.shared.state.lock();
        while state.running > 0 || !state.jobs.is_empty() {
            self.shared.done.wait(&mut state);
        }
    }

    /// Has all jobs done and ends the threads.
    pub(crate) fn finish(&self) {
        self.wait();
        let mut state = self.shared.state.lock();
        state.ending = true;
        let handles = std::mem::take(&mut state.handles);
        drop(state);
        self.shared.wake.notify_all();
        for handle in handles {
            // Jobs cannot end a thread by a panic.
            let _ = handle.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn all_jobs_are_done_when_finish_returns_and_a_panic_stops_none() {
        let workers = Workers::default();
        let done = Arc::new(AtomicUsize::new(0));
        for number in 0..50 {
            let done = Arc::clone(&done);
            workers.run(move || {
                done.fetch_add(1, Ordering::SeqCst);
                // No message: the hook that prints one is the process's.
                if number == 10 {
                    std::panic::resume_unwind(Box::new(()));
                }
            });
        }
        workers.finish();
        assert_eq!(done.load(Ordering::SeqCst), 50);
        let state = workers.shared.state.lock();
        assert_eq!((state.threads, state.running), (0, 0));
    }

    #[test]
    fn threads_go_when_there_is_nothing_to_do_and_come_again() {
        let workers = Workers::default();
        let done = Arc::new(AtomicUsize::new(0));
        for round in 1..=2 {
            let counted = Arc::clone(&done);
            workers.run(move || {
                counted.fetch_add(1, Ordering::SeqCst);
            });
            workers.wait();
            assert_eq!(done.load(Ordering::SeqCst), round);
            while workers.shared.state.lock().threads > 0 {
                std::thread::sleep(LINGER);
            }
            assert!(workers.shared.state.lock().handles.is_empty());
        }
        workers.finish();
    }
}
