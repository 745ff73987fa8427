//! The edge tables of docs/semantics.md, value by value: functions of one element.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;
#[path = "common/edges.rs"]
mod edges;
#[path = "common/operands.rs"]
mod operands;

use std::f64::consts::PI;

use edges::{INF, NAN, exactly, run_unary, same};
use operands::{Expected, check, worst};
use ziggurat_kernels::device::block_on;
use ziggurat_kernels::{DType, Unary};

#[test]
fn unary_float_edges_are_exact() {
    let Some(exec) = common::executor() else {
        return;
    };
    let table: &[(Unary, &[[f64; 2]])] = &[
        (
            Unary::Abs,
            &[[-0.0, 0.0], [-INF, INF], [NAN, NAN], [-2.5, 2.5]],
        ),
        (Unary::Neg, &[[0.0, -0.0], [INF, -INF], [NAN, NAN]]),
        (
            Unary::Sign,
            &[
                [NAN, NAN],
                [-0.0, 0.0],
                [0.0, 0.0],
                [-INF, -1.0],
                [3.0, 1.0],
            ],
        ),
        (
            Unary::Exp,
            &[
                [0.0, 1.0],
                [-INF, 0.0],
                [INF, INF],
                [NAN, NAN],
                [89.0, INF],
                [-104.0, 0.0],
                [-1000.0, 0.0],
                [1000.0, INF],
            ],
        ),
        (
            Unary::Exp2,
            &[
                [3.0, 8.0],
                [-2.0, 0.25],
                [-INF, 0.0],
                [INF, INF],
                [NAN, NAN],
                [128.0, INF],
                [-1000.0, 0.0],
            ],
        ),
        (
            Unary::Log,
            &[
                [1.0, 0.0],
                [0.0, -INF],
                [-0.0, -INF],
                [-1.0, NAN],
                [-INF, NAN],
                [INF, INF],
                [NAN, NAN],
            ],
        ),
        (
            Unary::Log2,
            &[
                [8.0, 3.0],
                [0.25, -2.0],
                [0.0, -INF],
                [-1.0, NAN],
                [INF, INF],
                [NAN, NAN],
            ],
        ),
        (
            Unary::Sqrt,
            &[
                [4.0, 2.0],
                [0.0, 0.0],
                [-0.0, -0.0],
                [-1.0, NAN],
                [-INF, NAN],
                [INF, INF],
                [NAN, NAN],
            ],
        ),
        (
            Unary::Rsqrt,
            &[[4.0, 0.5], [0.0, INF], [-1.0, NAN], [INF, 0.0], [NAN, NAN]],
        ),
        (
            Unary::Square,
            &[[-3.0, 9.0], [INF, INF], [-INF, INF], [NAN, NAN]],
        ),
        (
            Unary::Reciprocal,
            &[
                [2.0, 0.5],
                [0.0, INF],
                [-0.0, -INF],
                [INF, 0.0],
                [-INF, -0.0],
                [NAN, NAN],
            ],
        ),
        (
            Unary::Sin,
            &[
                [0.0, 0.0],
                [-0.0, -0.0],
                [INF, NAN],
                [-INF, NAN],
                [NAN, NAN],
            ],
        ),
        (Unary::Cos, &[[0.0, 1.0], [INF, NAN], [NAN, NAN]]),
        (
            Unary::Floor,
            &[
                [-0.5, -1.0],
                [-0.0, -0.0],
                [2.5, 2.0],
                [INF, INF],
                [NAN, NAN],
                [16_777_216.0, 16_777_216.0],
            ],
        ),
        (
            Unary::Ceil,
            &[[-0.5, -0.0], [0.5, 1.0], [-INF, -INF], [NAN, NAN]],
        ),
        (
            Unary::Trunc,
            &[
                [-0.5, -0.0],
                [2.5, 2.0],
                [-2.5, -2.0],
                [INF, INF],
                [NAN, NAN],
            ],
        ),
        (
            Unary::Round,
            &[
                [0.5, 0.0],
                [1.5, 2.0],
                [2.5, 2.0],
                [-0.5, -0.0],
                [-1.5, -2.0],
                [0.499_999_97, 0.0],
                [8_388_609.0, 8_388_609.0],
                [INF, INF],
                [-INF, -INF],
                [NAN, NAN],
            ],
        ),
        (
            Unary::Relu,
            &[
                [NAN, NAN],
                [-0.0, -0.0],
                [-1.0, 0.0],
                [-INF, 0.0],
                [INF, INF],
                [2.0, 2.0],
            ],
        ),
        (
            Unary::Gelu,
            &[
                [NAN, NAN],
                [-INF, -0.0],
                [INF, INF],
                [0.0, 0.0],
                [100.0, 100.0],
                [-100.0, -0.0],
            ],
        ),
        (
            Unary::GeluTanh,
            &[
                [NAN, NAN],
                [-INF, -0.0],
                [INF, INF],
                [0.0, 0.0],
                [100.0, 100.0],
                [-100.0, -0.0],
                [1e20, 1e20],
            ],
        ),
        (
            Unary::Sigmoid,
            &[
                [NAN, NAN],
                [-INF, 0.0],
                [INF, 1.0],
                [0.0, 0.5],
                [-1000.0, 0.0],
                [1000.0, 1.0],
            ],
        ),
        (
            Unary::Tanh,
            &[
                [NAN, NAN],
                [-INF, -1.0],
                [INF, 1.0],
                [100.0, 1.0],
                [-100.0, -1.0],
                [0.0, 0.0],
                [-0.0, -0.0],
            ],
        ),
        (
            Unary::Silu,
            &[
                [NAN, NAN],
                [-INF, -0.0],
                [INF, INF],
                [0.0, 0.0],
                [-1000.0, -0.0],
                [100.0, 100.0],
            ],
        ),
        (
            Unary::Expm1,
            &[
                [0.0, 0.0],
                [-0.0, -0.0],
                [NAN, NAN],
                [INF, INF],
                [-INF, -1.0],
                [-100.0, -1.0],
                [89.0, INF],
                [1e-30, 1e-30],
            ],
        ),
        (
            Unary::Log10,
            &[
                [1.0, 0.0],
                [100.0, 2.0],
                [0.0, -INF],
                [-1.0, NAN],
                [INF, INF],
                [NAN, NAN],
            ],
        ),
        (
            Unary::Log1p,
            &[
                [0.0, 0.0],
                [-0.0, -0.0],
                [-1.0, -INF],
                [-1.5, NAN],
                [-INF, NAN],
                [INF, INF],
                [NAN, NAN],
                [1e-30, 1e-30],
            ],
        ),
        (
            Unary::Tan,
            &[
                [0.0, 0.0],
                [-0.0, -0.0],
                [INF, NAN],
                [-INF, NAN],
                [NAN, NAN],
            ],
        ),
        (
            Unary::Asin,
            &[
                [0.0, 0.0],
                [-0.0, -0.0],
                [1.0, PI / 2.0],
                [-1.0, -PI / 2.0],
                [1.5, NAN],
                [-INF, NAN],
                [NAN, NAN],
            ],
        ),
        (
            Unary::Acos,
            &[
                [1.0, 0.0],
                [0.0, PI / 2.0],
                [-1.0, PI],
                [-1.5, NAN],
                [INF, NAN],
                [NAN, NAN],
            ],
        ),
        (
            Unary::Atan,
            &[
                [0.0, 0.0],
                [-0.0, -0.0],
                [INF, PI / 2.0],
                [-INF, -PI / 2.0],
                [1e38, PI / 2.0],
                [NAN, NAN],
            ],
        ),
        (
            Unary::Sinh,
            &[
                [0.0, 0.0],
                [-0.0, -0.0],
                [INF, INF],
                [-INF, -INF],
                [90.0, INF],
                [1e-30, 1e-30],
                [NAN, NAN],
            ],
        ),
        (
            Unary::Cosh,
            &[
                [0.0, 1.0],
                [INF, INF],
                [-INF, INF],
                [-90.0, INF],
                [NAN, NAN],
            ],
        ),
        (
            Unary::Asinh,
            &[
                [0.0, 0.0],
                [-0.0, -0.0],
                [INF, INF],
                [-INF, -INF],
                [1e-30, 1e-30],
                [NAN, NAN],
            ],
        ),
        (
            Unary::Acosh,
            &[[1.0, 0.0], [0.5, NAN], [-INF, NAN], [INF, INF], [NAN, NAN]],
        ),
        (
            Unary::Atanh,
            &[
                [0.0, 0.0],
                [-0.0, -0.0],
                [1.0, INF],
                [-1.0, -INF],
                [1.5, NAN],
                [INF, NAN],
                [NAN, NAN],
            ],
        ),
        (
            Unary::Erf,
            &[
                [0.0, 0.0],
                [-0.0, -0.0],
                [INF, 1.0],
                [-INF, -1.0],
                [20.0, 1.0],
                [NAN, NAN],
            ],
        ),
        (
            Unary::Erfc,
            &[[0.0, 1.0], [INF, 0.0], [-INF, 2.0], [20.0, 0.0], [NAN, NAN]],
        ),
        (
            Unary::Frac,
            &[
                [2.5, 0.5],
                [-2.5, -0.5],
                [-2.0, -0.0],
                [0.0, 0.0],
                [1e30, 0.0],
                [INF, NAN],
                [NAN, NAN],
            ],
        ),
        (
            Unary::Softplus,
            &[
                [1000.0, 1000.0],
                [-1000.0, 0.0],
                [INF, INF],
                [-INF, 0.0],
                [NAN, NAN],
            ],
        ),
        (
            Unary::LogSigmoid,
            &[
                [-1000.0, -1000.0],
                [1000.0, -0.0],
                [INF, -0.0],
                [-INF, -INF],
                [NAN, NAN],
            ],
        ),
        (
            Unary::Softsign,
            &[
                [1.0, 0.5],
                [-0.0, -0.0],
                [INF, 1.0],
                [-INF, -1.0],
                [-1e38, -1.0],
                [NAN, NAN],
            ],
        ),
        (
            Unary::Mish,
            &[
                [0.0, 0.0],
                [INF, INF],
                [-INF, -0.0],
                [-1000.0, -0.0],
                [100.0, 100.0],
                [1e38, 1e38],
                [NAN, NAN],
            ],
        ),
        (
            Unary::GeluQuick,
            &[
                [0.0, 0.0],
                [INF, INF],
                [-INF, -0.0],
                [-1000.0, -0.0],
                [3e38, 3e38],
                [NAN, NAN],
            ],
        ),
        (
            Unary::HardSwish,
            &[
                [0.0, 0.0],
                [3.0, 3.0],
                [-3.0, -0.0],
                [INF, INF],
                [-INF, -0.0],
                [3e38, 3e38],
                [NAN, NAN],
            ],
        ),
    ];
    for (op, rows) in table {
        let inputs: Vec<f64> = rows.iter().map(|row| f64::from(row[0] as f32)).collect();
        let rounded: Vec<[f64; 2]> = rows
            .iter()
            .map(|row| [row[0], f64::from(row[1] as f32)])
            .collect();
        exactly(
            &format!("{op:?}"),
            &rounded,
            &run_unary(&exec, *op, DType::F32, &inputs),
        );
    }
}

#[test]
fn known_values_are_met_to_six_digits() {
    let Some(exec) = common::executor() else {
        return;
    };
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
    let Some(exec) = common::executor() else {
        return;
    };
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
    let Some(exec) = common::executor() else {
        return;
    };
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
    let Some(exec) = common::executor() else {
        return;
    };
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
