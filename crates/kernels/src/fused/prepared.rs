//! A fused kernel that was planned before, run again on other memory.
//!
//! For callers that see the same expression again and again and know it by a key of their own: what is left to do is
//! to check the operands, write the parameters and dispatch.
//!
//! Invariants: only dense operands of the output's shape are taken, so that how they lie in memory cannot differ from
//! the preparation; what runs is the kernel that [`Executor::fused`] would have run.

use std::iter;

use ziggurat_core::DType;
use ziggurat_pipeline::{Arg, Grid, Kernel};

use crate::fused::expression::{Expression, Id};
use crate::fused::form::Access;
use crate::fused::graph::{Graph, Scalar, Slots};
use crate::fused::params;
use crate::fused::run::{broadcast, direct, form, same};
use crate::ops::elementwise::walk::{PER_INVOCATION, count};
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;

const OP: &str = "fused";

/// What a [`PreparedFused`] reads: views, and numbers as their dtypes hold them, in an order that is the caller's.
#[derive(Clone, Copy, Debug)]
pub struct FusedOperands<'a> {
    /// Each memory once.
    pub inputs: &'a [&'a View],
    /// Each number once.
    pub scalars: &'a [(DType, f64)],
}

/// An input of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Input {
    /// Its number among the caller's.
    number: usize,
    dtype: DType,
    /// It is the output.
    in_place: bool,
}

/// A kernel for one expression over dense views of one shape, with one output. See [`Executor::prepare_fused`].
#[derive(Clone, Debug)]
pub struct PreparedFused {
    kernel: Kernel,
    dtype: DType,
    inputs: Vec<Input>,
    /// The numbers of its scalars among the caller's, and their dtypes.
    scalars: Vec<(usize, DType)>,
    /// Rows of parameters.
    rows: usize,
}

impl PreparedFused {
    /// Whether both run the same kernel on the same operands.
    #[must_use]
    pub fn same(&self, other: &Self) -> bool {
        // A kernel that was forgotten meanwhile is compiled again.
        let same_kernel = self.kernel.same(&other.kernel)
            || self.kernel.descriptor() == other.kernel.descriptor();
        same_kernel
            && self.dtype == other.dtype
            && self.inputs == other.inputs
            && self.scalars == other.scalars
    }
}

impl Executor {
    /// Prepares the kernel for a value of an expression over these operands, which are those of the expression in any
    /// order. `None` if they or `out` are not dense, or not of one shape.
    ///
    /// # Errors
    /// Those of [`Executor::fused`].
    pub fn prepare_fused(
        &self,
        expression: &Expression,
        value: Id,
        operands: &FusedOperands<'_>,
        out: &View,
    ) -> Result<Option<PreparedFused>, KernelError> {
        let graph = Graph::of(expression, iter::once(value))?;
        let inputs = broadcast(&graph, expression, out.shape())?;
        let views: Vec<&View> = inputs.iter().collect();
        let (form, walk) = form(&views, iter::once(Some(out)));
        self.check_bindings(&form, 1)?;
        let dense = walk.is_none() && !form.inputs.contains(&Access::Scalar);
        if !dense || !direct(&views, &[out]).all(|direct| direct) {
            return Ok(None);
        }
        let inputs = views.iter().zip(&form.inputs).map(|(view, access)| {
            let number = operands.inputs.iter().position(|known| same(known, view))?;
            Some(Input {
                number,
                dtype: view.dtype,
                in_place: matches!(access, Access::InPlace(_)),
            })
        });
        let scalars = graph.scalars.iter().map(|scalar| {
            let mut known = operands.scalars.iter();
            let number = known.position(|(dtype, value)| {
                *dtype == scalar.dtype && value.to_bits() == scalar.bits
            })?;
            Some((number, scalar.dtype))
        });
        let (Some(inputs), Some(scalars)) = (
            inputs.collect::<Option<Vec<_>>>(),
            scalars.collect::<Option<Vec<_>>>(),
        ) else {
            return Ok(None);
        };
        let rows = Slots::of(&graph, &form).rows;
        let bytes = params::head_bytes(params::HEAD) + 16 * rows;
        Ok(Some(PreparedFused {
            kernel: self.fused_kernel(&graph, &form, bytes)?,
            dtype: expression.dtype(value),
            inputs,
            scalars,
            rows,
        }))
    }

    /// Runs a prepared kernel on other operands, numbered as at the preparation. False, with nothing recorded, if they are
    /// not like those, or too large for one dispatch: [`Executor::fused`] takes them.
    ///
    /// # Errors
    /// Those of [`Executor::fused`].
    pub fn fused_again(
        &self,
        prepared: &PreparedFused,
        operands: &FusedOperands<'_>,
        out: &View,
    ) -> Result<bool, KernelError> {
        let fits = |view: &View| {
            view.is_quads() && view.shape() == out.shape() && !self.exceeds_binding(&[view])
        };
        if out.is_empty() || out.dtype != prepared.dtype || !fits(out) {
            return Ok(false);
        }
        let len = count(OP, out.len())?;
        let target = self.bind_write(OP, out)?;
        let mut args: Vec<Arg<'_>> = Vec::with_capacity(prepared.inputs.len() + 1);
        let mut offsets = Vec::with_capacity(prepared.inputs.len() + 1);
        offsets.push(target.offset / 4);
        for input in &prepared.inputs {
            let Some(view) = operands.inputs.get(input.number).copied() else {
                return Ok(false);
            };
            let shares = view.buffer.same_memory(&out.buffer);
            let alike = view.dtype == input.dtype && shares == input.in_place && fits(view);
            if !alike || (shares && !same(view, out)) {
                return Ok(false);
            }
            if shares {
                offsets.push(target.offset / 4);
            } else {
                let bound = self.bind_read(OP, view)?;
                offsets.push(bound.offset / 4);
                args.push(bound.arg);
            }
        }
        args.push(target.arg);
        let mut scalars = Vec::with_capacity(prepared.scalars.len());
        for &(number, dtype) in &prepared.scalars {
            match operands.scalars.get(number) {
                Some((given, value)) if *given == dtype => scalars.push(Scalar {
                    dtype,
                    bits: value.to_bits(),
                }),
                _ => return Ok(false),
            }
        }
        let words = params::dense(len, offsets.into_iter(), scalars.into_iter(), prepared.rows);
        let grid = Grid::stride(u64::from(len), PER_INVOCATION);
        self.pipelines()
            .dispatch(&prepared.kernel, &args, bytemuck::cast_slice(&words), grid)?;
        Ok(true)
    }
}
