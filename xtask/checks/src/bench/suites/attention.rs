//! Attention of whole sequences, and of single queries over a cache of keys.

use ziggurat_tensor::{Attention, DType, QueryPosition, Tensor};

use super::reduce::most;
use super::size;
use crate::bench::case::{Case, Cost, Ready, amount};
use crate::bench::expect::{Check, Want, dot, spread, values, within, worst};

/// Extents of a call.
#[derive(Clone, Copy)]
struct Shape {
    batch: usize,
    heads: usize,
    key_heads: usize,
    queries: usize,
    keys: usize,
    dim: usize,
    causal: bool,
}

pub(super) fn cases(quick: bool) -> Vec<Case> {
    let (heads, length, dim) = size(quick, (32, 2048, 128), (2, 128, 64));
    let prefill = Shape {
        batch: 1,
        heads,
        key_heads: heads,
        queries: length,
        keys: length,
        dim,
        causal: true,
    };
    let keys = size(quick, 4096, 256);
    let decode = Shape {
        queries: 1,
        keys,
        causal: false,
        ..prefill
    };
    let mut cases = Vec::new();
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        let (b, h, s, d) = (1, heads, length, dim);
        cases.push(case(
            "sdpa",
            dtype,
            format!("[{b},{h},{s},{d}]causal"),
            prefill,
        ));
        let mut one = |shape: Shape| {
            let Shape {
                batch,
                heads,
                key_heads,
                keys,
                dim,
                ..
            } = shape;
            let text = format!("[{batch},{heads},1,{dim}]kv[{key_heads},{keys}]");
            cases.push(case("sdpa_decode", dtype, text, shape));
        };
        one(decode);
        one(Shape {
            key_heads: heads / size(quick, 4, 2),
            ..decode
        });
        if dtype == DType::F16 {
            one(Shape {
                batch: size(quick, 16, 2),
                ..decode
            });
            one(Shape {
                keys: 8 * keys,
                ..decode
            });
            // Heads whose columns fill the blocks of matrix units, and heads that end within one.
            for dim in [dim / 2, dim / 8 * 5] {
                let narrow = Shape {
                    dim,
                    causal: false,
                    ..prefill
                };
                cases.push(case("sdpa", dtype, format!("[{b},{h},{s},{dim}]"), narrow));
            }
        }
    }
    cases
}

fn case(name: &str, dtype: DType, text: String, shape: Shape) -> Case {
    let Shape {
        batch,
        heads,
        key_heads,
        queries,
        keys,
        dim,
        causal,
    } = shape;
    let elements = batch * dim * (2 * heads * queries + 2 * key_heads * keys);
    // Half of the scores are hidden behind the diagonal.
    let halves = if causal { 2.0 } else { 4.0 };
    let flops = halves * amount(batch * heads * queries) * amount(keys * dim);
    let cost = Cost::bytes(dtype.bytes() * elements).flops(flops);
    Case::new(name, dtype, text, cost, move |lab| {
        let q = lab.uniform(&[batch, heads, queries, dim], dtype)?;
        let k = lab.uniform(&[batch, key_heads, keys, dim], dtype)?;
        let v = lab.uniform(&[batch, key_heads, keys, dim], dtype)?;
        let check = attended(shape, q.clone(), k.clone(), v.clone());
        let options = Attention {
            causal,
            position: QueryPosition::BottomRight,
            ..Attention::default()
        };
        Ok(Ready::new(dtype, check, move || {
            q.scaled_dot_product_attention(&k, &v, &options)
        }))
    })
}

/// Sampled rows of the result.
fn attended(shape: Shape, q: Tensor, k: Tensor, v: Tensor) -> Check {
    Box::new(move |out| {
        let mut error = 0.0_f64;
        for head in spread(shape.heads, 3) {
            let of = |tensor: &Tensor, head: usize| -> Result<Tensor, ziggurat_tensor::Error> {
                let last = tensor.select(0, -1)?;
                last.select(0, isize::try_from(head).unwrap_or(0))
            };
            let key_head = head / (shape.heads / shape.key_heads);
            let keys = values(&of(&k, key_head)?)?;
            let v = values(&of(&v, key_head)?)?;
            for query in spread(shape.queries, 4) {
                let row = values(&of(&q, head)?.narrow(0, query, 1)?)?;
                let seen = if shape.causal { query + 1 } else { shape.keys };
                let score = |key: &[f64]| {
                    let sum: f64 = row.iter().zip(key).map(|(q, k)| q * k).sum();
                    sum / amount(shape.dim).sqrt()
                };
                let scores: Vec<f64> = keys.chunks(shape.dim).take(seen).map(score).collect();
                let top = most(&scores);
                let weights: Vec<f64> = scores.iter().map(|s| (s - top).exp()).collect();
                let sum: f64 = weights.iter().sum();
                let weights: Vec<f64> = weights.iter().map(|w| w / sum).collect();
                let column = |c: usize| -> Want {
                    let column: Vec<f64> =
                        v.chunks(shape.dim).take(seen).map(|row| row[c]).collect();
                    // Weights may be rounded to the dtype before they multiply.
                    let (sum, size) = dot(&weights, &column);
                    within(sum, size)
                };
                let want: Vec<Want> = (0..shape.dim).map(column).collect();
                let got = values(&of(out, head)?.narrow(0, query, 1)?)?;
                error = error.max(worst(&got, &want));
            }
        }
        Ok(error)
    })
}
