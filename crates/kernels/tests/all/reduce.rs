//! Reductions and their positions against the reference: axes, arrangements, dtypes, lengths, NaN, and 2²⁵ ones.

use crate::common;
use crate::operands::{
    Arrangement, Expected, Operand, Random, check, given, operand, output, random, shape,
};
use crate::reducing::{kept, run, run_all};
use ziggurat_kernels::reference::reduce;
use ziggurat_kernels::{ArgReduce, DType, Executor, KernelError, Reduce};

#[test]
fn any_set_of_axes_of_any_rank_reduces() {
    let exec = common::executor();
    let mut rng = Random(2);
    for (dims, axes) in [
        (&[][..], &[][..]),
        (&[], &[0]),
        (&[6], &[]),
        (&[2, 3, 4, 5], &[0, 2]),
        (&[2, 3, 4, 5], &[1, 3]),
        (&[2, 3, 4, 5], &[3, 0]),
        (&[2, 1, 2, 3, 2, 1, 3, 2], &[1, 2, 4, 6]),
        (&[2, 2, 2, 2, 2, 2, 2, 2], &[0, 2, 4, 6]),
        (&[2, 2, 2, 2, 2, 2, 2, 2], &[]),
    ] {
        for arrangement in [
            Arrangement::Contiguous,
            Arrangement::Transposed,
            Arrangement::Sliced,
        ] {
            let a = random(&exec, DType::F32, dims, arrangement, &mut rng);
            run(&exec, Reduce::Sum, &a, axes, DType::F32, 0);
            run(&exec, Reduce::Max, &a, axes, DType::F32, 0);
        }
    }
}

#[test]
fn lengths_around_lanes_workgroups_and_chunks_are_right() {
    let exec = common::executor();
    let mut rng = Random(3);
    for len in [
        1, 2, 3, 31, 33, 63, 64, 65, 255, 256, 257, 1023, 1025, 8191, 40_009,
    ] {
        for dtype in [DType::F32, DType::U8] {
            let row = random(&exec, dtype, &[3, len], Arrangement::Contiguous, &mut rng);
            let column = random(&exec, dtype, &[len, 5], Arrangement::Contiguous, &mut rng);
            for op in [Reduce::Sum, Reduce::Min] {
                run(&exec, op, &row, &[1], dtype, 1);
                run(&exec, op, &column, &[0], dtype, 1);
            }
        }
    }
}

#[test]
fn random_shapes_agree_with_the_reference() {
    let exec = common::executor();
    let mut rng = Random(4);
    for _ in 0..150 {
        let dims: Vec<usize> = (0..rng.below(5))
            .map(|_| rng.pick(&[0, 1, 2, 3, 5, 7, 8, 17]))
            .collect();
        let axes: Vec<usize> = (0..dims.len()).filter(|_| rng.below(2) == 0).collect();
        let dtype = rng.pick(&DType::ALL);
        let arrangement = rng.pick(&Arrangement::ALL);
        let a = random(&exec, dtype, &dims, arrangement, &mut rng);
        let front = rng.below(9);
        for _ in 0..4 {
            let (op, output) = (rng.pick(&Reduce::ALL), rng.pick(&DType::ALL));
            if op.accepts(dtype, output) {
                run(&exec, op, &a, &axes, output, front);
            }
        }
    }
}

#[test]
fn small_workgroups_and_default_limits_reduce_the_same() {
    let mut rng = Random(7);
    for exec in [common::narrow_executor(), common::plain_executor()] {
        // With 8 invocations 530,000 outputs are more than one row of workgroups.
        for (dims, axes) in [
            (&[530_000, 1][..], &[1][..]),
            (&[2, 530_000], &[0]),
            (&[3, 10_025], &[1]),
        ] {
            let a = random(&exec, DType::I8, dims, Arrangement::Contiguous, &mut rng);
            run(&exec, Reduce::Sum, &a, axes, DType::I32, 0);
            run(&exec, Reduce::Max, &a, axes, DType::I8, 1);
            positions(&exec, ArgReduce::Min, &a, axes, false);
        }
    }
}

#[test]
fn empty_extents_give_the_identities() {
    let exec = common::executor();
    for dtype in DType::ALL {
        let a = given(&exec, dtype, &[3, 0], &[]);
        run_all(&exec, &a, &[1], 0);
        run_all(&exec, &a, &[0], 0);
        run_all(&exec, &a, &[0, 1], 0);
    }
}

#[test]
fn not_a_number_wins_wherever_it_is() {
    let exec = common::executor();
    for len in [3, 257, 20_000] {
        for at in [0, len / 2, len - 1] {
            for dtype in [DType::F32, DType::F16, DType::BF16] {
                let mut values = vec![1.0; len];
                values[at] = f64::NAN;
                values[(at + 1) % len] = f64::INFINITY;
                let a = given(&exec, dtype, &[len], &values);
                for op in [Reduce::Max, Reduce::Min] {
                    run(&exec, op, &a, &[0], dtype, 0);
                }
                for op in ArgReduce::ALL {
                    positions(&exec, op, &a, &[0], false);
                }
            }
        }
    }
}

#[test]
fn infinities_and_huge_values_are_extremes() {
    let exec = common::executor();
    let inf = f64::INFINITY;
    for values in [
        [-inf, -inf, -inf],
        [inf, inf, inf],
        [32768.0, 32767.0, 40000.0],
        [-3.4e38, -3.3e38, -inf],
        [1e-40, 0.0, 1e-41],
    ] {
        let a = given(&exec, DType::F32, &[3], &values);
        run(&exec, Reduce::Max, &a, &[0], DType::F32, 0);
        run(&exec, Reduce::Min, &a, &[0], DType::F32, 0);
    }
}

#[test]
fn two_to_the_25_ones_sum_to_themselves() {
    let exec = common::executor();
    let one = exec.scalar(DType::F32, 1.0).unwrap();
    let len = 1 << 25;
    for (dims, axes) in [(&[len][..], &[0][..]), (&[len, 3], &[0])] {
        let view = one
            .with_layout(one.layout.expand(shape(dims)).unwrap())
            .unwrap();
        let out = output(&exec, DType::F32, &kept(dims, axes), 0);
        let _done = exec.reduce(Reduce::Sum, &view, axes, &out.view).unwrap();
        assert!(out.read(&exec).iter().all(|&sum| sum == 33_554_432.0));
    }
}

#[test]
fn long_half_sums_overflow_only_where_they_are_stored() {
    let exec = common::executor();
    let one = exec.scalar(DType::F16, 1.0).unwrap();
    let view = one
        .with_layout(one.layout.expand(shape(&[70_000])).unwrap())
        .unwrap();
    for (dtype, sum) in [(DType::F16, f64::INFINITY), (DType::F32, 70_000.0)] {
        let out = output(&exec, dtype, &[], 0);
        let _done = exec.reduce(Reduce::Sum, &view, &[0], &out.view).unwrap();
        assert_eq!(out.read(&exec), [sum]);
    }
}

#[test]
fn more_outputs_than_one_row_of_workgroups_fold_the_grid() {
    let exec = common::executor();
    // 65,537 rows of 1,024: one workgroup each. A stride of 0 along the row keeps the memory small.
    let rows = 65_537;
    let mut rng = Random(5);
    let a = random(
        &exec,
        DType::U8,
        &[rows, 1],
        Arrangement::Contiguous,
        &mut rng,
    );
    let view = a
        .view
        .with_layout(a.view.layout.expand(shape(&[rows, 1024])).unwrap())
        .unwrap();
    // Seen through a reduced stride of 0 the rows are laid out as columns; an inner kept axis of 1 changes nothing.
    let out = output(&exec, DType::U32, &[rows], 0);
    let _done = exec.reduce(Reduce::Sum, &view, &[1], &out.view).unwrap();
    let expected: Vec<Expected> = a
        .values
        .iter()
        .map(|v| Expected::exact(v * 1024.0))
        .collect();
    check("rows", &out.read(&exec), &expected);
    // Positions: overlapping rows of one long line, stride 1 both ways.
    let line = random(
        &exec,
        DType::U8,
        &[rows + 1023],
        Arrangement::Contiguous,
        &mut rng,
    );
    let windows = ziggurat_kernels::Layout::new(shape(&[rows, 1024]), &[1, 1], 0).unwrap();
    let view = line.view.with_layout(windows).unwrap();
    let out = output(&exec, DType::I32, &[rows], 0);
    let _done = exec
        .arg_reduce(ArgReduce::Max, &view, &[1], false, &out.view)
        .unwrap();
    for (row, got) in out.read(&exec).into_iter().enumerate() {
        let window = &line.values[row..row + 1024];
        let most = window.iter().copied().fold(0.0, f64::max);
        assert_eq!(
            Some(got as usize),
            window.iter().position(|&v| v == most),
            "row {row}"
        );
    }
}

/// Positions against the reference.
fn positions(exec: &Executor, op: ArgReduce, a: &Operand, axes: &[usize], select_last: bool) {
    let dims = a.view.dims();
    let out = output(exec, DType::I32, &kept(dims, axes), 2);
    let _done = exec
        .arg_reduce(op, &a.view, axes, select_last, &out.view)
        .unwrap();
    let expected: Vec<Expected> = reduce::arg_reduce(op, &a.values, dims, axes, select_last)
        .into_iter()
        .map(|at| Expected::exact(at.unwrap() as f64))
        .collect();
    let what = format!(
        "{op:?} last={select_last} {} {:?} over {axes:?}",
        a.view.dtype, a.view.layout
    );
    check(&what, &out.read(exec), &expected);
}

#[test]
fn ties_go_to_the_first_or_the_last_across_lanes_and_chunks() {
    let exec = common::executor();
    for len in [1, 5, 300, 30_000] {
        let values: Vec<f64> = (0..len)
            .map(|i| f64::from(u8::from(i % 3 == 1 || len == 1)))
            .collect();
        for dtype in [DType::F32, DType::I8, DType::Bool, DType::U32] {
            let a = given(&exec, dtype, &[len], &values);
            for op in ArgReduce::ALL {
                for last in [false, true] {
                    positions(&exec, op, &a, &[0], last);
                }
            }
        }
    }
    // Both zeros are equal.
    let zeros = given(&exec, DType::F32, &[2], &[-0.0, 0.0]);
    for op in ArgReduce::ALL {
        positions(&exec, op, &zeros, &[0], false);
        positions(&exec, op, &zeros, &[0], true);
    }
}

#[test]
fn first_not_a_number_is_the_position() {
    let exec = common::executor();
    let a = given(&exec, DType::F32, &[4], &[1.0, f64::NAN, 3.0, f64::NAN]);
    let out = output(&exec, DType::I32, &[], 0);
    let _done = exec
        .arg_reduce(ArgReduce::Max, &a.view, &[0], false, &out.view)
        .unwrap();
    assert_eq!(out.read(&exec), [1.0]);
}

#[test]
fn wrong_calls_are_typed_errors() {
    let exec = common::executor();
    let view = |dtype, dims: &[usize]| exec.alloc(&shape(dims), dtype).unwrap();
    let a = view(DType::F32, &[2, 3]);
    let out = view(DType::F32, &[2]);
    assert!(matches!(
        exec.reduce(Reduce::Sum, &a, &[2], &out).unwrap_err(),
        KernelError::Shape { .. }
    ));
    assert!(matches!(
        exec.reduce(Reduce::Sum, &a, &[1, 1], &out).unwrap_err(),
        KernelError::Shape { .. }
    ));
    assert!(matches!(
        exec.reduce(Reduce::Sum, &a, &[0], &out).unwrap_err(),
        KernelError::Output { .. }
    ));
    let ints = view(DType::I32, &[2, 3]);
    let error = exec
        .reduce(Reduce::Mean, &ints, &[1], &view(DType::I32, &[2]))
        .unwrap_err();
    assert_eq!(error.to_string(), "mean: a is i32, but a mean needs floats");
    assert!(matches!(
        exec.arg_reduce(ArgReduce::Max, &a, &[1], false, &out)
            .unwrap_err(),
        KernelError::Dtype { .. }
    ));
    let empty = view(DType::F32, &[2, 0]);
    let error = exec
        .arg_reduce(ArgReduce::Max, &empty, &[1], false, &view(DType::I32, &[2]))
        .unwrap_err();
    assert!(matches!(error, KernelError::Operand { .. }), "{error}");
    let _done = exec
        .arg_reduce(ArgReduce::Max, &empty, &[0], false, &view(DType::I32, &[0]))
        .unwrap();
}

#[test]
fn every_reduction_of_every_dtype_takes_two_passes() {
    let exec = common::narrow_executor();
    let mut rng = Random(15);
    for dtype in DType::ALL {
        // Eight invocations cut rows of 600 into chunks.
        let a = random(&exec, dtype, &[2, 600], Arrangement::Contiguous, &mut rng);
        // Products of many values leave the range of small floats.
        let signs = operand(&exec, dtype, &[2, 600], Arrangement::Contiguous, || {
            if dtype.is_float() {
                [1.0, -1.0][rng.below(2)]
            } else {
                rng.value(dtype)
            }
        });
        for op in Reduce::ALL {
            let a = if op == Reduce::Prod { &signs } else { &a };
            for to in DType::ALL.into_iter().filter(|&to| op.accepts(dtype, to)) {
                run(&exec, op, a, &[1], to, 1);
            }
        }
        for op in ArgReduce::ALL {
            for last in [false, true] {
                positions(&exec, op, &a, &[1], last);
            }
        }
    }
}
