//! Files that are there whole or not at all.
//!
//! Invariants: a reader of the path sees the old content or the new one, never a part; several writers of one path do not
//! disturb each other, the last one stays; no link at the temporary name is followed; what fails leaves nothing behind.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Temporary names that are tried before giving up: that one exists already is a coincidence of 64 random bits.
const ATTEMPTS: usize = 16;

/// Replaces the file at `path`, or a link there, by one with this content. It is on the disk when this returns.
pub(super) fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    if path.file_name().is_none() {
        let text = "the path must end in a file's name";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    let folder = match path.parent() {
        Some(folder) if folder != OsStr::new("") => folder,
        _ => Path::new("."),
    };
    let (mut file, part) = create(folder)?;
    file.write_all(content)?;
    file.sync_all()?;
    drop(file);
    part.rename(path)?;
    sync_folder(folder)
}

/// A new file in `folder`, with the permissions of any new file.
fn create(folder: &Path) -> io::Result<(File, Part)> {
    let mut taken = None;
    for _ in 0..ATTEMPTS {
        // The standard library's source of random bits: every state has keys of its own.
        let name = format!(".{:016x}.part", RandomState::new().hash_one(0));
        let path = folder.join(name);
        // Fails where there is anything of this name, a link that leads nowhere included.
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => return Ok((file, Part(Some(path)))),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => taken = Some(error),
            Err(error) => return Err(error),
        }
    }
    Err(taken.unwrap_or_else(|| io::ErrorKind::AlreadyExists.into()))
}

/// A file under its temporary name, removed unless it is renamed.
struct Part(Option<PathBuf>);

impl Part {
    fn rename(mut self, path: &Path) -> io::Result<()> {
        if let Some(part) = &self.0 {
            fs::rename(part, path)?;
        }
        self.0 = None;
        Ok(())
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if let Some(part) = &self.0 {
            // It is of no use; that it cannot be removed either changes nothing.
            let _ignored = fs::remove_file(part);
        }
    }
}

/// Makes the new name last through a loss of power.
#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    match File::open(folder)?.sync_all() {
        // Some file systems do not know this for folders.
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported
            ) =>
        {
            Ok(())
        }
        result => result,
    }
}

/// Other systems have no such call for folders.
#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}
