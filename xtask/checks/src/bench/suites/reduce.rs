//! Reductions over all elements and along an axis.

use ziggurat_tensor::{DType, Tensor};

use super::{WIDE_AND_NARROW, size};
use crate::bench::case::{Case, Cost, Lab, Ready, dims_text, short};
use crate::bench::expect::{Check, Want, columns, holds, near, rows, summed, whole, worst};
use xtask::failure::Outcome;

pub(super) fn cases(quick: bool) -> Vec<Case> {
    let n = size(quick, 1 << 26, 1 << 18);
    let side = size(quick, 8192, 256);
    let mut cases = Vec::new();
    for dtype in WIDE_AND_NARROW {
        let square = move |name: &str, ready: fn(Tensor) -> Ready| {
            let cost = Cost::bytes(side * side * dtype.bytes());
            Case::new(name, dtype, dims_text(&[side, side]), cost, move |lab| {
                Ok(ready(lab.uniform(&[side, side], dtype)?))
            })
        };
        cases.extend([
            sum_all(dtype, n),
            square("sum_last", sum_last),
            square("sum_axis0", |x| {
                let check = columns(&x, sum);
                Ready::new(x.dtype(), check, move || x.sum([0], false))
            }),
            square("max_last", |x| {
                let check = rows(&x, |_, row| vec![near(most(row))]);
                Ready::new(x.dtype(), check, move || x.amax([-1], false))
            }),
            square("argmax_last", |x| {
                let check = rows(&x, |_, row| {
                    let most = most(row);
                    let at = row.iter().position(|&x| x == most).unwrap_or(usize::MAX);
                    vec![near(crate::bench::case::amount(at))]
                });
                Ready::new(DType::I32, check, move || x.argmax(-1, false))
            }),
            square("var_last", |x| {
                let check = rows(&x, |_, row| vec![near(variance(row, 1.0))]);
                Ready::new(x.dtype(), check, move || x.var([-1], 1.0, false))
            }),
        ]);
    }
    cases
}

pub(super) fn sum(values: &[f64]) -> Want {
    summed(values.iter().sum(), values.iter().map(|x| x.abs()).sum())
}

pub(super) fn most(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

pub(super) fn variance(values: &[f64], correction: f64) -> f64 {
    let n = crate::bench::case::amount(values.len());
    let mean = values.iter().sum::<f64>() / n;
    values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - correction)
}

pub(super) fn sum_last(x: Tensor) -> Ready {
    let check = rows(&x, |_, row| vec![sum(row)]);
    Ready::new(x.dtype(), check, move || x.sum([-1], false))
}

fn sum_all(dtype: DType, n: usize) -> Case {
    let cost = Cost::bytes(n * dtype.bytes());
    let prepare = move |lab: &Lab| -> Outcome<Ready> {
        // Of f16 a sum of 64 M positive numbers has no value.
        let x = lab.uniform(&[n], dtype)?;
        let check: Check = whole(&[&x], |inputs, out| match out {
            [_] => Ok(worst(out, &[sum(&inputs[0])])),
            _ => holds(false),
        });
        Ok(Ready::new(dtype, check, move || x.sum_all()))
    };
    Case::new("sum_all", dtype, short(n), cost, prepare)
}
