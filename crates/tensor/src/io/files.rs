//! The same formats by path, on native targets.
//!
//! Invariant: every error names the path.

use std::collections::BTreeMap;
use std::fs;
use std::future::Future;
use std::path::Path;

use ziggurat_device::block_on;

use super::{npy_from_bytes, npy_to_bytes, safetensors_from_bytes, safetensors_to_bytes};
use crate::{Device, Error, Tensor};

/// The tensors of a safetensors file, by name.
///
/// # Errors
/// If the file cannot be read, or as [`safetensors_from_bytes`]; the text names the path.
pub fn load_safetensors(
    device: &Device,
    path: impl AsRef<Path>,
) -> Result<BTreeMap<String, Tensor>, Error> {
    let path = path.as_ref();
    safetensors_from_bytes(device, &read(path)?).map_err(|error| error.in_file(path))
}

/// The array of an npy file.
///
/// # Errors
/// If the file cannot be read, or as [`npy_from_bytes`]; the text names the path.
pub fn load_npy(device: &Device, path: impl AsRef<Path>) -> Result<Tensor, Error> {
    let path = path.as_ref();
    npy_from_bytes(device, &read(path)?).map_err(|error| error.in_file(path))
}

/// Writes tensors to a safetensors file, which appears only once it is complete.
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

/// Writes a tensor to an npy file, which appears only once it is complete.
///
/// # Errors
/// If the file cannot be written, or as [`npy_to_bytes`].
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

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    fs::read(path).map_err(|error| Error::io("read", path, error))
}

/// Writes beside the path and renames, so that a failure leaves no half-written file under the name.
fn save<F>(path: &Path, bytes: F) -> impl Future<Output = Result<(), Error>> + Send + use<F>
where
    F: Future<Output = Result<Vec<u8>, Error>> + Send,
{
    let path = path.to_path_buf();
    async move {
        let bytes = bytes.await?;
        let mut name = path.file_name().unwrap_or_default().to_os_string();
        name.push(format!(".{}.part", std::process::id()));
        let part = path.with_file_name(name);
        let fail = |error| Error::io("write", &path, error);
        let written = fs::write(&part, bytes)
            .and_then(|()| fs::rename(&part, &path))
            .map_err(fail);
        if written.is_err() {
            // What could not be completed is of no use; that it cannot be removed either changes nothing.
            let _ignored = fs::remove_file(&part);
        }
        written
    }
}
