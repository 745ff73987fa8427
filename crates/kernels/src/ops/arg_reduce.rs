//! The position of the greatest or least element over any axes, alone or with the element.
//!
//! The same layout over workgroups as [`crate::ops::reduce`], with (key, position) pairs in place of sums. Positions are
//! row-major over the reduced axes in their order. Invariant: among equal elements the first wins (or the last, on
//! request), −0 equals +0, and NaN is more extreme than everything.

use ziggurat_core::{DType, Layout};
use ziggurat_pipeline::{Arg, Grid};

use crate::fused::{FusedInput, Operand};
use crate::ops::reduce::lanes::{self, Lanes};
use crate::ops::reduce::walk::{Order, Walk, WalkParams};
use crate::ops::reduce::{check_len, with_constants};
use crate::run::completion::Completion;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;
use crate::source::candidate::Candidate;
use crate::source::choice::{CATALOGUE_WG, KernelChoice, Reads};
use crate::source::params::Params;
use crate::source::prelude;

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

/// What a pass reads and writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pass {
    /// Elements to positions.
    Whole,
    /// Elements to (key, position) pairs.
    First,
    /// Pairs to positions.
    Second,
}

/// One search over elements of one dtype.
#[derive(Clone, Copy, Debug)]
struct Job {
    op: ArgReduce,
    /// Where elements come from; not of the second of two passes.
    reads: Reads,
    input: DType,
    select_last: bool,
    /// Whether the element is written beside its position.
    with_values: bool,
}

impl Job {
    fn choice(&self, pass: Pass, walk: &Walk, lanes: &Lanes) -> KernelChoice {
        let finished = if self.with_values {
            "reduce/arg/output_both.wgsl"
        } else {
            "reduce/arg/output_index.wgsl"
        };
        let (name, read, write) = match pass {
            Pass::Whole => ("whole", "reduce/arg/input_elem.wgsl", finished),
            Pass::First => (
                "first",
                "reduce/arg/input_elem.wgsl",
                "reduce/arg/output_partial.wgsl",
            ),
            Pass::Second => ("second", "reduce/arg/input_partial.wgsl", finished),
        };
        let key = match self.input.compute() {
            DType::F32 => "reduce/key/float.wgsl",
            DType::Bool => "reduce/key/bool.wgsl",
            _ => "reduce/key/int.wgsl",
        };
        let mut choice = KernelChoice::new(self.op.name())
            .name(self.input.name())
            .name(name)
            .name(match (self.select_last, self.with_values) {
                (false, false) => "first_of_equals",
                (true, false) => "last",
                (false, true) => "first_of_equals_with_value",
                (true, true) => "last_with_value",
            })
            .constant("LEAST", u32::from(self.op == ArgReduce::Min))
            .constant("LAST", u32::from(self.select_last))
            .without_zeroed_memory();
        choice = match pass {
            Pass::Whole | Pass::First => choice.reads(self.reads, self.input),
            Pass::Second => choice.parts(&[
                prelude::FLOAT,
                prelude::load(self.input),
                "reduce/params.wgsl",
            ]),
        };
        if self.with_values && pass != Pass::First {
            choice = choice.parts(&[prelude::store(self.input), prelude::cell(self.input)]);
        }
        choice = choice.parts(&[
            "reduce/index.wgsl",
            key,
            read,
            write,
            "reduce/arg/body.wgsl",
        ]);
        with_constants(choice, walk, lanes)
    }
}

/// Both ops on every dtype, in one pass and in two, with and without values.
pub(crate) fn variants() -> Vec<Candidate> {
    let mut all = Vec::new();
    let walk = Walk::rows(64, 4096);
    let lanes = lanes::choose(walk.outputs, walk.len, walk.side(), true, CATALOGUE_WG);
    for op in ArgReduce::ALL {
        for input in DType::ALL {
            for pass in [Pass::Whole, Pass::First, Pass::Second] {
                let job = Job {
                    op,
                    reads: Reads::Memory,
                    input,
                    select_last: pass == Pass::First,
                    with_values: false,
                };
                all.push(Candidate::new(
                    job.choice(pass, &walk, &lanes),
                    WalkParams::FIELDS,
                ));
            }
            for pass in [Pass::Whole, Pass::Second] {
                let job = Job {
                    op,
                    reads: Reads::Memory,
                    input,
                    select_last: false,
                    with_values: true,
                };
                all.push(Candidate::new(
                    job.choice(pass, &walk, &lanes),
                    WalkParams::FIELDS,
                ));
            }
        }
    }
    all
}

/// Searches in a fused expression's value of a dtype, for the corpus of those, and their bindings.
pub(crate) fn reading_fused() -> Vec<(DType, KernelChoice, usize)> {
    let walk = Walk::rows(64, 4096);
    let lanes = lanes::choose(walk.outputs, walk.len, walk.side(), true, CATALOGUE_WG);
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
                with_values,
            };
            let bindings = 2 + usize::from(with_values);
            all.push((input, job.choice(pass, &walk, &lanes), bindings));
        }
    }
    all
}

/// Where results go.
#[derive(Clone, Copy, Debug)]
struct Outputs<'a> {
    values: Option<&'a View>,
    positions: &'a View,
}

impl Executor {
    /// Writes, for each position of the kept axes, where the extreme element over `axes` is: row-major over the
    /// reduced axes in increasing order, as i32. Only the number of elements of `out` matters, as in
    /// [`Executor::reduce`].
    ///
    /// # Errors
    /// [`KernelError::Dtype`] if `out` is not i32; [`KernelError::Shape`] for axes that `a` does not have;
    /// [`KernelError::Operand`] if there is nothing to choose from; [`KernelError::Output`].
    pub fn arg_reduce(
        &self,
        op: ArgReduce,
        a: &View,
        axes: &[usize],
        select_last: bool,
        out: &View,
    ) -> Result<Completion, KernelError> {
        self.arg_reduce_of(op, Operand::Memory(a), axes, select_last, out)
    }

    /// [`Executor::arg_reduce`] of a value of an expression, which is never in memory.
    ///
    /// # Errors
    /// Those of [`Executor::arg_reduce`]; [`KernelError::FusedTooLarge`] if one kernel cannot do it.
    pub fn arg_reduce_fused(
        &self,
        op: ArgReduce,
        a: &FusedInput<'_>,
        axes: &[usize],
        select_last: bool,
        out: &View,
    ) -> Result<Completion, KernelError> {
        let prologue = self.prologue(a, 2, 1)?;
        self.arg_reduce_of(op, Operand::Fused(&prologue), axes, select_last, out)
    }

    fn arg_reduce_of(
        &self,
        op: ArgReduce,
        a: Operand<'_>,
        axes: &[usize],
        select_last: bool,
        out: &View,
    ) -> Result<Completion, KernelError> {
        let job = Job {
            op,
            reads: a.reads(),
            input: a.dtype(),
            select_last,
            with_values: false,
        };
        let Some(walk) = arg_checked(&job, a.layout(), axes, out)? else {
            return Ok(self.completion());
        };
        if let Some(view) = self.walks_memory(&a, out, None)? {
            let each = &mut |a: &View, [out]: &[View; 1]| {
                let part = self.arg_reduce_of(op, Operand::Memory(a), axes, select_last, out);
                part.map(drop)
            };
            if self.reduction_apart(op.name(), axes, view, [(out, 1)], each)? {
                return Ok(self.completion());
            }
        }
        self.with_dense_out(op.name(), out, &a.views(), |out| {
            let outputs = Outputs {
                values: None,
                positions: out,
            };
            self.arg_walk(&job, a, (axes, &walk), outputs)
        })?;
        Ok(self.completion())
    }

    /// [`Executor::arg_reduce`] that also writes the extreme elements themselves, into `values` of `a`'s dtype, in the same
    /// kernel. The sign of a zero is not promised.
    ///
    /// # Errors
    /// As [`Executor::arg_reduce`]; [`KernelError::Dtype`] if `values` has another dtype than `a`.
    pub fn extreme_with_position(
        &self,
        op: ArgReduce,
        a: &View,
        axes: &[usize],
        select_last: bool,
        values: &View,
        positions: &View,
    ) -> Result<Completion, KernelError> {
        self.extreme_of(op, Operand::Memory(a), axes, select_last, values, positions)
    }

    /// [`Executor::extreme_with_position`] of a value of an expression, which is never in memory.
    ///
    /// # Errors
    /// Those of [`Executor::extreme_with_position`]; [`KernelError::FusedTooLarge`] if one kernel cannot do it.
    pub fn extreme_with_position_fused(
        &self,
        op: ArgReduce,
        a: &FusedInput<'_>,
        axes: &[usize],
        select_last: bool,
        values: &View,
        positions: &View,
    ) -> Result<Completion, KernelError> {
        let prologue = self.prologue(a, 3, 1)?;
        let a = Operand::Fused(&prologue);
        self.extreme_of(op, a, axes, select_last, values, positions)
    }

    fn extreme_of(
        &self,
        op: ArgReduce,
        a: Operand<'_>,
        axes: &[usize],
        select_last: bool,
        values: &View,
        positions: &View,
    ) -> Result<Completion, KernelError> {
        let name = op.name();
        let job = Job {
            op,
            reads: a.reads(),
            input: a.dtype(),
            select_last,
            with_values: true,
        };
        if values.dtype != a.dtype() {
            return Err(KernelError::Dtype {
                op: name,
                operand: "values",
                rule: "it must have the input's dtype",
                got: values.dtype,
            });
        }
        check_len(name, a.layout(), axes, values)?;
        let Some(walk) = arg_checked(&job, a.layout(), axes, positions)? else {
            return Ok(self.completion());
        };
        if let Some(view) = self.walks_memory(&a, values, None)? {
            let each = &mut |a: &View, [values, positions]: &[View; 2]| {
                let a = Operand::Memory(a);
                let part = self.extreme_of(op, a, axes, select_last, values, positions);
                part.map(drop)
            };
            let outs = [(values, 1), (positions, 1)];
            if self.reduction_apart(name, axes, view, outs, each)? {
                return Ok(self.completion());
            }
        }
        let inputs = a.views();
        self.with_dense_out(
            name,
            values,
            &[&inputs[..], &[positions]].concat(),
            |values| {
                self.with_dense_out(
                    name,
                    positions,
                    &[&inputs[..], &[values]].concat(),
                    |positions| {
                        let outputs = Outputs {
                            values: Some(values),
                            positions,
                        };
                        self.arg_walk(&job, a, (axes, &walk), outputs)
                    },
                )
            },
        )?;
        Ok(self.completion())
    }

    fn arg_walk(
        &self,
        job: &Job,
        a: Operand<'_>,
        (axes, walk): (&[usize], &Walk),
        outputs: Outputs<'_>,
    ) -> Result<(), KernelError> {
        let name = job.op.name();
        let wg = self.device().caps().workgroup_size;
        let lanes = lanes::choose(walk.outputs, walk.len, walk.side(), true, wg);
        let lanes = lanes.within(walk.len, 1 + a.turns(walk.reduced.len()), self.most_turns());
        let cut = match a {
            Operand::Memory(view) if self.exceeds_binding(&[view]) => Some(view),
            _ => None,
        };
        let positions = self.bind_write(name, outputs.positions)?;
        let grid = Grid::elements(lanes.invocations(walk.outputs), 1);
        let (written, out_offset) = match outputs.values {
            None => (vec![positions.arg], positions.offset),
            Some(values) => {
                let values = self.bind_write(name, values)?;
                (vec![values.arg, positions.arg], values.offset)
            }
        };
        let second_offset = u64::from(positions.offset);
        if cut.is_none() && lanes.chunks == 1 {
            let read = self.bind_operand(name, &a)?;
            let choice = job.choice(Pass::Whole, walk, &lanes);
            let params = walk.params(&lanes, read.offset(), out_offset, 0, second_offset);
            return self.launch_reading(&choice, &read, &written, &params, grid);
        }
        let partial = match cut {
            None => self.arg_pairs(job, &a, walk, 0)?,
            Some(view) => {
                let mut in_order = axes.to_vec();
                in_order.sort_unstable();
                let (mut all, mut before) = (Vec::new(), 0);
                for piece in self.pieces(name, view, &in_order)? {
                    let walk = Walk::new(name, &piece.layout, axes, Order::RowMajor)?;
                    all.push(self.arg_pairs(job, &Operand::Memory(&piece), &walk, before)?);
                    before += walk.len;
                }
                self.beside_each_other(name, &all)?
            }
        };
        let pairs = partial.dims().last().map_or(0, |&words| words as u64 / 2);
        let pairs = Walk::rows(walk.outputs, pairs);
        let lanes = lanes::choose(pairs.outputs, pairs.len, pairs.side(), false, wg);
        let second = job.choice(Pass::Second, &pairs, &lanes);
        let scratch = self.bind_read(name, &partial)?;
        let params = pairs.params(&lanes, scratch.offset, out_offset, 0, second_offset);
        let args: Vec<Arg<'_>> = [scratch.arg].into_iter().chain(written).collect();
        self.launch(
            &second,
            &args,
            &params,
            Grid::elements(lanes.invocations(pairs.outputs), 1),
        )
    }

    /// The extreme elements of chunks and their positions, counted from `before`: two words each.
    fn arg_pairs(
        &self,
        job: &Job,
        a: &Operand<'_>,
        walk: &Walk,
        before: u64,
    ) -> Result<View, KernelError> {
        let name = job.op.name();
        let wg = self.device().caps().workgroup_size;
        let lanes = lanes::choose(walk.outputs, walk.len, walk.side(), true, wg);
        let lanes = lanes.within(walk.len, 1 + a.turns(walk.reduced.len()), self.most_turns());
        let partial = self.partials(DType::U32, walk.outputs, lanes.chunks.saturating_mul(2))?;
        let (read, scratch) = (
            self.bind_operand(name, a)?,
            self.bind_write(name, &partial)?,
        );
        let first = job.choice(Pass::First, walk, &lanes);
        let before = u32::try_from(before).unwrap_or(u32::MAX);
        let params = walk.params(&lanes, read.offset(), scratch.offset, before, 0);
        let grid = Grid::elements(lanes.invocations(walk.outputs), 1);
        self.launch_reading(&first, &read, &[scratch.arg], &params, grid)?;
        Ok(partial.clone())
    }
}

/// The walk of a call without mistakes; `None` if there are no outputs.
fn arg_checked(
    job: &Job,
    a: &Layout,
    axes: &[usize],
    positions: &View,
) -> Result<Option<Walk>, KernelError> {
    let name = job.op.name();
    if positions.dtype != DType::I32 {
        return Err(KernelError::Dtype {
            op: name,
            operand: "out",
            rule: "positions are i32",
            got: positions.dtype,
        });
    }
    let walk = Walk::new(name, a, axes, Order::RowMajor)?;
    check_len(name, a, axes, positions)?;
    if walk.outputs > 0 && walk.len == 0 {
        let rule = "must have at least one element along the reduced axes";
        return Err(KernelError::Operand {
            op: name,
            operand: "a",
            rule,
            got: Box::new(*a.shape()),
        });
    }
    Ok((walk.outputs > 0).then_some(walk))
}
