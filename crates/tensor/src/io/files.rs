//! The same formats by path, on native targets.
//!
//! Invariant: every error names the path.

use std::collections::BTreeMap;
use std::fs;
use std::future::Future;
use std::path::Path;

use ziggurat_device::block_on;

use super::{SafetensorsFile, atomic, npy_from_bytes, npy_to_bytes, safetensors_to_bytes};
use crate::once::once;
use crate::{Device, Error, Tensor};

/// All tensors of a safetensors file, or of the files that an index (`model.safetensors.index.json`) names, by name.
/// [`SafetensorsFile`] loads some of them.
///
/// # Errors
/// As [`SafetensorsFile::open`] and [`SafetensorsFile::load`]; the text names the path.
pub fn load_safetensors(
    device: &Device,
    path: impl AsRef<Path>,
) -> Result<BTreeMap<String, Tensor>, Error> {
    SafetensorsFile::open(path)?.load_where(device, |_| true)
}

/// The array of an npy file.
///
/// # Errors
/// If the file cannot be read, or as [`npy_from_bytes`]; the text names the path.
#[doc(alias = "load")]
pub fn load_npy(device: &Device, path: impl AsRef<Path>) -> Result<Tensor, Error> {
    let path = path.as_ref();
    let bytes = fs::read(path).map_err(|error| Error::io("read", path, error))?;
    npy_from_bytes(device, &bytes).map_err(|error| error.in_file(path))
}

/// Writes tensors to a safetensors file.
///
/// Readers of the path see what was there before or the new file, never a part of it; of several writers the last one's
/// file stays. It takes the place of a file or link of this name, has the permissions of any new file, and is on the disk
/// when the future resolves. The folder must be writable, for a temporary name in it.
///
/// # Errors
/// If the file cannot be written, or as [`safetensors_to_bytes`].
pub fn save_safetensors<P: AsRef<Path>>(
    path: P,
    tensors: &[(&str, &Tensor)],
) -> impl Future<Output = Result<(), Error>> + Send + use<P> {
    save(path.as_ref(), safetensors_to_bytes(tensors))
}

/// [`save_safetensors`], waiting in place.
///
/// # Errors
/// As [`save_safetensors`].
pub fn save_safetensors_blocking(
    path: impl AsRef<Path>,
    tensors: &[(&str, &Tensor)],
) -> Result<(), Error> {
    block_on(save(path.as_ref(), safetensors_to_bytes(tensors)))
}

/// Writes a tensor to an npy file, as [`save_safetensors`] does.
///
/// # Errors
/// If the file cannot be written, or as [`npy_to_bytes`].
#[doc(alias = "save")]
pub fn save_npy<P: AsRef<Path>>(
    path: P,
    tensor: &Tensor,
) -> impl Future<Output = Result<(), Error>> + Send + use<P> {
    save(path.as_ref(), npy_to_bytes(tensor))
}

/// [`save_npy`], waiting in place.
///
/// # Errors
/// As [`save_npy`].
pub fn save_npy_blocking(path: impl AsRef<Path>, tensor: &Tensor) -> Result<(), Error> {
    block_on(save(path.as_ref(), npy_to_bytes(tensor)))
}

/// Writes what a reader of the path sees whole or not at all.
fn save<F>(path: &Path, bytes: F) -> impl Future<Output = Result<(), Error>> + Send + use<F>
where
    F: Future<Output = Result<Vec<u8>, Error>> + Send,
{
    let path = path.to_path_buf();
    once(async move {
        let bytes = bytes.await?;
        atomic::write(&path, &bytes).map_err(|error| Error::io("write", &path, error))
    })
}
