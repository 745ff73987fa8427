//! Types of variables that are bound, as they lie in memory, and the numbers in them.

use std::borrow::Cow;
use std::ops::Range;

use super::words::{Declared, Refused, Words, literal};
use crate::reflect::{Member, Scalar};

/// Types within each other, and names that stand for others.
const DEPTH: u32 = 16;

/// A type in memory.
#[derive(Clone, Debug)]
pub(super) struct Type {
    pub(super) scalar: Scalar,
    align: u32,
    /// Of a runtime-sized array those of one element.
    pub(super) bytes: u32,
    /// Of a runtime-sized array.
    pub(super) stride: Option<u32>,
    /// Of a struct.
    pub(super) members: Vec<Member>,
}

impl Type {
    fn scalar(scalar: Scalar, bytes: u32) -> Self {
        Self {
            scalar,
            align: bytes,
            bytes,
            stride: None,
            members: Vec::new(),
        }
    }

    fn vector(self, count: u32) -> Self {
        Self {
            align: self.bytes * count.next_power_of_two(),
            bytes: self.bytes * count,
            ..self
        }
    }
}

/// What types and sizes are read with.
pub(super) struct Reader<'a> {
    pub(super) words: &'a Words<'a>,
    pub(super) declared: &'a Declared<'a>,
    pub(super) constants: &'a [(Cow<'static, str>, f64)],
}

const LARGE: &str = "a type of 4 GiB and more";

impl Reader<'_> {
    /// The type that begins at a place and ends its declaration.
    pub(super) fn ty(&self, at: usize) -> Result<Type, Refused> {
        let (ty, end) = self.read(at, DEPTH)?;
        match self.words.word(end) {
            ";" => Ok(ty),
            _ => Err((end, "what follows a type")),
        }
    }

    fn read(&self, at: usize, depth: u32) -> Result<(Type, usize), Refused> {
        let name = self.words.word(at);
        let Some(depth) = depth.checked_sub(1) else {
            return Err((at, "a type of many types"));
        };
        if let Some(other) = self.declared.aliases.get(name) {
            return Ok((self.read(*other, depth)?.0, at + 1));
        }
        if let Some(members) = self.declared.structs.get(name) {
            return Ok((self.members(*members, depth)?, at + 1));
        }
        let scalar = |name: &str| match name {
            "f32" | "f" => Some(Type::scalar(Scalar::F32, 4)),
            "i32" | "i" => Some(Type::scalar(Scalar::I32, 4)),
            "u32" | "u" => Some(Type::scalar(Scalar::U32, 4)),
            "f16" | "h" => Some(Type::scalar(Scalar::F16, 2)),
            _ => None,
        };
        if name.len() > 1
            && let Some(scalar) = scalar(name)
        {
            return Ok((scalar, at + 1));
        }
        let unknown = (at, "such a type");
        let count = name.strip_prefix("vec").and_then(|rest| rest.get(..1));
        let count = count.and_then(|count| count.parse().ok());
        let count = count.filter(|count| (2..=4).contains(count));
        if let (Some(count), Some(letter)) = (count, name.get(4..).filter(|rest| rest.len() == 1)) {
            let scalar = scalar(letter).ok_or(unknown)?;
            return Ok((scalar.vector(count), at + 1));
        }
        if self.words.word(at + 1) != "<" {
            return Err(unknown);
        }
        let (inner, end) = self.read(at + 2, depth)?;
        let is_scalar = inner.members.is_empty() && inner.align == inner.bytes;
        let (ty, end) = match (name, count) {
            ("array", _) => self.array(inner, at, end)?,
            ("atomic", _) if is_scalar => (inner, end),
            (_, Some(count)) if is_scalar && name.len() == 4 => (inner.vector(count), end),
            _ => return Err(unknown),
        };
        match self.words.word(end) {
            ">" => Ok((ty, end + 1)),
            _ => Err((end, "what follows a type")),
        }
    }

    /// An array of a type behind which the word at `end` stands.
    fn array(&self, inner: Type, at: usize, end: usize) -> Result<(Type, usize), Refused> {
        if inner.stride.is_some() {
            return Err((at, "an array of arrays without a length"));
        }
        let stride = inner.bytes.next_multiple_of(inner.align);
        let has_count = self.words.word(end) == "," && self.words.word(end + 1) != ">";
        let (bytes, end) = if has_count {
            let count = self.number(end + 1, DEPTH)?;
            let bytes = count.checked_mul(u64::from(stride));
            let bytes = bytes.and_then(|bytes| u32::try_from(bytes).ok());
            (bytes.ok_or((at, LARGE))?, end + 2)
        } else {
            (stride, end + usize::from(self.words.word(end) == ","))
        };
        let ty = Type {
            bytes,
            stride: (!has_count).then_some(stride),
            members: Vec::new(),
            ..inner
        };
        Ok((ty, end))
    }

    /// The struct whose first member is at a place.
    fn members(&self, at: usize, depth: u32) -> Result<Type, Refused> {
        let mut members: Vec<Member> = Vec::new();
        let (mut align, mut bytes, mut next) = (1, 0_u32, at);
        while self.words.word(next) != "}" {
            if self.words.word(next + 1) != ":" {
                return Err((next, "a member with attributes"));
            }
            let (ty, end) = self.read(next + 2, depth)?;
            if ty.stride.is_some() {
                return Err((next, "an array without a length in a struct"));
            }
            let offset = bytes.next_multiple_of(ty.align);
            bytes = offset.checked_add(ty.bytes).ok_or((at, LARGE))?;
            align = align.max(ty.align);
            members.push(Member {
                name: self.words.word(next).to_owned(),
                offset,
                bytes: ty.bytes,
                scalar: ty.scalar,
            });
            next = end + usize::from(self.words.word(end) == ",");
        }
        let first = members.first().map_or(Scalar::Mixed, |first| first.scalar);
        let same = members.iter().all(|member| member.scalar == first);
        Ok(Type {
            scalar: if same { first } else { Scalar::Mixed },
            align,
            bytes: bytes.checked_next_multiple_of(align).ok_or((at, LARGE))?,
            stride: None,
            members,
        })
    }

    /// Up to three numbers.
    pub(super) fn workgroup_size(&self, of: Range<usize>) -> Result<[u32; 3], Refused> {
        let mut size = [1; 3];
        let mut next = of.start;
        for size in &mut size {
            if next < of.end {
                let number = self.number(next, DEPTH)?;
                *size = u32::try_from(number).map_err(|_| (next, "such a number"))?;
                next += 2;
            }
        }
        if next < of.end {
            return Err((next, "a size of four dimensions"));
        }
        Ok(size)
    }

    /// The value of the only word of an expression: a literal, a constant or an override.
    fn number(&self, at: usize, depth: u32) -> Result<u64, Refused> {
        let name = self.words.word(at);
        let (true, Some(depth)) = (
            [",", ">", ")", ";"].contains(&self.words.word(at + 1)),
            depth.checked_sub(1),
        ) else {
            return Err((at, "an expression in place of a number"));
        };
        if let Some(number) = literal(name) {
            return Ok(number);
        }
        let mut overrides = self.declared.overrides.iter();
        if let Some((_, id, _)) = overrides.find(|(variable, ..)| *variable == name) {
            let mut given = self.constants.iter();
            if let Some((_, value)) = given.find(|(name, _)| *name == **id) {
                let number = *value as u64;
                let is_whole = number as f64 == *value;
                return is_whole.then_some(number).ok_or((at, "such a number"));
            }
        }
        match self.declared.numbers.get(name) {
            Some(value) => self.number(*value, depth),
            None => Err((at, "an expression in place of a number")),
        }
    }
}
