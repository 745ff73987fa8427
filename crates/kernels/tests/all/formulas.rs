//! Even spacing and losses of classes, against the host.

mod losses;

use crate::common;
use crate::operands::{
    Arrangement, Expected, Random, check, epsilon, given, operand, output, random, shape,
};
use ziggurat_kernels::{CrossEntropyOptions, DType, Executor, KernelError, Reduction, View};

const NAN: f64 = f64::NAN;
const INF: f64 = f64::INFINITY;
const FLOATS: [DType; 3] = [DType::F32, DType::F16, DType::BF16];

/// Computed in f32 with a few roundings, then rounded to the dtype.
fn near(value: f64, magnitude: f64, dtype: DType) -> Expected {
    let bound = 16.0 * f64::from(f32::EPSILON) * magnitude + epsilon(dtype) * value.abs();
    Expected { value, bound }
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
fn wrong_operands_are_errors_that_say_the_rule() {
    let exec = common::executor();
    let view = |dtype, dims: &[usize]| exec.alloc(&shape(dims), dtype).unwrap();
    let (f, i) = (
        |dims: &[usize]| view(DType::F32, dims),
        |dims: &[usize]| view(DType::I32, dims),
    );
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
    let errors = [
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
