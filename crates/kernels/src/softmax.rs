//! Softmax along any axis.
//!
//! Three walks over each row (maximum, sum, result) by a group of lanes, in f32 for every float dtype; short rows
//! share a workgroup. Invariant: a row whose maximum is NaN or infinite is all NaN, decided by bits.

use ziggurat_core::{DType, ShapeError};
use ziggurat_pipeline::Grid;

use crate::catalogue::Candidate;
use crate::choice::{CATALOGUE_WG, KernelChoice, Reads};
use crate::completion::Completion;
use crate::error::KernelError;
use crate::executor::Executor;
use crate::fused::{FusedInput, Operand};
use crate::params::Params;
use crate::prelude;
use crate::reduce::lanes::{self, Lanes};
use crate::reduce::walk::{Order, Walk, WalkParams};
use crate::reduce::{lowest_key, with_constants};
use crate::view::View;

const OP: &str = "softmax";

/// How often the kernel reads each element.
const READS: usize = 3;

fn choice(reads: Reads, dtype: DType, walk: &Walk, lanes: &Lanes) -> KernelChoice {
    let choice = KernelChoice::new(OP)
        .name(dtype.name())
        .reads(reads, dtype)
        .parts(&[
            prelude::store(dtype),
            prelude::cell(dtype),
            "reduce/index.wgsl",
            "reduce/key/float.wgsl",
            "softmax/exp.wgsl",
            "softmax/body.wgsl",
        ])
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
        .map(|dtype| {
            Candidate::new(
                choice(Reads::Memory, dtype, &walk, &lanes),
                WalkParams::FIELDS,
            )
        })
        .collect()
}

/// Softmax of a fused expression's value of a dtype, for the corpus of those.
pub(crate) fn reading_fused() -> Vec<(DType, KernelChoice)> {
    let walk = Walk::rows(64, 4096);
    let lanes = lanes::choose(walk.outputs, walk.len, walk.side(), false, CATALOGUE_WG);
    let floats = DType::ALL.into_iter().filter(|dtype| dtype.is_float());
    floats
        .map(|dtype| (dtype, choice(Reads::Fused, dtype, &walk, &lanes)))
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
        self.softmax_of(Operand::Memory(a), axis, out)
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
        let prologue = self.prologue(a, 2, READS)?;
        self.softmax_of(Operand::Fused(&prologue), axis, out)
    }

    fn softmax_of(
        &self,
        a: Operand<'_>,
        axis: usize,
        out: &View,
    ) -> Result<Completion, KernelError> {
        let (dtype, layout) = (a.dtype(), a.layout());
        if !dtype.is_float() {
            return Err(KernelError::Dtype {
                op: OP,
                operand: "a",
                rule: "it must be a float",
                got: dtype,
            });
        }
        if out.dtype != dtype {
            return Err(KernelError::Dtype {
                op: OP,
                operand: "out",
                rule: "it must have the input's dtype",
                got: out.dtype,
            });
        }
        if axis >= layout.rank().max(1) {
            let axis = isize::try_from(axis).unwrap_or(isize::MAX);
            return Err(KernelError::Shape {
                op: OP,
                source: ShapeError::AxisOutOfRange {
                    axis,
                    rank: layout.rank(),
                },
            });
        }
        if out.shape() != layout.shape() {
            return Err(KernelError::Output {
                op: OP,
                expected: Box::new(*layout.shape()),
                got: Box::new(*out.shape()),
            });
        }
        let walk = Walk::new(OP, layout, &[axis], Order::RowMajor)?;
        if layout.is_empty() {
            return Ok(self.completion());
        }
        let inner: usize = layout.dims().iter().skip(axis + 1).product();
        self.with_dense_out(OP, out, &a.views(), |out| {
            let wg = self.device().caps().workgroup_size;
            let lanes = lanes::choose(walk.outputs, walk.len, walk.side(), false, wg);
            let (read, write) = (self.bind_operand(OP, &a)?, self.bind_write(OP, out)?);
            let lowest = lowest_key(dtype, false);
            let params = walk.params(&lanes, read.offset(), write.offset, lowest, inner as u64);
            let grid = Grid::elements(lanes.invocations(walk.outputs), 1);
            let choice = choice(a.reads(), dtype, &walk, &lanes);
            self.launch_reading(&choice, &read, &[write.arg], &params, grid)
        })?;
        Ok(self.completion())
    }
}
