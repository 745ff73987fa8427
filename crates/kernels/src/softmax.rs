//! Softmax along any axis.
//!
//! Three walks over each row (maximum, sum, result) by a group of lanes, in f32 for every float dtype; short rows
//! share a workgroup. Invariant: a row whose maximum is NaN or infinite is all NaN, decided by bits.

use ziggurat_core::{DType, ShapeError};
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
use crate::reduce::{lowest_key, with_constants};
use crate::view::View;

const OP: &str = "softmax";

fn choice(dtype: DType, walk: &Walk, lanes: &Lanes) -> KernelChoice {
    let choice = KernelChoice::new(OP)
        .name(dtype.name())
        .parts(&[
            prelude::FLOAT,
            prelude::load(dtype),
            prelude::store(dtype),
            prelude::cell(dtype),
            "reduce/params.wgsl",
            "reduce/value.wgsl",
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
        .map(|dtype| Candidate::new(choice(dtype, &walk, &lanes), WalkParams::FIELDS))
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
        if !a.dtype.is_float() {
            return Err(KernelError::Dtype {
                op: OP,
                operand: "a",
                rule: "it must be a float",
                got: a.dtype,
            });
        }
        if out.dtype != a.dtype {
            return Err(KernelError::Dtype {
                op: OP,
                operand: "out",
                rule: "it must have the input's dtype",
                got: out.dtype,
            });
        }
        if axis >= a.rank().max(1) {
            let axis = isize::try_from(axis).unwrap_or(isize::MAX);
            return Err(KernelError::Shape {
                op: OP,
                source: ShapeError::AxisOutOfRange {
                    axis,
                    rank: a.rank(),
                },
            });
        }
        if out.shape() != a.shape() {
            return Err(KernelError::Output {
                op: OP,
                expected: Box::new(*a.shape()),
                got: Box::new(*out.shape()),
            });
        }
        let walk = Walk::new(OP, &a.layout, &[axis], Order::RowMajor)?;
        if a.is_empty() {
            return Ok(self.completion());
        }
        let inner: usize = a.dims().iter().skip(axis + 1).product();
        self.with_dense_out(OP, out, &[a], |out| {
            let wg = self.device().caps().workgroup_size;
            let lanes = lanes::choose(walk.outputs, walk.len, walk.side(), false, wg);
            let (read, write) = (self.bind_read(OP, a)?, self.bind_write(OP, out)?);
            let lowest = lowest_key(a.dtype, false);
            let params = walk.params(&lanes, read.offset, write.offset, lowest, inner as u64);
            let grid = Grid::elements(lanes.invocations(walk.outputs), 1);
            self.launch(
                &choice(a.dtype, &walk, &lanes),
                &[read.arg, write.arg],
                &params,
                grid,
            )
        })?;
        Ok(self.completion())
    }
}
