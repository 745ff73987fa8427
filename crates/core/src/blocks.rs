//! [`BlockFormat`]: numbers of few bits in blocks that share scales, as GGUF files hold them.
//!
//! The table here is the only list of formats; [`BlockFormat::dequantize`] is the reference of each, for files and for kernels.

use std::fmt;

mod dequantize;
mod k_blocks;
mod quantize;

pub use quantize::QuantizeError;

/// One field of a block: where it begins, how many bytes it has, and how kernels read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockField {
    /// Its first byte in a block.
    pub start: usize,
    /// Its bytes.
    pub bytes: usize,
    /// What becomes of them on a device.
    pub layout: FieldLayout,
}

/// How a device holds a field of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldLayout {
    /// As files hold it.
    AsIs,
    /// Twelve bytes, which pack the scales and minima of eight groups in 6 bits each, become sixteen of a byte each. A word of four bytes
    /// has two neighbouring groups, both scales and then both minima, so that a kernel reads one word and shifts once.
    Groups,
    /// Sixteen bytes, a signed scale for each group, are stored plus 128 and reordered. Sixteen bytes of integers belong to groups `g` and
    /// `g + 4`; a word has the scales of groups `g`, `g + 1`, `g + 4` and `g + 5`, which two such pieces share.
    SignedGroups,
}

impl BlockField {
    /// Its bytes on a device.
    #[must_use]
    pub const fn device_bytes(&self) -> usize {
        match self.layout {
            FieldLayout::AsIs | FieldLayout::SignedGroups => self.bytes,
            FieldLayout::Groups => 16,
        }
    }
}

macro_rules! layout {
    () => {
        FieldLayout::AsIs
    };
    ($layout:ident) => {
        FieldLayout::$layout
    };
}

macro_rules! block_formats {
    ($($name:ident $id:literal $elements:literal [$($start:literal $bytes:literal $($layout:ident)?),*] [$($half:literal),*] $what:literal;)*) => {
        /// How elements are quantised: in blocks of neighbours along the last axis, which share scales.
        ///
        /// ```
        /// use ziggurat_core::BlockFormat;
        ///
        /// let format = BlockFormat::Q8_0;
        /// assert_eq!((format.elements(), format.bytes()), (32, 34));
        /// assert_eq!(BlockFormat::from_id(8), Some(format));
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        #[allow(non_camel_case_types, reason = "the names that the formats have everywhere")]
        pub enum BlockFormat {
            $(#[doc = $what] $name,)*
        }

        impl BlockFormat {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The format with this number in GGUF files.
            #[must_use]
            pub const fn from_id(id: u32) -> Option<Self> {
                match id {
                    $($id => Some(Self::$name),)*
                    _ => None,
                }
            }

            /// Its number in GGUF files.
            #[must_use]
            pub const fn id(self) -> u32 {
                match self { $(Self::$name => $id,)* }
            }

            /// Elements of a block.
            #[must_use]
            pub const fn elements(self) -> usize {
                match self { $(Self::$name => $elements,)* }
            }

            /// Bytes of a block.
            #[must_use]
            pub const fn bytes(self) -> usize {
                match self { $(Self::$name => 0 $(+ $bytes)*,)* }
            }

            /// The fields of a block, that with the most bits of every element first, which has a multiple of 16 bytes.
            #[must_use]
            pub const fn fields(self) -> &'static [BlockField] {
                match self {
                    $(Self::$name => &[$(BlockField {
                        start: $start,
                        bytes: $bytes,
                        layout: layout!($($layout)?),
                    },)*],)*
                }
            }

            /// Where f16 numbers stand in a block: scales, minima, or scales of these.
            #[must_use]
            pub const fn halves(self) -> &'static [usize] {
                match self { $(Self::$name => &[$($half,)*],)* }
            }

            /// Its name.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name),)* }
            }
        }
    };
}

block_formats! {
    Q4_0 2 32 [2 16, 0 2] [0] "4 bits with a scale per 32 elements.";
    Q4_1 3 32 [4 16, 0 4] [0, 2] "4 bits with a scale and a minimum per 32 elements.";
    Q5_0 6 32 [6 16, 2 4, 0 2] [0] "5 bits with a scale per 32 elements.";
    Q5_1 7 32 [8 16, 4 4, 0 4] [0, 2] "5 bits with a scale and a minimum per 32 elements.";
    Q8_0 8 32 [2 32, 0 2] [0] "8 bits with a scale per 32 elements.";
    Q2_K 10 256 [16 64, 0 16, 80 4] [80, 82] "2 bits; 16 groups per block, with 4-bit scales and minima.";
    Q3_K 11 256 [32 64, 0 32, 96 12, 108 2] [108] "3 bits; 16 groups per block, with 6-bit scales.";
    Q4_K 12 256 [16 128, 4 12 Groups, 0 4] [0, 2] "4 bits; 8 groups per block, with 6-bit scales and minima.";
    Q5_K 13 256 [48 128, 16 32, 4 12 Groups, 0 4] [0, 2] "5 bits; 8 groups per block, with 6-bit scales and minima.";
    Q6_K 14 256 [0 128, 128 64, 192 16 SignedGroups, 208 2] [208] "6 bits; 16 groups per block, with 8-bit scales.";
}

impl BlockFormat {
    /// Whether every finite number of whole blocks is finite as f16 too.
    #[must_use]
    pub fn fits_f16(self, bytes: &[u8]) -> bool {
        // No number is more than 4,096 of a scale and 4,096 of a minimum.
        const SURE: f32 = 65_504.0 / 8192.0;
        let half = |block: &[u8], at: usize| {
            let bits = block.get(at..).and_then(|rest| rest.first_chunk());
            bits.map_or(0.0, |bits| half::f16::from_le_bytes(*bits).to_f32())
        };
        let fits = |number: &f32| !number.is_finite() || half::f16::from_f32(*number).is_finite();
        bytes.chunks_exact(self.bytes()).all(|block| {
            let mut halves = self.halves().iter();
            halves.all(|&at| half(block, at).abs() <= SURE)
                || (self.dequantize(block)).is_some_and(|numbers| numbers.iter().all(fits))
        })
    }
}

impl fmt::Display for BlockFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_cover_a_block_without_overlap() {
        let bytes = BlockFormat::ALL.iter().map(|format| format.bytes());
        assert_eq!(
            bytes.collect::<Vec<_>>(),
            [18, 20, 22, 24, 34, 84, 110, 144, 176, 210]
        );
        for &format in BlockFormat::ALL {
            let mut fields = format.fields().to_vec();
            assert!(
                fields.len() <= 4 && fields[0].bytes.is_multiple_of(16),
                "{format}"
            );
            fields.sort_by_key(|field| field.start);
            let mut end = 0;
            for field in fields {
                assert_eq!(field.start, end, "{format}");
                assert!(
                    field.bytes == 2 || field.bytes.is_multiple_of(4),
                    "{format}"
                );
                end += field.bytes;
            }
            assert_eq!(BlockFormat::from_id(format.id()), Some(format));
        }
        assert_eq!(BlockFormat::from_id(4), None);
    }

    #[test]
    fn numbers_beyond_f16_are_found() {
        let block = |scale: f32, q: i8| {
            let mut block = half::f16::from_f32(scale).to_le_bytes().to_vec();
            block.extend([q.cast_unsigned(); 32]);
            block
        };
        let fits = |scale, q| BlockFormat::Q8_0.fits_f16(&block(scale, q));
        assert!(fits(1.0, 127) && fits(500.0, 127) && fits(60_000.0, 1));
        assert!(!fits(520.0, 127) && !fits(-520.0, -128));
        // What is not finite anyway stays so.
        assert!(fits(f32::INFINITY, 1) && fits(f32::NAN, 1));
    }
}
