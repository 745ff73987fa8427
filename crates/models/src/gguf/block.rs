//! The formats of a tensor's data.

macro_rules! block_types {
    ($($name:ident $id:literal $elements:literal $bytes:literal $what:literal;)*) => {
        /// How the elements of a tensor are stored: plain, or quantised in blocks that share a scale.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        #[allow(non_camel_case_types, reason = "the names that the format has everywhere")]
        pub enum BlockType {
            $(#[doc = $what] $name,)*
        }

        impl BlockType {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The format with this number in files.
            pub const fn from_id(id: u32) -> Option<Self> {
                match id {
                    $($id => Some(Self::$name),)*
                    _ => None,
                }
            }

            /// Its number in files.
            pub const fn id(self) -> u32 {
                match self { $(Self::$name => $id,)* }
            }

            /// Elements of a block.
            pub const fn elements(self) -> usize {
                match self { $(Self::$name => $elements,)* }
            }

            /// Bytes of a block.
            pub const fn bytes(self) -> usize {
                match self { $(Self::$name => $bytes,)* }
            }

            /// Its name.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name),)* }
            }
        }
    };
}

block_types! {
    F32 0 1 4 "32-bit floats.";
    F16 1 1 2 "16-bit floats.";
    Q4_0 2 32 18 "4 bits with a scale per 32 elements.";
    Q4_1 3 32 20 "4 bits with a scale and a minimum per 32 elements.";
    Q5_0 6 32 22 "5 bits with a scale per 32 elements.";
    Q5_1 7 32 24 "5 bits with a scale and a minimum per 32 elements.";
    Q8_0 8 32 34 "8 bits with a scale per 32 elements.";
    Q2_K 10 256 84 "2 bits; 16 groups per block, with 4-bit scales and minima.";
    Q3_K 11 256 110 "3 bits; 16 groups per block, with 6-bit scales.";
    Q4_K 12 256 144 "4 bits; 8 groups per block, with 6-bit scales and minima.";
    Q5_K 13 256 176 "5 bits; 8 groups per block, with 6-bit scales and minima.";
    Q6_K 14 256 210 "6 bits; 16 groups per block, with 8-bit scales.";
    BF16 30 1 2 "The upper half of 32-bit floats.";
}

impl std::fmt::Display for BlockType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
