//! The pipeline cache on disk: one file per adapter, driver and version.
//!
//! wgpu's cache blob goes to the driver, so a damaged or foreign one must never get that far. The file therefore has
//! a header of its own: magic, format version, the identity of adapter, driver and library, the length of the data
//! and a checksum over everything. Whatever does not match in full is ignored, and replaced at the next save.
//! Files are written under a temporary name and renamed, so that readers only ever see complete ones.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::envelope::{Kind, Rejected, checksum};

const KIND: Kind = Kind {
    magic: *b"ZIGPIPEC",
    format: 1,
};
/// Larger files are not read: no real cache comes near it.
const MAX_BYTES: u64 = 512 << 20;

/// The cache file of one adapter, driver and version.
#[derive(Clone, Debug)]
pub(crate) struct CacheFile {
    path: PathBuf,
    identity: String,
}

impl CacheFile {
    /// The file in `folder` for an adapter; `None` where the backend has no pipeline cache.
    pub(crate) fn for_adapter(folder: &Path, adapter: &wgpu::AdapterInfo) -> Option<Self> {
        let key = wgpu::util::pipeline_cache_key(adapter)?;
        let identity = format!(
            "{key}\n{}\n{}\n{}\n{:?}\nziggurat {}",
            adapter.name,
            adapter.driver,
            adapter.driver_info,
            adapter.backend,
            env!("CARGO_PKG_VERSION"),
        );
        Some(Self::new(folder, &key, identity))
    }

    fn new(folder: &Path, key: &str, identity: String) -> Self {
        let name = format!("{key}-{:016x}.bin", checksum(&[identity.as_bytes()]));
        Self {
            path: folder.join(name),
            identity,
        }
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Its data; `Ok(None)` if there is no file.
    pub(crate) fn load(&self) -> Result<Option<Vec<u8>>, Rejected> {
        let Some(bytes) = read(&self.path, MAX_BYTES)? else {
            return Ok(None);
        };
        KIND.decode(&self.identity, &bytes)
            .map(|data| Some(data.to_vec()))
    }

    /// Replaces the file as a whole.
    pub(crate) fn store(&self, data: &[u8]) -> io::Result<()> {
        replace(&self.path, &KIND.encode(&self.identity, data))
    }
}

/// The bytes of a file of at most so many; `Ok(None)` if there is none.
pub(crate) fn read(path: &Path, most: u64) -> Result<Option<Vec<u8>>, Rejected> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.len() > most || !metadata.is_file() => Err(Rejected::Unreadable),
        Ok(_) => fs::read(path).map(Some).map_err(|_| Rejected::Unreadable),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(_) => Err(Rejected::Unreadable),
    }
}

/// Replaces a file as a whole, and makes its folder if need be.
pub(crate) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let unique = NEXT.fetch_add(1, Ordering::Relaxed);
    let temporary = path.with_extension(format!("{}-{unique}.tmp", std::process::id()));
    let written = (|| {
        // `create_new` never follows a link that somebody left under this name.
        let mut file = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&temporary)?;
        file.write_all(content)?;
        drop(file);
        fs::rename(&temporary, path)
    })();
    if written.is_err() {
        // The error that matters is the first one.
        let _ = fs::remove_file(&temporary);
    }
    written
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    const IDENTITY: &str = "adapter\ndriver\nversion";

    /// A folder of its own that is removed at the end.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let folder =
                std::env::temp_dir().join(format!("ziggurat-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&folder);
            Self(folder)
        }

        fn file(&self) -> CacheFile {
            CacheFile::new(&self.0.join("deep"), "key", IDENTITY.to_owned())
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_stored_file_loads_again_and_leaves_no_temporary() {
        let folder = Folder::new("store");
        let file = folder.file();
        assert_eq!(file.load(), Ok(None));
        file.store(b"first").unwrap();
        file.store(b"second").unwrap();
        assert_eq!(file.load(), Ok(Some(b"second".to_vec())));
        let files = fs::read_dir(file.path().parent().unwrap()).unwrap().count();
        assert_eq!(files, 1);
    }

    #[test]
    fn a_foreign_file_is_rejected() {
        let foreign = KIND.encode("another driver", b"data");
        let folder = Folder::new("foreign");
        let file = folder.file();
        file.store(b"x").unwrap();
        fs::write(file.path(), &foreign).unwrap();
        assert_eq!(file.load(), Err(Rejected::Foreign));
        file.store(b"mine").unwrap();
        assert_eq!(file.load(), Ok(Some(b"mine".to_vec())));
    }

    #[test]
    fn an_unreadable_path_is_rejected_and_not_writable() {
        let folder = Folder::new("unreadable");
        let file = folder.file();
        fs::create_dir_all(file.path()).unwrap();
        assert_eq!(file.load(), Err(Rejected::Unreadable));
        assert!(file.store(b"x").is_err());
        let left = fs::read_dir(file.path().parent().unwrap()).unwrap().count();
        assert_eq!(left, 1, "the temporary file is removed");
    }

    #[test]
    fn adapters_and_drivers_have_files_of_their_own() {
        let adapter = |driver: &str| {
            let mut info = wgpu::AdapterInfo::new(wgpu::DeviceType::Cpu, wgpu::Backend::Vulkan);
            info.driver_info = driver.to_owned();
            CacheFile::for_adapter(Path::new("f"), &info).unwrap()
        };
        assert_ne!(adapter("1").path(), adapter("2").path());
        assert_eq!(adapter("1").path(), adapter("1").path());
        let gl = wgpu::AdapterInfo::new(wgpu::DeviceType::Cpu, wgpu::Backend::Gl);
        assert!(CacheFile::for_adapter(Path::new("f"), &gl).is_none());
    }
}
