//! Counts: histograms, occurrences of integers, places of what is not 0, one-hot vectors, repetition by counts.

use crate::expect;
use ziggurat_tensor::{DType, Tensor};

use super::{agrees, moved, read, refused};
use crate::fuzz_values::moves::places;
use crate::operands::{Expected, Random, check};
use crate::problems::{Given, Values, axis_of, fuzz_few, given, made, modest};

const INTEGERS: [DType; 4] = [DType::I32, DType::U32, DType::I8, DType::U8];

/// How many values lie between neighbouring bounds; the last one belongs to the last part.
fn counted(values: &[f64], bounds: &[f64]) -> Vec<f64> {
    let bins = bounds.len() - 1;
    let mut counts = vec![0.0; bins];
    for &value in values {
        for bin in 0..bins {
            let last = bin + 1 == bins;
            let (low, high) = (bounds[bin], bounds[bin + 1]);
            if value >= low && (value < high || (last && value == high)) {
                counts[bin] += 1.0;
                break;
            }
        }
    }
    counts
}

#[test]
fn histograms_agree_with_the_reference() {
    fuzz_few(|device, rng| {
        let dtype = rng.pick(&DType::ALL);
        let dims = modest(rng.below(4), rng);
        let low = [-2.0, -0.75, 0.0, 0.3, -1000.0][rng.below(5)];
        let width = [1.0, 4.0, 0.1, 2000.0][rng.below(4)];
        let (low, high) = (low as f32, (low + width) as f32);
        let bins = 1 + rng.below(40);
        // At times on a bound, at both ends too.
        let x = made(device, dtype, &dims, rng, |rng| match rng.below(10) {
            0 => f64::NAN,
            1 => rng.pick(&[f64::INFINITY, f64::NEG_INFINITY, -0.0]),
            2..=3 => f64::from(rng.pick(&[low, high])),
            4 => f64::from(low) + f64::from(high - low) * rng.below(bins) as f64 / bins as f64,
            5 if !dtype.is_float() => rng.value(dtype),
            _ => f64::from(low) + rng.value(DType::F32).abs() * width / 2.0,
        });
        let what = format!("histogram of {bins} from {low} to {high} {dtype} {dims:?}");
        let (counts, edges) = x.tensor.histogram(bins, low, high).unwrap();
        let wide = f64::from(high) - f64::from(low);
        let edge = |i: usize| {
            let value = f64::from(low) + wide * i as f64 / bins as f64;
            let bound =
                3.0 * f64::from(f32::EPSILON) * f64::from(low.abs().max(high.abs()) + high - low);
            if i == 0 || i == bins {
                Expected::exact(f64::from(if i == 0 { low } else { high }))
            } else {
                Expected { value, bound }
            }
        };
        let wanted: Vec<Expected> = (0..=bins).map(edge).collect();
        let bounds = read(&edges);
        agrees(
            &format!("bounds of {what}"),
            Ok(edges),
            &[bins + 1],
            &wanted,
        );
        // As f32 numbers, which is what they are compared as.
        let values: Vec<f64> = x.values.iter().map(|&x| f64::from(x as f32)).collect();
        moved(&what, Ok(counts), &[bins], &counted(&values, &bounds));
        let counts = x.tensor.histc(bins, low, high);
        let what = format!("histc: {what}");
        if !dtype.is_float() {
            return refused(&what, counts);
        }
        let wanted: f64 = values
            .iter()
            .filter(|&&x| x >= f64::from(low) && x <= f64::from(high))
            .count() as f64;
        let got = read(&counts.unwrap());
        // Where in the parts is the rounding's choice next to a bound; how many there are is not.
        if dtype == DType::F32 {
            assert_eq!(got.iter().sum::<f64>(), wanted, "{what}");
            for (bin, &got) in got.iter().enumerate() {
                let off = wide * 1e-5 + 1e-6 * f64::from(low.abs().max(high.abs()));
                let [low, high] =
                    [bin, bin + 1].map(|i| f64::from(low) + wide * i as f64 / bins as f64);
                let inside = |by: f64| {
                    values
                        .iter()
                        .filter(|&&x| x >= low - by && x <= high + by)
                        .count() as f64
                };
                assert!(
                    got >= inside(-off) - 0.5 && got <= inside(off),
                    "{what}: {got} in bin {bin}"
                );
            }
        }
    });
}

#[test]
fn occurrences_agree_with_the_reference() {
    fuzz_few(|device, rng| {
        let dtype = rng.pick(&INTEGERS);
        let n = modest(1, rng)[0];
        let most = 1 + rng.below(100);
        let negative = rng.below(8) == 0;
        let x = made(device, dtype, &[n], rng, |rng| {
            let value = rng.below(most) as f64;
            if negative && rng.below(40) == 0 {
                -1.0 - value
            } else {
                value
            }
        });
        // The negation of an unsigned number is a large one: not one to count up to.
        if x.values.iter().any(|&value| value > 1000.0) {
            return;
        }
        let to = rng.pick(&DType::ALL);
        let weights = (rng.below(2) == 0).then(|| given(device, to, &[n], Values::Plain, rng));
        let least = rng.below(2) * rng.below(200);
        let what = format!(
            "bincount of {n} {dtype} below {most} from {least} weights {:?}",
            weights.as_ref().map(|weights| weights.tensor.dtype())
        );
        let result = x
            .tensor
            .bincount_blocking(weights.as_ref().map(|w| &w.tensor), least);
        if x.values.iter().any(|&value| value < 0.0) {
            return refused(&what, result);
        }
        let len = x.values.iter().map(|&value| value as usize + 1).max();
        let len = len.unwrap_or(0).max(least);
        let Some(weights) = weights else {
            let mut wanted = vec![0.0; len];
            x.values
                .iter()
                .for_each(|&value| wanted[value as usize] += 1.0);
            return moved(&what, result, &[len], &wanted);
        };
        let (mut sums, mut sizes, mut terms) = (vec![0.0; len], vec![0.0; len], vec![0; len]);
        let mut truths = vec![0.0; len];
        for (&value, &weight) in x.values.iter().zip(&weights.values) {
            let at = value as usize;
            sums[at] += weight;
            sizes[at] += weight.abs();
            terms[at] += 1;
            truths[at] = f64::max(truths[at], weight);
        }
        let wanted: Vec<Expected> = (0..len)
            .map(|at| match to {
                DType::Bool => Expected::exact(truths[at]),
                _ if to.is_float() => Expected::sum(sums[at], sizes[at], terms[at], to),
                _ => Expected::exact(crate::fuzz_values::casts::cast(DType::I32, to, sums[at])),
            })
            .collect();
        if let Err(error) = &result {
            // Bool has no sums.
            assert!(
                to.is_bool() && (error.is_dtype() || error.is_argument()),
                "{what}: {error}"
            );
            return;
        }
        agrees(&what, result, &[len], &wanted);
    });
}

#[test]
fn places_of_what_is_not_zero_agree_with_the_reference() {
    fuzz_few(|device, rng| {
        let dtype = rng.pick(&DType::ALL);
        let rank = rng.below(5);
        let dims = modest(rank, rng);
        let few = rng.below(2) == 0;
        let x = if few {
            // Zeros of both signs, mostly.
            made(device, dtype, &dims, rng, |rng| match rng.below(8) {
                0 => rng.value(dtype),
                1 => -0.0,
                _ => 0.0,
            })
        } else {
            given(device, dtype, &dims, Values::Special, rng)
        };
        let what = format!("nonzero {dtype} {dims:?}");
        let found: Vec<Vec<usize>> = (places(&dims).into_iter().zip(&x.values))
            .filter(|(_, value)| **value != 0.0)
            .map(|(place, _)| place)
            .collect();
        let wanted: Vec<f64> = found.iter().flatten().map(|&i| i as f64).collect();
        moved(
            &what,
            x.tensor.nonzero_blocking(),
            &[found.len(), rank],
            &wanted,
        );
    });
}

/// The values of a tensor with an axis repeated, element by element.
fn repeated(x: &Given, axis: usize, counts: &[usize]) -> (Vec<usize>, Vec<f64>) {
    let sources: Vec<usize> = (counts.iter().enumerate())
        .flat_map(|(i, &count)| vec![i; count])
        .collect();
    let mut out = x.dims().to_vec();
    out[axis] = sources.len();
    let value = |mut place: Vec<usize>| {
        place[axis] = sources[place[axis]];
        let at = x
            .dims()
            .iter()
            .zip(&place)
            .fold(0, |at, (dim, i)| at * dim + i);
        x.values[at]
    };
    let values = places(&out).into_iter().map(value).collect();
    (out, values)
}

#[test]
fn what_is_made_by_counts_agrees_with_the_reference() {
    fuzz_few(|device, rng| {
        let rank = rng.below(4);
        let dims = modest(rank, rng);
        if rng.below(2) == 0 && rank > 0 {
            let dtype = rng.pick(&DType::ALL);
            let x = given(device, dtype, &dims, Values::Extreme, rng);
            let (signed, axis) = axis_of(rank, rng);
            let integer = rng.pick(&INTEGERS);
            let one = rng.below(3) == 0;
            let times = made_counts(device, integer, if one { 1 } else { dims[axis] }, rng);
            let what = format!("repeat_interleave_by {dtype} {dims:?} along {axis} one={one}");
            let result = x
                .tensor
                .repeat_interleave_by_blocking(&times.tensor, signed);
            let counts: Vec<usize> = if one {
                vec![times.values[0] as usize; dims[axis]]
            } else {
                times.values.iter().map(|&n| n as usize).collect()
            };
            let (out, wanted) = repeated(&x, axis, &counts);
            return moved(&what, result, &out, &wanted);
        }
        let integer = rng.pick(&INTEGERS);
        let depth = rng.below(12);
        let x = given(device, integer, &dims, Values::Extreme, rng);
        let near = made(device, integer, &dims, rng, |rng| {
            rng.below(16) as f64 - 6.0
        });
        let x = if rng.below(3) == 0 { x } else { near };
        let (signed, axis) = axis_of(rank + 1, rng);
        let to = rng.pick(&DType::ALL);
        let (on, off) = if to.is_bool() { (1, 0) } else { (5, 2) };
        let mut out = dims.clone();
        out.insert(axis, depth);
        let value = |mut place: Vec<usize>| {
            let i = place.remove(axis) as f64;
            let at = dims.iter().zip(&place).fold(0, |at, (dim, i)| at * dim + i);
            let named = x.values[at];
            let named = if named < 0.0 {
                named + depth as f64
            } else {
                named
            };
            f64::from(if named == i { on } else { off })
        };
        let wanted: Vec<f64> = places(&out).into_iter().map(value).collect();
        let what = format!("one_hot of {depth} {integer} {dims:?} to {to} along {axis}");
        let result: Result<Tensor, _> = x.tensor.one_hot(depth, signed, on, off, to);
        check(
            &what,
            &read(result.as_ref().unwrap()),
            &expect::exact(&wanted),
        );
        moved(&what, result, &out, &wanted);
    });
}

/// Small counts, as stored.
fn made_counts(
    device: &ziggurat_tensor::Device,
    dtype: DType,
    len: usize,
    rng: &mut Random,
) -> Given {
    crate::problems::in_memory(device, dtype, &[len], rng, |rng| rng.below(4) as f64)
}
