//! The WGSL of an elementwise op's own kernel, for people: nothing is compiled.

use ziggurat_core::{DType, Layout, coalesce};
use ziggurat_pipeline::params_part;

use crate::fused::FusedOp;
use crate::ops::elementwise::dispatch::{FlatParams, Recipe, StridedParams, is_scalar, splats};
use crate::ops::elementwise::unary::broadcast;
use crate::ops::elementwise::{cast, where_op};
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;

/// The recipe of an op, by the dtypes of its last operand and of its output.
fn recipe(op: FusedOp, operand: DType, out: DType) -> Result<Recipe, KernelError> {
    Ok(match op {
        FusedOp::Unary(op) => op.recipe(operand),
        FusedOp::Binary(op) => op.recipe(operand),
        FusedOp::Compare(op) => op.recipe(operand),
        FusedOp::Predicate(op) => op.recipe(operand),
        FusedOp::Where => where_op::recipe(out.bytes()),
        FusedOp::Cast(to) => cast::recipe(operand, to),
        FusedOp::User(op) => return Err(op.has_no_kernel()),
    })
}

impl Executor {
    /// The WGSL of the kernel that computes one op over operands in memory, into an output that is dense. Operands beyond a
    /// binding run it several times.
    ///
    /// # Errors
    /// [`KernelError::Shape`] if an operand does not broadcast to `out`.
    pub fn elementwise_source(
        &self,
        op: FusedOp,
        operands: &[View],
        out: &View,
    ) -> Result<String, KernelError> {
        if let FusedOp::User(user) = op {
            let (expression, value) = user.expression(operands)?;
            return self.fused_source(&expression, &[(value, out.clone())]);
        }
        let inputs = operands.iter().map(|view| broadcast(op.name(), view, out));
        let inputs = inputs.collect::<Result<Vec<View>, _>>()?;
        let dtype = inputs.last().map_or(out.dtype, |view| view.dtype);
        let recipe = recipe(op, dtype, out.dtype)?;
        let scalars: Vec<bool> = inputs.iter().map(is_scalar).collect();
        let flat = (inputs.iter().zip(&scalars)).all(|(view, scalar)| *scalar || view.is_vec4());
        let (choice, bytes) = if flat {
            (recipe.flat(&scalars), size_of::<FlatParams>())
        } else {
            let layouts: Vec<Layout> = inputs.iter().map(|view| view.layout).collect();
            let coalesced = coalesce(&layouts);
            let rank = u32::try_from(coalesced.dims.len()).unwrap_or(1);
            let choice = match splats(inputs.iter(), &coalesced) {
                Some(splats) => recipe.rows(rank, splats.get(..inputs.len()).unwrap_or_default()),
                None => recipe.strided(rank),
            };
            (choice, size_of::<StridedParams>())
        };
        let caps = self.device().caps();
        let made = choice.descriptor(params_part(caps, bytes), caps.workgroup_size)?;
        Ok(made.source.listing())
    }
}
