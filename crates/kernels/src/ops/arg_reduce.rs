//! The position of the greatest or least element over any axes, alone or with the element.
//!
//! The same layout over workgroups as [`crate::ops::reduce`], with (key, position) pairs in place of sums. Positions are
//! row-major over the reduced axes in their order. Invariant: among equal elements the first wins (or the last, on
//! request), −0 equals +0, and NaN is more extreme than everything.

use ziggurat_core::{DType, Layout, sort_few_by_key};
use ziggurat_pipeline::Grid;

use crate::fused::Operand;
use crate::num::saturated;
use crate::ops::reduce::geometry::{Order, ReduceGeometry, ReduceParams};
use crate::ops::reduce::lanes::{self, Lanes};
use crate::ops::reduce::{Pass, check_len, only_memory, sample, with_constants};
use crate::run::call::{Call, CallKind, Operands, Sink, Source};
use crate::run::completion::Completion;
use crate::run::ends::Ends;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::plan::{Bound, Planned, Planner};
use crate::run::view::View;
use crate::source::candidate::Candidate;
use crate::source::choice::{KernelChoice, Reads};
use crate::source::params::Params;

/// Which extreme element's position is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ArgReduce {
    /// The greatest.
    Max,
    /// The least.
    Min,
}

impl ArgReduce {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Max, Self::Min];

    /// The name in labels and messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Max => "arg_max",
            Self::Min => "arg_min",
        }
    }
}

/// One search over elements of one dtype.
#[derive(Clone, Copy, Debug)]
struct Job {
    op: ArgReduce,
    /// Where elements come from; not of the second of two passes.
    reads: Reads,
    input: DType,
    select_last: bool,
    /// Whether elements are read four at a time.
    vec4: bool,
    /// Whether the element is written along with its position.
    with_values: bool,
}

impl Job {
    fn choice(&self, pass: Pass, geometry: &ReduceGeometry, lanes: &Lanes) -> KernelChoice {
        let finished = if self.with_values {
            "reduce/arg/output_both.wgsl"
        } else {
            "reduce/arg/output_index.wgsl"
        };
        let (read, write) = match pass {
            Pass::Whole => ("reduce/arg/input_elem.wgsl", finished),
            Pass::First => (
                "reduce/arg/input_elem.wgsl",
                "reduce/arg/output_partial.wgsl",
            ),
            Pass::Second => ("reduce/arg/input_partial.wgsl", finished),
        };
        let key = match self.input.compute() {
            DType::F32 => "reduce/key/float.wgsl",
            DType::Bool => "reduce/key/bool.wgsl",
            _ => "reduce/key/int.wgsl",
        };
        let mut choice = KernelChoice::new(self.op.name())
            .name(self.input.name())
            .name(pass.name())
            .name(match (self.select_last, self.with_values) {
                (false, false) => "first_of_equals",
                (true, false) => "last",
                (false, true) => "first_of_equals_with_value",
                (true, true) => "last_with_value",
            })
            .constant("LEAST", u32::from(self.op == ArgReduce::Min))
            .constant("LAST", u32::from(self.select_last))
            .without_zeroed_memory();
        choice = pass.reading(choice, (self.reads, self.input), self.vec4);
        if self.with_values && pass != Pass::First {
            choice = choice.store(self.input).cell(self.input);
        }
        choice = choice.part("reduce/index.wgsl");
        if pass != Pass::Second {
            choice = choice.access(self.vec4);
        }
        choice = choice.parts(&[key, read, write, "reduce/arg/body.wgsl", "reduce/tree.wgsl"]);
        with_constants(choice, geometry, lanes)
    }
}

/// Both ops on every dtype, in one pass and in two, with and without values.
pub(crate) fn variants() -> Vec<Candidate> {
    let (geometry, lanes) = sample();
    let mut all = Vec::new();
    for op in ArgReduce::ALL {
        for input in DType::ALL {
            for (pass, both) in Pass::ALL.map(|pass| [(pass, false), (pass, true)]).concat() {
                let job = Job {
                    op,
                    reads: Reads::Memory,
                    input,
                    select_last: pass == Pass::First && !both,
                    vec4: both,
                    with_values: both,
                };
                let choice = job.choice(pass, &geometry, &lanes);
                all.push(Candidate::new(choice, ReduceParams::FIELDS));
            }
        }
    }
    all
}

/// Searches in a fused expression's value of a dtype, for the corpus of those, and their bindings.
pub(crate) fn reading_fused() -> Vec<(DType, KernelChoice, usize)> {
    let (geometry, lanes) = sample();
    let mut all = Vec::new();
    for input in DType::ALL {
        for (pass, with_values) in [
            (Pass::Whole, false),
            (Pass::Whole, true),
            (Pass::First, false),
        ] {
            let job = Job {
                op: ArgReduce::Max,
                reads: Reads::Fused,
                input,
                select_last: false,
                vec4: pass == Pass::Whole,
                with_values,
            };
            let bindings = 2 + usize::from(with_values);
            all.push((input, job.choice(pass, &geometry, &lanes), bindings));
        }
    }
    all
}

impl Executor {
    /// Writes, for each position of the kept axes, where the extreme element over `axes` is: row-major over the
    /// reduced axes in increasing order, as i32. Only the number of elements of `out` matters, as in
    /// [`Executor::reduce`].
    ///
    /// # Errors
    /// [`KernelError::Dtype`] if `out` is not i32; [`KernelError::Shape`] for axes that `a` does not have;
    /// [`KernelError::Operand`] if there is nothing to choose from; [`KernelError::Output`]; [`KernelError::CannotFuse`] if
    /// one kernel cannot read an expression.
    pub fn arg_reduce<'a>(
        &self,
        op: ArgReduce,
        a: impl Into<Source<'a>>,
        axes: &[usize],
        select_last: bool,
        out: &'a View,
    ) -> Result<Completion, KernelError> {
        let call = Call::new(CallKind::Search {
            op,
            axes: axes.into(),
            select_last,
        });
        self.run(&call, &Operands::one(a), out.into())
    }

    /// [`Executor::arg_reduce`] that also writes the extreme elements themselves, into `values` of `a`'s dtype, in the same
    /// kernel. The sign of a zero is not promised.
    ///
    /// # Errors
    /// As [`Executor::arg_reduce`]; [`KernelError::Dtype`] if `values` has another dtype than `a`.
    pub fn extreme_with_position<'a>(
        &self,
        op: ArgReduce,
        a: impl Into<Source<'a>>,
        axes: &[usize],
        select_last: bool,
        values: &'a View,
        positions: &'a View,
    ) -> Result<Completion, KernelError> {
        let call = Call::new(CallKind::Search {
            op,
            axes: axes.into(),
            select_last,
        });
        let sink = Sink::new(values).also(positions);
        self.run(&call, &Operands::one(a), sink)
    }
}

impl Job {
    fn of(op: ArgReduce, select_last: bool, ends: &Ends<'_>) -> Self {
        Self {
            op,
            reads: ends.a.reads(),
            input: ends.a.dtype(),
            select_last,
            vec4: false,
            with_values: ends.also.is_some(),
        }
    }

    /// The same as it reads an operand: in vectors of four, where rows lie in memory like that.
    fn reading(&self, a: &Operand<'_>, geometry: &ReduceGeometry) -> Self {
        Self {
            vec4: a.has_vec4(geometry),
            ..*self
        }
    }
}

/// The outputs, for the split along kept axes.
fn outputs<'a>(ends: &Ends<'a>) -> Vec<&'a View> {
    [Some(ends.out), ends.also].into_iter().flatten().collect()
}

/// Plans [`Call::Search`].
pub(crate) fn plan(
    p: &mut Planner<'_>,
    op: ArgReduce,
    axes: &[usize],
    select_last: bool,
) -> Result<Planned, KernelError> {
    let ends = p.ends;
    let job = Job::of(op, select_last, ends);
    if ends.also.is_some() {
        if ends.out.dtype != job.input {
            return Err(KernelError::dtype(
                p.op,
                "values",
                "it must have the input's dtype",
                ends.out.dtype,
            ));
        }
        check_len(p.op, ends.a.layout(), axes, ends.out)?;
    }
    let positions = ends.also.unwrap_or(ends.out);
    let Some(geometry) = arg_checked(&job, ends.a.layout(), axes, positions)? else {
        return Ok(Planned::Nothing);
    };
    if let Some(view) = ends.divisible(p.exec)?
        && (p.exec.splits_kept(view, axes, &outputs(ends)) || p.exec.exceeds_binding(&[view]))
    {
        return Ok(Planned::Parts);
    }
    let job = job.reading(&ends.a, &geometry);
    let lanes = choose_lanes(p.exec, &ends.a, &geometry);
    let pairs = if lanes.chunks > 1 {
        let partial = p.partials(DType::U32, geometry.outputs, lanes.chunks.saturating_mul(2))?;
        first_pass(p, &job, (&geometry, &lanes), 0, partial)?;
        Some(partial.read())
    } else {
        None
    };
    let written = Written::of(p)?;
    match pairs {
        Some(pairs) => {
            let rows = ReduceGeometry::rows(geometry.outputs, u64::from(lanes.chunks));
            last_pass(p, &job, Pass::Second, &rows, (pairs, None), written);
        }
        None => {
            let read = p.first()?;
            last_pass(
                p,
                &job,
                Pass::Whole,
                &geometry,
                (read, Some(lanes)),
                written,
            );
        }
    }
    Ok(Planned::Steps)
}

/// Where results go: values, if they are wanted, before positions.
#[derive(Clone, Copy, Debug)]
struct Written {
    first: Bound,
    second: Option<Bound>,
}

impl Written {
    fn of(p: &mut Planner<'_>) -> Result<Self, KernelError> {
        Ok(Self {
            first: p.out()?,
            second: p.also()?,
        })
    }
}

fn choose_lanes(exec: &Executor, a: &Operand<'_>, geometry: &ReduceGeometry) -> Lanes {
    let ability = exec.ability();
    let lanes = lanes::vectors(
        geometry.outputs,
        geometry.len,
        geometry.side(),
        true,
        &ability,
    );
    lanes.within(
        geometry.len,
        1 + a.iterations(geometry.reduced.len()),
        exec.max_iterations(),
    )
}

/// Adds the step that leaves the extreme elements of chunks and their positions, counted from `before`: two words each.
fn first_pass(
    p: &mut Planner<'_>,
    job: &Job,
    (geometry, lanes): (&ReduceGeometry, &Lanes),
    before: u64,
    target: Bound,
) -> Result<(), KernelError> {
    let read = p.first()?;
    let choice = job.choice(Pass::First, geometry, lanes);
    let before = saturated(before);
    let params = geometry.params(lanes, read.offset, target.offset, before, 0);
    let grid = Grid::elements(lanes.invocations(geometry.outputs), 1);
    p.step(choice, [read, target], &params, grid);
    Ok(())
}

/// Adds the step that writes the results; of pairs if it is the second.
fn last_pass(
    p: &mut Planner<'_>,
    job: &Job,
    pass: Pass,
    geometry: &ReduceGeometry,
    (read, lanes): (Bound, Option<Lanes>),
    written: Written,
) {
    let ability = p.exec.ability();
    let lanes = lanes.unwrap_or_else(|| {
        lanes::vectors(
            geometry.outputs,
            geometry.len,
            geometry.side(),
            false,
            &ability,
        )
    });
    // Positions are at the second offset, wherever they are written.
    let positions = written.second.unwrap_or(written.first).offset;
    let offset = written.first.offset;
    let params = geometry.params(&lanes, read.offset, offset, 0, u64::from(positions));
    let grid = Grid::elements(lanes.invocations(geometry.outputs), 1);
    let choice = job.choice(pass, geometry, &lanes);
    let bindings = [Some(read), Some(written.first), written.second];
    p.last(choice, bindings.into_iter().flatten(), &params, grid);
}

/// Runs [`Call::Search`] on parts of an operand that one binding cannot hold.
pub(crate) fn run_parts(
    exec: &Executor,
    ends: &Ends<'_>,
    op: ArgReduce,
    axes: &[usize],
    select_last: bool,
) -> Result<(), KernelError> {
    let name = op.name();
    let Operand::Memory(view) = ends.a else {
        return Err(only_memory(name));
    };
    if exec.splits_kept(view, axes, &outputs(ends)) {
        return match ends.also {
            None => {
                let each = &mut |[a, out]: &[View; 2]| {
                    exec.arg_reduce(op, a, axes, select_last, out).map(drop)
                };
                exec.reduction_split(name, axes, ([view, ends.out], 1), each)
            }
            Some(positions) => {
                let each = &mut |[a, values, positions]: &[View; 3]| {
                    exec.extreme_with_position(op, a, axes, select_last, values, positions)
                        .map(drop)
                };
                exec.reduction_split(name, axes, ([view, ends.out, positions], 1), each)
            }
        };
    }
    let job = Job::of(op, select_last, ends);
    let mut in_order = axes.to_vec();
    sort_few_by_key(&mut in_order, |axis| *axis);
    let (mut all, mut before) = (Vec::new(), 0);
    for piece in exec.pieces(name, view, &in_order)? {
        let geometry = ReduceGeometry::new(name, &piece.layout, axes, Order::RowMajor)?;
        let job = job.reading(&Operand::Memory(&piece), &geometry);
        let lanes = choose_lanes(exec, &Operand::Memory(&piece), &geometry);
        let words = lanes.chunks.saturating_mul(2);
        let partial = exec.partials(DType::U32, geometry.outputs, words)?;
        exec.run_planned(name, &Ends::plain(&piece, &partial), |p| {
            let target = p.raw_out()?;
            first_pass(p, &job, (&geometry, &lanes), before, target)
        })?;
        before += geometry.len;
        all.push(partial);
    }
    let pairs = exec.concatenated_partials(name, &all)?;
    let own = Ends {
        a: Operand::Memory(&pairs),
        ..*ends
    };
    exec.run_planned(name, &own, |p| {
        let &[outputs, words] = pairs.dims() else {
            return Err(KernelError::internal(name, "pairs that are not in rows"));
        };
        let rows = ReduceGeometry::rows(outputs as u64, words as u64 / 2);
        let (read, written) = (p.first()?, Written::of(p)?);
        last_pass(p, &job, Pass::Second, &rows, (read, None), written);
        Ok(())
    })
}

/// The geometry of a call without mistakes; `None` if there are no outputs.
fn arg_checked(
    job: &Job,
    a: &Layout,
    axes: &[usize],
    positions: &View,
) -> Result<Option<ReduceGeometry>, KernelError> {
    let name = job.op.name();
    if positions.dtype != DType::I32 {
        return Err(KernelError::dtype(
            name,
            "out",
            "positions are i32",
            positions.dtype,
        ));
    }
    let geometry = ReduceGeometry::new(name, a, axes, Order::RowMajor)?;
    check_len(name, a, axes, positions)?;
    if geometry.outputs > 0 && geometry.len == 0 {
        let rule = "must have at least one element along the reduced axes";
        return Err(KernelError::operand(name, "a", rule, *a.shape()));
    }
    Ok((geometry.outputs > 0).then_some(geometry))
}
