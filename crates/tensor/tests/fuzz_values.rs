//! Random problems of every family against f64 references: shapes (empty ones too), dtypes, arrangements of memory, values
//! with NaN and infinities, pending expressions as inputs. Never a wrong value, never a panic.
//!
//! Each test runs for five seconds, or for `ZIGGURAT_FUZZ_SECONDS`; its problems follow from `ZIGGURAT_FUZZ_SEED` (1 if not
//! given), so that a failure can be run again: it names the seed of its own problem.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;
#[path = "../../kernels/tests/common/expect.rs"]
mod expect;
#[path = "../../kernels/tests/common/operands.rs"]
mod operands;
#[path = "common/problems.rs"]
mod problems;
#[path = "../../kernels/tests/common/reducing.rs"]
mod reducing;

use operands::{Expected, Random, check, worst};
use problems::{Given, Values, axis_of, extents, fuzz, given, made};
use ziggurat_kernels::core::decode;
use ziggurat_kernels::reference::index::{Indexing, named};
use ziggurat_kernels::reference::{conv, movement, pool, reduce};
use ziggurat_kernels::{ArgReduce, Channels, Norm, Pool, Reduce, Scan};
use ziggurat_tensor::{
    Attention, ConvOptions, ConvTransposeOptions, DType, Device, Error, MaskedRows, Pad,
    PoolOptions, ScanOptions, Scatter, Tensor,
};

const FLOATS: [DType; 3] = [DType::F32, DType::F16, DType::BF16];
const NUMBERS: [DType; 7] = [
    DType::F32,
    DType::F16,
    DType::BF16,
    DType::I32,
    DType::U32,
    DType::I8,
    DType::U8,
];

/// The value is what the reference says; an error is one of the argument's fault.
fn agrees(what: &str, result: Result<Tensor, Error>, dims: &[usize], expected: &[Expected]) {
    let tensor = result.unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(tensor.dims(), dims, "{what}");
    check(what, &read(&tensor), expected);
}

fn read(tensor: &Tensor) -> Vec<f64> {
    decode(tensor.dtype(), &tensor.to_bytes_blocking().unwrap())
}

fn refused(what: &str, result: Result<Tensor, Error>) {
    let Err(error) = result else {
        panic!("{what} was accepted");
    };
    assert!(
        error.is_shape() || error.is_dtype() || error.is_argument(),
        "{what}: {error}"
    );
}

#[test]
fn reductions_agree_with_the_reference() {
    fuzz(|device, rng| {
        let dtype = rng.pick(&DType::ALL);
        let rank = rng.below(5);
        let x = given(device, dtype, &extents(rank, rng), Values::Special, rng);
        let dims = x.dims().to_vec();
        let axes: Vec<usize> = (0..rank).filter(|_| rng.below(2) == 0).collect();
        if axes.is_empty() {
            return;
        }
        let signed: Vec<isize> = axes.iter().map(|&axis| axis as isize).collect();
        let keepdim = rng.below(2) == 0;
        let mut out = reducing::kept(&dims, &axes);
        if keepdim {
            out = dims.clone();
            axes.iter().for_each(|&axis| out[axis] = 1);
        }
        let op = rng.pick(&Reduce::ALL);
        let (t, argument) = (&x.tensor, op.default_argument());
        let result = match op {
            Reduce::Sum => t.sum(&signed, keepdim),
            Reduce::Mean => t.mean(&signed, keepdim),
            Reduce::Max => t.amax(&signed, keepdim),
            Reduce::Min => t.amin(&signed, keepdim),
            Reduce::Prod => t.prod(&signed, keepdim),
            Reduce::LogSumExp if dtype.is_float() => t.logsumexp(&signed, keepdim),
            Reduce::Norm2 if dtype.is_float() => t.norm(2.0, &signed, keepdim),
            Reduce::Var => t.var(&signed, 1.0, keepdim),
            Reduce::Std => t.std(&signed, 1.0, keepdim),
            _ => return,
        };
        let what = format!("{op:?} {dtype} {dims:?} over {axes:?}");
        let empty = axes.iter().any(|&axis| dims[axis] == 0);
        if op.needs_floats() && !dtype.is_float()
            || matches!(op, Reduce::Max | Reduce::Min) && empty && out.iter().product::<usize>() > 0
        {
            return refused(&what, result);
        }
        let Ok(tensor) = &result else {
            // Of nothing there is no extreme, even where nothing would be written.
            assert!(empty, "{what}: {}", result.unwrap_err());
            return;
        };
        let to = tensor.dtype();
        let expected = reducing::expected(op, f64::from(argument), &x.values, &dims, &axes, to);
        agrees(&what, result, &out, &expected);
    });
}

#[test]
fn positions_and_sorting_agree_with_the_reference() {
    fuzz(|device, rng| {
        let dtype = rng.pick(&DType::ALL);
        let rank = 1 + rng.below(4);
        let x = given(device, dtype, &extents(rank, rng), Values::Special, rng);
        let dims = x.dims().to_vec();
        let (signed, axis) = axis_of(rank, rng);
        let len = dims[axis];
        let what = format!("{dtype} {dims:?} along {axis}");
        let down = rng.below(2) == 0;
        let order = expect::argsort(&x.values, &dims, axis, down);
        if rng.below(2) == 0 {
            agrees(
                &format!("argsort down={down} {what}"),
                x.tensor.argsort(signed, down),
                &dims,
                &expect::exact(&order),
            );
            let k = rng.below(len + 2);
            let topk = x.tensor.topk(k, signed, down);
            if k > len {
                return refused(&format!("topk {k} {what}"), topk.map(|(values, _)| values));
            }
            let (values, places) = topk.unwrap();
            let mut out = dims.clone();
            out[axis] = k;
            let inner: usize = dims[axis + 1..].iter().product();
            // Positions of the first k of each row in the order.
            let at: Vec<usize> = (0..out.iter().product())
                .map(|i| i / inner / k * len * inner + i / inner % k * inner + i % inner)
                .collect();
            let wanted: Vec<Expected> = at.iter().map(|&at| Expected::exact(order[at])).collect();
            agrees(&format!("topk {k} {what}"), Ok(places), &out, &wanted);
            let wanted: Vec<Expected> = at
                .iter()
                .map(|&at| {
                    let row = at / inner / len * len * inner + at % inner;
                    Expected::exact(x.values[row + order[at] as usize * inner])
                })
                .collect();
            agrees(&format!("topk {k} {what}"), Ok(values), &out, &wanted);
            return;
        }
        let op = rng.pick(&ArgReduce::ALL);
        let result = match op {
            ArgReduce::Max => x.tensor.argmax(signed, false),
            ArgReduce::Min => x.tensor.argmin(signed, false),
        };
        let what = format!("{op:?} {what}");
        if len == 0 {
            if let Err(error) = result {
                assert!(error.is_shape() || error.is_argument(), "{what}: {error}");
            }
            return;
        }
        let places = reduce::arg_reduce(op, &x.values, &dims, &[axis], false).into_iter();
        let wanted: Vec<_> = places
            .map(|at| Expected::exact(at.unwrap() as f64))
            .collect();
        agrees(&what, result, &reducing::kept(&dims, &[axis]), &wanted);
    });
}

#[test]
fn rows_and_scans_agree_with_the_reference() {
    fuzz(|device, rng| {
        let rank = 1 + rng.below(4);
        let dims = extents(rank, rng);
        let (signed, axis) = axis_of(rank, rng);
        let kind = rng.below(5);
        let dtype = if kind == 2 {
            rng.pick(&DType::ALL)
        } else {
            rng.pick(&FLOATS)
        };
        let values = if kind > 2 {
            Values::Plain
        } else {
            Values::Special
        };
        let x = given(device, dtype, &dims, values, rng);
        let what = format!("{dtype} {dims:?} along {axis}");
        match kind {
            0 => agrees(
                &format!("softmax {what}"),
                x.tensor.softmax(signed),
                &dims,
                &expect::softmax(&x.values, &dims, axis, dtype),
            ),
            1 => agrees(
                &format!("log_softmax {what}"),
                x.tensor.log_softmax(signed),
                &dims,
                &expect::log_softmax(&x.values, &dims, axis, dtype),
            ),
            2 => {
                let options = ScanOptions {
                    exclusive: rng.below(2) == 0,
                    reverse: rng.below(2) == 0,
                };
                let sum = x.tensor.cumsum_with(signed, options).unwrap();
                let to = sum.dtype();
                let wanted = expect::scan(Scan::Sum, &x.values, &dims, axis, options, to);
                agrees(
                    &format!("cumsum {options:?} {what}"),
                    Ok(sum),
                    &dims,
                    &wanted,
                );
                let (_, places) = x.tensor.cummax(signed).unwrap();
                let plain = ScanOptions::default();
                let wanted = expect::scan(Scan::ArgMax, &x.values, &dims, axis, plain, DType::I32);
                agrees(&format!("cummax {what}"), Ok(places), &dims, &wanted);
            }
            _ => {
                let axes = 1 + rng.below(rank);
                let shape = &dims[rank - axes..];
                let len: usize = shape.iter().product();
                let (w, b) = (
                    given(device, dtype, shape, Values::Plain, rng),
                    given(device, dtype, shape, Values::Plain, rng),
                );
                let channels = Channels::default();
                let row = (len, f64::from(1e-5_f32));
                if kind == 3 {
                    let affine = (Some(&w.values[..]), Some(&b.values[..]));
                    let norm = x
                        .tensor
                        .layer_norm(shape, Some(&w.tensor), Some(&b.tensor), 1e-5);
                    let op = Norm::Layer;
                    let wanted = expect::normalize(op, &x.values, row, affine, channels, dtype);
                    agrees(&format!("layer_norm {axes} {what}"), norm, &dims, &wanted);
                } else {
                    let affine = (Some(&w.values[..]), None);
                    let norm = x.tensor.rms_norm(shape, Some(&w.tensor), 1e-5);
                    let op = Norm::Rms;
                    let wanted = expect::normalize(op, &x.values, row, affine, channels, dtype);
                    agrees(&format!("rms_norm {axes} {what}"), norm, &dims, &wanted);
                }
            }
        }
    });
}

fn array<const N: usize>(low: usize, n: usize, rng: &mut Random) -> [usize; N] {
    std::array::from_fn(|_| low + rng.below(n))
}

/// A convolution over `N` axes in both directions.
trait Convolves<const N: usize> {
    fn conv(
        x: &Tensor,
        w: &Tensor,
        b: Option<&Tensor>,
        o: &ConvOptions<N>,
    ) -> Result<Tensor, Error>;
    fn transposed(x: &Tensor, w: &Tensor, o: &ConvTransposeOptions<N>) -> Result<Tensor, Error>;
    fn max_pool(x: &Tensor, o: &PoolOptions<N>) -> Result<(Tensor, Tensor), Error>;
    fn avg_pool(x: &Tensor, o: &PoolOptions<N>) -> Result<Tensor, Error>;
}

struct Axes;

macro_rules! convolves {
    ($($n:literal $conv:ident $transposed:ident $max:ident $avg:ident;)*) => {$(
        impl Convolves<$n> for Axes {
            fn conv(x: &Tensor, w: &Tensor, b: Option<&Tensor>, o: &ConvOptions<$n>) -> Result<Tensor, Error> {
                x.$conv(w, b, o)
            }
            fn transposed(x: &Tensor, w: &Tensor, o: &ConvTransposeOptions<$n>) -> Result<Tensor, Error> {
                x.$transposed(w, None, o)
            }
            fn max_pool(x: &Tensor, o: &PoolOptions<$n>) -> Result<(Tensor, Tensor), Error> {
                x.$max(o)
            }
            fn avg_pool(x: &Tensor, o: &PoolOptions<$n>) -> Result<Tensor, Error> {
                x.$avg(o)
            }
        }
    )*};
}

convolves! {
    1 conv1d conv_transpose1d max_pool1d_with_indices avg_pool1d;
    2 conv2d conv_transpose2d max_pool2d_with_indices avg_pool2d;
    3 conv3d conv_transpose3d max_pool3d_with_indices avg_pool3d;
}

fn convolution<const N: usize>(device: &Device, rng: &mut Random)
where
    Axes: Convolves<N>,
{
    let dtype = rng.pick(&FLOATS);
    let groups = rng.pick(&[1, 1, 2, 3]);
    let per_group = rng.pick(&[1, 2, 5, 16, 17]);
    let channels = 1 + rng.below(5);
    let (kernel, stride) = (array::<N>(1, 3, rng), array::<N>(1, 3, rng));
    let (dilation, begin, end) = (array::<N>(1, 2, rng), array(0, 3, rng), array(0, 3, rng));
    let span = |axis: usize| (kernel[axis] - 1) * dilation[axis] + 1;
    let batch = rng.below(4);
    let images = |size: &[usize], channels: usize| [&[batch, channels], size].concat();
    let options = ConvOptions {
        stride,
        padding_begin: begin,
        padding_end: end,
        dilation,
        groups,
        same: false,
    };
    let size: [usize; N] = std::array::from_fn(|axis| span(axis) + rng.below(9));
    let x = given(
        device,
        dtype,
        &images(&size, channels * groups),
        Values::Plain,
        rng,
    );
    let filters = [&[per_group * groups, channels], &kernel[..]].concat();
    let w = given(device, dtype, &filters, Values::Plain, rng);
    let b = given(device, dtype, &filters[..1], Values::Plain, rng);
    let b = (rng.below(2) == 0).then_some(&b);
    let out: [usize; N] = std::array::from_fn(|axis| {
        (size[axis] + begin[axis] + end[axis] - span(axis)) / stride[axis] + 1
    });
    let what = format!("conv {dtype} {:?} by {filters:?} {options:?}", x.dims());
    let result = Axes::conv(&x.tensor, &w.tensor, b.map(|b| &b.tensor), &options);
    let reference = ziggurat_kernels::ConvOptions {
        strides: stride,
        pads_begin: begin,
        pads_end: end,
        dilations: dilation,
        groups,
    };
    let sides = ((&x.values[..], x.dims()), (&w.values[..], w.dims()));
    let terms = conv::conv(sides.0, sides.1, b.map(|b| &b.values[..]), &reference, out);
    let taps: usize = kernel.iter().product();
    let wanted = expect::sums(&terms, channels * taps + 1, dtype);
    agrees(&what, result, &images(&out, per_group * groups), &wanted);

    let padding: [usize; N] =
        std::array::from_fn(|axis| rng.below(stride[axis].max(dilation[axis])));
    let options = ConvTransposeOptions {
        stride,
        padding_begin: begin,
        padding_end: end,
        dilation,
        output_padding: padding,
        groups,
    };
    let filters = [&[channels * groups, per_group], &kernel[..]].concat();
    let w = given(device, dtype, &filters, Values::Plain, rng);
    let result = Axes::transposed(&x.tensor, &w.tensor, &options);
    let what = format!(
        "conv_transpose {dtype} {:?} by {filters:?} {options:?}",
        x.dims()
    );
    let whole: [usize; N] =
        std::array::from_fn(|axis| (size[axis] - 1) * stride[axis] + span(axis) + padding[axis]);
    if (0..N).any(|axis| whole[axis] <= begin[axis] + end[axis]) {
        // Nothing, or less, is left.
        if let Err(error) = result {
            assert!(error.is_shape() || error.is_argument(), "{what}: {error}");
        }
        return;
    }
    let out: [usize; N] = std::array::from_fn(|axis| whole[axis] - begin[axis] - end[axis]);
    let reference = ziggurat_kernels::ConvTransposeOptions {
        strides: stride,
        pads_begin: begin,
        pads_end: end,
        dilations: dilation,
        output_padding: padding,
        groups,
    };
    let sides = ((&x.values[..], x.dims()), (&w.values[..], w.dims()));
    let terms = conv::conv_transpose(sides.0, sides.1, None, &reference, out);
    let wanted = expect::sums(&terms, channels * taps + 1, dtype);
    agrees(&what, result, &images(&out, per_group * groups), &wanted);
}

#[test]
fn convolutions_agree_with_the_reference() {
    fuzz(|device, rng| match rng.below(3) {
        0 => convolution::<1>(device, rng),
        1 => convolution::<2>(device, rng),
        _ => convolution::<3>(device, rng),
    });
}

fn pooling<const N: usize>(device: &Device, rng: &mut Random)
where
    Axes: Convolves<N>,
{
    let dtype = rng.pick(&NUMBERS);
    let kernel = array::<N>(1, 4, rng);
    let options = PoolOptions {
        kernel,
        stride: array(1, 3, rng),
        padding_begin: array(0, 3, rng),
        padding_end: array(0, 3, rng),
        dilation: array(1, 3, rng),
        ceil_mode: rng.below(2) == 0,
        count_include_pad: rng.below(2) == 0,
        divisor_override: (rng.below(4) == 0).then_some(7),
    };
    let size: [usize; N] = array(1, 11, rng);
    let dims = [&[rng.below(3), 1 + rng.below(3)], &size[..]].concat();
    let x = given(device, dtype, &dims, Values::Special, rng);
    let what = format!("{dtype} {dims:?} {options:?}");
    let reference = ziggurat_kernels::PoolOptions {
        kernel,
        strides: options.stride,
        dilations: options.dilation,
        pads_begin: options.padding_begin,
        pads_end: options.padding_end,
        ceil_mode: options.ceil_mode,
        count_include_pad: options.count_include_pad,
        divisor: options.divisor_override,
    };
    let (maxima, means) = (
        Axes::max_pool(&x.tensor, &options),
        Axes::avg_pool(&x.tensor, &options),
    );
    let Ok(shape) = reference.output_shape("pool", &operands::shape(&dims)) else {
        refused(&what, maxima.map(|(values, _)| values));
        return refused(&what, means);
    };
    let out: [usize; N] = shape.dims()[2..].try_into().unwrap();
    let (values, places) = maxima.unwrap_or_else(|error| panic!("{what}: {error}"));
    let wanted = expect::pool(Pool::Max, &x.values, size, &reference, out, dtype);
    agrees(&format!("max {what}"), Ok(values), shape.dims(), &wanted);
    let wanted = expect::exact(&pool::max_indices(&x.values, size, &reference, out));
    agrees(
        &format!("max places {what}"),
        Ok(places),
        shape.dims(),
        &wanted,
    );
    if !dtype.is_float() {
        return refused(&what, means);
    }
    let wanted = expect::pool(Pool::Average, &x.values, size, &reference, out, dtype);
    agrees(&format!("mean {what}"), means, shape.dims(), &wanted);
}

#[test]
fn pools_agree_with_the_reference() {
    fuzz(|device, rng| match rng.below(3) {
        0 => pooling::<1>(device, rng),
        1 => pooling::<2>(device, rng),
        _ => pooling::<3>(device, rng),
    });
}

#[test]
fn products_and_attention_agree_with_the_reference() {
    fuzz(|device, rng| {
        if rng.below(3) > 0 {
            let dtype = rng.pick(&NUMBERS);
            let sizes = [0, 1, 2, 3, 8, 15, 16, 17, 31, 33, 64, 65];
            let [m, k, n] = [(); 3].map(|()| rng.pick(&sizes));
            let batch: Vec<usize> = (0..rng.below(3)).map(|_| 1 + rng.below(3)).collect();
            // Either side may lack axes or repeat along them.
            let mut side = |rows: usize, cols: usize| {
                let skip = rng.below(batch.len() + 1);
                let own = batch[skip..].iter();
                let own: Vec<usize> = own
                    .map(|&dim| if rng.below(3) == 0 { 1 } else { dim })
                    .collect();
                let dims = [&own[..], &[rows, cols]].concat();
                given(device, dtype, &dims, Values::Special, rng)
            };
            let (a, b) = (side(m, k), side(k, n));
            let lead = |t: &Given| operands::shape(&t.dims()[..t.dims().len() - 2]);
            let both = ziggurat_kernels::core::broadcast_shapes(&[lead(&a), lead(&b)]).unwrap();
            let sides = ((&a.values[..], a.dims()), (&b.values[..], b.dims()));
            let wanted = expect::products(sides.0, sides.1, both.dims(), dtype);
            let what = format!("matmul {dtype} {:?} {:?}", a.dims(), b.dims());
            let out = [both.dims(), &[m, n]].concat();
            return agrees(&what, a.tensor.matmul(&b.tensor), &out, &wanted);
        }
        let dtype = rng.pick(&FLOATS);
        let (batch, kv, each) = (rng.below(3), 1 + rng.below(2), 1 + rng.below(3));
        let [queries, dim, values] = [(); 3].map(|()| 1 + rng.below(18));
        let keys = rng.below(40);
        let mut side = |dims: [usize; 4]| given(device, dtype, &dims, Values::Plain, rng);
        let (q, k, v) = (
            side([batch, kv * each, queries, dim]),
            side([batch, kv, keys, dim]),
            side([batch, kv, keys, values]),
        );
        let mask = given(device, DType::Bool, &[queries, keys], Values::Plain, rng);
        let mask = (rng.below(2) == 0).then_some(&mask);
        let (causal, window) = (rng.below(2) == 0, rng.below(12) as u32);
        let options = Attention {
            scale: Some(0.25),
            mask: mask.map(|mask| &mask.tensor),
            causal,
            left_window: (window < 6).then_some(window),
            masked_rows: MaskedRows::Zero,
            ..Attention::default()
        };
        let result = (q.tensor).scaled_dot_product_attention(&k.tensor, &v.tensor, &options);
        let of = |given: &'_ Given| (given.values.clone(), given.dims().to_vec());
        let (q, k, v, mask) = (of(&q), of(&k), of(&v), mask.map(of));
        let wanted = expect::Attention {
            q: (&q.0, &q.1),
            k: (&k.0, &k.1),
            v: (&v.0, &v.1),
            mask: mask
                .as_ref()
                .map(|mask| (&mask.0[..], &mask.1[..], DType::Bool)),
            lengths: None,
        };
        let kernel = ziggurat_kernels::AttentionOptions {
            scale: 0.25,
            causal,
            left_window: options.left_window,
            zero_masked_rows: true,
            ..ziggurat_kernels::AttentionOptions::default()
        };
        let wanted = expect::attention(&wanted, &kernel, dtype);
        let what = format!("attention {dtype} {:?} {:?} {kernel:?}", q.1, k.1);
        agrees(&what, result, &[batch, kv * each, queries, values], &wanted);
    });
}

#[test]
fn indexing_and_movement_agree_with_the_reference() {
    fuzz(|device, rng| {
        let dtype = rng.pick(&DType::ALL);
        let rank = 1 + rng.below(4);
        let dims = extents(rank, rng);
        let (signed, axis) = axis_of(rank, rng);
        let x = given(device, dtype, &dims, Values::Special, rng);
        let what = format!("{dtype} {dims:?} along {axis}");
        let wild = |dims: &[usize], rng: &mut Random| {
            let integer = rng.pick(&[DType::I32, DType::U32]);
            made(device, integer, dims, rng, move |rng| {
                let near = rng.below(12) as f64;
                if integer == DType::I32 {
                    near - 4.0
                } else {
                    near
                }
            })
        };
        match rng.below(6) {
            0 if dims[axis] > 0 => {
                let mut shape = dims.clone();
                shape[axis] = rng.below(9);
                let index = wild(&shape, rng);
                let (_, at) = named(Indexing::Along(axis), &dims, &index.values, &shape);
                let wanted: Vec<_> = at.iter().map(|&at| Expected::exact(x.values[at])).collect();
                let result = x.tensor.gather(signed, &index.tensor);
                agrees(&format!("gather {what}"), result, &shape, &wanted);
            }
            1 if dims[axis] > 0 => {
                let index = wild(&[rng.below(9)], rng);
                let how = Indexing::Slices(axis);
                let (shape, at) = named(how, &dims, &index.values, index.dims());
                let wanted: Vec<_> = at.iter().map(|&at| Expected::exact(x.values[at])).collect();
                let result = x.tensor.index_select(signed, &index.tensor);
                agrees(&format!("index_select {what}"), result, &shape, &wanted);
            }
            2 if dims[axis] > 0 => {
                let mut shape = dims.clone();
                shape[axis] = rng.below(9);
                let (index, src) = (
                    wild(&shape, rng),
                    given(device, dtype, &shape, Values::Plain, rng),
                );
                // NaN and infinities are for the maxima and minima alone: sums of them are in the reference's order.
                let op = rng.pick(&[Scatter::Max, Scatter::Min]);
                let (_, at) = named(Indexing::Along(axis), &dims, &index.values, &shape);
                let wanted = expect::scatter(op, dtype, &x.values, &at, &src.values);
                let result = x
                    .tensor
                    .scatter_reduce(signed, &index.tensor, &src.tensor, op);
                agrees(&format!("{op:?} {what}"), result, &dims, &wanted);
            }
            3 => {
                let mode = rng.pick(&[Pad::Constant, Pad::Replicate, Pad::Circular]);
                let pads: Vec<[isize; 2]> = (dims.iter())
                    .map(|&dim| {
                        let most = dim.min(4);
                        [(); 2].map(|()| rng.below(most + 2) as isize - (most / 2) as isize)
                    })
                    .map(|pads: [isize; 2]| {
                        // Both at once would ask what is continued, the cropped or the whole.
                        let mixed = pads.iter().any(|&pad| pad < 0);
                        if mixed && mode != Pad::Constant {
                            pads.map(|pad| pad.min(0))
                        } else {
                            pads
                        }
                    })
                    .collect();
                let out: Vec<isize> = (dims.iter().zip(&pads))
                    .map(|(&dim, [begin, end])| dim as isize + begin + end)
                    .collect();
                let value = if dtype.is_bool() { 1.0 } else { 3.0 };
                let result = x.tensor.pad(&pads, mode, value);
                let what = format!("pad {mode:?} {pads:?} {what}");
                // What is repeated goes round once at most.
                let round = |(&dim, pads): (&usize, &[isize; 2])| {
                    pads.iter().any(|&pad| pad > dim as isize)
                };
                let twice = mode == Pad::Circular && dims.iter().zip(&pads).any(round);
                let lacks = |(dim, out): (&usize, &isize)| *dim == 0 && *out > 0;
                let from_nothing = dims.iter().zip(&out).any(lacks) && mode != Pad::Constant;
                if out.iter().any(|&dim| dim < 0) || from_nothing || twice {
                    if let Err(error) = result {
                        assert!(error.is_shape() || error.is_argument(), "{what}: {error}");
                    }
                    return;
                }
                let out: Vec<usize> = out.iter().map(|&dim| dim as usize).collect();
                let begin: Vec<isize> = pads.iter().map(|[begin, _]| *begin).collect();
                let wanted = movement::pad(&x.values, &dims, &begin, mode, value, &out);
                agrees(&what, result, &out, &expect::exact(&wanted));
            }
            4 => {
                let y = given(device, dtype, &dims, Values::Special, rng);
                let result = Tensor::concat(&[&x.tensor, &y.tensor], signed);
                let row: usize = dims[axis..].iter().product();
                let mut out = dims.clone();
                out[axis] *= 2;
                let rows = 0..dims[..axis].iter().product();
                let wanted: Vec<f64> = rows
                    .flat_map(|at: usize| {
                        let part = |t: &Given| t.values[at * row..(at + 1) * row].to_vec();
                        [part(&x), part(&y)].concat()
                    })
                    .collect();
                agrees(
                    &format!("concat {what}"),
                    result,
                    &out,
                    &expect::exact(&wanted),
                );
            }
            _ => {
                let shift = rng.below(41) as isize - 20;
                let inner: usize = dims[axis + 1..].iter().product();
                let len = dims[axis] as isize;
                let from = |i: usize| {
                    let at = (i / inner) as isize % len;
                    let from = (at - shift).rem_euclid(len);
                    x.values[(i as isize + (from - at) * inner as isize) as usize]
                };
                let wanted: Vec<f64> = (0..x.values.len()).map(from).collect();
                let result = x.tensor.roll([shift], [signed]);
                agrees(
                    &format!("roll {shift} {what}"),
                    result,
                    &dims,
                    &expect::exact(&wanted),
                );
            }
        }
    });
}

#[test]
fn the_comparison_catches_what_it_should() {
    let expected = [
        Expected::exact(1.0),
        Expected {
            value: 2.0,
            bound: 0.1,
        },
    ];
    let fails = |actual: [f64; 2]| worst(&actual, &expected).is_some_and(|(off, _)| off > 1.0);
    assert!(!fails([1.0, 2.05]));
    assert!(fails([1.0, 2.2]) && fails([1.000_001, 2.0]));
    assert!(fails([f64::NAN, 2.0]) && fails([1.0, f64::INFINITY]));
}
