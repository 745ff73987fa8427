//! Pooling against the reference: windows, padding, divisors, NaN, dtypes, arrangements.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;
#[path = "common/operands.rs"]
mod operands;

use operands::{Arrangement, Expected, Operand, Random, check, given, output, random, shape};
use ziggurat_kernels::reference::pool::pool2d;
use ziggurat_kernels::{DType, Executor, KernelError, Pool, Pool2dOptions, View, pool2d_extents};

fn run(exec: &Executor, op: Pool, x: &Operand, options: &Pool2dOptions, front: usize) {
    let dtype = x.view.dtype;
    let &[n, c, h, w] = x.view.dims() else {
        unreachable!("rank 4")
    };
    let size = pool2d_extents([h, w], options).unwrap();
    let out = output(exec, dtype, &[n, c, size[0], size[1]], front);
    let _done = exec.pool2d(op, &x.view, options, &out.view).unwrap();
    let lowest = match dtype {
        DType::I32 => f64::from(i32::MIN),
        DType::I8 => -128.0,
        _ => 0.0,
    };
    let terms = options.kernel[0] * options.kernel[1];
    let expected: Vec<Expected> = pool2d(op, &x.values, [n * c, h, w], options, size)
        .into_iter()
        .map(|y| match op {
            // A window of nothing but padding: integers have no −inf.
            Pool::Max if !dtype.is_float() && y == f64::NEG_INFINITY => Expected::exact(lowest),
            Pool::Max => Expected::exact(y),
            Pool::Average => Expected::sum(y, 2.0, terms, dtype),
        })
        .collect();
    check(
        &format!("{op:?} {dtype} {:?} {options:?}", x.view.layout),
        &out.read(exec),
        &expected,
    );
}

fn run_both(exec: &Executor, x: &Operand, options: &Pool2dOptions, front: usize) {
    for op in Pool::ALL.into_iter().filter(|op| op.accepts(x.view.dtype)) {
        run(exec, op, x, options, front);
    }
}

#[test]
fn every_dtype_and_arrangement_pools() {
    let Some(exec) = common::executor() else {
        return;
    };
    let mut rng = Random(1);
    let options = Pool2dOptions {
        strides: [2, 1],
        pads_begin: [1, 1],
        pads_end: [0, 1],
        ..Pool2dOptions::new([3, 2])
    };
    for dtype in DType::ALL
        .into_iter()
        .filter(|dtype| Pool::Max.accepts(*dtype))
    {
        for arrangement in Arrangement::ALL {
            let x = random(&exec, dtype, &[2, 3, 7, 6], arrangement, &mut rng);
            run_both(&exec, &x, &options, 3);
        }
    }
}

#[test]
fn random_windows_agree_with_the_reference() {
    let Some(exec) = common::executor() else {
        return;
    };
    let mut rng = Random(2);
    for _ in 0..80 {
        let pair =
            |rng: &mut Random, low: usize, n: usize| [low + rng.below(n), low + rng.below(n)];
        let options = Pool2dOptions {
            kernel: pair(&mut rng, 1, 4),
            strides: pair(&mut rng, 1, 3),
            dilations: pair(&mut rng, 1, 3),
            pads_begin: pair(&mut rng, 0, 3),
            pads_end: pair(&mut rng, 0, 3),
            ceil_mode: rng.below(2) == 0,
            count_include_pad: rng.below(2) == 0,
        };
        let size = [0, 1]
            .map(|axis| (options.kernel[axis] - 1) * options.dilations[axis] + 1 + rng.below(7));
        let dims = [1 + rng.below(2), 1 + rng.below(3), size[0], size[1]];
        let x = random(
            &exec,
            DType::F32,
            &dims,
            rng.pick(&Arrangement::ALL),
            &mut rng,
        );
        run_both(&exec, &x, &options, rng.below(5));
    }
}

#[test]
fn small_workgroups_and_default_limits_give_the_same() {
    let mut rng = Random(3);
    for exec in [common::narrow_executor(), common::plain_executor()]
        .into_iter()
        .flatten()
    {
        // With 8 invocations 700 x 800 windows are more than one row of workgroups.
        let x = random(
            &exec,
            DType::F16,
            &[1, 1, 701, 801],
            Arrangement::Contiguous,
            &mut rng,
        );
        run_both(
            &exec,
            &x,
            &Pool2dOptions {
                strides: [1, 1],
                ..Pool2dOptions::new([2, 2])
            },
            0,
        );
    }
}

fn line(
    kernel: usize,
    strides: usize,
    pad: usize,
    ceil_mode: bool,
    count_include_pad: bool,
) -> Pool2dOptions {
    Pool2dOptions {
        strides: [1, strides],
        pads_begin: [0, pad],
        pads_end: [0, pad],
        ceil_mode,
        count_include_pad,
        ..Pool2dOptions::new([1, kernel])
    }
}

#[test]
fn divisors_follow_the_padding_and_ceil_rules() {
    let Some(exec) = common::executor() else {
        return;
    };
    for (len, options, wanted) in [
        (5, line(2, 2, 1, false, true), &[0.5, 2.5, 4.5][..]),
        (5, line(2, 2, 1, false, false), &[1.0, 2.5, 4.5]),
        (5, line(2, 2, 0, true, true), &[1.5, 3.5, 5.0]),
        (4, line(3, 2, 1, true, true), &[1.0, 3.0, 2.0]),
    ] {
        let values: Vec<f64> = (1..=len).map(|i| i as f64).collect();
        let x = given(&exec, DType::F32, &[1, 1, 1, len], &values);
        let out = output(&exec, DType::F32, &[1, 1, 1, wanted.len()], 0);
        let _done = exec
            .pool2d(Pool::Average, &x.view, &options, &out.view)
            .unwrap();
        assert_eq!(out.read(&exec), wanted, "{options:?}");
    }
}

#[test]
fn not_a_number_wins_and_padding_never_does() {
    let Some(exec) = common::executor() else {
        return;
    };
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        let x = given(
            &exec,
            dtype,
            &[1, 1, 1, 6],
            &[
                f64::NEG_INFINITY,
                f64::NEG_INFINITY,
                1.0,
                f64::NAN,
                5.0,
                -2.0,
            ],
        );
        run(&exec, Pool::Max, &x, &line(2, 1, 1, false, false), 0);
        let out = output(&exec, dtype, &[1, 1, 1, 7], 0);
        let _done = exec
            .pool2d(Pool::Max, &x.view, &line(2, 1, 1, false, false), &out.view)
            .unwrap();
        let y = out.read(&exec);
        assert_eq!(y[0], f64::NEG_INFINITY);
        assert!(
            y[3].is_nan() && y[4].is_nan() && y[5] == 5.0 && y[6] == -2.0,
            "{y:?}"
        );
    }
}

#[test]
fn no_images_are_fine_and_wrong_calls_are_typed_errors() {
    let Some(exec) = common::executor() else {
        return;
    };
    let view = |dtype, dims: &[usize]| exec.alloc(&shape(dims), dtype).unwrap();
    let f = |dims: &[usize]| view(DType::F32, dims);
    let options = Pool2dOptions::new([2, 2]);
    let _done = exec
        .pool2d(Pool::Max, &f(&[0, 3, 4, 4]), &options, &f(&[0, 3, 2, 2]))
        .unwrap();
    let pool = |op, x: &View, out: &View| exec.pool2d(op, x, &options, out).unwrap_err();
    let (x, out) = (f(&[1, 3, 4, 4]), f(&[1, 3, 2, 2]));
    assert!(matches!(
        pool(Pool::Max, &f(&[3, 4, 4]), &out),
        KernelError::Operand { .. }
    ));
    assert!(matches!(
        pool(Pool::Max, &x, &f(&[1, 3, 2, 3])),
        KernelError::Output { .. }
    ));
    assert!(matches!(
        pool(Pool::Max, &f(&[1, 3, 1, 4]), &out),
        KernelError::Option { .. }
    ));
    assert!(matches!(
        pool(Pool::Max, &x, &view(DType::F16, &[1, 3, 2, 2])),
        KernelError::Dtype { .. }
    ));
    let ints = view(DType::I32, &[1, 3, 4, 4]);
    assert!(matches!(
        pool(Pool::Average, &ints, &view(DType::I32, &[1, 3, 2, 2])),
        KernelError::Dtype { .. }
    ));
}
