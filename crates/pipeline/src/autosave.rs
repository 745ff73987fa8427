//! Saves soon after changes, on a thread of its own: after a quiet period, or at once when many changes have piled up.
//!
//! A process that is killed runs no destructor, so a cache that is only written at the end may never be written.
//! The thread exists only while there is something to save. Invariants: every change is followed by a save that
//! starts after it, unless the owner goes first; after the drop no save runs.

use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

#[derive(Debug)]
struct State {
    unsaved: u32,
    last: Instant,
    running: bool,
    stop: bool,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    quiet: Duration,
    count: u32,
    save: Box<dyn Fn() + Send + Sync>,
}

impl Shared {
    fn run(&self) {
        let mut state = self.state.lock();
        while state.unsaved > 0 && !state.stop {
            let due = state.last + self.quiet;
            if state.unsaved < self.count && Instant::now() < due {
                self.changed.wait_until(&mut state, due);
                continue;
            }
            state.unsaved = 0;
            drop(state);
            (self.save)();
            state = self.state.lock();
        }
        state.running = false;
    }
}

/// See the module.
pub(crate) struct Autosave {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Autosave {
    /// Calls `save` once no change came for `quiet`, or after `count` changes.
    pub(crate) fn new(
        quiet: Duration,
        count: u32,
        save: impl Fn() + Send + Sync + 'static,
    ) -> Self {
        let shared = Shared {
            state: Mutex::new(State {
                unsaved: 0,
                last: Instant::now(),
                running: false,
                stop: false,
            }),
            changed: Condvar::new(),
            quiet,
            count,
            save: Box::new(save),
        };
        Self {
            shared: Arc::new(shared),
            thread: Mutex::new(None),
        }
    }

    /// Says that there is something new to save.
    pub(crate) fn changed(&self) {
        let mut state = self.shared.state.lock();
        state.unsaved = state.unsaved.saturating_add(1);
        state.last = Instant::now();
        if state.running {
            if state.unsaved >= self.shared.count {
                self.shared.changed.notify_all();
            }
            return;
        }
        let shared = Arc::clone(&self.shared);
        let spawned = Builder::new()
            .name("ziggurat cache".to_owned())
            .spawn(move || shared.run());
        // Without a thread the owner's own save at the end has to do.
        state.running = spawned.is_ok();
        drop(state);
        *self.thread.lock() = spawned.ok();
    }
}

impl std::fmt::Debug for Autosave {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Autosave")
            .field("state", &self.shared.state)
            .finish_non_exhaustive()
    }
}

impl Drop for Autosave {
    fn drop(&mut self) {
        self.shared.state.lock().stop = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.lock().take() {
            // A panic in `save` has nothing more to tell.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    fn counting(quiet: Duration, count: u32) -> (Autosave, Arc<AtomicU32>) {
        let saves = Arc::new(AtomicU32::new(0));
        let counter = Arc::clone(&saves);
        let save = move || {
            counter.fetch_add(1, Ordering::SeqCst);
        };
        (Autosave::new(quiet, count, save), saves)
    }

    fn eventually(saves: &AtomicU32, wanted: u32) {
        let deadline = Instant::now() + Duration::from_secs(20);
        while saves.load(Ordering::SeqCst) != wanted {
            assert!(Instant::now() < deadline, "{saves:?} instead of {wanted}");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn a_burst_is_saved_once_after_it_went_quiet() {
        let (autosave, saves) = counting(Duration::from_millis(300), 1000);
        for _ in 0..50 {
            autosave.changed();
        }
        assert_eq!(saves.load(Ordering::SeqCst), 0);
        eventually(&saves, 1);
        autosave.changed();
        eventually(&saves, 2);
    }

    #[test]
    fn many_changes_are_saved_without_waiting_for_quiet() {
        let (autosave, saves) = counting(Duration::from_secs(1000), 10);
        for _ in 0..9 {
            autosave.changed();
        }
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(saves.load(Ordering::SeqCst), 0);
        autosave.changed();
        eventually(&saves, 1);
    }

    #[test]
    fn dropping_stops_the_thread_without_a_save() {
        let (autosave, saves) = counting(Duration::from_secs(1000), 10);
        autosave.changed();
        let started = Instant::now();
        drop(autosave);
        assert!(started.elapsed() < Duration::from_secs(10));
        assert_eq!(saves.load(Ordering::SeqCst), 0);
        assert_eq!(Arc::strong_count(&saves), 1, "the thread is gone");
    }
}
