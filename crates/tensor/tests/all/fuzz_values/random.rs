//! Random numbers: those of the published generator from any place in its sequence, and what is drawn with them.

use crate::expect;
use ziggurat_kernels::{Random as Draw, RandomState};
use ziggurat_tensor::{DType, Generator, Tensor};

use super::{FLOATS, agrees, read};
use crate::operands::{Expected, Random, epsilon};
use crate::problems::{extents, fuzz, made};

/// A generator somewhere in a sequence, and where it is.
fn anywhere(rng: &mut Random) -> (Generator, RandomState) {
    let (seed, stream) = (rng.bits(), rng.bits());
    // Near the places where words of the counter overflow, too.
    let counter = match rng.below(4) {
        0 => 0,
        1 => u64::from(u32::MAX) - rng.below(9) as u64,
        2 => u64::MAX - rng.below(9) as u64,
        _ => rng.bits(),
    };
    let mut generator = Generator::with_stream(seed, stream);
    generator.set_counter(counter);
    let state = RandomState {
        seed,
        counter,
        stream,
    };
    (generator, state)
}

/// The words that make uniform f32 numbers in [0, 1).
fn uniform(state: RandomState, len: usize) -> Vec<f64> {
    let drawn = expect::drawn(Draw::Uniform, state, len, DType::F32);
    drawn.iter().map(|e| e.value).collect()
}

#[test]
fn numbers_agree_with_the_published_generator() {
    fuzz(|device, rng| {
        let dtype = rng.pick(&FLOATS);
        let dims = extents(rng.below(4), rng);
        let len: usize = dims.iter().product();
        let (mut generator, state) = anywhere(rng);
        let g = &mut generator;
        let what = format!("{dtype} {dims:?} {state:?}");
        let scaled = |kind: Draw, factor: f64, offset: f64| -> Vec<Expected> {
            let of = |e: Expected| {
                let value = e.value * factor + offset;
                // A product and a sum in f32, and the number's own error.
                let size = (e.value * factor).abs() + offset.abs();
                let bound = e.bound * factor.abs()
                    + 2.0 * epsilon(DType::F32) * size
                    + epsilon(dtype) * value.abs();
                Expected { value, bound }.rounded(dtype)
            };
            let drawn = expect::drawn(kind, state, len, DType::F32);
            drawn.into_iter().map(of).collect()
        };
        let (low, width) = (rng.value(DType::F32), rng.value(DType::F32).abs() + 0.25);
        match rng.below(5) {
            0 => {
                let wanted = expect::drawn(Draw::Uniform, state, len, dtype);
                agrees(
                    &format!("rand {what}"),
                    Tensor::rand(device, &dims, dtype, g),
                    &dims,
                    &wanted,
                );
            }
            1 => {
                let wanted = expect::drawn(Draw::Normal, state, len, dtype);
                agrees(
                    &format!("randn {what}"),
                    Tensor::randn(device, &dims, dtype, g),
                    &dims,
                    &wanted,
                );
            }
            2 => {
                let (low, high) = (low as f32, (low + width) as f32);
                let result = Tensor::uniform(device, &dims, low, high, dtype, g);
                let span = f64::from(high) - f64::from(low);
                let mut wanted = scaled(Draw::Uniform, span, f64::from(low));
                // What would round to the upper end is the lower one.
                let drawn = read(result.as_ref().unwrap());
                for (wanted, &got) in wanted.iter_mut().zip(&drawn) {
                    let start = Expected::exact(f64::from(low)).rounded(dtype).value;
                    if f64::from(high) - wanted.value <= 2.0 * wanted.bound && got == start {
                        *wanted = Expected::exact(start);
                    }
                }
                let below = drawn
                    .iter()
                    .all(|&x| x < f64::from(high) || dtype != DType::F32);
                assert!(below, "uniform {what}: the upper end");
                agrees(
                    &format!("uniform {low} {high} {what}"),
                    result,
                    &dims,
                    &wanted,
                );
            }
            3 => {
                let result = Tensor::normal(device, &dims, low as f32, width as f32, dtype, g);
                let wanted = scaled(Draw::Normal, f64::from(width as f32), f64::from(low as f32));
                agrees(
                    &format!("normal {low} {width} {what}"),
                    result,
                    &dims,
                    &wanted,
                );
            }
            _ => {
                let bits = rng.bits();
                let (a, b) = (bits as i32, (bits >> 32) as i32);
                let (low, high) = (a.min(b), a.max(b).max(a.min(b).saturating_add(1)));
                if low >= high {
                    return;
                }
                let count = u32::try_from(i64::from(high) - i64::from(low)).unwrap();
                let kind = Draw::Integer {
                    low: low.cast_unsigned(),
                    count,
                };
                let wanted = expect::drawn(kind, state, len, DType::I32);
                let result = Tensor::randint(device, &dims, low, high, g);
                agrees(
                    &format!("randint {low} {high} {what}"),
                    result,
                    &dims,
                    &wanted,
                );
            }
        }
        let used = state.counter.wrapping_add(len.div_ceil(4) as u64);
        assert_eq!(generator.counter(), used, "{what}: the next numbers");
    });
}

#[test]
fn choices_agree_with_the_numbers_drawn() {
    fuzz(|device, rng| {
        let dtype = rng.pick(&FLOATS);
        let dims = extents(1 + rng.below(3), rng);
        let (mut generator, state) = anywhere(rng);
        let g = &mut generator;
        let what = format!("{dtype} {dims:?} {state:?}");
        match rng.below(4) {
            0 => {
                let p = made(device, dtype, &dims, rng, |rng| {
                    rng.value(DType::F32).abs() / 2.0
                });
                let u = uniform(state, p.values.len()).into_iter();
                let wanted: Vec<f64> = u
                    .zip(&p.values)
                    .map(|(u, &p)| f64::from(u8::from(u < p)))
                    .collect();
                let result = p.tensor.bernoulli(g);
                agrees(
                    &format!("bernoulli {what}"),
                    result,
                    &dims,
                    &expect::exact(&wanted),
                );
            }
            1 => {
                let x = made(device, dtype, &dims, rng, |rng| rng.value(DType::F32));
                let p = rng.pick(&[0.0, 0.25, 0.5, 0.9, 1.0f32]);
                let u = uniform(state, x.values.len()).into_iter();
                let kept = 1.0 - f64::from(p);
                let wanted: Vec<Expected> = (u.zip(&x.values))
                    .map(|(u, &x)| {
                        let value = if u >= f64::from(p) { x / kept } else { 0.0 };
                        let bound = (3.0 * epsilon(DType::F32) + epsilon(dtype)) * value.abs();
                        Expected { value, bound }.rounded(dtype)
                    })
                    .collect();
                agrees(
                    &format!("dropout {p} {what}"),
                    x.tensor.dropout(p, g),
                    &dims,
                    &wanted,
                );
            }
            2 => {
                let n = rng.below(700);
                let drawn = expect::drawn(Draw::Bits, state, n, DType::U32);
                let words: Vec<f64> = drawn.iter().map(|e| e.value).collect();
                let wanted = expect::argsort(&words, &[n], 0, false);
                let result = Tensor::randperm(device, n, g);
                agrees(
                    &format!("randperm {n} {state:?}"),
                    result,
                    &[n],
                    &expect::exact(&wanted),
                );
            }
            _ => multinomial(device, dtype, &dims, (g, state), rng),
        }
    });
}

/// Each index drawn is where its uniform number falls among the sums of the weights, or, without replacement, those of the
/// shortest waiting times.
fn multinomial(
    device: &ziggurat_tensor::Device,
    dtype: DType,
    dims: &[usize],
    (g, state): (&mut Generator, RandomState),
    rng: &mut Random,
) {
    let (&classes, rows) = dims.split_last().unwrap();
    if classes == 0 {
        return;
    }
    let weights = made(device, dtype, dims, rng, |rng| match rng.below(4) {
        0 => 0.0,
        _ => rng.value(DType::F32).abs(),
    });
    if weights.values.iter().any(|&weight| weight < 0.0) {
        return;
    }
    let replacement = rng.below(2) == 0;
    let n = if replacement {
        rng.below(9)
    } else {
        rng.below(classes.min(9) + 1)
    };
    let what = format!("multinomial {n} of {dtype} {dims:?}, {replacement}, {state:?}");
    let result = weights.tensor.multinomial(n, replacement, g).unwrap();
    assert_eq!(result.dims(), [rows, &[n]].concat(), "{what}");
    let drawn = read(&result);
    let u = uniform(
        state,
        rows.iter().product::<usize>() * if replacement { n } else { classes },
    );
    for (row, weights) in weights.values.chunks(classes).enumerate() {
        let drawn = &drawn[row * n..][..n];
        assert!(
            drawn.iter().all(|&at| at >= 0.0 && at < classes as f64),
            "{what}: {drawn:?}"
        );
        if replacement {
            let total: f64 = weights.iter().sum();
            let off = (classes as f64 + 4.0) * epsilon(DType::F32) * total;
            for (&at, u) in drawn.iter().zip(&u[row * n..]) {
                let at = at as usize;
                let below: f64 = weights[..at].iter().sum();
                let place = u * total;
                let inside = place >= below - off && place <= below + weights[at] + off;
                assert!(inside || total == 0.0, "{what}: {at} for {u}");
            }
            continue;
        }
        let time = |at: usize| match weights[at] {
            0.0 => f64::INFINITY,
            weight => -(-u[row * classes + at]).ln_1p() / weight,
        };
        let near = |time: f64| time * (1.0 + 1e-5) + 1e-30;
        for pair in drawn.windows(2) {
            let [first, second] = [pair[0], pair[1]].map(|at| time(at as usize));
            assert!(first <= near(second), "{what}: {pair:?}");
        }
        let mut chosen: Vec<usize> = drawn.iter().map(|&at| at as usize).collect();
        let last = chosen.iter().map(|&at| time(at)).fold(0.0, f64::max);
        chosen.sort_unstable();
        chosen.dedup();
        assert_eq!(chosen.len(), n, "{what}: an index twice");
        let earlier = (0..classes).find(|at| !chosen.contains(at) && near(time(*at)) < last);
        assert_eq!(earlier, None, "{what}: {drawn:?}");
    }
}

/// Of every seed, mean, variance and shares as they should be within six standard errors.
#[test]
fn statistics_of_any_seed_are_those_of_the_distributions() {
    const N: usize = 10_000;
    fuzz(|device, rng| {
        let (mut generator, state) = anywhere(rng);
        let moments = |x: &[f64]| {
            let mean = x.iter().sum::<f64>() / N as f64;
            let var = x.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / N as f64;
            (mean, var)
        };
        let root = (N as f64).sqrt();
        let normal = Tensor::randn(device, [N], DType::F32, &mut generator).unwrap();
        let (mean, var) = moments(&read(&normal));
        assert!(mean.abs() < 6.0 / root, "{state:?}: {mean}");
        assert!(
            (var - 1.0).abs() < 6.0 * 2f64.sqrt() / root,
            "{state:?}: {var}"
        );
        let uniform = Tensor::rand(device, [N], DType::F32, &mut generator).unwrap();
        let (mean, var) = moments(&read(&uniform));
        assert!(
            (mean - 0.5).abs() < 6.0 / (12f64.sqrt() * root),
            "{state:?}: {mean}"
        );
        // The variance of a variance is (1/80 - 1/144) / n.
        assert!(
            (var - 1.0 / 12.0).abs() < 6.0 * 180f64.sqrt().recip() / root,
            "{state:?}: {var}"
        );
    });
}
