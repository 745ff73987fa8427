//! Attention over keys and values from before: given as such, out of a growing cache, or up to lengths of their own.

use ziggurat_tensor::{Attention, DType, Device, KvCache, MaskedRows, QueryPosition};

use super::{FLOATS, moved, within};
use crate::operands::{Expected, Random};
use crate::problems::{Given, Values, fuzz_few, given, in_memory};

/// Attention as its documentation defines it. `q` `[batch, heads, queries, D]`, `k` and `v` `[batch, key heads, keys, ..]`.
struct Reference<'a> {
    q: (&'a [f64], [usize; 4]),
    k: (&'a [f64], [usize; 4]),
    v: (&'a [f64], [usize; 4]),
    scale: f64,
    softcap: f64,
    causal: bool,
    windows: [Option<u32>; 2],
    /// The position of a batch's first query, and how many of its keys count.
    position: &'a dyn Fn(usize) -> (i64, usize),
    /// What is added to a score: -inf hides.
    bias: &'a dyn Fn([usize; 4]) -> f64,
    blind: f64,
}

impl Reference<'_> {
    fn sees(&self, batch: usize, query: usize, key: usize) -> bool {
        let (first, count) = (self.position)(batch);
        let ahead = key as i64 - (first + query as i64);
        let [left, right] = self.windows;
        key < count
            && !(self.causal && ahead > 0)
            && left.is_none_or(|left| -ahead <= i64::from(left))
            && right.is_none_or(|right| ahead <= i64::from(right))
    }

    fn row(&self, [batch, head, query]: [usize; 3]) -> Vec<f64> {
        let [_, heads, queries, dim] = self.q.1;
        let [_, key_heads, keys, _] = self.k.1;
        let width = self.v.1[3];
        let of = batch * key_heads + head / (heads / key_heads);
        let q = &self.q.0[((batch * heads + head) * queries + query) * dim..][..dim];
        let scores: Vec<(usize, f64)> = (0..keys)
            .filter(|&key| self.sees(batch, query, key))
            .filter_map(|key| {
                let k = &self.k.0[(of * keys + key) * dim..][..dim];
                let raw: f64 = self.scale * q.iter().zip(k).map(|(q, k)| q * k).sum::<f64>();
                let capped = match self.softcap {
                    0.0 => raw,
                    cap => cap * (raw / cap).tanh(),
                };
                let bias = (self.bias)([batch, head, query, key]);
                (bias > f64::NEG_INFINITY).then_some((key, capped + bias))
            })
            .collect();
        if scores.is_empty() {
            return vec![self.blind; width];
        }
        let most = scores
            .iter()
            .map(|score| score.1)
            .fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = scores.iter().map(|score| (score.1 - most).exp()).sum();
        let mut out = vec![0.0; width];
        for (key, score) in scores {
            let weight = (score - most).exp() / sum;
            let v = &self.v.0[(of * keys + key) * width..][..width];
            out.iter_mut()
                .zip(v)
                .for_each(|(out, v)| *out += weight * v);
        }
        out
    }

    /// Scores of up to `4 · D · scale` are off by some ULP each, and so are their exponentials.
    fn all(&self) -> Vec<Expected> {
        let [batch, heads, queries, dim] = self.q.1;
        let score = 4.0 * dim as f64 * self.scale.abs() + 8.0;
        let bound = 8.0 * score * f64::from(f32::EPSILON);
        let rows = crate::fuzz_values::moves::places(&[batch, heads, queries]);
        let rows = rows
            .into_iter()
            .flat_map(|place| self.row([place[0], place[1], place[2]]));
        rows.map(|value| Expected { value, bound }).collect()
    }
}

/// Two tensors one behind the other along the axis of positions.
fn joined(past: &Given, new: &Given) -> (Vec<f64>, [usize; 4]) {
    let four = |given: &Given| -> [usize; 4] { given.dims().try_into().unwrap() };
    let ([batch, heads, before, width], [_, _, after, _]) = (four(past), four(new));
    let row = |given: &Given, at: usize, len: usize| given.values[at * len..][..len].to_vec();
    let values = (0..batch * heads)
        .flat_map(|at| [row(past, at, before * width), row(new, at, after * width)].concat());
    (values.collect(), [batch, heads, before + after, width])
}

/// A mask that broadcasts: bool, or added numbers of which some hide.
fn mask(device: &Device, whole: [usize; 4], rng: &mut Random) -> Option<Given> {
    if rng.below(2) == 0 {
        return None;
    }
    let skip = rng.below(3);
    let dims: Vec<usize> = whole[skip..]
        .iter()
        .map(|&dim| if rng.below(3) == 0 { 1 } else { dim })
        .collect();
    let dtype = rng.pick(&[DType::Bool, DType::F32, DType::F16, DType::BF16]);
    let value = |rng: &mut Random| match (dtype, rng.below(4)) {
        (DType::Bool, n) => f64::from(u8::from(n > 0)),
        (_, 0) => f64::NEG_INFINITY,
        _ => rng.value(dtype),
    };
    Some(in_memory(device, dtype, &dims, rng, value))
}

fn bias(mask: &Option<Given>, place: [usize; 4]) -> f64 {
    let Some(mask) = mask else {
        return 0.0;
    };
    let own = &place[4 - mask.dims().len()..];
    let at = own
        .iter()
        .zip(mask.dims())
        .fold(0, |at, (&i, &dim)| at * dim + i.min(dim - 1));
    match (mask.tensor.dtype(), mask.values[at] != 0.0) {
        (DType::Bool, true) => 0.0,
        (DType::Bool, false) => f64::NEG_INFINITY,
        _ => mask.values[at],
    }
}

#[test]
fn attention_over_what_was_before_agrees_with_its_definition() {
    fuzz_few(|device, rng| {
        let dtype = rng.pick(&FLOATS);
        let (batch, kv, each) = (rng.below(3), 1 + rng.below(2), 1 + rng.below(3));
        let [queries, dim, width] = [(); 3].map(|()| 1 + rng.below(17));
        let [before, after] = [(); 2].map(|()| rng.below(20));
        let mut side = |heads: usize, len: usize, width: usize| {
            given(
                device,
                dtype,
                &[batch, heads, len, width],
                Values::Plain,
                rng,
            )
        };
        let q = side(kv * each, queries, dim);
        let past = [side(kv, before, dim), side(kv, before, width)];
        let new = [side(kv, after, dim), side(kv, after, width)];
        let (k, v) = (joined(&past[0], &new[0]), joined(&past[1], &new[1]));
        let keys = before + after;
        let mask = mask(device, [batch, kv * each, queries, keys], rng);
        let at = rng.below(12) as i32 - 3;
        let position = rng.pick(&[
            QueryPosition::TopLeft,
            QueryPosition::BottomRight,
            QueryPosition::At(at),
        ]);
        let lengths = (rng.below(3) == 0).then(|| {
            let dtype = rng.pick(&[DType::I32, DType::U32, DType::U8]);
            in_memory(device, dtype, &[batch], rng, |rng| {
                rng.below(keys + 1) as f64
            })
        });
        let zero = rng.below(2) == 0;
        let windows = [(); 2].map(|()| (rng.below(2) == 0).then(|| rng.below(9) as u32));
        let (scale, softcap) = (
            rng.pick(&[None, Some(0.25f32)]),
            rng.pick(&[0.0, 0.0, 2.0f32]),
        );
        let options = Attention {
            scale,
            mask: mask.as_ref().map(|mask| &mask.tensor),
            causal: rng.below(2) == 0,
            position,
            left_window: windows[0],
            right_window: windows[1],
            softcap,
            key_lengths: lengths.as_ref().map(|lengths| &lengths.tensor),
            past: Some((&past[0].tensor, &past[1].tensor)),
            masked_rows: if zero {
                MaskedRows::Zero
            } else {
                MaskedRows::Nan
            },
        };
        let first = match position {
            QueryPosition::TopLeft => before as i64,
            QueryPosition::BottomRight => keys as i64 - queries as i64,
            QueryPosition::At(at) => i64::from(at),
        };
        let of = |batch: usize| match &lengths {
            Some(lengths) => {
                let count = lengths.values[batch] as usize;
                (count as i64 - queries as i64, count)
            }
            None => (first, keys),
        };
        let reference = Reference {
            q: (&q.values, q.dims().try_into().unwrap()),
            k: (&k.0, k.1),
            v: (&v.0, v.1),
            scale: f64::from(scale.unwrap_or_else(|| 1.0 / (dim as f32).sqrt())),
            softcap: f64::from(softcap),
            causal: options.causal,
            windows,
            position: &of,
            bias: &|place| bias(&mask, place),
            blind: if zero { 0.0 } else { f64::NAN },
        };
        let what = format!(
            "attention {dtype} {:?} over {before} and {after} of {kv} heads, {options:?}",
            q.dims()
        );
        let (k, v) = (&new[0].tensor, &new[1].tensor);
        let result = q.tensor.scaled_dot_product_attention(k, v, &options);
        let _tensor = within(
            &what,
            result,
            &[batch, kv * each, queries, width],
            &reference.all(),
        );
    });
}

#[test]
fn attention_over_a_growing_cache_agrees_with_its_definition() {
    fuzz_few(|device, rng| {
        let dtype = rng.pick(&FLOATS);
        let (batch, kv, each) = (1 + rng.below(2), 1 + rng.below(2), 1 + rng.below(2));
        let [dim, width] = [(); 2].map(|()| 1 + rng.below(9));
        let capacity = 1 + rng.below(24);
        let mut cache = KvCache::new(device, [batch, kv], capacity, [dim, width], dtype).unwrap();
        // What it holds, and what it gave out on the way.
        let empty = |width: usize| (Vec::new(), [batch, kv, 0, width]);
        let mut held: [(Vec<f64>, [usize; 4]); 2] = [empty(dim), empty(width)];
        let mut earlier = Vec::new();
        for _ in 0..1 + rng.below(5) {
            let count = rng.below(8);
            let new = [dim, width].map(|width| {
                given(
                    device,
                    dtype,
                    &[batch, kv, count, width],
                    Values::Plain,
                    rng,
                )
            });
            let what = format!("append {count} behind {} of {capacity}", held[0].1[2]);
            let result = cache.append(&new[0].tensor, &new[1].tensor);
            if held[0].1[2] + count > capacity {
                let error = result.unwrap_err();
                assert!(error.is_argument(), "{what}: {error}");
                continue;
            }
            result.unwrap_or_else(|error| panic!("{what}: {error}"));
            for (held, new) in held.iter_mut().zip(&new) {
                let before = Given {
                    tensor: new.tensor.narrow(2, 0, 0).unwrap(),
                    values: Vec::new(),
                };
                *held = if held.1[2] == 0 {
                    joined(&before, new)
                } else {
                    let [b, h, len, w] = held.1;
                    let row =
                        |values: &[f64], at: usize, len: usize| values[at * len..][..len].to_vec();
                    let values = (0..b * h).flat_map(|at| {
                        [row(&held.0, at, len * w), row(&new.values, at, count * w)].concat()
                    });
                    (values.collect(), [b, h, len + count, w])
                };
            }
            let now = [cache.keys().unwrap(), cache.values().unwrap()];
            earlier.push((now, held.clone()));
        }
        assert_eq!(cache.len(), held[0].1[2]);
        let queries = 1 + rng.below(5);
        let q = given(
            device,
            dtype,
            &[batch, kv * each, queries, dim],
            Values::Plain,
            rng,
        );
        let first = held[0].1[2] as i64 - queries as i64;
        let options = Attention {
            causal: true,
            position: QueryPosition::BottomRight,
            ..Attention::default()
        };
        let reference = Reference {
            q: (&q.values, q.dims().try_into().unwrap()),
            k: (&held[0].0, held[0].1),
            v: (&held[1].0, held[1].1),
            scale: f64::from(1.0 / (dim as f32).sqrt()),
            softcap: 0.0,
            causal: true,
            windows: [None; 2],
            position: &|_| (first, held[0].1[2]),
            bias: &|_| 0.0,
            blind: f64::NAN,
        };
        let what = format!(
            "cached attention {dtype} {:?} over {}",
            q.dims(),
            cache.len()
        );
        let (k, v) = (cache.keys().unwrap(), cache.values().unwrap());
        let result = q.tensor.scaled_dot_product_attention(&k, &v, &options);
        let _tensor = within(
            &what,
            result,
            &[batch, kv * each, queries, width],
            &reference.all(),
        );
        for (tensors, held) in earlier {
            for (tensor, (values, dims)) in tensors.into_iter().zip(held) {
                moved(
                    &format!("given out before: {what}"),
                    Ok(tensor),
                    &dims,
                    &values,
                );
            }
        }
    });
}
