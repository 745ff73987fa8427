//! What ops should give and how far they may be off: the references with the error that each family is allowed.

#![allow(dead_code, reason = "each test file uses its part")]

use std::cmp::Ordering;

use ziggurat_kernels::reference::matmul::{Extents, matmul, matmul_wrapping};
use ziggurat_kernels::reference::reduce::Term;
use ziggurat_kernels::reference::{self, round_to, wrap};
use ziggurat_kernels::{
    AttentionOptions, Channels, DType, GridMode, GridSampleOptions, Layout, Norm, Pool,
    PoolOptions, Random as Draw, RandomState, ResizeAxis, ResizeMode, ResizeOptions, Scan,
    ScanOptions, Scatter, Tolerance,
};

use crate::operands::{Expected, epsilon, shape};

const F32: f64 = f32::EPSILON as f64;

/// A row's exact result within the row's tolerance, which may grow with an input.
pub(crate) fn row(dtype: DType, exact: f64, tolerance: Tolerance, input: f64) -> Expected {
    let rounded = round_to(dtype, exact);
    // An overflow of the dtype is an infinity, which must be met exactly.
    let value = if rounded.is_finite() { exact } else { rounded };
    Expected {
        value,
        bound: tolerance.allowed(dtype, exact, input),
    }
}

/// A truth.
pub(crate) fn truth(is: bool) -> Expected {
    Expected::exact(f64::from(u8::from(is)))
}

pub(crate) fn exact(values: &[f64]) -> Vec<Expected> {
    values.iter().map(|&x| Expected::exact(x)).collect()
}

/// Sums of so many terms in f32.
pub(crate) fn sums(terms: &[Term], len: usize, dtype: DType) -> Vec<Expected> {
    let sum = |t: &Term| Expected::sum(t.value, t.magnitude, len, dtype);
    terms.iter().map(sum).collect()
}

pub(crate) fn cast(from: DType, to: DType, x: f64) -> Expected {
    // Integers beyond 2^24 go to the halves by way of f32, as PyTorch does it.
    let through = if from.is_float() || !to.is_float() {
        x
    } else {
        round_to(DType::F32, x)
    };
    Expected::exact(reference::cast(from, to, through))
}

pub(crate) fn softmax(values: &[f64], dims: &[usize], axis: usize, dtype: DType) -> Vec<Expected> {
    // Each weight is off by a few ULP, and so is the sum; the sum's rounding adds about the square root of its length.
    let dims = if dims.is_empty() { &[1] } else { dims };
    let len = dims[axis] as f64;
    let relative = (8.0 + 2.0 * len.sqrt()) * F32 + epsilon(dtype);
    // A subnormal beside a tie may round the other way: a whole step.
    let least = if dtype == DType::F16 {
        2f64.powi(-24)
    } else {
        1.2e-38
    };
    let shares = reference::softmax::softmax(values, dims, axis);
    let expected = shares.into_iter().map(|value| Expected {
        value,
        bound: relative * value + least,
    });
    expected.map(|e| e.rounded(dtype)).collect()
}

pub(crate) fn log_softmax(
    values: &[f64],
    dims: &[usize],
    axis: usize,
    dtype: DType,
) -> Vec<Expected> {
    // The sum's relative error is an absolute one of its logarithm; the differences are rounded relative to the largest.
    let dims = if dims.is_empty() { &[1] } else { dims };
    let len = dims[axis] as f64;
    let greatest = values.iter().filter(|x| x.is_finite());
    let greatest = greatest.fold(0.0, |most: f64, x| most.max(x.abs()));
    let absolute = (12.0 + 2.0 * len.sqrt() + 4.0 * greatest) * F32;
    let shares = reference::softmax::log_softmax(values, dims, axis);
    let expected = shares.into_iter().map(|value| Expected {
        value,
        bound: absolute + 2.0 * epsilon(dtype) * value.abs(),
    });
    expected.map(|e| e.rounded(dtype)).collect()
}

/// Rows of values of the order of 2, as are weights and biases.
pub(crate) fn normalize(
    op: Norm,
    values: &[f64],
    (len, eps): (usize, f64),
    affine: (Option<&[f64]>, Option<&[f64]>),
    channels: Channels,
    dtype: DType,
) -> Vec<Expected> {
    let root = (len as f64).sqrt();
    let rounding = (20.0 + 2.0 * root) * F32;
    let rows = reference::norm::normalize(op, values, len, eps, affine, channels);
    let plain = reference::norm::normalize(op, values, len, eps, (None, None), channels);
    // A mean is rounded relative to the greatest element: where a row hardly varies, that is much of a deviation.
    let shift = |row: &[f64]| {
        let greatest = row.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        let mean = row.iter().sum::<f64>() / len as f64;
        let variance = row.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / len as f64;
        match op {
            Norm::Layer => 2.0 * (4.0 + root) * F32 * greatest / (variance + eps).sqrt(),
            Norm::Rms | Norm::Length => 0.0,
        }
    };
    let shifts: Vec<f64> = values.chunks(len.max(1)).map(shift).collect();
    let expected = rows.iter().enumerate().map(|(i, &value)| Expected {
        value,
        bound: rounding * (value.abs() + 4.0)
            + shifts[i / len] * (1.0 + plain[i].abs())
            + epsilon(dtype) * value.abs(),
    });
    expected.map(|e| e.rounded(dtype)).collect()
}

/// What a product of neighbouring factors is at most multiplied with on its way to each result: all that stands before it,
/// and all behind.
fn growth(values: &[f64], [outer, len, inner]: [usize; 3], options: ScanOptions) -> Vec<f64> {
    let mut all = vec![1.0; values.len()];
    for row in 0..outer * inner {
        let (mut product, mut before, mut behind) = (1.0_f64, 1.0_f64, 1.0_f64);
        for step in 0..len {
            let at = if options.reverse {
                len - 1 - step
            } else {
                step
            };
            let place = ((row / inner) * len + at) * inner + row % inner;
            let mut take = |x: f64| {
                product *= x.abs();
                before = before.max(product);
                behind = (behind * x.abs()).max(1.0);
                before * behind
            };
            let own = values[place];
            all[place] = if options.exclusive {
                let reached = take(1.0);
                take(own);
                reached
            } else {
                take(own)
            };
        }
    }
    all
}

pub(crate) fn scan(
    op: Scan,
    values: &[f64],
    dims: &[usize],
    axis: usize,
    options: ScanOptions,
    to: DType,
) -> Vec<Expected> {
    let dims = if dims.is_empty() { &[1] } else { dims };
    let extents = [
        dims[..axis].iter().product(),
        dims[axis],
        dims[axis + 1..].iter().product(),
    ];
    let into = |x: f64| {
        if to.is_float() { x } else { wrap(to, x as i64) }
    };
    let results = reference::scan::scan(op, values, extents, options, into);
    let sizes: Vec<f64> = values.iter().map(|x| x.abs()).collect();
    let sizes = reference::scan::scan(Scan::Sum, &sizes, extents, options, |x| x);
    let len = dims[axis] as f64;
    let steps = 16.0 + len / 64.0;
    let growth = match op {
        Scan::Product => growth(values, extents, options),
        _ => vec![1.0; values.len()],
    };
    let bound = |value: f64, size: f64, growth: f64| match op {
        _ if !to.is_float() => 0.0,
        Scan::Sum => F32 * steps * size,
        // Every factor is rounded once, in any order. A subnormal product of some of them may be flushed to 0.
        Scan::Product => {
            F32 * (16.0 + len / 2.0) * value.abs() + f64::from(f32::MIN_POSITIVE) * growth
        }
        _ => F32 * steps * (1.0 + value.abs()),
    };
    let found = results.iter().zip(&sizes).zip(&growth);
    let expected = found.map(|((&value, &size), &growth)| Expected {
        value,
        bound: bound(value, size, growth) + epsilon(to) * value.abs(),
    });
    expected.map(|e| e.rounded(to)).collect()
}

/// NaN last, -0 equal to +0.
pub(crate) fn order(x: f64, y: f64) -> Ordering {
    match (x.is_nan(), y.is_nan()) {
        (true, true) => Ordering::Equal,
        (true, false) => Ordering::Greater,
        (false, true) => Ordering::Less,
        (false, false) => x.partial_cmp(&y).unwrap(),
    }
}

/// Where the elements of each row along `axis` stand once sorted.
pub(crate) fn argsort(values: &[f64], dims: &[usize], axis: usize, descending: bool) -> Vec<f64> {
    let dims = if dims.is_empty() { &[1] } else { dims };
    let len = dims[axis];
    let inner: usize = dims[axis + 1..].iter().product();
    let mut out = vec![0.0; values.len()];
    for row in 0..values.len() / len.max(1) {
        let place = |i: usize| ((row / inner) * len + i) * inner + row % inner;
        let mut at: Vec<usize> = (0..len).collect();
        at.sort_by(|&i, &j| {
            let forward = order(values[place(i)], values[place(j)]);
            if descending {
                forward.reverse()
            } else {
                forward
            }
        });
        for (i, &at) in at.iter().enumerate() {
            out[place(i)] = at as f64;
        }
    }
    out
}

/// How many elements of sorted rows of `n` stand before each value; there is one row, or one per row of values.
pub(crate) fn search(sorted: &[f64], n: usize, values: &[f64], m: usize, right: bool) -> Vec<f64> {
    let shared = sorted.len() == n;
    let count = |i: usize| {
        let row = if shared { 0 } else { i / m };
        let before = |x: &&f64| match order(**x, values[i]) {
            Ordering::Less => true,
            Ordering::Equal => right,
            Ordering::Greater => false,
        };
        sorted[row * n..(row + 1) * n].iter().filter(before).count() as f64
    };
    (0..values.len()).map(count).collect()
}

/// The data after all updates; floats that are added or multiplied may round at each.
pub(crate) fn scatter(
    op: Scatter,
    dtype: DType,
    start: &[f64],
    at: &[usize],
    updates: &[f64],
) -> Vec<Expected> {
    let values = reference::index::scatter(op, dtype, start, at, updates);
    let mut bounds = vec![0.0; values.len()];
    let mut sizes: Vec<f64> = start.iter().map(|x| x.abs()).collect();
    if dtype.is_float() && matches!(op, Scatter::Add | Scatter::Mul) {
        for (&at, update) in at.iter().zip(updates) {
            sizes[at] = match op {
                Scatter::Add => sizes[at] + update.abs(),
                _ => sizes[at] * update.abs().max(1.0),
            };
            bounds[at] += sizes[at] * epsilon(dtype);
        }
    }
    let expected = values.iter().zip(bounds).map(|(&value, bound)| Expected {
        value: round_to(dtype, value),
        bound,
    });
    expected.collect()
}

pub(crate) fn pool<const N: usize>(
    op: Pool,
    x: &[f64],
    from: [usize; N],
    options: &PoolOptions<N>,
    to: [usize; N],
    dtype: DType,
) -> Vec<Expected> {
    let terms = options.kernel.iter().product();
    let values = reference::pool::pool(op, x, from, options, to);
    // The mean of the sizes: with a divisor of its own it may be greater than any of them.
    let sizes: Vec<f64> = x.iter().map(|x| x.abs()).collect();
    let sizes = reference::pool::pool(op, &sizes, from, options, to);
    (values.into_iter().zip(sizes))
        .map(|(y, size)| average(op, y, size, terms, dtype))
        .collect()
}

/// A maximum, or a mean of values up to a magnitude.
fn average(op: Pool, value: f64, magnitude: f64, terms: usize, dtype: DType) -> Expected {
    match op {
        Pool::Max => Expected::exact(value),
        Pool::Average => Expected::sum(value, magnitude, terms, dtype),
    }
}

/// Values, and where maxima lie.
pub(crate) fn adaptive_pool<const N: usize>(
    op: Pool,
    x: &[f64],
    from: [usize; N],
    to: [usize; N],
    dtype: DType,
) -> (Vec<Expected>, Vec<Expected>) {
    let (values, places) = reference::pool::adaptive_pool(op, x, from, to);
    let sizes: Vec<f64> = x.iter().map(|x| x.abs()).collect();
    let (sizes, _) = reference::pool::adaptive_pool(op, &sizes, from, to);
    let terms = from.iter().product();
    let values = (values.into_iter().zip(sizes))
        .map(|(y, size)| average(op, y, size, terms, dtype))
        .collect();
    (values, exact(&places))
}

pub(crate) fn lp_pool<const N: usize>(
    x: &[f64],
    p: f64,
    from: [usize; N],
    options: &PoolOptions<N>,
    to: [usize; N],
    dtype: DType,
) -> Vec<Expected> {
    let norms = reference::pool::lp_pool(x, p, from, options, to);
    let expected = norms.into_iter().map(|value| Expected {
        value,
        bound: value * (40.0 * F32 + epsilon(dtype)),
    });
    expected.map(|e| e.rounded(dtype)).collect()
}

pub(crate) fn resize(
    x: &[f64],
    from: &[usize],
    to: &[usize],
    axes: &[ResizeAxis],
    options: &ResizeOptions,
    dtype: DType,
) -> Vec<Expected> {
    let terms = reference::resize::resize(x, from, to, axes, options);
    if matches!(options.mode, ResizeMode::Nearest(_)) {
        let copied = terms
            .iter()
            .map(|t| Expected::exact(t.value).rounded(dtype));
        return copied.collect();
    }
    // Along each axis a product and a sum per tap, and the rounding of the weight: see the kernel's accuracy.
    let reach = if options.mode == ResizeMode::Linear {
        2.0
    } else {
        4.0
    };
    let taps = |((&from, &to), axis): ((&usize, &usize), &ResizeAxis)| {
        let scale = axis.scale.unwrap_or(to as f64 / from as f64);
        let stretch = if options.antialias { 1.0 / scale } else { 1.0 };
        (reach * stretch.max(1.0)).min(from as f64).ceil() as usize + 2
    };
    let changed = |((from, to), axis): &((&usize, &usize), &ResizeAxis)| {
        from != to || **axis != ResizeAxis::default()
    };
    let pairs = || from.iter().zip(to).zip(axes);
    sums(
        &terms,
        8 + pairs().filter(changed).map(taps).sum::<usize>(),
        dtype,
    )
}

/// Samples of images `[batch, channels, ..]` of values up to 2 at the places of a grid, coordinates up to 3.
pub(crate) fn grid_sample(
    x: (&[f64], &[usize]),
    grid: &[f64],
    options: &GridSampleOptions,
    dtype: DType,
) -> Vec<Expected> {
    let (batch, channels, spatial) = (x.1[0], x.1[1], &x.1[2..]);
    let image: usize = spatial.iter().product();
    let greatest = spatial.iter().copied().max().unwrap_or(1) as f64;
    let mut all = Vec::new();
    for (n, c) in (0..batch).flat_map(|n| (0..channels).map(move |c| (n, c))) {
        let places = grid.len() / batch;
        let places = &grid[n * places..][..places];
        let values = &x.0[(n * channels + c) * image..][..image];
        for term in reference::grid_sample::grid_sample(values, spatial, places, options) {
            all.push(if options.mode == GridMode::Nearest {
                Expected::exact(term.value).rounded(dtype)
            } else {
                // 264 ε n max|x|: see the kernels' accuracy.
                Expected::sum(term.value, 4.0 * greatest * 2.0, 64, dtype)
            });
        }
    }
    all
}

/// A head of values up to 2, rotated.
pub(crate) fn rotated(
    head: &[f64],
    cos: &[f64],
    sin: &[f64],
    interleaved: bool,
    dtype: DType,
) -> Vec<Expected> {
    let values = reference::rope::rotate(head, cos, sin, interleaved);
    let expected = values.into_iter().map(|value| Expected {
        value,
        bound: 16.0 * F32 + epsilon(dtype) * value.abs(),
    });
    expected.map(|e| e.rounded(dtype)).collect()
}

/// Lines of `width` elements rotated, each by the row of the tables that `row` names.
pub(crate) fn rope(
    (x, width): (&[f64], usize),
    (cos, sin, half): (&[f64], &[f64], usize),
    row: impl Fn(usize) -> usize,
    interleaved: bool,
    dtype: DType,
) -> Vec<Expected> {
    let lines = x.chunks(width.max(1)).enumerate();
    let rotated = lines.flat_map(|(line, head)| {
        let at = row(line) * half;
        let (cos, sin) = (&cos[at..at + half], &sin[at..at + half]);
        rotated(head, cos, sin, interleaved, dtype)
    });
    rotated.collect()
}

/// A triangle of a matrix of `n` rows, with its diagonal or with ones.
pub(crate) fn triangle(a: &[f64], n: usize, upper: bool, unit: bool) -> Vec<f64> {
    let entry = |e: usize| {
        let (row, col) = (e / n, e % n);
        let inside = if upper { col > row } else { col < row };
        match (row == col, unit) {
            (true, true) => 1.0,
            (true, false) => a[e],
            _ if inside => a[e],
            _ => 0.0,
        }
    };
    (0..n * n).map(entry).collect()
}

/// The numbers that a state gives.
pub(crate) fn drawn(kind: Draw, state: RandomState, len: usize, dtype: DType) -> Vec<Expected> {
    use reference::random::{integers, normal, uniform, words};
    match kind {
        Draw::Bits => {
            let words = words(state, len).into_iter();
            words.map(|w| Expected::exact(f64::from(w))).collect()
        }
        Draw::Uniform => {
            let digits = match dtype {
                DType::F16 => 11,
                DType::BF16 => 8,
                _ => 24,
            };
            exact(&uniform(&words(state, len), digits))
        }
        Draw::Normal => {
            // Two numbers come from two words each.
            let numbers = normal(&words(state, len.next_multiple_of(2)));
            let near = |&value: &f64| {
                let bound = 4e-6 + epsilon(dtype) * value.abs();
                Expected { value, bound }.rounded(dtype)
            };
            numbers[..len].iter().map(near).collect()
        }
        Draw::Integer { low, count } => {
            let value = |x: u32| match dtype {
                DType::I32 => f64::from(x as i32),
                _ => f64::from(x),
            };
            let numbers = integers(&words(state, len), low, count).into_iter();
            numbers.map(|x| Expected::exact(value(x))).collect()
        }
    }
}

/// Within so many ULP of 1, or of the value.
pub(crate) fn near(values: &[f64], scale: f64) -> Vec<Expected> {
    let near = |&value: &f64| Expected {
        value,
        bound: scale * F32 * (1.0 + value.abs()),
    };
    values.iter().map(near).collect()
}

/// What `a @ b` should be over the batch, broadcast.
pub(crate) fn products(
    (a, a_dims): (&[f64], &[usize]),
    (b, b_dims): (&[f64], &[usize]),
    batch: &[usize],
    dtype: DType,
) -> Vec<Expected> {
    let (m, k) = (a_dims[a_dims.len() - 2], a_dims[a_dims.len() - 1]);
    let n = b_dims[b_dims.len() - 1];
    let e = Extents {
        batch: batch.iter().product(),
        m,
        n,
        k,
    };
    let spread = |values: &[f64], dims: &[usize], rows: usize, cols: usize| -> Vec<f64> {
        let own = Layout::contiguous(shape(dims));
        let full = own.expand(shape(&[batch, &[rows, cols]].concat())).unwrap();
        full.offsets().map(|i| values[i]).collect()
    };
    let (left, right) = (spread(a, a_dims, m, k), spread(b, b_dims, k, n));
    if dtype.is_float() {
        return sums(&matmul(&left, &right, e), k, dtype);
    }
    let whole = |values: &[f64]| values.iter().map(|&v| v as i64).collect::<Vec<_>>();
    matmul_wrapping(&whole(&left), &whole(&right), e)
        .into_iter()
        .map(|v| Expected::exact(wrap(dtype, v)))
        .collect()
}

/// What attention reads, on the host.
pub(crate) struct Attention<'a> {
    pub(crate) q: (&'a [f64], &'a [usize]),
    pub(crate) k: (&'a [f64], &'a [usize]),
    pub(crate) v: (&'a [f64], &'a [usize]),
    /// `[queries, keys]` or `[batch, heads, queries, keys]`; bool or added.
    pub(crate) mask: Option<(&'a [f64], &'a [usize], DType)>,
    pub(crate) lengths: Option<&'a [usize]>,
}

/// Attention over values up to 2, head by head.
pub(crate) fn attention(
    given: &Attention<'_>,
    options: &AttentionOptions,
    dtype: DType,
) -> Vec<Expected> {
    let (q, k, v) = (given.q.1, given.k.1, given.v.1);
    let [batch, heads, queries, dim] = [q[0], q[1], q[2], q[3]];
    let (kv_heads, keys, value_dim) = (k[1], k[2], v[3]);
    let part = |values: &[f64], at: usize, len: usize| values[at * len..(at + 1) * len].to_vec();
    let mut all = Vec::new();
    for (b, h) in (0..batch).flat_map(|b| (0..heads).map(move |h| (b, h))) {
        let kv = b * kv_heads + h / (heads / kv_heads);
        let bias: Vec<f64> = match given.mask {
            None => vec![0.0; queries * keys],
            Some((values, dims, dtype)) => {
                let at = if dims.len() == 4 { b * heads + h } else { 0 };
                let bias = |x: f64| match (dtype == DType::Bool, x == 0.0) {
                    (true, true) => f64::NEG_INFINITY,
                    (true, false) => 0.0,
                    (false, _) => x,
                };
                let mask = part(values, at, queries * keys);
                mask.into_iter().map(bias).collect()
            }
        };
        let count = given.lengths.map_or(keys, |lengths| lengths[b]);
        let mut options = *options;
        if given.lengths.is_some() {
            options.shift = count as i32 - queries as i32;
        }
        let head = reference::attention::Head {
            q: &part(given.q.0, b * heads + h, queries * dim),
            k: &part(given.k.0, kv, keys * dim),
            v: &part(given.v.0, kv, keys * value_dim),
            bias: &bias,
            extents: [queries, keys, dim, value_dim],
            count,
        };
        all.extend(reference::attention::attention(&head, &options));
    }
    // Scores of up to 4 · dim · scale are off by some ULP each, and so are their exponentials.
    let score = 4.0 * dim as f64 * f64::from(options.scale.abs()) + 8.0;
    let expected = all.into_iter().map(|value| Expected {
        value,
        bound: 8.0 * score * F32 + epsilon(dtype) * value.abs(),
    });
    expected.map(|e| e.rounded(dtype)).collect()
}
