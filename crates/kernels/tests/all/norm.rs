//! Normalised rows against the reference: arrangements, lengths, channels, and where naive formulas fail.

use crate::common;
use crate::expect;
use crate::operands::{Arrangement, Operand, Random, check, given, operand, output, random, shape};
use ziggurat_kernels::{Affine, Channels, DType, Executor, KernelError, Norm};

const FLOATS: [DType; 3] = [DType::F32, DType::F16, DType::BF16];

struct Job<'a> {
    op: Norm,
    axes: usize,
    eps: f32,
    weight: Option<&'a Operand>,
    bias: Option<&'a Operand>,
    channels: Channels,
}

fn run(exec: &Executor, a: &Operand, job: &Job<'_>, front: usize) {
    let dtype = a.view.dtype;
    let dims = a.view.dims();
    let len: usize = dims[dims.len() - job.axes..].iter().product();
    let out = output(exec, dtype, dims, front);
    let affine = Affine {
        weight: job.weight.map(|w| &w.view),
        bias: job.bias.map(|b| &b.view),
        channels: job.channels,
    };
    let _done = exec
        .normalize(job.op, &a.view, job.axes, job.eps, &affine, &out.view)
        .unwrap();
    let parameters = (
        job.weight.map(|w| w.values.as_slice()),
        job.bias.map(|b| b.values.as_slice()),
    );
    let row = (len, f64::from(job.eps));
    let channels = job.channels;
    let expected = expect::normalize(job.op, &a.values, row, parameters, channels, dtype);
    let what = format!("{:?} {dtype} {:?}", job.op, a.view.layout);
    check(&what, &out.read(exec), &expected);
}

fn plain<'a>(op: Norm, axes: usize, eps: f32) -> Job<'a> {
    Job {
        op,
        axes,
        eps,
        weight: None,
        bias: None,
        channels: Channels::default(),
    }
}

#[test]
fn rows_of_any_length_are_right() {
    let mut rng = Random(2);
    for exec in [
        common::executor(),
        common::narrow_executor(),
        common::plain_executor(),
    ] {
        for len in [1, 2, 3, 31, 64, 65, 255, 257, 1025, 100_003] {
            let a = random(
                &exec,
                DType::F32,
                &[2, len],
                Arrangement::Contiguous,
                &mut rng,
            );
            for op in Norm::ALL {
                run(&exec, &a, &plain(op, 1, 1e-5), 0);
            }
        }
        // More rows than one row of workgroups has invocations, with a workgroup of 8.
        let a = random(
            &exec,
            DType::F16,
            &[530_000, 2],
            Arrangement::Contiguous,
            &mut rng,
        );
        run(&exec, &a, &plain(Norm::Layer, 1, 1e-2), 0);
    }
}

#[test]
fn rows_that_are_cut_into_chunks_are_right() {
    let mut rng = Random(12);
    let exec = common::narrow_executor();
    // Few lanes walk far: rows of some hundred thousand elements are long ones.
    for (dtype, arrangement) in FLOATS.into_iter().zip(Arrangement::ALL) {
        let a = random(&exec, dtype, &[3, 70_000, 2], arrangement, &mut rng);
        let weight = random(&exec, dtype, &[140_000], Arrangement::Contiguous, &mut rng);
        let bias = random(&exec, dtype, &[140_000], Arrangement::Contiguous, &mut rng);
        for op in Norm::ALL {
            run(&exec, &a, &plain(op, 2, 1e-5), 3);
            let weighted = Job {
                weight: Some(&weight),
                ..plain(op, 2, 1e-5)
            };
            run(&exec, &a, &weighted, 0);
            let both = Job {
                bias: Some(&bias),
                ..weighted
            };
            run(&exec, &a, &both, 1);
        }
    }
}

#[test]
fn channels_of_groups_and_instances_find_their_weights() {
    let exec = common::executor();
    let mut rng = Random(3);
    // Two samples of three groups of two channels of five elements; then of six instances.
    for (dims, channels) in [
        (
            [2, 3, 10],
            Channels {
                period: 3,
                step: 2,
                span: 5,
            },
        ),
        (
            [2, 6, 5],
            Channels {
                period: 6,
                step: 1,
                span: 5,
            },
        ),
    ] {
        for dtype in FLOATS {
            let a = random(&exec, dtype, &dims, Arrangement::Transposed, &mut rng);
            let mut channel = || random(&exec, dtype, &[6], Arrangement::Contiguous, &mut rng);
            let (weight, bias) = (channel(), channel());
            let job = Job {
                weight: Some(&weight),
                bias: Some(&bias),
                channels,
                ..plain(Norm::Layer, 1, 1e-5)
            };
            run(&exec, &a, &job, 1);
        }
    }
}

#[test]
fn a_large_mean_costs_no_digits_and_a_constant_row_is_zero() {
    let exec = common::executor();
    let rows = [[10_000.0, 10_001.0, 10_002.0], [7.0, 7.0, 7.0]];
    let a = given(&exec, DType::F32, &[2, 3], rows.as_flattened());
    let out = output(&exec, DType::F32, &[2, 3], 0);
    let _done = exec
        .normalize(Norm::Layer, &a.view, 1, 1e-5, &Affine::default(), &out.view)
        .unwrap();
    let got = out.read(&exec);
    assert!(
        (got[0] + 1.224_74).abs() < 1e-4 && got[1].abs() < 1e-4,
        "{got:?}"
    );
    assert_eq!(got[3..], [0.0; 3]);
}

#[test]
fn squares_of_halves_do_not_overflow() {
    let exec = common::executor();
    let a = given(&exec, DType::F16, &[1, 2], &[30_000.0, -40_000.0]);
    for (op, expected) in [
        (Norm::Layer, [1.0, -1.0]),
        (Norm::Rms, [0.848_5, -1.131_4]),
        (Norm::Length, [0.6, -0.8]),
    ] {
        let out = output(&exec, DType::F16, &[1, 2], 0);
        let _done = exec
            .normalize(op, &a.view, 1, 1e-5, &Affine::default(), &out.view)
            .unwrap();
        for (got, wanted) in out.read(&exec).into_iter().zip(expected) {
            assert!((got - wanted).abs() < 1e-3, "{op:?}: {got} {wanted}");
        }
    }
}

#[test]
fn not_a_number_stays_in_its_row() {
    let exec = common::executor();
    let nan = f64::NAN;
    let rows = [[1.0, nan, 2.0], [1.0, 2.0, 3.0], [1.0, f64::INFINITY, 2.0]];
    for op in Norm::ALL {
        let a = given(&exec, DType::F32, &[3, 3], rows.as_flattened());
        let out = output(&exec, DType::F32, &[3, 3], 0);
        let _done = exec
            .normalize(op, &a.view, 1, 1e-5, &Affine::default(), &out.view)
            .unwrap();
        let got = out.read(&exec);
        assert!(got[..3].iter().all(|y| y.is_nan()), "{op:?} {got:?}");
        assert!(got[3..6].iter().all(|y| y.is_finite()), "{op:?} {got:?}");
        assert!(got[7].is_nan(), "{op:?} {got:?}");
    }
}

#[test]
fn zero_vectors_stay_zero_and_nothing_is_nothing() {
    let exec = common::executor();
    let a = operand(&exec, DType::F32, &[2, 3], Arrangement::Contiguous, || 0.0);
    run(&exec, &a, &plain(Norm::Length, 1, 1e-12), 0);
    for dims in [[0, 3], [3, 0]] {
        let a = operand(&exec, DType::F32, &dims, Arrangement::Contiguous, || 0.0);
        let out = output(&exec, DType::F32, &dims, 0);
        for op in Norm::ALL {
            let _done = exec
                .normalize(op, &a.view, 1, 1e-5, &Affine::default(), &out.view)
                .unwrap();
        }
        assert!(out.read(&exec).is_empty());
    }
}

#[test]
fn wrong_calls_are_typed_errors() {
    let exec = common::executor();
    let view = |dtype, dims: &[usize]| exec.alloc(&shape(dims), dtype).unwrap();
    let a = view(DType::F32, &[2, 3]);
    let call = |a, axes, affine: &Affine<'_>, out| {
        exec.normalize(Norm::Layer, a, axes, 1e-5, affine, out)
            .unwrap_err()
    };
    let none = Affine::default();
    assert!(matches!(call(&a, 3, &none, &a), KernelError::Shape { .. }));
    let ints = view(DType::I32, &[2, 3]);
    assert!(matches!(
        call(&ints, 1, &none, &ints),
        KernelError::Dtype { operand: "a", .. }
    ));
    let half = view(DType::F16, &[2, 3]);
    assert!(matches!(
        call(&a, 1, &none, &half),
        KernelError::Dtype { operand: "out", .. }
    ));
    let turned = view(DType::F32, &[3, 2]);
    assert!(matches!(
        call(&a, 1, &none, &turned),
        KernelError::Output { .. }
    ));
    let short = view(DType::F32, &[2]);
    let affine = Affine {
        weight: Some(&short),
        ..none
    };
    let error = call(&a, 1, &affine, &a);
    assert_eq!(
        error.to_string(),
        "layer_norm: weight must have an element per channel, but its shape is [2]"
    );
    let affine = Affine {
        bias: Some(&a),
        ..none
    };
    assert!(matches!(
        call(&a, 2, &affine, &a),
        KernelError::Operand {
            operand: "bias",
            ..
        }
    ));
    let affine = Affine {
        channels: Channels {
            span: 0,
            ..Channels::default()
        },
        ..none
    };
    assert!(matches!(
        call(&a, 1, &affine, &a),
        KernelError::Option { .. }
    ));
}
