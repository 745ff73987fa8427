//! Rules that many ops have for their operands, each an error of its own.

use ziggurat_core::{DType, Shape};

use crate::run::error::KernelError;
use crate::run::view::View;

/// An error if an axis is none of `a`; else its extent.
pub(crate) fn check_axis(op: &'static str, a: &View, axis: usize) -> Result<usize, KernelError> {
    let extent = a.dims().get(axis).copied();
    extent.ok_or_else(|| KernelError::axis(op, axis, a.rank()))
}

/// An error unless the output has this shape.
pub(crate) fn check_shape(
    op: &'static str,
    out: &View,
    expected: &Shape,
) -> Result<(), KernelError> {
    if out.shape() == expected {
        return Ok(());
    }
    Err(KernelError::output(op, *expected, *out.shape()))
}

/// An error unless a dtype fits.
pub(crate) fn check_dtype(
    op: &'static str,
    operand: &'static str,
    got: DType,
    fits: bool,
    rule: &'static str,
) -> Result<(), KernelError> {
    if fits {
        return Ok(());
    }
    Err(KernelError::dtype(op, operand, rule, got))
}
