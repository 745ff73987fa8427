//! Heavy ops amid elementwise ones that fuse into them: what they read is an expression, and so is what is made of their
//! result. The same chain is computed in f64 with the rounding of each step, as an interval behind the heavy op.

use crate::expect;
use crate::reducing;
use ziggurat_kernels::reference::round_to;
use ziggurat_kernels::{Channels, Norm, Pool, Reduce};
use ziggurat_tensor::{Conv2dOptions, DType, Device, Pool2dOptions, RopeForm, RopeTable, Tensor};

use super::{FLOATS, read};
use crate::fuzz_values::casts::cast;
use crate::fuzz_values::moves::places;
use crate::operands::{Expected, Random, epsilon};
use crate::problems::{Given, Values, axis_of, fuzz_few, given, modest};

/// What an element may be.
#[derive(Clone, Copy, Debug)]
struct Interval {
    low: f64,
    high: f64,
}

impl Interval {
    fn of(e: &Expected) -> Self {
        Self {
            low: e.value - e.bound,
            high: e.value + e.bound,
        }
    }

    /// A function that rises or falls everywhere.
    fn map(self, f: impl Fn(f64) -> f64) -> Self {
        let (x, y) = (f(self.low), f(self.high));
        if x.is_nan() || y.is_nan() {
            return Self {
                low: f64::NAN,
                high: f64::NAN,
            };
        }
        Self {
            low: x.min(y),
            high: x.max(y),
        }
    }

    fn holds(self, got: f64) -> bool {
        (self.low.is_nan() && got.is_nan()) || (self.low..=self.high).contains(&got)
    }
}

#[test]
fn intervals_hold_what_they_should() {
    let one = Interval::of(&Expected {
        value: 1.0,
        bound: 0.5,
    });
    assert!(one.holds(0.5) && one.holds(1.5) && !one.holds(1.6) && !one.holds(f64::NAN));
    let turned = one.map(|x| -2.0 * x);
    assert!(turned.holds(-3.0) && turned.holds(-1.0) && !turned.holds(-0.9));
    let nan = one.map(|_| f64::NAN);
    assert!(nan.holds(f64::NAN) && !nan.holds(1.0));
}

/// An operand's values at each place of `dims`, to which its last axes broadcast.
fn spread(given: &Given, dims: &[usize]) -> Vec<f64> {
    let own = given.dims();
    let value = |place: Vec<usize>| {
        let place = &place[place.len() - own.len()..];
        let at = place
            .iter()
            .zip(own)
            .fold(0, |at, (&i, &dim)| at * dim + i.min(dim - 1));
        given.values[at]
    };
    places(dims).into_iter().map(value).collect()
}

fn narrower(dims: &[usize], rng: &mut Random) -> Vec<usize> {
    let skip = rng.below(dims.len() + 1);
    let own = dims[skip..].iter();
    own.map(|&dim| if rng.below(3) == 0 { 1 } else { dim })
        .collect()
}

/// A stored tensor and some elementwise steps, each exact but for its rounding: values stay within 2.
fn prologue(device: &Device, dtype: DType, dims: &[usize], rng: &mut Random) -> (Given, String) {
    let first = match dtype {
        // At times what is read is converted on the way.
        DType::F32 => rng.pick(&FLOATS),
        other => other,
    };
    let start = given(device, first, dims, Values::Plain, rng);
    let mut tensor = start.tensor.to_dtype(dtype).unwrap();
    let mut values: Vec<f64> = start
        .values
        .iter()
        .map(|&x| cast(first, dtype, x))
        .collect();
    let mut steps = format!("{first}");
    for _ in 0..rng.below(4) {
        let own = narrower(dims, rng);
        let other = given(device, dtype, &own, Values::Plain, rng);
        let beside = spread(&other, dims);
        let pairs = || values.iter().zip(&beside);
        let rounded = |x: f64| round_to(dtype, x);
        let (name, next, then): (_, _, Vec<f64>) = match rng.below(6) {
            0 => ("neg", tensor.neg(), values.iter().map(|x| -x).collect()),
            1 => (
                "abs",
                tensor.abs(),
                values.iter().map(|x| x.abs()).collect(),
            ),
            2 => {
                let sum = tensor.add(&other.tensor).and_then(|x| x.mul(0.5));
                (
                    "add half",
                    sum,
                    pairs()
                        .map(|(x, y)| rounded(rounded(x + y) * 0.5))
                        .collect(),
                )
            }
            3 => {
                let product = tensor.mul(&other.tensor).and_then(|x| x.mul(0.5));
                (
                    "mul half",
                    product,
                    pairs()
                        .map(|(x, y)| rounded(rounded(x * y) * 0.5))
                        .collect(),
                )
            }
            4 => (
                "maximum",
                tensor.maximum(&other.tensor),
                pairs().map(|(x, y)| x.max(*y)).collect(),
            ),
            _ => (
                "relu",
                tensor.relu(),
                values.iter().map(|x| x.max(0.0)).collect(),
            ),
        };
        tensor = next.unwrap();
        values = then;
        steps = format!("{steps}, {name} {own:?}");
    }
    (Given { tensor, values }, steps)
}

/// Steps that rise or fall everywhere, each rounded.
fn epilogue(
    device: &Device,
    (mut tensor, mut values): (Tensor, Vec<Interval>),
    rng: &mut Random,
) -> (Tensor, Vec<Interval>, String) {
    let mut steps = String::new();
    for _ in 0..rng.below(4) {
        let (dtype, dims) = (tensor.dtype(), tensor.dims().to_vec());
        let own = narrower(&dims, rng);
        let other = given(device, dtype, &own, Values::Plain, rng);
        let beside = spread(&other, &dims);
        let with = |f: &dyn Fn(f64, f64) -> f64| -> Vec<Interval> {
            let pairs = values.iter().zip(&beside);
            pairs
                .map(|(x, &y)| x.map(|x| round_to(dtype, f(x, y))))
                .collect()
        };
        let (name, next, then) = match rng.below(7) {
            0 => ("add", tensor.add(&other.tensor), with(&|x, y| x + y)),
            1 => ("sub", tensor.sub(&other.tensor), with(&|x, y| x - y)),
            2 => ("mul", tensor.mul(&other.tensor), with(&|x, y| x * y)),
            3 => (
                "minimum",
                tensor.minimum(&other.tensor),
                with(&|x, y| if x.is_nan() { x } else { x.min(y) }),
            ),
            4 => (
                "relu",
                tensor.relu(),
                with(&|x, _| if x < 0.0 { 0.0 } else { x }),
            ),
            5 => ("neg", tensor.neg(), with(&|x, _| -x)),
            _ => {
                let to = rng.pick(&FLOATS);
                let cast = values.iter().map(|x| x.map(|x| cast(dtype, to, x)));
                ("to another dtype", tensor.to_dtype(to), cast.collect())
            }
        };
        (tensor, values) = (next.unwrap(), then);
        steps = format!("{steps}, {name} {own:?}");
    }
    (tensor, values, steps)
}

/// Runs the steps behind a heavy op, and compares.
fn finished(
    device: &Device,
    what: &str,
    result: Result<Tensor, ziggurat_tensor::Error>,
    dims: &[usize],
    wanted: &[Expected],
    rng: &mut Random,
) {
    let tensor = result.unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(tensor.dims(), dims, "{what}");
    let start = wanted.iter().map(Interval::of).collect();
    let (tensor, wanted, steps) = epilogue(device, (tensor, start), rng);
    let got = read(&tensor);
    assert_eq!(got.len(), wanted.len(), "{what}{steps}");
    // A subnormal number may be 0.
    let least = f64::from(f32::MIN_POSITIVE);
    for (at, (&got, &wanted)) in got.iter().zip(&wanted).enumerate() {
        let wider = Interval {
            low: wanted.low - least,
            high: wanted.high + least,
        };
        assert!(
            wider.holds(got),
            "{what}{steps}: element {at} is {got}, not {wanted:?}"
        );
    }
}

/// The factors of a norm, within 2.
fn sides(device: &Device, dtype: DType, shape: &[usize], rng: &mut Random) -> [Option<Given>; 2] {
    [(); 2].map(|()| {
        let side = given(device, dtype, shape, Values::Plain, rng);
        (rng.below(3) > 0).then_some(side)
    })
}

fn tensor(side: &Option<Given>) -> Option<&Tensor> {
    side.as_ref().map(|side| &side.tensor)
}

fn values(side: &Option<Given>) -> Option<&[f64]> {
    side.as_ref().map(|side| &side.values[..])
}

#[test]
fn rows_amid_other_steps_agree_with_the_chain() {
    fuzz_few(|device, rng| {
        let dtype = rng.pick(&FLOATS);
        let rank = 1 + rng.below(4);
        let dims = modest(rank, rng);
        let (signed, axis) = axis_of(rank, rng);
        let (x, steps) = prologue(device, dtype, &dims, rng);
        let (t, v) = (&x.tensor, &x.values);
        let what = format!("{dtype} {dims:?} along {axis} of {steps}");
        match rng.below(6) {
            0 => {
                let wanted = expect::softmax(v, &dims, axis, dtype);
                finished(
                    device,
                    &format!("softmax {what}"),
                    t.softmax(signed),
                    &dims,
                    &wanted,
                    rng,
                );
            }
            1 => {
                let wanted = expect::log_softmax(v, &dims, axis, dtype);
                finished(
                    device,
                    &format!("log_softmax {what}"),
                    t.log_softmax(signed),
                    &dims,
                    &wanted,
                    rng,
                );
            }
            2..=3 => {
                let shape = &dims[axis..];
                let [weight, bias] = sides(device, dtype, shape, rng);
                let rms = rng.below(2) == 0;
                let (op, bias) = if rms {
                    (Norm::Rms, None)
                } else {
                    (Norm::Layer, bias)
                };
                let (w, b, eps) = (tensor(&weight), tensor(&bias), 1e-3);
                let result = if rms {
                    t.rms_norm(shape, w, eps)
                } else {
                    t.layer_norm(shape, w, b, eps)
                };
                let row = (shape.iter().product(), f64::from(eps));
                let affine = (values(&weight), values(&bias));
                let wanted = expect::normalize(op, v, row, affine, Channels::default(), dtype);
                finished(
                    device,
                    &format!("{op:?} {what}"),
                    result,
                    &dims,
                    &wanted,
                    rng,
                );
            }
            _ => {
                let axes: Vec<usize> = (0..rank)
                    .filter(|&a| a == axis || rng.below(3) == 0)
                    .collect();
                let all: Vec<isize> = axes.iter().map(|&axis| axis as isize).collect();
                let empty = axes.iter().any(|&axis| dims[axis] == 0);
                let (op, result) = match rng.below(5) {
                    0 => (Reduce::Sum, t.sum(&all, false)),
                    1 => (Reduce::Mean, t.mean(&all, false)),
                    2 if !empty => (Reduce::Max, t.max(&all, false)),
                    3 => (Reduce::LogSumExp, t.logsumexp(&all, false)),
                    _ => (Reduce::Norm2, t.norm(2.0, &all, false)),
                };
                let wanted = reducing::expected(
                    op,
                    f64::from(op.default_argument()),
                    v,
                    &dims,
                    &axes,
                    dtype,
                );
                let out = reducing::kept(&dims, &axes);
                finished(
                    device,
                    &format!("{op:?} over {axes:?} {what}"),
                    result,
                    &out,
                    &wanted,
                    rng,
                );
            }
        }
    });
}

#[test]
fn products_amid_other_steps_agree_with_the_chain() {
    fuzz_few(|device, rng| {
        let dtype = rng.pick(&FLOATS);
        let [m, k, n] = [(); 3].map(|()| rng.pick(&[0, 1, 2, 5, 16, 17, 33, 64]));
        let (a, before) = prologue(device, dtype, &[m, k], rng);
        let linear = rng.below(2) == 0;
        let (b, beside) = prologue(device, dtype, &if linear { [n, k] } else { [k, n] }, rng);
        let columns: Vec<f64> = if linear {
            (0..k * n).map(|at| b.values[at % n * k + at / n]).collect()
        } else {
            b.values.clone()
        };
        let sides = ((&a.values[..], &[m, k][..]), (&columns[..], &[k, n][..]));
        // With a bias the sum is what is rounded, once.
        let summed = if linear { DType::F32 } else { dtype };
        let mut wanted = expect::products(sides.0, sides.1, &[], summed);
        let bias = given(device, dtype, &[n], Values::Plain, rng);
        let result = if linear {
            for (at, e) in wanted.iter_mut().enumerate() {
                let value = e.value + bias.values[at % n];
                let bound = e.bound
                    + 2.0 * f64::from(f32::EPSILON) * (value.abs() + e.value.abs())
                    + epsilon(dtype) * value.abs();
                *e = Expected { value, bound };
            }
            a.tensor.linear(&b.tensor, Some(&bias.tensor))
        } else {
            a.tensor.matmul(&b.tensor)
        };
        let what = format!("linear={linear} {dtype} {m} {k} {n} of {before} and {beside}");
        finished(device, &what, result, &[m, n], &wanted, rng);
    });
}

#[test]
fn windows_amid_other_steps_agree_with_the_chain() {
    fuzz_few(|device, rng| {
        let dtype = rng.pick(&FLOATS);
        let (batch, channels, filters) = (1 + rng.below(2), 1 + rng.below(3), 1 + rng.below(9));
        let pair = |low: usize, n: usize, rng: &mut Random| [(); 2].map(|()| low + rng.below(n));
        let (kernel, stride, pads) = (pair(1, 3, rng), pair(1, 2, rng), pair(0, 2, rng));
        let size = [(); 2].map(|()| 3 + rng.below(9));
        let dims = [batch, channels, size[0], size[1]];
        let (x, steps) = prologue(device, dtype, &dims, rng);
        let out =
            [0, 1].map(|axis| (size[axis] + 2 * pads[axis] - kernel[axis]) / stride[axis] + 1);
        let what = format!("{dtype} {dims:?} by {kernel:?} {stride:?} {pads:?} of {steps}");
        if rng.below(3) == 0 {
            if (0..2).any(|axis| 2 * pads[axis] > kernel[axis]) {
                return;
            }
            let options = Pool2dOptions {
                stride,
                padding_begin: pads,
                padding_end: pads,
                ..Pool2dOptions::new(kernel)
            };
            let (op, result) = if rng.below(2) == 0 {
                (Pool::Max, x.tensor.max_pool2d(&options))
            } else {
                (Pool::Average, x.tensor.avg_pool2d(&options))
            };
            let wanted = expect::pool(op, &x.values, size, &options, out, dtype);
            let shape = [batch, channels, out[0], out[1]];
            return finished(
                device,
                &format!("{op:?} pool {what}"),
                result,
                &shape,
                &wanted,
                rng,
            );
        }
        let w = given(
            device,
            dtype,
            &[filters, channels, kernel[0], kernel[1]],
            Values::Plain,
            rng,
        );
        let bias = given(device, dtype, &[filters], Values::Plain, rng);
        let options = Conv2dOptions {
            stride,
            padding_begin: pads,
            padding_end: pads,
            ..Conv2dOptions::default()
        };
        let terms = ziggurat_kernels::reference::conv::conv(
            (&x.values, &dims),
            (&w.values, w.dims()),
            Some(&bias.values),
            &options,
            out,
        );
        let wanted = expect::sums(&terms, channels * kernel[0] * kernel[1] + 1, dtype);
        let result = x.tensor.conv2d(&w.tensor, Some(&bias.tensor), &options);
        let shape = [batch, filters, out[0], out[1]];
        finished(
            device,
            &format!("conv {what}"),
            result,
            &shape,
            &wanted,
            rng,
        );
    });
}

#[test]
fn rotations_and_scans_amid_other_steps_agree_with_the_chain() {
    fuzz_few(|device, rng| {
        let dtype = rng.pick(&FLOATS);
        if rng.below(2) == 0 {
            let dims = modest(1 + rng.below(3), rng);
            let (signed, axis) = axis_of(dims.len(), rng);
            let (x, steps) = prologue(device, dtype, &dims, rng);
            let scan = ziggurat_kernels::Scan::Sum;
            let plain = ziggurat_tensor::ScanOptions::default();
            let wanted = expect::scan(scan, &x.values, &dims, axis, plain, dtype);
            let what = format!("cumsum {dtype} {dims:?} along {axis} of {steps}");
            return finished(device, &what, x.tensor.cumsum(signed), &dims, &wanted, rng);
        }
        let (half, length) = (1 + rng.below(9), 1 + rng.below(12));
        let dims = [1 + rng.below(2), 1 + rng.below(3), length, 2 * half];
        let (x, steps) = prologue(device, dtype, &dims, rng);
        let mut side = || given(device, DType::F32, &[length, half], Values::Plain, rng);
        let (cos, sin) = (side(), side());
        let interleaved = rng.below(2) == 0;
        let form = RopeForm {
            interleaved,
            ..RopeForm::default()
        };
        let tables = (&cos.values[..], &sin.values[..], half);
        let row = |line: usize| line % length;
        let wanted = expect::rope((&x.values, 2 * half), tables, row, interleaved, dtype);
        let table = RopeTable {
            cos: cos.tensor.clone(),
            sin: sin.tensor.clone(),
        };
        let what = format!("rope {dtype} {dims:?} of {steps}");
        finished(
            device,
            &what,
            x.tensor.rope(&table, form),
            &dims,
            &wanted,
            rng,
        );
    });
}
