//! Rotary position embedding: pairs of elements of each head turned by an angle that grows with the position.
//!
//! Cosines and sines come from tables in f32 that the caller made once; a position out of a table's range takes its nearest
//! row, so nothing outside of the table is read.

use ziggurat_core::DType;
use ziggurat_pipeline::Grid;

use crate::catalogue::Candidate;
use crate::choice::KernelChoice;
use crate::completion::Completion;
use crate::error::KernelError;
use crate::executor::Executor;
use crate::params::{Params, params};
use crate::prelude;
use crate::reduce::axes::wrap;
use crate::view::View;

const OP: &str = "rope";

/// Which elements form a pair, and where positions are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RopeOptions {
    /// Pairs are neighbours `(x[2i], x[2i + 1])`; else they are halves `(x[i], x[i + rotary / 2])`.
    pub interleaved: bool,
    /// The axis of positions is 1, not 2: `[batch, position, head, element]`.
    pub positions_before_heads: bool,
}

/// Which row of the tables belongs to a position in the input.
#[derive(Clone, Copy, Debug)]
pub enum RopePositions<'a> {
    /// The positions count up from this number.
    From(usize),
    /// The tables have rows for each batch in turn.
    PerBatch,
    /// i32, contiguous, `[batch, position]`.
    Given(&'a View),
}

params! {
    /// Parameters of the rotary embedding.
    pub(crate) struct RopeParams {
        elements: u32,
        rotary: u32,
        table_rows: u32,
        start: u32,
        batch_step: u32,
        offset: u32,
        out_offset: u32,
        cos_offset: u32,
        sin_offset: u32,
        ids_offset: u32,
        reserved_0: u32,
        reserved_1: u32,
        dims: [u32; 4],
        strides: [u32; 4],
    }
}

fn choice(dtype: DType, options: RopeOptions, given: bool) -> KernelChoice {
    KernelChoice::new(OP)
        .name(dtype.name())
        .name(if given { "given" } else { "counted" })
        .parts(&[
            prelude::FLOAT,
            prelude::load(dtype),
            prelude::store(dtype),
            prelude::cell(dtype),
            "rope/params.wgsl",
            if given {
                "rope/given.wgsl"
            } else {
                "rope/counted.wgsl"
            },
            "rope/body.wgsl",
        ])
        .constant("INTERLEAVED", u32::from(options.interleaved))
        .constant(
            "SEQUENCE",
            if options.positions_before_heads { 1 } else { 2 },
        )
}

/// Every float dtype, with counted and given positions.
pub(crate) fn variants() -> Vec<Candidate> {
    let floats = DType::ALL.into_iter().filter(|dtype| dtype.is_float());
    floats
        .flat_map(|dtype| {
            [false, true].map(|given| {
                let options = RopeOptions {
                    interleaved: given,
                    positions_before_heads: given,
                };
                Candidate::new(choice(dtype, options, given), RopeParams::FIELDS)
            })
        })
        .collect()
}

impl Executor {
    /// Rotates `a` `[batch, head, position, element]` into `out` of the same shape. `cos` and `sin` are f32 and contiguous with
    /// as many elements: rows of half the number of rotated elements per head, the first of each head; the others are
    /// copied.
    ///
    /// # Errors
    /// [`KernelError::Dtype`], [`KernelError::Operand`] and [`KernelError::Output`] for operands that are not as said, or if
    /// the tables do not fit the heads, or have no row.
    pub fn rope(
        &self,
        a: &View,
        cos: &View,
        sin: &View,
        positions: RopePositions<'_>,
        options: RopeOptions,
        out: &View,
    ) -> Result<Completion, KernelError> {
        let half = check(a, cos, sin, out)?;
        let &[batch, d1, d2, width] = a.dims() else {
            return Err(wrong("a", "must have rank 4", a));
        };
        let length = if options.positions_before_heads {
            d1
        } else {
            d2
        };
        if half.saturating_mul(2) > width {
            return Err(wrong(
                "cos",
                "must have at most half as many columns as a head has elements",
                cos,
            ));
        }
        if a.is_empty() {
            return Ok(self.completion());
        }
        if half == 0 {
            return Err(wrong("cos", "must have a column", cos));
        }
        let rows = cos.len() / half;
        let (start, batch_step, ids) = match positions {
            RopePositions::From(start) => (start, 0, None),
            RopePositions::PerBatch => (0, length, None),
            RopePositions::Given(ids) => (0, length, Some(ids)),
        };
        if rows == 0 {
            return Err(wrong("cos", "must have a row", cos));
        }
        if let RopePositions::PerBatch = positions
            && rows != batch.saturating_mul(length)
        {
            return Err(wrong("cos", "must have a row per batch and position", cos));
        }
        let mut inputs = vec![a, cos, sin];
        if let Some(ids) = ids {
            if ids.dtype != DType::I32 {
                return Err(dtype_error("positions", "positions are i32", ids));
            }
            if ids.dims() != [batch, length] || !ids.layout.is_contiguous() {
                return Err(wrong(
                    "positions",
                    "must be [batch, position] and contiguous",
                    ids,
                ));
            }
            inputs.push(ids);
        }
        self.with_dense_out(OP, out, &inputs, |out| {
            let bound = inputs
                .iter()
                .map(|view| self.bind_read(OP, view))
                .collect::<Result<Vec<_>, _>>()?;
            let write = self.bind_write(OP, out)?;
            let offset = |i: usize| bound.get(i).map_or(0, |bound| bound.offset);
            let params = RopeParams {
                elements: count(a.len()),
                rotary: count(2 * half),
                table_rows: count(rows),
                start: count(start),
                batch_step: count(batch_step),
                offset: offset(0),
                out_offset: write.offset,
                cos_offset: offset(1),
                sin_offset: offset(2),
                ids_offset: offset(3),
                dims: [batch, d1, d2, width].map(count),
                strides: four(a.layout.strides()),
                ..RopeParams::default()
            };
            let mut args = vec![write.arg];
            args.extend(bound.into_iter().map(|bound| bound.arg));
            // Bindings: the input, the output, the tables, the positions.
            args.swap(0, 1);
            let grid = Grid::elements(a.len() as u64, 1);
            self.launch(
                &choice(a.dtype, options, ids.is_some()),
                &args,
                &params,
                grid,
            )
        })?;
        Ok(self.completion())
    }
}

/// Checks what the operands are by themselves; the tables' columns.
fn check(a: &View, cos: &View, sin: &View, out: &View) -> Result<usize, KernelError> {
    if !a.dtype.is_float() {
        return Err(dtype_error("a", "it must be a float", a));
    }
    if out.dtype != a.dtype {
        return Err(dtype_error("out", "it must have the input's dtype", out));
    }
    for (operand, table) in [("cos", cos), ("sin", sin)] {
        if table.dtype != DType::F32 {
            return Err(dtype_error(operand, "tables are f32", table));
        }
        if !table.layout.is_contiguous() || table.rank() == 0 || table.shape() != cos.shape() {
            return Err(wrong(
                operand,
                "must be contiguous rows, the same for cos and sin",
                table,
            ));
        }
    }
    if out.shape() != a.shape() {
        return Err(KernelError::Output {
            op: OP,
            expected: Box::new(*a.shape()),
            got: Box::new(*out.shape()),
        });
    }
    Ok(cos.dims().last().copied().unwrap_or(0))
}

fn wrong(operand: &'static str, rule: &'static str, view: &View) -> KernelError {
    KernelError::Operand {
        op: OP,
        operand,
        rule,
        got: Box::new(*view.shape()),
    }
}

fn dtype_error(operand: &'static str, rule: &'static str, view: &View) -> KernelError {
    KernelError::Dtype {
        op: OP,
        operand,
        rule,
        got: view.dtype,
    }
}

/// Counts are bounded by the views' 32-bit indices, which binding checks.
fn count(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

fn four(strides: &[isize]) -> [u32; 4] {
    let mut packed = [0; 4];
    for (slot, &stride) in packed.iter_mut().zip(strides) {
        *slot = wrap(stride);
    }
    packed
}
