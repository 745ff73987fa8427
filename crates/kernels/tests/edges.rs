//! The edge tables of docs/semantics.md, value by value.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;
#[path = "common/operands.rs"]
mod operands;

use std::f64::consts::PI;

use operands::{Expected, check, given, output, worst};
use ziggurat_kernels::{Binary, DType, Executor, Unary};

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;
const MIN: f64 = -2_147_483_648.0;
const MAX: f64 = 2_147_483_647.0;

fn run_unary(exec: &Executor, op: Unary, dtype: DType, inputs: &[f64]) -> Vec<f64> {
    let a = given(exec, dtype, &[inputs.len()], inputs);
    let out = output(exec, dtype, &[inputs.len()], 0);
    let _done = exec.unary(op, &a.view, &out.view).unwrap();
    out.read(exec)
}

fn run_binary(exec: &Executor, op: Binary, dtype: DType, pairs: &[[f64; 3]]) -> Vec<f64> {
    let column = |i: usize| -> Vec<f64> { pairs.iter().map(|row| row[i]).collect() };
    let (a, b) = (
        given(exec, dtype, &[pairs.len()], &column(0)),
        given(exec, dtype, &[pairs.len()], &column(1)),
    );
    let out = output(exec, dtype, &[pairs.len()], 0);
    let _done = exec.binary(op, &a.view, &b.view, &out.view).unwrap();
    out.read(exec)
}

/// Equal, the sign of zero included; NaN equals NaN.
fn same(a: f64, b: f64) -> bool {
    (a.is_nan() && b.is_nan())
        || (a == b && (a != 0.0 || a.is_sign_negative() == b.is_sign_negative()))
}

fn exactly(what: &str, inputs: &[[f64; 2]], actual: &[f64]) {
    for (&[x, expected], &got) in inputs.iter().zip(actual) {
        assert!(
            same(got, expected),
            "{what}({x}) is {got:?}, should be {expected:?}"
        );
    }
}

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
fn pow_follows_ieee_754() {
    let Some(exec) = common::executor() else {
        return;
    };
    let rows = [
        [-2.0, 3.0, -8.0],
        [-2.0, 2.0, 4.0],
        [-2.0, 0.5, NAN],
        [-8.0, 1.0 / 3.0, NAN],
        [0.0, 0.0, 1.0],
        [0.0, -1.0, INF],
        [-0.0, -1.0, -INF],
        [-0.0, 3.0, -0.0],
        [-0.0, 2.0, 0.0],
        [1.0, NAN, 1.0],
        [NAN, 0.0, 1.0],
        [NAN, 1.0, NAN],
        [2.0, NAN, NAN],
        [-INF, 3.0, -INF],
        [-INF, 2.0, INF],
        [-INF, -3.0, -0.0],
        [INF, -0.5, 0.0],
        [-1.0, INF, 1.0],
        [-1.0, -INF, 1.0],
        [0.5, INF, 0.0],
        [0.5, -INF, INF],
        [2.0, INF, INF],
        [2.0, -INF, 0.0],
        [2.0, 127.0, f64::powi(2.0, 127)],
        [2.0, 128.0, INF],
        [2.0, -200.0, 0.0],
        [-2.0, 129.0, -INF],
        [4.0, 0.5, 2.0],
        [10.0, 3.0, 1000.0],
        [2.0, -3.0, 0.125],
        [1.0, 1e30, 1.0],
        [-1.0, 1e30, 1.0],
        [-1.0, 16_777_215.0, -1.0],
    ];
    let actual = run_binary(
        &exec,
        Binary::Pow,
        DType::F32,
        &rows.map(|[x, y, z]| [f64::from(x as f32), f64::from(y as f32), z]),
    );
    for ([x, y, expected], got) in rows.into_iter().zip(actual) {
        assert!(
            same(got, expected),
            "pow({x}, {y}) is {got:?}, should be {expected:?}"
        );
    }
}

#[test]
fn division_and_extremes_of_floats_follow_the_rules() {
    let Some(exec) = common::executor() else {
        return;
    };
    for (op, rows) in [
        (
            Binary::Div,
            &[
                [1.0, 0.0, INF],
                [-1.0, 0.0, -INF],
                [0.0, 0.0, NAN],
                [1.0, -0.0, -INF],
                [INF, INF, NAN],
                [1.0, INF, 0.0],
                [6.0, 3.0, 2.0],
            ][..],
        ),
        (
            Binary::Maximum,
            &[
                [1.0, NAN, NAN],
                [NAN, 1.0, NAN],
                [-INF, -INF, -INF],
                [2.0, 3.0, 3.0],
                [INF, 1.0, INF],
            ],
        ),
        (
            Binary::Minimum,
            &[
                [1.0, NAN, NAN],
                [NAN, 1.0, NAN],
                [INF, INF, INF],
                [2.0, 3.0, 2.0],
                [-INF, 1.0, -INF],
            ],
        ),
        (
            Binary::Add,
            &[[INF, -INF, NAN], [INF, 1.0, INF], [NAN, 1.0, NAN]],
        ),
        (Binary::Mul, &[[INF, 0.0, NAN], [-INF, 2.0, -INF]]),
    ] {
        for dtype in [DType::F32, DType::F16, DType::BF16] {
            let actual = run_binary(&exec, op, dtype, rows);
            for (&[x, y, expected], got) in rows.iter().zip(actual) {
                assert!(
                    same(got, expected),
                    "{op:?}({x}, {y}) in {dtype} is {got:?}, should be {expected:?}"
                );
            }
        }
    }
}

#[test]
fn integers_wrap_and_divide_by_zero() {
    let Some(exec) = common::executor() else {
        return;
    };
    for (op, dtype, rows) in [
        (Binary::Add, DType::I32, &[[MAX, 1.0, MIN]][..]),
        (Binary::Sub, DType::U32, &[[0.0, 1.0, 4_294_967_295.0]]),
        (
            Binary::Mul,
            DType::I32,
            &[[65_536.0, 65_536.0, 0.0], [MIN, -1.0, MIN]],
        ),
        (
            Binary::Div,
            DType::I32,
            &[
                [7.0, 0.0, 7.0],
                [MIN, -1.0, MIN],
                [-7.0, 2.0, -3.0],
                [7.0, -2.0, -3.0],
            ],
        ),
        (
            Binary::Div,
            DType::I8,
            &[[7.0, 0.0, 7.0], [-128.0, -1.0, -128.0], [-7.0, 2.0, -3.0]],
        ),
        (
            Binary::Div,
            DType::U8,
            &[[200.0, 0.0, 200.0], [255.0, 2.0, 127.0]],
        ),
        (Binary::Add, DType::U8, &[[255.0, 1.0, 0.0]]),
        (Binary::Add, DType::I8, &[[127.0, 1.0, -128.0]]),
        (
            Binary::Pow,
            DType::I32,
            &[
                [2.0, -1.0, 0.0],
                [0.0, 0.0, 1.0],
                [-1.0, -3.0, -1.0],
                [-1.0, -2.0, 1.0],
                [-2.0, 31.0, MIN],
                [3.0, 20.0, -808_182_895.0],
            ],
        ),
        (
            Binary::Pow,
            DType::U8,
            &[[3.0, 5.0, 243.0], [2.0, 8.0, 0.0]],
        ),
        (
            Binary::Add,
            DType::Bool,
            &[[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]],
        ),
        (
            Binary::BitwiseXor,
            DType::Bool,
            &[[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]],
        ),
    ] {
        let actual = run_binary(&exec, op, dtype, rows);
        for (&[x, y, expected], got) in rows.iter().zip(actual) {
            assert_eq!(got, expected, "{op:?}({x}, {y}) in {dtype}");
        }
    }
    for (op, dtype, x, expected) in [
        (Unary::Abs, DType::I32, MIN, MIN),
        (Unary::Neg, DType::I32, MIN, MIN),
        (Unary::Abs, DType::I8, -128.0, -128.0),
        (Unary::Neg, DType::U8, 1.0, 255.0),
        (Unary::Sign, DType::I8, -128.0, -1.0),
        (Unary::Relu, DType::I32, MIN, 0.0),
        (Unary::BitwiseNot, DType::U8, 1.0, 254.0),
        (Unary::LogicalNot, DType::Bool, 1.0, 0.0),
    ] {
        assert_eq!(
            run_unary(&exec, op, dtype, &[x])[0],
            expected,
            "{op:?}({x}) in {dtype}"
        );
    }
}

#[test]
fn halves_round_to_nearest_even_and_overflow() {
    let Some(exec) = common::executor() else {
        return;
    };
    let f16 = [
        [65_504.0, 15.0, 65_504.0],
        [65_504.0, 32.0, INF],
        [1.0, f64::powi(2.0, -11), 1.0],
        [1.0, 3.0 * f64::powi(2.0, -11), 1.0 + f64::powi(2.0, -9)],
    ];
    let bf16 = [
        [1.0, f64::powi(2.0, -8), 1.0],
        [1.0, 3.0 * f64::powi(2.0, -8), 1.015_625],
    ];
    for (dtype, rows) in [(DType::F16, &f16[..]), (DType::BF16, &bf16)] {
        for (&[x, y, expected], got) in rows.iter().zip(run_binary(&exec, Binary::Add, dtype, rows))
        {
            assert_eq!(got, expected, "{x} + {y} in {dtype}");
        }
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
