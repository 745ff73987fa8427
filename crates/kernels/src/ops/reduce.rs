//! Reductions over any axes: sums, products, extremes, norms, variances.
//!
//! One kernel body serves rows (contiguous reduced axis), columns (contiguous kept axis) and anything between:
//! [`lanes`] chooses how outputs and elements lie over a workgroup, [`walk`] how they lie in memory. Few outputs
//! with many elements each take two passes. Every sum is a fixed tree, so results are the same on every run.
//! Maxima and minima compare keys made from bits, so NaN wins on every adapter.

use ziggurat_core::{DType, Layout, Shape};
use ziggurat_pipeline::Grid;

use crate::fused::{Epilogue, FusedInput, FusedOutput, Operand, WalkInput, made};
use crate::run::completion::Completion;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;
use crate::source::candidate::Candidate;
use crate::source::choice::{CATALOGUE_WG, KernelChoice, Reads};
use crate::source::params::Params;
use crate::source::prelude;

pub(crate) mod axes;
pub(crate) mod lanes;
mod op;
mod parts;
pub(crate) mod walk;

use lanes::Lanes;
pub use op::{Reduce, ReduceDTypes, ReduceSpec};
use walk::{MAX_COUNT, Order, Walk, WalkParams};

/// What a pass reads and writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pass {
    /// Elements to results.
    Whole,
    /// Elements to accumulators.
    First,
    /// Accumulators to results.
    Second,
}

/// One reduction of elements of one dtype.
#[derive(Clone, Copy, Debug)]
struct Job {
    op: Reduce,
    argument: f32,
    reads: Reads,
    input: DType,
    output: DType,
    /// Variances followed by means, in one output of twice the length.
    with_mean: bool,
}

impl Job {
    fn new(op: Reduce, input: DType, output: DType) -> Self {
        Self {
            op,
            argument: op.default_argument(),
            reads: Reads::Memory,
            input,
            output,
            with_mean: false,
        }
    }

    fn identity(&self) -> u32 {
        self.op.identity(self.input, self.argument)
    }

    fn choice(&self, pass: Pass, walk: &Walk, lanes: &Lanes) -> KernelChoice {
        let (op, input, output) = (self.op, self.input, self.output);
        let finished = if self.with_mean {
            "reduce/output_pair.wgsl"
        } else {
            "reduce/output_elem.wgsl"
        };
        let (name, read, write) = match pass {
            Pass::Whole => ("whole", "reduce/input_elem.wgsl", finished),
            Pass::First => ("first", "reduce/input_elem.wgsl", "reduce/output_acc.wgsl"),
            Pass::Second => ("second", "reduce/input_acc.wgsl", finished),
        };
        let mut choice = KernelChoice::new(if self.with_mean {
            "var_mean"
        } else {
            op.name()
        })
        .name(input.name())
        .name(output.name())
        .name(name)
        .without_zeroed_memory();
        choice = match pass {
            Pass::Whole | Pass::First => choice.reads(self.reads, input),
            Pass::Second => {
                choice.parts(&[prelude::FLOAT, prelude::load(input), "reduce/params.wgsl"])
            }
        };
        choice = choice.part(prelude::store(output));
        if pass != Pass::First {
            choice = choice.part(prelude::cell(output));
        }
        choice = choice
            .part("reduce/index.wgsl")
            .parts(op.operator(input))
            .parts(&[read, write, "reduce/body.wgsl"]);
        if let Some((name, value)) = op.spec().constant {
            choice = choice.constant(name, value);
        }
        with_constants(choice, walk, lanes)
    }
}

/// Adds the walk's override constants.
pub(crate) fn with_constants(choice: KernelChoice, walk: &Walk, lanes: &Lanes) -> KernelChoice {
    walk.constants(lanes)
        .into_iter()
        .fold(choice, |choice, (name, value)| choice.constant(name, value))
}

/// Every reduction of every dtype, in one pass and in two.
pub(crate) fn variants() -> Vec<Candidate> {
    let mut all = Vec::new();
    let walk = Walk::rows(64, 4096);
    let lanes = lanes::choose(walk.outputs, walk.len, walk.side(), true, CATALOGUE_WG);
    let candidate =
        |job: Job, pass| Candidate::new(job.choice(pass, &walk, &lanes), WalkParams::FIELDS);
    for input in DType::ALL {
        for output in DType::ALL {
            for op in Reduce::ALL {
                if op.accepts(input, output) {
                    let job = Job::new(op, input, output);
                    all.extend([Pass::Whole, Pass::First, Pass::Second].map(|p| candidate(job, p)));
                }
            }
            if Reduce::Var.accepts(input, output) {
                let job = Job {
                    with_mean: true,
                    ..Job::new(Reduce::Var, input, output)
                };
                all.extend([Pass::Whole, Pass::Second].map(|pass| candidate(job, pass)));
            }
        }
    }
    all
}

/// Reductions that read a fused expression's value of a dtype, for the corpus of those.
pub(crate) fn reading_fused() -> Vec<(DType, KernelChoice)> {
    let walk = Walk::rows(64, 4096);
    let lanes = lanes::choose(walk.outputs, walk.len, walk.side(), true, CATALOGUE_WG);
    let fused = |op, input, output, pass| {
        let job = Job {
            reads: Reads::Fused,
            ..Job::new(op, input, output)
        };
        (input, job.choice(pass, &walk, &lanes))
    };
    let mut all = vec![
        fused(Reduce::Mean, DType::F32, DType::F32, Pass::Whole),
        fused(Reduce::Mean, DType::BF16, DType::F32, Pass::First),
        fused(Reduce::Sum, DType::Bool, DType::I32, Pass::Whole),
        fused(Reduce::Norm, DType::F32, DType::F32, Pass::Whole),
        fused(Reduce::Norm2, DType::F16, DType::F16, Pass::Whole),
        fused(Reduce::LogSumExp, DType::F32, DType::F32, Pass::First),
        fused(Reduce::Var, DType::F16, DType::F32, Pass::Whole),
    ];
    let pair = Job {
        reads: Reads::Fused,
        with_mean: true,
        ..Job::new(Reduce::Var, DType::F32, DType::F32)
    };
    all.push((DType::F32, pair.choice(Pass::Whole, &walk, &lanes)));
    for dtype in DType::ALL {
        all.push(fused(Reduce::Max, dtype, dtype, Pass::Whole));
        if Reduce::Sum.accepts(dtype, dtype) {
            all.push(fused(Reduce::Sum, dtype, dtype, Pass::Whole));
        }
    }
    all
}

/// Reductions with an epilogue for the corpus: the dtype they read, that of the result, and whether they read a value too.
pub(crate) fn writing_fused() -> Vec<(DType, DType, KernelChoice, bool)> {
    let walk = Walk::rows(64, 4096);
    let lanes = lanes::choose(walk.outputs, walk.len, walk.side(), true, CATALOGUE_WG);
    let both = [Reads::Memory, Reads::Fused].into_iter().cycle();
    let jobs = Reduce::ALL.into_iter().flat_map(|op| {
        DType::ALL.into_iter().filter_map(move |input| {
            let output = DType::ALL.into_iter().find(|to| op.accepts(input, *to))?;
            Some(Job::new(op, input, output))
        })
    });
    jobs.zip(both)
        .map(|(job, reads)| {
            let job = Job { reads, ..job };
            let choice = job.choice(Pass::Whole, &walk, &lanes);
            (job.input, job.output, choice, reads == Reads::Fused)
        })
        .collect()
}

impl Executor {
    /// Reduces `axes` (distinct, in any order; none reduces nothing) of `a` into `out`.
    ///
    /// `out` has one element per position of the kept axes, in row-major order; whether its shape keeps the
    /// reduced axes as 1 or drops them does not matter.
    ///
    /// # Errors
    /// [`KernelError::Dtype`] where [`Reduce::accepts`] says no; [`KernelError::Shape`] for axes that `a` does not
    /// have; [`KernelError::Output`] if `out` has another number of elements.
    pub fn reduce(
        &self,
        op: Reduce,
        a: &View,
        axes: &[usize],
        out: &View,
    ) -> Result<Completion, KernelError> {
        self.reduce_with(op, op.default_argument(), a, axes, out)
    }

    /// Like [`Executor::reduce`], with the argument of [`Reduce::Norm`] (p) or of [`Reduce::Var`] and [`Reduce::Std`]
    /// (the correction); other reductions ignore it.
    ///
    /// # Errors
    /// As [`Executor::reduce`].
    pub fn reduce_with(
        &self,
        op: Reduce,
        argument: f32,
        a: &View,
        axes: &[usize],
        out: &View,
    ) -> Result<Completion, KernelError> {
        self.reduce_of(op, argument, Operand::Memory(a), axes, out, None)
    }

    /// [`Executor::reduce`] of a value of an expression, which is never in memory.
    ///
    /// # Errors
    /// Those of [`Executor::reduce`]; [`KernelError::FusedTooLarge`] if one kernel cannot do it.
    pub fn reduce_fused(
        &self,
        op: Reduce,
        a: &FusedInput<'_>,
        axes: &[usize],
        out: &View,
    ) -> Result<Completion, KernelError> {
        self.reduce_fused_with(op, op.default_argument(), a, axes, out)
    }

    /// [`Executor::reduce_with`] of a value of an expression, which is never in memory.
    ///
    /// # Errors
    /// As [`Executor::reduce_fused`].
    pub fn reduce_fused_with(
        &self,
        op: Reduce,
        argument: f32,
        a: &FusedInput<'_>,
        axes: &[usize],
        out: &View,
    ) -> Result<Completion, KernelError> {
        let prologue = self.prologue(a, 2, 1)?;
        self.reduce_of(op, argument, Operand::Fused(&prologue), axes, out, None)
    }

    /// [`Executor::reduce_with`] of either sort of input, which writes a value of an expression over the result if one is
    /// given. The result itself has the dtype of [`Expression::made`](crate::Expression::made) then.
    ///
    /// # Errors
    /// As [`Executor::reduce_fused`]; [`KernelError::Dtype`] if `out` has not the value's dtype.
    pub fn reduce_between(
        &self,
        op: Reduce,
        argument: f32,
        a: WalkInput<'_>,
        axes: &[usize],
        value: Option<&FusedOutput<'_>>,
        out: &View,
    ) -> Result<Completion, KernelError> {
        let epilogue = self.epilogue_behind(a, 0, value, out)?;
        self.reduce_of(op, argument, a.operand(), axes, out, epilogue.as_ref())
    }

    fn reduce_of(
        &self,
        op: Reduce,
        argument: f32,
        a: Operand<'_>,
        axes: &[usize],
        out: &View,
        epilogue: Option<&Epilogue>,
    ) -> Result<Completion, KernelError> {
        let job = Job {
            argument,
            reads: a.reads(),
            ..Job::new(op, a.dtype(), made(out, epilogue))
        };
        check_dtypes(op.name(), &job)?;
        let walk = Walk::new(op.name(), a.layout(), axes, Order::Free)?;
        check_len(op.name(), a.layout(), axes, out)?;
        if walk.outputs > 0
            && let Some(view) = self.walks_memory(&a, out, epilogue)?
        {
            let each = &mut |a: &View, [out]: &[View; 1]| {
                let a = Operand::Memory(a);
                let part = self.reduce_of(op, argument, a, axes, out, None);
                part.map(drop)
            };
            if self.reduction_apart(op.name(), axes, view, [(out, 1)], each)? {
                return Ok(self.completion());
            }
        }
        self.reduce_job(&job, a, (axes, &walk), out, epilogue)
    }

    /// The variance and the mean over `axes` in one kernel: `out` has twice the elements of a reduction's output, all
    /// variances before all means.
    ///
    /// # Errors
    /// As [`Executor::reduce`].
    pub fn var_mean(
        &self,
        correction: f32,
        a: &View,
        axes: &[usize],
        out: &View,
    ) -> Result<Completion, KernelError> {
        self.var_mean_of(correction, Operand::Memory(a), axes, out)
    }

    /// [`Executor::var_mean`] of a value of an expression, which is never in memory.
    ///
    /// # Errors
    /// Those of [`Executor::var_mean`]; [`KernelError::FusedTooLarge`] if one kernel cannot do it.
    pub fn var_mean_fused(
        &self,
        correction: f32,
        a: &FusedInput<'_>,
        axes: &[usize],
        out: &View,
    ) -> Result<Completion, KernelError> {
        let prologue = self.prologue(a, 2, 1)?;
        self.var_mean_of(correction, Operand::Fused(&prologue), axes, out)
    }

    fn var_mean_of(
        &self,
        correction: f32,
        a: Operand<'_>,
        axes: &[usize],
        out: &View,
    ) -> Result<Completion, KernelError> {
        const OP: &str = "var_mean";
        let job = Job {
            argument: correction,
            with_mean: true,
            reads: a.reads(),
            ..Job::new(Reduce::Var, a.dtype(), out.dtype)
        };
        check_dtypes(OP, &job)?;
        let walk = Walk::new(OP, a.layout(), axes, Order::Free)?;
        let expected = kept_shape(OP, a.layout(), axes)?;
        if expected.len().checked_mul(2) != Some(out.len()) {
            return Err(KernelError::Operand {
                op: OP,
                operand: "out",
                rule: "must have two elements per position of the kept axes",
                got: Box::new(*out.shape()),
            });
        }
        if walk.outputs > 0
            && let Some(view) = self.walks_memory(&a, out, None)?
        {
            let each = &mut |a: &View, [out]: &[View; 1]| {
                let part = self.var_mean_of(correction, Operand::Memory(a), axes, out);
                part.map(drop)
            };
            if self.reduction_apart(OP, axes, view, [(out, 2)], each)? {
                return Ok(self.completion());
            }
        }
        self.reduce_job(&job, a, (axes, &walk), out, None)
    }

    fn reduce_job(
        &self,
        job: &Job,
        a: Operand<'_>,
        (axes, walk): (&[usize], &Walk),
        out: &View,
        epilogue: Option<&Epilogue>,
    ) -> Result<Completion, KernelError> {
        if walk.outputs > 0 {
            let mut inputs = a.views();
            inputs.extend(epilogue.into_iter().flat_map(Epilogue::views));
            self.with_dense_out(job.op.name(), out, &inputs, |out| match a {
                Operand::Memory(view) if self.exceeds_binding(&[view]) && !axes.is_empty() => {
                    self.reduce_pieces(job, view, axes, walk.len, out)
                }
                _ => self.reduce_walk(job, a, walk, out, epilogue),
            })?;
        }
        Ok(self.completion())
    }

    fn reduce_walk(
        &self,
        job: &Job,
        a: Operand<'_>,
        walk: &Walk,
        out: &View,
        epilogue: Option<&Epilogue>,
    ) -> Result<(), KernelError> {
        let name = job.op.name();
        let wg = self.device().caps().workgroup_size;
        let lanes = lanes::choose(walk.outputs, walk.len, walk.side(), true, wg);
        let turns = 1 + job.op.spec().loop_iterations + a.turns(walk.reduced.len());
        let lanes = lanes.within(walk.len, turns, self.most_turns());
        if lanes.chunks > 1 {
            let partial = self.first_pass(job, a, walk, &lanes)?;
            return self.second_pass(job, &partial, walk.len, out, epilogue);
        }
        {
            let (read, write) = (self.bind_operand(name, &a)?, self.bind_write(name, out)?);
            let identity = job.identity();
            let grid = Grid::elements(lanes.invocations(walk.outputs), 1);
            let choice = job.choice(Pass::Whole, walk, &lanes);
            let params = walk.params(&lanes, read.offset(), write.offset, identity, walk.len);
            self.launch_between(&choice, &read, &[write.arg], &params, grid, epilogue)
        }
    }

    /// The accumulators of each chunk of each output.
    fn first_pass(
        &self,
        job: &Job,
        a: Operand<'_>,
        walk: &Walk,
        lanes: &Lanes,
    ) -> Result<View, KernelError> {
        let name = job.op.name();
        let read = self.bind_operand(name, &a)?;
        let grid = Grid::elements(lanes.invocations(walk.outputs), 1);
        let words = lanes.chunks.saturating_mul(job.op.spec().accumulator_words);
        let partial = self.partials(DType::U32, walk.outputs, words)?;
        let scratch = self.bind_write(name, &partial)?;
        let first = job.choice(Pass::First, walk, lanes);
        let identity = job.identity();
        let params = walk.params(lanes, read.offset(), scratch.offset, identity, walk.len);
        self.launch_reading(&first, &read, &[scratch.arg], &params, grid)?;
        Ok(partial)
    }

    /// What `op` leaves of each chunk of each output, for kernels that combine them themselves.
    pub(crate) fn accumulators(
        &self,
        op: Reduce,
        a: Operand<'_>,
        walk: &Walk,
        lanes: &Lanes,
    ) -> Result<View, KernelError> {
        let job = Job {
            reads: a.reads(),
            ..Job::new(op, a.dtype(), a.dtype())
        };
        self.first_pass(&job, a, walk, lanes)
    }

    /// Scratch for `chunks` words per output.
    pub(crate) fn partials(
        &self,
        dtype: DType,
        outputs: u64,
        chunks: u32,
    ) -> Result<View, KernelError> {
        let dims =
            [outputs, u64::from(chunks)].map(|dim| usize::try_from(dim).unwrap_or(usize::MAX));
        let shape = Shape::new(dims).map_err(KernelError::shape("reduce"))?;
        self.alloc(&shape, dtype)
    }

    /// Reduces the rows of `partial`, accumulators of `input` elements, into `out`. `count` is the number of elements
    /// that went into each output.
    pub(crate) fn reduce_partials(
        &self,
        op: Reduce,
        input: DType,
        partial: &View,
        count: u64,
        out: &View,
        epilogue: Option<&Epilogue>,
    ) -> Result<(), KernelError> {
        let job = Job::new(op, input, made(out, epilogue));
        self.second_pass(&job, partial, count, out, epilogue)
    }

    fn second_pass(
        &self,
        job: &Job,
        partial: &View,
        count: u64,
        out: &View,
        epilogue: Option<&Epilogue>,
    ) -> Result<(), KernelError> {
        let name = job.op.name();
        let &[outputs, words] = partial.dims() else {
            return Ok(());
        };
        let walk = Walk::rows(
            outputs as u64,
            words as u64 / u64::from(job.op.spec().accumulator_words),
        );
        let lanes = lanes::choose(
            walk.outputs,
            walk.len,
            walk.side(),
            false,
            self.device().caps().workgroup_size,
        );
        let choice = job.choice(Pass::Second, &walk, &lanes);
        let (read, write) = (self.bind_read(name, partial)?, self.bind_write(name, out)?);
        let params = walk.params(&lanes, read.offset, write.offset, job.identity(), count);
        self.launch_writing(
            &choice,
            &[read.arg, write.arg],
            &params,
            Grid::elements(lanes.invocations(walk.outputs), 1),
            epilogue,
        )
    }
}

/// A reduction takes its dtypes only.
fn check_dtypes(name: &'static str, job: &Job) -> Result<(), KernelError> {
    let (op, input) = (job.op, job.input);
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
    Err(KernelError::Dtype {
        op: name,
        operand,
        rule,
        got,
    })
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
        return Err(KernelError::Output {
            op,
            expected: Box::new(expected),
            got: Box::new(*out.shape()),
        });
    }
    Ok(())
}

const _: () = assert!(MAX_COUNT <= u32::MAX as u64, "counts are u32 in kernels");
