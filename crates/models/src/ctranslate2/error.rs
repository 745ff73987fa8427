//! What is wrong with a file of CTranslate2, and where.

/// A malformed file: what is wrong, and at which byte the wrong field begins.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a valid file of CTranslate2: at byte {offset}: {problem}")]
pub struct Ctranslate2Error {
    /// The first byte of the field.
    pub offset: u64,
    /// What is wrong with it.
    pub problem: Ctranslate2Problem,
}

/// What can be wrong with a field.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Ctranslate2Problem {
    /// A version that is not read.
    #[error("the version must be 6: it is {0}")]
    Version(u32),
    /// The file ends within the field.
    #[error("the file ends within {what}: {needed} bytes are needed, {left} are left")]
    Truncated {
        /// The field.
        what: &'static str,
        /// Bytes that it takes.
        needed: u64,
        /// Bytes up to the end of the file.
        left: u64,
    },
    /// A string is not UTF-8 with a zero at its end.
    #[error("{0} must be UTF-8 with a zero at its end")]
    Text(&'static str),
    /// A type of elements that does not exist.
    #[error("the elements of `{name}` have the type {id}, and there are types 0 to 5")]
    ElementType {
        /// The tensor.
        name: String,
        /// The number of the type.
        id: u8,
    },
    /// The size of a tensor is not that of its elements.
    #[error(
        "the tensor `{name}` of {dims:?} elements of {width} bytes has a size of {bytes} bytes"
    )]
    Size {
        /// The tensor.
        name: String,
        /// Its extents.
        dims: Vec<usize>,
        /// Bytes of an element.
        width: u64,
        /// Bytes that the file says.
        bytes: u64,
    },
    /// Two tensors or aliases have the same name.
    #[error("the name `{0}` is there twice")]
    Duplicate(String),
    /// An alias of something that is no tensor of the file.
    #[error("the alias `{alias}` stands for `{name}`, which is no tensor of the file")]
    Alias {
        /// The alias.
        alias: String,
        /// What it stands for.
        name: String,
    },
    /// The file goes on behind its last field.
    #[error("the file must end here: {0} bytes follow")]
    Rest(u64),
}
