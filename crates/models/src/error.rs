//! The error of this crate: what a file, a caller or a device did wrong.

use std::path::PathBuf;

use crate::gguf::GgufError;

/// Why a model file cannot be read or run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file cannot be opened, read or mapped.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A GGUF file is malformed.
    #[error("{}: {source}", path.display())]
    Gguf {
        /// Which file; empty for one that is given as bytes.
        path: PathBuf,
        /// What is wrong, and where.
        source: GgufError,
    },
    /// A file has no tensor of this name.
    #[error("the file has no tensor `{name}`")]
    MissingTensor {
        /// The name that was looked for.
        name: String,
    },
    /// An operation on tensors, or the device.
    #[error(transparent)]
    Tensor(#[from] ziggurat_tensor::Error),
}
