//! The position of the greatest or least element over any axes.
//!
//! The same layout over workgroups as [`crate::reduce`], with (key, position) pairs in place of sums. Positions are
//! row-major over the reduced axes in their order. Invariant: among equal elements the first wins (or the last, on
//! request), −0 equals +0, and NaN is more extreme than everything.

use ziggurat_core::DType;
use ziggurat_pipeline::Grid;

use crate::catalogue::Candidate;
use crate::choice::{CATALOGUE_WG, KernelChoice};
use crate::completion::Completion;
use crate::error::KernelError;
use crate::executor::Executor;
use crate::params::Params;
use crate::prelude;
use crate::reduce::lanes::{self, Lanes};
use crate::reduce::walk::{Order, Walk, WalkParams};
use crate::reduce::{check_len, with_constants};
use crate::view::View;

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

fn choice(
    op: ArgReduce,
    input: DType,
    select_last: bool,
    pass: Pass,
    walk: &Walk,
    lanes: &Lanes,
) -> KernelChoice {
    let (name, read, write) = match pass {
        Pass::Whole => (
            "whole",
            "reduce/arg/input_elem.wgsl",
            "reduce/arg/output_index.wgsl",
        ),
        Pass::First => (
            "first",
            "reduce/arg/input_elem.wgsl",
            "reduce/arg/output_partial.wgsl",
        ),
        Pass::Second => (
            "second",
            "reduce/arg/input_partial.wgsl",
            "reduce/arg/output_index.wgsl",
        ),
    };
    let value: &[_] = match pass {
        Pass::Second => &[],
        Pass::Whole | Pass::First => &["reduce/value.wgsl"],
    };
    let key = match input.compute() {
        DType::F32 => "reduce/key/float.wgsl",
        DType::Bool => "reduce/key/bool.wgsl",
        _ => "reduce/key/int.wgsl",
    };
    let choice = KernelChoice::new(op.name())
        .name(input.name())
        .name(name)
        .name(if select_last {
            "last"
        } else {
            "first_of_equals"
        })
        .parts(&[
            prelude::FLOAT,
            prelude::load(input),
            "reduce/params.wgsl",
            "reduce/index.wgsl",
        ])
        .more_parts(value.iter())
        .parts(&[key, read, write, "reduce/arg/body.wgsl"])
        .constant("LEAST", u32::from(op == ArgReduce::Min))
        .constant("LAST", u32::from(select_last))
        .without_zeroed_memory();
    with_constants(choice, walk, lanes)
}

/// Both ops on every dtype, in one pass and in two.
pub(crate) fn variants() -> Vec<Candidate> {
    let mut all = Vec::new();
    let walk = Walk::rows(64, 4096);
    let lanes = lanes::choose(walk.outputs, walk.len, walk.side(), true, CATALOGUE_WG);
    for op in ArgReduce::ALL {
        for input in DType::ALL {
            for pass in [Pass::Whole, Pass::First, Pass::Second] {
                let choice = choice(op, input, pass == Pass::First, pass, &walk, &lanes);
                all.push(Candidate::new(choice, WalkParams::FIELDS));
            }
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
    /// [`KernelError::Operand`] if there is nothing to choose from; [`KernelError::Output`].
    pub fn arg_reduce(
        &self,
        op: ArgReduce,
        a: &View,
        axes: &[usize],
        select_last: bool,
        out: &View,
    ) -> Result<Completion, KernelError> {
        let name = op.name();
        if out.dtype != DType::I32 {
            return Err(KernelError::Dtype {
                op: name,
                operand: "out",
                rule: "positions are i32",
                got: out.dtype,
            });
        }
        let walk = Walk::new(name, &a.layout, axes, Order::RowMajor)?;
        check_len(name, &a.layout, axes, out)?;
        if walk.outputs == 0 {
            return Ok(self.completion());
        }
        if walk.len == 0 {
            let rule = "must have at least one element along the reduced axes";
            return Err(KernelError::Operand {
                op: name,
                operand: "a",
                rule,
                got: Box::new(*a.shape()),
            });
        }
        self.with_dense_out(name, out, &[a], |out| {
            self.arg_walk(op, a, &walk, select_last, out)
        })?;
        Ok(self.completion())
    }

    fn arg_walk(
        &self,
        op: ArgReduce,
        a: &View,
        walk: &Walk,
        select_last: bool,
        out: &View,
    ) -> Result<(), KernelError> {
        let name = op.name();
        let wg = self.device().caps().workgroup_size;
        let lanes = lanes::choose(walk.outputs, walk.len, walk.side(), true, wg);
        let (read, write) = (self.bind_read(name, a)?, self.bind_write(name, out)?);
        let grid = Grid::elements(lanes.invocations(walk.outputs), 1);
        if lanes.chunks == 1 {
            let choice = choice(op, a.dtype, select_last, Pass::Whole, walk, &lanes);
            let params = walk.params(&lanes, read.offset, write.offset, 0, walk.len);
            return self.launch(&choice, &[read.arg, write.arg], &params, grid);
        }
        // A pair is two words.
        let partial = self.partials(DType::U32, walk.outputs, lanes.chunks.saturating_mul(2))?;
        let scratch = self.bind_write(name, &partial)?;
        let first = choice(op, a.dtype, select_last, Pass::First, walk, &lanes);
        let params = walk.params(&lanes, read.offset, scratch.offset, 0, walk.len);
        self.launch(&first, &[read.arg, scratch.arg], &params, grid)?;

        let pairs = Walk::rows(walk.outputs, u64::from(lanes.chunks));
        let lanes = lanes::choose(pairs.outputs, pairs.len, pairs.side(), false, wg);
        let second = choice(op, a.dtype, select_last, Pass::Second, &pairs, &lanes);
        let scratch = self.bind_read(name, &partial)?;
        let params = pairs.params(&lanes, scratch.offset, write.offset, 0, pairs.len);
        self.launch(
            &second,
            &[scratch.arg, write.arg],
            &params,
            Grid::elements(lanes.invocations(pairs.outputs), 1),
        )
    }
}
