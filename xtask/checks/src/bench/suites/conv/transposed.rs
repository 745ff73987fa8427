//! Transposed convolutions of images.

use ziggurat_tensor::{ConvTranspose2dOptions, DType, Tensor};

use super::{block, sampled};
use crate::bench::case::{Case, Cost, Ready, amount, dims_text};
use crate::bench::expect::Check;
use crate::bench::suites::size;

/// Extents of a transposed convolution.
#[derive(Clone, Copy)]
struct Shape {
    /// `[N, C, H, W]`.
    x: [usize; 4],
    /// `[C, O, KH, KW]`.
    w: [usize; 4],
    stride: usize,
    padding: usize,
    /// Rows and columns more.
    more: usize,
}

const fn shape(x: [usize; 4], w: [usize; 4], rest: [usize; 3]) -> Shape {
    Shape {
        x,
        w,
        stride: rest[0],
        padding: rest[1],
        more: rest[2],
    }
}

const FULL: [Shape; 5] = [
    shape([32, 256, 14, 14], [256, 128, 4, 4], [2, 1, 0]),
    shape([32, 128, 28, 28], [128, 64, 3, 3], [2, 1, 1]),
    shape([8, 256, 32, 32], [256, 128, 2, 2], [2, 0, 0]),
    shape([32, 64, 28, 28], [64, 64, 3, 3], [1, 1, 0]),
    shape([1, 512, 16, 16], [512, 256, 3, 3], [2, 1, 1]),
];

const SMALL: [Shape; 5] = [
    shape([2, 16, 7, 7], [16, 16, 4, 4], [2, 1, 0]),
    shape([2, 32, 7, 7], [32, 8, 3, 3], [2, 1, 1]),
    shape([2, 16, 8, 8], [16, 8, 2, 2], [2, 0, 0]),
    shape([2, 16, 7, 7], [16, 16, 3, 3], [1, 1, 0]),
    shape([1, 32, 8, 8], [32, 16, 3, 3], [2, 1, 1]),
];

impl Shape {
    /// Of the result, `[N, O, H, W]`.
    fn out(&self) -> [usize; 4] {
        let extent = |i: usize| {
            let covered = (self.x[i] - 1) * self.stride + self.w[i] + self.more;
            covered - 2 * self.padding
        };
        [self.x[0], self.w[1], extent(2), extent(3)]
    }

    fn text(&self) -> String {
        let Self {
            stride,
            padding,
            more,
            ..
        } = self;
        let (x, w) = (dims_text(&self.x), dims_text(&self.w));
        format!("x{x} w{w} s{stride} p{padding} o{more}")
    }

    fn cost(&self, dtype: DType) -> Cost {
        let product = |dims: &[usize]| dims.iter().product::<usize>();
        let elements = product(&self.x) + product(&self.w) + product(&self.out());
        let flops = 2.0 * amount(product(&self.x)) * amount(product(&self.w[1..]));
        Cost::bytes(dtype.bytes() * elements).flops(flops)
    }

    fn options(&self) -> ConvTranspose2dOptions {
        ConvTranspose2dOptions::default()
            .stride([self.stride; 2])
            .padding([self.padding; 2])
            .output_padding([self.more; 2])
    }
}

pub(super) fn cases(quick: bool) -> impl Iterator<Item = Case> {
    let shapes = size(quick, FULL, SMALL);
    let dtypes = [DType::F32, DType::F16].into_iter();
    dtypes.flat_map(move |dtype| shapes.map(|shape| case(dtype, shape)))
}

fn case(dtype: DType, shape: Shape) -> Case {
    let cost = shape.cost(dtype);
    Case::new("conv_transpose2d", dtype, shape.text(), cost, move |lab| {
        let (x, w) = (lab.uniform(&shape.x, dtype)?, lab.uniform(&shape.w, dtype)?);
        let options = shape.options();
        let check = summed_taps(shape, x.clone(), w.clone());
        Ok(Ready::new(dtype, check, move || {
            x.conv_transpose2d(&w, None, &options)
        }))
    })
}

/// Sampled outputs, each the sum of the taps that reach it from some input.
fn summed_taps(shape: Shape, x: Tensor, w: Tensor) -> Check {
    Box::new(move |out| {
        let [channels, _, kh, kw] = shape.w;
        sampled(out, shape.out(), |[b, f, oy, ox]| {
            let kernel = block(&w, [0, f, 0, 0], [channels, 1, kh, kw])?;
            let image = block(&x, [b, 0, 0, 0], [1, channels, shape.x[2], shape.x[3]])?;
            let source = |at: usize, tap: usize, extent: usize| {
                let from = (at + shape.padding).checked_sub(tap)?;
                let whole = from.is_multiple_of(shape.stride);
                whole.then_some(from / shape.stride).filter(|&i| i < extent)
            };
            let reached = |i: usize| {
                let y = source(oy, i / kw % kh, shape.x[2]);
                let x = source(ox, i % kw, shape.x[3]);
                y.zip(x).map_or(0.0, |(y, x)| {
                    image[(i / (kh * kw) * shape.x[2] + y) * shape.x[3] + x]
                })
            };
            let patch = (0..kernel.len()).map(reached).collect();
            Ok([kernel, patch])
        })
    })
}
