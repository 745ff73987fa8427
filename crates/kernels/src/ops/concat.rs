//! Joining tensors along an axis: each input is copied into its part of the output.
//!
//! One dispatch per input, so that there may be any number of them and each may lie in memory as it likes. A part that
//! starts at a whole vec4 of a dense output is written in vec4s, any other by the scatter.

use crate::run::completion::Completion;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::launch::check_output;
use crate::run::view::View;

const OP: &str = "concat";

impl Executor {
    /// Writes the inputs one behind the other along `axis` into `out`.
    ///
    /// # Errors
    /// [`KernelError::Dtype`] unless all dtypes are equal; [`KernelError::Shape`] for an axis that `out` does not have;
    /// [`KernelError::Operands`] if an input's other extents are not `out`'s; [`KernelError::Output`] if the extents
    /// along the axis do not add up; [`KernelError::OverlappingOutput`].
    pub fn concat(
        &self,
        inputs: &[&View],
        axis: usize,
        out: &View,
    ) -> Result<Completion, KernelError> {
        let parts = parts(inputs, axis, out)?;
        check_output(OP, out)?;
        // An input in the output's memory would be overwritten by the parts before it.
        let mut sources = Vec::with_capacity(inputs.len());
        for input in inputs {
            input.check()?;
            sources.push(if input.buffer.same_memory(&out.buffer) {
                self.to_dense(OP, input)?
            } else {
                (*input).clone()
            });
        }
        for (source, part) in sources.iter().zip(&parts) {
            self.copy_into(OP, source, part)?;
        }
        Ok(self.completion())
    }
}

/// The part of the output that each input goes to.
fn parts(inputs: &[&View], axis: usize, out: &View) -> Result<Vec<View>, KernelError> {
    if axis >= out.rank() {
        return Err(KernelError::axis(OP, axis, out.rank()));
    }
    let mut start = 0_usize;
    let mut parts = Vec::with_capacity(inputs.len());
    for input in inputs {
        if input.dtype != out.dtype {
            return Err(KernelError::dtype(
                OP,
                "an input",
                "it must have the output's dtype",
                input.dtype,
            ));
        }
        let fits = input.rank() == out.rank()
            && (input.dims().iter().zip(out.dims()).enumerate())
                .all(|(at, (own, wanted))| at == axis || own == wanted);
        if !fits {
            return Err(KernelError::operands(
                OP,
                "all extents but that of the axis must be the output's",
                *input.shape(),
                *out.shape(),
            ));
        }
        let len = input.dims().get(axis).copied().unwrap_or(0);
        let layout = out
            .layout
            .narrow(axis.cast_signed(), start, len)
            .map_err(|_| mismatch(inputs, axis, out))?;
        parts.push(out.with_layout(layout)?);
        start += len;
    }
    if out.dims().get(axis) != Some(&start) {
        return Err(mismatch(inputs, axis, out));
    }
    Ok(parts)
}

/// The output's extent along the axis is not the sum of the inputs'.
fn mismatch(inputs: &[&View], axis: usize, out: &View) -> KernelError {
    let total = inputs
        .iter()
        .filter_map(|input| input.dims().get(axis))
        .fold(0_usize, |total, &dim| total.saturating_add(dim));
    let mut dims = out.dims().to_vec();
    if let Some(dim) = dims.get_mut(axis) {
        *dim = total;
    }
    match ziggurat_core::Shape::new(&dims) {
        Ok(expected) => KernelError::output(OP, expected, *out.shape()),
        Err(source) => KernelError::Shape { op: OP, source },
    }
}
