//! Where the bytes of an open file come from.

use std::borrow::Cow;
#[cfg(not(target_arch = "wasm32"))]
use std::fs::File;
use std::io;
#[cfg(not(target_arch = "wasm32"))]
use std::io::{Read as _, Seek as _, SeekFrom};
use std::ops::{RangeFrom, RangeTo};

#[cfg(not(target_arch = "wasm32"))]
use memmap2::Mmap;
#[cfg(not(target_arch = "wasm32"))]
use parking_lot::Mutex;

/// The bytes of an open file.
#[derive(Debug)]
pub(crate) enum Content {
    Bytes(Vec<u8>),
    /// Read where and when they are needed.
    #[cfg(not(target_arch = "wasm32"))]
    Read(Mutex<File>),
    #[cfg(not(target_arch = "wasm32"))]
    Mapped(Mmap),
}

impl Content {
    /// An open file, and how many bytes it has.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io) with the path.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn open(path: &std::path::Path) -> Result<(Self, u64), crate::Error> {
        let opened = File::open(path).and_then(|file| Ok((file.metadata()?.len(), file)));
        let (total, file) = opened.map_err(|source| crate::Error::Io {
            action: "read",
            path: path.to_path_buf(),
            source,
        })?;
        Ok((Self::Read(file.into()), total))
    }

    /// So many bytes from an offset on.
    ///
    /// # Errors
    /// If they cannot be read, or the file ends before.
    pub(crate) fn part(&self, start: u64, len: u64) -> io::Result<Cow<'_, [u8]>> {
        // Parts without bytes may be said to be anywhere.
        if len == 0 {
            return Ok(Cow::Borrowed(&[]));
        }
        let whole = match self {
            Self::Bytes(bytes) => bytes.as_slice(),
            #[cfg(not(target_arch = "wasm32"))]
            Self::Mapped(map) => map,
            #[cfg(not(target_arch = "wasm32"))]
            Self::Read(file) => return read(file, start, len).map(Cow::Owned),
        };
        let slice = match (start.try_into(), len.try_into()) {
            (Ok(start), Ok(len)) => whole
                .get::<RangeFrom<usize>>(start..)
                .and_then(|rest| rest.get::<RangeTo<usize>>(..len)),
            _ => None,
        };
        let slice = slice.ok_or(io::ErrorKind::UnexpectedEof)?;
        Ok(Cow::Borrowed(slice))
    }
}

#[cfg(not(target_arch = "wasm32"))]
fn read(file: &Mutex<File>, start: u64, len: u64) -> io::Result<Vec<u8>> {
    let len = usize::try_from(len).map_err(|_| io::ErrorKind::OutOfMemory)?;
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(len)?;
    bytes.resize(len, 0);
    let mut file = file.lock();
    file.seek(SeekFrom::Start(start))?;
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}
