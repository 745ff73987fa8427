//! Files of PyTorch (`torch.save`): tensors by name.
//!
//! Two layouts: a ZIP archive, whose `data.pkl` describes tensors and whose other entries are their memory, and the one before
//! PyTorch 1.6, four pickles, a list of keys and the memory behind them. Of pickles only what a dictionary of tensors needs is
//! read: nothing in a file is ever called, and what would be is an error that names it. Dictionaries within the dictionary are
//! read, too, their names joined by points; what is no tensor is passed over.
//!
//! Invariants: whatever the bytes are, the result is a table whose tensors lie within their memory, or a [`TorchError`] with an
//! offset; memory is in proportion to what was read.

mod error;
mod legacy;
mod pickle;
mod table;
mod value;
mod zip;

pub use error::{TorchError, TorchProblem};

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use ziggurat_tensor::{DType, Device, Tensor};

use crate::Error;
use crate::content::Content;
use crate::cursor::{Truncated, Unreadable};

/// An open file: names are known, the data of tensors is read when it is asked for.
///
/// ```no_run
/// use ziggurat_models::torch::TorchFile;
///
/// let file = TorchFile::open("model.pth")?;
/// for name in file.names() {
///     println!("{name} {:?}", file.dims(name));
/// }
/// # Ok::<(), ziggurat_models::Error>(())
/// ```
#[derive(Debug)]
pub struct TorchFile {
    path: PathBuf,
    content: Content,
    tensors: BTreeMap<String, Stored>,
}

/// A tensor in a file.
#[derive(Debug)]
struct Stored {
    dims: Vec<usize>,
    /// In elements.
    strides: Vec<u64>,
    kind: StoredType,
    /// The first element's offset in the file.
    start: u64,
}

/// The type of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StoredType {
    F64,
    F32,
    F16,
    BF16,
    I64,
    I32,
    I16,
    I8,
    U8,
    Bool,
}

impl StoredType {
    /// That of a class in `torch`.
    fn of_class(name: &str) -> Option<Self> {
        Some(match name {
            "DoubleStorage" => Self::F64,
            "FloatStorage" => Self::F32,
            "HalfStorage" => Self::F16,
            "BFloat16Storage" => Self::BF16,
            "LongStorage" => Self::I64,
            "IntStorage" => Self::I32,
            "ShortStorage" => Self::I16,
            "CharStorage" => Self::I8,
            "ByteStorage" => Self::U8,
            "BoolStorage" => Self::Bool,
            _ => return None,
        })
    }

    const fn bytes(self) -> u64 {
        match self {
            Self::F64 | Self::I64 => 8,
            Self::F32 | Self::I32 => 4,
            Self::F16 | Self::BF16 | Self::I16 => 2,
            Self::I8 | Self::U8 | Self::Bool => 1,
        }
    }
}

/// Why reading stops.
#[derive(Debug)]
enum Stop {
    Wrong(TorchError),
    Io(io::Error),
}

fn wrong(offset: u64, problem: TorchProblem) -> Stop {
    Stop::Wrong(TorchError { offset, problem })
}

impl From<Unreadable> for Stop {
    fn from(error: Unreadable) -> Self {
        match error {
            Unreadable::Truncated(Truncated {
                offset,
                what,
                needed,
                left,
            }) => wrong(offset, TorchProblem::Truncated { what, needed, left }),
            Unreadable::Io(error) => Self::Io(error),
        }
    }
}

impl TorchFile {
    /// A file that is in memory.
    ///
    /// # Errors
    /// If it is malformed, or would call something.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, Error> {
        let total = bytes.len() as u64;
        Self::of(PathBuf::new(), Content::Bytes(bytes), total)
    }

    /// Opens a file and reads what it says about its tensors.
    ///
    /// # Errors
    /// If the file cannot be read, is malformed, or would call something.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn open(path: impl AsRef<std::path::Path>) -> Result<Self, Error> {
        let path = path.as_ref().to_path_buf();
        let (content, total) = Content::open(&path)?;
        Self::of(path, content, total)
    }

    fn of(path: PathBuf, content: Content, total: u64) -> Result<Self, Error> {
        match table::read(&content, total) {
            Ok(tensors) => Ok(Self {
                path,
                content,
                tensors,
            }),
            Err(Stop::Wrong(source)) => Err(Error::Torch { path, source }),
            Err(Stop::Io(source)) => Err(Error::Io {
                action: "read",
                path,
                source,
            }),
        }
    }

    /// The names of the tensors, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tensors.keys().map(String::as_str)
    }

    /// The extents of a tensor; `None` if there is none of this name.
    pub fn dims(&self, name: &str) -> Option<&[usize]> {
        Some(&self.tensors.get(name)?.dims)
    }

    /// A tensor of floats on a device, as f32.
    ///
    /// # Errors
    /// If there is none of this name, it is of integers or has gaps between its elements, the file cannot be read, or the device has no
    /// memory.
    pub fn load(&self, device: &Device, name: &str) -> Result<Tensor, Error> {
        let stored = self.tensors.get(name).ok_or_else(|| Error::MissingTensor {
            name: name.to_owned(),
        })?;
        let dtype = match stored.kind {
            StoredType::F64 | StoredType::F32 => DType::F32,
            StoredType::F16 => DType::F16,
            StoredType::BF16 => DType::BF16,
            _ => {
                let text = format!("the tensor `{name}` of integers");
                return Err(Error::Unsupported(text));
            }
        };
        let order = stored.order().ok_or_else(|| {
            let text = format!("the tensor `{name}` with gaps between its elements");
            Error::Unsupported(text)
        })?;
        let dims: Vec<usize> = (order.iter())
            .filter_map(|&axis| stored.dims.get(axis).copied())
            .collect();
        // The table was checked against the file: the product is no more than that.
        let elements = stored.dims.iter().map(|&extent| extent as u64);
        let bytes = elements.fold(stored.kind.bytes(), u64::saturating_mul);
        let part = self.content.part(stored.start, bytes);
        let data = part.map_err(|source| Error::Io {
            action: "read",
            path: self.path.clone(),
            source,
        })?;
        let tensor = if stored.kind == StoredType::F64 {
            let numbers = data.as_chunks::<8>().0.iter();
            let numbers: Vec<f32> = numbers.map(|x| f64::from_le_bytes(*x) as f32).collect();
            Tensor::from_slice(device, &numbers, dims)?
        } else {
            Tensor::from_bytes(device, &data, dims, dtype)?.to_dtype(DType::F32)?
        };
        // Where each axis is among those of memory.
        let mut places: Vec<isize> = vec![0; order.len()];
        for (place, &axis) in (0..).zip(&order) {
            if let Some(slot) = places.get_mut(axis) {
                *slot = place;
            }
        }
        let tensor = tensor.permute(places)?.contiguous()?;
        // What it was made of is not kept until the first pass.
        tensor.storage()?;
        Ok(tensor)
    }
}

impl Stored {
    /// The axes in the order in which they are in memory, the slowest first; `None` if there are gaps between elements.
    fn order(&self) -> Option<Vec<usize>> {
        let mut axes: Vec<_> = self.dims.iter().zip(&self.strides).enumerate().collect();
        if self.dims.contains(&0) {
            return Some((0..axes.len()).collect());
        }
        // Of a single position the stride means nothing.
        axes.sort_by_key(|&(_, (&extent, &stride))| {
            std::cmp::Reverse(if extent > 1 { stride } else { 0 })
        });
        let mut expected = 1;
        for &(_, (&extent, &stride)) in axes.iter().rev().filter(|(_, (extent, _))| **extent > 1) {
            if stride != expected {
                return None;
            }
            expected = stride.saturating_mul(extent as u64);
        }
        Some(axes.into_iter().map(|(axis, _)| axis).collect())
    }
}
