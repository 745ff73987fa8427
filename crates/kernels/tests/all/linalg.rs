//! Small linear algebra against the reference: sides around the workgroup, batches, views, singular matrices, errors.

use crate::common;
use crate::expect;
use crate::operands::{Arrangement, Operand, Random, check, given, operand, output, random, shape};
use ziggurat_kernels::reference::linalg::{cholesky, solve};
use ziggurat_kernels::{DType, Executor, KernelError};

/// Well conditioned: random values with a dominant, but moved, diagonal.
fn matrices(exec: &Executor, batch: usize, n: usize, arrangement: Arrangement) -> Operand {
    let mut rng = Random(n as u64 + 1);
    let mut i = 0;
    operand(exec, DType::F32, &[batch, n, n], arrangement, || {
        let (row, col) = (i / n % n, i % n);
        i += 1;
        let far = if (row + 1) % n == col {
            2.0 * n as f64
        } else {
            0.0
        };
        (rng.value(DType::F32) / 8.0 + far)
            .mul_add(64.0, 0.0)
            .round()
            / 64.0
    })
}

fn run(exec: &Executor, batch: usize, n: usize, columns: usize, arrangement: Arrangement) {
    let a = matrices(exec, batch, n, arrangement);
    let b = random(
        exec,
        DType::F32,
        &[batch, n, columns],
        arrangement,
        &mut Random(3),
    );
    let out = output(exec, DType::F32, &[batch, n, columns], 3);
    let _done = exec.solve(&a.view, &b.view, &out.view).unwrap();
    let dets = output(exec, DType::F32, &[batch], 1);
    let _done = exec.determinant(&a.view, &dets.view).unwrap();
    let (mut x, mut d) = (Vec::new(), Vec::new());
    for i in 0..batch {
        let side = &b.values[i * n * columns..][..n * columns];
        let (solution, det) = solve(&a.values[i * n * n..][..n * n], side, n, columns);
        x.extend(solution);
        d.push(det);
    }
    let what = format!("{batch} {n} {columns} {arrangement:?}");
    check(&what, &out.read(exec), &expect::near(&x, 64.0 * n as f64));
    // Beyond f32 there is nothing to compare.
    if d.iter().all(|d| d.abs() < 1e37) {
        check(&what, &dets.read(exec), &expect::near(&d, 64.0 * n as f64));
    }
    for (upper, unit) in [(false, false), (true, false), (false, true), (true, true)] {
        let mut i = 0;
        let mut rng = Random(9);
        let t = operand(exec, DType::F32, &[batch, n, n], arrangement, || {
            let (row, col) = (i / n % n, i % n);
            i += 1;
            // Small off the diagonal, so that solutions stay small.
            rng.value(DType::F32) / (8.0 * n as f64) + if row == col { 2.0 } else { 0.0 }
        });
        let out = output(exec, DType::F32, &[batch, n, columns], 0);
        let _done = exec
            .solve_triangular(&t.view, &b.view, upper, unit, &out.view)
            .unwrap();
        let mut x = Vec::new();
        for i in 0..batch {
            let matrix: Vec<f64> = (0..n * n)
                .map(|e| {
                    let (row, col) = (e / n, e % n);
                    let inside = if upper { col > row } else { col < row };
                    match (row == col, unit) {
                        (true, true) => 1.0,
                        (true, false) => t.values[i * n * n + e],
                        _ if inside => t.values[i * n * n + e],
                        _ => 0.0,
                    }
                })
                .collect();
            let side = &b.values[i * n * columns..][..n * columns];
            x.extend(solve(&matrix, side, n, columns).0);
        }
        check(&what, &out.read(exec), &expect::near(&x, 64.0 * n as f64));
    }
}

#[test]
fn systems_of_every_side_and_arrangement() {
    let exec = common::executor();
    for arrangement in Arrangement::ALL {
        run(&exec, 3, 5, 2, arrangement);
    }
    for (batch, n, columns) in [
        (1, 1, 1),
        (2, 2, 1),
        (1, 3, 7),
        (2, 31, 3),
        (1, 64, 1),
        (1, 65, 2),
        (300, 3, 1),
        (1, 129, 1),
    ] {
        run(&exec, batch, n, columns, Arrangement::Contiguous);
    }
}

#[test]
fn small_workgroups_and_default_limits_give_the_same() {
    for exec in [common::narrow_executor(), common::plain_executor()] {
        run(&exec, 2, 17, 3, Arrangement::Contiguous);
    }
    // More than one row of workgroups.
    let exec = common::executor();
    let count = 65_537;
    let values: Vec<f64> = (0..count)
        .flat_map(|i| [1.0, 2.0, 3.0, (i % 7) as f64])
        .collect();
    let a = given(&exec, DType::F32, &[count, 2, 2], &values);
    let out = output(&exec, DType::F32, &[count], 0);
    let _done = exec.determinant(&a.view, &out.view).unwrap();
    let expected: Vec<f64> = (0..count).map(|i| (i % 7) as f64 - 6.0).collect();
    check("many", &out.read(&exec), &expect::near(&expected, 16.0));
}

#[test]
fn factors_of_positive_definite_matrices() {
    let exec = common::executor();
    for n in [1, 2, 5, 33, 70] {
        let mut rng = Random(n as u64);
        let m: Vec<f64> = (0..2 * n * n)
            .map(|_| rng.value(DType::F32) / 8.0)
            .collect();
        let mut values = Vec::new();
        for b in 0..2 {
            for i in 0..n {
                for j in 0..n {
                    let dot: f64 = (0..n)
                        .map(|k| m[(b * n + i) * n + k] * m[(b * n + j) * n + k])
                        .sum();
                    // What is above the diagonal is not read.
                    let value = dot / n as f64 + if i == j { 4.0 } else { 0.0 };
                    values.push(f64::from(if j > i { f32::NAN } else { value as f32 }));
                }
            }
        }
        let a = given(&exec, DType::F32, &[2, n, n], &values);
        let out = output(&exec, DType::F32, &[2, n, n], 2);
        let _done = exec.cholesky(&a.view, &out.view).unwrap();
        let expected: Vec<f64> = (0..2)
            .flat_map(|b| cholesky(&values[b * n * n..][..n * n], n))
            .collect();
        check(
            &format!("{n}"),
            &out.read(&exec),
            &expect::near(&expected, 32.0 * n as f64),
        );
    }
    let a = given(&exec, DType::F32, &[2, 2], &[1.0, 2.0, 2.0, 1.0]);
    let out = output(&exec, DType::F32, &[2, 2], 0);
    let _done = exec.cholesky(&a.view, &out.view).unwrap();
    let y = out.read(&exec);
    assert!(
        y[0] == 1.0 && y[1] == 0.0 && y[2] == 2.0 && y[3].is_nan(),
        "{y:?}"
    );
}

#[test]
fn singular_matrices_and_nan_are_seen_and_nothing_panics() {
    let exec = common::executor();
    let a = given(&exec, DType::F32, &[2, 2], &[1.0, 2.0, 2.0, 4.0]);
    let b = given(&exec, DType::F32, &[2, 1], &[1.0, 1.0]);
    let (x, d) = (
        output(&exec, DType::F32, &[2, 1], 0),
        output(&exec, DType::F32, &[], 0),
    );
    let _done = exec.solve(&a.view, &b.view, &x.view).unwrap();
    let _done = exec.determinant(&a.view, &d.view).unwrap();
    assert!(x.read(&exec).iter().all(|v| !v.is_finite()));
    assert_eq!(d.read(&exec), [0.0]);
    // A pivot of 0 before the last: equal rows, a column of zeros, nothing but zeros, rank 2 of 4.
    let singular: [(usize, &[f64]); 4] = [
        (3, &[1.0; 9]),
        (3, &[0.0, 2.0, 3.0, 0.0, 5.0, 6.0, 0.0, 8.0, 10.0]),
        (4, &[0.0; 16]),
        (
            4,
            &[
                1.0, 2.0, 0.0, 1.0, 2.0, 4.0, 0.0, 2.0, 0.0, 1.0, 1.0, 0.0, 0.0, 2.0, 2.0, 0.0,
            ],
        ),
    ];
    for (n, values) in singular {
        let a = given(&exec, DType::F32, &[n, n], values);
        let d = output(&exec, DType::F32, &[], 0);
        let _done = exec.determinant(&a.view, &d.view).unwrap();
        assert_eq!(d.read(&exec), [0.0], "{values:?}");
        assert_eq!(solve(values, &[], n, 0).1, 0.0, "{values:?}");
        let b = given(&exec, DType::F32, &[n, 1], &vec![1.0; n]);
        let x = output(&exec, DType::F32, &[n, 1], 0);
        let _done = exec.solve(&a.view, &b.view, &x.view).unwrap();
        let got = x.read(&exec);
        assert!(got.iter().any(|v| !v.is_finite()), "{values:?}: {got:?}");
    }
    let a = given(&exec, DType::F32, &[2, 2], &[1.0, 2.0, f64::NAN, 4.0]);
    let d = output(&exec, DType::F32, &[], 0);
    let _done = exec.determinant(&a.view, &d.view).unwrap();
    assert!(d.read(&exec)[0].is_nan());
}

#[test]
fn empty_batches_are_fine_and_wrong_calls_are_typed_errors() {
    let exec = common::executor();
    let view = |dtype, dims: &[usize]| exec.alloc(&shape(dims), dtype).unwrap();
    let f = |dims: &[usize]| view(DType::F32, dims);
    let none = output(&exec, DType::F32, &[2], 0);
    let _done = exec.determinant(&f(&[2, 0, 0]), &none.view).unwrap();
    assert_eq!(none.read(&exec), [1.0, 1.0]);
    let _done = exec
        .solve(&f(&[0, 3, 3]), &f(&[0, 3, 1]), &f(&[0, 3, 1]))
        .unwrap();
    let _done = exec.cholesky(&f(&[2, 0, 0]), &f(&[2, 0, 0])).unwrap();
    assert_eq!(
        exec.cholesky(&f(&[2, 3]), &f(&[2, 3]))
            .unwrap_err()
            .to_string(),
        "cholesky: a must be square in its last two axes, but its shape is [2, 3]"
    );
    assert!(matches!(
        exec.determinant(&f(&[1025, 1025]), &f(&[])).unwrap_err(),
        KernelError::Operand { .. }
    ));
    assert!(matches!(
        exec.determinant(&f(&[3]), &f(&[])).unwrap_err(),
        KernelError::Operand { .. }
    ));
    assert!(matches!(
        exec.solve(&f(&[3, 3]), &f(&[2, 1]), &f(&[2, 1]))
            .unwrap_err(),
        KernelError::Operands { .. }
    ));
    assert!(matches!(
        exec.solve(&f(&[3, 3]), &f(&[3, 1]), &f(&[3, 2]))
            .unwrap_err(),
        KernelError::Output { .. }
    ));
    assert!(matches!(
        exec.cholesky(&view(DType::F16, &[3, 3]), &view(DType::F16, &[3, 3]))
            .unwrap_err(),
        KernelError::Dtype { .. }
    ));
}
