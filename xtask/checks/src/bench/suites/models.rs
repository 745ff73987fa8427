//! Layers of models, as a program writes them.

use ziggurat_tensor::{DType, Tensor};

use super::elementwise::gelu;
use super::size;
use crate::bench::case::{Case, Cost, Ready, amount};
use crate::bench::expect::{Check, Want, row, spread, values, within, worst};

pub(super) fn cases(quick: bool) -> Vec<Case> {
    let widths = size(quick, [1024, 4096], [64, 128]);
    let mut cases = Vec::new();
    for dtype in super::WIDE_AND_NARROW {
        for tokens in size(quick, [1, 16, 512], [1, 4, 32]) {
            cases.push(feed_forward(dtype, tokens, widths));
        }
    }
    cases
}

/// `x + gelu(x w₁ᵀ + b₁) w₂ᵀ`: the second half of a transformer's layer.
fn feed_forward(dtype: DType, tokens: usize, [width, hidden]: [usize; 2]) -> Case {
    let shape = format!("{tokens}x{width}x{hidden}");
    let bytes = dtype.bytes() * (2 * width * hidden + 2 * tokens * width);
    let cost = Cost::bytes(bytes).flops(4.0 * amount(tokens * width) * amount(hidden));
    Case::new("feed_forward", dtype, shape, cost, move |lab| {
        let x = lab.uniform(&[tokens, width], dtype)?;
        // Weights as small as those of trained models, so that what gelu sees is around 0.
        let first = lab.between(&[hidden, width], [-0.02, 0.02], dtype)?;
        let second = lab.between(&[width, hidden], [-0.02, 0.02], dtype)?;
        let bias = lab.between(&[hidden], [-0.1, 0.1], dtype)?;
        let operands = [x.clone(), first.clone(), bias.clone(), second.clone()];
        let check = fed(operands, [width, hidden]);
        Ok(Ready::new(dtype, check, move || {
            let hidden = x.linear(&first, Some(&bias))?.gelu()?;
            hidden.linear(&second, None)?.add(&x)
        }))
    })
}

fn fed([x, first, bias, second]: [Tensor; 4], [width, hidden]: [usize; 2]) -> Check {
    Box::new(move |out| {
        let (first, second) = (values(&first)?, values(&second)?);
        let bias = values(&bias)?;
        let mut error = 0.0_f64;
        for token in spread(x.dims()[0], 2) {
            let x = row(&x, token)?;
            let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            let inner = first.chunks(width).zip(&bias);
            let inner: Vec<f64> = inner.map(|(w, b)| gelu(dot(w, &x) + b)).collect();
            let outer = second.chunks(hidden).zip(&x);
            let want: Vec<Want> = outer
                .map(|(w, x)| within(dot(w, &inner) + x, 1.0))
                .collect();
            error = error.max(worst(&row(out, token)?, &want));
        }
        Ok(error)
    })
}
