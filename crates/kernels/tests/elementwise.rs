//! Every row of the op tables on a device: all dtypes, arrangements, sizes around a workgroup, profiles.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;
#[path = "common/operands.rs"]
mod operands;
#[path = "common/samples.rs"]
mod samples;

use operands::{Arrangement, Expected, check, given, operand, output};
use ziggurat_kernels::reference::{binary, compare, predicate, round_to, unary};
use ziggurat_kernels::{Binary, Compare, DType, Executor, Predicate, Tolerance, Unary};

/// Four workgroups' worth of elements and their neighbours, for workgroups of 256; and the small sizes.
const SIZES: [usize; 12] = [0, 1, 2, 3, 4, 5, 31, 1023, 1024, 1025, 1031, 4099];

/// Extents whose axes do not merge when transposed or sliced.
const DIMS: [usize; 3] = [5, 3, 7];

fn expected(dtype: DType, exact: f64, tolerance: Tolerance, input: f64) -> Expected {
    let rounded = round_to(dtype, exact);
    // An overflow of the dtype is an infinity, which must be met exactly.
    let value = if rounded.is_finite() { exact } else { rounded };
    Expected {
        value,
        bound: tolerance.allowed(dtype, exact, input),
    }
}

fn unary_expected(op: Unary, dtype: DType, inputs: &[f64]) -> Vec<Expected> {
    inputs
        .iter()
        .map(|&x| expected(dtype, unary(op, dtype, x), op.spec().tolerance, x))
        .collect()
}

fn binary_expected(op: Binary, dtype: DType, a: &[f64], b: &[f64]) -> Vec<Expected> {
    a.iter()
        .zip(b)
        .map(|(&x, &y)| expected(dtype, binary(op, dtype, x, y), op.spec().tolerance, y))
        .collect()
}

fn feed(values: &[f64]) -> impl FnMut() -> f64 + '_ {
    let mut next = values.iter().copied().cycle();
    move || next.next().unwrap()
}

fn unary_sweep(exec: &Executor, dtypes: &[DType], arrangements: &[Arrangement], sizes: &[usize]) {
    for op in Unary::ALL {
        for &dtype in op
            .spec()
            .dtypes
            .iter()
            .filter(|dtype| dtypes.contains(dtype))
        {
            let inputs = samples::unary(*op, dtype, 4099);
            for &len in sizes {
                let a = given(exec, dtype, &[len], &inputs[..len]);
                let out = output(exec, dtype, &[len], 4);
                let _done = exec.unary(*op, &a.view, &out.view).unwrap();
                check(
                    &format!("{op:?} {dtype} of {len}"),
                    &out.read(exec),
                    &unary_expected(*op, dtype, &inputs[..len]),
                );
            }
            for &arrangement in arrangements {
                let a = operand(exec, dtype, &DIMS, arrangement, feed(&inputs));
                let out = output(
                    exec,
                    dtype,
                    &DIMS,
                    if arrangement == Arrangement::Flipped {
                        3
                    } else {
                        0
                    },
                );
                let _done = exec.unary(*op, &a.view, &out.view).unwrap();
                check(
                    &format!("{op:?} {dtype} {arrangement:?}"),
                    &out.read(exec),
                    &unary_expected(*op, dtype, &a.values),
                );
            }
        }
    }
}

fn binary_sweep(
    exec: &Executor,
    dtypes: &[DType],
    arrangements: &[(Arrangement, Arrangement)],
    sizes: &[usize],
) {
    for op in Binary::ALL {
        for &dtype in op
            .spec()
            .dtypes
            .iter()
            .filter(|dtype| dtypes.contains(dtype))
        {
            let (a_values, b_values) = samples::binary(*op, dtype, 4099);
            for &len in sizes {
                let (a, b) = (
                    given(exec, dtype, &[len], &a_values[..len]),
                    given(exec, dtype, &[len], &b_values[..len]),
                );
                let out = output(exec, dtype, &[len], 8);
                let _done = exec.binary(*op, &a.view, &b.view, &out.view).unwrap();
                let expected = binary_expected(*op, dtype, &a_values[..len], &b_values[..len]);
                check(
                    &format!("{op:?} {dtype} of {len}"),
                    &out.read(exec),
                    &expected,
                );
            }
            for &(left, right) in arrangements {
                let a = operand(exec, dtype, &DIMS, left, feed(&a_values));
                let b = operand(exec, dtype, &DIMS, right, feed(&b_values));
                let out = output(exec, dtype, &DIMS, 4);
                let _done = exec.binary(*op, &a.view, &b.view, &out.view).unwrap();
                let expected = binary_expected(*op, dtype, &a.values, &b.values);
                check(
                    &format!("{op:?} {dtype} {left:?} {right:?}"),
                    &out.read(exec),
                    &expected,
                );
            }
            // A scalar on either side.
            let (x, y) = (
                exec.scalar(dtype, a_values[1]).unwrap(),
                exec.scalar(dtype, b_values[1]).unwrap(),
            );
            let (a, b) = (
                given(exec, dtype, &[37], &a_values[..37]),
                given(exec, dtype, &[37], &b_values[..37]),
            );
            let (left, right) = (output(exec, dtype, &[37], 0), output(exec, dtype, &[37], 0));
            let _done = exec.binary(*op, &x, &b.view, &left.view).unwrap();
            let _done = exec.binary(*op, &a.view, &y, &right.view).unwrap();
            let expected = binary_expected(*op, dtype, &[a_values[1]; 37], &b_values[..37]);
            check(
                &format!("{op:?} {dtype} scalar on the left"),
                &left.read(exec),
                &expected,
            );
            let expected = binary_expected(*op, dtype, &a_values[..37], &[b_values[1]; 37]);
            check(
                &format!("{op:?} {dtype} scalar on the right"),
                &right.read(exec),
                &expected,
            );
        }
    }
}

fn compare_sweep(exec: &Executor, dtypes: &[DType]) {
    for op in Compare::ALL {
        for &dtype in dtypes {
            let (a_values, b_values) = samples::pairs(dtype, 521);
            let expect = |a: &[f64], b: &[f64]| -> Vec<Expected> {
                a.iter()
                    .zip(b)
                    .map(|(&x, &y)| Expected::exact(f64::from(u8::from(compare(*op, x, y)))))
                    .collect()
            };
            let (a, b) = (
                given(exec, dtype, &[521], &a_values),
                given(exec, dtype, &[521], &b_values),
            );
            let out = output(exec, DType::Bool, &[521], 4);
            let _done = exec.compare(*op, &a.view, &b.view, &out.view).unwrap();
            check(
                &format!("{op:?} {dtype}"),
                &out.read(exec),
                &expect(&a_values, &b_values),
            );
            let a = operand(exec, dtype, &DIMS, Arrangement::Transposed, feed(&a_values));
            let b = operand(exec, dtype, &DIMS, Arrangement::Broadcast, feed(&b_values));
            let out = output(exec, DType::Bool, &DIMS, 5);
            let _done = exec.compare(*op, &a.view, &b.view, &out.view).unwrap();
            check(
                &format!("{op:?} {dtype} strided"),
                &out.read(exec),
                &expect(&a.values, &b.values),
            );
        }
    }
}

fn predicate_sweep(exec: &Executor, dtypes: &[DType]) {
    for op in Predicate::ALL {
        for &dtype in op.spec().dtypes.iter().filter(|d| dtypes.contains(d)) {
            let values = samples::special(dtype, 521);
            let expect = |a: &[f64]| -> Vec<Expected> {
                a.iter()
                    .map(|&x| Expected::exact(f64::from(u8::from(predicate(*op, x)))))
                    .collect()
            };
            let a = given(exec, dtype, &[521], &values);
            let out = output(exec, DType::Bool, &[521], 4);
            let _done = exec.predicate(*op, &a.view, &out.view).unwrap();
            check(
                &format!("{op:?} {dtype}"),
                &out.read(exec),
                &expect(&values),
            );
            for arrangement in Arrangement::ALL {
                let a = operand(exec, dtype, &DIMS, arrangement, feed(&values));
                let out = output(exec, DType::Bool, &DIMS, 5);
                let _done = exec.predicate(*op, &a.view, &out.view).unwrap();
                check(
                    &format!("{op:?} {dtype} {arrangement:?}"),
                    &out.read(exec),
                    &expect(&a.values),
                );
            }
        }
    }
}

const PAIRS: [(Arrangement, Arrangement); 4] = [
    (Arrangement::Transposed, Arrangement::Contiguous),
    (Arrangement::Contiguous, Arrangement::Sliced),
    (Arrangement::Broadcast, Arrangement::Contiguous),
    (Arrangement::Flipped, Arrangement::Flipped),
];

#[test]
fn unary_rows_hold_on_every_dtype_size_and_arrangement() {
    let Some(exec) = common::executor() else {
        return;
    };
    unary_sweep(&exec, &DType::ALL, &Arrangement::ALL, &SIZES);
}

#[test]
fn binary_rows_hold_on_every_dtype_size_and_arrangement() {
    let Some(exec) = common::executor() else {
        return;
    };
    binary_sweep(&exec, &DType::ALL, &PAIRS, &[0, 1, 3, 1025]);
}

#[test]
fn comparisons_hold_on_every_dtype() {
    let Some(exec) = common::executor() else {
        return;
    };
    compare_sweep(&exec, &DType::ALL);
}

#[test]
fn predicates_hold_on_every_dtype_and_arrangement() {
    let Some(exec) = common::executor() else {
        return;
    };
    predicate_sweep(&exec, &DType::ALL);
}

#[test]
fn rows_hold_within_the_default_limits_and_without_features() {
    let Some(exec) = common::plain_executor() else {
        return;
    };
    assert_eq!(exec.device().caps().immediate_bytes, 0);
    let dtypes = [DType::F32, DType::F16, DType::I8];
    unary_sweep(&exec, &dtypes, &[Arrangement::Transposed], &[5, 1025]);
    binary_sweep(
        &exec,
        &dtypes,
        &[(Arrangement::Transposed, Arrangement::Broadcast)],
        &[5, 1025],
    );
    compare_sweep(&exec, &dtypes);
    predicate_sweep(&exec, &dtypes);
}

#[test]
fn more_elements_than_a_row_of_workgroups_are_all_computed() {
    let Some(exec) = common::narrow_executor() else {
        return;
    };
    let row = exec.device().caps().max_workgroups as usize * 8 * 4;
    for len in [row - 1, row, row + 1, row + 4097] {
        for dtype in [DType::U8, DType::F16] {
            let values: Vec<f64> = (0..len).map(|i| (i % 251) as f64).collect();
            let a = given(&exec, dtype, &[len], &values);
            let out = output(&exec, dtype, &[len], 0);
            let _done = exec
                .add(&a.view, &exec.scalar(dtype, 3.0).unwrap(), &out.view)
                .unwrap();
            let expected: Vec<Expected> = values.iter().map(|x| Expected::exact(x + 3.0)).collect();
            check(
                &format!("add {dtype} of {len}"),
                &out.read(&exec),
                &expected,
            );
            // The same as columns of a matrix: strided, and a scatter into an output that is not dense.
            let columns = given(&exec, dtype, &[2, len / 2], &values[..len / 2 * 2]);
            let columns = columns
                .view
                .with_layout(columns.view.layout.transpose(0, 1).unwrap())
                .unwrap();
            let out = output(&exec, dtype, &[2, len / 2], 0);
            let flipped = out
                .view
                .with_layout(out.view.layout.transpose(0, 1).unwrap())
                .unwrap();
            let _done = exec.neg(&columns, &flipped).unwrap();
            let negated: Vec<Expected> = values[..len / 2 * 2]
                .iter()
                .map(|&x| Expected::exact(unary(Unary::Neg, dtype, x)))
                .collect();
            check(
                &format!("neg {dtype} of {len}, transposed"),
                &out.read(&exec),
                &negated,
            );
        }
    }
}

#[test]
fn any_rank_is_walked() {
    let Some(exec) = common::executor() else {
        return;
    };
    for rank in 0..=8 {
        let dims = [2, 3, 1, 2, 2, 3, 1, 2];
        let dims = &dims[..rank];
        for dtype in [DType::F32, DType::U8] {
            for arrangement in Arrangement::ALL {
                let (values, others) = samples::binary(Binary::Sub, dtype, 200);
                let a = operand(&exec, dtype, dims, arrangement, feed(&values));
                let b = operand(&exec, dtype, dims, Arrangement::Contiguous, feed(&others));
                let out = output(&exec, dtype, dims, 4);
                let _done = exec.sub(&a.view, &b.view, &out.view).unwrap();
                let expected = binary_expected(Binary::Sub, dtype, &a.values, &b.values);
                check(
                    &format!("sub {dtype} rank {rank} {arrangement:?}"),
                    &out.read(&exec),
                    &expected,
                );
            }
        }
    }
}

#[test]
fn an_output_may_be_an_input_and_overlap_it() {
    let Some(exec) = common::executor() else {
        return;
    };
    for dtype in [DType::F32, DType::BF16, DType::U8] {
        let values: Vec<f64> = (0..41).map(f64::from).collect();
        let a = given(&exec, dtype, &[41], &values).view;
        let _done = exec.add(&a, &a, &a).unwrap();
        let reversed = a.with_layout(a.layout.flip(&[0]).unwrap()).unwrap();
        let _done = exec
            .sub(&reversed, &exec.scalar(dtype, 0.0).unwrap(), &a)
            .unwrap();
        let bytes = exec.download(&a).unwrap().wait().unwrap();
        let expected: Vec<Expected> = values
            .iter()
            .rev()
            .map(|x| Expected::exact(2.0 * x))
            .collect();
        check(
            &format!("{dtype}"),
            &ziggurat_kernels::core::decode(dtype, &bytes),
            &expected,
        );
    }
}

#[test]
fn where_takes_the_chosen_side_only() {
    let Some(exec) = common::executor() else {
        return;
    };
    for dtype in DType::ALL {
        let (values, _) = samples::pairs(dtype, 300);
        let poison = if dtype.is_float() { f64::NAN } else { 1.0 };
        for arrangement in Arrangement::ALL {
            let cond = operand(
                &exec,
                DType::Bool,
                &DIMS,
                arrangement,
                feed(&[1.0, 0.0, 0.0, 1.0, 1.0]),
            );
            let a = operand(&exec, dtype, &DIMS, Arrangement::Transposed, feed(&values));
            let b = exec.scalar(dtype, poison).unwrap();
            let out = output(&exec, dtype, &DIMS, 4);
            let _done = exec.where_(&cond.view, &a.view, &b, &out.view).unwrap();
            let expected: Vec<Expected> = cond
                .values
                .iter()
                .zip(&a.values)
                .map(|(&c, &x)| Expected::exact(if c != 0.0 { x } else { poison }))
                .collect();
            check(
                &format!("where {dtype} {arrangement:?}"),
                &out.read(&exec),
                &expected,
            );
        }
    }
}
