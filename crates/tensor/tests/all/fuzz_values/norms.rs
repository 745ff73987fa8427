//! Normalisation of rows, groups, instances and batches.

use crate::expect;
use crate::reducing;
use ziggurat_kernels::{Channels, DType, Norm, Reduce};
use ziggurat_tensor::Tensor;

use super::{FLOATS, agrees, refused};
use crate::operands::{Expected, Random, epsilon};
use crate::problems::{Given, Values, axis_of, extents, fuzz, given, made};

const F32: f64 = f32::EPSILON as f64;

/// A weight or a bias: at times none.
type Side = Option<Given>;

fn tensor(side: &Side) -> Option<&Tensor> {
    side.as_ref().map(|given| &given.tensor)
}

fn values(side: &Side) -> Option<&[f64]> {
    side.as_ref().map(|given| &given.values[..])
}

fn eps(rng: &mut Random) -> f32 {
    rng.pick(&[1e-5, 1e-3, 0.5])
}

#[test]
fn rows_agree_with_the_reference() {
    fuzz(|device, rng| {
        let dtype = rng.pick(&FLOATS);
        let rank = 1 + rng.below(4);
        let dims = extents(rank, rng);
        let x = given(device, dtype, &dims, Values::Plain, rng);
        let axes = 1 + rng.below(rank);
        let shape = &dims[rank - axes..];
        let mut side = || {
            let side = given(device, dtype, shape, Values::Plain, rng);
            (rng.below(3) > 0).then_some(side)
        };
        let (weight, bias) = (side(), side());
        let eps = eps(rng);
        let row = (shape.iter().product(), f64::from(eps));
        let (op, bias) = if rng.below(2) == 0 {
            (Norm::Layer, bias)
        } else {
            (Norm::Rms, None)
        };
        let (w, b) = (tensor(&weight), tensor(&bias));
        let result = match op {
            Norm::Layer => x.tensor.layer_norm(shape, w, b, eps),
            _ => x.tensor.rms_norm(shape, w, eps),
        };
        let affine = (values(&weight), values(&bias));
        let wanted = expect::normalize(op, &x.values, row, affine, Channels::default(), dtype);
        let (w, b) = (w.is_some(), b.is_some());
        let what = format!("{op:?} {dtype} {dims:?} over {axes}, {eps}, weight {w}, bias {b}");
        agrees(&what, result, &dims, &wanted);
    });
}

#[test]
fn groups_and_instances_agree_with_the_reference() {
    fuzz(|device, rng| {
        let dtype = rng.pick(&FLOATS);
        let groups = 1 + rng.below(4);
        let per_group = rng.below(4);
        let axes = 1 + rng.below(3);
        let dims = [&[rng.below(4), groups * per_group], &extents(axes, rng)[..]].concat();
        let x = given(device, dtype, &dims, Values::Plain, rng);
        let mut side = || {
            let side = given(device, dtype, &dims[1..2], Values::Plain, rng);
            (rng.below(3) > 0).then_some(side)
        };
        let (weight, bias) = (side(), side());
        let (w, b) = (tensor(&weight), tensor(&bias));
        let eps = eps(rng);
        let span: usize = dims[2..].iter().product();
        let instance = rng.below(3) == 0;
        let (groups, per_group, result) = if instance {
            (dims[1], 1, x.tensor.instance_norm(w, b, eps))
        } else {
            (groups, per_group, x.tensor.group_norm(groups, w, b, eps))
        };
        let what = format!(
            "norm of {groups} groups of {dtype} {dims:?}, {eps}, weight {}, bias {}",
            w.is_some(),
            b.is_some()
        );
        if instance && span == 1 {
            return refused(&what, result);
        }
        let channels = Channels {
            period: groups.max(1),
            step: per_group,
            span: span.max(1),
        };
        let row = (per_group * span, f64::from(eps));
        let affine = (values(&weight), values(&bias));
        let wanted = expect::normalize(Norm::Layer, &x.values, row, affine, channels, dtype);
        agrees(&what, result, &dims, &wanted);
    });
}

/// Where the elements of `dims` stand once the axis is the first one.
fn with_axis_first(dims: &[usize], axis: usize) -> Vec<usize> {
    let inner: usize = dims[axis + 1..].iter().product();
    let outer: usize = dims[..axis].iter().product();
    let channel = |c: usize| {
        (0..outer).flat_map(move |o| (0..inner).map(move |i| (o * dims[axis] + c) * inner + i))
    };
    (0..dims[axis]).flat_map(channel).collect()
}

#[test]
fn batches_agree_with_the_reference() {
    fuzz(|device, rng| {
        let dtype = rng.pick(&FLOATS);
        let rank = 1 + rng.below(4);
        let dims = extents(rank, rng);
        let (signed, axis) = axis_of(rank, rng);
        let x = given(device, dtype, &dims, Values::Plain, rng);
        let channels = [dims[axis]];
        let mut side = || {
            let side = given(device, dtype, &channels, Values::Plain, rng);
            (rng.below(3) > 0).then_some(side)
        };
        let (weight, bias) = (side(), side());
        let (w, b) = (tensor(&weight), tensor(&bias));
        let eps = eps(rng);
        let what = format!(
            "{dtype} {dims:?} along {axis}, {eps}, weight {}, bias {}",
            w.is_some(),
            b.is_some()
        );
        if rng.below(2) == 0 {
            let mean = given(device, dtype, &channels, Values::Plain, rng);
            let var = made(device, DType::F32, &channels, rng, |rng| {
                rng.value(DType::F32).abs() + 0.125
            });
            // A view made of negated values would be of negative variances.
            if var.values.iter().any(|&var| var < 0.0) {
                return;
            }
            let statistics = (&mean.tensor, &var.tensor);
            let result = x.tensor.batch_norm(signed, statistics, w, b, eps);
            let inner: usize = dims[axis + 1..].iter().product();
            let element = |(i, &x): (usize, &f64)| {
                let c = i / inner % dims[axis];
                let of = |side: &Side, none: f64| side.as_ref().map_or(none, |g| g.values[c]);
                let factor = 1.0 / (var.values[c] + f64::from(eps)).sqrt();
                let scaled = (x - mean.values[c]) * factor * of(&weight, 1.0);
                let value = scaled + of(&bias, 0.0);
                // A difference, a root of two units at most, two products, a sum.
                let bound = 8.0 * F32 * (scaled.abs() + value.abs())
                    + epsilon(dtype) * value.abs()
                    + f64::from(f32::MIN_POSITIVE);
                Expected { value, bound }.rounded(dtype)
            };
            let wanted: Vec<Expected> = x.values.iter().enumerate().map(element).collect();
            return agrees(&format!("batch_norm {what}"), result, &dims, &wanted);
        }
        let result = x.tensor.batch_norm_train(signed, w, b, eps);
        let what = format!("batch_norm_train {what}");
        let others: usize = dims.iter().product::<usize>() / dims[axis].max(1);
        if x.values.len() <= dims[axis] {
            return refused(&what, result.map(|trained| trained.output));
        }
        let trained = result.unwrap();
        // A channel is a row once the channels come first.
        let order = with_axis_first(&dims, axis);
        let rows: Vec<f64> = order.iter().map(|&at| x.values[at]).collect();
        let each = Channels {
            period: dims[axis],
            step: 1,
            span: others,
        };
        let (row, affine) = ((others, f64::from(eps)), (values(&weight), values(&bias)));
        let normalized = expect::normalize(Norm::Layer, &rows, row, affine, each, dtype);
        let mut wanted = vec![Expected::exact(0.0); normalized.len()];
        for (&at, expected) in order.iter().zip(normalized) {
            wanted[at] = expected;
        }
        agrees(&what, Ok(trained.output), &dims, &wanted);
        let all: Vec<usize> = (0..rank).filter(|&other| other != axis).collect();
        for (op, got) in [(Reduce::Mean, trained.mean), (Reduce::Var, trained.var)] {
            let wanted = reducing::expected(op, 0.0, &x.values, &dims, &all, DType::F32);
            agrees(&format!("{op:?} of {what}"), Ok(got), &channels, &wanted);
        }
    });
}

#[test]
fn unit_lengths_agree_with_the_reference() {
    fuzz(|device, rng| {
        let dtype = rng.pick(&FLOATS);
        let rank = 1 + rng.below(4);
        let dims = extents(rank, rng);
        let x = given(device, dtype, &dims, Values::Plain, rng);
        let (signed, axis) = axis_of(rank, rng);
        let p = rng.pick(&[1.0, 2.0, 2.0, 3.0, f64::INFINITY]);
        let eps = rng.pick(&[1e-12, 0.5]);
        let result = x.tensor.normalize(p, [signed], eps);
        let (len, inner) = (dims[axis], dims[axis + 1..].iter().product::<usize>());
        let row = |i: usize| i / (len * inner) * len * inner + i % inner;
        let element = |i: usize| {
            let row = (0..len).map(|at| x.values[row(i) + at * inner].abs());
            let norm = if p.is_infinite() {
                row.fold(0.0, f64::max)
            } else {
                row.map(|x| x.powf(p)).sum::<f64>().powf(1.0 / p)
            };
            let value = x.values[i] / norm.max(f64::from(eps));
            // That of the norm, see shaders/reduce/op/norm.wgsl, and a division.
            let relative = (len as f64 + 2.0) * F32 * (1.0 + 8.0 / p) + 4.0 * F32;
            let bound = (relative + epsilon(dtype)) * value.abs() + f64::from(f32::MIN_POSITIVE);
            Expected { value, bound }.rounded(dtype)
        };
        let what = format!("normalize {p} {dtype} {dims:?} along {axis}, {eps}");
        if p.is_infinite() && len == 0 {
            // Of nothing there is no greatest, even where nothing would be divided by it.
            return refused(&what, result);
        }
        let wanted: Vec<Expected> = (0..x.values.len()).map(element).collect();
        agrees(&what, result, &dims, &wanted);
    });
}
