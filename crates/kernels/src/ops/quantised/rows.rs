//! How rows of blocks become numbers: one after the other, or those that indices name.

use ziggurat_core::{DType, Shape};
use ziggurat_pipeline::Grid;

use super::kernel::{self, Rows};
use super::plan::{check_out, check_words, memory, params, whole};
use super::{BlockParams, BlockShape};
use crate::compose::assemble::narrow;
use crate::fused::Operand;
use crate::limits::split::{Joint, middle};
use crate::num::saturated;
use crate::run::call::{Call, CallKind, Operands};
use crate::run::ends::Ends;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::plan::{Bound, Planned, Planner};
use crate::run::view::View;

/// Words of a unit, each of which an invocation decodes.
const UNIT_WORDS: u64 = 4;
/// Invocations of a workgroup that decodes rows.
pub(super) const ROWS_GROUP: u32 = 256;

const DEQUANTIZE: &str = "dequantize";
const EMBEDDING: &str = "quantized_embedding";

/// Refuses results that are not numbers of blocks.
fn check_made(p: &Planner<'_>) -> Result<DType, KernelError> {
    let computed = p.ends.computed();
    if computed.is_float() {
        return Ok(computed);
    }
    Err(KernelError::dtype(
        p.op,
        "out",
        "the numbers of blocks are floats",
        computed,
    ))
}

/// Plans rows that are decoded: `m` of them, from the row or the element of the indices at `offset` on.
fn plan_rows(
    p: &mut Planner<'_>,
    shape: &BlockShape,
    (m, rows): (usize, Rows),
    bindings: [Bound; 2],
    offset: u32,
) -> Result<Planned, KernelError> {
    let computed = check_made(p)?;
    let [first, blocks] = bindings;
    let out = p.out()?;
    let params = BlockParams {
        m: saturated(m as u64),
        x_offset: offset,
        out_offset: out.offset,
        ..params(shape, blocks)
    };
    let bound = match rows {
        Rows::All => None,
        Rows::ByIndex { .. } => Some(first),
    };
    let choice = kernel::rows(shape.format, computed, rows);
    let words = shape.units().saturating_mul(UNIT_WORDS);
    let grid = Grid::elements((m as u64).saturating_mul(words), 1);
    let bindings = [bound, Some(blocks), Some(out)];
    p.last(choice, bindings.into_iter().flatten(), &params, grid);
    Ok(Planned::Steps)
}

/// Plans [`Call::Dequantize`].
pub(crate) fn plan_dequantize(
    p: &mut Planner<'_>,
    blocks: &BlockShape,
    [first, rows]: [usize; 2],
) -> Result<Planned, KernelError> {
    let (op, ends) = (p.op, p.ends);
    let words = memory(op, ends)?;
    check_words(op, words, blocks)?;
    check_made(p)?;
    if first.saturating_add(rows) > blocks.rows {
        return Err(KernelError::option(
            op,
            "the end of the rows",
            "must not be behind the last row of the blocks",
            i64::try_from(first.saturating_add(rows)).unwrap_or(i64::MAX),
        ));
    }
    check_out(p, &[rows], blocks.cols)?;
    if ends.out.is_empty() {
        return Ok(Planned::Nothing);
    }
    if !whole(p, &[ends.out])? {
        return Ok(Planned::Parts);
    }
    let bound = p.first()?;
    plan_rows(
        p,
        blocks,
        (rows, Rows::All),
        [bound; 2],
        saturated(first as u64),
    )
}

/// A row of the output is more than one binding holds.
fn too_large(exec: &Executor, op: &'static str, out: &View) -> KernelError {
    KernelError::BindingTooLarge {
        op,
        bytes: out.buffer.bytes(),
        limit: exec.device().caps().max_binding_bytes,
    }
}

/// Runs [`Call::Dequantize`] into an output that one binding cannot hold.
pub(crate) fn run_dequantize(
    exec: &Executor,
    ends: &Ends<'_>,
    blocks: &BlockShape,
    [first, rows]: [usize; 2],
) -> Result<(), KernelError> {
    let words = memory(DEQUANTIZE, ends)?;
    let at = middle(rows);
    if at == 0 {
        return Err(too_large(exec, DEQUANTIZE, ends.out));
    }
    for (start, len) in [(0, at), (at, rows - at)] {
        let out = narrow(DEQUANTIZE, ends.out, 0, start, len)?;
        let call = Call::new(CallKind::Dequantize {
            blocks: *blocks,
            rows: [first + start, len],
        });
        let _decoded = exec.run(&call, &Operands::one(words), (&out).into())?;
    }
    Ok(())
}

/// Plans [`Call::QuantizedEmbedding`].
pub(crate) fn plan_embedding(
    p: &mut Planner<'_>,
    table: &BlockShape,
) -> Result<Planned, KernelError> {
    let (op, ends) = (p.op, p.ends);
    let (indices, words) = (memory(op, ends)?, ends.other(op, 0, "the blocks")?);
    check_words(op, words, table)?;
    check_made(p)?;
    if !matches!(indices.dtype, DType::I32 | DType::U32) {
        return Err(KernelError::dtype(
            op,
            "indices",
            "indices are i32 or u32",
            indices.dtype,
        ));
    }
    check_out(p, indices.dims(), table.cols)?;
    if ends.out.is_empty() {
        return Ok(Planned::Nothing);
    }
    if table.rows == 0 {
        return Err(KernelError::operand(
            op,
            "the table",
            "must have rows",
            Shape::new(table.dims()).map_err(KernelError::shape(op))?,
        ));
    }
    if !indices.layout.is_contiguous() || !whole(p, &[indices, ends.out])? {
        return Ok(Planned::Parts);
    }
    let signed = indices.dtype == DType::I32;
    let (first, blocks) = (p.first()?, p.other(0)?);
    let Some(blocks) = blocks else {
        return Err(KernelError::internal(op, "an embedding without a table"));
    };
    let rows = (indices.len(), Rows::ByIndex { signed });
    plan_rows(p, table, rows, [first, blocks], first.offset)
}

/// Runs [`Call::QuantizedEmbedding`] with indices that do not lie side by side, or results that one binding cannot hold.
pub(crate) fn run_embedding(
    exec: &Executor,
    ends: &Ends<'_>,
    table: &BlockShape,
) -> Result<(), KernelError> {
    let op = EMBEDDING;
    let (indices, words) = (memory(op, ends)?, ends.other(op, 0, "the blocks")?);
    let call = Call::new(CallKind::QuantizedEmbedding { table: *table });
    if !indices.layout.is_contiguous() {
        let dense = exec.to_dense(op, indices)?;
        let a = Operand::Memory(&dense);
        return exec.run_ends(&call, &Ends { a, ..*ends });
    }
    let joints = || {
        let axes = 0..indices.rank();
        axes.map(|axis| [Some(axis), Some(axis)])
            .collect::<Vec<Joint<2>>>()
    };
    let each = &mut |[indices, out]: &[View; 2]| {
        let operands = Operands {
            first: indices.into(),
            others: [Some(words), None, None, None, None],
        };
        exec.run(&call, &operands, out.into()).map(drop)
    };
    if exec.split(op, [indices, ends.out], 1, joints, each)? {
        return Ok(());
    }
    Err(too_large(exec, op, ends.out))
}
