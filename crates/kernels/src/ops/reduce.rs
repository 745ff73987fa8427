//! Reductions over any axes: sums, products, extremes, norms, variances.
//!
//! One kernel body serves rows (contiguous reduced axis), columns (contiguous kept axis) and anything between:
//! [`lanes`] chooses how outputs and elements lie over a workgroup, [`geometry`] how they lie in memory. Few outputs
//! with many elements each take two passes. Every sum is a fixed tree, so results are the same on every run.
//! Maxima and minima compare keys made from bits, so NaN wins on every adapter.

use ziggurat_core::{DType, Layout, Shape};
use ziggurat_pipeline::Grid;

use crate::fused::{Epilogue, Operand};
use crate::run::call::{Call, CallKind, Operands, ReduceOp, Sink, Source};
use crate::run::completion::Completion;
use crate::run::ends::Ends;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::plan::{Bound, Planned, Planner};
use crate::run::view::View;

pub(crate) mod axes;
pub(crate) mod geometry;
mod kernel;
pub(crate) mod lanes;
mod op;
mod parts;
mod put;
pub(crate) mod user;

use geometry::{MAX_COUNT, Order, ReduceGeometry};
use kernel::{Job, Loads};
pub(crate) use kernel::{
    Pass, reading_fused, sample, variants, with_constants, with_registers, writing_fused,
};
use lanes::{Lanes, Registers};
pub use op::{Reduce, ReduceDTypes, ReduceSpec};
pub(crate) use put::{ACCESSES, BEFORE_EPILOGUES, Put, sample_of};
pub use user::UserCombine;

impl Executor {
    /// Memory for `words` per output.
    pub(crate) fn partials(
        &self,
        dtype: DType,
        outputs: u64,
        words: u32,
    ) -> Result<View, KernelError> {
        let dims =
            [outputs, u64::from(words)].map(|dim| usize::try_from(dim).unwrap_or(usize::MAX));
        let shape = Shape::new(dims).map_err(KernelError::shape("reduce"))?;
        self.alloc(&shape, dtype)
    }

    /// Reduces `axes` (distinct, in any order; none reduces nothing) of `a` into `out`. [`Reduce::with`] gives a reduction its
    /// argument.
    ///
    /// `out` has one element per position of the kept axes, in row-major order; whether its shape keeps the
    /// reduced axes as 1 or drops them does not matter.
    ///
    /// # Errors
    /// [`KernelError::Dtype`] where [`Reduce::accepts`] says no; [`KernelError::Shape`] for axes that `a` does not
    /// have; [`KernelError::Output`] if `out` has another number of elements; [`KernelError::CannotFuse`] if one kernel cannot
    /// read or write an expression.
    pub fn reduce<'a>(
        &self,
        op: impl Into<ReduceOp>,
        a: impl Into<Source<'a>>,
        axes: &[usize],
        out: impl Into<Sink<'a>>,
    ) -> Result<Completion, KernelError> {
        self.run(&Call::reduce(op, axes), &Operands::one(a), out.into())
    }

    /// The variance and the mean over `axes` in one kernel: `out` has twice the elements of a reduction's output, all
    /// variances before all means.
    ///
    /// # Errors
    /// As [`Executor::reduce`].
    pub fn var_mean<'a>(
        &self,
        correction: f32,
        a: impl Into<Source<'a>>,
        axes: &[usize],
        out: &'a View,
    ) -> Result<Completion, KernelError> {
        let call = Call::new(CallKind::VarMean {
            correction: correction.into(),
            axes: axes.into(),
        });
        self.run(&call, &Operands::one(a), out.into())
    }
}

/// Plans [`Call::Reduce`].
pub(crate) fn plan(
    p: &mut Planner<'_>,
    op: ReduceOp,
    axes: &[usize],
) -> Result<Planned, KernelError> {
    let job = Job::of(op, p.ends, p.ends.computed());
    check_dtypes(p.op, &job)?;
    let geometry = ReduceGeometry::new(p.op, p.ends.a.layout(), axes, Order::Free)?;
    check_len(p.op, p.ends.a.layout(), axes, p.ends.out)?;
    plan_job(p, &job, axes, &geometry)
}

/// Plans [`Call::VarMean`].
pub(crate) fn plan_var_mean(
    p: &mut Planner<'_>,
    correction: f32,
    axes: &[usize],
) -> Result<Planned, KernelError> {
    let job = Job::of_both(correction, p.ends);
    check_dtypes(p.op, &job)?;
    let geometry = ReduceGeometry::new(p.op, p.ends.a.layout(), axes, Order::Free)?;
    let expected = kept_shape(p.op, p.ends.a.layout(), axes)?;
    if expected.len().checked_mul(2) != Some(p.ends.out.len()) {
        return Err(KernelError::operand(
            p.op,
            "out",
            "must have two elements per position of the kept axes",
            *p.ends.out.shape(),
        ));
    }
    plan_job(p, &job, axes, &geometry)
}

fn plan_job(
    p: &mut Planner<'_>,
    job: &Job,
    axes: &[usize],
    geometry: &ReduceGeometry,
) -> Result<Planned, KernelError> {
    let job = &job.reading(&p.ends.a, geometry, &p.exec.ability());
    if geometry.outputs == 0 {
        return Ok(Planned::Nothing);
    }
    if let Some(view) = p.ends.divisible(p.exec)?
        && (p.exec.splits_kept(view, axes, &[p.ends.out])
            || (p.exec.exceeds_binding(&[view]) && !axes.is_empty()))
    {
        return Ok(Planned::Parts);
    }
    let lanes = choose_lanes(p.exec, &p.ends.a, job, geometry);
    if lanes.chunks > 1 {
        let partial = first_pass(p, job, geometry, &lanes)?;
        let words = u64::from(lanes.chunks);
        let out = p.out()?;
        second_pass(
            p,
            job,
            (partial, words),
            [geometry.outputs, geometry.len],
            out,
        );
    } else {
        let (read, write) = (p.first()?, p.out()?);
        let grid = job.grid(geometry, &lanes);
        let choice = job.choice(Pass::Whole, geometry, &lanes);
        let identity = job.identity();
        let params = geometry.params(&lanes, read.offset, write.offset, identity, geometry.len);
        p.last(choice, [read, write], &params, grid);
    }
    Ok(Planned::Steps)
}

/// How the outputs and elements of a reduction lie over invocations that loop no longer than they may.
fn choose_lanes(exec: &Executor, a: &Operand<'_>, job: &Job, geometry: &ReduceGeometry) -> Lanes {
    let ability = exec.ability();
    let lanes = lanes::vectors(
        geometry.outputs,
        geometry.len,
        geometry.side(),
        true,
        &ability,
    );
    let iterations = 1 + job.op.spec().loop_iterations + a.iterations(geometry.reduced.len());
    lanes.within(geometry.len, iterations, exec.max_iterations())
}

/// Adds the step that leaves the accumulators of each chunk of each output.
fn first_pass(
    p: &mut Planner<'_>,
    job: &Job,
    geometry: &ReduceGeometry,
    lanes: &Lanes,
) -> Result<Bound, KernelError> {
    let words = lanes.chunks.saturating_mul(job.words());
    let scratch = p.partials(DType::U32, geometry.outputs, words)?;
    first_pass_into(p, job, geometry, lanes, scratch)?;
    Ok(scratch.read())
}

fn first_pass_into(
    p: &mut Planner<'_>,
    job: &Job,
    geometry: &ReduceGeometry,
    lanes: &Lanes,
    target: Bound,
) -> Result<(), KernelError> {
    let read = p.first()?;
    let grid = job.grid(geometry, lanes);
    let choice = job.choice(Pass::First, geometry, lanes);
    let identity = job.identity();
    let params = geometry.params(lanes, read.offset, target.offset, identity, geometry.len);
    p.step(choice, [read, target], &params, grid);
    Ok(())
}

/// Adds the step that leaves what `op` accumulates of each chunk of each output, for kernels that combine that themselves.
fn accumulators(
    p: &mut Planner<'_>,
    op: Reduce,
    geometry: &ReduceGeometry,
    lanes: &Lanes,
) -> Result<Bound, KernelError> {
    let job = Job::of(op.into(), p.ends, p.ends.a.dtype());
    let job = job.reading(&p.ends.a, geometry, &p.exec.ability());
    first_pass(p, &job, geometry, lanes)
}

/// How rows that a kernel goes over twice lie over invocations.
#[derive(Debug)]
pub(crate) struct Rows {
    /// Those whose registers hold them, if any do.
    pub(crate) registers: Option<Registers>,
    pub(crate) lanes: Lanes,
    /// Else what a step before has accumulated of their chunks.
    pub(crate) accumulated: Option<Bound>,
}

impl Rows {
    /// How the results of a call are written; `neighbours` says whether those of a row are neighbours in memory. Lanes change to
    /// what that takes.
    pub(crate) fn put(&mut self, ends: &Ends<'_>, len: u64, neighbours: bool) -> Put {
        if !neighbours {
            return Put::Elements;
        }
        let packed = ends.out.dtype.bytes() < 4;
        let staged = |registers: Registers| registers.staged(len, packed);
        match self.registers.and_then(staged) {
            Some(registers) if !len.is_multiple_of(4) && ends.epilogue.is_none() => {
                self.lanes = registers.lanes;
                self.registers = Some(registers);
                Put::Staged
            }
            _ => Put::direct(len),
        }
    }
}

/// Rows in registers, or in chunks: then a step is added that leaves what `op` accumulates of each.
pub(crate) fn rows(
    p: &mut Planner<'_>,
    op: Reduce,
    geometry: &ReduceGeometry,
) -> Result<Rows, KernelError> {
    let bindings = p.ends.bindings() + 1 + p.ends.epilogue.map_or(0, Epilogue::bindings);
    let registers = p.exec.rows_in_registers(geometry, bindings)?;
    if let Some(Registers { lanes, .. }) = registers {
        return Ok(Rows {
            registers,
            lanes,
            accumulated: None,
        });
    }
    let iterations = 1 + p.ends.a.iterations(geometry.reduced.len());
    let ability = p.exec.ability();
    let lanes = lanes::vectors(
        geometry.outputs,
        geometry.len,
        geometry.side(),
        true,
        &ability,
    );
    let lanes = lanes.within(geometry.len, iterations, p.exec.max_iterations());
    Ok(Rows {
        registers,
        lanes,
        accumulated: Some(accumulators(p, op, geometry, &lanes)?),
    })
}

/// Adds the last step: results of `chunks` accumulators for each of `outputs`, of `count` elements together.
fn second_pass(
    p: &mut Planner<'_>,
    job: &Job,
    (partial, chunks): (Bound, u64),
    [outputs, count]: [u64; 2],
    write: Bound,
) {
    let rows = ReduceGeometry::rows(outputs, chunks);
    combine(p, job, (partial, &rows), count, write);
}

/// Adds the step that combines accumulators.
fn combine(
    p: &mut Planner<'_>,
    job: &Job,
    (partial, seen): (Bound, &ReduceGeometry),
    count: u64,
    write: Bound,
) {
    let ability = p.exec.ability();
    let (rows, len) = match job.loads {
        // Four outputs for each invocation, which takes all that there are of them.
        Loads::Columns => (seen.outputs / 4, 1),
        Loads::Singles | Loads::Rows => (seen.outputs, seen.len),
    };
    let lanes = lanes::choose(rows, len, seen.side(), false, &ability);
    let choice = job.choice(Pass::Second, seen, &lanes);
    let identity = job.identity();
    let params = seen.params(&lanes, partial.offset, write.offset, identity, count);
    let grid = Grid::elements(lanes.invocations(rows), 1);
    p.last(choice, [partial, write], &params, grid);
}

/// Adds the last step of ops that leave sums: `chunks` for each output. `totals` are the outputs and the elements of a dtype
/// that went into each.
pub(crate) fn add_sums(
    p: &mut Planner<'_>,
    dtype: DType,
    (partial, chunks): (Bound, u32),
    totals: [u64; 2],
    write: Bound,
) {
    let job = Job::new(Reduce::Sum, dtype, p.ends.computed());
    second_pass(p, &job, (partial, u64::from(chunks)), totals, write);
}

/// The same where the sums of all outputs of a matrix lie side by side, `layers` times, one matrix after the other.
pub(crate) fn add_layers(
    p: &mut Planner<'_>,
    dtype: DType,
    (partial, layers): (Bound, u32),
    [matrices, outputs, count]: [u64; 3],
    write: Bound,
) {
    let job = Job::new(Reduce::Sum, dtype, p.ends.computed());
    let seen = ReduceGeometry::columns(matrices, outputs, u64::from(layers));
    let aligned = [partial.offset, write.offset].iter().all(|at| at % 4 == 0);
    // Fewer outputs are too few invocations: on an H200 16 × 8192 × 2048 in 16 shares 15.5 µs instead of 14.3, 16 × 4096 × 4096 in 12
    // 15.0 instead of 14.7, but 256 × 4096 × 4096 in 4 44.6 instead of 48.2.
    let many = seen.outputs >= p.exec.ability().busy_groups.saturating_mul(128);
    let loads = match seen.has_vec4_columns() && aligned && many {
        true => Loads::Columns,
        false => Loads::Singles,
    };
    combine(p, &Job { loads, ..job }, (partial, &seen), count, write);
}

/// Runs [`Call::Reduce`] on parts of an operand that one binding cannot hold.
pub(crate) fn run_parts(
    exec: &Executor,
    ends: &Ends<'_>,
    op: ReduceOp,
    axes: &[usize],
) -> Result<(), KernelError> {
    let job = Job::of(op, ends, ends.out.dtype);
    let each = &mut |[a, out]: &[View; 2]| exec.reduce(op, a, axes, out).map(drop);
    run_job_parts(exec, (op.name(), ends), &job, axes, each)
}

/// Runs [`Call::VarMean`] on parts of an operand that one binding cannot hold.
pub(crate) fn run_var_mean_parts(
    exec: &Executor,
    ends: &Ends<'_>,
    correction: f32,
    axes: &[usize],
) -> Result<(), KernelError> {
    let job = Job::of_both(correction, ends);
    let each = &mut |[a, out]: &[View; 2]| exec.var_mean(correction, a, axes, out).map(drop);
    run_job_parts(exec, ("var_mean", ends), &job, axes, each)
}

fn run_job_parts(
    exec: &Executor,
    (op, ends): (&'static str, &Ends<'_>),
    job: &Job,
    axes: &[usize],
    each: &mut dyn FnMut(&[View; 2]) -> Result<(), KernelError>,
) -> Result<(), KernelError> {
    let (Operand::Memory(view), out) = (ends.a, ends.out) else {
        return Err(only_memory(op));
    };
    let results = if job.with_mean { 2 } else { 1 };
    if exec.splits_kept(view, axes, &[out]) {
        return exec.reduction_split(op, axes, ([view, out], results), each);
    }
    exec.with_dense_out(op, out, &[view], |out| {
        exec.reduce_pieces(op, job, view, axes, out)
    })
}

/// Only memory is planned to be cut into parts.
pub(crate) const fn only_memory(op: &'static str) -> KernelError {
    KernelError::internal(op, "a value that is not in memory was to be cut into parts")
}

/// A reduction takes its dtypes only.
fn check_dtypes(name: &'static str, job: &Job) -> Result<(), KernelError> {
    let (op, input) = (job.op, job.input);
    if let Some(user) = job.user {
        return user.check(input, job.output);
    }
    if op.accepts(input, job.output) {
        return Ok(());
    }
    let accepts_some = DType::ALL.into_iter().any(|dtype| op.accepts(input, dtype));
    let (operand, rule, got) = if op == Reduce::Mean && !accepts_some {
        ("a", "a mean needs floats", input)
    } else if op.needs_floats() && !accepts_some {
        ("a", "it must be a float", input)
    } else if !accepts_some {
        ("a", "bool does not have this op", input)
    } else {
        let rule = "it must be the input's dtype or, for sums, a wider one";
        ("out", rule, job.output)
    };
    Err(KernelError::dtype(name, operand, rule, got))
}

/// The extents of the kept axes.
fn kept_shape(op: &'static str, a: &Layout, axes: &[usize]) -> Result<Shape, KernelError> {
    let kept: Vec<usize> = a
        .dims()
        .iter()
        .enumerate()
        .filter(|(axis, _)| !axes.contains(axis))
        .map(|(_, &dim)| dim)
        .collect();
    Shape::new(kept).map_err(KernelError::shape(op))
}

/// The output of a reduction must have one element per position of the kept axes.
pub(crate) fn check_len(
    op: &'static str,
    a: &Layout,
    axes: &[usize],
    out: &View,
) -> Result<(), KernelError> {
    let expected = kept_shape(op, a, axes)?;
    if expected.len() != out.len() {
        return Err(KernelError::output(op, expected, *out.shape()));
    }
    Ok(())
}

const _: () = assert!(MAX_COUNT <= u32::MAX as u64, "counts are u32 in kernels");
