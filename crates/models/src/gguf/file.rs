//! A file with its head, from which tensors are read when they are asked for.

use std::borrow::Cow;
#[cfg(not(target_arch = "wasm32"))]
use std::fs::File;
use std::io;
#[cfg(not(target_arch = "wasm32"))]
use std::io::Read as _;
#[cfg(not(target_arch = "wasm32"))]
use std::path::Path;
use std::path::PathBuf;

#[cfg(not(target_arch = "wasm32"))]
use memmap2::Mmap;
#[cfg(not(target_arch = "wasm32"))]
use parking_lot::Mutex;
use ziggurat_tensor::{BlockFormat, Device, QuantizedTensor, Tensor};

use super::block::BlockType;
use super::head::{Gguf, TensorInfo};
#[cfg(not(target_arch = "wasm32"))]
use super::{
    cursor::Stop,
    error::{GgufError, GgufProblem},
};
use crate::Error;
use crate::content::Content;

/// Bytes that are read first of a file for its head, more only if they do not do.
#[cfg(not(target_arch = "wasm32"))]
const FIRST_READ: u64 = 1 << 20;
/// The most bytes of a head that are read of a file that is not mapped.
#[cfg(not(target_arch = "wasm32"))]
const MOST_HEAD: u64 = 1 << 30;

/// An open GGUF file: metadata and names are known, the data of tensors is read when it is asked for.
///
/// ```no_run
/// use ziggurat_models::gguf::GgufFile;
/// use ziggurat_tensor::{Device, DeviceOptions};
///
/// let device = Device::open_blocking(DeviceOptions::default())?;
/// let file = GgufFile::open("model.gguf")?;
/// for tensor in file.head().tensors() {
///     println!("{} {:?} {}", tensor.name(), tensor.dims(), tensor.block());
/// }
/// let table = file.load(&device, "token_embd.weight")?;
/// # Ok::<(), ziggurat_models::Error>(())
/// ```
#[derive(Debug)]
pub struct GgufFile {
    path: PathBuf,
    content: Content,
    head: Gguf,
}

impl GgufFile {
    /// A file that is in memory.
    ///
    /// # Errors
    /// If it is malformed.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, Error> {
        let path = PathBuf::new();
        let head = Gguf::parse(&bytes);
        Ok(Self {
            head: head.map_err(|source| Error::Gguf {
                path: path.clone(),
                source,
            })?,
            content: Content::Bytes(bytes),
            path,
        })
    }

    /// Opens a file and reads its head.
    ///
    /// # Errors
    /// If the file cannot be read, or is malformed.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let failed = |source| Error::Io {
            action: "read",
            path: path.to_path_buf(),
            source,
        };
        let mut file = File::open(path).map_err(failed)?;
        let total = file.metadata().map_err(failed)?.len();
        let mut bytes = Vec::new();
        let mut wanted = FIRST_READ;
        let head = loop {
            let more = wanted.saturating_sub(bytes.len() as u64);
            let mut limited = (&mut file).take(more);
            limited.read_to_end(&mut bytes).map_err(failed)?;
            let found = match Gguf::parse_start(&bytes, total) {
                Err(Stop::More) if wanted < MOST_HEAD && (bytes.len() as u64) < total => {
                    // A file that became shorter would be read for ever.
                    if (bytes.len() as u64) < wanted {
                        return Err(failed(io::ErrorKind::UnexpectedEof.into()));
                    }
                    wanted *= 4;
                    continue;
                }
                other => other,
            };
            break located(path, found, bytes.len() as u64)?;
        };
        Ok(Self {
            path: path.to_path_buf(),
            content: Content::Read(Mutex::new(file)),
            head,
        })
    }

    /// As [`GgufFile::open`], with the file mapped into memory: data is read from the system's file cache in place.
    ///
    /// # Errors
    /// As [`GgufFile::open`], or if the file cannot be mapped.
    ///
    /// # Safety
    /// As long as the value lives, nobody may write to the file or shorten it: the map would then change under a reader,
    /// which is undefined behaviour, or end the process by a signal. To replace the file by renaming another one over it is
    /// allowed.
    #[cfg(not(target_arch = "wasm32"))]
    #[allow(unsafe_code, reason = "a memory map")]
    pub unsafe fn open_mapped(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let failed = |source| Error::Io {
            action: "map",
            path: path.to_path_buf(),
            source,
        };
        let file = File::open(path).map_err(failed)?;
        // SAFETY: the caller promises that nobody writes to the file or shortens it while the map lives, which is no longer
        // than the value: it is in no other place, and slices of it are only lent to calls of its methods.
        let map = unsafe { Mmap::map(&file) }.map_err(failed)?;
        let total = map.len() as u64;
        let head = located(path, Gguf::parse_start(&map, total), total)?;
        Ok(Self {
            path: path.to_path_buf(),
            content: Content::Mapped(map),
            head,
        })
    }

    /// Metadata, and what is known of the tensors.
    pub const fn head(&self) -> &Gguf {
        &self.head
    }

    /// A tensor's numbers, computed on the host.
    ///
    /// # Errors
    /// If there is none of this name, or the file cannot be read.
    pub fn dequantise(&self, name: &str) -> Result<Vec<f32>, Error> {
        let info = self.info(name)?;
        let numbers = info.block().dequantise(&self.bytes(info)?);
        // The head was checked against the file: it has become shorter since.
        numbers.ok_or_else(|| self.unreadable(io::ErrorKind::UnexpectedEof.into()))
    }

    /// A tensor's data as it is in the file.
    ///
    /// # Errors
    /// If there is none of this name, or the file cannot be read.
    pub fn data(&self, name: &str) -> Result<Vec<u8>, Error> {
        self.bytes(self.info(name)?).map(Cow::into_owned)
    }

    /// A tensor on a device, as f32 whatever its format is.
    ///
    /// # Errors
    /// If there is none of this name, the file cannot be read, or the device has no memory for it.
    pub fn load(&self, device: &Device, name: &str) -> Result<Tensor, Error> {
        let info = self.info(name)?;
        Ok(Tensor::from_slice(
            device,
            &self.dequantise(name)?,
            info.dims(),
        )?)
    }

    /// A matrix on a device whose elements stay quantised as they are in the file.
    ///
    /// # Errors
    /// If there is none of this name, its elements are not quantised or it is no matrix, the file cannot be read, or the device has
    /// no memory for it.
    pub fn load_blocks(&self, device: &Device, name: &str) -> Result<QuantizedTensor, Error> {
        self.load_joined_blocks(device, &[name])
    }

    /// The same of several matrices, the rows of one behind those of the other.
    ///
    /// # Errors
    /// As [`Self::load_blocks`], and if they differ in the format or in the elements of a row.
    pub fn load_joined_blocks(
        &self,
        device: &Device,
        names: &[&str],
    ) -> Result<QuantizedTensor, Error> {
        let mut all = Vec::new();
        let mut joined: Option<(BlockFormat, [usize; 2])> = None;
        for name in names {
            let info = self.info(name)?;
            let (BlockType::Blocks(format), &[rows, cols]) = (info.block(), info.dims()) else {
                let text = format!("the tensor `{name}` as blocks: it is {}", info.block());
                return Err(Error::Unsupported(text));
            };
            let before = joined.map_or(0, |(_, [before, _])| before);
            if joined.is_some_and(|(known, [_, width])| (known, width) != (format, cols)) {
                let text = format!("the tensor `{name}` behind others of another form");
                return Err(Error::Unsupported(text));
            }
            joined = Some((format, [before.saturating_add(rows), cols]));
            all.push(self.bytes(info)?);
        }
        let Some((format, dims)) = joined else {
            return Err(Error::Unsupported("no tensor as blocks".to_owned()));
        };
        let bytes = match &*all {
            [one] => Cow::Borrowed(&**one),
            all => Cow::Owned(all.concat()),
        };
        Ok(QuantizedTensor::from_blocks(device, &bytes, dims, format)?)
    }

    fn info(&self, name: &str) -> Result<&TensorInfo, Error> {
        self.head.tensor(name).ok_or_else(|| Error::MissingTensor {
            name: name.to_owned(),
        })
    }

    fn bytes(&self, info: &TensorInfo) -> Result<Cow<'_, [u8]>, Error> {
        let part = self.content.part(info.start(), info.bytes());
        part.map_err(|source| self.unreadable(source))
    }

    fn unreadable(&self, source: io::Error) -> Error {
        Error::Io {
            action: "read",
            path: self.path.clone(),
            source,
        }
    }
}

/// The head that was found, or an error that names the file.
#[cfg(not(target_arch = "wasm32"))]
fn located(path: &Path, found: Result<Gguf, Stop>, read: u64) -> Result<Gguf, Error> {
    found.map_err(|stop| Error::Gguf {
        path: path.to_path_buf(),
        source: match stop {
            Stop::Wrong(error) => error,
            Stop::More => GgufError {
                offset: read,
                problem: GgufProblem::HeadTooLarge(MOST_HEAD),
            },
        },
    })
}
