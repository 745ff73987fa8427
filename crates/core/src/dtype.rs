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
pub enum DType {
    /// IEEE 754 binary32.
    F32,
    /// IEEE 754 binary16: 11 significant bits, up to 65504.
    F16,
    /// The upper half of a binary32: 8 significant bits, the range of [`DType::F32`].
    BF16,
    /// Two's-complement 32-bit integer.
    I32,
    /// Unsigned 32-bit integer.
    U32,
    /// Unsigned byte.
    U8,
    /// Two's-complement byte.
    I8,
    /// Truth value, stored as one byte: 0 or 1.
    Bool,
}

impl DType {
    /// Every element type, in declaration order.
    pub const ALL: [Self; 8] = [
        Self::F32,
        Self::F16,
        Self::BF16,
        Self::I32,
        Self::U32,
        Self::U8,
        Self::I8,
        Self::Bool,
    ];

    /// Bytes that one element takes in storage.
    ///
    /// ```
    /// assert_eq!(ziggurat_core::DType::Bool.bytes(), 1);
    /// ```
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::F32 | Self::I32 | Self::U32 => 4,
            Self::F16 | Self::BF16 => 2,
            Self::U8 | Self::I8 | Self::Bool => 1,
        }
    }

    /// The short name, as it is displayed and parsed.
    ///
    /// ```
    /// assert_eq!(ziggurat_core::DType::I8.name(), "i8");
    /// ```
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::BF16 => "bf16",
            Self::I32 => "i32",
            Self::U32 => "u32",
            Self::U8 => "u8",
            Self::I8 => "i8",
            Self::Bool => "bool",
        }
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
        matches!(self, Self::F32 | Self::F16 | Self::BF16)
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
        matches!(self, Self::I32 | Self::U32 | Self::U8 | Self::I8)
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
        self.is_float() || matches!(self, Self::I32 | Self::I8)
    }

    /// Is it [`DType::Bool`]?
    ///
    /// ```
    /// assert!(ziggurat_core::DType::Bool.is_bool());
    /// ```
    #[must_use]
    pub const fn is_bool(self) -> bool {
        matches!(self, Self::Bool)
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
        match self {
            Self::F32 | Self::F16 | Self::BF16 => Self::F32,
            Self::I32 | Self::I8 => Self::I32,
            Self::U32 | Self::U8 => Self::U32,
            Self::Bool => Self::Bool,
        }
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
#[error("unknown dtype {name:?}: expected f32, f16, bf16, i32, u32, u8, i8 or bool")]
pub struct ParseDTypeError {
    /// The name given.
    pub name: String,
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
