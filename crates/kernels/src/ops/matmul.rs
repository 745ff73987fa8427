//! Matrix products: any strides, broadcast batches, every number dtype.
//!
//! [`problem`] turns two layouts into numbers, [`choose`] lists the kernels. Floats are multiplied and added in f32,
//! integers wrap. Invariant: every product of a row and a column enters the sum (0 · inf is NaN), and nothing else
//! does: positions outside the matrices count as 0 on both sides.

use ziggurat_core::Shape;

use crate::fused::Operand;
use crate::limits::ability::{MATRIX_UNITS, no_matrix_units};
use crate::limits::budget::parts;
use crate::num::saturated;
use crate::ops::reduce::{add_sums, only_memory};
use crate::run::call::{Call, CallKind, Operands, Sink};
use crate::run::completion::Completion;
use crate::run::ends::Ends;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::plan::{Bound, Planned, Planner};
use crate::run::view::View;
use crate::source::params::params;

mod aligned;
mod choose;
mod dispatch;
mod dtypes;
mod kernel;
mod list;
mod packed;
mod parts;
pub(crate) mod precision;
mod problem;
mod scaled;
mod shares;

use choose::{Choice, ways};
use dispatch::{dispatch_dot, dispatch_narrow, dispatch_tiles};
use dtypes::DTypes;
use kernel::Writes;
pub(crate) use list::{variants, writing_fused};
use precision::MatmulPrecision;
use problem::Problem;

const OP: &str = "matmul";

params! {
    /// Parameters of the matmul kernels.
    pub(crate) struct MatmulParams {
        m: u32,
        n: u32,
        k: u32,
        batch: u32,
        a_offset: u32,
        b_offset: u32,
        out_offset: u32,
        chunks: u32,
        a_row: u32,
        a_depth: u32,
        b_depth: u32,
        b_col: u32,
        chunk_len: u32,
        tiles_m: u32,
        tiles_n: u32,
        resumed: u32,
        dims: [[u32; 4]; 2],
        a_strides: [[u32; 4]; 2],
        b_strides: [[u32; 4]; 2],
    }
}

impl Executor {
    /// The matrix product of `a` `[.., m, k]` and `b` `[.., k, n]` into `out` `[.., m, n]`; batch axes broadcast as in
    /// NumPy. No inner extent gives zeros. Elements of f32 are read as [`Executor::set_matmul_precision`] says.
    ///
    /// # Errors
    /// [`KernelError::Operands`] if the shapes do not fit; [`KernelError::Dtype`] unless a and b have the same number
    /// dtype and `out` has it too, or is f32 for floats and i32 or u32 for integers; floats that differ are read as f32,
    /// which `out` then is (or as `a`, if b is f32); [`KernelError::Output`];
    /// [`KernelError::CannotFuse`] if one kernel cannot write an expression over the product.
    pub fn matmul<'a>(
        &self,
        a: &'a View,
        b: &'a View,
        out: impl Into<Sink<'a>>,
    ) -> Result<Completion, KernelError> {
        self.multiply([a, b], out.into(), self.matmul_precision())
    }

    /// The product as exact as a call of it says, whatever this executor says now.
    fn multiply<'a>(
        &self,
        [a, b]: [&'a View; 2],
        out: Sink<'a>,
        precision: MatmulPrecision,
    ) -> Result<Completion, KernelError> {
        let operands = Operands {
            first: a.into(),
            others: [Some(b), None, None, None, None],
        };
        self.run(&Call::new(CallKind::Matmul { precision }), &operands, out)
    }
}

/// Both matrices.
fn matrices<'a>(ends: &Ends<'a>) -> Result<[&'a View; 2], KernelError> {
    match ends.a {
        Operand::Memory(a) => Ok([a, ends.other(OP, 0, "b")?]),
        Operand::Fused(_) => Err(only_memory(OP)),
    }
}

fn dtypes(a: &View, b: &View, ends: &Ends<'_>) -> DTypes {
    DTypes {
        a: a.dtype,
        b: b.dtype,
        out: ends.computed(),
    }
}

/// The problem of a call, and the shape of its result.
fn problem_of(
    [a, b]: [&View; 2],
    precision: MatmulPrecision,
) -> Result<(Problem, Shape), KernelError> {
    let (problem, expected) = Problem::new(&a.layout, &b.layout)?;
    let problem = Problem {
        precision,
        one_dtype: a.dtype == b.dtype,
        ..problem
    };
    Ok((problem.with_rows_for_columns(), expected))
}

/// The operands in the order of a problem.
fn operands_of(plan: &mut Planner<'_>, p: &Problem) -> Result<[Bound; 2], KernelError> {
    let [a, b] = [plan.first()?, plan.needed(0)?];
    Ok(if p.flipped { [b, a] } else { [a, b] })
}

/// Plans [`CallKind::Matmul`].
pub(crate) fn plan(
    p: &mut Planner<'_>,
    precision: MatmulPrecision,
) -> Result<Planned, KernelError> {
    let ends = p.ends;
    let [a, b] = matrices(ends)?;
    dtypes(a, b, ends).check()?;
    let (problem, expected) = problem_of([a, b], precision)?;
    if expected != *ends.out.shape() {
        return Err(KernelError::Output {
            op: OP,
            expected: Box::new(expected),
            got: Box::new(*ends.out.shape()),
        });
    }
    if expected.is_empty() {
        return Ok(Planned::Nothing);
    }
    let all = [a, b, ends.out];
    if p.exec.exceeds_binding(&all) {
        if ends.epilogue.is_some() {
            p.exec.refuse_over_binding(all.into_iter())?;
        }
        return Ok(Planned::Parts);
    }
    steps(p, &problem)?;
    Ok(Planned::Steps)
}

fn steps(plan: &mut Planner<'_>, p: &Problem) -> Result<(), KernelError> {
    let (exec, ends) = (plan.exec, plan.ends);
    let [a, b] = matrices(ends)?;
    let dtypes = dtypes(a, b, ends);
    let dtype = dtypes.read();
    let ability = exec.ability();
    let sums = dtype.compute();
    let totals = [p.outputs(), p.k];
    let way = plan.way(
        || choose::class(p, [dtypes.a, dtypes.b, dtypes.out]),
        |ability| choose::default(p, dtype, ability),
        |ability| ways(p, dtype, ability),
    );
    let more = ends.epilogue.map_or(0, |epilogue| epilogue.views().count());
    let way = match way {
        // These kernels bind one thing more than the operands and the output.
        Choice::Packed(packed) if more + 4 > exec.fused_limits().bindings => {
            Choice::Tile(packed.every_tile(p))
        }
        Choice::Scaled(scaled) if more + 4 > exec.fused_limits().bindings => {
            Choice::Tile(scaled.every_tile(p))
        }
        way => way,
    };
    let [left, right] = match (operands_of(plan, p)?, way) {
        ([a, b], Choice::Narrow(narrow)) if narrow.columns => [b, a],
        (both, _) => both,
    };
    let operands = |write: Bound| [left, right, write];
    let bound = |params: MatmulParams, write: Bound| MatmulParams {
        a_offset: left.offset,
        b_offset: right.offset,
        out_offset: write.offset,
        ..params
    };
    let (choice, params, grid) = match way {
        Choice::Packed(_) | Choice::Scaled(_) | Choice::Aligned(_) if !MATRIX_UNITS => {
            return Err(no_matrix_units(plan.op));
        }
        Choice::Packed(packed) => return packed.steps(plan, p, dtypes),
        Choice::Scaled(scaled) => return scaled.steps(plan, p, dtypes),
        Choice::Shared(shared) => return shared.steps(plan, p, dtypes),
        Choice::Aligned(aligned) => return aligned.steps(plan, p, dtypes),
        Choice::Tile(tile) if tile.tile.iterations(p.k) > ability.loop_budget => {
            // One part of the inner extent after the other, which go on with each other's sums.
            let write = plan.partials(sums, p.outputs(), 1)?;
            let (choice, params, grid) = dispatch_tiles(p, tile, dtypes, Writes::Sums);
            let whole = bound(params, write);
            // Parts are whole tiles deep, so that vec4 stay vec4.
            let deep = u64::from(tile.tile.depth);
            let depth = p.k.div_ceil(deep);
            let each = parts([depth], ability.loop_budget, |[depth]| {
                tile.tile.iterations(depth * deep)
            });
            for part in each {
                let [first] = part.from.map(|depth| depth * deep);
                let [len] = part.len.map(|depth| depth * deep);
                let moved = |offset: u32, step: u32| {
                    offset.wrapping_add(saturated(first).wrapping_mul(step))
                };
                let params = MatmulParams {
                    a_offset: moved(whole.a_offset, whole.a_depth),
                    b_offset: moved(whole.b_offset, whole.b_depth),
                    k: saturated(len.min(p.k - first)),
                    resumed: u32::from(part.resumed),
                    ..whole
                };
                plan.step(choice.clone(), operands(write), &params, grid);
            }
            let out = plan.out()?;
            add_sums(plan, dtype, (write.read(), 1), totals, out);
            return Ok(());
        }
        Choice::Dot(lanes) if lanes.chunks > 1 => {
            let write = plan.partials(sums, p.outputs(), lanes.chunks)?;
            let (choice, params, grid) = dispatch_dot(p, &lanes, dtypes);
            plan.step(choice, operands(write), &bound(params, write), grid);
            let out = plan.out()?;
            add_sums(plan, dtype, (write.read(), lanes.chunks), totals, out);
            return Ok(());
        }
        Choice::Tile(tile) => dispatch_tiles(p, tile, dtypes, Writes::Results),
        Choice::Narrow(narrow) => dispatch_narrow(p, &narrow, dtypes),
        Choice::Dot(lanes) => dispatch_dot(p, &lanes, dtypes),
    };
    let write = plan.out()?;
    plan.last(choice, operands(write), &bound(params, write), grid);
    Ok(())
}

/// Runs [`CallKind::Matmul`] on parts of matrices that one binding cannot hold.
pub(crate) fn run_parts(
    exec: &Executor,
    ends: &Ends<'_>,
    precision: MatmulPrecision,
) -> Result<(), KernelError> {
    let [a, b] = matrices(ends)?;
    if exec.multiply_parts(a, b, ends.out, precision)? {
        return Ok(());
    }
    let (problem, _) = problem_of([a, b], precision)?;
    exec.run_planned(OP, ends, |p| steps(p, &problem))
}

#[cfg(test)]
mod tests;
