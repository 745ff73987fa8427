//! Triangles, one-hot vectors, even spacing, batch norm and losses of classes, against the host.

mod losses;

use crate::common;
use crate::operands::{
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
    let exec = common::executor();
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
    let exec = common::executor();
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
    let exec = common::executor();
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
    let exec = common::executor();
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

#[test]
fn wrong_operands_are_errors_that_say_the_rule() {
    let exec = common::executor();
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
    let errors = [
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
    common::refused(errors);
}

/// The comparator of this file refuses what is wrong.
#[test]
fn a_wrong_value_is_seen() {
    let wrong =
        std::panic::catch_unwind(|| check("wrong", &[1.001], &[near(1.0, 1.0, DType::F32)]));
    assert!(wrong.is_err());
    check("right", &[1.000_001], &[near(1.0, 1.0, DType::F32)]);
}
