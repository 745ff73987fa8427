//! Softmax along any axis, and its logarithm.
//!
//! Three walks over each row (maximum, sum, result) by a group of lanes, in f32 for every float dtype; short rows
//! share a workgroup. Invariant: a row whose maximum is NaN or infinite is all NaN, decided by bits.

use ziggurat_core::{DType, ShapeError};
use ziggurat_pipeline::Grid;

use crate::fused::{Epilogue, FusedInput, FusedOutput, Operand, WalkInput, made};
use crate::limits::split::alike;
use crate::ops::reduce::lanes::{self, Lanes};
use crate::ops::reduce::walk::{Order, Walk, WalkParams};
use crate::ops::reduce::{Reduce, with_constants};
use crate::run::completion::Completion;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;
use crate::source::candidate::Candidate;
use crate::source::choice::{CATALOGUE_WG, KernelChoice, Reads};
use crate::source::params::Params;
use crate::source::prelude;

mod long;

/// What is wanted of an element's share of its row's sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    Share,
    Logarithm,
}

impl Wanted {
    const ALL: [Self; 2] = [Self::Share, Self::Logarithm];

    const fn name(self) -> &'static str {
        match self {
            Self::Share => "softmax",
            Self::Logarithm => "log_softmax",
        }
    }

    const fn result(self) -> &'static str {
        match self {
            Self::Share => "softmax/share.wgsl",
            Self::Logarithm => "softmax/log_share.wgsl",
        }
    }

    const fn parts(self) -> &'static [&'static str] {
        match self {
            Self::Share => &["softmax/share.wgsl"],
            Self::Logarithm => &[
                "functions/log.wgsl",
                "elementwise/unary/log.wgsl",
                "softmax/log_share.wgsl",
            ],
        }
    }
}

/// How often the kernels of softmax read each element.
pub const SOFTMAX_READS: usize = 3;

fn choice(wanted: Wanted, reads: Reads, dtype: DType, walk: &Walk, lanes: &Lanes) -> KernelChoice {
    let choice = KernelChoice::new(wanted.name())
        .name(dtype.name())
        .reads(reads, dtype)
        .parts(&[
            prelude::store(dtype),
            prelude::cell(dtype),
            "reduce/index.wgsl",
            "reduce/key/float.wgsl",
            "softmax/exp.wgsl",
            "softmax/weight.wgsl",
        ])
        .parts(wanted.parts())
        .part("softmax/body.wgsl")
        .constant("LEAST", 0)
        .without_zeroed_memory();
    with_constants(choice, walk, lanes)
}

/// The kernel for rows of which the greatest elements and the sums are known by chunks.
fn long(wanted: Wanted, reads: Reads, dtype: DType, walk: &Walk, lanes: &Lanes) -> KernelChoice {
    let choice = KernelChoice::new(wanted.name())
        .name(dtype.name())
        .name("long")
        .reads(reads, dtype)
        .parts(&[
            prelude::store(dtype),
            prelude::cell(dtype),
            "reduce/index.wgsl",
        ])
        .parts(Reduce::LogSumExp.operator(dtype))
        .part("softmax/weight.wgsl")
        // The logarithm is there already.
        .part(wanted.result())
        .part("softmax/long.wgsl")
        .constant("LEAST", 0)
        .without_zeroed_memory();
    with_constants(choice, walk, lanes)
}

/// Every float dtype.
pub(crate) fn variants() -> Vec<Candidate> {
    let walk = Walk::rows(64, 4096);
    let lanes = lanes::choose(walk.outputs, walk.len, walk.side(), false, CATALOGUE_WG);
    let floats = DType::ALL.into_iter().filter(|dtype| dtype.is_float());
    floats
        .flat_map(|dtype| Wanted::ALL.map(|wanted| (wanted, dtype)))
        .flat_map(|(wanted, dtype)| {
            [choice, long].map(|kernel| {
                Candidate::new(
                    kernel(wanted, Reads::Memory, dtype, &walk, &lanes),
                    WalkParams::FIELDS,
                )
            })
        })
        .collect()
}

/// Softmax of a fused expression's value of a dtype, for the corpus of those, and its bindings.
pub(crate) fn reading_fused() -> Vec<(DType, KernelChoice, usize)> {
    let walk = Walk::rows(64, 4096);
    let lanes = lanes::choose(walk.outputs, walk.len, walk.side(), false, CATALOGUE_WG);
    variants_of(Reads::Fused, &walk, &lanes)
}

/// Softmax with an epilogue for the corpus, its bindings, and whether it reads a value too.
pub(crate) fn writing_fused() -> Vec<(DType, KernelChoice, usize, bool)> {
    let walk = Walk::rows(64, 4096);
    let lanes = lanes::choose(walk.outputs, walk.len, walk.side(), false, CATALOGUE_WG);
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
        .flat_map(|dtype| Wanted::ALL.map(|wanted| (wanted, dtype)))
        .flat_map(|(wanted, dtype)| {
            [
                (dtype, choice(wanted, reads, dtype, walk, lanes), 2),
                (dtype, long(wanted, reads, dtype, walk, lanes), 3),
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
    /// not have; [`KernelError::Output`] for another shape.
    pub fn softmax(&self, a: &View, axis: usize, out: &View) -> Result<Completion, KernelError> {
        self.softmax_of(Wanted::Share, Operand::Memory(a), axis, out, None)
    }

    /// The logarithm of [`Executor::softmax`], found without it: `a − max − ln Σ exp(a − max)`. It is −inf where `a` is.
    ///
    /// # Errors
    /// As [`Executor::softmax`].
    pub fn log_softmax(
        &self,
        a: &View,
        axis: usize,
        out: &View,
    ) -> Result<Completion, KernelError> {
        self.softmax_of(Wanted::Logarithm, Operand::Memory(a), axis, out, None)
    }

    /// [`Executor::softmax`] of a value of an expression, which is never in memory.
    ///
    /// # Errors
    /// Those of [`Executor::softmax`]; [`KernelError::FusedTooLarge`] if one kernel cannot do it, or would compute too
    /// much three times.
    pub fn softmax_fused(
        &self,
        a: &FusedInput<'_>,
        axis: usize,
        out: &View,
    ) -> Result<Completion, KernelError> {
        let prologue = self.prologue(a, 2, SOFTMAX_READS)?;
        self.softmax_of(Wanted::Share, Operand::Fused(&prologue), axis, out, None)
    }

    /// [`Executor::log_softmax`] of a value of an expression, which is never in memory.
    ///
    /// # Errors
    /// As [`Executor::softmax_fused`].
    pub fn log_softmax_fused(
        &self,
        a: &FusedInput<'_>,
        axis: usize,
        out: &View,
    ) -> Result<Completion, KernelError> {
        let prologue = self.prologue(a, 2, SOFTMAX_READS)?;
        self.softmax_of(
            Wanted::Logarithm,
            Operand::Fused(&prologue),
            axis,
            out,
            None,
        )
    }

    /// [`Executor::softmax`] of either sort of input, which writes a value of an expression over the result if one is
    /// given.
    ///
    /// # Errors
    /// As [`Executor::softmax_fused`]; [`KernelError::Dtype`] if `out` has not the value's dtype.
    pub fn softmax_between(
        &self,
        a: WalkInput<'_>,
        axis: usize,
        value: Option<&FusedOutput<'_>>,
        out: &View,
    ) -> Result<Completion, KernelError> {
        let epilogue = self.epilogue_behind(a, 0, value, out)?;
        self.softmax_of(Wanted::Share, a.operand(), axis, out, epilogue.as_ref())
    }

    /// [`Executor::log_softmax`] of either sort of input, which writes a value of an expression over the result if one is
    /// given.
    ///
    /// # Errors
    /// As [`Executor::softmax_between`].
    pub fn log_softmax_between(
        &self,
        a: WalkInput<'_>,
        axis: usize,
        value: Option<&FusedOutput<'_>>,
        out: &View,
    ) -> Result<Completion, KernelError> {
        let epilogue = self.epilogue_behind(a, 0, value, out)?;
        self.softmax_of(Wanted::Logarithm, a.operand(), axis, out, epilogue.as_ref())
    }

    fn softmax_of(
        &self,
        wanted: Wanted,
        a: Operand<'_>,
        axis: usize,
        out: &View,
        epilogue: Option<&Epilogue>,
    ) -> Result<Completion, KernelError> {
        let op = wanted.name();
        let (dtype, layout) = (a.dtype(), a.layout());
        if !dtype.is_float() {
            return Err(KernelError::Dtype {
                op,
                operand: "a",
                rule: "it must be a float",
                got: dtype,
            });
        }
        if made(out, epilogue) != dtype {
            return Err(KernelError::Dtype {
                op,
                operand: "out",
                rule: "it must have the input's dtype",
                got: made(out, epilogue),
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
        if out.shape() != layout.shape() {
            return Err(KernelError::Output {
                op,
                expected: Box::new(*layout.shape()),
                got: Box::new(*out.shape()),
            });
        }
        let walk = Walk::new(op, layout, &[axis], Order::RowMajor)?;
        if layout.is_empty() {
            return Ok(self.completion());
        }
        if let Some(view) = self.walks_memory(&a, out, epilogue)? {
            let joints = || alike(view.rank(), |at| at == axis);
            let each = &mut |[a, out]: &[View; 2]| {
                let part = self.softmax_of(wanted, Operand::Memory(a), axis, out, None);
                part.map(drop)
            };
            if self.apart(op, [view, out], 1, joints, each)? {
                return Ok(self.completion());
            }
            if self.exceeds_binding(&[view]) || self.exceeds_dense(out) {
                return self.softmax_of_long_row(wanted, view, axis, out);
            }
        }
        let inner: usize = layout.dims().iter().skip(axis + 1).product();
        let mut inputs = a.views();
        inputs.extend(epilogue.into_iter().flat_map(Epilogue::views));
        self.with_dense_out(op, out, &inputs, |out| {
            let wg = self.device().caps().workgroup_size;
            let lanes = lanes::choose(walk.outputs, walk.len, walk.side(), false, wg);
            let turns = 1 + a.turns(walk.reduced.len());
            let bindings = a.bindings() + 2 + epilogue.map_or(0, Epilogue::bindings);
            if self.cuts_rows(lanes.turns(turns * SOFTMAX_READS as u64), bindings)? {
                return self.long_softmax(wanted, a, &walk, inner, out, epilogue);
            }
            let (read, write) = (self.bind_operand(op, &a)?, self.bind_write(op, out)?);
            let lowest = prelude::lowest_key(dtype, false);
            let params = walk.params(&lanes, read.offset(), write.offset, lowest, inner as u64);
            let grid = Grid::elements(lanes.invocations(walk.outputs), 1);
            let choice = choice(wanted, a.reads(), dtype, &walk, &lanes);
            self.launch_between(&choice, &read, &[write.arg], &params, grid, epilogue)
        })?;
        Ok(self.completion())
    }

    /// Softmax of rows that are too long for one workgroup: in chunks, which leave pairs of a greatest element and a sum,
    /// and then the results.
    fn long_softmax(
        &self,
        wanted: Wanted,
        a: Operand<'_>,
        walk: &Walk,
        inner: usize,
        out: &View,
        epilogue: Option<&Epilogue>,
    ) -> Result<(), KernelError> {
        let op = wanted.name();
        let wg = self.device().caps().workgroup_size;
        let lanes = lanes::choose(walk.outputs, walk.len, walk.side(), true, wg);
        let lanes = lanes.within(walk.len, 1 + a.turns(walk.reduced.len()), self.most_turns());
        let pairs = self.accumulators(Reduce::LogSumExp, a, walk, &lanes)?;
        let (read, write) = (self.bind_operand(op, &a)?, self.bind_write(op, out)?);
        let pair = self.bind_read(op, &pairs)?;
        let lowest = prelude::lowest_key(a.dtype(), false);
        let params = walk.params(&lanes, read.offset(), write.offset, lowest, inner as u64);
        let grid = Grid::elements(lanes.invocations(walk.outputs), 1);
        let choice = long(wanted, a.reads(), a.dtype(), walk, &lanes);
        let others = [write.arg, pair.arg];
        self.launch_between(&choice, &read, &others, &params, grid, epilogue)
    }
}
