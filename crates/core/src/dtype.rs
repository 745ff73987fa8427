//! The element types, and what each needs to know about itself.
//!
//! The set is small on purpose: it is what WGSL can compute with on every adapter, plus the narrow
//! types that models are stored in. Narrow types are stored densely and read through 32-bit words,
//! hence [`DType::lanes`]; no kernel computes in them, hence [`DType::compute`].
//!
//! Invariant: [`DType::ALL`] lists every variant once, in declaration order.

use std::fmt;
use std::str::FromStr;

mod promote;

use crate::element::codec::Codec;

/// What kind of number a dtype holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DTypeKind {
    /// Binary floating point.
    Float {
        /// Significant bits, the hidden one included.
        digits: u32,
        /// The exponent of the least positive (subnormal) number: it is 2 to the power of this.
        least_exponent: i32,
    },
    /// An integer that wraps.
    Int {
        /// Two's complement, or without a sign.
        signed: bool,
    },
    /// A truth value.
    Bool,
}

/// The facts of one [`DType`], stated once.
#[derive(Debug, Clone, Copy)]
pub struct DTypeInfo {
    /// The short name, as it is displayed and parsed.
    pub name: &'static str,
    /// Bytes that one element takes in storage.
    pub bytes: usize,
    /// The kind of number.
    pub kind: DTypeKind,
    /// The lowest finite value.
    pub lowest: f64,
    /// The greatest finite value.
    pub greatest: f64,
    /// The type that a kernel computes in after loading this one.
    pub compute: DType,
    /// The type that sums and products of many elements have, as PyTorch's, with i32 for its i64.
    pub sum: DType,
    /// The type string of npy files (little endian), if the format has one.
    pub npy: Option<&'static str>,
    /// The name in safetensors files.
    pub safetensors: &'static str,
    pub(crate) codec: Codec,
}

/// (2⁸ − 1) · 2¹²⁰, all that 8 significant bits hold below 2¹²⁸.
const BF16_GREATEST: f64 = 255.0 * (1_u128 << 120) as f64;

macro_rules! dtypes {
    ($($(#[$doc:meta])* $variant:ident of $element:ty { $($field:ident: $value:expr,)* })*) => {
        /// The type of a tensor's elements.
        ///
        /// ```
        /// use ziggurat_core::DType;
        ///
        /// assert_eq!(DType::BF16.to_string(), "bf16");
        /// assert_eq!("u8".parse(), Ok(DType::U8));
        /// assert_eq!(DType::F16.bytes(), 2);
        /// assert_eq!(DType::F16.promote(DType::I32), DType::F16);
        /// ```
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum DType { $($(#[$doc])* $variant,)* }

        impl DType {
            /// Every element type, in declaration order.
            pub const ALL: [Self; [$(Self::$variant,)*].len()] = [$(Self::$variant,)*];

            /// The dtype's facts.
            ///
            /// ```
            /// use ziggurat_core::DType;
            ///
            /// assert_eq!(DType::F16.info().greatest, 65504.0);
            /// assert_eq!(DType::I8.info().npy, Some("|i1"));
            /// ```
            #[must_use]
            pub const fn info(self) -> &'static DTypeInfo {
                match self {
                    $(Self::$variant => const { &DTypeInfo {
                        $($field: $value,)*
                        codec: Codec::of::<$element>(),
                    } },)*
                }
            }
        }
    };
}

dtypes! {
    /// IEEE 754 binary32.
    F32 of f32 {
        name: "f32",
        bytes: 4,
        kind: DTypeKind::Float { digits: 24, least_exponent: -149 },
        lowest: f32::MIN as f64,
        greatest: f32::MAX as f64,
        compute: DType::F32,
        sum: DType::F32,
        npy: Some("<f4"),
        safetensors: "F32",
    }
    /// IEEE 754 binary16: 11 significant bits, up to 65504.
    F16 of half::f16 {
        name: "f16",
        bytes: 2,
        kind: DTypeKind::Float { digits: 11, least_exponent: -24 },
        lowest: -65504.0,
        greatest: 65504.0,
        compute: DType::F32,
        sum: DType::F16,
        npy: Some("<f2"),
        safetensors: "F16",
    }
    /// The upper half of a binary32: 8 significant bits, the range of [`DType::F32`].
    BF16 of half::bf16 {
        name: "bf16",
        bytes: 2,
        kind: DTypeKind::Float { digits: 8, least_exponent: -133 },
        lowest: -BF16_GREATEST,
        greatest: BF16_GREATEST,
        compute: DType::F32,
        sum: DType::BF16,
        npy: None,
        safetensors: "BF16",
    }
    /// Two's-complement 32-bit integer.
    I32 of i32 {
        name: "i32",
        bytes: 4,
        kind: DTypeKind::Int { signed: true },
        lowest: i32::MIN as f64,
        greatest: i32::MAX as f64,
        compute: DType::I32,
        sum: DType::I32,
        npy: Some("<i4"),
        safetensors: "I32",
    }
    /// Unsigned 32-bit integer.
    U32 of u32 {
        name: "u32",
        bytes: 4,
        kind: DTypeKind::Int { signed: false },
        lowest: 0.0,
        greatest: u32::MAX as f64,
        compute: DType::U32,
        sum: DType::U32,
        npy: Some("<u4"),
        safetensors: "U32",
    }
    /// Unsigned byte.
    U8 of u8 {
        name: "u8",
        bytes: 1,
        kind: DTypeKind::Int { signed: false },
        lowest: 0.0,
        greatest: 255.0,
        compute: DType::U32,
        sum: DType::I32,
        npy: Some("|u1"),
        safetensors: "U8",
    }
    /// Two's-complement byte.
    I8 of i8 {
        name: "i8",
        bytes: 1,
        kind: DTypeKind::Int { signed: true },
        lowest: -128.0,
        greatest: 127.0,
        compute: DType::I32,
        sum: DType::I32,
        npy: Some("|i1"),
        safetensors: "I8",
    }
    /// Truth value, stored as one byte: 0 or 1.
    Bool of bool {
        name: "bool",
        bytes: 1,
        kind: DTypeKind::Bool,
        lowest: 0.0,
        greatest: 1.0,
        compute: DType::Bool,
        sum: DType::I32,
        npy: Some("|b1"),
        safetensors: "BOOL",
    }
}

impl DType {
    /// Bytes that one element takes in storage.
    ///
    /// ```
    /// assert_eq!(ziggurat_core::DType::Bool.bytes(), 1);
    /// ```
    #[must_use]
    pub const fn bytes(self) -> usize {
        self.info().bytes
    }

    /// The short name, as it is displayed and parsed.
    ///
    /// ```
    /// assert_eq!(ziggurat_core::DType::I8.name(), "i8");
    /// ```
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.info().name
    }

    /// Is it a floating-point type?
    ///
    /// ```
    /// use ziggurat_core::DType;
    ///
    /// assert!(DType::BF16.is_float());
    /// assert!(!DType::I32.is_float());
    /// ```
    #[must_use]
    pub const fn is_float(self) -> bool {
        matches!(self.info().kind, DTypeKind::Float { .. })
    }

    /// Is it an integer type? [`DType::Bool`] is not one.
    ///
    /// ```
    /// use ziggurat_core::DType;
    ///
    /// assert!(DType::U8.is_int());
    /// assert!(!DType::Bool.is_int());
    /// ```
    #[must_use]
    pub const fn is_int(self) -> bool {
        matches!(self.info().kind, DTypeKind::Int { .. })
    }

    /// Can it hold a negative value?
    ///
    /// ```
    /// use ziggurat_core::DType;
    ///
    /// assert!(DType::F16.is_signed() && DType::I8.is_signed());
    /// assert!(!DType::U8.is_signed() && !DType::Bool.is_signed());
    /// ```
    #[must_use]
    pub const fn is_signed(self) -> bool {
        matches!(
            self.info().kind,
            DTypeKind::Float { .. } | DTypeKind::Int { signed: true }
        )
    }

    /// Is it [`DType::Bool`]?
    ///
    /// ```
    /// assert!(ziggurat_core::DType::Bool.is_bool());
    /// ```
    #[must_use]
    pub const fn is_bool(self) -> bool {
        matches!(self.info().kind, DTypeKind::Bool)
    }

    /// Elements in one 32-bit word of storage: 1, 2 or 4.
    ///
    /// ```
    /// assert_eq!(ziggurat_core::DType::F16.lanes(), 2);
    /// ```
    #[must_use]
    pub const fn lanes(self) -> usize {
        4 / self.bytes()
    }

    /// The type that a kernel computes in after loading this one.
    ///
    /// ```
    /// use ziggurat_core::DType;
    ///
    /// assert_eq!(DType::BF16.compute(), DType::F32);
    /// assert_eq!(DType::I8.compute(), DType::I32);
    /// assert_eq!(DType::Bool.compute(), DType::Bool);
    /// ```
    #[must_use]
    pub const fn compute(self) -> Self {
        self.info().compute
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for DType {
    type Err = ParseDTypeError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|dtype| dtype.name() == name)
            .ok_or_else(|| ParseDTypeError {
                name: name.to_owned(),
            })
    }
}

/// A name that no [`DType`] has.
///
/// ```
/// let error = "f8".parse::<ziggurat_core::DType>().unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     r#"unknown dtype "f8": expected f32, f16, bf16, i32, u32, u8, i8 or bool"#
/// );
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, thiserror::Error)]
#[error("unknown dtype {name:?}: expected {}", names())]
pub struct ParseDTypeError {
    /// The name given.
    pub name: String,
}

/// Every name: "f32, f16, … or bool".
fn names() -> String {
    let all = DType::ALL.map(DType::name);
    let [first @ .., last] = &all;
    format!("{} or {last}", first.join(", "))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn all_lists_every_variant_once_in_order() {
        assert!(DType::ALL.is_sorted());
        let mut seen = DType::ALL.to_vec();
        seen.dedup();
        assert_eq!(seen.len(), DType::ALL.len());
        // Exhaustive: a new variant does not compile until it is counted here.
        for dtype in DType::ALL {
            let place = match dtype {
                DType::F32 => 0,
                DType::F16 => 1,
                DType::BF16 => 2,
                DType::I32 => 3,
                DType::U32 => 4,
                DType::U8 => 5,
                DType::I8 => 6,
                DType::Bool => 7,
            };
            assert_eq!(DType::ALL[place], dtype);
        }
    }

    #[test]
    fn facts_per_dtype() {
        // dtype, name, bytes, lanes, float, int, signed, compute
        let table = [
            (DType::F32, "f32", 4, 1, true, false, true, DType::F32),
            (DType::F16, "f16", 2, 2, true, false, true, DType::F32),
            (DType::BF16, "bf16", 2, 2, true, false, true, DType::F32),
            (DType::I32, "i32", 4, 1, false, true, true, DType::I32),
            (DType::U32, "u32", 4, 1, false, true, false, DType::U32),
            (DType::U8, "u8", 1, 4, false, true, false, DType::U32),
            (DType::I8, "i8", 1, 4, false, true, true, DType::I32),
            (DType::Bool, "bool", 1, 4, false, false, false, DType::Bool),
        ];
        for (dtype, name, bytes, lanes, float, int, signed, compute) in table {
            assert_eq!(dtype.name(), name);
            assert_eq!(dtype.bytes(), bytes, "{name}");
            assert_eq!(dtype.lanes(), lanes, "{name}");
            assert_eq!(dtype.is_float(), float, "{name}");
            assert_eq!(dtype.is_int(), int, "{name}");
            assert_eq!(dtype.is_signed(), signed, "{name}");
            assert_eq!(dtype.is_bool(), dtype == DType::Bool, "{name}");
            assert_eq!(dtype.compute(), compute, "{name}");
        }
    }

    #[test]
    fn bounds_and_tags_of_each_dtype() {
        for dtype in DType::ALL {
            let info = dtype.info();
            for bound in [info.lowest, info.greatest] {
                assert_eq!(crate::round_to(dtype, bound), bound, "{dtype}");
            }
            match info.kind {
                DTypeKind::Float {
                    digits,
                    least_exponent,
                } => {
                    let epsilon = f64::powi(2.0, 1 - digits as i32);
                    assert_eq!(
                        crate::round_to(dtype, 1.0 + epsilon),
                        1.0 + epsilon,
                        "{dtype}"
                    );
                    assert_eq!(crate::round_to(dtype, 1.0 + epsilon / 4.0), 1.0, "{dtype}");
                    let least = f64::powi(2.0, least_exponent);
                    assert_eq!(crate::round_to(dtype, least), least, "{dtype}");
                    assert_eq!(crate::round_to(dtype, least / 4.0), 0.0, "{dtype}");
                    assert!(crate::round_to(dtype, info.greatest * (1.0 + epsilon)).is_infinite());
                }
                DTypeKind::Int { .. } => {
                    let states = f64::powi(2.0, 8 * info.bytes as i32);
                    assert_eq!(info.greatest - info.lowest + 1.0, states, "{dtype}");
                }
                DTypeKind::Bool => assert_eq!((info.lowest, info.greatest), (0.0, 1.0)),
            }
            let width = info.bytes.to_string();
            assert!(info.npy.is_none_or(|tag| tag.ends_with(&width)), "{dtype}");
            assert_eq!(info.safetensors.to_lowercase(), info.name);
            assert_eq!(info.sum.info().sum, info.sum, "{dtype}");
        }
    }

    #[test]
    fn names_parse_back_and_others_do_not() {
        for dtype in DType::ALL {
            assert_eq!(dtype.to_string().parse::<DType>().unwrap(), dtype);
        }
        for wrong in ["", "F32", "float32", " f32", "i64"] {
            assert_eq!(
                wrong.parse::<DType>().unwrap_err().name,
                wrong,
                "{wrong:?} should not parse"
            );
        }
    }

    #[test]
    fn display_honours_the_width() {
        assert_eq!(
            format!("{:>6}|{:<6}|", DType::BF16, DType::U8),
            "  bf16|u8    |"
        );
    }
}
