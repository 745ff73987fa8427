//! The parameters of a fused kernel: a length, or those of the kernel around it, and rows of slots, as many as its graph
//! and form need.

use ziggurat_core::{Coalesced, DType};

use crate::fused::form::Form;
use crate::fused::graph::{Graph, Slots};
use crate::run::program::NumberAt;
use crate::source::params::{ParamField, ParamType};

/// The parameters of a fused kernel of its own, before the slots.
pub(crate) const HEAD: &[ParamField] = &[field("len", ParamType::U32, None, 0)];

const fn field(name: &'static str, ty: ParamType, count: Option<u32>, offset: u32) -> ParamField {
    ParamField {
        name,
        ty,
        count,
        offset,
    }
}

/// Bytes of a block of parameters.
fn bytes(head: &[ParamField]) -> u32 {
    head.last().map_or(0, |last| {
        let size = match last.ty {
            ParamType::Vec4U32 => 16,
            _ => 4,
        };
        last.offset + size * last.count.unwrap_or(1)
    })
}

/// Bytes before the slots: those of the kernel's own parameters, and a zero.
pub(crate) fn head_bytes(head: &[ParamField]) -> usize {
    (bytes(head) as usize + 4).next_multiple_of(16)
}

/// The fields of parameters with so many rows of slots.
pub(crate) fn fields(head: &[ParamField], rows: usize) -> Vec<ParamField> {
    let mut fields = head.to_vec();
    fields.push(field("zero", ParamType::U32, None, bytes(head)));
    let (rows, offset) = (rows as u32, head_bytes(head) as u32);
    fields.push(field("slots", ParamType::Vec4U32, Some(rows), offset));
    fields
}

/// A scalar as the kernel reads it.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the value is one that the dtype holds"
)]
pub(crate) fn number_bits(dtype: DType, value: f64) -> u32 {
    match dtype.compute() {
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
const fn wrap(value: isize) -> u32 {
    value as u32
}

/// The slots' words. `offsets` are those of the outputs, then those of the inputs, as the kernel adds them.
fn slots(
    words: &mut Vec<u32>,
    graph: &Graph,
    form: &Form,
    offsets: &[u32],
    coalesced: Option<&Coalesced>,
) {
    let slots = Slots::of(graph, form);
    let first = words.len();
    words.extend(offsets);
    let numbers = graph.scalars.iter();
    words.extend(numbers.map(|scalar| number_bits(scalar.dtype, f64::from_bits(scalar.bits))));
    words.resize(first + 4 * slots.axes, 0);
    if let Some(coalesced) = coalesced {
        // Outer axes of extent 1 fill the rank class.
        let missing = form.rank.saturating_sub(coalesced.dims.len());
        for axis in 0..form.rank {
            let end = words.len() + 4 * slots.rows_per_axis;
            match axis.checked_sub(missing) {
                Some(d) => {
                    words.push(
                        coalesced
                            .dims
                            .get(d)
                            .map_or(1, |&dim| wrap(dim.cast_signed())),
                    );
                    let strides = coalesced.strides.iter();
                    words.extend(strides.map(|of| of.get(d).copied().map_or(0, wrap)));
                }
                None => words.push(1),
            }
            words.resize(end, 0);
        }
    }
}

/// A graph in a form with its offsets, for [`slots`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placed<'a> {
    pub(crate) graph: &'a Graph,
    pub(crate) form: &'a Form,
    pub(crate) offsets: &'a [u32],
    pub(crate) coalesced: Option<&'a Coalesced>,
}

/// The parameters of a kernel with generated parts: its own words, with these fields, a zero and the slots of each part
/// behind those of the one before.
pub(crate) fn within(own: &[u32], head: &[ParamField], all: &[Placed<'_>]) -> Vec<u32> {
    let rows = all.iter().map(|part| Slots::of(part.graph, part.form).rows);
    let first = head_bytes(head) / 4;
    let mut words: Vec<u32> = Vec::with_capacity(first + 4 * rows.sum::<usize>());
    words.extend(own);
    words.resize(first, 0);
    for part in all {
        slots(
            &mut words,
            part.graph,
            part.form,
            part.offsets,
            part.coalesced,
        );
    }
    words
}

/// Which words of [`within`] are numbers of the expressions.
pub(crate) fn numbers<'a>(
    head: &[ParamField],
    all: &'a [Placed<'a>],
) -> impl Iterator<Item = NumberAt> + 'a {
    let first = head_bytes(head) / 4;
    let starts = all.iter().scan(first, |start, part| {
        let own = *start;
        *start += 4 * Slots::of(part.graph, part.form).rows;
        Some((own + part.offsets.len(), part))
    });
    starts.flat_map(|(start, part)| {
        let scalars = part.graph.scalars.iter().zip(start..);
        scalars.map(|(scalar, word)| NumberAt {
            word,
            dtype: scalar.dtype,
            bits: scalar.bits,
        })
    })
}
