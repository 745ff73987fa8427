//! Tuning stores in files.
//!
//! Invariants: readers see complete files only; of two processes that save at once neither loses what the other measured,
//! because each reads, merges and renames with the same lock file locked.

use std::fs;
use std::path::{Path, PathBuf};

use super::store::{Entries, TuningRejected, TuningStore, decode, encode};
use crate::disk::{read, replace};
use crate::envelope::checksum;
use crate::error::PipelineError;

/// Larger files are not read.
const MOST_BYTES: u64 = 64 << 20;

impl TuningStore {
    /// Adds what a file holds, as [`import`](Self::import) does; 0 if there is none.
    ///
    /// # Errors
    /// As [`import`](Self::import), and for a file that cannot be read.
    pub fn load(&self, path: impl AsRef<Path>) -> Result<usize, TuningRejected> {
        let decoded = self.content(path.as_ref());
        self.take(decoded)
    }

    fn content(&self, path: &Path) -> Result<Entries, TuningRejected> {
        match read(path, MOST_BYTES)? {
            Some(bytes) => decode(self.identity(), &bytes),
            None => Ok(Entries::new()),
        }
    }

    /// Writes the store to a file, together with what the file holds of problems that the store does not know. A file that
    /// does not match is replaced. A second file with `.lock` at the end of its name stays in the same folder.
    ///
    /// # Errors
    /// [`PipelineError::CacheFile`] if the operating system refuses.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), PipelineError> {
        let path = path.as_ref();
        let write = || {
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder)?;
            }
            let mut name = path.as_os_str().to_owned();
            name.push(".lock");
            let lock = fs::File::create(PathBuf::from(name))?;
            // Where a file system has no locks, one of two that save at once wins, and files are whole all the same.
            let _locked = lock.lock();
            let mut all = self.content(path).unwrap_or_default();
            all.extend(self.entries());
            replace(path, &encode(self.identity(), &all))
        };
        write().map_err(|error| PipelineError::CacheFile {
            path: path.display().to_string(),
            message: error.to_string(),
        })
    }

    /// The name of a file for this adapter, driver and version, which no other one shares.
    #[must_use]
    pub fn file_name(&self) -> String {
        format!(
            "tuning-{:016x}.bin",
            checksum(&[self.identity().as_bytes()])
        )
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::super::store::{Tuned, TuningKey};
    use super::*;

    /// A folder of its own that is removed at the end.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let name = format!("ziggurat-tuning-{name}-{}", std::process::id());
            let folder = std::env::temp_dir().join(name);
            let _ = fs::remove_dir_all(&folder);
            Self(folder)
        }

        fn file(&self) -> PathBuf {
            self.0.join("deep").join("store.bin")
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn store(identity: &str) -> TuningStore {
        TuningStore::of(identity.to_owned())
    }

    fn key(number: u64) -> TuningKey {
        TuningKey::new("test", [number])
    }

    fn tuned(way: u64) -> Tuned {
        Tuned {
            way,
            family: "test".to_owned(),
            problem: String::new(),
            name: "way".to_owned(),
        }
    }

    #[test]
    fn saved_choices_load_again_and_a_missing_file_is_empty() {
        let (folder, first) = (Folder::new("save"), store("me"));
        assert_eq!(first.load(folder.file()), Ok(0));
        first.insert(key(1), tuned(3));
        first.save(folder.file()).unwrap();
        let second = store("me");
        assert_eq!(second.load(folder.file()), Ok(1));
        assert_eq!(second.way(key(1)), Some(3));
        assert_eq!(second.rejected(), None);
    }

    #[test]
    fn what_is_in_the_file_stays_unless_it_was_measured_again() {
        let (folder, first, second) = (Folder::new("merge"), store("me"), store("me"));
        first.insert(key(1), tuned(1));
        first.insert(key(2), tuned(1));
        first.save(folder.file()).unwrap();
        second.insert(key(2), tuned(2));
        second.insert(key(3), tuned(2));
        second.save(folder.file()).unwrap();
        let all = store("me");
        assert_eq!(all.load(folder.file()), Ok(3));
        assert_eq!(
            [1, 2, 3].map(|n| all.way(key(n))),
            [Some(1), Some(2), Some(2)]
        );
    }

    #[test]
    fn a_damaged_or_foreign_file_is_ignored_with_its_reason_and_then_replaced() {
        let (folder, mine) = (Folder::new("damage"), store("me"));
        mine.insert(key(1), tuned(1));
        mine.save(folder.file()).unwrap();
        let other = store("another driver");
        assert_eq!(other.load(folder.file()), Err(TuningRejected::Foreign));
        let mut bytes = fs::read(folder.file()).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        fs::write(folder.file(), &bytes).unwrap();
        let fresh = store("me");
        assert_eq!(fresh.load(folder.file()), Err(TuningRejected::Corrupt));
        assert_eq!(fresh.rejected(), Some(TuningRejected::Corrupt));
        assert!(fresh.is_empty() && other.is_empty());
        mine.save(folder.file()).unwrap();
        assert_eq!(fresh.load(folder.file()), Ok(1));
    }

    #[test]
    fn a_folder_in_the_place_of_the_file_is_an_error_with_its_path() {
        let (folder, mine) = (Folder::new("folder"), store("me"));
        fs::create_dir_all(folder.file()).unwrap();
        assert_eq!(mine.load(folder.file()), Err(TuningRejected::Unreadable));
        let error = mine.save(folder.file()).unwrap_err().to_string();
        assert!(error.contains("store.bin"), "{error}");
    }

    /// Stores of their own, as processes have them: the lock is one of the operating system.
    #[test]
    fn of_writers_at_once_nobody_loses_what_another_measured() {
        let folder = Folder::new("race");
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let path = folder.file();
                scope.spawn(move || {
                    for step in 0..8 {
                        let own = store("me");
                        own.insert(key(writer * 8 + step), tuned(writer));
                        own.save(&path).unwrap();
                        let seen = store("me");
                        assert!(seen.load(&path).unwrap() > 0);
                    }
                });
            }
        });
        let all = store("me");
        assert_eq!(all.load(folder.file()), Ok(32));
        let files = fs::read_dir(folder.file().parent().unwrap())
            .unwrap()
            .count();
        assert_eq!(files, 2, "the file and its lock");
    }
}
