//! One to three axes, in both directions, and folding.

use super::*;

/// A random problem over `N` axes in both directions, against the references.
fn run_axes<const N: usize>(exec: &Executor, rng: &mut Random, many: bool) {
    let dtype = rng.pick(&FLOATS);
    let groups = rng.pick(&[1, 1, 2]);
    let per_group = if many { 16 } else { 1 + rng.below(5) };
    let channels = if many { 9 } else { 1 + rng.below(3) };
    let array = |rng: &mut Random, low: usize, n: usize| -> [usize; N] {
        [(); N].map(|()| low + rng.below(n))
    };
    let (kernel, stride, dilation) = (array(rng, 1, 3), array(rng, 1, 3), array(rng, 1, 2));
    let (padding_begin, padding_end) = (array(rng, 0, 2), array(rng, 0, 2));
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
    let span = |axis: usize| (kernel[axis] - 1) * dilation[axis] + 1;

    let options = ConvOptions {
        same: false,
        stride,
        padding_begin,
        padding_end,
        dilation,
        groups,
    };
    let extents: [usize; N] = std::array::from_fn(|axis| span(axis) + rng.below(5));
    let out: [usize; N] = std::array::from_fn(|axis| {
        (extents[axis] + padding_begin[axis] + padding_end[axis] - span(axis)) / stride[axis] + 1
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
        std::array::from_fn(|axis| rng.below(stride[axis].max(dilation[axis])));
    let options = ConvTransposeOptions {
        stride,
        padding_begin,
        padding_end,
        dilation,
        output_padding,
        groups,
    };
    let extents: [usize; N] = array(rng, 3, 5);
    let out: [usize; N] = std::array::from_fn(|axis| {
        (extents[axis] - 1) * stride[axis] + span(axis) + output_padding[axis]
            - padding_begin[axis]
            - padding_end[axis]
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

pub(super) type Operands<'a> = (&'a Operand, &'a Operand, Option<&'a Operand>);

#[test]
fn more_products_than_one_dispatch_adds_up_agree_with_the_references() {
    let mut rng = Random(21);
    let executors = [common::executor(), common::plain_executor()];
    for exec in executors {
        for (dtype, arrangement) in FLOATS.into_iter().zip(Arrangement::ALL) {
            // Cut along the channels, two groups of three filters.
            let options = ConvOptions {
                same: false,
                stride: [2, 1],
                padding_begin: [1, 0],
                padding_end: [0, 2],
                dilation: [1, 2],
                groups: 2,
            };
            let mut make = |dims: &[usize]| random(&exec, dtype, dims, arrangement, &mut rng);
            let (x, w) = (make(&[1, 4400, 4, 3]), make(&[6, 2200, 2, 3]));
            let bias = make(&[6]);
            run_forward(&exec, (&x, &w, Some(&bias)), &options, [2, 1], 3);
            // Cut along the kernel: its longest axis, which is not the last, and its last.
            let options = ConvOptions {
                same: false,
                stride: [3, 1],
                padding_begin: [2, 1],
                padding_end: [7, 0],
                dilation: [2, 1],
                groups: 1,
            };
            let (x, w) = (make(&[1, 2, 20_000, 3]), make(&[1, 2, 10_000, 2]));
            run_forward(&exec, (&x, &w, None), &options, [4, 3], 0);
            let options = ConvOptions {
                stride: [2],
                padding_begin: [3],
                ..ConvOptions::default()
            };
            let (x, w) = (make(&[2, 1, 40_003]), make(&[5, 1, 40_000]));
            run_forward(&exec, (&x, &w, None), &options, [4], 1);
            // Transposed: along the channels, and along the kernel.
            let options = ConvTransposeOptions {
                stride: [2, 1],
                padding_begin: [1, 0],
                padding_end: [0, 1],
                ..ConvTransposeOptions::default()
            };
            let (x, w) = (make(&[1, 6000, 2, 2]), make(&[6000, 2, 3, 2]));
            let bias = make(&[2]);
            run_transposed(&exec, (&x, &w, Some(&bias)), &options, [4, 2], 0);
            let options = ConvTransposeOptions {
                stride: [3],
                padding_begin: [120_000],
                padding_end: [119_990],
                dilation: [2],
                ..ConvTransposeOptions::default()
            };
            let (x, w) = (make(&[1, 1, 5]), make(&[1, 1, 120_000]));
            run_transposed(&exec, (&x, &w, None), &options, [21], 2);
        }
    }
}

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
pub(super) fn run_forward<const N: usize>(
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
pub(super) fn run_transposed<const N: usize>(
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
    let exec = common::executor();
    let mut rng = Random(9);
    for dtype in FLOATS {
        let mut of = |dims: &[usize]| random(&exec, dtype, dims, Arrangement::Contiguous, &mut rng);
        let bias = of(&[16]);
        for bias in [None, Some(&bias)] {
            // In vec4, in words, gathered.
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

/// Whatever is chosen by itself: every tile and the kernels without one.
#[test]
fn every_way_gives_the_sums() {
    let roomy = common::executor();
    let mut rng = Random(10);
    for way in 0..9 {
        let exec = roomy.in_way(way);
        for dtype in [DType::F32, DType::F16] {
            let mut of =
                |dims: &[usize]| random(&exec, dtype, dims, Arrangement::Contiguous, &mut rng);
            for (x, w, out) in [
                ([1, 16, 2, 6, 12], [33, 16, 1, 1, 1], [2, 6, 12]),
                ([2, 5, 4, 6, 5], [16, 5, 2, 3, 2], [3, 4, 4]),
            ] {
                let operands = (&of(&x), &of(&w), None);
                run_forward(&exec, operands, &ConvOptions::default(), out, 0);
            }
            let transposed = ConvTransposeOptions::default();
            let operands = (&of(&[1, 16, 3, 3, 3]), &of(&[16, 20, 2, 2, 2]), None);
            run_transposed(&exec, operands, &transposed, [4, 4, 4], 0);
        }
    }
}

/// A depth of 1 all over is a plane's only while nothing is padded in front of it.
#[test]
fn a_single_output_plane_may_stand_in_the_padding() {
    let exec = common::executor();
    let mut rng = Random(12);
    for dtype in FLOATS {
        // Filters for the tiles and for the direct kernel.
        for filters in [16, 2] {
            let mut of =
                |dims: &[usize]| random(&exec, dtype, dims, Arrangement::Contiguous, &mut rng);
            let (x, bias) = (of(&[1, 4, 1, 5, 6]), of(&[filters]));
            let options = ConvOptions {
                stride: [2, 1, 1],
                padding_begin: [1, 0, 0],
                ..ConvOptions::default()
            };
            let w = of(&[filters, 4, 1, 2, 2]);
            run_forward(&exec, (&x, &w, Some(&bias)), &options, [1, 4, 5], 0);
            let options = ConvTransposeOptions {
                stride: [2, 1, 1],
                padding_begin: [1, 0, 0],
                output_padding: [1, 0, 0],
                ..ConvTransposeOptions::default()
            };
            let w = of(&[4, filters, 1, 2, 2]);
            run_transposed(&exec, (&x, &w, Some(&bias)), &options, [1, 6, 7], 0);
        }
    }
}

/// Strides and dilation whose taps meet an input always, never or every few, in the kernel for few filters and in the
/// tiled one, and in folding.
#[test]
fn transposed_taps_between_inputs_are_left_out() {
    let exec = common::executor();
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
                stride: [2, stride],
                dilation: [3, dilation],
                padding_begin: [1, 2],
                padding_end: [0, 1],
                ..ConvTransposeOptions::default()
            };
            let out = [3 * 2 + 3, 4 * stride + (kernel - 1) * dilation + 1 - 3];
            run_transposed(&exec, (&x, &w, None), &options, out, 1);
        }
    }
}

#[test]
fn one_to_three_axes_agree_with_the_references_in_both_directions() {
    let exec = common::executor();
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
    for exec in [common::narrow_executor(), common::plain_executor()] {
        for case in 0..3 {
            run_axes::<1>(&exec, &mut rng, case % 2 == 0);
            run_axes::<2>(&exec, &mut rng, case % 2 == 0);
            run_axes::<3>(&exec, &mut rng, case % 2 == 0);
        }
    }
}

#[test]
fn kernels_of_one_element_agree_in_vec4_words_and_gathered() {
    let exec = common::executor();
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
    let exec = common::executor();
    let mut rng = Random(8);
    for case in 0..30 {
        let dtype = FLOATS[case % 3];
        let pair =
            |rng: &mut Random, low: usize, n: usize| [low + rng.below(n), low + rng.below(n)];
        let kernel = pair(&mut rng, 1, 3);
        let options = Conv2dOptions {
            same: false,
            stride: pair(&mut rng, 1, 3),
            padding_begin: pair(&mut rng, 0, 2),
            padding_end: pair(&mut rng, 0, 2),
            dilation: pair(&mut rng, 1, 2),
            groups: 1,
        };
        let span = [0, 1].map(|axis| (kernel[axis] - 1) * options.dilation[axis] + 1);
        let size = [0, 1].map(|axis| span[axis] + rng.below(6));
        let windows = [0, 1].map(|axis| {
            (size[axis] + options.padding_begin[axis] + options.padding_end[axis] - span[axis])
                / options.stride[axis]
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
