//! Convolution against the reference: both kernels, groups, strides, padding, dilation, arrangements.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;
#[path = "common/operands.rs"]
mod operands;

use operands::{Arrangement, Expected, Operand, Random, check, given, output, random, shape};
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
        let padded = len + options.pads_begin[axis] + options.pads_end[axis];
        (padded - (kernel - 1) * options.dilations[axis] - 1) / options.strides[axis] + 1
    };
    let size = [extent(0, h, kh), extent(1, width, kw)];
    let out = output(exec, dtype, &[n, m, size[0], size[1]], front);
    let _done = exec
        .conv2d(&x.view, &w.view, bias.map(|b| &b.view), options, &out.view)
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
    let Some(exec) = common::executor() else {
        return;
    };
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
            strides: [1 + rng.below(3), 1 + rng.below(3)],
            pads_begin: [rng.below(3), rng.below(3)],
            pads_end: [rng.below(3), rng.below(3)],
            dilations: [1 + rng.below(2), 1 + rng.below(3)],
            groups,
        };
        let size =
            [0, 1].map(|axis| (kernel[axis] - 1) * options.dilations[axis] + 1 + rng.below(9));
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
    let Some(exec) = common::executor() else {
        return;
    };
    let mut rng = Random(3);
    for (x, w) in [
        ([1, 8, 17, 19], [67, 8, 3, 3]),
        ([3, 16, 9, 7], [64, 16, 1, 1]),
        ([1, 32, 12, 12], [32, 1, 3, 3]),
    ] {
        let groups = x[1] / w[1];
        let options = Conv2dOptions {
            groups,
            pads_begin: [1, 1],
            pads_end: [1, 1],
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
        pads_begin: [1, 1],
        pads_end: [1, 1],
        ..Conv2dOptions::default()
    };
    for exec in [common::narrow_executor(), common::plain_executor()]
        .into_iter()
        .flatten()
    {
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
    let Some(exec) = common::executor() else {
        return;
    };
    let x = given(&exec, DType::F32, &[1, 1, 1, 3], &[1.0, 2.0, 3.0]);
    let w = given(&exec, DType::F32, &[1, 1, 1, 2], &[1.0, 0.0]);
    let out = output(&exec, DType::F32, &[1, 1, 1, 2], 0);
    let _done = exec
        .conv2d(&x.view, &w.view, None, &Conv2dOptions::default(), &out.view)
        .unwrap();
    assert_eq!(out.read(&exec), [1.0, 2.0]);
}

#[test]
fn no_images_and_no_channels_are_fine() {
    let Some(exec) = common::executor() else {
        return;
    };
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
    let Some(exec) = common::executor() else {
        return;
    };
    let view = |dtype, dims: &[usize]| exec.alloc(&shape(dims), dtype).unwrap();
    let f = |dims: &[usize]| view(DType::F32, dims);
    let options = Conv2dOptions::default();
    let conv = |x: &View, w: &View, bias: Option<&View>, out: &View| {
        exec.conv2d(x, w, bias, &options, out).unwrap_err()
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

/// A random problem over `N` axes in both directions, against the references.
fn run_axes<const N: usize>(exec: &Executor, rng: &mut Random, many: bool) {
    let dtype = rng.pick(&FLOATS);
    let groups = rng.pick(&[1, 1, 2]);
    let per_group = if many { 16 } else { 1 + rng.below(5) };
    let channels = if many { 9 } else { 1 + rng.below(3) };
    let array = |rng: &mut Random, low: usize, n: usize| -> [usize; N] {
        [(); N].map(|()| low + rng.below(n))
    };
    let (kernel, strides, dilations) = (array(rng, 1, 3), array(rng, 1, 3), array(rng, 1, 2));
    let (pads_begin, pads_end) = (array(rng, 0, 2), array(rng, 0, 2));
    let bias = random(
        exec,
        dtype,
        &[per_group * groups],
        Arrangement::Flipped,
        rng,
    );
    let bias = (rng.below(2) == 0).then_some(&bias);
    let (left, right) = (rng.pick(&Arrangement::ALL), rng.pick(&Arrangement::ALL));
    let batch = 1 + rng.below(3);
    let span = |axis: usize| (kernel[axis] - 1) * dilations[axis] + 1;

    let options = ConvOptions {
        strides,
        pads_begin,
        pads_end,
        dilations,
        groups,
    };
    let extents: [usize; N] = std::array::from_fn(|axis| span(axis) + rng.below(5));
    let out: [usize; N] = std::array::from_fn(|axis| {
        (extents[axis] + pads_begin[axis] + pads_end[axis] - span(axis)) / strides[axis] + 1
    });
    let x = random(
        exec,
        dtype,
        &[&[batch, channels * groups], &extents[..]].concat(),
        left,
        rng,
    );
    let w = random(
        exec,
        dtype,
        &[&[per_group * groups, channels], &kernel[..]].concat(),
        right,
        rng,
    );
    run_forward(exec, (&x, &w, bias), &options, out, rng.below(5));

    let output_padding: [usize; N] =
        std::array::from_fn(|axis| rng.below(strides[axis].max(dilations[axis])));
    let options = ConvTransposeOptions {
        strides,
        pads_begin,
        pads_end,
        dilations,
        output_padding,
        groups,
    };
    let extents: [usize; N] = array(rng, 3, 5);
    let out: [usize; N] = std::array::from_fn(|axis| {
        (extents[axis] - 1) * strides[axis] + span(axis) + output_padding[axis]
            - pads_begin[axis]
            - pads_end[axis]
    });
    let x = random(
        exec,
        dtype,
        &[&[batch, channels * groups], &extents[..]].concat(),
        left,
        rng,
    );
    let w = random(
        exec,
        dtype,
        &[&[channels * groups, per_group], &kernel[..]].concat(),
        right,
        rng,
    );
    run_transposed(exec, (&x, &w, bias), &options, out, rng.below(5));
}

type Operands<'a> = (&'a Operand, &'a Operand, Option<&'a Operand>);

/// Sums of `depth` terms, given as value and sum of magnitudes.
fn check_sums(
    what: &str,
    actual: &[f64],
    terms: impl Iterator<Item = (f64, f64)>,
    depth: usize,
    dtype: DType,
) {
    let expected: Vec<Expected> = terms
        .map(|(value, magnitude)| Expected::sum(value, magnitude, depth, dtype))
        .collect();
    check(what, actual, &expected);
}

/// A convolution whose outputs have the extents `out`.
fn run_forward<const N: usize>(
    exec: &Executor,
    (x, w, bias): Operands<'_>,
    options: &ConvOptions<N>,
    out: [usize; N],
    front: usize,
) {
    let (dtype, &[filters, channels, ref kernel @ ..]) = (x.view.dtype, w.view.dims()) else {
        panic!("no filters")
    };
    let dims = [&[x.view.dims()[0], filters], &out[..]].concat();
    let y = output(exec, dtype, &dims, front);
    let _done = exec
        .conv(&x.view, &w.view, bias.map(|b| &b.view), options, &y.view)
        .unwrap();
    let terms = conv(
        (&x.values, x.view.dims()),
        (&w.values, w.view.dims()),
        bias.map(|b| &b.values[..]),
        options,
        out,
    );
    let depth = channels * kernel.iter().product::<usize>() + 1;
    let what = format!("{dtype} {options:?} {:?}", x.view.layout);
    let terms = terms.iter().map(|t| (t.value, t.magnitude));
    check_sums(&what, &y.read(exec), terms, depth, dtype);
}

/// The other direction.
fn run_transposed<const N: usize>(
    exec: &Executor,
    (x, w, bias): Operands<'_>,
    options: &ConvTransposeOptions<N>,
    out: [usize; N],
    front: usize,
) {
    let (dtype, &[channels, filters, ref kernel @ ..]) = (x.view.dtype, w.view.dims()) else {
        panic!("no filters")
    };
    let dims = [&[x.view.dims()[0], filters * options.groups], &out[..]].concat();
    let y = output(exec, dtype, &dims, front);
    let _done = exec
        .conv_transpose(&x.view, &w.view, bias.map(|b| &b.view), options, &y.view)
        .unwrap();
    let terms = conv_transpose(
        (&x.values, x.view.dims()),
        (&w.values, w.view.dims()),
        bias.map(|b| &b.values[..]),
        options,
        out,
    );
    let depth = channels / options.groups * kernel.iter().product::<usize>() + 1;
    let what = format!("{dtype} {options:?} {:?}", x.view.layout);
    let terms = terms.iter().map(|t| (t.value, t.magnitude));
    check_sums(&what, &y.read(exec), terms, depth, dtype);
}

#[test]
fn planes_and_volumes_of_every_dtype_take_every_kernel() {
    let Some(exec) = common::executor() else {
        return;
    };
    let mut rng = Random(9);
    for dtype in FLOATS {
        let mut of = |dims: &[usize]| random(&exec, dtype, dims, Arrangement::Contiguous, &mut rng);
        let bias = of(&[16]);
        for bias in [None, Some(&bias)] {
            // In quads, in words, gathered.
            for (x, w, out) in [
                ([1, 16, 2, 3, 4], [16, 16, 1, 1, 1], [2, 3, 4]),
                ([1, 17, 3, 3, 3], [16, 17, 1, 1, 1], [3, 3, 3]),
                ([1, 4, 3, 4, 5], [16, 4, 2, 2, 2], [2, 3, 4]),
            ] {
                let operands = (&of(&x), &of(&w), bias);
                run_forward(&exec, operands, &ConvOptions::default(), out, 0);
            }
            let options = ConvTransposeOptions::default();
            let operands = (&of(&[1, 16, 3, 3, 3]), &of(&[16, 16, 2, 2, 2]), bias);
            run_transposed(&exec, operands, &options, [4, 4, 4], 0);
            let options = ConvTransposeOptions::default();
            let operands = (&of(&[1, 16, 5, 5]), &of(&[16, 16, 2, 2]), bias);
            run_transposed(&exec, operands, &options, [6, 6], 0);
        }
        // Too few channels for tiles.
        let bias = of(&[2]);
        for bias in [None, Some(&bias)] {
            let operands = (&of(&[1, 3, 4, 3, 4]), &of(&[2, 3, 2, 2, 2]), bias);
            run_forward(&exec, operands, &ConvOptions::default(), [3, 2, 3], 0);
            let options = ConvTransposeOptions::default();
            let operands = (&of(&[1, 3, 2, 3, 2]), &of(&[3, 2, 2, 2, 2]), bias);
            run_transposed(&exec, operands, &options, [3, 4, 3], 0);
            let options = ConvTransposeOptions::default();
            let operands = (&of(&[1, 3, 5, 4]), &of(&[3, 2, 2, 2]), bias);
            run_transposed(&exec, operands, &options, [6, 5], 0);
        }
    }
}

/// A depth of 1 all over is a plane's only while nothing is padded in front of it.
#[test]
fn a_single_output_plane_may_stand_in_the_padding() {
    let Some(exec) = common::executor() else {
        return;
    };
    let mut rng = Random(12);
    for dtype in FLOATS {
        // Filters for the tiles and for the direct kernel.
        for filters in [16, 2] {
            let mut of =
                |dims: &[usize]| random(&exec, dtype, dims, Arrangement::Contiguous, &mut rng);
            let (x, bias) = (of(&[1, 4, 1, 5, 6]), of(&[filters]));
            let options = ConvOptions {
                strides: [2, 1, 1],
                pads_begin: [1, 0, 0],
                ..ConvOptions::default()
            };
            let w = of(&[filters, 4, 1, 2, 2]);
            run_forward(&exec, (&x, &w, Some(&bias)), &options, [1, 4, 5], 0);
            let options = ConvTransposeOptions {
                strides: [2, 1, 1],
                pads_begin: [1, 0, 0],
                output_padding: [1, 0, 0],
                ..ConvTransposeOptions::default()
            };
            let w = of(&[4, filters, 1, 2, 2]);
            run_transposed(&exec, (&x, &w, Some(&bias)), &options, [1, 6, 7], 0);
        }
    }
}

/// Strides and dilations whose taps meet an input always, never or every few, in the kernel for few filters and in the
/// tiled one, and in folding.
#[test]
fn transposed_taps_between_inputs_are_left_out() {
    let Some(exec) = common::executor() else {
        return;
    };
    let mut rng = Random(10);
    for (stride, dilation, kernel) in [
        (4, 6, 5),
        (3, 3, 3),
        (5, 1, 2),
        (2, 4, 3),
        (6, 4, 4),
        (1, 7, 2),
    ] {
        for filters in [1, 3, 17] {
            let x = random(
                &exec,
                DType::F32,
                &[2, 3, 4, 5],
                Arrangement::Flipped,
                &mut rng,
            );
            let dims = [3, filters, 2, kernel];
            let w = random(&exec, DType::F32, &dims, Arrangement::Transposed, &mut rng);
            let options = ConvTransposeOptions {
                strides: [2, stride],
                dilations: [3, dilation],
                pads_begin: [1, 2],
                pads_end: [0, 1],
                ..ConvTransposeOptions::default()
            };
            let out = [3 * 2 + 3, 4 * stride + (kernel - 1) * dilation + 1 - 3];
            run_transposed(&exec, (&x, &w, None), &options, out, 1);
        }
    }
}

#[test]
fn one_to_three_axes_agree_with_the_references_in_both_directions() {
    let Some(exec) = common::executor() else {
        return;
    };
    let mut rng = Random(5);
    for case in 0..16 {
        run_axes::<1>(&exec, &mut rng, case % 2 == 0);
        run_axes::<2>(&exec, &mut rng, case % 2 == 0);
        run_axes::<3>(&exec, &mut rng, case % 2 == 0);
    }
}

#[test]
fn one_to_three_axes_on_small_workgroups_and_default_limits() {
    let mut rng = Random(6);
    for exec in [common::narrow_executor(), common::plain_executor()]
        .into_iter()
        .flatten()
    {
        for case in 0..3 {
            run_axes::<1>(&exec, &mut rng, case % 2 == 0);
            run_axes::<2>(&exec, &mut rng, case % 2 == 0);
            run_axes::<3>(&exec, &mut rng, case % 2 == 0);
        }
    }
}

#[test]
fn kernels_of_one_element_agree_in_quads_words_and_gathered() {
    let Some(exec) = common::executor() else {
        return;
    };
    let mut rng = Random(7);
    for dtype in FLOATS {
        for (dims, groups) in [
            ([1, 32, 4, 5], 2),
            ([2, 16, 9, 8], 1),
            ([2, 17, 9, 9], 1),
            ([5, 16, 3, 3], 1),
            ([3, 32, 8, 10], 2),
        ] {
            for arrangement in Arrangement::ALL {
                let x = random(&exec, dtype, &dims, arrangement, &mut rng);
                let w = [37 / groups * groups, dims[1] / groups, 1, 1];
                let w = random(&exec, dtype, &w, rng.pick(&Arrangement::ALL), &mut rng);
                let bias = random(
                    &exec,
                    dtype,
                    &[w.view.dims()[0]],
                    Arrangement::Sliced,
                    &mut rng,
                );
                let options = Conv2dOptions {
                    groups,
                    ..Conv2dOptions::default()
                };
                run(&exec, &x, &w, Some(&bias), &options, 4);
                run(&exec, &x, &w, None, &options, 1);
            }
        }
    }
}

#[test]
fn folding_adds_windows_where_they_overlap() {
    let Some(exec) = common::executor() else {
        return;
    };
    let mut rng = Random(8);
    for case in 0..30 {
        let dtype = FLOATS[case % 3];
        let pair =
            |rng: &mut Random, low: usize, n: usize| [low + rng.below(n), low + rng.below(n)];
        let kernel = pair(&mut rng, 1, 3);
        let options = Conv2dOptions {
            strides: pair(&mut rng, 1, 3),
            pads_begin: pair(&mut rng, 0, 2),
            pads_end: pair(&mut rng, 0, 2),
            dilations: pair(&mut rng, 1, 2),
            groups: 1,
        };
        let span = [0, 1].map(|axis| (kernel[axis] - 1) * options.dilations[axis] + 1);
        let size = [0, 1].map(|axis| span[axis] + rng.below(6));
        let windows = [0, 1].map(|axis| {
            (size[axis] + options.pads_begin[axis] + options.pads_end[axis] - span[axis])
                / options.strides[axis]
                + 1
        });
        let (n, c) = (1 + rng.below(2), 1 + rng.below(3));
        let taps = kernel[0] * kernel[1];
        let dims = [n, c * taps, windows[0] * windows[1]];
        let columns = random(&exec, dtype, &dims, rng.pick(&Arrangement::ALL), &mut rng);
        let out = output(&exec, dtype, &[n, c, size[0], size[1]], rng.below(5));
        let _done = exec
            .fold(&columns.view, kernel, &options, &out.view)
            .unwrap();
        let expected: Vec<Expected> = fold(&columns.values, n * c, kernel, windows, &options, size)
            .iter()
            .map(|t| Expected::sum(t.value, t.magnitude, taps, dtype))
            .collect();
        check(&format!("fold {options:?}"), &out.read(&exec), &expected);
    }
    let f = |dims: &[usize]| exec.alloc(&shape(dims), DType::F32).unwrap();
    let options = Conv2dOptions::default();
    let wrong = [
        exec.fold(&f(&[1, 4, 5]), [2, 2], &options, &f(&[1, 1, 3, 3])),
        exec.fold(&f(&[1, 3, 4]), [2, 2], &options, &f(&[1, 1, 3, 3])),
        exec.fold(&f(&[2, 4, 4]), [2, 2], &options, &f(&[1, 1, 3, 3])),
        exec.fold(&f(&[4, 4]), [2, 2], &options, &f(&[1, 1, 3, 3])),
        exec.fold(&f(&[1, 4, 4]), [2, 2], &options, &f(&[1, 3, 3])),
        exec.fold(&f(&[1, 4, 4]), [4, 2], &options, &f(&[1, 1, 3, 3])),
        exec.fold(&f(&[1, 4, 4]), [0, 2], &options, &f(&[1, 1, 3, 3])),
    ];
    for result in wrong {
        assert!(matches!(
            result.unwrap_err(),
            KernelError::Operands { .. } | KernelError::Operand { .. } | KernelError::Option { .. }
        ));
    }
}

#[test]
fn wrong_transposed_calls_are_typed_errors() {
    let Some(exec) = common::executor() else {
        return;
    };
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
        ..options.clone()
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
