//! How much a call computes, by shapes alone: what a roofline compares with the bytes that it moves.

use ziggurat_core::Shape;

use crate::fused::FusedOp;
use crate::run::call::{Call, CallKind};

/// Operations of an exponential, as many as a function of an elementwise op counts.
const FUNCTION: u64 = 8;

fn extent(shape: &Shape, from_end: usize) -> u64 {
    let mut dims = shape.dims().iter().rev();
    dims.nth(from_end).map_or(1, |dim| *dim as u64)
}

/// Elements of a filter of a convolution: of all axes but the first.
fn filter(weight: Option<&Shape>) -> u64 {
    let dims = weight.map_or(&[][..], Shape::dims);
    dims.iter().skip(1).map(|dim| *dim as u64).product()
}

impl FusedOp {
    /// Arithmetic operations of one element: 1 for what is a few instructions, 8 for a function such as `exp`.
    #[must_use]
    pub fn operations(self) -> u64 {
        u64::from(self.code_facts().cost)
    }
}

impl Call {
    /// Arithmetic operations that the call takes for a first operand, other operands and a result of these shapes: a
    /// multiply-add is two, a function such as an exponential 8.
    ///
    /// ```
    /// use ziggurat_kernels::{Call, Shape};
    ///
    /// let [a, b, out] = [[2, 3], [3, 4], [2, 4]].map(|dims| Shape::new(dims).unwrap());
    /// assert_eq!(Call::matmul().operations(&a, &[&b], &out), 2 * 2 * 3 * 4);
    /// ```
    #[must_use]
    pub fn operations(&self, first: &Shape, others: &[&Shape], out: &Shape) -> u64 {
        let (read, made) = (first.len() as u64, out.len() as u64);
        let other = others.first().copied();
        match self.kind() {
            CallKind::Reduce { .. } | CallKind::Search { .. } => read,
            CallKind::VarMean { .. } => read.saturating_mul(4),
            CallKind::Softmax { .. } => read.saturating_mul(FUNCTION + 3),
            CallKind::Norm { .. } => read.saturating_mul(6),
            CallKind::Rope { .. } => read.saturating_mul(3),
            CallKind::QuantizeRows => read.saturating_mul(4),
            CallKind::Matmul { .. } => made.saturating_mul(2).saturating_mul(extent(first, 0)),
            CallKind::QuantizedLinear { form, .. } => {
                let rows = if form.swiglu { 4 } else { 2 };
                made.saturating_mul(rows).saturating_mul(extent(first, 0))
            }
            CallKind::Dequantize { .. } | CallKind::QuantizedEmbedding { .. } => {
                made.saturating_mul(2)
            }
            CallKind::Attention { .. } => {
                let keys = other.map_or(1, |keys| extent(keys, 1));
                let scores = (read / extent(first, 0).max(1)).saturating_mul(keys);
                let width = extent(first, 0).saturating_add(extent(out, 0));
                scores.saturating_mul(2 * width + FUNCTION + 2)
            }
            CallKind::Conv { .. } => made.saturating_mul(2).saturating_mul(filter(other)),
            CallKind::ConvTranspose { .. } => read.saturating_mul(2).saturating_mul(filter(other)),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::ops::attention::AttentionOptions;
    use crate::ops::conv::{ConvOptions, ConvTransposeOptions};
    use crate::ops::elementwise::binary::Binary;
    use crate::ops::elementwise::unary::Unary;
    use crate::ops::reduce::Reduce;

    fn shape(dims: &[usize]) -> Shape {
        Shape::new(dims).unwrap()
    }

    #[test]
    fn operations_are_those_of_the_formula() {
        let (image, weight) = (shape(&[1, 3, 8, 8]), shape(&[5, 3, 3, 3]));
        let conv = Call::new(CallKind::Conv {
            axes: 2,
            options: ConvOptions::default(),
        });
        let made = shape(&[1, 5, 6, 6]);
        assert_eq!(conv.operations(&image, &[&weight], &made), 2 * 5 * 36 * 27);
        let transposed = Call::new(CallKind::ConvTranspose {
            axes: 2,
            options: ConvTransposeOptions::default(),
        });
        let out = shape(&[1, 3, 8, 8]);
        assert_eq!(
            transposed.operations(&made, &[&weight], &out),
            2 * 5 * 36 * 27
        );
        let (q, k) = (shape(&[2, 4, 10, 16]), shape(&[2, 4, 20, 16]));
        let attention = Call::new(CallKind::Attention {
            options: AttentionOptions::default(),
        });
        let scores = 2 * 4 * 10 * 20;
        assert_eq!(
            attention.operations(&q, &[&k, &k], &q),
            scores * (2 * 32 + 10)
        );
        let sum = Call::reduce(Reduce::Sum, &[1]);
        assert_eq!(sum.operations(&shape(&[3, 7]), &[], &shape(&[3])), 21);
        assert_eq!(FusedOp::Binary(Binary::Add).operations(), 1);
        assert_eq!(FusedOp::Unary(Unary::Exp).operations(), 8);
    }
}
