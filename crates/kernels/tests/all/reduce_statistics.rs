//! Products, norms, logarithms of sums and variances: their arguments, their edges, and where naive formulas fail.

use crate::common;
use crate::operands::{
    Arrangement, Expected, Random, check, given, operand, output, random, shape,
};
use crate::reducing::{kept, run, run_with};
use ziggurat_kernels::reference::reduce;
use ziggurat_kernels::{ArgReduce, DType, KernelError, Reduce};

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

/// The value of one reduction of a row of f32.
fn value(op: Reduce, argument: f32, row: &[f64]) -> Option<f64> {
    let exec = common::executor();
    let a = given(&exec, DType::F32, &[row.len()], row);
    let out = output(&exec, DType::F32, &[], 0);
    let _done = exec
        .reduce(op.with(argument), &a.view, &[0], &out.view)
        .unwrap();
    out.read(&exec).first().copied()
}

/// Values by bits, but for the sign of zero and NaN's payload.
fn assert_value(op: Reduce, argument: f32, row: &[f64], expected: f64) {
    if let Some(got) = value(op, argument, row) {
        assert!(
            got == expected || (got.is_nan() && expected.is_nan()),
            "{op:?}({argument}) of {row:?}: got {got}, expected {expected}"
        );
    }
}

#[test]
fn nothing_and_one_element_follow_the_contract() {
    for (op, argument, expected) in [
        (Reduce::Prod, 0.0, 1.0),
        (Reduce::SumSquares, 0.0, 0.0),
        (Reduce::SumAbs, 0.0, 0.0),
        (Reduce::Norm2, 0.0, 0.0),
        (Reduce::Norm, 3.0, 0.0),
        (Reduce::LogSumExp, 0.0, -INF),
        (Reduce::Var, 1.0, NAN),
        (Reduce::Std, 0.0, NAN),
    ] {
        assert_value(op, argument, &[], expected);
    }
    for (op, argument, expected) in [
        (Reduce::Var, 1.0, NAN),
        (Reduce::Var, 0.0, 0.0),
        (Reduce::Std, 1.0, NAN),
        (Reduce::Std, 0.0, 0.0),
        (Reduce::LogSumExp, 0.0, -2.0),
        (Reduce::Norm2, 0.0, 2.0),
        (Reduce::Prod, 0.0, -2.0),
    ] {
        assert_value(op, argument, &[-2.0], expected);
    }
    // More correction than elements.
    assert_value(Reduce::Var, 5.0, &[1.0, 2.0], INF);
    assert_value(Reduce::Std, 2.0, &[1.0, 2.0], INF);
    assert_value(Reduce::Var, 2.0, &[1.0, 1.0], NAN);
}

#[test]
fn infinity_and_not_a_number_come_through() {
    let rows = [[1.0, NAN, 2.0], [NAN, NAN, -INF], [INF, NAN, 0.0]];
    for row in rows {
        for op in [
            Reduce::Prod,
            Reduce::SumSquares,
            Reduce::SumAbs,
            Reduce::Norm2,
            Reduce::Norm,
            Reduce::LogSumExp,
            Reduce::Var,
            Reduce::Std,
        ] {
            assert_value(op, op.default_argument(), &row, NAN);
        }
    }
    assert_value(Reduce::LogSumExp, 0.0, &[-INF, -INF], -INF);
    assert_value(Reduce::LogSumExp, 0.0, &[-INF, INF, 3.0], INF);
    assert_value(Reduce::LogSumExp, 0.0, &[-INF, 3.0, -INF], 3.0);
    assert_value(Reduce::Var, 0.0, &[INF], NAN);
    assert_value(Reduce::Var, 1.0, &[1.0, INF, 2.0], NAN);
    assert_value(Reduce::Norm2, 0.0, &[1.0, -INF], INF);
    assert_value(Reduce::Norm, -1.0, &[1.0, 0.0], 0.0);
    assert_value(Reduce::Prod, 0.0, &[0.0, INF], NAN);
}

#[test]
fn a_large_mean_does_not_drown_the_variance() {
    let exec = common::executor();
    let near = |got: f64, wanted: f64, relative: f64| {
        assert!(
            (got - wanted).abs() <= relative * wanted,
            "{got} is not {wanted}"
        );
    };
    near(
        value(Reduce::Var, 1.0, &[10_000.0, 10_001.0, 10_002.0]).unwrap(),
        1.0,
        1e-6,
    );
    // The mean of squares minus the square of the mean has nothing left of this in f32.
    for len in [1_000, 100_000, 2_000_000] {
        let mut next = 0u32;
        let a = operand(&exec, DType::F32, &[len], Arrangement::Contiguous, || {
            next += 1;
            1e6 + f64::from(next % 2)
        });
        let out = output(&exec, DType::F32, &[2], 0);
        let _done = exec.var_mean(0.0, &a.view, &[0], &out.view).unwrap();
        let got = out.read(&exec);
        near(got[0], 0.25, 1e-3);
        near(got[1], 1e6 + 0.5, 2e-7);
    }
}

#[test]
fn arguments_are_used_in_one_pass_and_in_two() {
    let exec = common::executor();
    let mut rng = Random(11);
    for (dims, axes) in [
        (&[3, 70][..], &[1][..]),
        (&[2, 40_009], &[1]),
        (&[40_009, 2], &[0]),
        (&[4, 5, 6], &[0, 2]),
    ] {
        let a = random(&exec, DType::F32, dims, Arrangement::Contiguous, &mut rng);
        for correction in [0.0, 1.0, 2.0, 0.5] {
            run_with(&exec, Reduce::Var, correction, &a, axes, DType::F32, 1);
            run_with(&exec, Reduce::Std, correction, &a, axes, DType::F32, 0);
        }
        for p in [1.0, 2.0, 3.0, 0.5, 7.5, -1.0] {
            run_with(&exec, Reduce::Norm, p, &a, axes, DType::F32, 2);
        }
        for op in [Reduce::LogSumExp, Reduce::Norm2, Reduce::SumSquares] {
            run(&exec, op, &a, axes, DType::F32, 0);
        }
    }
}

#[test]
fn sums_of_exponentials_neither_overflow_nor_vanish() {
    let exec = common::executor();
    for row in [
        vec![1000.0, 1000.0],
        vec![-1000.0, -1001.0, -999.5],
        vec![3e38, -3e38, 0.0],
        (0..30_000).map(|i| f64::from(i) / 100.0).collect(),
        (0..30_000).map(|i| -f64::from(i) / 100.0).collect(),
    ] {
        let a = given(&exec, DType::F32, &[row.len()], &row);
        run(&exec, Reduce::LogSumExp, &a, &[0], DType::F32, 0);
    }
}

#[test]
fn squares_of_halves_do_not_overflow_before_they_are_stored() {
    let exec = common::executor();
    for (op, argument, expected) in [
        (Reduce::Norm2, 0.0, 5000.0),
        (Reduce::SumSquares, 0.0, INF),
        (Reduce::Var, 0.0, 250_000.0),
        (Reduce::Std, 0.0, 500.0),
    ] {
        let a = given(&exec, DType::F16, &[2], &[3000.0, 4000.0]);
        let out = output(&exec, DType::F16, &[], 0);
        let _done = exec
            .reduce(op.with(argument), &a.view, &[0], &out.view)
            .unwrap();
        // 250,000 is beyond f16; as f32 it is itself.
        let half = if expected > 65_504.0 { INF } else { expected };
        assert_eq!(out.read(&exec), [half], "{op:?}");
        if expected < INF {
            let out = output(&exec, DType::F32, &[], 0);
            let _done = exec
                .reduce(op.with(argument), &a.view, &[0], &out.view)
                .unwrap();
            assert_eq!(out.read(&exec), [expected], "{op:?}");
        }
    }
}

#[test]
fn variances_and_means_come_from_one_kernel() {
    let exec = common::executor();
    let mut rng = Random(12);
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        for (dims, axes) in [
            (&[5, 7][..], &[1][..]),
            (&[5, 7], &[0]),
            (&[3, 20_011], &[1]),
            (&[2, 0], &[1]),
            (&[0, 3], &[1]),
        ] {
            let arrangement = rng.pick(&Arrangement::ALL);
            let a = random(&exec, dtype, dims, arrangement, &mut rng);
            let outputs = kept(dims, axes).iter().product::<usize>();
            for to in [dtype, DType::F32] {
                let out = output(&exec, to, &[2 * outputs], 3);
                let _done = exec.var_mean(1.0, &a.view, axes, &out.view).unwrap();
                let len = a.values.len() / outputs.max(1);
                let of = |op| reduce::reduce_with(op, 1.0, &a.values, dims, axes);
                let expected: Vec<Expected> = of(Reduce::Var)
                    .into_iter()
                    .chain(of(Reduce::Mean))
                    .map(|t| Expected::sum(t.value, t.magnitude, len, to))
                    .collect();
                check("var_mean", &out.read(&exec), &expected);
            }
        }
    }
}

#[test]
fn extremes_come_with_their_positions() {
    let exec = common::executor();
    let mut rng = Random(13);
    for dtype in DType::ALL {
        for (dims, axes) in [
            (&[4, 9, 3][..], &[1][..]),
            (&[4, 9, 3], &[0, 2]),
            (&[30_001], &[0]),
        ] {
            let arrangement = rng.pick(&Arrangement::ALL);
            let a = random(&exec, dtype, dims, arrangement, &mut rng);
            for (op, value) in [(ArgReduce::Max, Reduce::Max), (ArgReduce::Min, Reduce::Min)] {
                for last in [false, true] {
                    let kept = kept(dims, axes);
                    let values = output(&exec, dtype, &kept, 3);
                    let at = output(&exec, DType::I32, &kept, 2);
                    let _done = exec
                        .extreme_with_position(op, &a.view, axes, last, &values.view, &at.view)
                        .unwrap();
                    let wanted: Vec<Expected> = reduce::reduce(value, &a.values, dims, axes)
                        .iter()
                        .map(|term| Expected::exact(term.value))
                        .collect();
                    let what = format!("{op:?} {dtype} {dims:?} over {axes:?} last={last}");
                    check(&what, &values.read(&exec), &wanted);
                    let wanted: Vec<Expected> = reduce::arg_reduce(op, &a.values, dims, axes, last)
                        .into_iter()
                        .map(|at| Expected::exact(at.unwrap() as f64))
                        .collect();
                    check(&what, &at.read(&exec), &wanted);
                }
            }
        }
    }
    let a = given(&exec, DType::F16, &[4], &[1.0, NAN, 3.0, NAN]);
    let (values, at) = (
        output(&exec, DType::F16, &[], 0),
        output(&exec, DType::I32, &[], 0),
    );
    let _done = exec
        .extreme_with_position(ArgReduce::Max, &a.view, &[0], false, &values.view, &at.view)
        .unwrap();
    assert!(values.read(&exec)[0].is_nan());
    assert_eq!(at.read(&exec), [1.0]);
}

#[test]
fn wrong_calls_are_typed_errors() {
    let exec = common::executor();
    let view = |dtype, dims: &[usize]| exec.alloc(&shape(dims), dtype).unwrap();
    let (a, ints) = (view(DType::F32, &[2, 3]), view(DType::I32, &[2, 3]));
    let error = exec
        .reduce(Reduce::Var, &ints, &[1], &view(DType::F32, &[2]))
        .unwrap_err();
    assert_eq!(error.to_string(), "var: a is i32, but it must be a float");
    let truth = view(DType::Bool, &[2, 3]);
    let error = exec
        .reduce(Reduce::Prod, &truth, &[1], &view(DType::I32, &[2]))
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "prod: a is bool, but bool does not have this op"
    );
    let error = exec
        .reduce(Reduce::Norm2, &a, &[1], &view(DType::F16, &[2]))
        .unwrap_err();
    assert!(matches!(error, KernelError::Dtype { operand: "out", .. }));
    let error = exec
        .var_mean(1.0, &a, &[1], &view(DType::F32, &[2]))
        .unwrap_err();
    assert!(matches!(error, KernelError::Operand { .. }), "{error}");
    assert!(
        exec.var_mean(1.0, &a, &[2], &view(DType::F32, &[4]))
            .is_err()
    );
    let error = exec
        .extreme_with_position(
            ArgReduce::Max,
            &a,
            &[1],
            false,
            &view(DType::F16, &[2]),
            &view(DType::I32, &[2]),
        )
        .unwrap_err();
    assert!(matches!(
        error,
        KernelError::Dtype {
            operand: "values",
            ..
        }
    ));
    let error = exec
        .extreme_with_position(
            ArgReduce::Max,
            &a,
            &[1],
            false,
            &view(DType::F32, &[3]),
            &view(DType::I32, &[2]),
        )
        .unwrap_err();
    assert!(matches!(error, KernelError::Output { .. }), "{error}");
}
