//! The formats of a tensor's data.

use std::fmt;

use ziggurat_tensor::{BlockFormat, DType, Element as _, bf16, f16};

/// How the elements of a tensor are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BlockType {
    /// As they are: f32, f16 or bf16.
    Plain(DType),
    /// Quantised in blocks that share scales.
    Blocks(BlockFormat),
}

/// Plain formats with their numbers in files.
const PLAIN: [(DType, u32); 3] = [(DType::F32, 0), (DType::F16, 1), (DType::BF16, 30)];

impl BlockType {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        let plain = PLAIN.iter().map(|(dtype, _)| Self::Plain(*dtype));
        plain.chain(BlockFormat::ALL.iter().copied().map(Self::Blocks))
    }

    /// The format with this number in files.
    pub fn from_id(id: u32) -> Option<Self> {
        let plain = PLAIN.iter().find(|(_, own)| *own == id);
        let plain = plain.map(|(dtype, _)| Self::Plain(*dtype));
        plain.or_else(|| BlockFormat::from_id(id).map(Self::Blocks))
    }

    /// Elements of a block.
    pub const fn elements(self) -> usize {
        match self {
            Self::Plain(_) => 1,
            Self::Blocks(format) => format.elements(),
        }
    }

    /// Bytes of a block.
    pub const fn bytes(self) -> usize {
        match self {
            Self::Plain(dtype) => dtype.bytes(),
            Self::Blocks(format) => format.bytes(),
        }
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plain(DType::F16) => "F16",
            Self::Plain(DType::BF16) => "BF16",
            Self::Plain(_) => "F32",
            Self::Blocks(format) => format.name(),
        }
    }

    /// The numbers of whole blocks, computed on the host: the reference of every format.
    ///
    /// `None` if the bytes are no whole blocks.
    pub fn dequantise(self, bytes: &[u8]) -> Option<Vec<f32>> {
        match self {
            Self::Blocks(format) => format.dequantize(bytes),
            Self::Plain(dtype) if !bytes.len().is_multiple_of(dtype.bytes()) => None,
            Self::Plain(DType::F16) => Some(
                f16::read_bytes(bytes)
                    .into_iter()
                    .map(f16::to_f32)
                    .collect(),
            ),
            Self::Plain(DType::BF16) => Some(
                bf16::read_bytes(bytes)
                    .into_iter()
                    .map(bf16::to_f32)
                    .collect(),
            ),
            Self::Plain(_) => Some(f32::read_bytes(bytes)),
        }
    }
}

impl fmt::Display for BlockType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
