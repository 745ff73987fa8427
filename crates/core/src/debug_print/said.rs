//! What shaders have said, for people.

use std::fmt;

use half::f16;

use crate::debug_print::StatementKind;

/// Words before the values of what an invocation says through memory: statement, workgroup, invocation.
pub const SAID_WORDS: usize = 7;

/// A scalar that a shader printed.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// `bool`
    Bool(bool),
    /// `i32` and `i16`
    I32(i32),
    /// `u32` and `u16`
    U32(u32),
    /// `i64`
    I64(i64),
    /// `u64`
    U64(u64),
    /// `f32`
    F32(f32),
    /// `f16`
    F16(f16),
    /// `f64`
    F64(f64),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => write!(f, "{value}"),
            Self::I32(value) => write!(f, "{value}"),
            Self::U32(value) => write!(f, "{value}"),
            Self::I64(value) => write!(f, "{value}"),
            Self::U64(value) => write!(f, "{value}"),
            Self::F32(value) => write!(f, "{value:?}"),
            Self::F16(value) => write!(f, "{value:?}"),
            Self::F64(value) => write!(f, "{value:?}"),
        }
    }
}

/// The scalars that lie in `words`, by samples of their kinds: 64-bit ones in two words, the lower first; f16 as f32.
#[must_use]
pub fn read_values(kinds: &[Value], words: &[u32]) -> Vec<Value> {
    let mut words = words.iter().copied();
    let mut next = || words.next().unwrap_or(0);
    let mut out = Vec::with_capacity(kinds.len());
    for kind in kinds {
        let low = next();
        let mut wide = || u64::from(next()) << 32 | u64::from(low);
        out.push(match kind {
            Value::Bool(_) => Value::Bool(low != 0),
            Value::I32(_) => Value::I32(low.cast_signed()),
            Value::U32(_) => Value::U32(low),
            Value::F32(_) => Value::F32(f32::from_bits(low)),
            Value::F16(_) => Value::F16(f16::from_f32(f32::from_bits(low))),
            Value::I64(_) => Value::I64(wide().cast_signed()),
            Value::U64(_) => Value::U64(wide()),
            Value::F64(_) => Value::F64(f64::from_bits(wide())),
        });
    }
    out
}

/// A value of any type that a shader printed.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct DebugValue {
    /// Its type in WGSL's words.
    pub ty: String,
    /// Its scalars, in order: a matrix column by column, a struct member by member.
    pub scalars: Vec<Value>,
}

impl DebugValue {
    /// A value of these scalars.
    #[must_use]
    pub fn new(ty: String, scalars: Vec<Value>) -> Self {
        Self { ty, scalars }
    }
}

impl fmt::Display for DebugValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [value] = self.scalars.as_slice() {
            return write!(f, "{value}");
        }
        write!(f, "{}(", self.ty)?;
        for (i, value) in self.scalars.iter().enumerate() {
            let before = if i == 0 { "" } else { ", " };
            write!(f, "{before}{value}")?;
        }
        f.write_str(")")
    }
}

/// What one invocation said by one statement.
#[derive(Clone, Debug, PartialEq)]
pub struct DebugPrint {
    /// Whether it is a print, or an assertion that does not hold.
    pub kind: StatementKind,
    /// The kernel: its label, or its entry point.
    pub kernel: String,
    /// The WGSL file: a part of the source as the pipeline layer joined it, or the label of the
    /// shader module.
    pub file: String,
    /// The line in it, from 1.
    pub line: u32,
    /// Which workgroup.
    pub workgroup: [u32; 3],
    /// Which invocation of it.
    pub invocation: [u32; 3],
    /// What the statement says before its values.
    pub label: Option<String>,
    /// The values, in order.
    pub values: Vec<DebugValue>,
}

impl fmt::Display for DebugPrint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            kernel, file, line, ..
        } = self;
        let ([gx, gy, gz], [x, y, z]) = (self.workgroup, self.invocation);
        if file != kernel {
            write!(f, "kernel {kernel}, ")?;
        }
        write!(
            f,
            "{file}:{line}: workgroup ({gx}, {gy}, {gz}), invocation ({x}, {y}, {z}): "
        )?;
        if self.kind == StatementKind::Assert {
            f.write_str("assertion failed")?;
            f.write_str(if self.label.is_some() || !self.values.is_empty() {
                ": "
            } else {
                ""
            })?;
        }
        if let Some(label) = &self.label {
            f.write_str(label)?;
            f.write_str(if self.values.is_empty() { "" } else { ": " })?;
        }
        for (i, value) in self.values.iter().enumerate() {
            let before = if i == 0 { "" } else { ", " };
            write!(f, "{before}{value}")?;
        }
        Ok(())
    }
}

/// What was printed on a device.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DebugPrints {
    /// In the order of dispatches, and of their workgroups.
    pub prints: Vec<DebugPrint>,
    /// How many more there were that were not kept.
    pub dropped: u64,
}
