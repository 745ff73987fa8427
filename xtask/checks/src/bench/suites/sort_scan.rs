//! Sorts, scans, selections, scatters and random numbers.

use std::cell::RefCell;

use ziggurat_tensor::{DType, Error, Generator, Tensor};

use super::size;
use crate::bench::case::{Case, Cost, Lab, Ready, amount, dims_text, short};
use crate::bench::expect::{Check, Want, holds, near, rows, spread, summed, values, whole, worst};
use xtask::failure::Outcome;

pub(super) fn cases(quick: bool) -> Vec<Case> {
    let n = size(quick, 1 << 26, 1 << 16);
    let pairs = size(quick, 1 << 20, 1 << 12);
    let row = size(quick, [8192, 1024], [64, 256]);
    vec![
        cumsum(n),
        cumsum_last(size(quick, [8192, 8192], [64, 256])),
        sort_all(n),
        sort_all(pairs),
        sort_rows(row),
        topk(size(quick, [1, 131_072], [1, 4096])),
        topk(size(quick, [64, 32_768], [8, 1024])),
        count("nonzero", pairs),
        count("unique", pairs),
        count("bincount", pairs),
        searchsorted(pairs),
        scatter_add(pairs * 16, true),
        scatter_add(pairs * 16, false),
        index_put(pairs),
        randn(n),
    ]
}

fn cumsum(n: usize) -> Case {
    Case::new(
        "cumsum",
        DType::F32,
        short(n),
        Cost::bytes(8 * n),
        move |lab| {
            let x = lab.uniform(&[n], DType::F32)?;
            let check = whole(&[&x], |inputs, out| Ok(running(&inputs[0], out)));
            Ok(Ready::new(DType::F32, check, move || x.cumsum(0)))
        },
    )
}

/// The largest error of running sums, each by the sum of sizes so far.
fn running(input: &[f64], got: &[f64]) -> f64 {
    let (mut sum, mut size) = (0.0, 0.0);
    let want: Vec<Want> = input
        .iter()
        .map(|x| {
            sum += x;
            size += x.abs();
            summed(sum, size)
        })
        .collect();
    worst(got, &want)
}

fn cumsum_last(dims: [usize; 2]) -> Case {
    let cost = Cost::bytes(8 * dims[0] * dims[1]);
    Case::new(
        "cumsum_last",
        DType::F32,
        dims_text(&dims),
        cost,
        move |lab| {
            let x = lab.uniform(&dims, DType::F32)?;
            let check = rows(&x, |_, row| {
                let (mut sum, mut size) = (0.0, 0.0);
                let next = |x: &f64| {
                    sum += x;
                    size += x.abs();
                    summed(sum, size)
                };
                row.iter().map(next).collect()
            });
            Ok(Ready::new(DType::F32, check, move || x.cumsum(1)))
        },
    )
}

/// The same elements in ascending order: sums of two functions of them tell them apart.
fn sort_all(n: usize) -> Case {
    // Keys and positions, read and written.
    Case::new(
        "sort",
        DType::F32,
        short(n),
        Cost::bytes(16 * n),
        move |lab| {
            let x = lab.uniform(&[n], DType::F32)?;
            let check = whole(&[&x], |inputs, out| {
                let sums = |values: &[f64]| {
                    let sum = |f: fn(f64) -> f64| values.iter().map(|&x| f(x)).sum::<f64>();
                    [sum(|x| x), sum(|x| x * x * x)]
                };
                let near = |(a, b): (f64, f64)| (a - b).abs() <= 1e-6 * amount(out.len()).sqrt();
                let [want, got] = [sums(&inputs[0]), sums(out)];
                let same = inputs[0].len() == out.len() && want.into_iter().zip(got).all(near);
                holds(same && out.is_sorted())
            });
            Ok(Ready::new(DType::F32, check, move || {
                x.sort(0, false).map(|(sorted, _)| sorted)
            }))
        },
    )
}

fn sort_rows(dims: [usize; 2]) -> Case {
    let cost = Cost::bytes(16 * dims[0] * dims[1]);
    Case::new(
        "sort_last",
        DType::F32,
        dims_text(&dims),
        cost,
        move |lab| {
            let x = lab.uniform(&dims, DType::F32)?;
            let check = rows(&x, |_, row| {
                let mut sorted = row.to_vec();
                sorted.sort_by(f64::total_cmp);
                sorted.into_iter().map(near).collect()
            });
            Ok(Ready::new(DType::F32, check, move || {
                x.sort(1, false).map(|(sorted, _)| sorted)
            }))
        },
    )
}

const TOP: usize = 50;

fn topk(dims: [usize; 2]) -> Case {
    let cost = Cost::bytes(4 * dims[0] * dims[1]);
    let shape = format!("{} k{TOP}", dims_text(&dims));
    Case::new("topk", DType::F32, shape, cost, move |lab| {
        let x = lab.uniform(&dims, DType::F32)?;
        let check = rows(&x, |_, row| {
            let mut sorted = row.to_vec();
            sorted.sort_by(|a, b| b.total_cmp(a));
            sorted.into_iter().take(TOP).map(near).collect()
        });
        Ok(Ready::new(DType::F32, check, move || {
            x.topk(TOP, 1, true).map(|(most, _)| most)
        }))
    })
}

/// Values of a few kinds, and what is found among them; each waits for a count.
fn count(name: &'static str, n: usize) -> Case {
    const KINDS: usize = 1000;
    Case::new(name, DType::I32, short(n), Cost::bytes(4 * n), move |lab| {
        let below = if name == "nonzero" { 2 } else { KINDS };
        let x = lab.integers(&[n], below, DType::I32)?;
        let check = whole(&[&x], move |inputs, out| {
            let mut counts = vec![0.0; KINDS];
            for (kind, count) in counts.iter_mut().enumerate() {
                let kind = amount(kind);
                *count = amount(inputs[0].iter().filter(|&&x| x == kind).count());
            }
            let all = inputs[0].iter().enumerate();
            let want: Vec<f64> = match name {
                "nonzero" => all
                    .filter(|(_, x)| **x != 0.0)
                    .map(|(i, _)| amount(i))
                    .collect(),
                "unique" => (0..KINDS)
                    .filter(|&i| counts[i] > 0.0)
                    .map(amount)
                    .collect(),
                _ => {
                    let last = counts.iter().rposition(|&count| count > 0.0);
                    counts[..last.map_or(0, |last| last + 1)].to_vec()
                }
            };
            holds(want == out)
        });
        Ok(Ready::new(DType::I32, check, move || match name {
            "nonzero" => x.nonzero_blocking(),
            "unique" => Ok(x.unique_blocking()?.values),
            _ => x.bincount_blocking(None, 0),
        }))
    })
}

fn searchsorted(n: usize) -> Case {
    Case::new(
        "searchsorted",
        DType::F32,
        short(n),
        Cost::bytes(12 * n),
        move |lab| {
            let edges = lab.uniform(&[n], DType::F32)?.sort(0, false)?.0;
            let x = lab.uniform(&[n], DType::F32)?;
            let check = whole(&[&edges, &x], |inputs, out| {
                let want = |x: &f64| near(amount(inputs[0].partition_point(|edge| edge < x)));
                let want: Vec<Want> = inputs[1].iter().map(want).collect();
                Ok(worst(out, &want))
            });
            Ok(Ready::new(DType::I32, check, move || {
                edges.searchsorted(&x, false)
            }))
        },
    )
}

/// Sums by index into a sixteenth of the places, in a fixed order or in any.
fn scatter_add(n: usize, deterministic: bool) -> Case {
    let places = n / 16;
    let cost = Cost::bytes(8 * n + 8 * places);
    let order = if deterministic { "in order" } else { "" };
    let shape = format!("{} {order}", short(n)).trim_end().to_owned();
    Case::new("scatter_add", DType::F32, shape, cost, move |lab| {
        let device = lab.device.clone();
        let x = lab.uniform(&[n], DType::F32)?;
        let at = lab.integers(&[n], places, DType::I32)?;
        let zero = Tensor::zeros(&lab.device, [places], DType::F32)?;
        let check = whole(&[&x, &at], move |inputs, out| {
            let mut sums = vec![(0.0, 0.0); places];
            for (x, at) in inputs[0].iter().zip(&inputs[1]) {
                let (sum, size) = &mut sums[index(*at)];
                *sum += x;
                *size += x.abs();
            }
            let want: Vec<Want> = sums.iter().map(|&(sum, size)| summed(sum, size)).collect();
            Ok(worst(out, &want))
        });
        Ok(Ready::new(DType::F32, check, move || {
            device.set_deterministic(deterministic);
            let sums = zero.scatter_add(0, &at, &x);
            device.set_deterministic(true);
            sums
        }))
    })
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "indices that were drawn below an extent"
)]
fn index(at: f64) -> usize {
    at as usize
}

/// Every element replaced once, in random order.
fn index_put(n: usize) -> Case {
    Case::new(
        "index_put",
        DType::F32,
        short(n),
        Cost::bytes(16 * n),
        move |lab| {
            let x = lab.uniform(&[n], DType::F32)?;
            let at = Tensor::randperm(&lab.device, n, &mut Generator::new(3))?;
            at.eval_blocking()?;
            let zero = Tensor::zeros(&lab.device, [n], DType::F32)?;
            let check = whole(&[&x, &at], move |inputs, out| {
                let mut want = vec![near(f64::NAN); n];
                for (x, at) in inputs[0].iter().zip(&inputs[1]) {
                    want[index(*at)] = near(*x);
                }
                Ok(worst(out, &want))
            });
            Ok(Ready::new(DType::F32, check, move || {
                zero.index_put(&[&at], &x, false)
            }))
        },
    )
}

fn randn(n: usize) -> Case {
    Case::new(
        "randn",
        DType::F32,
        short(n),
        Cost::bytes(4 * n),
        move |lab: &Lab| -> Outcome<Ready> {
            let device = lab.device.clone();
            let generator = RefCell::new(Generator::new(11));
            // Mean, variance and kurtosis of normal numbers, within what a sample of this size has.
            let check: Check = Box::new(move |out| {
                let block = |start: usize| -> Result<Tensor, Error> {
                    out.narrow(0, start, (1 << 14).min(n))
                };
                let mut values_of = Vec::new();
                for start in spread(n - (1 << 14).min(n) + 1, 3) {
                    values_of.extend(values(&block(start)?)?);
                }
                let count = amount(values_of.len());
                let moment =
                    |power: i32| values_of.iter().map(|x| x.powi(power)).sum::<f64>() / count;
                let error = 6.0 / count.sqrt();
                holds(
                    moment(1).abs() < error
                        && (moment(2) - 1.0).abs() < 1.5 * error
                        && (moment(4) - 3.0).abs() < 10.0 * error,
                )
            });
            Ok(Ready::new(DType::F32, check, move || {
                Tensor::randn(&device, [n], DType::F32, &mut generator.borrow_mut())
            }))
        },
    )
}
