//! Triangles, one-hot vectors, even spacing, batch norm and losses of classes, against the host.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;
#[path = "common/operands.rs"]
mod operands;

use operands::{
    Arrangement, Expected, Random, check, epsilon, given, operand, output, output_in, random, shape,
};
use ziggurat_kernels::{
    ChannelAffine, CrossEntropyOptions, DType, Executor, KernelError, Reduction, View,
};

const NAN: f64 = f64::NAN;
const INF: f64 = f64::INFINITY;
const FLOATS: [DType; 3] = [DType::F32, DType::F16, DType::BF16];

/// Computed in f32 with a few roundings, then rounded to the dtype.
fn near(value: f64, magnitude: f64, dtype: DType) -> Expected {
    let bound = 16.0 * f64::from(f32::EPSILON) * magnitude + epsilon(dtype) * value.abs();
    Expected { value, bound }
}

#[test]
fn triangles_keep_one_side_of_any_diagonal() {
    let Some(exec) = common::executor() else {
        return;
    };
    let mut rng = Random(21);
    for dtype in DType::ALL {
        for dims in [
            &[3, 5][..],
            &[2, 4, 4],
            &[1, 1],
            &[0, 3],
            &[2, 3, 0],
            &[70, 65],
        ] {
            let k = [-1_000_000_000_000, -2, -1, 0, 1, 3, i64::MAX][rng.below(7)];
            let how = rng.pick(&Arrangement::ALL);
            let a = random(&exec, dtype, dims, how, &mut rng);
            let [.., rows, columns] = *dims else {
                unreachable!()
            };
            for lower in [true, false] {
                let out = output_in(&exec, dtype, dims, 1, Arrangement::Transposed);
                let _done = match lower {
                    true => exec.tril(&a.view, k, &out.view).unwrap(),
                    false => exec.triu(&a.view, k, &out.view).unwrap(),
                };
                let expected: Vec<Expected> = a
                    .values
                    .iter()
                    .enumerate()
                    .map(|(i, &x)| {
                        let distance = (i % columns) as i64 - (i / columns % rows) as i64;
                        let kept = if lower { distance <= k } else { distance >= k };
                        Expected::exact(if kept { x } else { 0.0 })
                    })
                    .collect();
                check(
                    &format!("{dtype} {dims:?} {how:?} {k} {lower}"),
                    &out.read(&exec),
                    &expected,
                );
            }
        }
    }
    // What is left out does not matter, whatever it is.
    let a = given(&exec, DType::F32, &[2, 2], &[1.0, NAN, INF, 2.0]);
    let out = output(&exec, DType::F32, &[2, 2], 0);
    let _done = exec.triu(&a.view, 0, &out.view).unwrap();
    let got = out.read(&exec);
    assert!(got[1].is_nan() && [got[0], got[2], got[3]] == [1.0, 0.0, 2.0]);
}

#[test]
fn one_hot_names_places_from_both_ends() {
    let Some(exec) = common::executor() else {
        return;
    };
    for dtype in [DType::I32, DType::U32, DType::I8, DType::U8] {
        let values: &[f64] = match dtype {
            DType::I32 => &[0.0, 2.0, -1.0, -3.0, 3.0, 2_147_483_647.0],
            DType::I8 => &[0.0, 2.0, -1.0, -3.0, 3.0, -128.0],
            DType::U8 => &[0.0, 2.0, 1.0, 255.0, 3.0, 253.0],
            _ => &[0.0, 2.0, 1.0, 4_294_967_295.0, 3.0, 4_294_967_293.0],
        };
        let index = given(&exec, dtype, &[2, 3], values);
        for (axis, dims) in [(0, [3, 2, 3]), (1, [2, 3, 3]), (2, [2, 3, 3])] {
            for to in DType::ALL {
                let (on, off) = if to.is_bool() { (1.0, 0.0) } else { (5.0, 2.0) };
                let out = output(&exec, to, &dims, 3);
                let _done = exec
                    .one_hot(&index.view, axis, (on, off), &out.view)
                    .unwrap();
                let inner: usize = dims[axis + 1..].iter().product();
                let expected: Vec<Expected> = (0..18)
                    .map(|i| {
                        let (place, row) = (i / inner % 3, i / (inner * 3) * inner + i % inner);
                        let named = values[row] + if values[row] < 0.0 { 3.0 } else { 0.0 };
                        Expected::exact(if named == place as f64 { on } else { off })
                    })
                    .collect();
                check(&format!("{dtype} {axis} {to}"), &out.read(&exec), &expected);
            }
        }
    }
    // Nothing to name, and a u8 index beside more places than it can count.
    let index = given(&exec, DType::U8, &[2], &[255.0, 7.0]);
    for depth in [0, 300] {
        let out = output(&exec, DType::Bool, &[2, depth], 0);
        let _done = exec.one_hot(&index.view, 1, (1.0, 0.0), &out.view).unwrap();
        let hot: Vec<usize> = (0..2 * depth)
            .filter(|&i| out.read(&exec)[i] != 0.0)
            .collect();
        assert_eq!(hot, if depth == 0 { vec![] } else { vec![255, 307] });
    }
}

#[test]
fn even_spacing_meets_both_ends() {
    let Some(exec) = common::executor() else {
        return;
    };
    for dtype in FLOATS {
        for n in [0, 1, 2, 5, 1000] {
            let out = output(&exec, dtype, &[n], 1);
            let _done = exec.linspace(-1.5, 3.0, &out.view).unwrap();
            let expected: Vec<Expected> = (0..n)
                .map(|i| near(-1.5 + 4.5 * i as f64 / (n.max(2) - 1) as f64, 3.0, dtype))
                .collect();
            let got = out.read(&exec);
            check(&format!("{dtype} {n}"), &got, &expected);
            if n > 1 {
                assert_eq!((got[0], got[n - 1]), (-1.5, 3.0));
            }
        }
    }
}

#[test]
fn batch_norm_uses_given_statistics_or_its_own() {
    let Some(exec) = common::executor() else {
        return;
    };
    let mut rng = Random(22);
    for dtype in FLOATS {
        for (dims, axis) in [
            (&[4, 3][..], 1),
            (&[2, 5, 4, 3], 1),
            (&[3, 2, 300], 1),
            (&[6, 2], 0),
        ] {
            let how = rng.pick(&Arrangement::ALL);
            let channels = dims[axis];
            let inner: usize = dims[axis + 1..].iter().product();
            let x = random(&exec, dtype, dims, how, &mut rng);
            let vector = |rng: &mut Random, low: f64| {
                operand(&exec, DType::F32, &[channels], Arrangement::Sliced, || {
                    low + rng.below(100) as f64 / 64.0
                })
            };
            let (mean, var) = (vector(&mut rng, -1.0), vector(&mut rng, 0.25));
            let (weight, bias) = (vector(&mut rng, 0.5), vector(&mut rng, -2.0));
            let normed = |mean: &[f64], var: &[f64], affine: bool| -> Vec<Expected> {
                let at = |i: usize| i / inner % channels;
                x.values
                    .iter()
                    .enumerate()
                    .map(|(i, &x)| {
                        let c = at(i);
                        let y = (x - mean[c]) / (var[c] + 1e-3).sqrt();
                        let y = if affine {
                            y * weight.values[c] + bias.values[c]
                        } else {
                            y
                        };
                        near(y, y.abs() + 8.0 / (var[c] + 1e-3).sqrt(), dtype)
                    })
                    .collect()
            };
            let what = format!("{dtype} {dims:?} {how:?}");
            let both = ChannelAffine {
                weight: Some(&weight.view),
                bias: Some(&bias.view),
            };
            let out = output_in(&exec, dtype, dims, 1, Arrangement::Flipped);
            let statistics = (&mean.view, &var.view);
            let _done = exec
                .batch_norm(&x.view, axis, statistics, &both, 1e-3, &out.view)
                .unwrap();
            check(
                &what,
                &out.read(&exec),
                &normed(&mean.values, &var.values, true),
            );

            let mut sums = vec![(0.0, 0.0, 0.0); channels];
            for (i, &x) in x.values.iter().enumerate() {
                let sum = &mut sums[i / inner % channels];
                *sum = (sum.0 + 1.0, sum.1 + x, sum.2 + x * x);
            }
            let means: Vec<f64> = sums.iter().map(|(n, x, _)| x / n).collect();
            let vars: Vec<f64> = sums
                .iter()
                .map(|(n, x, xx)| xx / n - (x / n).powi(2))
                .collect();
            let out = output(&exec, dtype, dims, 0);
            let (m, v) = (
                output(&exec, DType::F32, &[channels], 1),
                output(&exec, DType::F32, &[channels], 0),
            );
            let none = ChannelAffine::default();
            let outs = (&out.view, &m.view, &v.view);
            let _done = exec
                .batch_norm_train(&x.view, axis, &none, 1e-3, outs)
                .unwrap();
            let vector = |values: &[f64]| -> Vec<Expected> {
                values.iter().map(|&x| near(x, 4.0, DType::F32)).collect()
            };
            check(&what, &m.read(&exec), &vector(&means));
            check(&what, &v.read(&exec), &vector(&vars));
            check(&what, &out.read(&exec), &normed(&means, &vars, false));
        }
    }
}

/// The losses of rows of classes, and each one's share in the mean.
struct Host<'a> {
    classes: usize,
    inner: usize,
    weight: Option<&'a [f64]>,
    smoothing: f64,
}

impl Host<'_> {
    fn logs(&self, x: &[f64], row: usize) -> Vec<f64> {
        let at = |c: usize| (row / self.inner * self.classes + c) * self.inner + row % self.inner;
        (0..self.classes).map(|c| x[at(c)]).collect()
    }

    fn weight(&self, class: usize) -> f64 {
        self.weight.map_or(1.0, |weight| weight[class])
    }

    fn of_class(&self, logs: &[f64], class: f64) -> (f64, f64) {
        if class == -100.0 {
            return (0.0, 0.0);
        }
        if !(0.0..self.classes as f64).contains(&class) {
            return (NAN, NAN);
        }
        let class = class as usize;
        let weighted = |c: usize| -logs[c] * self.weight(c);
        let all: f64 = (0..self.classes).map(weighted).sum();
        let spread = if self.smoothing == 0.0 {
            0.0
        } else {
            all * self.smoothing / self.classes as f64
        };
        (
            (1.0 - self.smoothing) * weighted(class) + spread,
            self.weight(class),
        )
    }

    fn of_shares(&self, logs: &[f64], shares: &[f64]) -> (f64, f64) {
        let share =
            |c: usize| shares[c] * (1.0 - self.smoothing) + self.smoothing / self.classes as f64;
        let each = |c: usize| {
            if share(c) == 0.0 {
                0.0
            } else {
                -share(c) * logs[c] * self.weight(c)
            }
        };
        ((0..self.classes).map(each).sum(), 1.0)
    }
}

fn log_softmax(row: &[f64]) -> Vec<f64> {
    let most = row.iter().copied().fold(-INF, f64::max);
    let sum: f64 = row.iter().map(|x| (x - most).exp()).sum();
    row.iter().map(|x| x - most - sum.ln()).collect()
}

fn check_losses(
    exec: &Executor,
    what: &str,
    dtype: DType,
    each: &[(f64, f64)],
    dims: &[usize],
    run: impl Fn(Reduction, &View) -> Result<(), KernelError>,
) {
    let sum: f64 = each.iter().map(|(loss, _)| loss).sum();
    let shares: f64 = each.iter().map(|(_, share)| share).sum();
    let size: f64 = each.iter().map(|(loss, _)| loss.abs() + 4.0).sum();
    for (reduction, dims, expected) in [
        (
            Reduction::None,
            dims,
            each.iter()
                .map(|(loss, _)| near(*loss, 16.0, dtype))
                .collect::<Vec<_>>(),
        ),
        (Reduction::Sum, &[], vec![near(sum, size, dtype)]),
        (
            Reduction::Mean,
            &[1],
            vec![near(sum / shares, size / shares.abs().max(1.0), dtype)],
        ),
    ] {
        let out = output(exec, dtype, dims, 1);
        run(reduction, &out.view).unwrap();
        check(&format!("{what} {reduction:?}"), &out.read(exec), &expected);
    }
}

#[test]
fn losses_of_classes_meet_their_formulas_in_every_form() {
    let Some(exec) = common::executor() else {
        return;
    };
    let mut rng = Random(23);
    for dtype in FLOATS {
        let shapes: &[(&[usize], usize)] = match dtype {
            DType::F32 => &[(&[5], 0), (&[4, 3], 1), (&[2, 70, 3, 2], 1), (&[0, 3], 1)],
            DType::F16 => &[(&[300, 7], 1)],
            _ => &[(&[3, 4, 2], 1)],
        };
        for &(dims, axis) in shapes {
            let how = rng.pick(&Arrangement::ALL);
            let x = random(&exec, dtype, dims, how, &mut rng);
            let classes = dims[axis];
            let mut each_dims = dims.to_vec();
            each_dims.remove(axis);
            let rows: usize = each_dims.iter().product();
            let ints = rng.pick(&[DType::I32, DType::U8, DType::I8, DType::U32]);
            let target = operand(
                &exec,
                ints,
                &each_dims,
                rng.pick(&Arrangement::ALL),
                || match rng.below(9) {
                    0 if ints.is_signed() => -100.0,
                    _ => rng.below(classes) as f64,
                },
            );
            let shares = operand(&exec, DType::F32, dims, how, || rng.below(4) as f64 / 4.0);
            let weight = operand(&exec, DType::F16, &[classes], Arrangement::Flipped, || {
                rng.below(4) as f64 / 2.0
            });
            for (weighted, smoothing) in [(false, 0.0), (true, 0.0), (false, 0.25), (true, 0.25)] {
                let host = Host {
                    classes,
                    inner: dims[(axis + 1).min(dims.len())..].iter().product(),
                    weight: weighted.then_some(&weight.values[..]),
                    smoothing,
                };
                let options = |reduction| CrossEntropyOptions {
                    weight: weighted.then_some(&weight.view),
                    reduction,
                    label_smoothing: smoothing,
                    ..CrossEntropyOptions::default()
                };
                let what =
                    format!("{dtype} {dims:?} {how:?} {ints} weighted {weighted} {smoothing}");
                let logs = |row: usize| log_softmax(&host.logs(&x.values, row));
                let each: Vec<(f64, f64)> = (0..rows)
                    .map(|i| host.of_class(&logs(i), target.values[i]))
                    .collect();
                check_losses(&exec, &what, dtype, &each, &each_dims, |reduction, out| {
                    exec.cross_entropy(&x.view, &target.view, &options(reduction), out)
                        .map(drop)
                });
                let each: Vec<(f64, f64)> = (0..rows)
                    .map(|i| host.of_shares(&logs(i), &host.logs(&shares.values, i)))
                    .collect();
                check_losses(
                    &exec,
                    &format!("shares {what}"),
                    dtype,
                    &each,
                    &each_dims,
                    |reduction, out| {
                        exec.cross_entropy(&x.view, &shares.view, &options(reduction), out)
                            .map(drop)
                    },
                );
                if smoothing == 0.0 {
                    let each: Vec<(f64, f64)> = (0..rows)
                        .map(|i| host.of_class(&host.logs(&x.values, i), target.values[i]))
                        .collect();
                    check_losses(
                        &exec,
                        &format!("nll {what}"),
                        dtype,
                        &each,
                        &each_dims,
                        |reduction, out| {
                            exec.nll_loss(&x.view, &target.view, &options(reduction), out)
                                .map(drop)
                        },
                    );
                }
            }
        }
    }
}

#[test]
fn unknown_classes_are_nan_and_impossible_ones_do_no_harm() {
    let Some(exec) = common::executor() else {
        return;
    };
    let x = given(
        &exec,
        DType::F32,
        &[4, 2],
        &[0.0, -INF, 1.0, 2.0, 3.0, 4.0, 0.0, -INF],
    );
    let target = given(&exec, DType::I32, &[4], &[0.0, 2.0, -1.0, 1.0]);
    let options = CrossEntropyOptions {
        reduction: Reduction::None,
        ..CrossEntropyOptions::default()
    };
    let out = output(&exec, DType::F32, &[4], 0);
    let _done = exec
        .cross_entropy(&x.view, &target.view, &options, &out.view)
        .unwrap();
    let got = out.read(&exec);
    assert!(got[1].is_nan() && got[2].is_nan(), "{got:?}");
    assert_eq!([got[0], got[3]], [0.0, INF]);
    // Beyond i32 an index is still none, and not the ignored one.
    let far = given(
        &exec,
        DType::U32,
        &[4],
        &[0.0, 4_294_967_196.0, 2.0, 4_294_967_295.0],
    );
    let _done = exec
        .cross_entropy(&x.view, &far.view, &options, &out.view)
        .unwrap();
    let got = out.read(&exec);
    assert!(
        got[0] == 0.0 && got[1..].iter().all(|loss| loss.is_nan()),
        "{got:?}"
    );
    let certain = given(&exec, DType::F32, &[1, 2], &[1.0, 0.0]);
    let x = given(&exec, DType::F32, &[1, 2], &[0.0, -INF]);
    let out = output(&exec, DType::F32, &[1], 0);
    let _done = exec
        .cross_entropy(&x.view, &certain.view, &options, &out.view)
        .unwrap();
    assert_eq!(out.read(&exec), [0.0]);
}

#[test]
fn wrong_operands_are_errors_that_say_the_rule() {
    let Some(exec) = common::executor() else {
        return;
    };
    let view = |dtype, dims: &[usize]| exec.alloc(&shape(dims), dtype).unwrap();
    let (f, i) = (
        |dims: &[usize]| view(DType::F32, dims),
        |dims: &[usize]| view(DType::I32, dims),
    );
    let none = ChannelAffine::default();
    let plain = CrossEntropyOptions::default();
    let smooth = CrossEntropyOptions {
        label_smoothing: 1.5,
        ..plain
    };
    let two = f(&[2]);
    let weighted = CrossEntropyOptions {
        weight: Some(&two),
        ..plain
    };
    let one = f(&[]);
    let norm = |x: &View, axis, mean: &View, out: &View| {
        exec.batch_norm(x, axis, (mean, mean), &none, 0.0, out)
            .err()
    };
    let train = |x: &View, mean: &View| {
        exec.batch_norm_train(x, 1, &none, 0.0, (x, mean, mean))
            .err()
    };
    let errors: Vec<(Option<KernelError>, &str)> = vec![
        (
            exec.tril(&f(&[2]), 0, &f(&[2])).err(),
            "tril: a must have two axes, but its shape is [2]",
        ),
        (
            exec.triu(&f(&[2, 2]), 0, &i(&[2, 2])).err(),
            "triu: out is i32, but it must have the dtype of a",
        ),
        (
            exec.triu(&f(&[2, 2]), 0, &f(&[2, 3])).err(),
            "triu: the output must be [2, 2], but it is [2, 3]",
        ),
        (
            exec.one_hot(&f(&[2]), 0, (1.0, 0.0), &f(&[3, 2])).err(),
            "one_hot: indices is f32, but indices are integers",
        ),
        (
            exec.one_hot(&i(&[2]), 2, (1.0, 0.0), &f(&[3, 2])).err(),
            "one_hot: axis 2 is out of range",
        ),
        (
            exec.one_hot(&i(&[2]), 0, (1.0, 0.0), &f(&[3, 4])).err(),
            "one_hot: the output must be [3, 2], but it is [3, 4]",
        ),
        (
            exec.one_hot(&i(&[2]), 0, (1.0, 0.0), &f(&[3])).err(),
            "one_hot: the output must be [3, 2], but it is [3]",
        ),
        (
            norm(&f(&[2, 3]), 2, &f(&[3]), &f(&[2, 3])),
            "batch_norm: axis 2 is out of range",
        ),
        (
            norm(&f(&[2, 3]), 1, &f(&[2]), &f(&[2, 3])),
            "batch_norm: there must be one number per channel: left is [2, 3], right is [2]",
        ),
        (
            norm(&i(&[2, 3]), 1, &f(&[3]), &f(&[2, 3])),
            "batch_norm: x is i32, but it must be a float",
        ),
        (
            norm(&f(&[2, 3]), 1, &f(&[3]), &f(&[3, 2])),
            "batch_norm: the output must be [2, 3], but it is [3, 2]",
        ),
        (
            train(&f(&[1, 3]), &f(&[3])),
            "batch_norm_train: x must have more than one value per channel, but its shape is [1, 3]",
        ),
        (
            train(&f(&[2, 3]), &i(&[3])),
            "batch_norm_train: mean is i32, but statistics are f32",
        ),
        (
            exec.cross_entropy(&f(&[2, 3]), &i(&[3]), &plain, &one)
                .err(),
            "cross_entropy: class indices must have the input's shape without its class axis: left is [2, 3], right is [3]",
        ),
        (
            exec.cross_entropy(&f(&[2, 3]), &f(&[2]), &plain, &one)
                .err(),
            "cross_entropy: probabilities must have the input's shape: left is [2, 3], right is [2]",
        ),
        (
            exec.cross_entropy(&f(&[2, 3]), &i(&[2]), &smooth, &one)
                .err(),
            "cross_entropy: label_smoothing must be from 0 to 1, but it is 1.5",
        ),
        (
            exec.nll_loss(&f(&[2, 3]), &i(&[2]), &smooth, &one).err(),
            "nll_loss: label_smoothing must be 0, but it is 1.5",
        ),
        (
            exec.cross_entropy(&f(&[2, 3]), &i(&[2]), &weighted, &one)
                .err(),
            "cross_entropy: weight must be a vector with a number per class, but its shape is [2]",
        ),
        (
            exec.cross_entropy(&f(&[2, 0]), &i(&[2]), &plain, &one)
                .err(),
            "cross_entropy: x must have classes",
        ),
        (
            exec.cross_entropy(&f(&[]), &i(&[]), &plain, &one).err(),
            "cross_entropy: x must have classes",
        ),
        (
            exec.cross_entropy(&f(&[2, 3]), &view(DType::Bool, &[2]), &plain, &one)
                .err(),
            "cross_entropy: target is bool, but class indices are integers",
        ),
        (
            exec.nll_loss(&f(&[2, 3]), &f(&[2, 3]), &plain, &one).err(),
            "nll_loss: target is f32, but class indices are integers",
        ),
        (
            exec.nll_loss(&f(&[2, 3]), &i(&[2]), &plain, &f(&[2])).err(),
            "nll_loss: the output must be [], but it is [2]",
        ),
    ];
    for (error, message) in errors {
        let error = error.unwrap().to_string();
        assert!(
            error.starts_with(message),
            "{error}, should begin with {message}"
        );
    }
}

/// The comparator of this file refuses what is wrong.
#[test]
fn a_wrong_value_is_seen() {
    let wrong =
        std::panic::catch_unwind(|| check("wrong", &[1.001], &[near(1.0, 1.0, DType::F32)]));
    assert!(wrong.is_err());
    check("right", &[1.000_001], &[near(1.0, 1.0, DType::F32)]);
}
