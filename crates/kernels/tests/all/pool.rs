//! Pooling against the reference: windows, padding, divisors, NaN, dtypes, arrangements.

use crate::common;
use crate::expect;
use crate::operands::{
    Arrangement, Expected, Operand, Random, check, given, output, random, shape,
};
use ziggurat_kernels::core::{decode, encode};
use ziggurat_kernels::reference::pool::max_indices;
use ziggurat_kernels::{DType, Executor, KernelError, Pool, Pool2dOptions, PoolOptions, View};

fn extents<const N: usize>(dims: &[usize]) -> [usize; N] {
    dims[2..].try_into().unwrap()
}

fn run<const N: usize>(
    exec: &Executor,
    op: Pool,
    x: &Operand,
    options: &PoolOptions<N>,
    front: usize,
) {
    let dtype = x.view.dtype;
    let dims = options.output_shape("pool", x.view.shape()).unwrap();
    let out = output(exec, dtype, dims.dims(), front);
    let _done = exec.pool(op, &x.view, options, &out.view).unwrap();
    let (from, to) = (extents(x.view.dims()), extents(dims.dims()));
    let expected = expect::pool(op, &x.values, from, options, to, dtype);
    let what = format!("{dtype} {:?} {options:?}", x.view.layout);
    check(&format!("{op:?} {what}"), &out.read(exec), &expected);
    if op == Pool::Max {
        let out = output(exec, DType::I32, dims.dims(), front);
        let _done = exec.max_pool_indices(&x.view, options, &out.view).unwrap();
        let expected: Vec<Expected> = max_indices(&x.values, from, options, to)
            .into_iter()
            .map(Expected::exact)
            .collect();
        check(&format!("indices {what}"), &out.read(exec), &expected);
    }
}

fn run_both<const N: usize>(exec: &Executor, x: &Operand, options: &PoolOptions<N>, front: usize) {
    for op in Pool::ALL.into_iter().filter(|op| op.accepts(x.view.dtype)) {
        run(exec, op, x, options, front);
    }
}

/// Random windows over `N` axes, each of which holds an element.
fn random_windows<const N: usize>(rng: &mut Random) -> (PoolOptions<N>, Vec<usize>) {
    loop {
        let array = |rng: &mut Random, low: usize, n: usize| [(); N].map(|()| low + rng.below(n));
        let options = PoolOptions {
            kernel: array(rng, 1, 4),
            stride: array(rng, 1, 3),
            dilation: array(rng, 1, 3),
            padding_begin: array(rng, 0, 3),
            padding_end: array(rng, 0, 3),
            ceil_mode: rng.below(2) == 0,
            count_include_pad: rng.below(2) == 0,
            divisor_override: (rng.below(4) == 0).then_some(7),
        };
        let mut dims = vec![1 + rng.below(2), 1 + rng.below(3)];
        for axis in 0..N {
            let span = (options.kernel[axis] - 1) * options.dilation[axis] + 1;
            dims.push(span + rng.below(7));
        }
        if options.output_shape("pool", &shape(&dims)).is_ok() {
            return (options, dims);
        }
    }
}

fn run_random<const N: usize>(exec: &Executor, rng: &mut Random) {
    let (options, dims) = random_windows::<N>(rng);
    let arrangement = rng.pick(&Arrangement::ALL);
    let x = random(exec, DType::F32, &dims, arrangement, rng);
    run_both(exec, &x, &options, rng.below(5));
}

#[test]
fn random_windows_agree_with_the_reference() {
    let exec = common::executor();
    let mut rng = Random(2);
    for _ in 0..30 {
        run_random::<1>(&exec, &mut rng);
        run_random::<2>(&exec, &mut rng);
        run_random::<3>(&exec, &mut rng);
    }
}

#[test]
fn norms_agree_with_the_reference() {
    let exec = common::executor();
    let mut rng = Random(4);
    for case in 0..24 {
        let (options, dims) = random_windows::<2>(&mut rng);
        let dtype = [DType::F32, DType::F16, DType::BF16][case % 3];
        let p = [1.0, 2.0, 3.0, 0.5][case % 4];
        let x = random(&exec, dtype, &dims, rng.pick(&Arrangement::ALL), &mut rng);
        let shape = options.output_shape("lp_pool", x.view.shape()).unwrap();
        let out = output(&exec, dtype, shape.dims(), 2);
        let _done = exec.lp_pool(&x.view, p, &options, &out.view).unwrap();
        let (from, to) = (extents(x.view.dims()), extents(shape.dims()));
        let expected = expect::lp_pool(&x.values, f64::from(p), from, &options, to, dtype);
        check(&format!("p {p} {options:?}"), &out.read(&exec), &expected);
    }
    let x = given(
        &exec,
        DType::F32,
        &[1, 1, 4],
        &[f64::INFINITY, 1.0, f64::NAN, 0.0],
    );
    let out = output(&exec, DType::F32, &[1, 1, 4], 0);
    let _done = exec
        .lp_pool(&x.view, 3.0, &PoolOptions::new([1]), &out.view)
        .unwrap();
    let y = out.read(&exec);
    assert!(
        y[0] == f64::INFINITY && y[1] == 1.0 && y[2].is_nan() && y[3] == 0.0,
        "{y:?}"
    );
    for p in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        assert!(matches!(
            exec.lp_pool(&x.view, p, &PoolOptions::new([1]), &out.view)
                .unwrap_err(),
            KernelError::Number { number: "p", .. }
        ));
    }
}

fn run_adaptive<const N: usize>(exec: &Executor, rng: &mut Random, dtype: DType) {
    let from: [usize; N] = [(); N].map(|()| 1 + rng.below(9));
    let to: [usize; N] = [(); N].map(|()| 1 + rng.below(9));
    let arrangement = rng.pick(&Arrangement::ALL);
    run_adaptive_to(exec, rng, dtype, arrangement, [from, to]);
}

fn run_adaptive_to<const N: usize>(
    exec: &Executor,
    rng: &mut Random,
    dtype: DType,
    arrangement: Arrangement,
    [from, to]: [[usize; N]; 2],
) {
    let dims = [&[2, 1 + rng.below(3)], &from[..]].concat();
    let x = random(exec, dtype, &dims, arrangement, rng);
    let dims = [&dims[..2], &to[..]].concat();
    for op in Pool::ALL.into_iter().filter(|op| op.accepts(dtype)) {
        let out = output(exec, dtype, &dims, 3);
        let _done = exec.adaptive_pool::<N>(op, &x.view, &out.view).unwrap();
        let (expected, places) = expect::adaptive_pool(op, &x.values, from, to, dtype);
        let what = format!("{op:?} {dtype} {:?} to {to:?}", x.view.layout);
        check(&what, &out.read(exec), &expected);
        if op == Pool::Max {
            let out = output(exec, DType::I32, &dims, 3);
            let _done = exec
                .adaptive_max_pool_indices::<N>(&x.view, &out.view)
                .unwrap();
            check(&what, &out.read(exec), &places);
        }
    }
}

/// Rows of whole vectors, those that are not, and small windows of one size.
#[test]
fn rows_of_adaptive_windows_agree_in_vectors_and_element_by_element() {
    let exec = common::executor();
    let mut rng = Random(6);
    let extents = [
        [[7, 24], [3, 2]],
        [[5, 12], [2, 3]],
        [[5, 12], [2, 2]],
        [[6, 12], [2, 4]],
    ];
    for dtype in DType::ALL
        .into_iter()
        .filter(|dtype| Pool::Max.accepts(*dtype))
    {
        for arrangement in Arrangement::ALL {
            for extents in extents {
                run_adaptive_to(&exec, &mut rng, dtype, arrangement, extents);
            }
        }
    }
}

#[test]
fn adaptive_windows_agree_with_the_reference() {
    let exec = common::executor();
    let mut rng = Random(5);
    for dtype in DType::ALL
        .into_iter()
        .filter(|dtype| Pool::Max.accepts(*dtype))
    {
        for _ in 0..3 {
            run_adaptive::<1>(&exec, &mut rng, dtype);
            run_adaptive::<2>(&exec, &mut rng, dtype);
            run_adaptive::<3>(&exec, &mut rng, dtype);
        }
    }
    // Extents whose products do not fit 32 bits.
    let values: Vec<f64> = (0..70_001).map(f64::from).collect();
    let x = given(&exec, DType::F32, &[1, 1, 70_001], &values);
    let out = output(&exec, DType::F32, &[1, 1, 65_535], 0);
    let _done = exec
        .adaptive_pool::<1>(Pool::Max, &x.view, &out.view)
        .unwrap();
    let expected: Vec<Expected> = (1..=65_535_u64)
        .map(|o| Expected::exact((o * 70_001).div_ceil(65_535) as f64 - 1.0))
        .collect();
    check("long", &out.read(&exec), &expected);
}

#[test]
fn windows_that_take_several_dispatches_agree_with_the_reference() {
    let mut rng = Random(17);
    let executors = [common::executor(), common::plain_executor()];
    for exec in executors {
        for dtype in [DType::F32, DType::BF16, DType::I8] {
            for include in [false, true] {
                let options = PoolOptions {
                    stride: [60, 1],
                    dilation: [1, 2],
                    padding_begin: [100, 0],
                    padding_end: [50, 3],
                    ceil_mode: true,
                    count_include_pad: include,
                    ..PoolOptions::new([260, 130])
                };
                let dims = [1, 2, 300, 258];
                let x = random(&exec, dtype, &dims, Arrangement::Flipped, &mut rng);
                run_both(&exec, &x, &options, 3);
            }
            let dims = [1, 1, 350, 400];
            let x = random(&exec, dtype, &dims, Arrangement::Transposed, &mut rng);
            for op in Pool::ALL.into_iter().filter(|op| op.accepts(dtype)) {
                let out = output(&exec, dtype, &[1, 1, 1, 3], 3);
                let _done = exec.adaptive_pool::<2>(op, &x.view, &out.view).unwrap();
                let (expected, places) =
                    expect::adaptive_pool(op, &x.values, [350, 400], [1, 3], dtype);
                check(&format!("{op:?} {dtype}"), &out.read(&exec), &expected);
                if op == Pool::Max {
                    let out = output(&exec, DType::I32, &[1, 1, 1, 3], 3);
                    let _done = exec
                        .adaptive_max_pool_indices::<2>(&x.view, &out.view)
                        .unwrap();
                    check(&format!("places {dtype}"), &out.read(&exec), &places);
                }
            }
        }
    }
}

#[test]
fn ties_go_to_the_first_and_zeros_are_equal() {
    let exec = common::executor();
    let values = [-0.0, 0.0, -1.0, 2.0, 2.0, f64::NAN, f64::NAN, 5.0];
    let x = given(&exec, DType::F32, &[1, 1, 8], &values);
    let out = output(&exec, DType::I32, &[1, 1, 2], 0);
    let options = PoolOptions {
        stride: [4],
        ..PoolOptions::new([3])
    };
    let _done = exec.max_pool_indices(&x.view, &options, &out.view).unwrap();
    assert_eq!(out.read(&exec), [0.0, 5.0]);
}

#[test]
fn small_workgroups_and_default_limits_give_the_same() {
    let mut rng = Random(3);
    for exec in [common::narrow_executor(), common::plain_executor()] {
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
                stride: [1, 1],
                ..Pool2dOptions::new([2, 2])
            },
            0,
        );
    }
}

/// The last results share a word with memory that belongs to nobody.
#[test]
fn results_that_end_within_a_word_agree_with_the_definition() {
    let exec = common::executor();
    let values: Vec<f64> = (0..16).map(f64::from).collect();
    for dtype in [DType::F16, DType::BF16] {
        let bytes = encode(dtype, &values);
        let x = exec
            .upload_bytes(dtype, &bytes, &shape(&[1, 1, 4, 4]))
            .unwrap();
        let out = exec.alloc(&shape(&[1, 1, 3, 3]), dtype).unwrap();
        let options = Pool2dOptions {
            stride: [1, 1],
            ..Pool2dOptions::new([2, 2])
        };
        let _done = exec.pool(Pool::Average, &x, &options, &out).unwrap();
        let bytes = exec.download(&out).unwrap().wait().unwrap();
        let means = [2.5, 3.5, 4.5, 6.5, 7.5, 8.5, 10.5, 11.5, 12.5];
        assert_eq!(decode(dtype, &bytes), means, "{dtype}");
    }
}

fn line(
    kernel: usize,
    stride: usize,
    pad: usize,
    ceil_mode: bool,
    count_include_pad: bool,
) -> Pool2dOptions {
    Pool2dOptions {
        stride: [1, stride],
        padding_begin: [0, pad],
        padding_end: [0, pad],
        ceil_mode,
        count_include_pad,
        ..Pool2dOptions::new([1, kernel])
    }
}

#[test]
fn divisors_follow_the_padding_and_ceil_rules() {
    let exec = common::executor();
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
            .pool(Pool::Average, &x.view, &options, &out.view)
            .unwrap();
        assert_eq!(out.read(&exec), wanted, "{options:?}");
    }
}

#[test]
fn not_a_number_wins_and_padding_never_does() {
    let exec = common::executor();
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
            .pool(Pool::Max, &x.view, &line(2, 1, 1, false, false), &out.view)
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
    let exec = common::executor();
    let view = |dtype, dims: &[usize]| exec.alloc(&shape(dims), dtype).unwrap();
    let f = |dims: &[usize]| view(DType::F32, dims);
    let options = Pool2dOptions::new([2, 2]);
    let _done = exec
        .pool(Pool::Max, &f(&[0, 3, 4, 4]), &options, &f(&[0, 3, 2, 2]))
        .unwrap();
    let pool = |op, x: &View, out: &View| exec.pool(op, x, &options, out).unwrap_err();
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
        KernelError::Operand { .. }
    ));
    assert!(matches!(
        pool(Pool::Max, &x, &view(DType::F16, &[1, 3, 2, 2])),
        KernelError::Dtype { .. }
    ));
    // Windows of nothing but padding.
    let padded = Pool2dOptions {
        padding_begin: [2, 0],
        ..options
    };
    assert_eq!(
        exec.pool(Pool::Max, &x, &padded, &f(&[1, 3, 3, 2]))
            .unwrap_err()
            .to_string(),
        "max_pool: padding must be smaller than a window, or a window would hold nothing else, but it is 2"
    );
    let ints = view(DType::I32, &[1, 3, 4, 4]);
    assert!(matches!(
        pool(Pool::Average, &ints, &view(DType::I32, &[1, 3, 2, 2])),
        KernelError::Dtype { .. }
    ));
}
