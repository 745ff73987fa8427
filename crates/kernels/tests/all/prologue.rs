//! Kernels that read an expression in place of memory: the bits of the path through memory, and the reference's values.

use crate::common;
use crate::fusion::{Case, bits_differ, random_case};
use crate::operands;
use crate::operands::{Arrangement, Expected, Random, check, output, random, shape};
use ziggurat_kernels::core::decode;
use ziggurat_kernels::reference::{reduce as reference, softmax::softmax};
use ziggurat_kernels::{
    Affine, ArgReduce, Binary, CannotFuse, DType, Executor, Expression, FusedInput, FusedOp,
    KernelError, Norm, Reduce, Unary, View,
};

/// Where neighbours in memory are neighbours of the value, so that sums have the same order with and without memory.
const ROW_MAJOR: [Arrangement; 2] = [Arrangement::Contiguous, Arrangement::Sliced];

fn kept(dims: &[usize], axes: &[usize]) -> Vec<usize> {
    let all = dims.iter().enumerate();
    all.filter(|(axis, _)| !axes.contains(axis))
        .map(|(_, &dim)| dim)
        .collect()
}

fn bytes(exec: &Executor, view: &View) -> Vec<u8> {
    exec.download(view).unwrap().wait().unwrap()
}

/// A reduction and a dtype that it gives.
fn reduction(dtype: DType, rng: &mut Random) -> (Reduce, DType) {
    let op = rng.pick(&[Reduce::Sum, Reduce::Mean, Reduce::Max, Reduce::Min]);
    let results: Vec<DType> = DType::ALL
        .into_iter()
        .filter(|out| op.accepts(dtype, *out))
        .collect();
    match results.is_empty() {
        true => (Reduce::Max, dtype),
        false => (op, rng.pick(&results)),
    }
}

fn check_reductions(exec: &Executor, dims: &[usize], seeds: std::ops::Range<u64>) {
    let (mut checked, mut refused) = (0, 0);
    for seed in seeds {
        let mut rng = Random(seed * 104_729 + dims.len() as u64);
        let case = random_case(exec, dims, 5, &ROW_MAJOR, &mut rng);
        let node = case.len() - 1;
        let dtype = case.dtype(node);
        let (op, to) = reduction(dtype, &mut rng);
        let axes: Vec<usize> = (0..dims.len()).filter(|_| rng.below(2) == 0).collect();
        let out = shape(&kept(dims, &axes));
        let [fused, stored] = [0; 2].map(|_| exec.alloc(&out, to).unwrap());
        match exec.reduce(op, case.value(node), &axes, &fused) {
            // Nothing of it is in memory.
            Err(KernelError::CannotFuse(_)) => {
                refused += 1;
                continue;
            }
            done => drop(done.unwrap()),
        }
        checked += 1;
        let _done = exec
            .reduce(op, &case.stored(exec)[node], &axes, &stored)
            .unwrap();
        let (fused, stored) = (bytes(exec, &fused), bytes(exec, &stored));
        let found = bits_differ(to, &fused, &stored);
        assert_eq!(
            found, None,
            "seed {seed}, {op:?} over {axes:?} of {dims:?} to {to}:\n{case:?}"
        );
    }
    assert!(checked > refused, "{checked} checked, {refused} refused");
}

#[test]
fn a_reduction_of_a_random_expression_has_the_bits_of_the_path_through_memory() {
    let exec = common::executor();
    check_reductions(&exec, &[70], 0..12);
    check_reductions(&exec, &[6, 300], 20..40);
    check_reductions(&exec, &[3, 4, 5], 40..60);
    check_reductions(&exec, &[2, 1, 3, 2, 2, 2], 60..66);
}

#[test]
fn a_reduction_of_a_random_expression_agrees_without_optional_features() {
    let exec = common::plain_executor();
    check_reductions(&exec, &[9, 40], 100..112);
}

/// A float value of a random expression; nothing where there is none of a single kernel.
fn float_value(case: &Case) -> Option<usize> {
    let mut nodes = (0..case.len()).rev();
    nodes.find(|&node| case.dtype(node).is_float() && case.is_op(node))
}

/// Whether values are the same but for what a compiler may do differently in two kernels, signs of zeros among it.
///
/// Sums and extremes have the same bits on both paths, and are compared so. A norm multiplies and adds: squares of
/// distances, the factor, weight and bias. Compilers may contract such a pair to one rounding, and what stands around it
/// decides whether they do: inlining another `load_value` is enough. Each of the sum of squares, the root, the factor and
/// the affine part may then differ by a rounding or two, which the root and the mean over the row keep below 8 ε.
fn all_near(dtype: DType, fused: &[f64], stored: &[f64]) -> bool {
    let relative = 8.0 * f64::from(f32::EPSILON) + operands::epsilon(dtype);
    let near = |a: f64, b: f64| {
        let same = a == b || (a.is_nan() && b.is_nan());
        same || (a - b).abs() <= relative * b.abs().max(1e-3)
    };
    fused.len() == stored.len() && fused.iter().zip(stored).all(|(&a, &b)| near(a, b))
}

#[test]
fn norms_of_random_expressions_are_those_of_the_path_through_memory() {
    assert!(!all_near(DType::F32, &[1.000_01], &[1.0]));
    assert!(!all_near(DType::F16, &[f64::NAN], &[1.0]));

    let exec = common::executor();
    let (mut checked, mut refused) = (0, 0);
    for seed in 0..40 {
        let mut rng = Random(seed * 7_919 + 5);
        let dims = rng.pick(&[[3, 40], [5, 7], [2, 300]]);
        let case = random_case(&exec, &dims, 4, &ROW_MAJOR, &mut rng);
        let Some(node) = float_value(&case) else {
            continue;
        };
        let dtype = case.dtype(node);
        let plain = Arrangement::Contiguous;
        let weight = random(&exec, dtype, &dims[1..], plain, &mut rng).view;
        let bias = random(&exec, dtype, &dims[1..], plain, &mut rng).view;
        for op in Norm::ALL {
            let affine = match rng.below(3) {
                0 => Affine::default(),
                given => Affine {
                    weight: Some(&weight),
                    bias: (given == 2).then_some(&bias),
                    ..Affine::default()
                },
            };
            let [fused, stored] = [0; 2].map(|_| exec.alloc(&shape(&dims), dtype).unwrap());
            match exec.normalize(op, case.value(node), 1, 1e-5, &affine, &fused) {
                Err(KernelError::CannotFuse(_)) => {
                    refused += 1;
                    continue;
                }
                done => drop(done.unwrap()),
            }
            checked += 1;
            let view = &case.stored(&exec)[node];
            let _done = exec.normalize(op, view, 1, 1e-5, &affine, &stored).unwrap();
            let [fused, stored] = [fused, stored].map(|view| decode(dtype, &bytes(&exec, &view)));
            let what = format!("seed {seed} {op:?} of {dims:?}:\n{case:?}");
            assert!(all_near(dtype, &fused, &stored), "{what}");
        }
    }
    assert!(
        checked > refused && checked > 20,
        "{checked} checked, {refused} refused"
    );
}

#[test]
fn extremes_and_variances_of_random_expressions_are_those_of_memory() {
    let exec = common::executor();
    let (mut checked, mut variances) = (0, 0);
    for seed in 0..30 {
        let mut rng = Random(seed * 6_151 + 3);
        let dims = rng.pick(&[[6, 40], [1, 70_000], [4, 9]]);
        let case = random_case(&exec, &dims, 4, &ROW_MAJOR, &mut rng);
        let node = case.len() - 1;
        let dtype = case.dtype(node);
        let axes = rng.pick(&[&[0][..], &[1], &[0, 1]]);
        let out = shape(&kept(&dims, axes));
        let op = rng.pick(&ArgReduce::ALL);
        let alloc = |dtype| [0; 2].map(|_| exec.alloc(&out, dtype).unwrap());
        let ([at, at_stored], [with, with_stored]) = (alloc(DType::I32), alloc(DType::I32));
        let [most, most_stored] = alloc(dtype);
        let value = case.value(node);
        match exec.arg_reduce(op, value, axes, false, &at) {
            Err(KernelError::CannotFuse(_)) => continue,
            done => drop(done.unwrap()),
        }
        let _done = exec
            .extreme_with_position(op, value, axes, false, &most, &with)
            .unwrap();
        let stored = &case.stored(&exec)[node];
        let _done = exec
            .arg_reduce(op, stored, axes, false, &at_stored)
            .unwrap();
        let _done = exec
            .extreme_with_position(op, stored, axes, false, &most_stored, &with_stored)
            .unwrap();
        checked += 1;
        let what = format!("seed {seed}, {op:?} over {axes:?} of {dims:?}:\n{case:?}");
        for (to, fused, stored) in [
            (DType::I32, &at, &at_stored),
            (DType::I32, &with, &with_stored),
            (dtype, &most, &most_stored),
        ] {
            let (fused, stored) = (bytes(&exec, fused), bytes(&exec, stored));
            assert_eq!(bits_differ(to, &fused, &stored), None, "{what}");
        }
        if dtype.is_float() {
            variances += 1;
            let both = shape(&[2, out.len()]);
            let [fused, through] = [0; 2].map(|_| exec.alloc(&both, dtype).unwrap());
            let _done = exec.var_mean(0.0, value, axes, &fused).unwrap();
            let _done = exec.var_mean(0.0, stored, axes, &through).unwrap();
            let (fused, through) = (bytes(&exec, &fused), bytes(&exec, &through));
            assert_eq!(bits_differ(dtype, &fused, &through), None, "{what}");
        }
    }
    assert!(
        checked > 15 && variances > 3,
        "{checked} searches, {variances} variances"
    );
}

#[test]
fn the_path_through_memory_would_show_a_difference() {
    let exec = common::executor();
    let mut case = Case::new(shape(&[8, 9]));
    let x = random(
        &exec,
        DType::F32,
        &[8, 9],
        Arrangement::Contiguous,
        &mut Random(3),
    );
    case.input(x.view, x.values);
    case.op(FusedOp::Unary(Unary::Neg), &[0]);
    let node = 1;
    let [fused, stored] = [0; 2].map(|_| exec.alloc(&shape(&[8]), DType::F32).unwrap());
    let _done = exec
        .reduce(Reduce::Max, case.value(node), &[1], &fused)
        .unwrap();
    let _done = exec
        .reduce(Reduce::Min, &case.stored(&exec)[node], &[1], &stored)
        .unwrap();
    let (fused, stored) = (bytes(&exec, &fused), bytes(&exec, &stored));
    assert!(bits_differ(DType::F32, &fused, &stored).is_some());
}

/// `(x · y)²` where y is broadcast along the rows.
fn square_of_product(x: &View, y: &View) -> (Expression, ziggurat_kernels::fused::Id) {
    let mut e = Expression::new();
    let (x, y) = (e.input(x.clone()), e.input(y.clone()));
    let product = e.op(FusedOp::Binary(Binary::Mul), &[x, y]).unwrap();
    let square = e.op(FusedOp::Unary(Unary::Square), &[product]).unwrap();
    (e, square)
}

#[test]
fn every_arrangement_sums_along_every_axis() {
    let exec = common::executor();
    let mut rng = Random(11);
    let dims = [5, 3, 7];
    for arrangement in Arrangement::ALL {
        for below in Arrangement::ALL {
            let x = random(&exec, DType::F32, &dims, arrangement, &mut rng);
            let y = random(&exec, DType::F32, &[3, 7], below, &mut rng);
            let (e, value) = square_of_product(&x.view, &y.view);
            let input = FusedInput {
                expression: &e,
                value,
                shape: shape(&dims),
            };
            let values: Vec<f64> = (0..x.values.len())
                .map(|i| (x.values[i] * y.values[i % 21]).powi(2))
                .collect();
            for axes in [&[][..], &[0], &[1], &[2], &[0, 2], &[0, 1, 2]] {
                let out = output(&exec, DType::F32, &kept(&dims, axes), 1);
                let _done = exec.reduce(Reduce::Sum, input, axes, &out.view).unwrap();
                let terms = reference::reduce(Reduce::Sum, &values, &dims, axes);
                let expected: Vec<Expected> = terms
                    .iter()
                    // Each term is rounded twice before it is added.
                    .map(|t| Expected::sum(t.value, t.magnitude, 110, DType::F32))
                    .collect();
                let what = format!("{arrangement:?} {below:?} {axes:?}");
                check(&what, &out.read(&exec), &expected);
            }
        }
    }
}

#[test]
fn long_reductions_take_two_passes() {
    let exec = common::fresh_executor();
    for dims in [[1, 100_003], [3, 70_000]] {
        let len = dims[0] * dims[1];
        let x: Vec<f32> = (0..len).map(|i| (i % 7) as f32).collect();
        let x = exec.upload(&x, &shape(&dims)).unwrap();
        let y = exec.upload(&[2.0f32], &shape(&[1])).unwrap();
        let (e, value) = square_of_product(&x, &y);
        let input = FusedInput {
            expression: &e,
            value,
            shape: shape(&dims),
        };
        let out = output(&exec, DType::F32, &[dims[0]], 0);
        let before = exec.device().queue_stats().dispatches;
        let _done = exec.reduce(Reduce::Sum, input, &[1], &out.view).unwrap();
        assert!(exec.device().queue_stats().dispatches - before <= 2);
        for (row, sum) in out.read(&exec).into_iter().enumerate() {
            let exact: usize = (0..dims[1])
                .map(|i| 4 * ((row * dims[1] + i) % 7).pow(2))
                .sum();
            assert_eq!(sum, exact as f64, "{dims:?} row {row}");
        }
    }
}

#[test]
fn softmax_reads_an_expression() {
    let exec = common::executor();
    let mut rng = Random(12);
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        for arrangement in Arrangement::ALL {
            for axis in [0, 1] {
                let mut case = Case::new(shape(&[6, 33]));
                let x = random(&exec, dtype, &[6, 33], arrangement, &mut rng);
                let y = random(&exec, dtype, &[33], Arrangement::Flipped, &mut rng);
                case.input(x.view, x.values);
                case.input(y.view, y.values);
                case.op(FusedOp::Binary(Binary::Add), &[0, 1]);
                case.op(FusedOp::Unary(Unary::Neg), &[2]);
                let [fused, stored] = [0; 2].map(|_| output(&exec, dtype, &[6, 33], 5));
                let _done = exec.softmax(case.value(3), axis, &fused.view).unwrap();
                let _done = exec
                    .softmax(&case.stored(&exec)[3], axis, &stored.view)
                    .unwrap();
                let values = &case.reference(&[3])[0];
                let bound = 40.0 * f64::from(f32::EPSILON) + operands::epsilon(dtype);
                let expected: Vec<Expected> = softmax(values, &[6, 33], axis)
                    .into_iter()
                    .map(|value| {
                        let bound = bound * value + 1e-7;
                        Expected { value, bound }.rounded(dtype)
                    })
                    .collect();
                let what = format!("{dtype} {arrangement:?} {axis}");
                let (fused, stored) = (fused.read(&exec), stored.read(&exec));
                check(&what, &fused, &expected);
                check(&what, &stored, &expected);
            }
        }
    }
}

#[test]
fn shapes_and_scalars_make_no_kernels() {
    let exec = common::fresh_executor();
    let run = |rows: usize, columns: usize, scale: f64| {
        let x = exec
            .upload(&vec![1.0f32; rows * columns], &shape(&[rows, columns]))
            .unwrap();
        let mut e = Expression::new();
        let (x, s) = (e.input(x), e.scalar(DType::F32, scale));
        let value = e.op(FusedOp::Binary(Binary::Mul), &[x, s]).unwrap();
        let out = exec.alloc(&shape(&[rows]), DType::F32).unwrap();
        let input = FusedInput {
            expression: &e,
            value,
            shape: shape(&[rows, columns]),
        };
        let before = exec.pipelines().stats().misses;
        let _done = exec.reduce(Reduce::Sum, input, &[1], &out).unwrap();
        assert_eq!(
            decode(DType::F32, &bytes(&exec, &out))[rows - 1],
            columns as f64 * scale
        );
        exec.pipelines().stats().misses - before
    };
    assert_eq!(run(4, 1000, 2.0), 1);
    assert_eq!(run(5, 1004, 3.0), 0);
    assert_eq!(run(7, 900, -1.0), 0);
    // Rows that are no whole vectors of four are read element by element.
    assert_eq!(run(4, 1001, 2.0), 1);
    assert_eq!(run(6, 903, 0.5), 0);
}

#[test]
fn an_output_may_be_memory_of_the_expression() {
    let exec = common::executor();
    let x = exec
        .upload(&[1.0f32, 2.0, 3.0, 4.0], &shape(&[2, 2]))
        .unwrap();
    let one = exec.upload(&[1.0f32], &shape(&[1])).unwrap();
    let (e, value) = square_of_product(&x, &one);
    let input = FusedInput {
        expression: &e,
        value,
        shape: shape(&[2, 2]),
    };
    let row = x.with_layout(x.layout.select(0, 1).unwrap()).unwrap();
    let _done = exec.reduce(Reduce::Sum, input, &[0], &row).unwrap();
    assert_eq!(
        decode(DType::F32, &bytes(&exec, &x)),
        [1.0, 2.0, 10.0, 20.0]
    );
}

#[test]
fn what_does_not_fit_is_refused_and_records_nothing() {
    let exec = common::fresh_plain_executor();
    let limit = exec.fused_limits().bindings;
    let out = exec.alloc(&shape(&[]), DType::F32).unwrap();
    let sum = |inputs: usize| {
        let mut e = Expression::new();
        let mut value = e.scalar(DType::F32, 0.0);
        for i in 0..inputs {
            let x = exec.upload(&[i as f32; 3], &shape(&[3])).unwrap();
            let x = e.input(x);
            value = e.op(FusedOp::Binary(Binary::Add), &[value, x]).unwrap();
        }
        let input = FusedInput {
            expression: &e,
            value,
            shape: shape(&[3]),
        };
        let before = exec.device().queue_stats().dispatches;
        exec.reduce(Reduce::Sum, input, &[0], &out)
            .map(|_| exec.device().queue_stats().dispatches - before)
    };
    assert_eq!(sum(limit - 1).unwrap(), 1);
    assert!(matches!(
        sum(limit),
        Err(KernelError::CannotFuse(CannotFuse::Bindings { .. }))
    ));
    assert!(
        matches!(sum(0), Err(KernelError::CannotFuse(CannotFuse::Constant))),
        "no memory at all"
    );
    // Softmax reads each element once, and twice in rows that are too long for registers on any device.
    let chain = |len: usize, functions: usize| {
        let x = exec.upload(&vec![0.5_f32; len], &shape(&[len])).unwrap();
        let out = exec.alloc(&shape(&[len]), DType::F32).unwrap();
        let mut e = Expression::new();
        let mut value = e.input(x);
        for _ in 0..functions {
            value = e.op(FusedOp::Unary(Unary::Tanh), &[value]).unwrap();
        }
        let input = FusedInput {
            expression: &e,
            value,
            shape: shape(&[len]),
        };
        exec.softmax(input, 0, &out).map(drop)
    };
    chain(3, 9).unwrap();
    chain(40_000, 6).unwrap();
    assert!(matches!(
        chain(40_000, 7),
        Err(KernelError::CannotFuse(CannotFuse::RepeatedWork {
            needed: 56,
            limit: 48
        }))
    ));
}

#[test]
fn mistakes_are_those_of_the_op() {
    let exec = common::executor();
    let x = exec.upload(&[1i32, 2], &shape(&[2])).unwrap();
    let mut e = Expression::new();
    let x = e.input(x);
    let value = e.op(FusedOp::Unary(Unary::Abs), &[x]).unwrap();
    let input = |dims: &[usize]| FusedInput {
        expression: &e,
        value,
        shape: shape(dims),
    };
    let out = exec.alloc(&shape(&[]), DType::I32).unwrap();
    assert!(matches!(
        exec.reduce(Reduce::Mean, input(&[2]), &[0], &out),
        Err(KernelError::Dtype { .. })
    ));
    assert!(matches!(
        exec.reduce(Reduce::Sum, input(&[2]), &[1], &out),
        Err(KernelError::Shape { .. })
    ));
    assert!(matches!(
        exec.reduce(Reduce::Sum, input(&[3]), &[0], &out),
        Err(KernelError::Operands { .. })
    ));
    assert!(matches!(
        exec.reduce(Reduce::Sum, input(&[4, 2]), &[0], &out),
        Err(KernelError::Output { .. })
    ));
    assert!(matches!(
        exec.softmax(input(&[2]), 0, &out),
        Err(KernelError::Dtype { .. })
    ));
}

#[test]
fn empty_extents_give_what_the_op_gives() {
    let exec = common::executor();
    let x = exec.alloc(&shape(&[3, 0]), DType::F32).unwrap();
    let y = exec.upload(&[1.0f32], &shape(&[1])).unwrap();
    let (e, value) = square_of_product(&x, &y);
    let input = FusedInput {
        expression: &e,
        value,
        shape: shape(&[3, 0]),
    };
    let out = output(&exec, DType::F32, &[3], 0);
    let _done = exec.reduce(Reduce::Sum, input, &[1], &out.view).unwrap();
    assert_eq!(out.read(&exec), [0.0; 3]);
    let none = exec.alloc(&shape(&[0]), DType::F32).unwrap();
    let _done = exec.reduce(Reduce::Sum, input, &[0], &none).unwrap();
}
