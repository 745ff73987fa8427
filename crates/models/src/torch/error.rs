//! What is wrong with a file of PyTorch, and where.

/// A file that cannot be read: what is wrong, and at which byte the wrong field begins.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a file of tensors by PyTorch: at byte {offset}: {problem}")]
pub struct TorchError {
    /// The first byte of the field.
    pub offset: u64,
    /// What is wrong with it.
    pub problem: TorchProblem,
}

/// What can be wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TorchProblem {
    /// Neither of the two layouts.
    #[error("the file must be a ZIP archive or begin with PyTorch's number")]
    Magic,
    /// The file ends within the field.
    #[error("the file ends within {what}: {needed} bytes are needed, {left} are left")]
    Truncated {
        /// The field.
        what: &'static str,
        /// Bytes that it takes.
        needed: u64,
        /// Bytes up to the end.
        left: u64,
    },
    /// A field has a value that it cannot have, or that is not read.
    #[error("{what} must be {expected}")]
    Field {
        /// The field.
        what: &'static str,
        /// What it must be.
        expected: &'static str,
    },
    /// An instruction of pickles that a dictionary of tensors does not need.
    #[error("the pickle's instruction {0:#04x} is not read")]
    Instruction(u8),
    /// Something that the file would call.
    #[error("the file calls `{0}`, and nothing but what makes tensors and dictionaries is known")]
    Call(String),
    /// A class of memory that is not known.
    #[error("the class of memory `{0}` is not known")]
    Class(String),
    /// A tensor goes beyond its memory, or its memory is not in the file as it says.
    #[error("the tensor `{name}` must lie within its memory: {detail}")]
    Memory {
        /// The tensor.
        name: String,
        /// Of what size both are.
        detail: String,
    },
    /// Two tensors have the same name.
    #[error("the name `{0}` is there twice")]
    Duplicate(String),
}
