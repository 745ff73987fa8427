//! Gathers and scatters against a reference: every form, dtype and arrangement, duplicates, indices out of range.

use crate::common;
use crate::expect;
use crate::operands;
use crate::operands::{Arrangement, Expected, Random, check, operand, output, random, shape};
use ziggurat_kernels::reference::index::{Indexing, named, scatter_in_order};
use ziggurat_kernels::{DType, Executor, KernelError, Scatter, View};

/// Form, shape of the data, shape of the indices.
const PROBLEMS: &[(Indexing, &[usize], &[usize])] = &[
    (Indexing::Along(0), &[7], &[13]),
    (Indexing::Along(1), &[4, 5, 3], &[4, 9, 2]),
    (Indexing::Along(2), &[2, 3, 6], &[1, 3, 257]),
    (Indexing::Along(0), &[3, 2], &[0, 2]),
    (Indexing::Slices(0), &[9], &[]),
    (Indexing::Slices(0), &[5, 3], &[2, 4]),
    (Indexing::Slices(1), &[3, 4, 5], &[7]),
    (Indexing::Slices(2), &[2, 3, 4], &[3, 2]),
    (Indexing::Slices(1), &[1, 2, 1, 2, 1, 2], &[1, 2, 2]),
    (Indexing::Tuples(0), &[4, 3, 5], &[6, 2]),
    (Indexing::Tuples(0), &[4, 3], &[2, 3, 2]),
    (Indexing::Tuples(0), &[4], &[1]),
    (Indexing::Tuples(1), &[3, 4, 5, 2], &[3, 2, 2]),
    (Indexing::Tuples(0), &[2, 3], &[2, 0]),
    // Rows that are whole vectors, some of words too where elements are packed.
    (Indexing::Slices(0), &[7, 16], &[5]),
    (Indexing::Slices(1), &[3, 4, 8], &[3]),
    (Indexing::Tuples(1), &[2, 5, 3, 32], &[2, 3, 1]),
];

/// Random indices, some of them negative or (with `wild`) far outside.
fn indices(
    exec: &Executor,
    dtype: DType,
    dims: &[usize],
    wild: bool,
    rng: &mut Random,
) -> operands::Operand {
    let arrangement = rng.pick(&Arrangement::ALL);
    let mut pick = Random(rng.bits());
    operand(exec, dtype, dims, arrangement, move || {
        let near = pick.below(if wild { 16 } else { 9 }) as f64;
        match (dtype, wild, pick.below(8)) {
            (DType::I32, true, 0) => f64::from(i32::MIN),
            (DType::I32, true, 1) => f64::from(i32::MAX),
            (DType::U32, true, 0) => f64::from(u32::MAX),
            (DType::U32, true, 1) => 2_147_483_648.0,
            (DType::I32, _, 2..=4) => -near - 1.0,
            _ => near,
        }
    })
}

fn gather(
    exec: &Executor,
    how: Indexing,
    a: &View,
    index: &View,
    out: &View,
) -> Result<ziggurat_kernels::Completion, KernelError> {
    match how {
        Indexing::Along(axis) => exec.gather(a, axis, index, out),
        Indexing::Slices(axis) => exec.index_select(a, axis, index, out),
        Indexing::Tuples(batch) => exec.gather_nd(a, index, batch, out),
    }
}

fn gather_sweep(exec: &Executor) {
    let mut rng = Random(41);
    for dtype in DType::ALL {
        for &(how, dims, index_dims) in PROBLEMS {
            for index_dtype in [DType::I32, DType::U32] {
                let arrangement = rng.pick(&Arrangement::ALL);
                let a = random(exec, dtype, dims, arrangement, &mut rng);
                let index = indices(exec, index_dtype, index_dims, true, &mut rng);
                let (wanted, at) = named(how, dims, &index.values, index_dims);
                let out = output(exec, dtype, &wanted, rng.below(5));
                let _done = gather(exec, how, &a.view, &index.view, &out.view).unwrap();
                let expected: Vec<_> = at.iter().map(|&at| Expected::exact(a.values[at])).collect();
                let what = format!("{dtype} {how:?} {dims:?} by {index_dtype} {index_dims:?}");
                check(&what, &out.read(exec), &expected);
            }
        }
    }
}

#[test]
fn gathers_read_what_the_indices_name() {
    let exec = common::executor();
    gather_sweep(&exec);
}

#[test]
fn rows_of_packed_elements_move_by_words_and_by_vectors() {
    let exec = common::executor();
    let mut rng = Random(47);
    for dtype in DType::ALL {
        let a = random(&exec, dtype, &[6, 64], Arrangement::Contiguous, &mut rng);
        // Columns from one to another, of all rows, backwards.
        for (from, len) in [
            (0, 64),
            (16, 32),
            (8, 24),
            (4, 12),
            (16, 8),
            (3, 16),
            (32, 17),
        ] {
            let layout = a
                .view
                .layout
                .narrow(1, from, len)
                .unwrap()
                .flip(&[0])
                .unwrap();
            let part = a.view.with_layout(layout).unwrap();
            let index = indices(&exec, DType::I32, &[9], false, &mut rng);
            for front in [0, 1, 16] {
                let out = output(&exec, dtype, &[9, len], front);
                let _done = exec.index_select(&part, 0, &index.view, &out.view).unwrap();
                let named = index.values.iter().flat_map(|&at| {
                    let at = if at < 0.0 { at + 6.0 } else { at };
                    let row = 5 - (at.clamp(0.0, 5.0) as usize);
                    a.values[row * 64 + from..row * 64 + from + len].iter()
                });
                let expected: Vec<_> = named.map(|&x| Expected::exact(x)).collect();
                check(
                    &format!("{dtype} {from} {len} {front}"),
                    &out.read(&exec),
                    &expected,
                );
            }
        }
    }
}

#[test]
fn gathers_hold_within_the_default_limits() {
    let exec = common::plain_executor();
    gather_sweep(&exec);
}

/// Every op and dtype with four of the problems each: a pipeline per op, dtype and rank takes its time to compile.
fn scatter_sweep(exec: &Executor, seed: u64) {
    let exact = exec.is_deterministic();
    let mut rng = Random(seed);
    for dtype in DType::ALL {
        for op in Scatter::ALL {
            for turn in 0..4 {
                let (how, dims, index_dims) = rng.pick(PROBLEMS);
                if matches!(how, Indexing::Tuples(1..)) {
                    continue;
                }
                let index_dtype = [DType::I32, DType::U32][turn % 2];
                let index = indices(exec, index_dtype, index_dims, true, &mut rng);
                let (wanted, at) = named(how, dims, &index.values, index_dims);
                let arrangement = rng.pick(&Arrangement::ALL);
                let updates = random(exec, dtype, &wanted, arrangement, &mut rng);
                let out = output(exec, dtype, dims, rng.below(5));
                let start = random(exec, dtype, dims, Arrangement::Contiguous, &mut rng);
                let _done = exec.copy(&start.view, &out.view).unwrap();
                let (u, i, o) = (&updates.view, &index.view, &out.view);
                let _done = match how {
                    Indexing::Along(axis) => exec.scatter(op, u, axis, i, o),
                    Indexing::Slices(axis) => exec.index_scatter(op, u, axis, i, o),
                    Indexing::Tuples(_) => exec.scatter_nd(op, u, i, o),
                }
                .unwrap();
                let what = format!("{} {dtype} {how:?} {dims:?} {index_dims:?}", op.name());
                let got = out.read(exec);
                if op == Scatter::Set {
                    for (at_, &got) in got.iter().enumerate() {
                        let mut allowed: Vec<f64> = (at.iter().zip(&updates.values))
                            .filter(|(at, _)| **at == at_)
                            .map(|(_, update)| *update)
                            .collect();
                        if allowed.is_empty() {
                            allowed.push(start.values[at_]);
                        }
                        assert!(
                            allowed.contains(&got),
                            "{what}: {got} at {at_}, not of {allowed:?}"
                        );
                    }
                    continue;
                }
                if exact && dtype.is_float() && matches!(op, Scatter::Add | Scatter::Mul) {
                    let expected = scatter_in_order(op, dtype, &start.values, &at, &updates.values);
                    let expected: Vec<_> = expected.into_iter().map(Expected::exact).collect();
                    check(&what, &got, &expected);
                    continue;
                }
                let expected = expect::scatter(op, dtype, &start.values, &at, &updates.values);
                check(&what, &got, &expected);
            }
        }
    }
}

#[test]
fn scatters_write_what_the_indices_name() {
    let exec = common::executor();
    scatter_sweep(&exec, 42);
}

#[test]
fn scatters_hold_within_the_default_limits() {
    let exec = common::plain_executor();
    scatter_sweep(&exec, 43);
}

#[test]
fn scatters_in_any_order_are_near() {
    let exec = common::fresh_executor();
    exec.set_deterministic(false);
    scatter_sweep(&exec, 44);
    let exec = common::fresh_matrix_executor();
    exec.set_deterministic(false);
    scatter_sweep(&exec, 45);
}

/// Sums of floats with so many duplicates that their order shows, in the bits of the reference on every run.
fn sums_in_order(exec: &Executor, dtype: DType, positions: usize, runs: usize) {
    let mut rng = Random(positions as u64);
    let places: Vec<i32> = (0..positions).map(|_| rng.below(7) as i32 - 2).collect();
    let at: Vec<usize> = places.iter().map(|&at| at.rem_euclid(5) as usize).collect();
    let index = exec.upload(&places, &shape(&[positions])).unwrap();
    let updates = random(exec, dtype, &[positions], Arrangement::Sliced, &mut rng);
    let zeros = vec![0.0; 5];
    let expected = scatter_in_order(Scatter::Add, dtype, &zeros, &at, &updates.values);
    let backwards = scatter_in_order(
        Scatter::Add,
        dtype,
        &zeros,
        &at.iter().rev().copied().collect::<Vec<_>>(),
        &updates.values.iter().rev().copied().collect::<Vec<_>>(),
    );
    assert!(
        dtype != DType::F32 || expected != backwards,
        "the order must show"
    );
    let expected: Vec<_> = expected.into_iter().map(Expected::exact).collect();
    for run in 0..runs {
        let out = output(exec, dtype, &[5], 1);
        let _done = exec.fill(&out.view, 0.0).unwrap();
        let _done = exec
            .scatter(Scatter::Add, &updates.view, 0, &index, &out.view)
            .unwrap();
        check(&format!("{dtype} run {run}"), &out.read(exec), &expected);
    }
}

#[test]
fn sums_have_the_same_bits_on_every_run() {
    for exec in [
        common::executor(),
        common::plain_executor(),
        common::narrow_executor(),
    ] {
        for dtype in [DType::F32, DType::F16, DType::BF16] {
            sums_in_order(&exec, dtype, 200, 20);
            sums_in_order(&exec, dtype, 3000, 20);
        }
    }
}

#[test]
fn long_runs_are_walked_in_pieces() {
    let exec = common::executor();
    for positions in [5 * 4096, 100_000, 500_000] {
        sums_in_order(&exec, DType::F32, positions, 2);
    }
    sums_in_order(&exec, DType::F16, 70_000, 2);
    // Lanes and products.
    let (rows, lanes) = (9000, 3);
    let index = exec.upload(&vec![1_i32; rows], &shape(&[rows])).unwrap();
    let mut rng = Random(6);
    let factors = operand(
        &exec,
        DType::F32,
        &[rows, lanes],
        Arrangement::Transposed,
        || 1.0 + rng.value(DType::F32) / 1024.0,
    );
    let mut rng = Random(7);
    let start = random(
        &exec,
        DType::F32,
        &[2, lanes],
        Arrangement::Contiguous,
        &mut rng,
    );
    let out = output(&exec, DType::F32, &[2, lanes], 0);
    let _done = exec.copy(&start.view, &out.view).unwrap();
    let _done = exec
        .index_scatter(Scatter::Mul, &factors.view, 0, &index, &out.view)
        .unwrap();
    let at: Vec<usize> = (0..rows * lanes).map(|i| lanes + i % lanes).collect();
    let expected = scatter_in_order(
        Scatter::Mul,
        DType::F32,
        &start.values,
        &at,
        &factors.values,
    );
    let expected: Vec<_> = expected.into_iter().map(Expected::exact).collect();
    check("products", &out.read(&exec), &expected);
}

#[test]
fn more_updates_than_are_sorted_together_keep_their_order() {
    let exec = common::executor();
    let (together, rest) = (1 << 22, 1000);
    let n = together + rest;
    let mut rng = Random(8);
    let places: Vec<i32> = (0..n).map(|_| rng.below(999) as i32).collect();
    let at: Vec<usize> = places.iter().map(|&at| at as usize).collect();
    let index = exec.upload(&places, &shape(&[n])).unwrap();
    let updates = random(&exec, DType::F32, &[n], Arrangement::Contiguous, &mut rng);
    let out = output(&exec, DType::F32, &[999], 0);
    let _done = exec.fill(&out.view, 0.5).unwrap();
    let _done = exec
        .scatter(Scatter::Add, &updates.view, 0, &index, &out.view)
        .unwrap();
    let add = |start: &[f64], part: std::ops::Range<usize>| {
        let (at, updates) = (&at[part.clone()], &updates.values[part]);
        scatter_in_order(Scatter::Add, DType::F32, start, at, updates)
    };
    let expected = add(&add(&[0.5; 999], 0..together), together..n);
    let expected: Vec<_> = expected.into_iter().map(Expected::exact).collect();
    check("sums", &out.read(&exec), &expected);
}

#[test]
fn many_updates_of_one_byte_lose_nothing() {
    let exec = common::executor();
    let n = 30_000;
    let index: Vec<i32> = (0..n).map(|i| i % 3).collect();
    let index = exec.upload(&index, &shape(&[n as usize])).unwrap();
    let ones = exec
        .upload(&vec![1_u8; n as usize], &shape(&[n as usize]))
        .unwrap();
    let out = output(&exec, DType::U8, &[3], 1);
    let _done = exec.fill(&out.view, 0.0).unwrap();
    let _done = exec
        .scatter(Scatter::Add, &ones, 0, &index, &out.view)
        .unwrap();
    assert_eq!(out.read(&exec), [f64::from(10_000 % 256); 3]);
}

#[test]
fn nan_wins_in_scattered_extremes() {
    let exec = common::executor();
    let index = exec.upload(&[0_i32, 1, 1, 2], &shape(&[4])).unwrap();
    let updates = exec
        .upload(&[f32::NAN, 1.0, -5.0, f32::NEG_INFINITY], &shape(&[4]))
        .unwrap();
    for (op, middle, last) in [
        (Scatter::Max, 1.0, 7.0),
        (Scatter::Min, -5.0, f64::NEG_INFINITY),
    ] {
        let out = output(&exec, DType::F32, &[3], 0);
        let start = exec.upload(&[1.0_f32, 0.0, 7.0], &shape(&[3])).unwrap();
        let _done = exec.copy(&start, &out.view).unwrap();
        let _done = exec.scatter(op, &updates, 0, &index, &out.view).unwrap();
        let got = out.read(&exec);
        assert!(
            got[0].is_nan() && got[1] == middle && got[2] == last,
            "{op:?} {got:?}"
        );
    }
}

#[test]
fn a_scatter_may_read_the_memory_that_it_writes() {
    let exec = common::executor();
    let all = exec.upload(&[10_i32, 20, 30, 40], &shape(&[4])).unwrap();
    let reversed = exec.upload(&[3_i32, 2, 1, 0], &shape(&[4])).unwrap();
    let _done = exec
        .scatter(Scatter::Set, &all, 0, &reversed, &all)
        .unwrap();
    let bytes = exec.download(&all).unwrap().wait().unwrap();
    assert_eq!(
        bytemuck::pod_collect_to_vec::<u8, i32>(&bytes),
        [40, 30, 20, 10]
    );
}

#[test]
fn the_check_finds_the_first_index_that_names_nothing() {
    let exec = common::executor();
    let first = |values: &[f64], dtype, dims: &[usize], extents: &[usize]| {
        let index = operands::given(&exec, dtype, dims, values);
        let flag = exec.alloc(&shape(&[1]), DType::U32).unwrap();
        let _done = exec.fill(&flag, f64::from(u32::MAX)).unwrap();
        let _done = exec.check_indices(&index.view, extents, &flag).unwrap();
        let bytes = exec.download(&flag).unwrap().wait().unwrap();
        let at = u32::from_le_bytes(bytes.try_into().unwrap());
        (at != u32::MAX).then_some(at)
    };
    assert_eq!(first(&[0., 2., -3.], DType::I32, &[3], &[3]), None);
    assert_eq!(first(&[0., 3., -4.], DType::I32, &[3], &[3]), Some(1));
    assert_eq!(first(&[0., 2., -4.], DType::I32, &[3], &[3]), Some(2));
    assert_eq!(
        first(&[-2_147_483_648., 0.], DType::I32, &[2], &[3]),
        Some(0)
    );
    assert_eq!(
        first(&[0., 2., 4_294_967_295.], DType::U32, &[3], &[3]),
        Some(2)
    );
    assert_eq!(
        first(&[1., 4., 0., 5.], DType::I32, &[2, 2], &[2, 5]),
        Some(3)
    );
    assert_eq!(
        first(&[1., 4., 0., -5.], DType::I32, &[2, 2], &[2, 5]),
        None
    );
    assert_eq!(first(&[], DType::I32, &[0], &[0]), None);
    assert_eq!(first(&[0.], DType::I32, &[1], &[0]), Some(0));
    let mut many = vec![0.0; 70_000];
    (many[65_000], many[69_999]) = (1.0, 1.0);
    assert_eq!(first(&many, DType::I32, &[70_000], &[1]), Some(65_000));
}

#[test]
fn what_does_not_fit_is_refused() {
    let exec = common::executor();
    let view = |dims: &[usize], dtype| exec.alloc(&shape(dims), dtype).unwrap();
    let (a, index) = (view(&[2, 3], DType::F32), view(&[2, 2], DType::I32));
    let text =
        |result: Result<ziggurat_kernels::Completion, KernelError>| result.unwrap_err().to_string();
    let out = view(&[2, 2], DType::F32);
    assert_eq!(
        text(exec.gather(&a, 1, &view(&[2, 2], DType::F32), &out)),
        "gather: indices is f32, but indices are i32 or u32"
    );
    assert!(text(exec.gather(&a, 2, &index, &out)).starts_with("gather: "));
    assert_eq!(
        text(exec.gather(&a, 1, &view(&[3, 2], DType::I32), &out)),
        "gather: the indices must reach no further than the data along the other axes: left is [2, 3], right is [3, 2]"
    );
    assert_eq!(
        text(exec.gather(&a, 1, &index, &a)),
        "gather: the output must be [2, 2], but it is [2, 3]"
    );
    assert_eq!(
        text(exec.gather(&a, 1, &index, &view(&[2, 2], DType::F16))),
        "gather: out is f16, but it must have the dtype of a"
    );
    assert_eq!(
        text(exec.gather(&view(&[2, 0], DType::F32), 1, &index, &out)),
        "gather: the data must have elements along the indexed axes, but its shape is [2, 0]"
    );
    assert!(text(exec.gather_nd(&a, &view(&[2, 3], DType::I32), 0, &out)).contains("components"));
    assert!(
        text(exec.gather_nd(&a, &view(&[], DType::I32), 0, &out)).contains("must have an axis")
    );
    assert!(text(exec.gather_nd(&a, &view(&[3, 1], DType::I32), 1, &out)).contains("batch axes"));
    assert_eq!(
        text(exec.scatter(Scatter::Add, &a, 1, &index, &a)),
        "scatter_add: the updates must have the shape that the indices ask for: left is [2, 3], right is [2, 2]"
    );
    assert_eq!(
        text(exec.scatter(Scatter::Set, &view(&[2, 2], DType::I8), 1, &index, &a)),
        "scatter: updates is i8, but it must have the output's dtype"
    );
    let spread = a
        .with_layout(
            view(&[1, 3], DType::F32)
                .layout
                .expand(shape(&[2, 3]))
                .unwrap(),
        )
        .unwrap();
    assert!(text(exec.scatter(Scatter::Set, &out, 1, &index, &spread)).contains("more than once"));
    assert!(
        text(exec.check_indices(&index, &[2, 3, 4], &view(&[1], DType::U32))).contains("component")
    );
    assert!(
        text(exec.check_indices(&index, &[2], &view(&[2], DType::U32))).contains("must be one u32")
    );
}
