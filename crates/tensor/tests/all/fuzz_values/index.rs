//! Gathers, scatters and movement.

use crate::expect;
use ziggurat_kernels::reference::index::{Indexing, named, scatter_in_order};
use ziggurat_kernels::reference::movement;
use ziggurat_tensor::{DType, Device, Pad, Scatter, Tensor};

use super::agrees;
use crate::operands::{Expected, Random};
use crate::problems::{Given, Values, axis_of, extents, fuzz, given, made};

/// Indices, some of them negative or outside, which count as the nearest.
fn wild(device: &Device, dims: &[usize], rng: &mut Random) -> Given {
    let integer = rng.pick(&[DType::I32, DType::U32]);
    made(device, integer, dims, rng, move |rng| {
        let near = rng.below(12) as f64;
        if integer == DType::I32 {
            near - 4.0
        } else {
            near
        }
    })
}

/// The data after all updates in their order, of which several may be for one element.
fn scattered(op: Scatter, dtype: DType, x: &[f64], at: &[usize], updates: &[f64]) -> Vec<Expected> {
    if !dtype.is_float() || !matches!(op, Scatter::Add | Scatter::Mul) {
        return expect::scatter(op, dtype, x, at, updates);
    }
    // In f32 in a fixed order: nothing is left open but whether subnormal numbers are 0.
    let bound = f64::from(f32::MIN_POSITIVE);
    let values = scatter_in_order(op, dtype, x, at, updates).into_iter();
    values.map(|value| Expected { value, bound }).collect()
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
        match rng.below(5) {
            0 if dims[axis] > 0 => {
                let mut shape = dims.clone();
                shape[axis] = rng.below(9);
                let index = wild(device, &shape, rng);
                let (_, at) = named(Indexing::Along(axis), &dims, &index.values, &shape);
                let wanted: Vec<_> = at.iter().map(|&at| Expected::exact(x.values[at])).collect();
                let result = x.tensor.gather(signed, &index.tensor);
                agrees(&format!("gather {what}"), result, &shape, &wanted);
            }
            1 if dims[axis] > 0 => {
                let index = wild(device, &[rng.below(9)], rng);
                let how = Indexing::Slices(axis);
                let (shape, at) = named(how, &dims, &index.values, index.dims());
                let wanted: Vec<_> = at.iter().map(|&at| Expected::exact(x.values[at])).collect();
                let result = x.tensor.index_select(signed, &index.tensor);
                agrees(&format!("index_select {what}"), result, &shape, &wanted);
            }
            2 => {
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
            3 => {
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
fn scatters_agree_with_the_reference() {
    fuzz(|device, rng| {
        let dtype = rng.pick(&DType::ALL);
        let rank = 1 + rng.below(3);
        let mut dims = extents(rank, rng);
        let (signed, axis) = axis_of(rank, rng);
        dims[axis] = dims[axis].max(1);
        let x = given(device, dtype, &dims, Values::Special, rng);
        let op = rng.pick(&[Scatter::Add, Scatter::Mul, Scatter::Max, Scatter::Min]);
        let what = format!("{op:?} {dtype} {dims:?} along {axis}");
        // Few places and many updates, at times of one place for a whole piece of a kernel's walk.
        let many = if rng.below(30) == 0 { 9000 } else { 40 };
        let mut shape = dims.clone();
        let others: usize = dims.iter().product::<usize>() / dims[axis];
        shape[axis] = rng.below(1 + many / others.max(1));
        let (how, index_dims) = match rng.below(3) {
            0 => (Indexing::Along(axis), shape.clone()),
            1 => (Indexing::Slices(axis), vec![shape[axis]]),
            _ => {
                // Tuples of one to all axes.
                let named = 1 + rng.below(rank);
                if dims[..named].contains(&0) {
                    return;
                }
                let inner: usize = dims[named..].iter().product();
                (
                    Indexing::Tuples(0),
                    vec![rng.below(1 + many / inner.max(1)), named],
                )
            }
        };
        let index = wild(device, &index_dims, rng);
        let (shape, at) = named(how, &dims, &index.values, &index_dims);
        let updates = given(device, dtype, &shape, Values::Special, rng);
        let wanted = scattered(op, dtype, &x.values, &at, &updates.values);
        let (index, updates) = (&index.tensor, &updates.tensor);
        let t = &x.tensor;
        let result = match how {
            Indexing::Along(_) if op == Scatter::Add && rng.below(2) == 0 => {
                t.scatter_add(signed, index, updates)
            }
            Indexing::Along(_) => t.scatter_reduce(signed, index, updates, op),
            Indexing::Slices(_) if op == Scatter::Add => t.index_add(signed, index, updates),
            Indexing::Slices(_) => return,
            Indexing::Tuples(_) => t.scatter_nd(index, updates, op),
        };
        agrees(
            &format!("{how:?} {index_dims:?} {what}"),
            result,
            &dims,
            &wanted,
        );
    });
}

#[test]
fn choices_by_index_and_mask_agree_with_the_reference() {
    fuzz(|device, rng| {
        let dtype = rng.pick(&DType::ALL);
        let rank = 1 + rng.below(3);
        let mut dims = extents(rank, rng);
        let x = given(device, dtype, &dims, Values::Special, rng);
        let what = format!("{dtype} {dims:?}");
        let picked = |at: &[usize]| -> Vec<Expected> {
            at.iter().map(|&at| Expected::exact(x.values[at])).collect()
        };
        match rng.below(4) {
            0 if !x.values.is_empty() => {
                let indices = wild(device, &[rng.below(5), 3], rng);
                let (shape, at) = named(
                    Indexing::Slices(0),
                    &[x.values.len()],
                    &indices.values,
                    indices.dims(),
                );
                let result = x.tensor.take(&indices.tensor);
                agrees(&format!("take {what}"), result, &shape, &picked(&at));
            }
            1 => {
                let batch = rng.below(rank);
                let named_axes = 1 + rng.below(rank - batch);
                if dims[batch..batch + named_axes].contains(&0) {
                    return;
                }
                let outer = [&dims[..batch], &[rng.below(5)]].concat();
                let index_dims = [&outer[..], &[named_axes]].concat();
                let indices = wild(device, &index_dims, rng);
                let how = Indexing::Tuples(batch);
                let (shape, at) = named(how, &dims, &indices.values, &index_dims);
                let result = x.tensor.gather_nd(&indices.tensor, batch);
                let what = format!("gather_nd {batch} {index_dims:?} {what}");
                agrees(&what, result, &shape, &picked(&at));
            }
            2 => {
                let mask = given(device, DType::Bool, &dims, Values::Plain, rng);
                let chosen: Vec<usize> = (0..x.values.len())
                    .filter(|&i| mask.values[i] != 0.0)
                    .collect();
                let result = x.tensor.masked_select_blocking(&mask.tensor);
                let what_of = format!("masked_select {what}");
                agrees(&what_of, result, &[chosen.len()], &picked(&chosen));
                let source = [chosen.len() + 1];
                let source = given(device, dtype, &source, Values::Special, rng);
                let mut wanted = x.values.clone();
                for (value, &at) in source.values.iter().zip(&chosen) {
                    wanted[at] = *value;
                }
                let result = x.tensor.masked_scatter(&mask.tensor, &source.tensor);
                let what = format!("masked_scatter {what}");
                agrees(&what, result, &dims, &expect::exact(&wanted));
            }
            _ => {
                let (signed, axis) = axis_of(rank, rng);
                if dims[axis] == 0 {
                    return;
                }
                // Each place once at most.
                let kept = 1 + rng.below(dims[axis]);
                let places: Vec<f64> = (0..kept).map(|i| (dims[axis] - 1 - i) as f64).collect();
                let index: Vec<i32> = places.iter().map(|&at| at as i32).collect();
                let index = Tensor::from_slice(device, &index, [kept]).unwrap();
                let whole = dims.clone();
                dims[axis] = kept;
                let updates = given(device, dtype, &dims, Values::Special, rng);
                let how = Indexing::Slices(axis);
                let (_, at) = named(how, &whole, &places, &[kept]);
                let op = Scatter::Set;
                let wanted = expect::scatter(op, dtype, &x.values, &at, &updates.values);
                let result = x.tensor.index_copy(signed, &index, &updates.tensor);
                let what = format!("index_copy {kept} {what} along {axis}");
                agrees(&what, result, &whole, &wanted);
            }
        }
    });
}
