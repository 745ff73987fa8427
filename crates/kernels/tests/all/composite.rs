//! The composed table against its references: arrangements, dtypes, special values, whether rows are told apart, and what is
//! refused.

use crate::common;
use crate::operands;
use crate::operands::{Arrangement, Expected, Operand, Random, check, given, output, shape, worst};
use ziggurat_kernels::core::{decode, encode};
use ziggurat_kernels::reference::{round_to, wrap};
use ziggurat_kernels::{
    Composite, CompositeKind, CompositeSpec, DType, Executor, KernelError, View,
};

const NAN: f64 = f64::NAN;
const INF: f64 = f64::INFINITY;

fn written(spec: &CompositeSpec, dtype: DType) -> DType {
    match spec.kind {
        CompositeKind::Number => dtype,
        CompositeKind::Truth => DType::Bool,
    }
}

/// What row says of these operands, each broadcast already.
fn expected(op: Composite, operands: &[&[f64]], numbers: &[f64], dtype: DType) -> Vec<Expected> {
    let spec = op.spec();
    (0..operands[0].len())
        .map(|i| {
            let row: Vec<f64> = operands.iter().map(|values| values[i]).collect();
            let value = (spec.reference)(&row, numbers);
            let size = row.iter().fold(0.0f64, |most, x| most.max(x.abs()));
            match spec.kind {
                CompositeKind::Truth => Expected::exact(f64::from(value != 0.0)),
                CompositeKind::Number if dtype.is_float() => Expected {
                    value: round_to(dtype, value),
                    bound: spec.tolerance.allowed(dtype, value, size),
                },
                CompositeKind::Number => Expected::exact(wrap(dtype, value as i64)),
            }
        })
        .collect()
}

fn sample(spec: &CompositeSpec, dtype: DType, rng: &mut Random) -> f64 {
    let share = rng.below(1 << 20) as f64 / f64::from(1 << 20);
    let value = spec.samples.low + (spec.samples.high - spec.samples.low) * share;
    let value = if dtype.is_float() {
        value
    } else {
        value.round()
    };
    let value = if matches!(dtype, DType::U8 | DType::U32) {
        value.abs()
    } else {
        value
    };
    decode(dtype, &encode(dtype, &[value]))[0]
}

fn run(exec: &Executor, op: Composite, dtype: DType, dims: &[usize], rng: &mut Random) {
    let spec = op.spec();
    let operands: Vec<Operand> = spec
        .operands
        .iter()
        .map(|_| {
            let arrangement = rng.pick(&Arrangement::ALL);
            operands::operand(exec, dtype, dims, arrangement, || sample(spec, dtype, rng))
        })
        .collect();
    let views: Vec<&View> = operands.iter().map(|operand| &operand.view).collect();
    let values: Vec<&[f64]> = operands.iter().map(|operand| &operand.values[..]).collect();
    let out = output(exec, written(spec, dtype), dims, rng.below(5));
    let _done = exec
        .composite(op, &views, spec.examples, &out.view)
        .unwrap();
    let what = format!("{} {dtype} {dims:?}", spec.name);
    check(
        &what,
        &out.read(exec),
        &expected(op, &values, spec.examples, dtype),
    );
}

#[test]
fn every_row_agrees_with_its_reference_in_every_dtype() {
    let exec = common::executor();
    let mut rng = Random(1);
    for &op in Composite::ALL {
        for &dtype in op.spec().dtypes {
            run(&exec, op, dtype, &[3, 1, 7], &mut rng);
            run(&exec, op, dtype, &[257], &mut rng);
        }
        run(&exec, op, op.spec().dtypes[0], &[], &mut rng);
        run(&exec, op, op.spec().dtypes[0], &[2, 0], &mut rng);
    }
}

#[test]
fn default_limits_and_small_workgroups_give_the_same() {
    let mut rng = Random(2);
    for exec in [common::narrow_executor(), common::plain_executor()] {
        for &op in Composite::ALL {
            run(&exec, op, DType::F32, &[5, 13], &mut rng);
        }
    }
}

#[test]
fn special_values_follow_the_references() {
    let exec = common::executor();
    let special = [NAN, INF, -INF, 0.0, 1.0, -1.0];
    for &op in Composite::ALL {
        let spec = op.spec();
        let count = spec.operands.len();
        let mut rows: Vec<Vec<f64>> = vec![vec![]];
        for _ in 0..count {
            rows = rows
                .iter()
                .flat_map(|row| special.map(|x| [&row[..], &[x]].concat()))
                .collect();
        }
        // From the nearer end an infinite end is met, which one formula in f64 does not say.
        if op == Composite::Lerp {
            rows.retain(|row| row.iter().all(|x| !x.is_infinite()));
        }
        let columns: Vec<Vec<f64>> = (0..count)
            .map(|at| rows.iter().map(|row| row[at]).collect())
            .collect();
        let operands: Vec<Operand> = columns
            .iter()
            .map(|column| given(&exec, DType::F32, &[column.len()], column))
            .collect();
        let views: Vec<&View> = operands.iter().map(|operand| &operand.view).collect();
        let values: Vec<&[f64]> = columns.iter().map(|column| &column[..]).collect();
        let out = output(&exec, written(spec, DType::F32), &[rows.len()], 0);
        let _done = exec
            .composite(op, &views, spec.examples, &out.view)
            .unwrap();
        let expected = expected(op, &values, spec.examples, DType::F32);
        let got = out.read(&exec);
        if let Some((off, at)) = worst(&got, &expected) {
            assert!(
                off <= 1.0,
                "{} of {:?} is {}, should be {:?}",
                spec.name,
                rows[at],
                got[at],
                expected[at]
            );
        }
    }
}

#[test]
fn samples_tell_each_row_from_every_other() {
    let mut rng = Random(3);
    for &op in Composite::ALL {
        let spec = op.spec();
        let columns: Vec<Vec<f64>> = spec
            .operands
            .iter()
            .map(|_| {
                (0..300)
                    .map(|_| sample(spec, DType::F32, &mut rng))
                    .collect()
            })
            .collect();
        let values: Vec<&[f64]> = columns.iter().map(|column| &column[..]).collect();
        let own = expected(op, &values, spec.examples, DType::F32);
        for &other in Composite::ALL {
            let there = other.spec();
            if other == op || there.operands.len() != spec.operands.len() {
                continue;
            }
            let got: Vec<f64> = expected(other, &values, there.examples, DType::F32)
                .iter()
                .map(|expected| expected.value)
                .collect();
            let (off, _) = worst(&got, &own).unwrap();
            assert!(off > 1.0, "{} passes for {}", there.name, spec.name);
        }
    }
}

#[test]
fn numbers_are_parameters_and_floats_of_several_dtypes_mix() {
    let exec = common::fresh_executor();
    let x = given(&exec, DType::F16, &[3], &[-2.0, 0.0, 3.0]);
    let out = output(&exec, DType::F32, &[3], 0);
    let _done = exec.leaky_relu(&x.view, 0.5, &out.view).unwrap();
    let kernels = exec.pipelines().stats().misses;
    let again = output(&exec, DType::F32, &[3], 0);
    let _done = exec.leaky_relu(&x.view, 0.25, &again.view).unwrap();
    assert_eq!(exec.pipelines().stats().misses, kernels);
    assert_eq!(out.read(&exec), [-1.0, 0.0, 3.0]);
    assert_eq!(again.read(&exec), [-0.5, 0.0, 3.0]);
    let target = given(&exec, DType::BF16, &[1], &[1.0]);
    let loss = output(&exec, DType::F16, &[3], 0);
    let _done = exec.mse_loss(&x.view, &target.view, &loss.view).unwrap();
    assert_eq!(loss.read(&exec), [9.0, 1.0, 4.0]);
}

#[test]
fn wrong_calls_are_typed_errors() {
    let exec = common::executor();
    let view = |dtype, dims: &[usize]| exec.alloc(&shape(dims), dtype).unwrap();
    let (f, i) = (view(DType::F32, &[3]), view(DType::I32, &[3]));
    for (error, says) in [
        (
            exec.celu(&f, 0.0, &f),
            "celu: alpha must not be 0, but it is 0",
        ),
        (
            exec.hard_tanh(&f, 2.0, 2.0, &f),
            "hard_tanh: low must be below high, but it is 2",
        ),
        (
            exec.shrink(&f, -0.5, 1.0, &f),
            "shrink: lambd must be at least 0, but it is -0.5",
        ),
        (
            exec.huber_loss(&f, &f, NAN, &f),
            "huber_loss: delta must be above 0, but it is NaN",
        ),
        (
            exec.dropout(&f, &f, 1.5, &f),
            "dropout: p must be from 0 to 1, but it is 1.5",
        ),
        (
            exec.isclose(&f, &f, 0.0, -1.0, 0.0, &view(DType::Bool, &[3])),
            "isclose: atol must be at least 0, but it is -1",
        ),
        (
            exec.addcmul(&i, &i, &i, 0.5, &i),
            "addcmul: value must be whole for integers, but it is 0.5",
        ),
        (
            exec.lerp(&i, &i, &i, &i),
            "lerp: start is i32, but the op does not exist for this dtype",
        ),
        (
            exec.clamp(&i, &i, &view(DType::I8, &[3]), &i),
            "clamp: high is i8, but it must have the dtype of the first operand",
        ),
    ] {
        assert_eq!(error.unwrap_err().to_string(), says);
    }
    assert!(matches!(
        exec.clamp(&i, &i, &i, &f),
        Err(KernelError::Dtype { operand: "out", .. })
    ));
    assert!(matches!(
        exec.isclose(&f, &f, 0.0, 0.0, 0.0, &f),
        Err(KernelError::Dtype { operand: "out", .. })
    ));
    assert!(matches!(
        exec.composite(Composite::Lerp, &[&f, &f], &[], &f),
        Err(KernelError::Option { .. })
    ));
    assert!(matches!(
        exec.elu(&view(DType::F32, &[4]), 1.0, &f),
        Err(KernelError::Operands { .. })
    ));
}
