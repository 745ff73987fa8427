//! What the system tells of one file.
//!
//! Its folder is watched, because editors put a new file in the place of the one that is saved. Invariant: after the file was
//! changed there is a call of [`Saves::take`] that says so, however many changes there were.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher};

/// Changes of a file.
pub(super) struct Saves {
    happened: Arc<AtomicBool>,
    /// Watches until it is dropped.
    _watcher: RecommendedWatcher,
}

impl fmt::Debug for Saves {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Saves")
            .field("happened", &self.happened)
            .finish_non_exhaustive()
    }
}

impl Saves {
    /// Begins to watch; `None` where the system cannot, or has no more watches to give.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let path = path.canonicalize().ok()?;
        let (folder, name) = (path.parent()?, path.file_name()?.to_owned());
        let happened = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&happened);
        let told = move |event: notify::Result<Event>| {
            // What went wrong may have been a change.
            let is_about = event.map_or(true, |event| {
                let mut paths = event.paths.iter();
                event.need_rescan()
                    || !event.kind.is_access()
                        && paths.any(|path| path.file_name() == Some(name.as_os_str()))
            });
            if is_about {
                seen.store(true, Ordering::Release);
            }
        };
        let mut watcher = notify::recommended_watcher(told).ok()?;
        watcher.watch(folder, RecursiveMode::NonRecursive).ok()?;
        Some(Self {
            happened,
            _watcher: watcher,
        })
    }

    /// Whether the file was changed since the last call.
    pub(super) fn take(&self) -> bool {
        self.happened.swap(false, Ordering::AcqRel)
    }
}
