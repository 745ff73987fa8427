//! Softmax, norms and losses of rows.

use ziggurat_tensor::{CrossEntropyOptions, DType, Error, Reduction, Tensor};

use super::reduce::{most, variance};
use super::{WIDE_AND_NARROW, size};
use crate::bench::case::{Case, Cost, Ready, amount, dims_text};
use crate::bench::expect::{Want, near, row, rows, values, within};

const EPS: f32 = 1e-5;

pub(super) fn cases(quick: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    for dtype in WIDE_AND_NARROW {
        for dims in size(
            quick,
            [[8192, 8192], [32768, 1024], [1, 131_072]],
            [[256, 256], [1024, 64], [1, 4096]],
        ) {
            cases.push(softmax(dtype, dims));
        }
        let dims = size(quick, [8192, 4096], [256, 128]);
        cases.extend([
            layer_norm(dtype, dims),
            layer_norm_residual(dtype, dims),
            rms_norm("rmsnorm", dtype, dims, |x, g| {
                x.rms_norm([g.len()], Some(g), EPS)
            }),
            rms_norm("rmsnorm_composed", dtype, dims, |x, g| {
                let mean = x.mul(x)?.mean([-1], true)?;
                x.div(&mean.add(f64::from(EPS))?.sqrt()?)?.mul(g)
            }),
            cross_entropy(dtype, size(quick, [4096, 32_000], [64, 1000])),
        ]);
    }
    cases
}

pub(super) fn softmax(dtype: DType, dims: [usize; 2]) -> Case {
    let cost = Cost::bytes(2 * dims[0] * dims[1] * dtype.bytes());
    Case::new("softmax", dtype, dims_text(&dims), cost, move |lab| {
        let x = lab.uniform(&dims, dtype)?;
        let check = rows(&x, |_, row| {
            let top = most(row);
            let sum: f64 = row.iter().map(|x| (x - top).exp()).sum();
            row.iter().map(|x| near((x - top).exp() / sum)).collect()
        });
        Ok(Ready::new(dtype, check, move || x.softmax(-1)))
    })
}

fn layer_norm(dtype: DType, dims: [usize; 2]) -> Case {
    let cost = Cost::bytes(2 * dims[0] * dims[1] * dtype.bytes());
    Case::new("layernorm", dtype, dims_text(&dims), cost, move |lab| {
        let x = lab.uniform(&dims, dtype)?;
        let (g, b) = (
            lab.between(&[dims[1]], [0.5, 1.5], dtype)?,
            lab.uniform(&[dims[1]], dtype)?,
        );
        let (gains, biases) = (values(&g)?, values(&b)?);
        let check = rows(&x, move |_, row| normed(row, &gains, &biases));
        Ok(Ready::new(dtype, check, move || {
            x.layer_norm([dims[1]], Some(&g), Some(&b), EPS)
        }))
    })
}

fn normed(row: &[f64], gains: &[f64], biases: &[f64]) -> Vec<Want> {
    let mean = row.iter().sum::<f64>() / amount(row.len());
    let scale = 1.0 / (variance(row, 0.0) + f64::from(EPS)).sqrt();
    let all = row.iter().zip(gains).zip(biases);
    all.map(|((x, g), b)| {
        let product = (x - mean) * scale * g;
        within(product + b, product.abs().max(b.abs()).max(1.0))
    })
    .collect()
}

/// The norm of a sum, as at the end of a transformer's layer.
fn layer_norm_residual(dtype: DType, dims: [usize; 2]) -> Case {
    let cost = Cost::bytes(3 * dims[0] * dims[1] * dtype.bytes());
    let name = "layernorm_residual";
    Case::new(name, dtype, dims_text(&dims), cost, move |lab| {
        let (x, r) = (lab.uniform(&dims, dtype)?, lab.uniform(&dims, dtype)?);
        let (g, b) = (
            lab.between(&[dims[1]], [0.5, 1.5], dtype)?,
            lab.uniform(&[dims[1]], dtype)?,
        );
        let (gains, biases, residual) = (values(&g)?, values(&b)?, r.clone());
        let check = rows(&x, move |index, x| {
            let residual = row(&residual, index).unwrap_or_default();
            let sums: Vec<f64> = x.iter().zip(residual).map(|(x, r)| x + r).collect();
            normed(&sums, &gains, &biases)
        });
        Ok(Ready::new(dtype, check, move || {
            x.add(&r)?.layer_norm([dims[1]], Some(&g), Some(&b), EPS)
        }))
    })
}

fn rms_norm(
    name: &str,
    dtype: DType,
    dims: [usize; 2],
    f: fn(&Tensor, &Tensor) -> Result<Tensor, Error>,
) -> Case {
    let cost = Cost::bytes(2 * dims[0] * dims[1] * dtype.bytes());
    Case::new(name, dtype, dims_text(&dims), cost, move |lab| {
        let x = lab.uniform(&dims, dtype)?;
        let g = lab.between(&[dims[1]], [0.5, 1.5], dtype)?;
        let gains = values(&g)?;
        let check = rows(&x, move |_, row| {
            let mean = row.iter().map(|x| x * x).sum::<f64>() / amount(row.len());
            let scale = 1.0 / (mean + f64::from(EPS)).sqrt();
            let all = row.iter().zip(&gains);
            all.map(|(x, g)| within(x * scale * g, 1.0)).collect()
        });
        let ready = Ready::new(dtype, check, move || f(&x, &g));
        // Composed of five ops, each of which rounds.
        let bound = 4.0 * ready.bound;
        Ok(Ready { bound, ..ready })
    })
}

fn cross_entropy(dtype: DType, dims: [usize; 2]) -> Case {
    let cost = Cost::bytes(dims[0] * dims[1] * dtype.bytes());
    Case::new("cross_entropy", dtype, dims_text(&dims), cost, move |lab| {
        let x = lab.uniform(&dims, dtype)?;
        let target = lab.integers(&[dims[0]], dims[1], DType::I32)?;
        let at = values(&target)?;
        let check = rows(&x, move |index, row| {
            let sum: f64 = row.iter().map(|x| x.exp()).sum();
            let class = row
                .iter()
                .zip(0_u32..)
                .find(|(_, i)| f64::from(*i) == at[index]);
            vec![near(sum.ln() - class.map_or(f64::NAN, |(x, _)| *x))]
        });
        let options = CrossEntropyOptions {
            reduction: Reduction::None,
            ..CrossEntropyOptions::default()
        };
        Ok(Ready::new(dtype, check, move || {
            x.cross_entropy(&target, &options)
        }))
    })
}
