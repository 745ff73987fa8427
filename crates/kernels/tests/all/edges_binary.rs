//! The edge tables of docs/semantics.md, value by value: functions of two elements, and integers.

use crate::common;
use std::f64::consts::PI;

use crate::edge_runs::{INF, MAX, MIN, NAN, run_binary, run_unary, same};
use ziggurat_kernels::{Binary, DType, Unary};

#[test]
fn pow_follows_ieee_754() {
    let exec = common::executor();
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
    let exec = common::executor();
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
        (
            Binary::Fmax,
            &[
                [1.0, NAN, 1.0],
                [NAN, -INF, -INF],
                [NAN, NAN, NAN],
                [2.0, 3.0, 3.0],
            ],
        ),
        (
            Binary::Fmin,
            &[
                [1.0, NAN, 1.0],
                [NAN, INF, INF],
                [NAN, NAN, NAN],
                [2.0, 3.0, 2.0],
            ],
        ),
        (
            Binary::Remainder,
            &[
                [-7.5, 2.0, 0.5],
                [7.5, -2.0, -0.5],
                [7.5, 2.0, 1.5],
                [-6.0, 3.0, 0.0],
                [6.0, -3.0, -0.0],
                [5.0, INF, 5.0],
                [-5.0, INF, INF],
                [5.0, 0.0, NAN],
                [INF, 2.0, NAN],
                [NAN, 2.0, NAN],
                [2.0, NAN, NAN],
            ],
        ),
        (
            Binary::Fmod,
            &[
                [-7.5, 2.0, -1.5],
                [7.5, -2.0, 1.5],
                [-6.0, 3.0, -0.0],
                [5.0, INF, 5.0],
                [-5.0, INF, -5.0],
                [5.0, 0.0, NAN],
                [INF, 2.0, NAN],
                [NAN, 2.0, NAN],
                [2.0, NAN, NAN],
            ],
        ),
        (
            Binary::FloorDivide,
            &[
                [-7.5, 2.0, -4.0],
                [7.5, -2.0, -4.0],
                [7.5, 2.0, 3.0],
                [5.0, INF, 0.0],
                [-5.0, INF, -1.0],
                [1.0, 0.0, INF],
                [-1.0, 0.0, -INF],
                [0.0, 0.0, NAN],
                [INF, 2.0, NAN],
                [-0.0, 2.0, -0.0],
                [2.0, NAN, NAN],
            ],
        ),
        (
            Binary::Hypot,
            &[
                [3.0, -4.0, 5.0],
                [0.0, -0.0, 0.0],
                [INF, NAN, INF],
                [NAN, -INF, INF],
                [NAN, 1.0, NAN],
                [0.0, 2.0, 2.0],
            ],
        ),
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
fn angles_of_points_have_every_sign_of_zero_and_infinity() {
    let exec = common::executor();
    let pi = f64::from(PI as f32);
    let rows = [
        [0.0, 0.0, 0.0],
        [-0.0, 0.0, -0.0],
        [0.0, -0.0, pi],
        [-0.0, -0.0, -pi],
        [0.0, -1.0, pi],
        [-0.0, -1.0, -pi],
        [0.0, 1.0, 0.0],
        [1.0, 0.0, pi / 2.0],
        [-1.0, -0.0, -pi / 2.0],
        [INF, INF, pi / 4.0],
        [-INF, -INF, -3.0 * pi / 4.0],
        [1.0, INF, 0.0],
        [-1.0, -INF, -pi],
        [INF, -5.0, pi / 2.0],
        [NAN, 1.0, NAN],
        [1.0, NAN, NAN],
        [3e38, 3e38, pi / 4.0],
        [1e-37, -1e-37, 3.0 * pi / 4.0],
    ];
    let rows = rows.map(|[y, x, angle]| [f64::from(y as f32), f64::from(x as f32), angle]);
    let actual = run_binary(&exec, Binary::Atan2, DType::F32, &rows);
    for ([y, x, expected], got) in rows.into_iter().zip(actual) {
        let near = same(got, expected)
            || (expected != 0.0 && (got - expected).abs() <= 2.5e-7 * expected.abs());
        assert!(near, "atan2({y}, {x}) is {got:?}, should be {expected:?}");
    }
}

#[test]
fn remainders_are_exact_for_all_magnitudes() {
    let exec = common::executor();
    let huge = f64::from(3.1e38_f32);
    let tiny = f64::from(1.3e-38_f32);
    let mut rows = vec![
        [huge, 3.0, huge % 3.0],
        [huge, tiny, huge % tiny],
        [-huge, f64::from(0.1_f32), -(huge % f64::from(0.1_f32))],
        [16_777_215.0, 0.5, 0.0],
        [1.0, f64::from(0.1_f32), 1.0 % f64::from(0.1_f32)],
    ];
    for i in 0..200 {
        let x = f64::from(1.37f32.powi(i % 150 - 75) * 1.234_567);
        let y = f64::from(1.41f32.powi(i % 37 - 30) * 0.987_654);
        rows.push([x, y, x % y]);
    }
    let actual = run_binary(&exec, Binary::Fmod, DType::F32, &rows);
    for (&[x, y, expected], got) in rows.iter().zip(actual) {
        // A subnormal rest may be flushed by whoever reads it.
        let flushed = got == 0.0 && expected.abs() < f64::from(f32::MIN_POSITIVE);
        assert!(
            got == expected || flushed,
            "fmod({x:e}, {y:e}) is {got:e}, should be {expected:e}"
        );
    }
}

#[test]
fn hypot_does_not_overflow_or_underflow() {
    let exec = common::executor();
    for (x, y) in [
        (3e30_f32, 4e30_f32),
        (3e-30, 4e-30),
        (2e38, 2e38),
        (1e-37, 1e-37),
        (1e20, 1.0),
    ] {
        let (x, y) = (f64::from(x), f64::from(y));
        let expected = x.hypot(y);
        let got = run_binary(&exec, Binary::Hypot, DType::F32, &[[x, y, 0.0]])[0];
        assert!(
            (got - expected).abs() <= 3e-7 * expected,
            "hypot({x:e}, {y:e}) is {got:e}, should be {expected:e}"
        );
    }
}

#[test]
fn integers_wrap_and_divide_by_zero() {
    let exec = common::executor();
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
        (
            Binary::FloorDivide,
            DType::I32,
            &[
                [-7.0, 2.0, -4.0],
                [7.0, -2.0, -4.0],
                [-7.0, -2.0, 3.0],
                [-6.0, 2.0, -3.0],
                [7.0, 0.0, 7.0],
                [MIN, -1.0, MIN],
            ],
        ),
        (Binary::FloorDivide, DType::U32, &[[7.0, 2.0, 3.0]]),
        (
            Binary::Remainder,
            DType::I32,
            &[
                [-7.0, 2.0, 1.0],
                [7.0, -2.0, -1.0],
                [-7.0, -2.0, -1.0],
                [7.0, 0.0, 0.0],
                [MIN, -1.0, 0.0],
            ],
        ),
        (
            Binary::Remainder,
            DType::I8,
            &[[-128.0, 127.0, 126.0], [-128.0, -1.0, 0.0]],
        ),
        (
            Binary::Fmod,
            DType::I32,
            &[
                [-7.0, 2.0, -1.0],
                [7.0, -2.0, 1.0],
                [7.0, 0.0, 0.0],
                [MIN, -1.0, 0.0],
            ],
        ),
        (
            Binary::ShiftLeft,
            DType::I32,
            &[
                [1.0, 31.0, MIN],
                [1.0, 32.0, 0.0],
                [-1.0, -1.0, 0.0],
                [-3.0, 1.0, -6.0],
                [MAX, 1.0, -2.0],
            ],
        ),
        (
            Binary::ShiftLeft,
            DType::U8,
            &[[255.0, 1.0, 254.0], [1.0, 8.0, 0.0], [1.0, 255.0, 0.0]],
        ),
        (
            Binary::ShiftRight,
            DType::I32,
            &[
                [-8.0, 1.0, -4.0],
                [-1.0, 31.0, -1.0],
                [-5.0, 32.0, -1.0],
                [5.0, 32.0, 0.0],
                [5.0, -1.0, 0.0],
            ],
        ),
        (
            Binary::ShiftRight,
            DType::U32,
            &[[4_294_967_295.0, 31.0, 1.0], [4_294_967_295.0, 32.0, 0.0]],
        ),
        (
            Binary::ShiftRight,
            DType::I8,
            &[[-128.0, 7.0, -1.0], [-128.0, 8.0, -1.0], [100.0, 3.0, 12.0]],
        ),
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
    let exec = common::executor();
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
