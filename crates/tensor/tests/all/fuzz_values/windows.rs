//! Convolutions and pooling over one to three axes.

use crate::expect;
use ziggurat_kernels::Pool;
use ziggurat_kernels::reference::{conv, pool};
use ziggurat_tensor::{ConvOptions, ConvTransposeOptions, Device, Error, PoolOptions, Tensor};

use super::{FLOATS, NUMBERS, agrees, read, refused};
use crate::operands::{self, Random};
use crate::problems::{Values, fuzz, given};

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
    fn lp_pool(x: &Tensor, p: f32, o: &PoolOptions<N>) -> Result<Tensor, Error>;
    fn unpool(x: &Tensor, places: &Tensor, size: [usize; N]) -> Result<Tensor, Error>;
    fn adaptive_avg(x: &Tensor, size: [usize; N]) -> Result<Tensor, Error>;
    fn adaptive_max(x: &Tensor, size: [usize; N]) -> Result<(Tensor, Tensor), Error>;
}

struct Axes;

macro_rules! convolves {
    ($($n:literal $conv:ident $transposed:ident $max:ident $avg:ident $lp:ident $unpool:ident $adaptive_avg:ident $adaptive_max:ident;)*) => {$(
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
            fn lp_pool(x: &Tensor, p: f32, o: &PoolOptions<$n>) -> Result<Tensor, Error> {
                x.$lp(p, o)
            }
            fn unpool(x: &Tensor, places: &Tensor, size: [usize; $n]) -> Result<Tensor, Error> {
                x.$unpool(places, size)
            }
            fn adaptive_avg(x: &Tensor, size: [usize; $n]) -> Result<Tensor, Error> {
                x.$adaptive_avg(size)
            }
            fn adaptive_max(x: &Tensor, size: [usize; $n]) -> Result<(Tensor, Tensor), Error> {
                x.$adaptive_max(size)
            }
        }
    )*};
}

convolves! {
    1 conv1d conv_transpose1d max_pool1d_with_indices avg_pool1d lp_pool1d max_unpool1d adaptive_avg_pool1d adaptive_max_pool1d_with_indices;
    2 conv2d conv_transpose2d max_pool2d_with_indices avg_pool2d lp_pool2d max_unpool2d adaptive_avg_pool2d adaptive_max_pool2d_with_indices;
    3 conv3d conv_transpose3d max_pool3d_with_indices avg_pool3d lp_pool3d max_unpool3d adaptive_avg_pool3d adaptive_max_pool3d_with_indices;
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
    let reference = ConvOptions {
        stride,
        padding_begin: begin,
        padding_end: end,
        dilation,
        groups,
        same: false,
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
    let sides = ((&x.values[..], x.dims()), (&w.values[..], w.dims()));
    let terms = conv::conv_transpose(sides.0, sides.1, None, &options, out);
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
    let (maxima, means) = (
        Axes::max_pool(&x.tensor, &options),
        Axes::avg_pool(&x.tensor, &options),
    );
    let Ok(shape) = options.output_shape("pool", &operands::shape(&dims)) else {
        refused(&what, maxima.map(|(values, _)| values));
        return refused(&what, means);
    };
    let out: [usize; N] = shape.dims()[2..].try_into().unwrap();
    let (values, places) = maxima.unwrap_or_else(|error| panic!("{what}: {error}"));
    unpooled(&what, (&values, &places), &dims[..2], size);
    let wanted = expect::pool(Pool::Max, &x.values, size, &options, out, dtype);
    agrees(&format!("max {what}"), Ok(values), shape.dims(), &wanted);
    let wanted = expect::exact(&pool::max_indices(&x.values, size, &options, out));
    agrees(
        &format!("max places {what}"),
        Ok(places),
        shape.dims(),
        &wanted,
    );
    if !dtype.is_float() {
        return refused(&what, means);
    }
    let wanted = expect::pool(Pool::Average, &x.values, size, &options, out, dtype);
    agrees(&format!("mean {what}"), means, shape.dims(), &wanted);
    let p = rng.pick(&[1.0, 2.0, 3.0, 0.5]);
    let norms = Axes::lp_pool(&x.tensor, p, &options);
    let wanted = expect::lp_pool(&x.values, f64::from(p), size, &options, out, dtype);
    agrees(&format!("norm {p} {what}"), norms, shape.dims(), &wanted);
}

/// Maxima put back to where they were.
fn unpooled<const N: usize>(
    what: &str,
    (maxima, places): (&Tensor, &Tensor),
    images: &[usize],
    size: [usize; N],
) where
    Axes: Convolves<N>,
{
    let plane: usize = size.iter().product();
    let planes: usize = images.iter().product();
    let mut wanted = vec![0.0; planes * plane];
    let (values, at) = (read(maxima), read(places));
    let each = values.len() / planes.max(1);
    for (i, (&value, &at)) in values.iter().zip(&at).enumerate() {
        wanted[i / each * plane + at as usize] = value;
    }
    let result = Axes::unpool(maxima, places, size);
    let what = format!("unpool {what}");
    agrees(
        &what,
        result,
        &[images, &size].concat(),
        &expect::exact(&wanted),
    );
}

fn adapting<const N: usize>(device: &Device, rng: &mut Random)
where
    Axes: Convolves<N>,
{
    let dtype = rng.pick(&NUMBERS);
    let (size, out): ([usize; N], [usize; N]) = (array(1, 11, rng), array(1, 7, rng));
    let images = [rng.below(3), 1 + rng.below(3)];
    let dims = [&images, &size[..]].concat();
    let x = given(device, dtype, &dims, Values::Special, rng);
    let what = format!("{dtype} {dims:?} to {out:?}");
    let shape = [&images, &out[..]].concat();
    let (wanted, at) = expect::adaptive_pool(Pool::Max, &x.values, size, out, dtype);
    let (maxima, places) = Axes::adaptive_max(&x.tensor, out).unwrap();
    agrees(&format!("adaptive max {what}"), Ok(maxima), &shape, &wanted);
    agrees(&format!("adaptive places {what}"), Ok(places), &shape, &at);
    let means = Axes::adaptive_avg(&x.tensor, out);
    if !dtype.is_float() {
        return refused(&what, means);
    }
    let (wanted, _) = expect::adaptive_pool(Pool::Average, &x.values, size, out, dtype);
    agrees(&format!("adaptive mean {what}"), means, &shape, &wanted);
}

#[test]
fn adaptive_pools_agree_with_the_reference() {
    fuzz(|device, rng| match rng.below(3) {
        0 => adapting::<1>(device, rng),
        1 => adapting::<2>(device, rng),
        _ => adapting::<3>(device, rng),
    });
}

#[test]
fn pools_agree_with_the_reference() {
    fuzz(|device, rng| match rng.below(3) {
        0 => pooling::<1>(device, rng),
        1 => pooling::<2>(device, rng),
        _ => pooling::<3>(device, rng),
    });
}
