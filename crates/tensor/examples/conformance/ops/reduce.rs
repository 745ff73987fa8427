//! Reductions and normalisations over axes, softmax, attention, rope.

use ziggurat_tensor::{DType, Error, Tensor};

use super::super::Trouble;
use super::super::case::Case;
use super::{Inputs, Row, operand};

/// The family's ops by name.
pub(super) const OPS: &[Row] = &[
    ("reduce_all", |_, case, inputs| {
        reduced(case, inputs, |x, axes, keep| x.all(axes, keep))
    }),
    ("reduce_any", |_, case, inputs| {
        reduced(case, inputs, |x, axes, keep| x.any(axes, keep))
    }),
    ("reduce_l1", |_, case, inputs| {
        reduced(case, inputs, |x, axes, keep| {
            if x.dtype().is_float() {
                x.norm(1.0, axes, keep)
            } else {
                x.abs()?.sum(axes, keep)
            }
        })
    }),
    ("reduce_l2", |_, case, inputs| {
        reduced(case, inputs, |x, axes, keep| x.norm(2.0, axes, keep))
    }),
    ("reduce_log_sum", |_, case, inputs| {
        // The sum must not be rounded to f16 before its logarithm is taken.
        reduced(case, inputs, |x, axes, keep| {
            x.sum_to(axes, keep, DType::F32)?.log()?.to_dtype(x.dtype())
        })
    }),
    ("reduce_log_sum_exp", |_, case, inputs| {
        reduced(case, inputs, |x, axes, keep| x.logsumexp(axes, keep))
    }),
    ("reduce_prod", |_, case, inputs| {
        reduced(case, inputs, |x, axes, keep| x.prod(axes, keep))
    }),
    ("reduce_std", |_, case, inputs| {
        let correction = case.number("correction")?;
        reduced(case, inputs, |x, axes, keep| x.std(axes, correction, keep))
    }),
    ("reduce_sum_square", |_, case, inputs| {
        reduced(case, inputs, |x, axes, keep| x.sum_squares(axes, keep))
    }),
    ("reduce_var", |_, case, inputs| {
        let correction = case.number("correction")?;
        reduced(case, inputs, |x, axes, keep| x.var(axes, correction, keep))
    }),
];

fn reduced(
    case: &Case,
    inputs: &Inputs,
    op: impl Fn(&Tensor, &[isize], bool) -> Result<Tensor, Error>,
) -> Result<Vec<Tensor>, Trouble> {
    let x = operand(inputs, "x")?;
    Ok(vec![op(x, &case.axes("axes")?, case.flag("keepdims")?)?])
}
