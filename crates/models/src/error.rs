//! The error of this crate: what a file, a caller or a device did wrong.

use std::path::PathBuf;

use crate::ctranslate2::Ctranslate2Error;
use crate::gguf::GgufError;
use crate::torch::TorchError;

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
    /// A file of CTranslate2 is malformed.
    #[error("{}: {source}", path.display())]
    Ctranslate2 {
        /// Which file; empty for one that is given as bytes.
        path: PathBuf,
        /// What is wrong, and where.
        source: Ctranslate2Error,
    },
    /// A file of PyTorch that cannot be read.
    #[error("{}: {source}", path.display())]
    Torch {
        /// Which file; empty for one that is given as bytes.
        path: PathBuf,
        /// What is wrong, and where.
        source: TorchError,
    },
    /// A file has no tensor of this name.
    #[error("the file has no tensor `{name}`")]
    MissingTensor {
        /// The name that was looked for.
        name: String,
    },
    /// A tensor has other extents than the metadata says.
    #[error("the tensor `{name}` must be {expected:?}: it is {found:?}")]
    WrongTensor {
        /// The tensor.
        name: String,
        /// The extents that follow from the metadata.
        expected: Vec<usize>,
        /// Those in the file.
        found: Vec<usize>,
    },
    /// A key that a model needs is not in the metadata.
    #[error("the metadata has no `{0}`")]
    MissingMetadata(String),
    /// A key has a value that no model has.
    #[error("`{key}` of the metadata must be {expected}")]
    WrongMetadata {
        /// The key.
        key: String,
        /// What it must be.
        expected: &'static str,
    },
    /// An architecture that this crate has no decoder for.
    #[error("the architecture `{0}` is not known: `llama`, `mistral`, `qwen2` and `qwen3` are")]
    UnknownArchitecture(String),
    /// Something that a file asks for and that is not supported.
    #[error("{0}: this is not supported")]
    Unsupported(String),
    /// A tokenizer that cannot be read, or a text that it cannot encode.
    #[error("tokenizer: {0}")]
    Tokenizer(String),
    /// More tokens than there is room for.
    #[error("the context must have room for {needed} tokens: it has room for {limit}")]
    ContextFull {
        /// Tokens that there would be.
        needed: usize,
        /// Tokens that there is room for.
        limit: usize,
    },
    /// A token that is not of the model's vocabulary: its tokenizer is another model's.
    #[error("tokens must be below {vocabulary}, the vocabulary of the model: one is {token}")]
    UnknownToken {
        /// The token.
        token: u32,
        /// Tokens of the model's vocabulary.
        vocabulary: usize,
    },
    /// An option of a generation is out of its range.
    #[error("{0}")]
    Options(String),
    /// A batch all of whose slots are taken.
    #[error("the batch must have a free slot: all {slots} are taken")]
    BatchFull {
        /// Slots of the batch.
        slots: usize,
    },
    /// Scores that no token can be drawn from.
    #[error(
        "a token must be drawn from scores that are numbers, not all -infinity: of {0}, one is NaN or none is left"
    )]
    Scores(usize),
    /// Sound that cannot be read or computed with.
    #[error("{0}")]
    Audio(String),
    /// A picture that cannot be read or computed with.
    #[error("{0}")]
    Picture(String),
    /// A chat template that is not valid, or refuses the messages.
    #[error("chat template: {0}")]
    Template(String),
    /// A pass through a model without a token.
    #[error("there must be a token at least")]
    NoTokens,
    /// A device that has less memory than a model or caches take; nothing was uploaded.
    #[error("the device must have {requested} bytes of memory for the model: it has {available}")]
    OutOfMemory {
        /// Bytes of weights and tables, and of what is there while they are loaded or, if that is more, of a sequence as long as there is
        /// to be room for: its keys and values, and the activations of a pass. Or of the caches that are to be made.
        requested: u64,
        /// Bytes that the device still has.
        available: u64,
    },
    /// An operation on tensors, or the device.
    #[error(transparent)]
    Tensor(#[from] ziggurat_tensor::Error),
}
