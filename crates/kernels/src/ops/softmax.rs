//! Softmax along any axis, and its logarithm.
//!
//! Three walks over each row (maximum, sum, result) by a group of lanes, in f32 for every float dtype; short rows
//! share a workgroup. Invariant: a row whose maximum is NaN or infinite is all NaN, decided by bits.

use ziggurat_core::{DType, ShapeError};
use ziggurat_pipeline::Grid;

use crate::fused::{Epilogue, Operand};
use crate::limits::ability::Ability;
use crate::limits::split::alike;
use crate::ops::reduce::lanes::{self, Lanes};
use crate::ops::reduce::walk::{Order, Walk, WalkParams};
use crate::ops::reduce::{Reduce, accumulators, only_memory, with_constants};
use crate::run::call::{Call, Operands, Sink, Source};
use crate::run::completion::Completion;
use crate::run::ends::Ends;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::plan::{Planned, Planner};
use crate::run::view::View;
use crate::source::candidate::Candidate;
use crate::source::choice::{KernelChoice, Reads};
use crate::source::params::Params;
use crate::source::prelude;

mod long;

/// Softmax or its logarithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SoftmaxKind {
    /// [`Executor::softmax`].
    Softmax,
    /// [`Executor::log_softmax`].
    LogSoftmax,
}

impl SoftmaxKind {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Softmax, Self::LogSoftmax];

    /// The name in labels and messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Softmax => "softmax",
            Self::LogSoftmax => "log_softmax",
        }
    }

    const fn result(self) -> &'static str {
        match self {
            Self::Softmax => "softmax/share.wgsl",
            Self::LogSoftmax => "softmax/log_share.wgsl",
        }
    }

    const fn parts(self) -> &'static [&'static str] {
        match self {
            Self::Softmax => &["softmax/share.wgsl"],
            Self::LogSoftmax => &[
                "functions/log.wgsl",
                "elementwise/unary/log.wgsl",
                "softmax/log_share.wgsl",
            ],
        }
    }
}

fn choice(
    kind: SoftmaxKind,
    reads: Reads,
    dtype: DType,
    walk: &Walk,
    lanes: &Lanes,
) -> KernelChoice {
    let choice = KernelChoice::new(kind.name())
        .name(dtype.name())
        .reads(reads, dtype)
        .store(dtype)
        .cell(dtype)
        .parts(&[
            "reduce/index.wgsl",
            "reduce/key/float.wgsl",
            "softmax/exp.wgsl",
            "softmax/weight.wgsl",
        ])
        .parts(kind.parts())
        .part("softmax/body.wgsl")
        .constant("LEAST", 0)
        .without_zeroed_memory();
    with_constants(choice, walk, lanes)
}

/// The kernel for rows of which the greatest elements and the sums are known by chunks.
fn long(kind: SoftmaxKind, reads: Reads, dtype: DType, walk: &Walk, lanes: &Lanes) -> KernelChoice {
    let choice = KernelChoice::new(kind.name())
        .name(dtype.name())
        .name("long")
        .reads(reads, dtype)
        .store(dtype)
        .cell(dtype)
        .parts(&["reduce/index.wgsl"])
        .parts(Reduce::LogSumExp.operator(dtype))
        .part("softmax/weight.wgsl")
        // The logarithm is there already.
        .part(kind.result())
        .part("softmax/long.wgsl")
        .constant("LEAST", 0)
        .without_zeroed_memory();
    with_constants(choice, walk, lanes)
}

/// Every float dtype.
pub(crate) fn variants() -> Vec<Candidate> {
    let walk = Walk::rows(64, 4096);
    let lanes = lanes::choose(walk.outputs, walk.len, walk.side(), false, &Ability::WEBGPU);
    let floats = DType::ALL.into_iter().filter(|dtype| dtype.is_float());
    floats
        .flat_map(|dtype| SoftmaxKind::ALL.map(|kind| (kind, dtype)))
        .flat_map(|(kind, dtype)| {
            [choice, long].map(|kernel| {
                Candidate::new(
                    kernel(kind, Reads::Memory, dtype, &walk, &lanes),
                    WalkParams::FIELDS,
                )
            })
        })
        .collect()
}

/// Softmax of a fused expression's value of a dtype, for the corpus of those, and its bindings.
pub(crate) fn reading_fused() -> Vec<(DType, KernelChoice, usize)> {
    let walk = Walk::rows(64, 4096);
    let lanes = lanes::choose(walk.outputs, walk.len, walk.side(), false, &Ability::WEBGPU);
    variants_of(Reads::Fused, &walk, &lanes)
}

/// Softmax with an epilogue for the corpus, its bindings, and whether it reads a value too.
pub(crate) fn writing_fused() -> Vec<(DType, KernelChoice, usize, bool)> {
    let walk = Walk::rows(64, 4096);
    let lanes = lanes::choose(walk.outputs, walk.len, walk.side(), false, &Ability::WEBGPU);
    let memory = variants_of(Reads::Memory, &walk, &lanes);
    let fused = variants_of(Reads::Fused, &walk, &lanes);
    let with = |reads| move |(dtype, choice, own)| (dtype, choice, own, reads);
    memory
        .into_iter()
        .map(with(false))
        .chain(fused.into_iter().map(with(true)))
        .collect()
}

fn variants_of(reads: Reads, walk: &Walk, lanes: &Lanes) -> Vec<(DType, KernelChoice, usize)> {
    let floats = DType::ALL.into_iter().filter(|dtype| dtype.is_float());
    floats
        .flat_map(|dtype| SoftmaxKind::ALL.map(|kind| (kind, dtype)))
        .flat_map(|(kind, dtype)| {
            [
                (dtype, choice(kind, reads, dtype, walk, lanes), 2),
                (dtype, long(kind, reads, dtype, walk, lanes), 3),
            ]
        })
        .collect()
}

impl Executor {
    /// `exp(a − max) / Σ exp(a − max)` along `axis`, computed in f32. Rows of NaN where the maximum is NaN, +inf or
    /// −inf. A rank-0 tensor has one row of one element (axis 0).
    ///
    /// # Errors
    /// [`KernelError::Dtype`] unless both are the same float dtype; [`KernelError::Shape`] for an axis that `a` does
    /// not have; [`KernelError::Output`] for another shape; [`KernelError::CannotFuse`] if one kernel cannot read or write an
    /// expression, or would compute too much three times.
    pub fn softmax<'a>(
        &self,
        a: impl Into<Source<'a>>,
        axis: usize,
        out: impl Into<Sink<'a>>,
    ) -> Result<Completion, KernelError> {
        let kind = SoftmaxKind::Softmax;
        self.run(&Call::Softmax { kind, axis }, &Operands::one(a), out.into())
    }

    /// The logarithm of [`Executor::softmax`], found without it: `a − max − ln Σ exp(a − max)`. It is −inf where `a` is.
    ///
    /// # Errors
    /// As [`Executor::softmax`].
    pub fn log_softmax<'a>(
        &self,
        a: impl Into<Source<'a>>,
        axis: usize,
        out: impl Into<Sink<'a>>,
    ) -> Result<Completion, KernelError> {
        let kind = SoftmaxKind::LogSoftmax;
        self.run(&Call::Softmax { kind, axis }, &Operands::one(a), out.into())
    }
}

/// Plans [`Call::Softmax`].
pub(crate) fn plan(
    p: &mut Planner<'_>,
    kind: SoftmaxKind,
    axis: usize,
) -> Result<Planned, KernelError> {
    let (op, ends) = (p.op, p.ends);
    let (dtype, layout) = (ends.a.dtype(), ends.a.layout());
    if !dtype.is_float() {
        return Err(KernelError::Dtype {
            op,
            operand: "a",
            rule: "it must be a float",
            got: dtype,
        });
    }
    if ends.made() != dtype {
        return Err(KernelError::Dtype {
            op,
            operand: "out",
            rule: "it must have the input's dtype",
            got: ends.made(),
        });
    }
    if axis >= layout.rank().max(1) {
        let axis = isize::try_from(axis).unwrap_or(isize::MAX);
        return Err(KernelError::Shape {
            op,
            source: ShapeError::AxisOutOfRange {
                axis,
                rank: layout.rank(),
            },
        });
    }
    if ends.out.shape() != layout.shape() {
        return Err(KernelError::Output {
            op,
            expected: Box::new(*layout.shape()),
            got: Box::new(*ends.out.shape()),
        });
    }
    let walk = Walk::new(op, layout, &[axis], Order::RowMajor)?;
    if layout.is_empty() {
        return Ok(Planned::Nothing);
    }
    if let Some(view) = ends.divisible(p.exec)?
        && p.exec.too_large(&[view, ends.out], 1).is_some()
    {
        return Ok(Planned::Parts);
    }
    let inner: usize = layout.dims().iter().skip(axis + 1).product();
    let ability = p.exec.ability();
    let lanes = lanes::choose(walk.outputs, walk.len, walk.side(), false, &ability);
    let turns = 1 + ends.a.turns(walk.reduced.len());
    let reads = Call::Softmax { kind, axis }.reads() as u64;
    let bindings = ends.bindings() + 1 + ends.epilogue.map_or(0, Epilogue::bindings);
    let lowest = prelude::lowest_key(dtype, false);
    let grid = |lanes: &Lanes| Grid::elements(lanes.invocations(walk.outputs), 1);
    if !p.exec.cuts_rows(lanes.turns(turns * reads), bindings)? {
        let (read, write) = (p.first()?, p.out()?);
        let params = walk.params(&lanes, read.offset, write.offset, lowest, inner as u64);
        let choice = choice(kind, ends.a.reads(), dtype, &walk, &lanes);
        p.last(choice, [read, write], &params, grid(&lanes));
        return Ok(Planned::Steps);
    }
    // Too long for one workgroup: chunks leave pairs of a greatest element and a sum, and then the results are computed.
    let lanes = lanes::choose(walk.outputs, walk.len, walk.side(), true, &ability);
    let lanes = lanes.within(walk.len, turns, p.exec.most_turns());
    let pairs = accumulators(p, Reduce::LogSumExp, &walk, &lanes)?;
    let (read, write) = (p.first()?, p.out()?);
    let params = walk.params(&lanes, read.offset, write.offset, lowest, inner as u64);
    let choice = long(kind, ends.a.reads(), dtype, &walk, &lanes);
    p.last(choice, [read, write, pairs], &params, grid(&lanes));
    Ok(Planned::Steps)
}

/// Runs [`Call::Softmax`] on rows of an operand that one binding cannot hold.
pub(crate) fn run_parts(
    exec: &Executor,
    ends: &Ends<'_>,
    kind: SoftmaxKind,
    axis: usize,
) -> Result<(), KernelError> {
    let Operand::Memory(view) = ends.a else {
        return Err(only_memory(kind.name()));
    };
    let call = Call::Softmax { kind, axis };
    let joints = || alike(view.rank(), |at| at == axis);
    let each = &mut |[a, out]: &[View; 2]| exec.run(&call, &Operands::one(a), out.into()).map(drop);
    if exec.apart(kind.name(), [view, ends.out], 1, joints, each)? {
        return Ok(());
    }
    exec.softmax_of_long_row(kind, view, axis, ends.out)
        .map(drop)
}
