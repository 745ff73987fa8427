//! What is wrong with a GGUF file, and where.

/// A malformed GGUF file: what is wrong, and at which byte the wrong field begins.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a valid GGUF file: at byte {offset}: {problem}")]
pub struct GgufError {
    /// The first byte of the field.
    pub offset: u64,
    /// What is wrong with it.
    pub problem: GgufProblem,
}

/// What can be wrong with a field of a GGUF file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GgufProblem {
    /// The file does not begin with `GGUF`.
    #[error("the file must begin with `GGUF`: it begins with the bytes {0:02x?}")]
    Magic([u8; 4]),
    /// A version that is not read.
    #[error("the version must be 2 or 3: it is {0}")]
    Version(u32),
    /// A file of a machine with the other order of bytes.
    #[error("the file is big-endian, and only little-endian ones are read")]
    BigEndian,
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
    /// A count of things for which the rest of the file is too small.
    #[error(
        "the file says {count} {what}, which take at least {least} bytes each: {left} bytes are left"
    )]
    Count {
        /// What is counted.
        what: &'static str,
        /// How many the file says.
        count: u64,
        /// The fewest bytes that one takes.
        least: u64,
        /// Bytes up to the end of the file.
        left: u64,
    },
    /// The head is larger than any real one.
    #[error("the head takes more than {0} bytes")]
    HeadTooLarge(u64),
    /// A string is not UTF-8.
    #[error("{0} is not UTF-8")]
    Utf8(&'static str),
    /// A type of value that does not exist.
    #[error("the value of `{key}` has the type {id}, and there are types 0 to 12")]
    ValueType {
        /// The key.
        key: String,
        /// The number in the file.
        id: u32,
    },
    /// A bool that is neither 0 nor 1.
    #[error("a bool must be 0 or 1: it is {0}")]
    Bool(u8),
    /// Arrays within arrays within arrays.
    #[error("the arrays of `{0}` are nested too deeply")]
    Nesting(String),
    /// A key, or the name of a tensor, that is there twice.
    #[error("{what} `{name}` is there twice")]
    Twice {
        /// Key or tensor.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// An alignment that is no multiple of 8.
    #[error("`general.alignment` must be a u32 that is a multiple of 8: it is {0}")]
    Alignment(String),
    /// A tensor with too many extents.
    #[error("the tensor `{name}` has {rank} dimensions, the most are 4")]
    Rank {
        /// The tensor.
        name: String,
        /// The number in the file.
        rank: u32,
    },
    /// A tensor whose number of elements, or bytes, is beyond 64 bits.
    #[error("the tensor `{name}` has the extents {dims:?}, whose product is too large")]
    Elements {
        /// The tensor.
        name: String,
        /// Its extents, the fastest first.
        dims: Vec<u64>,
    },
    /// A format of blocks that is not known.
    #[error("the tensor `{name}` has the format {id}, which is not supported")]
    BlockType {
        /// The tensor.
        name: String,
        /// The number in the file.
        id: u32,
    },
    /// Rows that are no whole blocks.
    #[error(
        "the rows of the tensor `{name}` have {extent} elements, no multiple of the {block} of a block"
    )]
    Row {
        /// The tensor.
        name: String,
        /// Elements of a row.
        extent: u64,
        /// Elements of a block.
        block: u64,
    },
    /// Data at an offset that is not aligned.
    #[error("the data of the tensor `{name}` is at {at}, no multiple of the alignment {alignment}")]
    Unaligned {
        /// The tensor.
        name: String,
        /// Its offset within the data.
        at: u64,
        /// The file's alignment.
        alignment: u64,
    },
    /// Data beyond the end of the file.
    #[error("the data of the tensor `{name}` ends at byte {end}, beyond the file's {total}")]
    Beyond {
        /// The tensor.
        name: String,
        /// The end of its data in the file.
        end: u64,
        /// The file's bytes.
        total: u64,
    },
    /// Two tensors that share bytes.
    #[error("the tensors `{first}` and `{second}` share bytes")]
    Overlap {
        /// The tensor that begins first.
        first: String,
        /// The one that begins before the first ends.
        second: String,
    },
}
