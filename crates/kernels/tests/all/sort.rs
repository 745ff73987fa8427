//! Sorting against a stable sort on the CPU: every dtype, arrangement and direction, NaN, ties, long rows, many rows.

use crate::common;
use crate::expect;
use crate::operands::{Arrangement, Operand, Random, given, operand, output, shape};
use ziggurat_kernels::reference::round_to;
use ziggurat_kernels::{DType, Executor, KernelError};

fn compare(exec: &Executor, a: &Operand, axis: usize, descending: bool, front: usize) {
    let dims = a.view.dims().to_vec();
    let out = output(exec, DType::I32, &dims, front);
    let _done = exec.argsort(&a.view, axis, descending, &out.view).unwrap();
    let (got, wanted) = (
        out.read(exec),
        expect::argsort(&a.values, &dims, axis, descending),
    );
    let first = got
        .iter()
        .zip(&wanted)
        .position(|(got, wanted)| got != wanted);
    assert_eq!(
        first, None,
        "{} {dims:?} axis {axis} descending {descending}",
        a.view.dtype
    );
}

fn value(dtype: DType, rng: &mut Random) -> f64 {
    let special = [
        0.0,
        -0.0,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        1.0,
        -1.0,
    ];
    match rng.below(4) {
        0 if dtype.is_float() => special[rng.below(special.len())],
        // Many ties.
        1 => round_to(dtype, rng.below(3) as f64),
        _ => rng.value(dtype),
    }
}

fn sweep(exec: &Executor, seed: u64) {
    let mut rng = Random(seed);
    let problems: &[(&[usize], usize)] = &[
        (&[1], 0),
        (&[2], 0),
        (&[7], 0),
        (&[255], 0),
        (&[257], 0),
        (&[1025], 0),
        (&[5, 33], 1),
        (&[33, 5], 0),
        (&[2, 19, 3], 1),
        (&[300, 3], 1),
        (&[1, 64, 1, 2], 1),
    ];
    for dtype in DType::ALL {
        for &(dims, axis) in problems {
            let (arrangement, descending) = (rng.pick(&Arrangement::ALL), rng.below(2) == 0);
            let mut source = Random(rng.bits());
            let a = operand(exec, dtype, dims, arrangement, || value(dtype, &mut source));
            compare(exec, &a, axis, descending, rng.below(5));
        }
    }
}

#[test]
fn rows_of_every_dtype_are_sorted_stably() {
    let exec = common::executor();
    sweep(&exec, 61);
}

#[test]
fn sorting_holds_within_the_default_limits_in_narrow_workgroups_and_by_subgroups() {
    for (exec, seed) in [
        (common::plain_executor(), 62),
        (common::narrow_executor(), 63),
        (common::matrix_executor(), 68),
    ] {
        sweep(&exec, seed);
    }
}

#[test]
fn long_rows_and_many_rows_are_sorted() {
    long_and_many(&common::executor(), 10);
    // By votes of subgroups, in tiles of 4,096 and a rest.
    long_and_many(&common::matrix_executor(), 1);
}

fn long_and_many(exec: &Executor, times: usize) {
    let mut rng = Random(64);
    for (dims, axis) in [
        (&[20_000 * times + 3][..], 0),
        (&[7_000 * times, 3], 1),
        (&[3, 5_000 * times], 1),
    ] {
        let mut source = Random(rng.bits());
        let a = operand(exec, DType::F32, dims, Arrangement::Contiguous, || {
            value(DType::F32, &mut source)
        });
        compare(exec, &a, axis, rng.below(2) == 0, 0);
    }
    for pattern in [|i: usize| i as f64, |i| -(i as f64), |_| 7.0] {
        let values: Vec<f64> = (0..30_000).map(pattern).collect();
        compare(
            exec,
            &given(exec, DType::I32, &[30_000], &values),
            0,
            false,
            0,
        );
    }
}

#[test]
fn every_16_bit_float_has_its_place() {
    let exec = common::executor();
    for dtype in [DType::F16, DType::BF16] {
        let bytes: Vec<u8> = (0..=u16::MAX).flat_map(u16::to_le_bytes).collect();
        let view = exec.upload_bytes(dtype, &bytes, &shape(&[65_536])).unwrap();
        let values = ziggurat_kernels::core::decode(dtype, &bytes);
        // A subnormal of bf16 is one of f32, which an adapter may take for 0: by bits none is.
        let a = Operand { view, values };
        compare(&exec, &a, 0, false, 0);
        compare(&exec, &a, 0, true, 0);
    }
}

#[test]
fn sorted_rows_are_searched() {
    let exec = common::executor();
    let mut rng = Random(65);
    for dtype in DType::ALL {
        for (rows, shared, n, m) in [
            (1, true, 9, 20),
            (3, false, 33, 7),
            (4, true, 0, 5),
            (2, false, 1, 3),
        ] {
            let mut sorted: Vec<f64> = (0..if shared { 1 } else { rows } * n)
                .map(|_| value(dtype, &mut rng))
                .collect();
            sorted
                .chunks_mut(n.max(1))
                .for_each(|row| row.sort_by(|x, y| expect::order(*x, *y)));
            let dims = if shared { vec![n] } else { vec![rows, n] };
            let a = given(&exec, dtype, &dims, &sorted);
            let mut source = Random(rng.bits());
            let b = operand(&exec, dtype, &[rows, m], Arrangement::Transposed, || {
                value(dtype, &mut source)
            });
            for right in [false, true] {
                let out = output(&exec, DType::I32, &[rows, m], 1);
                let _done = exec
                    .search_sorted(&a.view, &b.view, right, &out.view)
                    .unwrap();
                let wanted = expect::search(&sorted, n, &b.values, m, right);
                assert_eq!(out.read(&exec), wanted, "{dtype} {rows} {n} {right}");
            }
        }
    }
}

#[test]
fn what_does_not_fit_is_refused_and_nothing_is_fine() {
    let exec = common::executor();
    let view = |dims: &[usize], dtype| exec.alloc(&shape(dims), dtype).unwrap();
    let text =
        |result: Result<ziggurat_kernels::Completion, KernelError>| result.unwrap_err().to_string();
    let (a, out) = (view(&[2, 3], DType::F32), view(&[2, 3], DType::I32));
    assert_eq!(
        text(exec.argsort(&a, 0, false, &a)),
        "argsort: out is f32, but positions are i32"
    );
    assert!(text(exec.argsort(&a, 2, false, &out)).starts_with("argsort: "));
    assert_eq!(
        text(exec.argsort(&a, 0, false, &view(&[6], DType::I32))),
        "argsort: the output must be [2, 3], but it is [6]"
    );
    assert_eq!(
        text(exec.search_sorted(&a, &view(&[3, 3], DType::F32), false, &out)),
        "searchsorted: the sorted rows must be one vector or have the leading axes of the values: left is [2, 3], right is [3, 3]"
    );
    assert!(text(exec.search_sorted(&a, &out, false, &out)).contains("the dtype of a"));
    assert!(text(exec.search_sorted(&a, &a, false, &a)).contains("positions are i32"));
    let none = view(&[0, 3], DType::F32);
    assert!(
        exec.argsort(&none, 0, false, &view(&[0, 3], DType::I32))
            .is_ok()
    );
}

#[test]
fn rows_are_sorted_in_workgroup_memory_and_beyond() {
    rows_of_blocks(
        &common::executor(),
        &[[3, 2], [700, 3], [2, 2047], [3, 2048], [2, 2049], [5, 1024]],
    );
    // By digits, from 129 elements to 4,096.
    rows_of_blocks(
        &common::matrix_executor(),
        &[
            [3, 128],
            [9, 129],
            [5, 1000],
            [2, 2048],
            [2, 4096],
            [1, 4097],
        ],
    );
    // More workgroups than a plane of the grid has, or a dimension.
    rows_of_blocks(&common::fresh_folded_matrix_executor(), &[[600, 129]]);
    let exec = common::folded_executor();
    let mut rng = Random(69);
    let a = operand(
        &exec,
        DType::F32,
        &[3000, 33],
        Arrangement::Contiguous,
        || value(DType::F32, &mut rng),
    );
    compare(&exec, &a, 1, true, 0);
}

fn rows_of_blocks(exec: &Executor, problems: &[[usize; 2]]) {
    let mut rng = Random(67);
    for dims in problems {
        for descending in [false, true] {
            let dtype = rng.pick(&[DType::F32, DType::I8, DType::Bool, DType::U32]);
            let arrangement = rng.pick(&Arrangement::ALL);
            let mut source = Random(rng.bits());
            let a = operand(exec, dtype, dims, arrangement, || value(dtype, &mut source));
            compare(exec, &a, 1, descending, rng.below(5));
        }
    }
}

fn compare_top(exec: &Executor, a: &Operand, (axis, k): (usize, usize), largest: bool) {
    let mut dims = a.view.dims().to_vec();
    dims[axis] = k;
    let values = output(exec, a.view.dtype, &dims, 1);
    let places = output(exec, DType::I32, &dims, 3);
    let _done = exec
        .topk(&a.view, axis, largest, (&values.view, &places.view))
        .unwrap();
    let all = expect::argsort(&a.values, a.view.dims(), axis, largest);
    let (row, inner) = (
        a.view.dims()[axis],
        a.view.dims()[axis + 1..].iter().product::<usize>(),
    );
    let first = |list: &[f64]| -> Vec<f64> {
        let rows = list.chunks(row * inner);
        rows.flat_map(|rows| rows[..k * inner].to_vec()).collect()
    };
    let wanted = first(&all);
    assert!(
        places.read(exec) == wanted,
        "{} {:?} axis {axis} k {k} largest {largest}",
        a.view.dtype,
        a.view.dims()
    );
}

#[test]
fn the_first_of_long_rows_are_found_by_blocks() {
    let mut rng = Random(71);
    for (exec, problems) in [
        (
            common::executor(),
            &[
                (&[2, 10_000][..], 1, 50),
                (&[1, 100_000], 1, 256),
                (&[2049], 0, 1),
                (&[4097, 3], 0, 17),
                (&[5, 100], 1, 100),
                (&[3, 3000], 1, 2000),
            ][..],
        ),
        // Blocks of 4,096 by digits.
        (
            common::matrix_executor(),
            &[
                (&[2, 10_000][..], 1, 50),
                (&[5000, 3], 0, 512),
                (&[2, 4096], 1, 4000),
            ],
        ),
        // Many levels of small blocks, and grids of several rows of workgroups.
        (
            common::folded_executor(),
            &[
                (&[3, 5000][..], 1, 8),
                (&[2, 65], 1, 7),
                (&[700, 130], 1, 3),
            ],
        ),
    ] {
        for &(dims, axis, k) in problems {
            for largest in [false, true] {
                let dtype = rng.pick(&[DType::F32, DType::F16, DType::I32, DType::U8]);
                let arrangement = rng.pick(&Arrangement::ALL);
                let mut source = Random(rng.bits());
                let a = operand(&exec, dtype, dims, arrangement, || {
                    value(dtype, &mut source)
                });
                compare_top(&exec, &a, (axis, k), largest);
            }
        }
        // All equal: the first ones, however many blocks there are; the greatest key of all, too.
        for number in [f64::NAN, 2.0] {
            let a = given(&exec, DType::F32, &[5000], &vec![number; 5000]);
            compare_top(&exec, &a, (0, 8), true);
            compare_top(&exec, &a, (0, 8), false);
        }
    }
}

#[test]
fn every_dtype_is_sorted_in_blocks_and_by_digits() {
    // Workgroups of eight invocations hold 64 pairs, others 2,048, those of subgroups 4,096.
    for (exec, problems) in [
        (
            common::narrow_executor(),
            [([3, 20], 20), ([2, 70], 3), ([1, 600], 8)],
        ),
        (
            common::plain_executor(),
            [([3, 20], 20), ([2, 2500], 3), ([1, 2600], 8)],
        ),
        (
            common::matrix_executor(),
            [([3, 200], 20), ([2, 4999], 3), ([1, 5000], 300)],
        ),
    ] {
        let mut rng = Random(73);
        for dtype in DType::ALL {
            for (dims, k) in problems {
                let a = operand(&exec, dtype, &dims, Arrangement::Sliced, || {
                    value(dtype, &mut rng)
                });
                compare(&exec, &a, 1, dims[0] > 1, 0);
                compare_top(&exec, &a, (1, k), true);
            }
        }
    }
}
