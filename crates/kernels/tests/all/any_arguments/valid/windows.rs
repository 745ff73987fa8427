//! Images and windows that fit them: convolutions, pooling, sampling.

use ziggurat_kernels::{
    Completion, ConvOptions, ConvTransposeOptions, Coordinates, DType, Executor, GridMode,
    GridPadding, GridSampleOptions, KernelError, NearestMode, Pool, PoolOptions, ResizeAxis,
    ResizeMode, ResizeOptions,
};

use crate::any_arguments::any::Any;

/// Options of a convolution and a window's reach along each axis.
fn conv_options<const N: usize>(
    any: &mut Any<'_>,
    kernel: [usize; N],
) -> (ConvOptions<N>, [usize; N]) {
    let options = ConvOptions {
        same: false,
        stride: any.several(&[1, 1, 2, 3]),
        padding_begin: any.several(&[0, 0, 1, 2]),
        padding_end: any.several(&[0, 0, 1, 3]),
        dilation: any.several(&[1, 1, 2, 3]),
        groups: any.rng.pick(&[1, 1, 2, 3]),
    };
    let reach = std::array::from_fn(|axis| (kernel[axis] - 1) * options.dilation[axis] + 1);
    (options, reach)
}

pub(crate) fn conv<const N: usize>(
    exec: &Executor,
    any: &mut Any<'_>,
) -> Result<Completion, KernelError> {
    let (dtype, kernel) = (any.float(), any.several::<N>(&[1, 2, 3]));
    let (options, reach) = conv_options(any, kernel);
    let (batch, channels, filters) = (
        any.rng.below(3),
        any.extent_of(3),
        any.extent_of(3) * options.groups,
    );
    let input: [usize; N] = std::array::from_fn(|axis| reach[axis] + any.rng.below(3));
    let output = (0..N).map(|axis| {
        let room =
            input[axis] + options.padding_begin[axis] + options.padding_end[axis] - reach[axis];
        room / options.stride[axis] + 1
    });
    let dims = [batch, filters]
        .into_iter()
        .chain(output)
        .collect::<Vec<_>>();
    let x = any.sized(
        dtype,
        &[&[batch, channels * options.groups], &input[..]].concat(),
    );
    let w = any.sized(dtype, &[&[filters, channels], &kernel[..]].concat());
    let bias = any.flag().then(|| any.sized(dtype, &[filters]));
    let out = any.out(dtype, &dims);
    exec.conv(&x, &w, bias.as_ref(), &options, &out)
}

pub(crate) fn conv_transpose<const N: usize>(
    exec: &Executor,
    any: &mut Any<'_>,
) -> Result<Completion, KernelError> {
    let (dtype, kernel) = (any.float(), any.several::<N>(&[1, 2, 3]));
    let (conv, reach) = conv_options(any, kernel);
    let (batch, channels, filters) = (
        any.rng.below(3),
        any.extent_of(3) * conv.groups,
        any.extent_of(3),
    );
    let input: [usize; N] = any.several(&[1, 2, 3]);
    let room = |axis: usize| conv.stride[axis].max(conv.dilation[axis]);
    let output_padding = std::array::from_fn(|axis| any.rng.below(room(axis)));
    let whole: [usize; N] = std::array::from_fn(|axis| {
        (input[axis] - 1) * conv.stride[axis] + reach[axis] + output_padding[axis]
    });
    // What is cut off leaves something.
    let padding_begin = std::array::from_fn(|axis| conv.padding_begin[axis].min(whole[axis] - 1));
    let padding_end = std::array::from_fn(|axis| {
        conv.padding_end[axis].min(whole[axis] - 1 - padding_begin[axis])
    });
    let options = ConvTransposeOptions {
        stride: conv.stride,
        padding_begin,
        padding_end,
        dilation: conv.dilation,
        output_padding,
        groups: conv.groups,
    };
    let output = (0..N).map(|axis| whole[axis] - padding_begin[axis] - padding_end[axis]);
    let dims = [batch, filters * conv.groups]
        .into_iter()
        .chain(output)
        .collect::<Vec<_>>();
    let x = any.sized(dtype, &[&[batch, channels], &input[..]].concat());
    let w = any.sized(dtype, &[&[channels, filters], &kernel[..]].concat());
    let bias = any
        .flag()
        .then(|| any.sized(dtype, &[filters * conv.groups]));
    let out = any.out(dtype, &dims);
    exec.conv_transpose(&x, &w, bias.as_ref(), &options, &out)
}

pub(crate) fn fold<const N: usize>(
    exec: &Executor,
    any: &mut Any<'_>,
) -> Result<Completion, KernelError> {
    let (dtype, kernel) = (any.float(), any.several::<N>(&[1, 2, 3]));
    let (options, reach) = conv_options(any, kernel);
    let options = ConvOptions {
        groups: 1,
        ..options
    };
    let (batch, channels) = (any.extent_of(2), any.extent_of(3));
    let image: [usize; N] = std::array::from_fn(|axis| reach[axis] + any.rng.below(3));
    let windows: usize = (0..N)
        .map(|axis| {
            let room =
                image[axis] + options.padding_begin[axis] + options.padding_end[axis] - reach[axis];
            room / options.stride[axis] + 1
        })
        .product();
    let taps: usize = kernel.iter().product();
    let columns = any.sized(dtype, &[batch, channels * taps, windows]);
    let out = any.out(dtype, &[&[batch, channels], &image[..]].concat());
    exec.fold(&columns, kernel, &options, &out)
}

/// An image, windows that fit it, and the extents of what is pooled.
fn pool<const N: usize>(any: &mut Any<'_>) -> (Vec<usize>, PoolOptions<N>, Vec<usize>) {
    let kernel: [usize; N] = any.several(&[1, 2, 3]);
    let most = kernel.iter().min().map_or(0, |least| least - 1);
    let options = PoolOptions {
        stride: any.several(&[1, 2, 3]),
        dilation: any.several(&[1, 1, 2]),
        padding_begin: std::array::from_fn(|_| any.rng.below(most + 1)),
        padding_end: std::array::from_fn(|_| any.rng.below(most + 1)),
        ceil_mode: any.flag(),
        count_include_pad: any.flag(),
        divisor_override: any.rng.pick(&[None, None, Some(3)]),
        ..PoolOptions::new(kernel)
    };
    let reach: [usize; N] =
        std::array::from_fn(|axis| (kernel[axis] - 1) * options.dilation[axis] + 1);
    let input: [usize; N] = std::array::from_fn(|axis| reach[axis] + any.rng.below(4));
    let outer = [any.extent_of(2), any.extent_of(3)];
    let output = (0..N).map(|axis| {
        let (begin, stride) = (options.padding_begin[axis], options.stride[axis]);
        let room = input[axis] + begin + options.padding_end[axis] - reach[axis];
        let count = if options.ceil_mode {
            room.div_ceil(stride)
        } else {
            room / stride
        } + 1;
        // No window starts behind the input.
        if (count - 1) * stride >= input[axis] + begin {
            count - 1
        } else {
            count
        }
    });
    let dims = outer.into_iter().chain(output).collect();
    ([&outer[..], &input].concat(), options, dims)
}

pub(crate) fn pooled<const N: usize>(
    exec: &Executor,
    any: &mut Any<'_>,
) -> Result<Completion, KernelError> {
    let kind = any.rng.pick(&Pool::ALL);
    let dtype = if kind.accepts(DType::I32) {
        any.number_dtype()
    } else {
        any.float()
    };
    let (dims, options, pooled) = pool::<N>(any);
    exec.pool(
        kind,
        &any.sized(dtype, &dims),
        &options,
        &any.out(dtype, &pooled),
    )
}

pub(crate) fn lp_pooled<const N: usize>(
    exec: &Executor,
    any: &mut Any<'_>,
) -> Result<Completion, KernelError> {
    let (dtype, p) = (any.float(), any.rng.pick(&[1.0, 2.0, 3.0]));
    let (dims, options, pooled) = pool::<N>(any);
    exec.lp_pool(
        &any.sized(dtype, &dims),
        p,
        &options,
        &any.out(dtype, &pooled),
    )
}

pub(crate) fn pool_indices<const N: usize>(
    exec: &Executor,
    any: &mut Any<'_>,
) -> Result<Completion, KernelError> {
    let dtype = any.number_dtype();
    let (dims, options, pooled) = pool::<N>(any);
    exec.max_pool_indices(
        &any.sized(dtype, &dims),
        &options,
        &any.out(DType::I32, &pooled),
    )
}

pub(crate) fn resize(exec: &Executor, any: &mut Any<'_>) -> Result<Completion, KernelError> {
    let dims = any.full(1..=5);
    let mode = any.rng.pick(&[
        ResizeMode::Nearest(NearestMode::RoundPreferFloor),
        ResizeMode::Nearest(NearestMode::Ceil),
        ResizeMode::Linear,
        ResizeMode::Cubic(-0.75),
    ]);
    let dtype = match mode {
        ResizeMode::Nearest(_) => any.rng.pick(&DType::ALL),
        _ => any.float(),
    };
    let mut to = dims.clone();
    for _ in 0..3 {
        let at = any.rng.below(dims.len());
        to[at] = any.extent_of(6);
    }
    let options = ResizeOptions {
        mode,
        coordinates: any.rng.pick(&[
            Coordinates::HalfPixel,
            Coordinates::PytorchHalfPixel,
            Coordinates::HalfPixelSymmetric,
            Coordinates::Asymmetric,
            Coordinates::AlignCorners,
            Coordinates::TfCropAndResize,
        ]),
        exclude_outside: any.flag(),
        antialias: any.flag(),
        extrapolation: 0.5,
    };
    let axes = vec![ResizeAxis::default(); dims.len()];
    exec.resize(
        &any.sized(dtype, &dims),
        &axes,
        &options,
        &any.out(dtype, &to),
    )
}

pub(crate) fn grid_sample(exec: &Executor, any: &mut Any<'_>) -> Result<Completion, KernelError> {
    let axes = 2 + any.rng.below(2);
    let outer = [any.extent_of(2), any.extent_of(3)];
    let (image, places) = (any.full(axes..=axes), any.full(axes..=axes));
    let mode = match axes {
        2 => any.rng.pick(&GridMode::ALL),
        _ => any.rng.pick(&[GridMode::Nearest, GridMode::Linear]),
    };
    let dtype = match mode {
        GridMode::Nearest => any.rng.pick(&DType::ALL),
        _ => any.float(),
    };
    let options = GridSampleOptions {
        mode,
        padding: any.rng.pick(&GridPadding::ALL),
        align_corners: any.flag(),
    };
    let x = any.sized(dtype, &[&outer[..], &image].concat());
    let grid = any.sized(DType::F32, &[&outer[..1], &places, &[axes]].concat());
    let out = any.out(dtype, &[&outer[..], &places].concat());
    exec.grid_sample(&x, &grid, &options, &out)
}
