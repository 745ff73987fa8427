//! Tensors in files: safetensors and NumPy's npy.
//!
//! This module maps dtypes, checks lengths, and says in errors which file is meant; the safetensors header is parsed by the
//! `safetensors` crate. The functions on bytes work everywhere; those on paths exist on native targets.
//!
//! Invariants: no value changes silently. f64 and the wide integers, which no tensor holds, are converted when each value
//! fits, and refused otherwise; a byte of a bool that is neither 0 nor 1 is refused. A file that is written appears under
//! its name once it is complete.

#[cfg(not(target_arch = "wasm32"))]
mod atomic;
#[cfg(not(target_arch = "wasm32"))]
mod files;
mod npy;
mod npy_header;
mod safetensors;
#[cfg(not(target_arch = "wasm32"))]
mod safetensors_file;
mod wide;

use ziggurat_core::DType;

use crate::{Device, Error, Tensor};

#[cfg(not(target_arch = "wasm32"))]
pub use files::{
    load_npy, load_safetensors, save_npy, save_npy_blocking, save_safetensors,
    save_safetensors_blocking,
};
pub use npy::{npy_from_bytes, npy_to_bytes};
#[cfg(not(target_arch = "wasm32"))]
pub(crate) use npy_header::Header;
pub use safetensors::{safetensors_from_bytes, safetensors_to_bytes};
#[cfg(not(target_arch = "wasm32"))]
pub use safetensors_file::SafetensorsFile;

/// A tensor of a file's data, whose mistakes are the file's and not the caller's.
fn tensor(device: &Device, data: &[u8], dims: &[usize], dtype: DType) -> Result<Tensor, Error> {
    Tensor::from_bytes(device, data, dims, dtype).map_err(|error| {
        if error.is_shape() || error.is_argument() {
            Error::format(error.to_string())
        } else {
            error
        }
    })
}
