//! Random graphs of smooth functions with norms, softmax, means, products and convolutions at random places: fused and
//! unfused stay within a bound of the f64 reference that is carried along with each value.

use crate::common;
use std::cell::Cell;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use ziggurat_tensor::{
    Conv1dOptions, Device, DeviceOptions, Element, Error, FusionPolicy, Tensor, read_many_blocking,
};

/// All values are matrices with these extents.
const ROWS: usize = 4;
const COLUMNS: usize = 8;
/// Rounding errors of an op, for results of magnitude 1: the loosest tolerance of the functions used, and sums of 8.
const ROUNDING: f64 = 8e-6;
/// Values with larger bounds, or larger magnitudes, are not built on.
const LOOSEST: f64 = 1e-2;
const LARGEST: f64 = 6.0;

/// A tensor, what it should hold, and how far it may be off.
#[derive(Clone)]
struct Value {
    tensor: Tensor,
    expected: Vec<f64>,
    bound: f64,
}

type Step = (u8, u8, u8);

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |most: f64, x| most.max(x.abs()))
}

fn mean(row: &[f64]) -> f64 {
    row.iter().sum::<f64>() / row.len() as f64
}

/// A value whose error is `grown` at most, before its own rounding; nothing where that is too much.
fn made(tensor: Result<Tensor, Error>, expected: Vec<f64>, grown: f64) -> Option<Value> {
    let most = largest(&expected);
    let bound = grown + ROUNDING * most.max(1.0);
    (bound <= LOOSEST && most <= LARGEST).then(|| Value {
        tensor: tensor.unwrap(),
        expected,
        bound,
    })
}

fn map(x: &Value, f: impl Fn(f64) -> f64) -> Vec<f64> {
    x.expected.iter().copied().map(f).collect()
}

fn by_rows(x: &Value, f: impl Fn(&[f64]) -> Vec<f64>) -> Vec<f64> {
    x.expected.chunks(COLUMNS).flat_map(f).collect()
}

fn at(values: &[f64], row: usize, column: usize) -> f64 {
    values[row * COLUMNS + column]
}

/// What a step makes of two values.
fn step(kind: u8, x: &Value, y: &Value) -> Option<Value> {
    let (t, u) = (&x.tensor, &y.tensor);
    let (bx, by) = (x.bound, y.bound);
    let (mx, my) = (largest(&x.expected), largest(&y.expected));
    let both = |f: fn(f64, f64) -> f64| {
        let pairs = x.expected.iter().zip(&y.expected);
        pairs.map(|(&x, &y)| f(x, y)).collect::<Vec<f64>>()
    };
    match kind % 14 {
        0 => made(t.tanh(), map(x, f64::tanh), bx),
        1 => made(t.sigmoid(), map(x, |x| 1.0 / (1.0 + (-x).exp())), bx),
        2 => made(t.relu(), map(x, |x| x.max(0.0)), bx),
        3 => made(t.add(u), both(|x, y| x + y), bx + by),
        4 => made(t.sub(u), both(|x, y| x - y), bx + by),
        5 => made(t.mul(u), both(|x, y| x * y), bx * (my + by) + by * mx),
        6 => made(t.mul(0.5), map(x, |x| x * 0.5), bx),
        7 => made(t.maximum(u), both(f64::max), bx.max(by)),
        // A shift of all elements by at most b moves the result by 2b, and its divisor by √n·b.
        8 => {
            let normal = |row: &[f64]| {
                let m = mean(row);
                let variance = mean(&row.iter().map(|x| (x - m).powi(2)).collect::<Vec<_>>());
                let factor = 1.0 / (variance + 1.0).sqrt();
                row.iter().map(|x| (x - m) * factor).collect()
            };
            let grown = (2.0 + (COLUMNS as f64).sqrt()) * bx;
            made(
                t.layer_norm([COLUMNS], None, None, 1.0),
                by_rows(x, normal),
                grown,
            )
        }
        9 => {
            let weight = &y.expected[..COLUMNS];
            let normal = |row: &[f64]| {
                let squares: Vec<f64> = row.iter().map(|x| x * x).collect();
                let factor = 1.0 / (mean(&squares) + 1.0).sqrt();
                let scaled = row.iter().zip(weight);
                scaled.map(|(x, w)| x * factor * w).collect()
            };
            let root = (COLUMNS as f64).sqrt();
            let grown = (1.0 + root) * bx * (my + by) + by * root;
            let weight = u.select(0, 0).unwrap();
            made(
                t.rms_norm([COLUMNS], Some(&weight), 1.0),
                by_rows(x, normal),
                grown,
            )
        }
        10 => {
            let share = |row: &[f64]| {
                let sum: f64 = row.iter().map(|x| x.exp()).sum();
                row.iter().map(|x| x.exp() / sum).collect()
            };
            made(t.softmax(-1), by_rows(x, share), 2.0 * bx)
        }
        11 => {
            let centred = |row: &[f64]| row.iter().map(|x| x - mean(row)).collect();
            made(
                t.mean([-1], true).and_then(|mean| t.sub(mean)),
                by_rows(x, centred),
                2.0 * bx,
            )
        }
        // x · (yᵀ · x) / 32, two products in one statement.
        12 => {
            let inner = |i: usize, j: usize| -> f64 {
                (0..ROWS)
                    .map(|r| at(&y.expected, r, i) * at(&x.expected, r, j))
                    .sum()
            };
            let expected = (0..ROWS * COLUMNS).map(|index| {
                let (row, column) = (index / COLUMNS, index % COLUMNS);
                let sum: f64 = (0..COLUMNS)
                    .map(|k| at(&x.expected, row, k) * inner(k, column))
                    .sum();
                sum / 32.0
            });
            // 32 terms of three factors each.
            let (mx, my) = (mx + bx, my + by);
            let grown = 2.0 * bx * mx * my + by * mx * mx + ROUNDING * mx * mx * my;
            let product = || t.matmul(&u.t()?.matmul(t)?)?.mul(1.0 / 32.0);
            made(product(), expected.collect(), grown)
        }
        // Every row correlated with the first two elements of the other's, then an activation.
        _ => {
            let expected = (0..ROWS * COLUMNS).map(|index| {
                let (row, column) = (index / COLUMNS, index % COLUMNS);
                let before = column.checked_sub(1);
                let before = before.map_or(0.0, |before| at(&x.expected, row, before));
                let sum = before * at(&y.expected, row, 0)
                    + at(&x.expected, row, column) * at(&y.expected, row, 1);
                (0.25 * sum).tanh()
            });
            let options = Conv1dOptions {
                padding_begin: [1],
                groups: ROWS,
                ..Conv1dOptions::default()
            };
            let grown = 0.5 * (bx * (my + by) + by * mx + ROUNDING * mx * my);
            let correlated = || {
                let filters = u.narrow(1, 0, 2)?.unsqueeze(1)?;
                t.conv1d(&filters, None, &options)?.mul(0.25)?.tanh()
            };
            made(correlated(), expected.collect(), grown)
        }
    }
}

fn build(device: &Device, steps: &[Step]) -> Vec<Value> {
    let start = |salt: usize| {
        let values: Vec<f32> = (0..ROWS * COLUMNS)
            .map(|i| ((i * 7 + salt * 5) % 17) as f32 * 0.125 - 1.0)
            .collect();
        Value {
            tensor: Tensor::from_slice(device, &values, [ROWS, COLUMNS]).unwrap(),
            expected: values.iter().map(|&x| f64::from(x)).collect(),
            bound: 0.0,
        }
    };
    let mut values: Vec<Value> = (0..3).map(start).collect();
    for &(kind, a, b) in steps {
        let pick = |n: u8| {
            let back = if n < 160 {
                usize::from(n) % 3
            } else {
                usize::from(n) % values.len()
            };
            &values[values.len() - 1 - back]
        };
        let next = step(kind, pick(a), pick(b));
        values.extend(next);
    }
    values
}

fn near(got: &[f32], value: &Value) -> Result<(), TestCaseError> {
    prop_assert_eq!(got.len(), value.expected.len());
    for (at, (&got, &expected)) in got.iter().zip(&value.expected).enumerate() {
        let off = (f64::from(got) - expected).abs();
        prop_assert!(
            off <= value.bound,
            "element {at}: {got}, expected {expected} within {}",
            value.bound
        );
    }
    Ok(())
}

fn check(values: &[Value]) -> Result<(), TestCaseError> {
    let tensors: Vec<&Tensor> = values.iter().map(|value| &value.tensor).collect();
    let read = read_many_blocking(&tensors).unwrap();
    for (bytes, value) in read.iter().zip(values) {
        let got = f32::read_bytes(bytes);
        near(&got, value)?;
    }
    Ok(())
}

/// Graphs to try: `PROPTEST_CASES` asks for a long search.
fn cases() -> u32 {
    let asked = std::env::var("PROPTEST_CASES").ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(40)
}

#[test]
fn random_smooth_graphs_stay_within_their_bounds_fused_and_unfused() {
    let device = Device::open_blocking(DeviceOptions::default()).unwrap();
    let steps = prop::collection::vec(any::<Step>(), 1..=40);
    let kept = prop::collection::vec(0u8..3, 60);
    let config = Config {
        cases: cases(),
        failure_persistence: None,
        ..Config::default()
    };
    let dispatches = || device.executor().device().queue_stats().dispatches;
    let (fused_kernels, unfused_kernels) = (Cell::new(0), Cell::new(0));
    let deepest = Cell::new(0);
    let outcome = TestRunner::new(config).run(&(steps, kept), |(steps, kept)| {
        let before = dispatches();
        let mut fused = build(&device, &steps);
        deepest.set(deepest.get().max(fused.len()));
        let last = fused.len() - 1;
        let mut at = 0;
        fused.retain(|_| {
            at += 1;
            at > last || kept[at % kept.len()] == 0
        });
        check(&fused)?;
        fused_kernels.set(fused_kernels.get() + dispatches() - before);
        let before = dispatches();
        FusionPolicy::Unfused.scope(|| check(&build(&device, &steps)))?;
        unfused_kernels.set(unfused_kernels.get() + dispatches() - before);
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
    assert!(deepest.get() > 20, "{} values at most", deepest.get());
    let (fused, unfused) = (fused_kernels.get(), unfused_kernels.get());
    assert!(fused < unfused, "{fused} kernels fused, {unfused} unfused");
}

#[test]
fn the_bounds_notice_a_wrong_step() {
    let device = common::device();
    let mut values = build(&device, &[(8, 0, 0), (12, 0, 1), (13, 0, 1)]);
    assert!(values.len() > 4, "{}", values.len());
    check(&values).unwrap();
    // Every element is needed, and every bound is far below the values.
    for value in &mut values {
        assert!(value.bound < 0.01 * largest(&value.expected));
        value.expected[5] += 2.0 * value.bound + 1e-6;
        assert!(check(std::slice::from_ref(value)).is_err());
    }
}
