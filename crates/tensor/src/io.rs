//! Tensors in files: safetensors and NumPy's npy.
//!
//! Safetensors are parsed and formatted by the `safetensors` crate; this module maps dtypes, checks lengths, and says in
//! errors which file is meant. The functions on bytes work everywhere; those on paths exist on native targets.
//!
//! Invariant: no value changes silently. f64 and the wide integers, which no tensor holds, are converted when each value
//! fits, and refused otherwise.

#[cfg(not(target_arch = "wasm32"))]
mod files;
mod npy;
mod npy_header;
mod safetensors;
mod wide;

#[cfg(not(target_arch = "wasm32"))]
pub use files::{
    load_npy, load_safetensors, save_npy, save_npy_blocking, save_safetensors,
    save_safetensors_blocking,
};
pub use npy::{npy_from_bytes, npy_to_bytes};
pub use safetensors::{safetensors_from_bytes, safetensors_to_bytes};
