//! Matrix products, attention and the rotary embedding.

use crate::expect;
use ziggurat_kernels::core::{decode, encode};
use ziggurat_tensor::{Attention, DType, Device, MaskedRows, RopeForm, RopeTable, Tensor};

use super::{FLOATS, NUMBERS, agrees};
use crate::operands::{self, Random};
use crate::problems::{Given, Values, fuzz, given, made};

#[test]
fn products_agree_with_the_reference() {
    fuzz(|device, rng| {
        let dtype = rng.pick(&NUMBERS);
        let sizes = [0, 1, 2, 3, 8, 15, 16, 17, 31, 33, 64, 65];
        let [m, k, n] = [(); 3].map(|()| rng.pick(&sizes));
        let batch: Vec<usize> = (0..rng.below(3)).map(|_| 1 + rng.below(3)).collect();
        // Either side may lack axes or repeat along them.
        let mut side = |rows: usize, cols: usize| {
            let skip = rng.below(batch.len() + 1);
            let own = batch[skip..].iter();
            let own: Vec<usize> = own
                .map(|&dim| if rng.below(3) == 0 { 1 } else { dim })
                .collect();
            let dims = [&own[..], &[rows, cols]].concat();
            given(device, dtype, &dims, Values::Special, rng)
        };
        let (a, b) = (side(m, k), side(k, n));
        let lead = |t: &Given| operands::shape(&t.dims()[..t.dims().len() - 2]);
        let both = ziggurat_kernels::core::broadcast_shapes(&[lead(&a), lead(&b)]).unwrap();
        let sides = ((&a.values[..], a.dims()), (&b.values[..], b.dims()));
        let wanted = expect::products(sides.0, sides.1, both.dims(), dtype);
        let what = format!("matmul {dtype} {:?} {:?}", a.dims(), b.dims());
        let out = [both.dims(), &[m, n]].concat();
        agrees(&what, a.tensor.matmul(&b.tensor), &out, &wanted);
    });
}

/// A mask of these extents and what it shows: bool, or numbers to be added, of which some hide.
fn mask(device: &Device, dims: &[usize], rng: &mut Random) -> Option<Given> {
    match rng.below(3) {
        0 => None,
        1 => Some(given(device, DType::Bool, dims, Values::Plain, rng)),
        _ => {
            let value = |rng: &mut Random| match rng.below(4) {
                0 => f64::NEG_INFINITY,
                _ => rng.value(DType::F32),
            };
            let values: Vec<f64> = (0..dims.iter().product()).map(|_| value(rng)).collect();
            Some(placed(device, DType::F32, dims, &values))
        }
    }
}

#[test]
fn attention_agrees_with_the_reference() {
    fuzz(|device, rng| {
        let dtype = rng.pick(&FLOATS);
        let (batch, kv, each) = (rng.below(3), 1 + rng.below(2), 1 + rng.below(3));
        let [queries, dim, values] = [(); 3].map(|()| 1 + rng.below(18));
        let keys = rng.below(40);
        let mut side = |dims: [usize; 4]| given(device, dtype, &dims, Values::Plain, rng);
        let (q, k, v) = (
            side([batch, kv * each, queries, dim]),
            side([batch, kv, keys, dim]),
            side([batch, kv, keys, values]),
        );
        let whole = [batch, kv * each, queries, keys];
        let mask = mask(
            device,
            if rng.below(2) == 0 {
                &whole[2..]
            } else {
                &whole
            },
            rng,
        );
        let mask = mask.as_ref();
        let (causal, window) = (rng.below(2) == 0, rng.below(12) as u32);
        let (right, softcap) = (rng.below(12) as u32, rng.pick(&[0.0, 0.0, 2.0]));
        let options = Attention {
            scale: Some(0.25),
            mask: mask.map(|mask| &mask.tensor),
            causal,
            left_window: (window < 6).then_some(window),
            right_window: (right < 4).then_some(right),
            softcap,
            masked_rows: MaskedRows::Zero,
            ..Attention::default()
        };
        let result = (q.tensor).scaled_dot_product_attention(&k.tensor, &v.tensor, &options);
        let of = |given: &'_ Given| (given.values.clone(), given.dims().to_vec());
        let (q, k, v) = (of(&q), of(&k), of(&v));
        let mask = mask.map(|mask| (of(mask), mask.tensor.dtype()));
        let wanted = expect::Attention {
            q: (&q.0, &q.1),
            k: (&k.0, &k.1),
            v: (&v.0, &v.1),
            mask: mask
                .as_ref()
                .map(|((values, dims), dtype)| (&values[..], &dims[..], *dtype)),
            lengths: None,
        };
        let kernel = ziggurat_kernels::AttentionOptions {
            scale: 0.25,
            causal,
            left_window: options.left_window,
            right_window: options.right_window,
            softcap,
            zero_masked_rows: true,
            ..ziggurat_kernels::AttentionOptions::default()
        };
        let wanted = expect::attention(&wanted, &kernel, dtype);
        let what = format!(
            "attention {dtype} {:?} {:?} {kernel:?} mask {:?}",
            q.1,
            k.1,
            mask.map(|mask| mask.0.1)
        );
        agrees(&what, result, &[batch, kv * each, queries, values], &wanted);
    });
}

/// A contiguous tensor of these values.
fn placed(device: &Device, dtype: DType, dims: &[usize], values: &[f64]) -> Given {
    let bytes = encode(dtype, values);
    Given {
        tensor: Tensor::from_bytes(device, &bytes, dims, dtype).unwrap(),
        values: decode(dtype, &bytes),
    }
}

#[test]
fn rope_agrees_with_the_reference() {
    fuzz(|device, rng| {
        let dtype = rng.pick(&FLOATS);
        let half = 1 + rng.below(9);
        let (batch, heads, length) = (rng.below(3), rng.below(4), rng.below(20));
        let width = 2 * half + rng.below(4);
        let positions_before_heads = rng.below(2) == 0;
        let dims = if positions_before_heads {
            [batch, length, heads, width]
        } else {
            [batch, heads, length, width]
        };
        let x = given(device, dtype, &dims, Values::Plain, rng);
        let start = rng.below(5);
        let rows = start + length + 1;
        // One table for all, or one for each batch.
        let own = rng.below(3) == 0;
        let table = if own {
            vec![batch, length, half]
        } else {
            vec![rows, half]
        };
        let mut side = || given(device, DType::F32, &table, Values::Plain, rng);
        let (cos, sin) = (side(), side());
        let integer = rng.pick(&[DType::I32, DType::U32]);
        let ids = (!own && rng.below(2) == 0).then(|| {
            made(device, integer, &[batch, length], rng, |rng| {
                rng.below(rows + 3) as f64
            })
        });
        let form = RopeForm {
            interleaved: rng.below(2) == 0,
            positions_before_heads,
            start: if own { 0 } else { start },
            positions: ids.as_ref().map(|ids| &ids.tensor),
        };
        let row = |line: usize| {
            let (b, position) = if positions_before_heads {
                (line / heads / length, line / heads % length)
            } else {
                (line / length / heads, line % length)
            };
            match &ids {
                Some(ids) => {
                    let id = ids.values[b * length + position];
                    id.clamp(0.0, rows as f64 - 1.0) as usize
                }
                None if own => b * length + position,
                None => start + position,
            }
        };
        let what = format!("rope {dtype} {dims:?} by {table:?}, {form:?}");
        let tables = (&cos.values[..], &sin.values[..], half);
        let wanted = expect::rope((&x.values, width), tables, row, form.interleaved, dtype);
        let table = RopeTable {
            cos: cos.tensor.clone(),
            sin: sin.tensor.clone(),
        };
        agrees(&what, x.tensor.rope(&table, form), &dims, &wanted);
    });
}
