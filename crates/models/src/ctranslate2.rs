//! Files of CTranslate2 (`model.bin`): tensors by name, and other names for them.
//!
//! Little-endian throughout: the version of the format (6), the name and the revision of the model's layout, a count of
//! tensors, and of each its name, extents, type, size and data; then a count of aliases, each a name and the tensor that it
//! stands for. Strings have their length in two bytes and a zero at the end.
//!
//! Invariants: whatever the bytes are, the result is a table whose tensors lie within the file, or a [`Ctranslate2Error`] with
//! the offset of the field; no memory is asked for because a field says so.

mod error;
mod parse;

pub use error::{Ctranslate2Error, Ctranslate2Problem};

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use ziggurat_tensor::{DType, Device, Tensor};

use crate::Error;
use crate::content::Content;

/// An open file: names are known, the data of tensors is read when it is asked for.
///
/// ```no_run
/// use ziggurat_models::ctranslate2::Ctranslate2File;
///
/// let file = Ctranslate2File::open("model.bin")?;
/// println!("{}", file.layout());
/// for name in file.names() {
///     println!("{name} {:?}", file.dims(name));
/// }
/// # Ok::<(), ziggurat_models::Error>(())
/// ```
#[derive(Debug)]
pub struct Ctranslate2File {
    path: PathBuf,
    content: Content,
    table: Table,
}

/// What a file says about itself.
#[derive(Debug)]
struct Table {
    layout: String,
    revision: u32,
    tensors: BTreeMap<String, Stored>,
    aliases: BTreeMap<String, String>,
}

/// A tensor in a file.
#[derive(Debug)]
struct Stored {
    dims: Vec<usize>,
    dtype: StoredType,
    start: u64,
    bytes: u64,
}

/// The type of a tensor's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StoredType {
    F32,
    I8,
    I16,
    I32,
    F16,
    BF16,
}

impl StoredType {
    const ALL: [Self; 6] = [
        Self::F32,
        Self::I8,
        Self::I16,
        Self::I32,
        Self::F16,
        Self::BF16,
    ];

    const fn bytes(self) -> u64 {
        match self {
            Self::I8 => 1,
            Self::I16 | Self::F16 | Self::BF16 => 2,
            Self::F32 | Self::I32 => 4,
        }
    }
}

impl Ctranslate2File {
    /// A file that is in memory.
    ///
    /// # Errors
    /// If it is malformed.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, Error> {
        let total = bytes.len() as u64;
        Self::of(PathBuf::new(), Content::Bytes(bytes), total)
    }

    /// Opens a file and reads its table.
    ///
    /// # Errors
    /// If the file cannot be read, or is malformed.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn open(path: impl AsRef<std::path::Path>) -> Result<Self, Error> {
        let path = path.as_ref().to_path_buf();
        let (content, total) = Content::open(&path)?;
        Self::of(path, content, total)
    }

    fn of(path: PathBuf, content: Content, total: u64) -> Result<Self, Error> {
        match parse::table(&content, total) {
            Ok(table) => Ok(Self {
                path,
                content,
                table,
            }),
            Err(parse::Stop::Wrong(source)) => Err(Error::Ctranslate2 { path, source }),
            Err(parse::Stop::Io(source)) => Err(Error::Io {
                action: "read",
                path,
                source,
            }),
        }
    }

    /// The name of the model's layout, such as `WhisperSpec`.
    pub fn layout(&self) -> &str {
        &self.table.layout
    }

    /// The version of that layout.
    pub const fn revision(&self) -> u32 {
        self.table.revision
    }

    /// The names of the tensors, in order; without aliases.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.table.tensors.keys().map(String::as_str)
    }

    /// The extents of a tensor, none for a single number; `None` if there is neither a tensor nor an alias of this name.
    pub fn dims(&self, name: &str) -> Option<&[usize]> {
        self.find(name).map(|stored| stored.dims.as_slice())
    }

    /// A single integer; `None` if there is none of this name.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn integer(&self, name: &str) -> Result<Option<i64>, Error> {
        let Some(stored) = self.find(name).filter(|stored| stored.dims.is_empty()) else {
            return Ok(None);
        };
        let bytes = self.part(stored.start, stored.bytes)?;
        Ok(match (stored.dtype, &*bytes) {
            (StoredType::I8, &[a]) => Some(i8::from_le_bytes([a]).into()),
            (StoredType::I16, &[a, b]) => Some(i16::from_le_bytes([a, b]).into()),
            (StoredType::I32, &[a, b, c, d]) => Some(i32::from_le_bytes([a, b, c, d]).into()),
            _ => None,
        })
    }

    /// A tensor on a device, as f32; or, of the `parts` into which its first axis is divided, only this one.
    ///
    /// # Errors
    /// If there is none of this name, it is quantised or does not divide so, the file cannot be read, or the device has no
    /// memory.
    pub fn load(
        &self,
        device: &Device,
        name: &str,
        [part, parts]: [usize; 2],
    ) -> Result<Tensor, Error> {
        let stored = self.find(name).ok_or_else(|| Error::MissingTensor {
            name: name.to_owned(),
        })?;
        let dtype = match stored.dtype {
            StoredType::F32 => DType::F32,
            StoredType::F16 => DType::F16,
            StoredType::BF16 => DType::BF16,
            StoredType::I8 | StoredType::I16 | StoredType::I32 => {
                let text = format!("the tensor `{name}` of integers");
                return Err(Error::Unsupported(text));
            }
        };
        let mut dims = stored.dims.clone();
        let rows = dims.first().copied().unwrap_or(1);
        if part >= parts || !rows.is_multiple_of(parts) {
            let text = format!("part {part} of {parts} of `{name}`, which is {dims:?}");
            return Err(Error::Unsupported(text));
        }
        if let Some(rows) = dims.first_mut() {
            *rows /= parts;
        }
        let bytes = stored.bytes / parts as u64;
        let data = self.part(stored.start + part as u64 * bytes, bytes)?;
        let tensor = Tensor::from_bytes(device, &data, dims, dtype)?.to_dtype(DType::F32)?;
        // What it was made of is not kept until the first pass.
        tensor.storage()?;
        Ok(tensor)
    }

    fn find(&self, name: &str) -> Option<&Stored> {
        let alias = self.table.aliases.get(name).map(String::as_str);
        self.table.tensors.get(alias.unwrap_or(name))
    }

    fn part(&self, start: u64, bytes: u64) -> Result<std::borrow::Cow<'_, [u8]>, Error> {
        let part = self.content.part(start, bytes);
        part.map_err(|source: io::Error| Error::Io {
            action: "read",
            path: self.path.clone(),
            source,
        })
    }
}
