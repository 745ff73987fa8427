//! The edge tables of docs/semantics.md, value by value: functions of one element.

mod exact;

use crate::common;
use std::f64::consts::PI;

use crate::edge_runs::{INF, NAN, exactly, run_unary, same};
use crate::operands::{Expected, check, worst};
use ziggurat_kernels::device::block_on;
use ziggurat_kernels::{DType, Unary};

#[test]
fn known_values_are_met_to_six_digits() {
    let exec = common::executor();
    for (op, x, expected) in [
        (Unary::Sin, 1e5, 0.035_748_8),
        (Unary::Cos, 1e7, -0.907_270_4),
        (Unary::Sin, 3.0e38, f64::from(3.0e38_f32).sin()),
        (Unary::Cos, 8192.0, 8192f64.cos()),
        (Unary::Sin, PI, f64::from(PI as f32).sin()),
        (Unary::Exp, 88.7, f64::from(88.7_f32).exp()),
        (Unary::Tanh, 0.99, 0.757_362_3),
        (Unary::Tanh, 1e-4, 1e-4),
        (Unary::Sigmoid, -80.0, (-80f64).exp()),
        (Unary::Gelu, -5.0, -5.0 * 2.866_515_719e-7),
        (Unary::Log, 1.000_001, f64::from(1.000_001_f32).ln()),
        (Unary::Expm1, 1e-7, f64::from(1e-7_f32).exp_m1()),
        (Unary::Expm1, -3e-4, f64::from(-3e-4_f32).exp_m1()),
        (Unary::Expm1, 88.7, f64::from(88.7_f32).exp_m1()),
        (Unary::Log1p, 1e-7, f64::from(1e-7_f32).ln_1p()),
        (Unary::Log1p, -0.999_999, f64::from(-0.999_999_f32).ln_1p()),
        (Unary::Log1p, 1e30, f64::from(1e30_f32).ln_1p()),
        (Unary::Sinh, 1e-6, f64::from(1e-6_f32).sinh()),
        (Unary::Sinh, -89.3, f64::from(-89.3_f32).sinh()),
        (Unary::Cosh, 89.3, f64::from(89.3_f32).cosh()),
        (Unary::Asinh, 1e-6, f64::from(1e-6_f32).asinh()),
        (Unary::Asinh, -3e38, f64::from(-3e38_f32).asinh()),
        (Unary::Acosh, 1.000_001, f64::from(1.000_001_f32).acosh()),
        (Unary::Acosh, 3e38, f64::from(3e38_f32).acosh()),
        (Unary::Atanh, 1e-6, f64::from(1e-6_f32).atanh()),
        (
            Unary::Atanh,
            0.999_999_9,
            f64::from(0.999_999_9_f32).atanh(),
        ),
        (Unary::Acos, 0.999_999, f64::from(0.999_999_f32).acos()),
        (Unary::Tan, 1e5, f64::from(1e5_f32).tan()),
        (Unary::Tan, 3e38, f64::from(3e38_f32).tan()),
        (Unary::Erf, 1e-6, 1.128_379_167e-6),
        (Unary::Erfc, 8.0, 1.122_429_717e-29),
        (Unary::Softplus, -80.0, (-80f64).exp()),
        (Unary::LogSigmoid, 80.0, -(-80f64).exp()),
        (Unary::Mish, -80.0, -80.0 * (-80f64).exp()),
    ] {
        let got = run_unary(&exec, op, DType::F32, &[x])[0];
        assert!(
            (got - expected).abs() <= 2e-6 * expected.abs(),
            "{op:?}({x}) is {got}, should be {expected}"
        );
    }
}

#[test]
fn sine_and_cosine_hold_for_every_magnitude() {
    let exec = common::executor();
    let inputs: Vec<f64> = (0..4000)
        .map(|i| f64::from((1.021f64.powi(i - 200) * 1.3) as f32))
        .filter(|x| x.is_finite())
        .collect();
    for (op, f) in [
        (Unary::Sin, f64::sin as fn(f64) -> f64),
        (Unary::Cos, f64::cos),
    ] {
        let expected: Vec<Expected> = inputs
            .iter()
            .map(|&x| Expected {
                value: f(x),
                bound: 2.5e-7,
            })
            .collect();
        check(
            &format!("{op:?}"),
            &run_unary(&exec, op, DType::F32, &inputs),
            &expected,
        );
    }
}

#[test]
fn subnormals_are_exact_or_zero() {
    let exec = common::executor();
    let x = f64::from(1e-40_f32);
    for op in [Unary::Abs, Unary::Neg, Unary::Relu] {
        let got = run_unary(&exec, op, DType::F32, &[x])[0].abs();
        assert!(got == x || got == 0.0, "{op:?}({x}) is {got}");
    }
    // f16's subnormals are normal in f32, so they survive everywhere.
    let tiny = f64::powi(2.0, -24);
    assert_eq!(
        run_unary(&exec, Unary::Neg, DType::F16, &[tiny, 1023.0 * tiny]),
        [-tiny, -1023.0 * tiny]
    );
}

#[test]
fn the_comparison_of_results_catches_what_it_should() {
    let one = [Expected {
        value: 1.0,
        bound: 0.1,
    }];
    let off = |got: f64, expected: &[Expected]| worst(&[got], expected).unwrap().0;
    assert!(off(1.05, &one) <= 1.0);
    assert!(off(1.2, &one) > 1.0);
    assert!(off(NAN, &one) > 1.0);
    assert!(off(INF, &one) > 1.0);
    assert!(
        off(
            1.0,
            &[Expected {
                value: NAN,
                bound: 0.1
            }]
        ) > 1.0
    );
    assert!(
        off(
            -INF,
            &[Expected {
                value: INF,
                bound: 0.1
            }]
        ) > 1.0
    );
    assert!(!same(0.0, -0.0) && same(NAN, NAN) && !same(NAN, 0.0));
}

#[test]
fn the_probe_of_numerics_gets_an_answer() {
    let exec = common::executor();
    let ask = || block_on(exec.numerics()).unwrap();
    let numerics = ask();
    assert_eq!(numerics, ask());
    // Own code on every adapter.
    assert!(numerics.f16);
    // What the software device does is known; of drivers only that they answer.
    if exec.device().adapter().is_software_device() {
        assert!(numerics.nan_compares && numerics.infinity && numerics.integer_division);
    }
}
