//! Softmax against the reference: arrangements, axes, row lengths, rows without a finite maximum.

use crate::common;
use crate::expect;
use crate::operands::{
    Arrangement, Expected, Operand, Random, check, given, operand, output, random, shape,
};
use ziggurat_kernels::{
    Binary, CannotFuse, DType, Executor, Expression, FusedInput, FusedOp, KernelError,
};

const FLOATS: [DType; 3] = [DType::F32, DType::F16, DType::BF16];

fn run(exec: &Executor, a: &Operand, axis: usize, front: usize) {
    let dtype = a.view.dtype;
    let dims = a.view.dims();
    let out = output(exec, dtype, dims, front);
    let _done = exec.softmax(&a.view, axis, &out.view).unwrap();
    let expected = expect::softmax(&a.values, dims, axis, dtype);
    check(
        &format!("{dtype} {:?} along {axis}", a.view.layout),
        &out.read(exec),
        &expected,
    );
}

fn run_log(exec: &Executor, a: &Operand, axis: usize, front: usize) {
    let dtype = a.view.dtype;
    let dims = a.view.dims();
    let out = output(exec, dtype, dims, front);
    let _done = exec.log_softmax(&a.view, axis, &out.view).unwrap();
    let expected = expect::log_softmax(&a.values, dims, axis, dtype);
    check(
        &format!("log {dtype} {:?} along {axis}", a.view.layout),
        &out.read(exec),
        &expected,
    );
}

#[test]
fn logarithms_of_shares_are_right() {
    let exec = common::executor();
    let mut rng = Random(5);
    for dtype in FLOATS {
        for arrangement in Arrangement::ALL {
            let a = random(&exec, dtype, &[3, 5, 7], arrangement, &mut rng);
            for axis in 0..3 {
                run_log(&exec, &a, axis, 3);
            }
        }
    }
    for len in [1, 2, 65, 1025, 100_003] {
        let a = random(
            &exec,
            DType::F32,
            &[2, len],
            Arrangement::Contiguous,
            &mut rng,
        );
        run_log(&exec, &a, 1, 0);
    }
    let inf = f64::INFINITY;
    let rows = [
        [-inf, -inf, -inf],
        [inf, 1.0, 2.0],
        [f64::NAN, 1.0, 2.0],
        [0.0, -inf, 0.0],
        [-1000.0, 1000.0, 3.0],
    ];
    let a = given(&exec, DType::F32, &[5, 3], rows.as_flattened());
    run_log(&exec, &a, 1, 0);
}

#[test]
fn rows_of_any_length_are_right() {
    let exec = common::executor();
    let mut rng = Random(2);
    for len in [1, 2, 3, 31, 64, 65, 255, 257, 1025, 100_003] {
        for (dims, axis) in [(vec![2, len], 1), (vec![len, 3], 0)] {
            let mut value = || rng.value(DType::F32) * 8.0;
            let a = operand(
                &exec,
                DType::F32,
                &dims,
                Arrangement::Contiguous,
                &mut value,
            );
            run(&exec, &a, axis, 0);
        }
    }
}

/// Rows of a workgroup that lie one behind the other are written together, and what lies around the output stays.
#[test]
fn rows_that_are_no_whole_vectors_are_right() {
    let exec = common::executor();
    let mut rng = Random(31);
    for dtype in FLOATS {
        for len in [1, 2, 5, 10, 17, 65, 197, 257, 511, 767, 769] {
            for (rows, front) in [(1, 0), (3, 4), (70, 4), (131, 1)] {
                let a = random(
                    &exec,
                    dtype,
                    &[rows, len],
                    Arrangement::Contiguous,
                    &mut rng,
                );
                run(&exec, &a, 1, front);
            }
            let across = random(&exec, dtype, &[37, len], Arrangement::Transposed, &mut rng);
            run(&exec, &across, 1, 0);
        }
    }
}

#[test]
fn rows_that_are_cut_into_chunks_are_right() {
    let mut rng = Random(12);
    // Few lanes walk far: rows of some ten thousand elements are long ones.
    for exec in [common::narrow_executor(), common::executor()] {
        let len = 11_000 * exec.device().caps().workgroup_size as usize;
        for (dtype, arrangement) in FLOATS.into_iter().zip(Arrangement::ALL) {
            let mut a = random(&exec, dtype, &[1, len], arrangement, &mut rng);
            run(&exec, &a, 1, 3);
            run_log(&exec, &a, 1, 0);
            if exec.device().caps().workgroup_size > 64 {
                break;
            }
            a = random(&exec, dtype, &[2, 90_000, 3], arrangement, &mut rng);
            run(&exec, &a, 1, 1);
            run_log(&exec, &a, 1, 1);
        }
        for special in [f64::NAN, f64::INFINITY] {
            let mut values = vec![1.0; 2 * 90_000];
            values[100_000] = special;
            let a = given(&exec, DType::F32, &[2, 90_000], &values);
            run(&exec, &a, 1, 0);
        }
    }
}

/// Chunks take a binding more, which a value must leave.
#[test]
fn long_rows_of_values_without_a_binding_to_spare_are_refused() {
    let exec = common::plain_executor();
    let limit = exec.fused_limits().bindings;
    for (inputs, len, fits) in [
        (limit - 2, 40_000, true),
        (limit - 1, 40_000, false),
        (limit - 1, 4_000, true),
    ] {
        let mut e = Expression::new();
        let mut value = e.scalar(DType::F32, 0.5);
        for _ in 0..inputs {
            let input = given(&exec, DType::F32, &[1, 1], &[1.0]);
            let input = e.input(input.view);
            value = e.op(FusedOp::Binary(Binary::Add), &[value, input]).unwrap();
        }
        let input = FusedInput {
            expression: &e,
            value,
            shape: shape(&[1, len]),
        };
        let out = output(&exec, DType::F32, &[1, len], 0);
        match exec.softmax(input, 1, &out.view) {
            Ok(_done) => {
                assert!(fits);
                let value = 1.0 / len as f64;
                let bound = 1e-6 * value;
                let expected = vec![Expected { value, bound }; len];
                check("shares", &out.read(&exec), &expected);
            }
            Err(KernelError::CannotFuse(CannotFuse::Bindings { needed, limit })) => {
                assert!(!fits);
                assert_eq!(needed, limit + 1);
            }
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn random_shapes_agree_with_the_reference() {
    let exec = common::executor();
    let mut rng = Random(3);
    for _ in 0..50 {
        let dims: Vec<usize> = (0..1 + rng.below(5))
            .map(|_| rng.pick(&[0, 1, 2, 3, 5, 8, 13]))
            .collect();
        let (dtype, arrangement) = (rng.pick(&FLOATS), rng.pick(&Arrangement::ALL));
        let a = random(&exec, dtype, &dims, arrangement, &mut rng);
        let axis = rng.below(dims.len());
        if dims[axis] > 0 && !a.values.is_empty() {
            run(&exec, &a, axis, rng.below(9));
        } else {
            let out = output(&exec, dtype, &dims, 0);
            let _done = exec.softmax(&a.view, axis, &out.view).unwrap();
            assert!(out.read(&exec).is_empty());
        }
    }
}

#[test]
fn small_workgroups_and_default_limits_give_the_same() {
    let mut rng = Random(4);
    for exec in [common::narrow_executor(), common::plain_executor()] {
        for (dims, axis) in [(&[7, 1025][..], 1), (&[300_001, 2], 1), (&[2, 3, 50], 0)] {
            let a = random(&exec, DType::F16, dims, Arrangement::Contiguous, &mut rng);
            run(&exec, &a, axis, 0);
        }
    }
}

#[test]
fn a_scalar_is_one_row_of_one() {
    let exec = common::executor();
    run(&exec, &given(&exec, DType::F32, &[], &[5.0]), 0, 0);
}

#[test]
fn rows_without_a_finite_maximum_are_not_numbers() {
    let exec = common::executor();
    let inf = f64::INFINITY;
    for dtype in FLOATS {
        let rows = [
            [-inf, -inf, -inf],
            [inf, 1.0, 2.0],
            [f64::NAN, 1.0, 2.0],
            [0.0, -inf, 0.0],
            [-inf, -inf, 3.0],
        ];
        let a = given(&exec, dtype, &[5, 3], rows.as_flattened());
        run(&exec, &a, 1, 0);
    }
}

#[test]
fn large_inputs_do_not_overflow() {
    let exec = common::executor();
    run(
        &exec,
        &given(
            &exec,
            DType::F32,
            &[2, 3],
            &[1000.0, 1001.0, -1000.0, -3e38, 3e38, 0.0],
        ),
        1,
        0,
    );
    run(
        &exec,
        &given(&exec, DType::F32, &[3], &[-1000.0, -1001.0, -1086.0]),
        0,
        0,
    );
}

#[test]
fn equal_halves_share_equally() {
    let exec = common::executor();
    let a = operand(&exec, DType::F16, &[4096], Arrangement::Contiguous, || 1.0);
    let out = output(&exec, DType::F16, &[4096], 0);
    let _done = exec.softmax(&a.view, 0, &out.view).unwrap();
    assert!(out.read(&exec).iter().all(|&y| y == 2f64.powi(-12)));
}

#[test]
fn wrong_calls_are_typed_errors() {
    let exec = common::executor();
    let view = |dtype, dims: &[usize]| exec.alloc(&shape(dims), dtype).unwrap();
    let a = view(DType::F32, &[2, 3]);
    assert!(matches!(
        exec.softmax(&a, 2, &a).unwrap_err(),
        KernelError::Shape { .. }
    ));
    assert!(matches!(
        exec.softmax(&a, 0, &view(DType::F32, &[3, 2])).unwrap_err(),
        KernelError::Output { .. }
    ));
    assert!(matches!(
        exec.softmax(&a, 0, &view(DType::F16, &[2, 3])).unwrap_err(),
        KernelError::Dtype { .. }
    ));
    let ints = view(DType::I32, &[2, 3]);
    assert!(matches!(
        exec.softmax(&ints, 0, &ints).unwrap_err(),
        KernelError::Dtype { .. }
    ));
}
