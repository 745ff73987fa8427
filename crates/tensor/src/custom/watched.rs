//! Kernels whose text is a file that changes while the program runs.
//!
//! Whoever calls such a kernel looks at the file, or with the feature `watch` only after the system said that it was changed.
//! There is nothing of this in builds without debug assertions. Invariant: once a text was compiled, calls have one that was.

#[cfg(feature = "watch")]
mod saves;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use ziggurat_pipeline::{KernelDescriptor, Pipelines, ShaderSource};

use crate::Error;

/// A file system may not tell apart changes that are closer than this.
const CLOSE: Duration = Duration::from_secs(3);

/// The file of a kernel.
#[derive(Debug)]
pub(super) struct Watched {
    path: PathBuf,
    state: Mutex<State>,
    /// Where the system tells of changes.
    #[cfg(feature = "watch")]
    saves: Option<saves::Saves>,
}

#[derive(Debug)]
struct State {
    /// The file when it was read last.
    stamp: Option<(SystemTime, u64)>,
    /// What was in it.
    text: String,
    /// What calls are made with.
    good: Arc<str>,
}

/// When a file was changed, and its bytes; `None` if that is not known or was just now.
fn stamp(path: &Path) -> Option<(SystemTime, u64)> {
    let about = fs::metadata(path).ok()?;
    let changed = about.modified().ok()?;
    let old = changed.elapsed().is_ok_and(|age| age > CLOSE);
    old.then_some((changed, about.len()))
}

impl Watched {
    pub(super) fn open(path: &Path) -> Result<Self, Error> {
        // Before the file is read, so that nothing is missed.
        #[cfg(feature = "watch")]
        let saves = cfg!(debug_assertions)
            .then(|| saves::Saves::of(path))
            .flatten();
        let stamp = stamp(path);
        let text = fs::read_to_string(path).map_err(|error| Error::io("read", path, error))?;
        let good = text.as_str().into();
        Ok(Self {
            path: path.to_owned(),
            state: Mutex::new(State { stamp, text, good }),
            #[cfg(feature = "watch")]
            saves,
        })
    }

    /// Whether the file may be another one than when it was read.
    fn may_differ(&self) -> bool {
        #[cfg(feature = "watch")]
        if let Some(saves) = &self.saves {
            return saves.take();
        }
        true
    }

    /// The text of the file when it was opened.
    pub(super) fn text(&self) -> String {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.text.clone()
    }

    /// A descriptor with the newest text that compiles.
    pub(super) fn newest(
        &self,
        descriptor: &KernelDescriptor,
        pipelines: &Pipelines,
    ) -> KernelDescriptor {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let with = |text: &str| {
            let name = descriptor.source.name().to_owned();
            let mut descriptor = descriptor.clone();
            descriptor.source = ShaderSource::wgsl(name, text.to_owned());
            descriptor
        };
        if !self.may_differ() {
            return with(&state.good);
        }
        let now = stamp(&self.path);
        // A file that is just being written may not be there, or not be text.
        if (now.is_none() || now != state.stamp)
            && let Ok(text) = fs::read_to_string(&self.path)
        {
            state.stamp = now;
            if text != state.text {
                match pipelines.kernel(&with(&text)) {
                    Ok(_) => state.good = text.as_str().into(),
                    Err(error) => {
                        let path = self.path.display();
                        eprintln!("{path}: {error}\n{path}: calls go on with the text before");
                    }
                }
                state.text = text;
            }
        }
        with(&state.good)
    }
}
