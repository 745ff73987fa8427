//! Every form of kernel that reads an expression in place of memory: each op that can, with every dtype that it takes, in
//! one pass and in two, over operands that are read four at a time and one by one. The path through memory says what is
//! right.

use crate::common;
use crate::fusion::Case;
use crate::operands;
use crate::operands::{Arrangement, Random, random, shape};
use ziggurat_kernels::core::decode;
use ziggurat_kernels::{
    Affine, ArgReduce, Binary, Completion, DType, Executor, FusedInput, FusedOp, KernelError, Norm,
    Reduce, View,
};

const FLOATS: [DType; 3] = [DType::F32, DType::F16, DType::BF16];
/// Rows of less than a workgroup.
const SHORT: [usize; 2] = [5, 37];
/// A row for many workgroups.
const LONG: [usize; 2] = [1, 70_000];

/// A value of an expression, and the same in memory.
struct Both {
    case: Case,
    node: usize,
    stored: View,
}

impl Both {
    /// `max(x, y) · z + 1/2`, computed in f32, of the dtype of x and y.
    fn new(exec: &Executor, dtype: DType, dims: &[usize], of: Arrangement) -> Self {
        let mut rng = Random(dims[1] as u64 + dtype as u64);
        let mut case = Case::new(shape(dims));
        let (x, y) = (
            random(exec, dtype, dims, Arrangement::Contiguous, &mut rng),
            random(exec, dtype, dims, of, &mut rng),
        );
        let z = random(
            exec,
            DType::F32,
            &[],
            Arrangement::Contiguous,
            &mut Random(4),
        );
        case.input(x.view, x.values);
        case.input(y.view, y.values);
        case.input(z.view, z.values);
        case.scalar(DType::F32, 0.5);
        case.op(FusedOp::Binary(Binary::Maximum), &[0, 1]);
        case.op(FusedOp::Cast(DType::F32), &[4]);
        case.op(FusedOp::Binary(Binary::Mul), &[5, 2]);
        case.op(FusedOp::Binary(Binary::Add), &[6, 3]);
        case.op(FusedOp::Cast(dtype), &[7]);
        let node = case.len() - 1;
        let stored = case.stored(exec)[node].clone();
        Self { case, node, stored }
    }

    fn value(&self) -> FusedInput<'_> {
        self.case.value(self.node)
    }
}

/// Each dtype of these, over rows that are short, and one over a long one, both ways of reading. Compilers of drivers take
/// their time, so that elsewhere than under the sanitizer only one dtype is read both ways.
fn values(exec: &Executor, dtypes: &[DType], mut each: impl FnMut(&Both, DType, &[usize])) {
    let all = std::env::var_os("ZIGGURAT_SANITIZE").is_some();
    let few = |dtype: &&DType| all || [DType::F32, DType::F16, DType::U8].contains(dtype);
    for &dtype in dtypes.iter().filter(few) {
        let ways = if all || dtype == DType::F32 { 2 } else { 1 };
        for of in [Arrangement::Contiguous, Arrangement::Flipped]
            .into_iter()
            .take(ways)
        {
            each(&Both::new(exec, dtype, &SHORT, of), dtype, &SHORT);
        }
    }
    let of = Arrangement::Contiguous;
    each(&Both::new(exec, DType::F32, &LONG, of), DType::F32, &LONG);
}

type Done = Result<Completion, KernelError>;

/// What two kernels write, as values.
fn written(
    exec: &Executor,
    dims: &[usize],
    dtype: DType,
    calls: [&dyn Fn(&View) -> Done; 2],
) -> [Vec<f64>; 2] {
    calls.map(|call| {
        let out = exec.alloc(&shape(dims), dtype).unwrap();
        let _done = call(&out).unwrap();
        decode(dtype, &exec.download(&out).unwrap().wait().unwrap())
    })
}

/// The first element in which they differ by more than a compiler may do differently in two kernels.
fn far(dtype: DType, [fused, stored]: &[Vec<f64>; 2]) -> Option<usize> {
    let relative = 8.0 * f64::from(f32::EPSILON) + operands::epsilon(dtype);
    let near = |a: f64, b: f64| {
        let same = a == b || (a.is_nan() && b.is_nan());
        same || (dtype.is_float() && (a - b).abs() <= relative * b.abs().max(1e-3))
    };
    assert_eq!(fused.len(), stored.len());
    let mut pairs = fused.iter().zip(stored);
    pairs.position(|(&a, &b)| !near(a, b))
}

fn check(
    exec: &Executor,
    what: &str,
    (dims, dtype): (&[usize], DType),
    calls: [&dyn Fn(&View) -> Done; 2],
) {
    let both = written(exec, dims, dtype, calls);
    if let Some(at) = far(dtype, &both) {
        let [fused, stored] = both.map(|values| values[at]);
        panic!("{what}: element {at} is {fused}, through memory {stored}");
    }
}

#[test]
fn reductions_read_expressions_of_every_dtype() {
    let exec = common::executor();
    values(&exec, &DType::ALL, |both, dtype, dims| {
        for op in Reduce::ALL {
            // The general norm is not the one with a kernel of its own.
            let argument = match op {
                Reduce::Norm => 3.0,
                _ => op.default_argument(),
            };
            for to in DType::ALL.into_iter().filter(|&to| op.accepts(dtype, to)) {
                let value = both.value();
                let what = format!("{op:?} of {dtype} to {to} over {dims:?}");
                check(
                    &exec,
                    &what,
                    (&dims[..1], to),
                    [
                        &|out| exec.reduce(op.with(argument), value, &[1], out),
                        &|out| exec.reduce(op.with(argument), &both.stored, &[1], out),
                    ],
                );
            }
        }
    });
}

#[test]
fn both_moments_are_those_of_an_expression() {
    let exec = common::executor();
    values(&exec, &FLOATS, |both, dtype, dims| {
        let value = both.value();
        check(
            &exec,
            &format!("var_mean of {dtype} over {dims:?}"),
            (&[2, dims[0]], DType::F32),
            [&|out| exec.var_mean(1.0, value, &[1], out), &|out| {
                exec.var_mean(1.0, &both.stored, &[1], out)
            }],
        );
    });
}

#[test]
fn extremes_of_expressions_of_every_dtype_are_where_memory_has_them() {
    let exec = common::executor();
    values(&exec, &DType::ALL, |both, dtype, dims| {
        for op in ArgReduce::ALL {
            let (value, stored) = (both.value(), &both.stored);
            let rows = &dims[..1];
            for last in [false, true] {
                check(
                    &exec,
                    &format!("{op:?} of {dtype} over {dims:?}, last: {last}"),
                    (rows, DType::I32),
                    [&|out| exec.arg_reduce(op, value, &[1], last, out), &|out| {
                        exec.arg_reduce(op, stored, &[1], last, out)
                    }],
                );
            }
            let beside = exec.alloc(&shape(rows), dtype).unwrap();
            let what = format!("{op:?} of {dtype} over {dims:?}");
            check(
                &exec,
                &format!("positions beside values, {what}"),
                (rows, DType::I32),
                [
                    &|out| exec.extreme_with_position(op, value, &[1], false, &beside, out),
                    &|out| exec.extreme_with_position(op, stored, &[1], false, &beside, out),
                ],
            );
            let beside = exec.alloc(&shape(rows), DType::I32).unwrap();
            check(
                &exec,
                &format!("values beside positions, {what}"),
                (rows, dtype),
                [
                    &|out| exec.extreme_with_position(op, value, &[1], false, out, &beside),
                    &|out| exec.extreme_with_position(op, stored, &[1], false, out, &beside),
                ],
            );
        }
    });
}

#[test]
fn shares_and_their_logarithms_are_those_of_an_expression() {
    let exec = common::executor();
    values(&exec, &FLOATS, |both, dtype, dims| {
        for axis in [0, 1] {
            let (value, stored) = (both.value(), &both.stored);
            let what = format!("of {dtype} along {axis} of {dims:?}");
            check(
                &exec,
                &format!("softmax {what}"),
                (dims, dtype),
                [&|out| exec.softmax(value, axis, out), &|out| {
                    exec.softmax(stored, axis, out)
                }],
            );
            check(
                &exec,
                &format!("log_softmax {what}"),
                (dims, dtype),
                [&|out| exec.log_softmax(value, axis, out), &|out| {
                    exec.log_softmax(stored, axis, out)
                }],
            );
        }
    });
}

#[test]
fn norms_of_expressions_take_weights_and_biases() {
    let exec = common::executor();
    let mut rng = Random(9);
    values(&exec, &FLOATS, |both, dtype, dims| {
        let mut parameter = || {
            let dense = Arrangement::Contiguous;
            random(&exec, dtype, &dims[1..], dense, &mut rng).view
        };
        let (weight, bias) = (parameter(), parameter());
        for op in Norm::ALL {
            for given in 0..3 {
                let affine = Affine {
                    weight: (given > 0).then_some(&weight),
                    bias: (given > 1).then_some(&bias),
                    ..Affine::default()
                };
                let (value, stored) = (both.value(), &both.stored);
                check(
                    &exec,
                    &format!("{op:?} of {dtype} over {dims:?}, {given} parameters"),
                    (dims, dtype),
                    [
                        &|out| exec.normalize(op, value, 1, 1e-5, &affine, out),
                        &|out| exec.normalize(op, stored, 1, 1e-5, &affine, out),
                    ],
                );
            }
        }
    });
}

#[test]
fn the_path_through_memory_would_show_a_difference() {
    let values = |x: f64| [vec![1.0, x], vec![1.0, 2.0]];
    for (dtype, near, wrong) in [
        (DType::F32, 2.000_000_2, 2.000_01),
        (DType::F16, 2.001, 2.01),
        (DType::I32, 2.0, 3.0),
    ] {
        assert_eq!(far(dtype, &values(near)), None);
        assert_eq!(far(dtype, &values(wrong)), Some(1));
        assert_eq!(far(dtype, &values(f64::NAN)), Some(1));
    }
    let exec = common::executor();
    let both = Both::new(&exec, DType::F32, &SHORT, Arrangement::Contiguous);
    let value = both.value();
    let calls: [&dyn Fn(&View) -> Done; 2] =
        [&|out| exec.reduce(Reduce::Max, value, &[1], out), &|out| {
            exec.reduce(Reduce::Min, &both.stored, &[1], out)
        }];
    let outputs = written(&exec, &SHORT[..1], DType::F32, calls);
    assert_eq!(far(DType::F32, &outputs), Some(0));
}
