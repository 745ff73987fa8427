//! Matrix products, convolution, pooling, resampling.

use ziggurat_tensor::{Device, GemmOptions, Tensor};

use super::{Case, Inputs, Row, Trouble, operand};

/// The family's ops by name.
pub(super) const OPS: &[Row] = &[("gemm", gemm)];

fn gemm(_: &Device, case: &Case, inputs: &Inputs) -> Result<Vec<Tensor>, Trouble> {
    let options = GemmOptions {
        alpha: case.number("alpha")?,
        beta: case.number("beta")?,
        trans_a: case.flag("trans_a")?,
        trans_b: case.flag("trans_b")?,
    };
    let (a, b) = (operand(inputs, "a")?, operand(inputs, "b")?);
    Ok(vec![a.gemm(b, inputs.get("c"), &options)?])
}
