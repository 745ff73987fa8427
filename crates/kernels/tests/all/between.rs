//! Reductions, softmax and norms that write an expression over their result, of memory and of an expression: the bits of
//! the path through memory.

use crate::common;
use crate::layer::{Host, layer, op};
use crate::operands::{Arrangement, Random, random, shape};
use ziggurat_kernels::{
    Affine, Binary, Call, CallKind, CannotFuse, DType, Executor, Expression, FusedInput, FusedOp,
    FusedOutput, FusedReader, KernelError, Norm, Reduce, RopeOptions, RopePositions, RopeRows,
    Sink, SoftmaxKind, Source, View,
};

/// A call whose kernels read each element of short rows once.
const SOFTMAX: Call = Call::new(CallKind::Softmax {
    kind: SoftmaxKind::Softmax,
    axis: 1,
});

const PLAIN: Arrangement = Arrangement::Contiguous;

/// `max(a, row)` of the shape of `a`, where `row` is broadcast: an expression that no rounding changes.
fn most(exec: &Executor, a: &View, row: &View, (call, views): (&Call, usize)) -> FusedReader {
    let mut e = Expression::new();
    let (x, y) = (e.input(a.clone()), e.input(row.clone()));
    let value = op(&mut e, FusedOp::Binary(Binary::Maximum), &[x, y]);
    let input = FusedInput {
        expression: &e,
        value,
        shape: *a.shape(),
    };
    exec.fused_reader(&input, call, views).unwrap()
}

/// An output, written through a value if there is one.
fn sink<'a>(out: &'a View, value: Option<&'a FusedOutput<'a>>) -> Sink<'a> {
    Sink {
        through: value,
        ..Sink::new(out)
    }
}

/// Operands of an epilogue over `dims`: a bias along the last axis, and a residual that is strided.
fn with(exec: &Executor, dtype: DType, dims: &[usize], rng: &mut Random) -> [View; 2] {
    let bias = random(exec, dtype, &dims[dims.len() - 1..], PLAIN, rng).view;
    let residual = random(exec, dtype, dims, Arrangement::Sliced, rng).view;
    [bias, residual]
}

/// Compares the layer over a kernel with the path through memory, sometimes with further outputs.
fn check(exec: &Executor, host: &Host<'_>, to: DType, what: &str, rng: &mut Random) {
    let [bias, residual] = with(exec, host.dtype, host.dims, rng);
    let beside = rng.below(2) == 0;
    let all = layer(exec, host, (&bias, &residual), to, beside);
    for (i, [fused, stored]) in all.iter().enumerate() {
        assert!(fused == stored, "{what} to {to}: value {i}");
    }
}

/// Extents, reduced axes and what is left: rows, columns, inner axes.
const REDUCED: &[(&[usize], &[usize], &[usize])] = &[
    (&[5, 70], &[1], &[5]),
    (&[40, 6], &[0], &[6]),
    (&[2, 9, 3], &[1], &[2, 3]),
];

fn check_reductions(exec: &Executor, inputs: &[DType], rng: &mut Random) {
    let mut problems = REDUCED.iter().cycle();
    let targets = [DType::F32, DType::F16, DType::I32, DType::Bool, DType::U8];
    let mut targets = targets.into_iter().cycle();
    for &input in inputs {
        for op in Reduce::ALL {
            let outputs = DType::ALL.into_iter();
            let numbers = outputs.filter(|to| op.accepts(input, *to) && *to != DType::Bool);
            for output in numbers {
                let &(dims, axes, kept) = problems.next().unwrap();
                let a = random(exec, input, dims, Arrangement::Sliced, rng).view;
                let row = random(exec, input, &dims[dims.len() - 1..], PLAIN, rng).view;
                let reader = most(exec, &a, &row, (&Call::reduce(op, axes), 1));
                let read = match rng.below(3) {
                    0 => Source::View(&a),
                    _ => Source::Reader(&reader),
                };
                let run = |value: Option<&FusedOutput<'_>>, out: &View| {
                    exec.reduce(op.with(op.default_argument()), read, axes, sink(out, value))
                };
                let host = Host {
                    dtype: output,
                    dims: kept,
                    fused: &|value, out| run(Some(value), out),
                    plain: &|out| run(None, out),
                };
                let what = format!("{op:?} of {input} {dims:?} over {axes:?} in {output}");
                check(exec, &host, targets.next().unwrap(), &what, rng);
            }
        }
    }
}

#[test]
fn a_reduction_writes_an_expression_over_its_result() {
    let exec = common::executor();
    let inputs = [DType::F32, DType::BF16, DType::I32, DType::U8];
    check_reductions(&exec, &inputs, &mut Random(41));
}

#[test]
fn a_reduction_writes_an_expression_without_optional_features() {
    let exec = common::plain_executor();
    check_reductions(&exec, &[DType::F16], &mut Random(42));
}

#[test]
fn the_second_of_two_passes_writes_the_expression() {
    let exec = common::fresh_executor();
    let mut rng = Random(43);
    let a = random(&exec, DType::F32, &[2, 70_000], PLAIN, &mut rng).view;
    let row = random(&exec, DType::F32, &[1], PLAIN, &mut rng).view;
    let reader = most(&exec, &a, &row, (&Call::reduce(Reduce::Mean, &[1]), 1));
    for read in [Source::View(&a), Source::Reader(&reader)] {
        let run = |value: Option<&FusedOutput<'_>>, out: &View| {
            exec.reduce(Reduce::Mean.with(0.0), read, &[1], sink(out, value))
        };
        let host = Host {
            dtype: DType::F32,
            dims: &[2],
            fused: &|value, out| run(Some(value), out),
            plain: &|out| run(None, out),
        };
        let before = exec.device().queue_stats().dispatches;
        let out = exec.alloc(&shape(&[2]), DType::F32).unwrap();
        let _done = run(None, &out).unwrap();
        let passes = exec.device().queue_stats().dispatches - before;
        assert_eq!(passes, 2, "one for chunks, one for results");
        check(&exec, &host, DType::F16, "mean", &mut rng);
    }
}

#[test]
fn softmax_writes_an_expression_over_its_result() {
    let exec = common::executor();
    let mut rng = Random(44);
    for (dtype, to) in [
        (DType::F32, DType::F32),
        (DType::F16, DType::F16),
        (DType::BF16, DType::F32),
        (DType::F32, DType::Bool),
    ] {
        for (dims, axis) in [(&[5, 70][..], 1), (&[33, 6], 0), (&[2, 7, 3], 1)] {
            let a = random(&exec, dtype, dims, Arrangement::Sliced, &mut rng).view;
            let row = random(&exec, dtype, &dims[dims.len() - 1..], PLAIN, &mut rng).view;
            let reader = most(&exec, &a, &row, (&SOFTMAX, 1));
            for read in [Source::View(&a), Source::Reader(&reader)] {
                let host = Host {
                    dtype,
                    dims,
                    fused: &|value, out| exec.softmax(read, axis, sink(out, Some(value))),
                    plain: &|out| exec.softmax(read, axis, sink(out, None)),
                };
                check(&exec, &host, to, "softmax", &mut rng);
                let host = Host {
                    fused: &|value, out| exec.log_softmax(read, axis, sink(out, Some(value))),
                    plain: &|out| exec.log_softmax(read, axis, sink(out, None)),
                    ..host
                };
                check(&exec, &host, to, "log_softmax", &mut rng);
            }
        }
    }
}

#[test]
fn norms_write_an_expression_over_their_result() {
    let exec = common::executor();
    let mut rng = Random(45);
    for (dtype, to) in [
        (DType::F32, DType::F32),
        (DType::F16, DType::F16),
        (DType::BF16, DType::I32),
    ] {
        let dims = [5, 70];
        let a = random(&exec, dtype, &dims, Arrangement::Sliced, &mut rng).view;
        let [row, weight, bias] = [0; 3].map(|_| random(&exec, dtype, &[70], PLAIN, &mut rng).view);
        for given in 0..3 {
            let affine = Affine {
                weight: (given > 0).then_some(&weight),
                bias: (given > 1).then_some(&bias),
                ..Affine::default()
            };
            for norm in Norm::ALL {
                let call = Call::new(CallKind::Norm {
                    op: norm,
                    axes: 1,
                    eps: 1e-5.into(),
                    channels: affine.channels,
                });
                let reader = most(&exec, &a, &row, (&call, 1 + given));
                for read in [Source::View(&a), Source::Reader(&reader)] {
                    let run = |value: Option<&FusedOutput<'_>>, out: &View| {
                        exec.normalize(norm, read, 1, 1e-5, &affine, sink(out, value))
                    };
                    let host = Host {
                        dtype,
                        dims: &dims,
                        fused: &|value, out| run(Some(value), out),
                        plain: &|out| run(None, out),
                    };
                    let what = format!("{norm:?} with {given} parameters");
                    check(&exec, &host, to, &what, &mut rng);
                }
            }
        }
    }
}

#[test]
fn the_rotary_embedding_reads_and_writes_expressions() {
    let exec = common::executor();
    let mut rng = Random(46);
    for (dtype, to) in [
        (DType::F32, DType::F16),
        (DType::F16, DType::F16),
        (DType::BF16, DType::F32),
    ] {
        let dims = [2, 3, 5, 8];
        let a = random(&exec, dtype, &dims, Arrangement::Transposed, &mut rng).view;
        let row = random(&exec, dtype, &[8], PLAIN, &mut rng).view;
        let [cos, sin] = [0; 2].map(|_| random(&exec, DType::F32, &[7, 3], PLAIN, &mut rng).view);
        let ids = exec.upload(&[6i32, 0, 9, -1, 3, 2, 2, 1, 5, 4], &shape(&[2, 5]));
        let ids = ids.unwrap();
        let call = Call::new(CallKind::Rope {
            options: RopeOptions::default(),
            rows: RopeRows::Given,
        });
        let reader = most(&exec, &a, &row, (&call, 4));
        for read in [Source::View(&a), Source::Reader(&reader)] {
            for positions in [RopePositions::From(1), RopePositions::Given(&ids)] {
                // Eight memories, which WebGPU's default limits do not bind: refused, as any expression that is too large.
                let many = matches!(
                    (read, positions),
                    (Source::Reader(_), RopePositions::Given(_))
                );
                if many && exec.fused_limits().bindings < 8 {
                    continue;
                }
                let run = |value: Option<&FusedOutput<'_>>, out: &View| {
                    let options = RopeOptions::default();
                    exec.rope(read, &cos, &sin, positions, options, sink(out, value))
                };
                let host = Host {
                    dtype,
                    dims: &dims,
                    fused: &|value, out| run(Some(value), out),
                    plain: &|out| run(None, out),
                };
                check(&exec, &host, to, "rope", &mut rng);
            }
        }
        // What is read is what memory would hold.
        let stored = exec.alloc(&shape(&dims), dtype).unwrap();
        let _done = exec.binary(Binary::Maximum, &a, &row, &stored).unwrap();
        let [fused, plain] = [0; 2].map(|_| exec.alloc(&shape(&dims), dtype).unwrap());
        let (counted, options) = (RopePositions::From(1), RopeOptions::default());
        let read = Source::Reader(&reader);
        let _done = exec.rope(read, &cos, &sin, counted, options, sink(&fused, None));
        let _done = exec
            .rope(&stored, &cos, &sin, counted, options, &plain)
            .unwrap();
        let [fused, plain] = [fused, plain].map(|of| exec.download(&of).unwrap().wait().unwrap());
        assert!(fused == plain, "{dtype}");
    }
}

#[test]
fn both_ends_together_must_fit_the_bindings() {
    let exec = common::plain_executor();
    let view = || exec.upload(&[1.0f32; 6], &shape(&[2, 3])).unwrap();
    let sum_of = |e: &mut Expression, first, count: usize| {
        (0..count).fold(first, |sum, _| {
            let next = e.input(view());
            op(e, FusedOp::Binary(Binary::Add), &[sum, next])
        })
    };
    let limit = exec.fused_limits().bindings;
    let mut read = Expression::new();
    let first = read.input(view());
    let value = sum_of(&mut read, first, limit - 4);
    let input = FusedInput {
        expression: &read,
        value,
        shape: shape(&[2, 3]),
    };
    let reader = exec.fused_reader(&input, &SOFTMAX, 1).unwrap();
    assert!(matches!(
        exec.fused_reader(&input, &SOFTMAX, 4),
        Err(KernelError::CannotFuse(CannotFuse::Bindings { .. }))
    ));
    let out = exec.alloc(&shape(&[2, 3]), DType::F32).unwrap();
    // Two bindings are left beside those that are read and the output.
    for (count, fits) in [(2, true), (3, false)] {
        let mut e = Expression::new();
        let made = e.computed(DType::F32);
        let value = sum_of(&mut e, made, count);
        let written = FusedOutput {
            expression: &e,
            value,
            shape: shape(&[2, 3]),
            also: &[],
        };
        let done = exec.softmax(Source::Reader(&reader), 1, sink(&out, Some(&written)));
        let refused = matches!(done, Err(KernelError::CannotFuse(_)));
        assert_eq!((done.is_ok(), refused), (fits, !fits), "{count}");
    }
}
