//! The values of a recording: each different one is an npy file of its own, named by what is in it.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use ziggurat_core::{DType, Layout, Shape};
use ziggurat_kernels::{KernelError, View};
use ziggurat_memory::Buffer;

use crate::io::Header;
use crate::{Device, Error};

/// The folder of a recording.
#[derive(Clone, Debug)]
pub(super) struct Folder(PathBuf);

/// A name for what is in a file, which two contents do not share by chance.
fn digest(parts: &[&[u8]]) -> String {
    let half = |number: u8| {
        let mut hasher = DefaultHasher::new();
        number.hash(&mut hasher);
        parts.hash(&mut hasher);
        hasher.finish()
    };
    format!("{:016x}{:016x}", half(1), half(2))
}

impl Folder {
    pub(super) fn new(path: &Path) -> Self {
        Self(path.to_owned())
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Makes the folder, with nothing in it but empty folders.
    pub(super) fn make(&self) -> Result<(), Error> {
        for name in ["values", "kernels"] {
            let path = self.path(name);
            std::fs::create_dir_all(&path).map_err(|error| Error::io("create", &path, error))?;
        }
        Ok(())
    }

    fn keep(&self, name: &str, bytes: &[&[u8]]) -> Result<(), Error> {
        let path = self.path(name);
        if path.exists() {
            return Ok(());
        }
        std::fs::write(&path, bytes.concat()).map_err(|error| Error::io("write", &path, error))
    }

    fn read(&self, name: &str) -> Result<Vec<u8>, Error> {
        // What a recording names is below its folder.
        if name.contains("..") || Path::new(name).is_absolute() {
            return Err(Error::format(format!("`{name}` is no file of a recording")));
        }
        let path = self.path(name);
        std::fs::read(&path).map_err(|error| Error::io("read", &path, error))
    }

    /// Keeps the text of a kernel: its name.
    pub(super) fn keep_kernel(&self, text: &str) -> Result<String, Error> {
        let name = format!("kernels/{}.wgsl", digest(&[text.as_bytes()]));
        self.keep(&name, &[text.as_bytes()])?;
        Ok(name)
    }

    pub(super) fn kernel(&self, name: &str) -> Result<String, Error> {
        let wrong =
            |_| Error::format("the text of a kernel is not UTF-8").in_file(&self.path(name));
        String::from_utf8(self.read(name)?).map_err(wrong)
    }

    fn keep_array(&self, descr: &str, dims: &[usize], bytes: &[u8]) -> Result<String, Error> {
        let header = Header {
            descr: descr.to_owned(),
            fortran: false,
            shape: dims.to_vec(),
        };
        let header = header.write();
        let header = header.ok_or_else(|| Error::format("the shape has too many axes"))?;
        let name = format!("values/{}.npy", digest(&[&header, bytes]));
        self.keep(&name, &[&header, bytes])?;
        Ok(name)
    }

    /// The data of an npy file, which must be so many bytes.
    fn array(&self, name: &str, bytes: u64) -> Result<Vec<u8>, Error> {
        let file = self.read(name)?;
        let wrong = |detail: String| Error::format(detail).in_file(&self.path(name));
        let (_, data) = Header::read(&file).map_err(|detail| wrong(detail.to_owned()))?;
        if data.len() as u64 != bytes {
            let got = data.len();
            return Err(wrong(format!(
                "{bytes} bytes of data were recorded, there are {got}"
            )));
        }
        Ok(data.to_vec())
    }

    /// Reads what is in a buffer now, and keeps it.
    pub(super) fn keep_buffer(&self, device: &Device, buffer: &Buffer) -> Result<Value, Error> {
        let bytes = read(device, buffer, 0..buffer.bytes())?;
        let file = self.keep_array("|u1", &[bytes.len()], &bytes)?;
        Ok(json!({ "bytes": buffer.bytes(), "file": file }))
    }

    pub(super) fn buffer(&self, value: &Value) -> Result<(u64, Option<Vec<u8>>), Error> {
        let bytes = value["bytes"].as_u64();
        let bytes = bytes.ok_or_else(|| Error::format("a buffer has no size"))?;
        let content = match value["file"].as_str() {
            Some(name) => Some(self.array(name, bytes)?),
            None => None,
        };
        Ok((bytes, content))
    }

    /// Reads the values of a view now, and keeps them with the way that they lie in memory.
    pub(super) fn keep_view(&self, device: &Device, view: &View) -> Result<Value, Error> {
        let (low, high) = span(&view.layout);
        let (layout, dtype) = (&view.layout, view.dtype);
        let width = dtype.bytes() as u64;
        let bytes = read(
            device,
            &view.buffer,
            low as u64 * width..high as u64 * width,
        )?;
        let is_dense = layout.is_contiguous();
        let dims = if is_dense {
            layout.dims().to_vec()
        } else {
            vec![high - low]
        };
        // npy has no bf16: its bits are written.
        let descr = dtype.info().npy.unwrap_or("<u2");
        let mut value = json!({
            "dtype": dtype.name(),
            "shape": layout.dims(),
            "file": self.keep_array(descr, &dims, &bytes)?,
        });
        if !is_dense && let Some(fields) = value.as_object_mut() {
            fields.insert("strides".to_owned(), json!(layout.strides()));
            fields.insert("offset".to_owned(), json!(layout.offset() - low));
        }
        Ok(value)
    }

    /// The data of a recorded view, and how they lie.
    pub(super) fn view(&self, value: &Value) -> Result<(DType, Layout, Vec<u8>), Error> {
        let (dtype, layout) = form(value)?;
        let (_, end) = span(&layout);
        let name = value["file"].as_str();
        let name = name.ok_or_else(|| Error::format("a value has no file"))?;
        let bytes = (end as u64).saturating_mul(dtype.bytes() as u64);
        Ok((dtype, layout, self.array(name, bytes)?))
    }
}

/// The elements of a buffer that a layout touches: the first, and the one behind the last.
fn span(layout: &Layout) -> (usize, usize) {
    layout.span().map_or((0, 0), |(low, high)| (low, high + 1))
}

fn read(device: &Device, buffer: &Buffer, range: std::ops::Range<u64>) -> Result<Vec<u8>, Error> {
    let fail = |error| Error::from_kernel("record_calls", KernelError::Memory(error));
    let read = device.executor().memory().read(buffer, range);
    read.and_then(|read| read.wait()).map_err(fail)
}

fn numbers<T>(value: &Value, convert: impl Fn(&Value) -> Option<T>) -> Option<Vec<T>> {
    value.as_array()?.iter().map(convert).collect()
}

/// Dtype and layout of a recorded view.
pub(super) fn form(value: &Value) -> Result<(DType, Layout), Error> {
    let wrong = |what: &str| Error::format(format!("a value has no valid {what}"));
    let size = |value: &Value| {
        value
            .as_u64()
            .and_then(|number| usize::try_from(number).ok())
    };
    let dtype = value["dtype"].as_str().ok_or_else(|| wrong("dtype"))?;
    let dtype = DType::ALL.into_iter().find(|known| known.name() == dtype);
    let dtype = dtype.ok_or_else(|| wrong("dtype"))?;
    let dims = numbers(&value["shape"], size).ok_or_else(|| wrong("shape"))?;
    let shape = Shape::new(&dims[..]).map_err(|_| wrong("shape"))?;
    let layout = match &value["strides"] {
        Value::Null => Layout::contiguous(shape),
        strides => {
            let stride = |value: &Value| value.as_i64().and_then(|n| isize::try_from(n).ok());
            let strides = numbers(strides, stride).ok_or_else(|| wrong("strides"))?;
            let offset = size(&value["offset"]).ok_or_else(|| wrong("offset"))?;
            Layout::new(shape, &strides, offset).map_err(|_| wrong("strides"))?
        }
    };
    Ok((dtype, layout))
}
