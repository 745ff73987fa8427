//! Convolutions and pools of images.

use ziggurat_tensor::{Conv2dOptions, DType, Error, Pool2dOptions, Tensor};

mod transposed;

use super::size;
use crate::bench::case::{Case, Cost, Ready, amount, dims_text};
use crate::bench::expect::{Check, Want, dot, near, spread, summed, values, worst};
use xtask::failure::Outcome;

/// Extents of a convolution.
#[derive(Clone, Copy)]
struct Shape {
    /// `[N, C, H, W]`.
    x: [usize; 4],
    /// `[O, C / groups, KH, KW]`.
    w: [usize; 4],
    stride: usize,
    padding: usize,
    groups: usize,
}

const fn shape(x: [usize; 4], w: [usize; 4], rest: [usize; 3]) -> Shape {
    Shape {
        x,
        w,
        stride: rest[0],
        padding: rest[1],
        groups: rest[2],
    }
}

/// Those of torch_bench.py, then more.
const FULL: [Shape; 8] = [
    shape([32, 64, 56, 56], [64, 64, 3, 3], [1, 1, 1]),
    shape([32, 256, 28, 28], [256, 256, 3, 3], [1, 1, 1]),
    shape([32, 3, 224, 224], [64, 3, 7, 7], [2, 3, 1]),
    shape([32, 128, 56, 56], [128, 1, 3, 3], [1, 1, 128]),
    shape([32, 256, 56, 56], [64, 256, 1, 1], [1, 0, 1]),
    shape([32, 512, 7, 7], [512, 512, 3, 3], [1, 1, 1]),
    shape([32, 128, 28, 28], [128, 4, 3, 3], [1, 1, 32]),
    shape([1, 512, 14, 14], [512, 512, 3, 3], [1, 1, 1]),
];

const SMALL: [Shape; 8] = [
    shape([2, 16, 14, 14], [16, 16, 3, 3], [1, 1, 1]),
    shape([2, 32, 14, 14], [32, 32, 3, 3], [1, 1, 1]),
    shape([2, 3, 32, 32], [8, 3, 7, 7], [2, 3, 1]),
    shape([2, 32, 14, 14], [32, 1, 3, 3], [1, 1, 32]),
    shape([2, 32, 14, 14], [16, 32, 1, 1], [1, 0, 1]),
    shape([2, 32, 7, 7], [32, 32, 3, 3], [1, 1, 1]),
    shape([2, 32, 7, 7], [32, 4, 3, 3], [1, 1, 8]),
    shape([1, 16, 7, 7], [16, 16, 3, 3], [1, 1, 1]),
];

impl Shape {
    /// Of the result, `[N, O, H, W]`.
    fn out(&self) -> [usize; 4] {
        let extent = |i: usize| (self.x[i] + 2 * self.padding - self.w[i]) / self.stride + 1;
        [self.x[0], self.w[0], extent(2), extent(3)]
    }

    fn text(&self) -> String {
        let Self {
            stride,
            padding,
            groups,
            ..
        } = self;
        let (x, w) = (dims_text(&self.x), dims_text(&self.w));
        format!("x{x} w{w} s{stride} p{padding} g{groups}")
    }

    fn cost(&self, dtype: DType) -> Cost {
        let product = |dims: &[usize]| dims.iter().product::<usize>();
        let out = product(&self.out());
        let bytes = dtype.bytes() * (product(&self.x) + product(&self.w) + out);
        Cost::bytes(bytes).flops(2.0 * amount(out) * amount(product(&self.w[1..])))
    }

    fn options(&self) -> Conv2dOptions {
        Conv2dOptions::default()
            .stride([self.stride; 2])
            .padding([self.padding; 2])
            .groups(self.groups)
    }
}

pub(super) fn cases(quick: bool) -> Vec<Case> {
    let shapes = size(quick, FULL, SMALL);
    let mut cases = Vec::new();
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        let count = if dtype == DType::BF16 {
            2
        } else {
            shapes.len()
        };
        for (index, &shape) in shapes[..count].iter().enumerate() {
            cases.push(planes(dtype, shape));
            if index < 2 {
                cases.push(channels_last(dtype, shape));
            }
        }
    }
    cases.extend(transposed::cases(quick));
    let dims = size(quick, [32, 64, 112, 112], [2, 8, 16, 16]);
    for dtype in super::WIDE_AND_NARROW {
        cases.extend([
            pool("maxpool2d_2x2s2", dtype, dims, (2, 2), |x, options| {
                x.max_pool2d(options)
            }),
            pool("avgpool2d_3x3s2", dtype, dims, (3, 2), |x, options| {
                x.avg_pool2d(options)
            }),
            adaptive(dtype, dims),
        ]);
    }
    cases
}

fn planes(dtype: DType, shape: Shape) -> Case {
    Case::new(
        "conv2d",
        dtype,
        shape.text(),
        shape.cost(dtype),
        move |lab| {
            let (x, w) = (lab.uniform(&shape.x, dtype)?, lab.uniform(&shape.w, dtype)?);
            Ok(ready(dtype, shape, x, w))
        },
    )
}

/// Both in memory as PyTorch's `channels_last` has them, seen as planes.
fn channels_last(dtype: DType, shape: Shape) -> Case {
    let cost = shape.cost(dtype);
    Case::new("conv2d_nhwc", dtype, shape.text(), cost, move |lab| {
        let draw = |[n, c, h, w]: [usize; 4]| -> Outcome<Tensor> {
            Ok(lab.uniform(&[n, h, w, c], dtype)?.permute([0, 3, 1, 2])?)
        };
        Ok(ready(dtype, shape, draw(shape.x)?, draw(shape.w)?))
    })
}

fn ready(dtype: DType, shape: Shape, x: Tensor, w: Tensor) -> Ready {
    let options = shape.options();
    let check = convolved(shape, x.clone(), w.clone());
    Ready::new(dtype, check, move || x.conv2d(&w, None, &options))
}

/// One element of a tensor of rank 4, or a block of it.
fn block(tensor: &Tensor, at: [usize; 4], len: [usize; 4]) -> Outcome<Vec<f64>> {
    let mut tensor = tensor.clone();
    for (axis, (start, len)) in (0_isize..).zip(at.into_iter().zip(len)) {
        tensor = tensor.narrow(axis, start, len)?;
    }
    values(&tensor)
}

/// The largest error of sampled elements of a result of `[N, O, H, W]`: corners, where the padding is, and places within. Each is
/// the sum of the products of two lists, which `factors` finds for `[n, o, y, x]`.
fn sampled(
    out: &Tensor,
    dims: [usize; 4],
    factors: impl Fn([usize; 4]) -> Outcome<[Vec<f64>; 2]>,
) -> Outcome<f64> {
    let mut error = 0.0_f64;
    for i in 0..6 {
        let pick = |axis: usize, salt: usize| {
            let places = spread(dims[axis], 6);
            places[(i * salt) % places.len()]
        };
        let at = [pick(0, 1), pick(1, 1), pick(2, 5), pick(3, 1)];
        let [kernel, patch] = factors(at)?;
        let got = block(out, at, [1; 4])?;
        let (sum, size) = dot(&kernel, &patch);
        error = error.max(worst(&got, &[summed(sum, size)]));
    }
    Ok(error)
}

fn convolved(shape: Shape, x: Tensor, w: Tensor) -> Check {
    Box::new(move |out| {
        let dims = shape.out();
        let [_, channels, kh, kw] = shape.w;
        sampled(out, dims, |[b, f, oy, ox]| {
            let first = f / (dims[1] / shape.groups) * channels;
            let kernel = block(&w, [f, 0, 0, 0], [1, channels, kh, kw])?;
            let image = block(&x, [b, first, 0, 0], [1, channels, shape.x[2], shape.x[3]])?;
            let at = |c: usize, y: usize, x: usize| -> f64 {
                let y = (oy * shape.stride + y).checked_sub(shape.padding);
                let x = (ox * shape.stride + x).checked_sub(shape.padding);
                match (y, x) {
                    (Some(y), Some(x)) if y < shape.x[2] && x < shape.x[3] => {
                        image[(c * shape.x[2] + y) * shape.x[3] + x]
                    }
                    _ => 0.0,
                }
            };
            let patch = (0..kernel.len())
                .map(|i| at(i / (kh * kw), i / kw % kh, i % kw))
                .collect();
            Ok([kernel, patch])
        })
    })
}

fn pool(
    name: &'static str,
    dtype: DType,
    dims: [usize; 4],
    (kernel, stride): (usize, usize),
    f: fn(&Tensor, &Pool2dOptions) -> Result<Tensor, Error>,
) -> Case {
    let options = Pool2dOptions::square(kernel).stride([stride; 2]);
    let side = (dims[2] - kernel) / stride + 1;
    let elements: usize = dims.iter().product();
    // As torch_bench.py has it for 2 x 2: all that is read, and what is written.
    let bytes = dtype.bytes() * (elements + dims[0] * dims[1] * side * side);
    let is_max = name.starts_with("max");
    Case::new(
        name,
        dtype,
        dims_text(&dims),
        Cost::bytes(bytes),
        move |lab| {
            let x = lab.uniform(&dims, dtype)?;
            let check = pooled(x.clone(), side, move |y, x| {
                let rows = y * stride..y * stride + kernel;
                (rows, x * stride..x * stride + kernel, is_max)
            });
            Ok(Ready::new(dtype, check, move || f(&x, &options)))
        },
    )
}

const BINS: usize = 7;

fn adaptive(dtype: DType, dims: [usize; 4]) -> Case {
    let elements: usize = dims.iter().product();
    let bytes = dtype.bytes() * (elements + dims[0] * dims[1] * BINS * BINS);
    let name = "adaptive_avgpool2d_7";
    Case::new(
        name,
        dtype,
        dims_text(&dims),
        Cost::bytes(bytes),
        move |lab| {
            let x = lab.uniform(&dims, dtype)?;
            let bin = move |i: usize, n: usize| i * n / BINS..((i + 1) * n).div_ceil(BINS);
            let check = pooled(x.clone(), BINS, move |y, x| {
                (bin(y, dims[2]), bin(x, dims[3]), false)
            });
            Ok(Ready::new(dtype, check, move || {
                x.adaptive_avg_pool2d([BINS; 2])
            }))
        },
    )
}

type Window = (std::ops::Range<usize>, std::ops::Range<usize>, bool);

/// Sampled planes of a pool, from the window of each place.
fn pooled(x: Tensor, side: usize, window: impl Fn(usize, usize) -> Window + 'static) -> Check {
    Box::new(move |out| {
        let dims = x.dims().to_vec();
        let mut error = 0.0_f64;
        for (b, c) in spread(dims[0], 2).into_iter().zip(spread(dims[1], 2)) {
            let plane = block(&x, [b, c, 0, 0], [1, 1, dims[2], dims[3]])?;
            let want = |at: usize| -> Want {
                let (rows, columns, is_max) = window(at / side, at % side);
                let elements: Vec<f64> = rows
                    .flat_map(|y| columns.clone().map(move |x| (y, x)))
                    .map(|(y, x)| plane[y * dims[3] + x])
                    .collect();
                if is_max {
                    return near(super::reduce::most(&elements));
                }
                let each = vec![1.0 / amount(elements.len()); elements.len()];
                let (sum, size) = dot(&elements, &each);
                summed(sum, size)
            };
            let want: Vec<Want> = (0..side * side).map(want).collect();
            let got = block(out, [b, c, 0, 0], [1, 1, side, side])?;
            error = error.max(worst(&got, &want));
        }
        Ok(error)
    })
}
