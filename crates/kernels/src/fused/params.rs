//! The parameters of a fused kernel: a length and rows of slots, as many as its graph and form need.

use ziggurat_core::{Coalesced, DType};

use crate::fused::graph::{Form, Graph, Scalar, Slots};
use crate::params::{ParamField, ParamType};

/// More rows than any kernel has: offsets and scalars of [`super::MAX_OPS`] ops of three operands, and eight axes of
/// all [`super::MAX_BINDINGS`].
pub(crate) const MAX_ROWS: usize = 320;

/// Words before the slots: the length, a zero, and two unused.
const HEAD: usize = 4;

const fn field(name: &'static str, ty: ParamType, count: Option<u32>, offset: u32) -> ParamField {
    ParamField {
        name,
        ty,
        count,
        offset,
    }
}

const fn fields(rows: u32) -> [ParamField; 5] {
    [
        field("len", ParamType::U32, None, 0),
        field("zero", ParamType::U32, None, 4),
        field("unused_0", ParamType::U32, None, 8),
        field("unused_1", ParamType::U32, None, 12),
        field("slots", ParamType::Vec4U32, Some(rows), 16),
    ]
}

static FIELDS: [[ParamField; 5]; MAX_ROWS] = {
    let mut all = [fields(0); MAX_ROWS];
    let mut rows = 0;
    while rows < MAX_ROWS {
        all[rows] = fields(rows as u32);
        rows += 1;
    }
    all
};

/// The fields of parameters with so many rows.
pub(crate) fn published(rows: usize) -> &'static [ParamField] {
    FIELDS.get(rows).map_or(&[], |fields| fields.as_slice())
}

/// A scalar as the kernel reads it.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the value is one that the dtype holds"
)]
fn bits(scalar: &Scalar) -> u32 {
    let value = f64::from_bits(scalar.bits);
    match scalar.dtype.compute() {
        DType::I32 => (value as i32).cast_unsigned(),
        DType::U32 => value as u32,
        DType::Bool => u32::from(value != 0.0),
        _ => (value as f32).to_bits(),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the low 32 bits are what is wanted: addresses wrap and end up in range"
)]
const fn low_bits(value: isize) -> u32 {
    value as u32
}

/// The parameters' words. `offsets` are those of the outputs, then those of the inputs, as the kernel adds them.
pub(crate) fn words(
    graph: &Graph,
    form: &Form,
    len: u32,
    offsets: &[u32],
    walk: Option<&Coalesced>,
) -> Vec<u32> {
    let slots = Slots::of(graph, form);
    let mut words = Vec::with_capacity(HEAD + 4 * slots.rows);
    words.extend([len, 0, 0, 0]);
    words.extend(offsets);
    words.extend(graph.scalars.iter().map(bits));
    words.resize(HEAD + 4 * slots.axes, 0);
    if let Some(walk) = walk {
        // Outer axes of extent 1 fill the rank class.
        let missing = form.rank.saturating_sub(walk.dims.len());
        for axis in 0..form.rank {
            let end = words.len() + 4 * slots.rows_per_axis;
            match axis.checked_sub(missing) {
                Some(d) => {
                    words.push(
                        walk.dims
                            .get(d)
                            .map_or(1, |&dim| low_bits(dim.cast_signed())),
                    );
                    let strides = walk.strides.iter();
                    words.extend(strides.map(|of| of.get(d).copied().map_or(0, low_bits)));
                }
                None => words.push(1),
            }
            words.resize(end, 0);
        }
    }
    words
}
