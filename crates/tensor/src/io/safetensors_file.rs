//! A safetensors file of which only what is asked for is read.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Component, Path, PathBuf};

use memmap2::Mmap;
use parking_lot::Mutex;
use safetensors::SafeTensorError;
use safetensors::tensor::{Metadata, TensorInfo};
use ziggurat_core::{DType, Shape};

use super::safetensors::{named, numbers, refused, tensor_of};
use super::wide::Numbers;
use crate::{Device, Error, Tensor};

/// The most bytes of a header that are read, as in the `safetensors` crate.
const MOST_HEADER_BYTES: u64 = 100_000_000;
/// Bytes of the length in front of the header.
const LENGTH_BYTES: u64 = 8;

/// An open safetensors file, or the files of a sharded model: names, shapes and dtypes are known, values are read and
/// uploaded for the tensors that are asked for.
///
/// ```
/// use ziggurat_tensor::{Device, DeviceOptions, Tensor, io};
///
/// let device = Device::open_blocking(DeviceOptions::default())?;
/// # let path = std::env::temp_dir().join(format!("ziggurat-doc-{}.safetensors", std::process::id()));
/// let weight = Tensor::from_slice(&device, &[1.0f32, 2.0], [2])?;
/// let tensors = [("encoder.weight", &weight), ("decoder.weight", &weight)];
/// io::save_safetensors_blocking(&path, &tensors)?;
///
/// let file = io::SafetensorsFile::open(&path)?;
/// assert_eq!(file.names().collect::<Vec<_>>(), ["decoder.weight", "encoder.weight"]);
/// assert_eq!(file.dims("encoder.weight"), Some(&[2][..]));
/// let encoder = file.load_where(&device, |name| name.starts_with("encoder."))?;
/// assert_eq!(encoder.len(), 1);
/// let one = file.load(&device, "decoder.weight")?;
/// # std::fs::remove_file(&path).ok();
/// # Ok::<(), ziggurat_tensor::Error>(())
/// ```
#[derive(Debug)]
pub struct SafetensorsFile {
    shards: Vec<Shard>,
    /// Which shard has a tensor.
    places: BTreeMap<String, usize>,
}

#[derive(Debug)]
struct Shard {
    path: PathBuf,
    content: Content,
    metadata: Metadata,
    /// Where the data begins in the file.
    start: u64,
}

/// Where bytes come from.
#[derive(Debug)]
enum Content {
    /// Read where and when they are needed.
    Read(Mutex<File>),
    Mapped(Mmap),
}

impl SafetensorsFile {
    /// Opens a file, or the files that an index (`model.safetensors.index.json`) names, and reads the headers.
    ///
    /// A file that is replaced by another later, as [`save_safetensors`](super::save_safetensors) does, is still read as it
    /// was when it was opened.
    ///
    /// # Errors
    /// If a file cannot be read or is no safetensors file, or the index names a file outside of its folder or a tensor that
    /// is not in its file.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::open_with(path.as_ref(), |file| Ok(Content::Read(Mutex::new(file))))
    }

    /// As [`SafetensorsFile::open`], with the files mapped into memory: values go from the system's file cache to the device
    /// without a copy in between.
    ///
    /// # Errors
    /// As [`SafetensorsFile::open`], or if a file cannot be mapped.
    ///
    /// # Safety
    /// As long as the value lives, nobody may write to the files or shorten them: the map would then change under a reader,
    /// which is undefined behaviour, or end the process by a signal. To replace a file by renaming another one over it, as
    /// [`save_safetensors`](super::save_safetensors) does, is allowed.
    #[allow(unsafe_code, reason = "a memory map")]
    pub unsafe fn open_mapped(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::open_with(path.as_ref(), |file| {
            // SAFETY: the caller promises that nobody writes to the file or shortens it while the map lives, which is no
            // longer than `self`: it is in no other place, and slices of it are only lent to calls of `self`'s methods.
            unsafe { Mmap::map(&file) }.map(Content::Mapped)
        })
    }

    fn open_with(
        path: &Path,
        content: impl Fn(File) -> io::Result<Content>,
    ) -> Result<Self, Error> {
        if path.extension().is_none_or(|end| end != "json") {
            let shard = Shard::open(path, content)?;
            let places = shard.metadata.offset_keys().into_iter();
            return Ok(Self {
                places: places.map(|name| (name, 0)).collect(),
                shards: vec![shard],
            });
        }
        let files = read_index(path)?;
        let mut this = Self {
            shards: Vec::new(),
            places: BTreeMap::new(),
        };
        let mut known: HashMap<PathBuf, usize> = HashMap::new();
        for (name, file) in files {
            let file = path.with_file_name(file);
            let shard = match known.get(&file) {
                Some(&shard) => shard,
                None => {
                    this.shards.push(Shard::open(&file, &content)?);
                    known.insert(file.clone(), this.shards.len() - 1);
                    this.shards.len() - 1
                }
            };
            let there = this.shards.get(shard);
            if there.is_none_or(|shard| shard.metadata.info(&name).is_none()) {
                let text = format!("tensor `{name}` is not in {}", file.display());
                return Err(Error::format(text).in_file(path));
            }
            this.places.insert(name, shard);
        }
        Ok(this)
    }

    /// The names of the tensors, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.places.keys().map(String::as_str)
    }

    /// The extents of a tensor; `None` if there is none of this name.
    pub fn dims(&self, name: &str) -> Option<&[usize]> {
        let (_, info) = self.find(name)?;
        Some(&info.shape)
    }

    /// The dtype that a tensor will have when it is loaded; `None` if there is none of this name, or no tensor can hold it.
    pub fn dtype(&self, name: &str) -> Option<DType> {
        let (_, info) = self.find(name)?;
        numbers(name, info.dtype).ok().map(Numbers::dtype)
    }

    /// One tensor.
    ///
    /// # Errors
    /// If there is none of this name, its dtype or a value cannot be represented, the file cannot be read, or the device has no
    /// memory for it.
    pub fn load(&self, device: &Device, name: &str) -> Result<Tensor, Error> {
        let (shard, info) = self.find(name).ok_or_else(|| {
            let rule = "the file must have a tensor of this name";
            Error::argument("load", format!("{rule}: `{name}` given"))
        })?;
        shard.load(device, name, info)
    }

    /// The tensors for whose names `wanted` is true, by name.
    ///
    /// # Errors
    /// As [`SafetensorsFile::load`].
    pub fn load_where(
        &self,
        device: &Device,
        mut wanted: impl FnMut(&str) -> bool,
    ) -> Result<BTreeMap<String, Tensor>, Error> {
        let names = self.names().filter(|name| wanted(name));
        names
            .map(|name| Ok((name.to_owned(), self.load(device, name)?)))
            .collect()
    }

    fn find(&self, name: &str) -> Option<(&Shard, &TensorInfo)> {
        let shard = self.shards.get(*self.places.get(name)?)?;
        Some((shard, shard.metadata.info(name)?))
    }
}

impl Shard {
    fn open(path: &Path, content: impl Fn(File) -> io::Result<Content>) -> Result<Self, Error> {
        let fail = |error| Error::io("read", path, error);
        let wrong = |error| refused(error).in_file(path);
        let file = File::open(path).map_err(fail)?;
        let bytes = file.metadata().map_err(fail)?.len();
        let content = content(file).map_err(fail)?;
        let too_short = || wrong(SafeTensorError::HeaderTooSmall);
        if bytes < LENGTH_BYTES {
            return Err(too_short());
        }
        let length = content.bytes(0, LENGTH_BYTES, |bytes| {
            bytes.try_into().map(u64::from_le_bytes)
        });
        let length = length.map_err(fail)?.map_err(|_| too_short())?;
        if length > MOST_HEADER_BYTES.min(bytes - LENGTH_BYTES) {
            return Err(wrong(SafeTensorError::HeaderTooLarge));
        }
        let metadata = content.bytes(LENGTH_BYTES, length, |header| {
            serde_json::from_slice::<Metadata>(header)
        });
        let metadata = metadata
            .map_err(fail)?
            .map_err(|error| wrong(SafeTensorError::InvalidHeaderDeserialization(error)))?;
        let start = LENGTH_BYTES + length;
        if start.checked_add(metadata.data_len() as u64) != Some(bytes) {
            return Err(wrong(SafeTensorError::MetadataIncompleteBuffer));
        }
        Ok(Self {
            path: path.to_path_buf(),
            content,
            metadata,
            start,
        })
    }

    fn load(&self, device: &Device, name: &str, info: &TensorInfo) -> Result<Tensor, Error> {
        let (start, end) = info.data_offsets;
        // What the device cannot hold is not read.
        let dtype = numbers(name, info.dtype).map_err(|error| error.in_file(&self.path))?;
        let shape = Shape::new(&info.shape)
            .map_err(|error| named(name, Error::format(error.to_string())).in_file(&self.path))?;
        device.check_len("load", &shape, dtype.dtype())?;
        let read = self
            .content
            .bytes(self.start + start as u64, (end - start) as u64, |data| {
                tensor_of(device, name, info.dtype, &info.shape, data)
            });
        read.map_err(|error| Error::io("read", &self.path, error))?
            .map_err(|error| error.in_file(&self.path))
    }
}

impl Content {
    /// What `look` makes of `len` bytes from `start`.
    fn bytes<R>(&self, start: u64, len: u64, look: impl FnOnce(&[u8]) -> R) -> io::Result<R> {
        let beyond = || io::Error::from(io::ErrorKind::UnexpectedEof);
        match self {
            Self::Mapped(map) => {
                let range = usize::try_from(start).ok().zip(usize::try_from(len).ok());
                let slice = range.and_then(|(start, len)| map.get(start..)?.get(..len));
                slice.map(look).ok_or_else(beyond)
            }
            Self::Read(file) => {
                let mut bytes = Vec::new();
                let len = usize::try_from(len).map_err(|_| beyond())?;
                bytes.try_reserve_exact(len)?;
                bytes.resize(len, 0);
                let mut file = file.lock();
                file.seek(SeekFrom::Start(start))?;
                file.read_exact(&mut bytes)?;
                drop(file);
                Ok(look(&bytes))
            }
        }
    }
}

/// The file of every tensor that an index names: one in the folder of the index.
fn read_index(path: &Path) -> Result<BTreeMap<String, String>, Error> {
    let wrong = |text: &str| {
        let rule = "not a valid index of safetensors files";
        Error::format(format!("{rule}: {text}")).in_file(path)
    };
    let text = std::fs::read(path).map_err(|error| Error::io("read", path, error))?;
    let index: serde_json::Value =
        serde_json::from_slice(&text).map_err(|error| wrong(&error.to_string()))?;
    let files = index.get("weight_map").and_then(|map| map.as_object());
    let files = files.ok_or_else(|| wrong("it has no `weight_map`"))?;
    let file = |(name, file): (&String, &serde_json::Value)| {
        let file = file.as_str().unwrap_or_default();
        let mut parts = Path::new(file).components();
        match (parts.next(), parts.next()) {
            (Some(Component::Normal(_)), None) => Ok((name.clone(), file.to_owned())),
            _ => Err(wrong(&format!(
                "tensor `{name}` must be in a file of the same folder: it is in `{file}`"
            ))),
        }
    };
    files.iter().map(file).collect()
}
