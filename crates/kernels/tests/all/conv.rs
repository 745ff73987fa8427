//! Convolution against the reference: both kernels, groups, stride, padding, dilation, arrangements.

mod axes;
mod packed;
mod packed_errors;
mod shares;
mod transposed;

use crate::common;
use crate::operands;
use crate::operands::{
    Arrangement, Expected, Operand, Random, check, given, output, random, shape,
};
use ziggurat_kernels::reference::conv::{conv, conv_transpose, fold};
use ziggurat_kernels::{
    Conv2dOptions, ConvOptions, ConvTransposeOptions, DType, Executor, KernelError, View,
};

const FLOATS: [DType; 3] = [DType::F32, DType::F16, DType::BF16];

fn dims4(operand: &Operand) -> [usize; 4] {
    operand.view.dims().try_into().unwrap()
}

fn run(
    exec: &Executor,
    x: &Operand,
    w: &Operand,
    bias: Option<&Operand>,
    options: &Conv2dOptions,
    front: usize,
) {
    let dtype = x.view.dtype;
    let ([n, _, h, width], [m, c, kh, kw]) = (dims4(x), dims4(w));
    let extent = |axis: usize, len: usize, kernel: usize| {
        let padded = len + options.padding_begin[axis] + options.padding_end[axis];
        (padded - (kernel - 1) * options.dilation[axis] - 1) / options.stride[axis] + 1
    };
    let size = [extent(0, h, kh), extent(1, width, kw)];
    let out = output(exec, dtype, &[n, m, size[0], size[1]], front);
    let _done = exec
        .conv(&x.view, &w.view, bias.map(|b| &b.view), options, &out.view)
        .unwrap();
    let terms = conv(
        (&x.values, x.view.dims()),
        (&w.values, w.view.dims()),
        bias.map(|b| &b.values[..]),
        options,
        size,
    );
    let expected: Vec<Expected> = terms
        .iter()
        .map(|t| Expected::sum(t.value, t.magnitude, c * kh * kw + 1, dtype))
        .collect();
    let what = format!(
        "{dtype} {:?} by {:?} {options:?}",
        x.view.layout, w.view.layout
    );
    check(&what, &out.read(exec), &expected);
}

#[test]
fn strides_padding_dilation_and_groups_agree_with_the_reference() {
    let exec = common::executor();
    let mut rng = Random(2);
    for case in 0..50 {
        let groups = rng.pick(&[1, 1, 2, 3]);
        let per_group = if case % 2 == 0 {
            1 + rng.below(6)
        } else {
            16 + rng.below(4)
        };
        let channels = 1 + rng.below(5);
        let kernel = [1 + rng.below(3), 1 + rng.below(4)];
        let options = Conv2dOptions {
            same: false,
            stride: [1 + rng.below(3), 1 + rng.below(3)],
            padding_begin: [rng.below(3), rng.below(3)],
            padding_end: [rng.below(3), rng.below(3)],
            dilation: [1 + rng.below(2), 1 + rng.below(3)],
            groups,
        };
        let size =
            [0, 1].map(|axis| (kernel[axis] - 1) * options.dilation[axis] + 1 + rng.below(9));
        let x = [1 + rng.below(3), channels * groups, size[0], size[1]];
        let w = [per_group * groups, channels, kernel[0], kernel[1]];
        let x = random(&exec, DType::F32, &x, rng.pick(&Arrangement::ALL), &mut rng);
        let w = random(&exec, DType::F32, &w, rng.pick(&Arrangement::ALL), &mut rng);
        let bias = random(
            &exec,
            DType::F32,
            &[per_group * groups],
            Arrangement::Contiguous,
            &mut rng,
        );
        let front = rng.below(5);
        run(
            &exec,
            &x,
            &w,
            (case % 3 > 0).then_some(&bias),
            &options,
            front,
        );
    }
}

#[test]
fn more_than_one_tile_of_filters_and_positions() {
    let exec = common::executor();
    let mut rng = Random(3);
    for (x, w) in [
        ([1, 8, 17, 19], [67, 8, 3, 3]),
        ([3, 16, 9, 7], [64, 16, 1, 1]),
        ([1, 32, 12, 12], [32, 1, 3, 3]),
    ] {
        let groups = x[1] / w[1];
        let options = Conv2dOptions {
            groups,
            padding_begin: [1, 1],
            padding_end: [1, 1],
            ..Conv2dOptions::default()
        };
        let x = random(&exec, DType::F32, &x, Arrangement::Contiguous, &mut rng);
        let w = random(&exec, DType::F32, &w, Arrangement::Contiguous, &mut rng);
        run(&exec, &x, &w, None, &options, 0);
    }
}

#[test]
fn small_workgroups_and_default_limits_give_the_same() {
    let mut rng = Random(4);
    let options = Conv2dOptions {
        padding_begin: [1, 1],
        padding_end: [1, 1],
        ..Conv2dOptions::default()
    };
    for exec in [common::narrow_executor(), common::plain_executor()] {
        // With 8 invocations 700 x 800 positions are more than one row of workgroups.
        for (x, w) in [
            ([1, 1, 700, 800], [1, 1, 3, 3]),
            ([1, 4, 9, 11], [20, 4, 3, 3]),
        ] {
            let x = random(&exec, DType::F16, &x, Arrangement::Contiguous, &mut rng);
            let w = random(&exec, DType::F16, &w, Arrangement::Contiguous, &mut rng);
            run(&exec, &x, &w, None, &options, 0);
        }
    }
}

#[test]
fn filters_are_not_turned() {
    let exec = common::executor();
    let x = given(&exec, DType::F32, &[1, 1, 1, 3], &[1.0, 2.0, 3.0]);
    let w = given(&exec, DType::F32, &[1, 1, 1, 2], &[1.0, 0.0]);
    let out = output(&exec, DType::F32, &[1, 1, 1, 2], 0);
    let _done = exec
        .conv(&x.view, &w.view, None, &Conv2dOptions::default(), &out.view)
        .unwrap();
    assert_eq!(out.read(&exec), [1.0, 2.0]);
}

#[test]
fn no_images_and_no_channels_are_fine() {
    let exec = common::executor();
    let options = Conv2dOptions::default();
    for (x, w) in [
        ([0, 3, 6, 7], [5, 3, 3, 2]),
        ([2, 0, 6, 7], [5, 0, 3, 2]),
        ([2, 3, 6, 7], [0, 3, 3, 2]),
    ] {
        let x = operands::operand(&exec, DType::F32, &x, Arrangement::Contiguous, || 1.0);
        let w = operands::operand(&exec, DType::F32, &w, Arrangement::Contiguous, || 1.0);
        run(&exec, &x, &w, None, &options, 0);
    }
}

#[test]
fn wrong_calls_are_typed_errors() {
    let exec = common::executor();
    let view = |dtype, dims: &[usize]| exec.alloc(&shape(dims), dtype).unwrap();
    let f = |dims: &[usize]| view(DType::F32, dims);
    let options = Conv2dOptions::default();
    let conv = |x: &View, w: &View, bias: Option<&View>, out: &View| {
        exec.conv(x, w, bias, &options, out).unwrap_err()
    };
    let (x, w, out) = (f(&[1, 3, 5, 5]), f(&[2, 3, 3, 3]), f(&[1, 2, 3, 3]));
    assert!(matches!(
        conv(&f(&[3, 5, 5]), &w, None, &out),
        KernelError::Operand { .. }
    ));
    assert!(matches!(
        conv(&x, &f(&[2, 4, 3, 3]), None, &out),
        KernelError::Operands { .. }
    ));
    assert!(matches!(
        conv(&x, &w, Some(&f(&[3])), &out),
        KernelError::Operands { .. }
    ));
    assert!(matches!(
        conv(&x, &w, Some(&view(DType::F16, &[2])), &out),
        KernelError::Dtype { .. }
    ));
    assert!(matches!(
        conv(&x, &f(&[2, 3, 6, 3]), None, &out),
        KernelError::Operands { .. }
    ));
    assert!(matches!(
        conv(&x, &w, None, &f(&[1, 2, 3, 4])),
        KernelError::Output { .. }
    ));
    assert!(matches!(
        conv(&view(DType::I32, &[1, 3, 5, 5]), &w, None, &out),
        KernelError::Dtype { .. }
    ));
}

#[test]
fn wrong_transposed_calls_are_typed_errors() {
    let exec = common::executor();
    let f = |dims: &[usize]| exec.alloc(&shape(dims), DType::F32).unwrap();
    let options = ConvTransposeOptions::<2>::default();
    let (x, w, out) = (f(&[1, 3, 5, 5]), f(&[3, 2, 3, 3]), f(&[1, 2, 7, 7]));
    let text = |x: &View, w: &View, out: &View, options: &ConvTransposeOptions<2>| {
        exec.conv_transpose(x, w, None, options, out)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        text(&x, &f(&[4, 2, 3, 3]), &out, &options),
        "conv_transpose2d: the channels of x must be groups times the channels of w: left is [1, 3, 5, 5], right is [4, 2, 3, 3]"
    );
    assert_eq!(
        text(&x, &w, &f(&[1, 2, 7, 8]), &options),
        "conv_transpose2d: the output must be [1, 2, 7, 7], but it is [1, 2, 7, 8]"
    );
    let padded = ConvTransposeOptions {
        output_padding: [1, 0],
        ..options
    };
    assert_eq!(
        text(&x, &w, &out, &padded),
        "conv_transpose2d: output_padding must be less than the stride or the dilation, but it is 1"
    );
    let _done = exec
        .conv_transpose(&f(&[0, 3, 5, 5]), &w, None, &options, &f(&[0, 2, 7, 7]))
        .unwrap();
    let none = exec.conv_transpose(&x, &w, None, &options, &x).unwrap_err();
    assert!(matches!(none, KernelError::Output { .. }));
    let ints = exec.alloc(&shape(&[1, 3, 5, 5]), DType::I32).unwrap();
    assert!(matches!(
        exec.conv_transpose(&ints, &w, None, &options, &out)
            .unwrap_err(),
        KernelError::Dtype { .. }
    ));
}
