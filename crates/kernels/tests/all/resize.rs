//! Resampling against the reference: modes, coordinates, dtypes, arrangements, and what is refused.

use crate::common;
use crate::expect;
use crate::operands::{Arrangement, Operand, Random, check, given, output, random, shape};
use ziggurat_kernels::{
    Coordinates, DType, Executor, KernelError, NearestMode, ResizeAxis, ResizeMode, ResizeOptions,
};

const COORDINATES: [Coordinates; 6] = [
    Coordinates::HalfPixel,
    Coordinates::PytorchHalfPixel,
    Coordinates::HalfPixelSymmetric,
    Coordinates::Asymmetric,
    Coordinates::AlignCorners,
    Coordinates::TfCropAndResize,
];

fn run(
    exec: &Executor,
    x: &Operand,
    to: &[usize],
    axes: &[ResizeAxis],
    options: &ResizeOptions,
    front: usize,
) {
    let dtype = x.view.dtype;
    let out = output(exec, dtype, to, front);
    let _done = exec.resize(&x.view, axes, options, &out.view).unwrap();
    let expected = expect::resize(&x.values, x.view.dims(), to, axes, options, dtype);
    check(
        &format!("{dtype} {:?} to {to:?} {options:?} {axes:?}", x.view.layout),
        &out.read(exec),
        &expected,
    );
}

fn options(rng: &mut Random) -> ResizeOptions {
    ResizeOptions {
        mode: rng.pick(&[
            ResizeMode::Nearest(NearestMode::Floor),
            ResizeMode::Nearest(NearestMode::RoundPreferCeil),
            ResizeMode::Linear,
            ResizeMode::Cubic(-0.75),
            ResizeMode::Cubic(-0.5),
        ]),
        coordinates: rng.pick(&COORDINATES),
        exclude_outside: rng.below(3) == 0,
        antialias: rng.below(3) == 0,
        extrapolation: 10.0,
    }
}

fn run_random(exec: &Executor, rng: &mut Random, dtype: DType) {
    let mut options = options(rng);
    if !dtype.is_float() {
        options.mode = ResizeMode::Nearest(NearestMode::Ceil);
        options.extrapolation = 1.0;
    }
    let rank = 1 + rng.below(5);
    let from: Vec<usize> = (0..rank).map(|_| 1 + rng.below(6)).collect();
    let mut to = from.clone();
    let mut axes = vec![ResizeAxis::default(); rank];
    let crops = options.coordinates == Coordinates::TfCropAndResize;
    for at in rank.saturating_sub(3)..rank {
        to[at] = 1 + rng.below(9);
        axes[at].region = [0.25, 1.125];
        if rng.below(3) == 0 {
            axes[at].scale = Some((to[at] as f64 + 0.4) / from[at] as f64);
        }
    }
    if crops && rank > 3 {
        return;
    }
    let x = random(exec, dtype, &from, rng.pick(&Arrangement::ALL), rng);
    run(exec, &x, &to, &axes, &options, rng.below(5));
}

#[test]
fn random_resamplings_agree_with_the_reference() {
    let exec = common::executor();
    let mut rng = Random(1);
    for dtype in DType::ALL {
        for _ in 0..30 {
            run_random(&exec, &mut rng, dtype);
        }
    }
}

#[test]
fn averages_that_take_several_dispatches_agree_with_the_reference() {
    let mut rng = Random(9);
    let executors = [common::executor(), common::plain_executor()];
    for exec in executors {
        for dtype in [DType::F32, DType::F16] {
            let options = ResizeOptions {
                antialias: true,
                ..ResizeOptions::default()
            };
            let axes = [ResizeAxis::default(); 4];
            let x = random(
                &exec,
                dtype,
                &[1, 2, 260, 240],
                Arrangement::Sliced,
                &mut rng,
            );
            run(&exec, &x, &[1, 2, 1, 2], &axes, &options, 3);
            let x = random(
                &exec,
                dtype,
                &[3, 5, 50_000],
                Arrangement::Flipped,
                &mut rng,
            );
            run(&exec, &x, &[3, 4, 2], &axes[..3], &options, 0);
        }
    }
}

#[test]
fn small_workgroups_and_default_limits_give_the_same() {
    let mut rng = Random(2);
    for exec in [common::narrow_executor(), common::plain_executor()] {
        for dtype in [DType::F32, DType::F16, DType::U8] {
            for _ in 0..5 {
                run_random(&exec, &mut rng, dtype);
            }
        }
        // With 8 invocations 700 x 800 outputs are more than one row of workgroups.
        let x = random(&exec, DType::U8, &[7, 8], Arrangement::Contiguous, &mut rng);
        let nearest = ResizeOptions {
            mode: ResizeMode::Nearest(NearestMode::Floor),
            coordinates: Coordinates::Asymmetric,
            ..ResizeOptions::default()
        };
        run(
            &exec,
            &x,
            &[700, 800],
            &[ResizeAxis::default(); 2],
            &nearest,
            0,
        );
    }
}

#[test]
fn elements_without_weight_have_no_part() {
    let exec = common::executor();
    let x = given(&exec, DType::F32, &[3], &[1.0, f64::INFINITY, f64::NAN]);
    let out = output(&exec, DType::F32, &[3], 0);
    let corners = ResizeOptions {
        coordinates: Coordinates::AlignCorners,
        ..ResizeOptions::default()
    };
    let odd = ResizeAxis {
        scale: Some(1.0 + 1e-300),
        ..ResizeAxis::default()
    };
    let _done = exec.resize(&x.view, &[odd], &corners, &out.view).unwrap();
    let y = out.read(&exec);
    assert!(
        y[0] == 1.0 && y[1] == f64::INFINITY && y[2].is_nan(),
        "{y:?}"
    );
    let out = output(&exec, DType::F32, &[5], 0);
    let _done = exec
        .resize(&x.view, &[ResizeAxis::default()], &corners, &out.view)
        .unwrap();
    let y = out.read(&exec);
    assert!(
        y[0] == 1.0 && y[1] == f64::INFINITY && y[2] == f64::INFINITY,
        "{y:?}"
    );
    assert!(y[3].is_nan() && y[4].is_nan(), "{y:?}");
}

#[test]
fn empty_outputs_are_fine_and_wrong_calls_are_typed_errors() {
    let exec = common::executor();
    let view = |dtype, dims: &[usize]| exec.alloc(&shape(dims), dtype).unwrap();
    let f = |dims: &[usize]| view(DType::F32, dims);
    let plain = ResizeOptions::default();
    let axis = ResizeAxis::default();
    let _done = exec
        .resize(&f(&[0, 3]), &[axis; 2], &plain, &f(&[0, 5]))
        .unwrap();
    let _done = exec.resize(&f(&[3]), &[axis], &plain, &f(&[0])).unwrap();
    let error =
        |x: &_, axes: &[ResizeAxis], out: &_| exec.resize(x, axes, &plain, out).unwrap_err();
    assert!(matches!(
        error(&f(&[3]), &[axis; 2], &f(&[4])),
        KernelError::Operands { .. }
    ));
    assert!(matches!(
        error(&f(&[3]), &[axis], &f(&[4, 1])),
        KernelError::Operands { .. }
    ));
    assert_eq!(
        error(&f(&[3; 4]), &[axis; 4], &f(&[4; 4])).to_string(),
        "resize: at most 3 axes can be resampled at once: left is [3, 3, 3, 3], right is [4, 4, 4, 4]"
    );
    assert!(matches!(
        error(&f(&[0]), &[axis], &f(&[4])),
        KernelError::Operand { .. }
    ));
    assert!(matches!(
        error(&view(DType::I32, &[3]), &[axis], &view(DType::I32, &[4])),
        KernelError::Dtype { .. }
    ));
    assert!(matches!(
        error(&f(&[3]), &[axis], &view(DType::F16, &[4])),
        KernelError::Dtype { .. }
    ));
    for scale in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let axis = ResizeAxis {
            scale: Some(scale),
            ..axis
        };
        assert!(matches!(
            error(&f(&[3]), &[axis], &f(&[4])),
            KernelError::Option { .. }
        ));
    }
}
