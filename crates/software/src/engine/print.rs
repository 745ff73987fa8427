//! What `debug_print` calls of a program say, until somebody asks.

use half::f16;
use naga::{Scalar, ScalarKind as Kind};
use parking_lot::Mutex;
use ziggurat_core::debug_print::{DebugValue, Value, read_values};

/// Prints of one run above which they are only counted.
const MOST: usize = 1 << 16;

/// A statement in the text.
#[derive(Debug)]
pub(super) struct Site {
    pub(super) line: u32,
    /// The number of the statement in the text.
    pub(super) statement: usize,
    pub(super) values: Values,
}

/// By value: its type in WGSL's words, and its scalars in order.
pub(super) type Values = Vec<(String, Vec<Scalar>)>;

/// The values of one invocation.
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
    /// The number of the statement in the text.
    pub(crate) statement: usize,
    pub(crate) values: Vec<DebugValue>,
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
                statement: site.statement,
                values: values(site, &printed.words),
            })
        });
        (lines.collect(), dropped)
    }
}

fn values(site: &Site, words: &[u32]) -> Vec<DebugValue> {
    let mut rest = words;
    let values = site.values.iter().map(|(ty, scalars)| {
        let words = scalars
            .iter()
            .map(|scalar| 1 + usize::from(scalar.width == 8));
        let (own, after) = rest.split_at_checked(words.sum()).unwrap_or((rest, &[]));
        rest = after;
        let kinds: Vec<Value> = scalars.iter().map(|scalar| kind(*scalar)).collect();
        DebugValue::new(ty.clone(), read_values(&kinds, own))
    });
    values.collect()
}

/// A sample of a scalar type.
fn kind(scalar: Scalar) -> Value {
    match (scalar.kind, scalar.width) {
        (Kind::Bool, _) => Value::Bool(false),
        (Kind::Float, 2) => Value::F16(f16::ZERO),
        (Kind::Float, 8) => Value::F64(0.0),
        (Kind::Float, _) => Value::F32(0.0),
        (Kind::Sint, 8) => Value::I64(0),
        (Kind::Sint, _) => Value::I32(0),
        (_, 8) => Value::U64(0),
        _ => Value::U32(0),
    }
}
