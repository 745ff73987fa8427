//! Rotary position embedding: pairs of elements of each head turned by an angle that grows with the position.
//!
//! Cosines and sines come from tables in f32 that the caller made once; a position out of a table's range takes its nearest
//! row, so nothing outside of the table is read.

use ziggurat_core::{DType, Shape};
use ziggurat_pipeline::Grid;

use crate::fused::Operand;
use crate::num::{saturated, wrap};
use crate::ops::reduce::only_memory;
use crate::run::call::{Call, CallKind, Operands, Sink, Source};
use crate::run::completion::Completion;
use crate::run::ends::Ends;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::plan::{Planned, Planner};
use crate::run::view::View;
use crate::source::candidate::Candidate;
use crate::source::choice::{KernelChoice, Reads};
use crate::source::params::{Params, params};
use crate::source::prelude;

mod append;

pub use append::{RopeAppend, RopeAppended};

const OP: &str = "rope";

/// Which elements form a pair, and where positions are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RopeOptions {
    /// Pairs are neighbours `(x[2i], x[2i + 1])`; else they are halves `(x[i], x[i + rotary / 2])`.
    pub interleaved: bool,
    /// The axis of positions is 1, not 2: `[batch, position, head, element]`.
    pub positions_before_heads: bool,
}

/// How tables fit an input: their columns and rows.
struct Fit {
    half: usize,
    rows: usize,
}

impl RopeOptions {
    /// Checks tables and positions against an input of this shape by the rules of [`Executor::rope`].
    ///
    /// # Errors
    /// Those of [`Executor::rope`] for them.
    pub fn check(
        self,
        shape: &Shape,
        (cos, sin): (&View, &View),
        positions: RopePositions<'_>,
    ) -> Result<(), KernelError> {
        check_tables(OP, cos, sin)?;
        self.fit(shape, cos, positions).map(drop)
    }

    /// The number of positions: one of the two axes in the middle.
    fn length(self, [d1, d2]: [usize; 2]) -> usize {
        if self.positions_before_heads { d1 } else { d2 }
    }

    fn fit(
        self,
        shape: &Shape,
        cos: &View,
        positions: RopePositions<'_>,
    ) -> Result<Fit, KernelError> {
        let &[batch, d1, d2, width] = shape.dims() else {
            return Err(wrong("a", "must have rank 4", shape));
        };
        let length = self.length([d1, d2]);
        let half = cos.dims().last().copied().unwrap_or(0);
        if half.saturating_mul(2) > width {
            return Err(wrong(
                "cos",
                "must have at most half as many columns as a head has elements",
                cos.shape(),
            ));
        }
        if shape.is_empty() {
            return Ok(Fit { half, rows: 0 });
        }
        if half == 0 {
            return Err(wrong("cos", "must have a column", cos.shape()));
        }
        let rows = cos.len() / half;
        if rows == 0 {
            return Err(wrong("cos", "must have a row", cos.shape()));
        }
        match positions {
            RopePositions::PerBatch if rows != batch.saturating_mul(length) => {
                let rule = "must have a row per batch and position";
                return Err(wrong("cos", rule, cos.shape()));
            }
            RopePositions::Given(ids) if ids.dtype != DType::I32 => {
                return Err(dtype_error("positions", "positions are i32", ids.dtype));
            }
            RopePositions::Given(ids)
                if ids.dims() != [batch, length] || !ids.layout.is_contiguous() =>
            {
                return Err(wrong(
                    "positions",
                    "must be [batch, position] and contiguous",
                    ids.shape(),
                ));
            }
            _ => {}
        }
        Ok(Fit { half, rows })
    }
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

impl<'a> RopePositions<'a> {
    /// The same without memory, and that.
    const fn parts(self) -> (RopeRows, Option<&'a View>) {
        match self {
            Self::From(start) => (RopeRows::From(start), None),
            Self::PerBatch => (RopeRows::PerBatch, None),
            Self::Given(ids) => (RopeRows::Given, Some(ids)),
        }
    }
}

/// [`RopePositions`] as a [`Call`] has them: given positions are an operand of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RopeRows {
    /// The positions count up from this number.
    From(usize),
    /// The tables have rows for each batch in turn.
    PerBatch,
    /// By the last operand.
    Given,
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

fn choice(dtype: DType, reads: Reads, options: RopeOptions, given: bool) -> KernelChoice {
    let choice =
        KernelChoice::new(OP)
            .name(dtype.name())
            .name(if given { "given" } else { "counted" });
    let choice = match reads {
        Reads::Memory => choice
            .part(prelude::FLOAT)
            .load(dtype)
            .params("rope/params.wgsl")
            .part("reduce/value.wgsl"),
        Reads::Fused => choice.name("fused"),
    };
    choice
        .store(dtype)
        .cell(dtype)
        .parts(&[
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

/// Every float dtype, with counted and given positions, and with caches.
pub(crate) fn variants() -> Vec<Candidate> {
    let floats = DType::ALL.into_iter().filter(|dtype| dtype.is_float());
    floats
        .flat_map(|dtype| {
            [false, true].map(|given| {
                let options = RopeOptions {
                    interleaved: given,
                    positions_before_heads: given,
                };
                let choice = choice(dtype, Reads::Memory, options, given);
                Candidate::new(choice, RopeParams::FIELDS)
            })
        })
        .chain(append::variants())
        .collect()
}

/// The embedding with an epilogue for the corpus, its bindings, and whether it reads a value too.
pub(crate) fn writing_fused() -> Vec<(DType, KernelChoice, usize, bool)> {
    let floats = DType::ALL.into_iter().filter(|dtype| dtype.is_float());
    let kinds = [(Reads::Memory, true), (Reads::Fused, false)];
    floats
        .flat_map(|dtype| {
            kinds.map(|(reads, given)| {
                let choice = choice(dtype, reads, RopeOptions::default(), given);
                let bindings = 4 + usize::from(given);
                (dtype, choice, bindings, reads == Reads::Fused)
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
    /// the tables do not fit the heads, or have no row; [`KernelError::CannotFuse`] if one kernel cannot read or write an
    /// expression.
    pub fn rope<'a>(
        &self,
        a: impl Into<Source<'a>>,
        cos: &'a View,
        sin: &'a View,
        positions: RopePositions<'a>,
        options: RopeOptions,
        out: impl Into<Sink<'a>>,
    ) -> Result<Completion, KernelError> {
        let (rows, ids) = positions.parts();
        let operands = Operands {
            first: a.into(),
            others: [Some(cos), Some(sin), ids, None, None],
        };
        self.run(
            &Call::new(CallKind::Rope { options, rows }),
            &operands,
            out.into(),
        )
    }
}

/// Plans [`Call::Rope`].
pub(crate) fn plan(
    p: &mut Planner<'_>,
    options: RopeOptions,
    rows: RopeRows,
) -> Result<Planned, KernelError> {
    let ends = p.ends;
    let (layout, [_, _, ids, ..]) = (ends.a.layout(), ends.others);
    let (cos, sin) = (ends.other(OP, 0, "cos")?, ends.other(OP, 1, "sin")?);
    check(&ends.a, cos, sin, (ends.out.shape(), ends.computed()))?;
    let positions = positions(ends, rows)?;
    let fit = options.fit(layout.shape(), cos, positions)?;
    if layout.is_empty() {
        return Ok(Planned::Nothing);
    }
    if let Some(view) = ends.divisible(p.exec)? {
        // A table stands for positions that are not there.
        let views = [view, ids.unwrap_or(cos), ends.out];
        if p.exec.too_large(&views, 1).next().is_some() {
            return Ok(Planned::Parts);
        }
    }
    steps(p, options, rows, &fit)?;
    Ok(Planned::Steps)
}

/// The positions of a call.
fn positions<'a>(ends: &Ends<'a>, rows: RopeRows) -> Result<RopePositions<'a>, KernelError> {
    Ok(match rows {
        RopeRows::From(start) => RopePositions::From(start),
        RopeRows::PerBatch => RopePositions::PerBatch,
        RopeRows::Given => RopePositions::Given(ends.other(OP, 2, "positions")?),
    })
}

fn steps(
    p: &mut Planner<'_>,
    options: RopeOptions,
    rows: RopeRows,
    &Fit {
        half,
        rows: table_rows,
    }: &Fit,
) -> Result<(), KernelError> {
    let (ends, layout) = (p.ends, p.ends.a.layout());
    let &[batch, d1, d2, width] = layout.dims() else {
        return Err(wrong("a", "must have rank 4", layout.shape()));
    };
    let length = options.length([d1, d2]);
    let (start, batch_step) = match rows {
        RopeRows::From(start) => (start, 0),
        RopeRows::PerBatch | RopeRows::Given => (0, length),
    };
    let (read, write) = (p.first()?, p.out()?);
    let tables = [p.other(0)?, p.other(1)?, p.other(2)?];
    let [cos_offset, sin_offset, ids_offset] =
        tables.map(|table| table.map_or(0, |bound| bound.offset));
    let params = RopeParams {
        elements: count(layout.len()),
        rotary: count(2 * half),
        table_rows: count(table_rows),
        start: count(start),
        batch_step: count(batch_step),
        offset: read.offset,
        out_offset: write.offset,
        cos_offset,
        sin_offset,
        ids_offset,
        dims: [batch, d1, d2, width].map(count),
        strides: four(layout.strides()),
        ..RopeParams::default()
    };
    let grid = Grid::elements(layout.len() as u64, 1);
    let given = rows == RopeRows::Given;
    let choice = choice(ends.a.dtype(), ends.a.reads(), options, given);
    let bindings = [Some(read), Some(write)].into_iter().chain(tables);
    p.last(choice, bindings.flatten(), &params, grid);
    Ok(())
}

/// Runs [`Call::Rope`] on parts of an operand that one binding cannot hold.
pub(crate) fn run_parts(
    exec: &Executor,
    ends: &Ends<'_>,
    options: RopeOptions,
    rows: RopeRows,
) -> Result<(), KernelError> {
    let (Operand::Memory(view), [_, _, ids, ..], out) = (ends.a, ends.others, ends.out) else {
        return Err(only_memory(OP));
    };
    let (cos, sin) = (ends.other(OP, 0, "cos")?, ends.other(OP, 1, "sin")?);
    let heads = if options.positions_before_heads { 2 } else { 1 };
    let joints = || {
        let mut all = vec![[Some(heads), None, Some(heads)]];
        if rows != RopeRows::PerBatch {
            all.push([Some(0), ids.map(|_| 0), Some(0)]);
        }
        all
    };
    let each = &mut |[a, ids, out]: &[View; 3]| {
        let positions = match rows {
            RopeRows::From(start) => RopePositions::From(start),
            RopeRows::PerBatch => RopePositions::PerBatch,
            RopeRows::Given => RopePositions::Given(ids),
        };
        exec.rope(a, cos, sin, positions, options, out).map(drop)
    };
    if exec.split(OP, [view, ids.unwrap_or(cos), out], 1, joints, each)? {
        return Ok(());
    }
    let fit = options.fit(view.shape(), cos, positions(ends, rows)?)?;
    exec.run_planned(OP, ends, |p| steps(p, options, rows, &fit))
}

/// Checks what the operands are by themselves.
fn check(
    a: &Operand<'_>,
    cos: &View,
    sin: &View,
    (out, made): (&Shape, DType),
) -> Result<(), KernelError> {
    if !a.dtype().is_float() {
        return Err(dtype_error("a", "it must be a float", a.dtype()));
    }
    if made != a.dtype() {
        return Err(dtype_error("out", "it must have the input's dtype", made));
    }
    check_tables(OP, cos, sin)?;
    if out != a.layout().shape() {
        return Err(KernelError::output(OP, *a.layout().shape(), *out));
    }
    Ok(())
}

fn check_tables(op: &'static str, cos: &View, sin: &View) -> Result<(), KernelError> {
    for (operand, table) in [("cos", cos), ("sin", sin)] {
        if table.dtype != DType::F32 {
            return Err(KernelError::dtype(
                op,
                operand,
                "tables are f32",
                table.dtype,
            ));
        }
        if !table.layout.is_contiguous() || table.rank() == 0 || table.shape() != cos.shape() {
            return Err(KernelError::operand(
                op,
                operand,
                "must be contiguous rows, the same for cos and sin",
                *table.shape(),
            ));
        }
    }
    Ok(())
}

fn wrong(operand: &'static str, rule: &'static str, shape: &Shape) -> KernelError {
    KernelError::operand(OP, operand, rule, *shape)
}

fn dtype_error(operand: &'static str, rule: &'static str, got: DType) -> KernelError {
    KernelError::dtype(OP, operand, rule, got)
}

/// Counts are bounded by the views' 32-bit indices, which binding checks.
fn count(value: usize) -> u32 {
    saturated(value as u64)
}

fn four(strides: &[isize]) -> [u32; 4] {
    let mut packed = [0; 4];
    for (slot, &stride) in packed.iter_mut().zip(strides) {
        *slot = wrap(stride);
    }
    packed
}
