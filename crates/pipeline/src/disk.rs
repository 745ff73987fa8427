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

const MAGIC: &[u8; 8] = b"ZIGPIPEC";
const FORMAT: u32 = 1;
/// Larger files are not read: no real cache comes near it.
const MAX_BYTES: u64 = 512 << 20;

/// Why a file was not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rejected {
    /// It cannot be read, or is absurdly large.
    Unreadable,
    /// It is no cache file, or of another format.
    Format,
    /// It belongs to another adapter, driver or version.
    Foreign,
    /// It is cut off, too long, or its bytes changed.
    Corrupt,
}

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
        let bytes = match fs::metadata(&self.path) {
            Ok(metadata) if metadata.len() > MAX_BYTES || !metadata.is_file() => {
                return Err(Rejected::Unreadable);
            }
            Ok(_) => fs::read(&self.path).map_err(|_| Rejected::Unreadable)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(_) => return Err(Rejected::Unreadable),
        };
        decode(&self.identity, &bytes).map(|data| Some(data.to_vec()))
    }

    /// Replaces the file as a whole.
    pub(crate) fn store(&self, data: &[u8]) -> io::Result<()> {
        replace(&self.path, &encode(&self.identity, data))
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

/// FNV-1a over some byte strings: guards against damage, not against forgers.
fn checksum(parts: &[&[u8]]) -> u64 {
    let bytes = parts.iter().flat_map(|part| part.iter());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

fn encode(identity: &str, data: &[u8]) -> Vec<u8> {
    let mut file = Vec::with_capacity(data.len() + identity.len() + 64);
    file.extend_from_slice(MAGIC);
    file.extend_from_slice(&FORMAT.to_le_bytes());
    file.extend_from_slice(&(identity.len() as u64).to_le_bytes());
    file.extend_from_slice(&(data.len() as u64).to_le_bytes());
    file.extend_from_slice(&checksum(&[identity.as_bytes(), data]).to_le_bytes());
    file.extend_from_slice(identity.as_bytes());
    file.extend_from_slice(data);
    file
}

fn decode<'a>(identity: &str, file: &'a [u8]) -> Result<&'a [u8], Rejected> {
    let mut rest = file;
    let mut take = |bytes: usize| {
        let (head, tail) = rest.split_at_checked(bytes)?;
        rest = tail;
        Some(head)
    };
    let number = |bytes: &[u8]| bytes.try_into().map(u64::from_le_bytes).ok();
    if take(MAGIC.len()) != Some(MAGIC) || take(4) != Some(&FORMAT.to_le_bytes()) {
        return Err(Rejected::Format);
    }
    let mut field = || take(8).and_then(number).ok_or(Rejected::Corrupt);
    let (identity_bytes, data_bytes, sum) = (field()?, field()?, field()?);
    let identity_bytes = usize::try_from(identity_bytes).map_err(|_| Rejected::Corrupt)?;
    let (found, data) = rest
        .split_at_checked(identity_bytes)
        .ok_or(Rejected::Corrupt)?;
    if data.len() as u64 != data_bytes || checksum(&[found, data]) != sum {
        return Err(Rejected::Corrupt);
    }
    if found != identity.as_bytes() {
        return Err(Rejected::Foreign);
    }
    Ok(data)
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
    fn empty_data_survives() {
        assert_eq!(decode(IDENTITY, &encode(IDENTITY, b"")), Ok(&b""[..]));
    }

    #[test]
    fn any_changed_byte_is_noticed() {
        let whole = encode(IDENTITY, b"some pipeline data");
        assert!(decode(IDENTITY, &whole).is_ok());
        for index in 0..whole.len() {
            let mut broken = whole.clone();
            broken[index] ^= 0x10;
            assert!(decode(IDENTITY, &broken).is_err(), "byte {index}");
        }
    }

    #[test]
    fn any_other_length_is_noticed() {
        let whole = encode(IDENTITY, b"some pipeline data");
        for length in 0..whole.len() {
            assert!(
                decode(IDENTITY, &whole[..length]).is_err(),
                "{length} bytes"
            );
        }
        let mut longer = whole;
        longer.push(0);
        assert_eq!(decode(IDENTITY, &longer), Err(Rejected::Corrupt));
    }

    #[test]
    fn a_foreign_file_is_rejected() {
        let foreign = encode("another driver", b"data");
        assert_eq!(decode(IDENTITY, &foreign), Err(Rejected::Foreign));
        assert_eq!(decode(IDENTITY, b"#!/bin/sh\n"), Err(Rejected::Format));

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
