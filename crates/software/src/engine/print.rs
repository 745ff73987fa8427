//! What `debug_print` calls of a program say, until somebody asks.

use half::f16;
use naga::{Scalar, ScalarKind as Kind};
use parking_lot::Mutex;

use super::scalar::float::f;

/// Prints of one run above which they are only counted.
const MOST: usize = 1 << 16;

/// A call in the text.
#[derive(Debug)]
pub(super) struct Site {
    pub(super) line: u32,
    /// In WGSL's words.
    pub(super) ty: String,
    /// The scalars of the value, in order.
    pub(super) scalars: Vec<Scalar>,
}

/// One value of one invocation.
#[derive(Debug)]
pub(super) struct Printed {
    pub(super) site: u32,
    pub(super) workgroup: [u32; 3],
    pub(super) invocation: [u32; 3],
    pub(super) words: Vec<u32>,
}

/// A print in readable form, without its kernel.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) line: u32,
    pub(crate) workgroup: [u32; 3],
    pub(crate) invocation: [u32; 3],
    pub(crate) ty: String,
    pub(crate) values: Vec<Value>,
}

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

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
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

/// The sites of a program, and what it printed there.
#[derive(Debug, Default)]
pub(super) struct Prints {
    pub(super) sites: Vec<Site>,
    out: Mutex<(Vec<Printed>, u64)>,
}

impl Prints {
    pub(super) fn add(&self, printed: Printed) {
        let mut out = self.out.lock();
        if out.0.len() < MOST {
            out.0.push(printed);
        } else {
            out.1 += 1;
        }
    }

    /// What was printed since the last time, and how many more were not kept.
    pub(super) fn take(&self) -> (Vec<Line>, u64) {
        if self.sites.is_empty() {
            return (Vec::new(), 0);
        }
        let (printed, dropped) = std::mem::take(&mut *self.out.lock());
        let lines = printed.into_iter().filter_map(|printed| {
            let site = self.sites.get(printed.site as usize)?;
            Some(Line {
                line: site.line,
                workgroup: printed.workgroup,
                invocation: printed.invocation,
                ty: site.ty.clone(),
                values: values(&site.scalars, &printed.words),
            })
        });
        (lines.collect(), dropped)
    }
}

fn values(scalars: &[Scalar], words: &[u32]) -> Vec<Value> {
    let mut words = words.iter().copied();
    let mut next = || words.next().unwrap_or(0);
    let mut out = Vec::with_capacity(scalars.len());
    for scalar in scalars {
        let low = next();
        out.push(match (scalar.kind, scalar.width) {
            (Kind::Bool, _) => Value::Bool(low != 0),
            (Kind::Float, 2) => Value::F16(f16::from_f32(f(low))),
            (Kind::Float, 8) => Value::F64(f64::from_bits(wide(low, next()))),
            (Kind::Float, _) => Value::F32(f(low)),
            (Kind::Sint, 8) => Value::I64(wide(low, next()) as i64),
            (Kind::Sint, _) => Value::I32(low as i32),
            (_, 8) => Value::U64(wide(low, next())),
            _ => Value::U32(low),
        });
    }
    out
}

fn wide(low: u32, high: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}
