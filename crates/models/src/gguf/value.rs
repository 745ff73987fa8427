//! Typed values of metadata.

use super::cursor::{Cursor, Stop};
use super::error::GgufProblem;

/// Arrays within arrays that are read.
const DEEPEST: usize = 4;
/// The type of arrays.
const ARRAY: u32 = 9;

macro_rules! values {
    ($($id:literal $name:ident $type:ty, $least:literal, $read:expr;)*) => {
        /// A value of a file's metadata.
        #[derive(Clone, Debug, PartialEq)]
        #[allow(missing_docs, reason = "the variants are named after their types")]
        pub enum Value {
            $($name($type),)*
            /// Values of one type.
            Array(Array),
        }

        /// An array of a file's metadata: values of one type.
        #[derive(Clone, Debug, PartialEq)]
        #[allow(missing_docs, reason = "the variants are named after the types of their elements")]
        pub enum Array {
            $($name(Vec<$type>),)*
            /// Arrays, which may differ in type.
            Array(Vec<Array>),
        }

        impl Array {
            /// The number of elements.
            pub fn len(&self) -> usize {
                match self {
                    $(Self::$name(values) => values.len(),)*
                    Self::Array(values) => values.len(),
                }
            }
        }

        impl Value {
            /// The value of `key`, of the type with number `id`.
            pub(super) fn read(from: &mut Cursor<'_>, key: &str) -> Result<Self, Stop> {
                let offset = from.offset();
                match from.u32("the type of a value")? {
                    $($id => {
                        let read: fn(&mut Cursor<'_>) -> Result<$type, Stop> = $read;
                        read(from).map(Self::$name)
                    })*
                    ARRAY => Array::read(from, key, 1).map(Self::Array),
                    id => Err(unknown(offset, key, id)),
                }
            }
        }

        impl Array {
            fn read(from: &mut Cursor<'_>, key: &str, depth: usize) -> Result<Self, Stop> {
                let offset = from.offset();
                match from.u32("the type of an array's elements")? {
                    $($id => {
                        let read: fn(&mut Cursor<'_>) -> Result<$type, Stop> = $read;
                        let count = from.count("elements of an array", $least)?;
                        // Grows with what is read: the count alone is worth no memory.
                        (0..count).map(|_| read(from)).collect::<Result<Vec<_>, _>>().map(Self::$name)
                    })*
                    ARRAY if depth < DEEPEST => {
                        let count = from.count("arrays of an array", 12)?;
                        let inner = (0..count).map(|_| Self::read(from, key, depth + 1));
                        inner.collect::<Result<Vec<_>, _>>().map(Self::Array)
                    }
                    ARRAY => Err(Cursor::wrong(offset, GgufProblem::Nesting(key.to_owned()))),
                    id => Err(unknown(offset, key, id)),
                }
            }
        }
    };
}

fn unknown(offset: u64, key: &str, id: u32) -> Stop {
    let key = key.to_owned();
    Cursor::wrong(offset, GgufProblem::ValueType { key, id })
}

values! {
    0 U8 u8, 1, |from| from.array("a u8").map(u8::from_le_bytes);
    1 I8 i8, 1, |from| from.array("an i8").map(i8::from_le_bytes);
    2 U16 u16, 2, |from| from.array("a u16").map(u16::from_le_bytes);
    3 I16 i16, 2, |from| from.array("an i16").map(i16::from_le_bytes);
    4 U32 u32, 4, |from| from.u32("a u32");
    5 I32 i32, 4, |from| from.array("an i32").map(i32::from_le_bytes);
    6 F32 f32, 4, |from| from.array("an f32").map(f32::from_le_bytes);
    7 Bool bool, 1, read_bool;
    8 String String, 8, |from| from.string("a string");
    10 U64 u64, 8, |from| from.u64("a u64");
    11 I64 i64, 8, |from| from.array("an i64").map(i64::from_le_bytes);
    12 F64 f64, 8, |from| from.array("an f64").map(f64::from_le_bytes);
}

fn read_bool(from: &mut Cursor<'_>) -> Result<bool, Stop> {
    let offset = from.offset();
    match from.array("a bool")? {
        [0] => Ok(false),
        [1] => Ok(true),
        [other] => Err(Cursor::wrong(offset, GgufProblem::Bool(other))),
    }
}

impl Array {
    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Value {
    /// The number, if this is an integer of any type that is not negative.
    pub fn as_u64(&self) -> Option<u64> {
        match *self {
            Self::U8(value) => Some(value.into()),
            Self::U16(value) => Some(value.into()),
            Self::U32(value) => Some(value.into()),
            Self::U64(value) => Some(value),
            Self::I8(value) => value.try_into().ok(),
            Self::I16(value) => value.try_into().ok(),
            Self::I32(value) => value.try_into().ok(),
            Self::I64(value) => value.try_into().ok(),
            _ => None,
        }
    }

    /// The number, if this is one of floating point.
    pub fn as_f64(&self) -> Option<f64> {
        match *self {
            Self::F32(value) => Some(value.into()),
            Self::F64(value) => Some(value),
            _ => None,
        }
    }

    /// The bool, if this is one.
    pub fn as_bool(&self) -> Option<bool> {
        match *self {
            Self::Bool(value) => Some(value),
            _ => None,
        }
    }

    /// The text, if this is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// The texts, if this is an array of them.
    pub fn as_strings(&self) -> Option<&[String]> {
        match self {
            Self::Array(Array::String(texts)) => Some(texts),
            _ => None,
        }
    }
}
