//! Elements put where indices say, several for one place too: replaced, added, filled, read again.

use ziggurat_tensor::{DType, Device, Scatter, Tensor};

use super::{moved, read, within};
use crate::fuzz_values::moves::places;
use crate::operands::{Expected, Random};
use crate::problems::{Given, Values, axis_of, fuzz_few, given, made, modest};

/// Indices, some of them negative or outside.
fn wild(device: &Device, dims: &[usize], rng: &mut Random) -> Given {
    let integer = rng.pick(&[DType::I32, DType::U32, DType::I8, DType::U8]);
    made(device, integer, dims, rng, move |rng| {
        let near = rng.below(14) as f64;
        match integer {
            DType::I32 | DType::I8 => near - 5.0,
            _ => near,
        }
    })
}

/// The place that an index names: negative ones count from the end, those outside are the nearest.
fn named(index: f64, extent: usize) -> usize {
    let at = if index < 0.0 {
        index + extent as f64
    } else {
        index
    };
    at.clamp(0.0, extent as f64 - 1.0) as usize
}

fn flat(dims: &[usize], place: &[usize]) -> usize {
    dims.iter().zip(place).fold(0, |at, (dim, i)| at * dim + i)
}

/// Each element is what it was, or one of the updates that name it, whole.
fn kept_or_put(what: &str, got: &Tensor, x: &Given, at: &[usize], updates: &[f64]) {
    assert_eq!(got.dims(), x.dims(), "{what}");
    let mut choices: Vec<Vec<f64>> = vec![Vec::new(); x.values.len()];
    for (&at, &update) in at.iter().zip(updates) {
        choices[at].push(update);
    }
    if let Some(wrong) = neither(&read(got), &x.values, &choices) {
        panic!("{what}: element {wrong}");
    }
}

/// The first element that is none of its choices; or, without a choice, not what it was.
fn neither(got: &[f64], before: &[f64], choices: &[Vec<f64>]) -> Option<usize> {
    let same = |x: f64, y: f64| x.to_bits() == y.to_bits() || (x.is_nan() && y.is_nan());
    (0..got.len()).find(|&i| {
        if choices[i].is_empty() {
            !same(got[i], before[i])
        } else {
            !choices[i].iter().any(|&choice| same(got[i], choice))
        }
    })
}

#[test]
fn the_comparison_with_choices_catches_what_it_should() {
    let choices = [vec![2.0, 3.0], vec![]];
    assert_eq!(neither(&[2.0, 7.0], &[1.0, 7.0], &choices), None);
    assert_eq!(neither(&[3.0, 7.0], &[1.0, 7.0], &choices), None);
    // Not replaced, a mixture, replaced without an update.
    assert_eq!(neither(&[1.0, 7.0], &[1.0, 7.0], &choices), Some(0));
    assert_eq!(neither(&[2.5, 7.0], &[1.0, 7.0], &choices), Some(0));
    assert_eq!(neither(&[2.0, 2.0], &[1.0, 7.0], &choices), Some(1));
}

#[test]
fn what_replaces_is_one_of_the_updates() {
    fuzz_few(|device, rng| {
        let dtype = rng.pick(&DType::ALL);
        let rank = 1 + rng.below(3);
        let mut dims = modest(rank, rng);
        let (signed, axis) = axis_of(rank, rng);
        dims[axis] = dims[axis].max(1);
        let x = given(device, dtype, &dims, Values::Extreme, rng);
        let count = rng.below(9);
        let what = format!("{dtype} {dims:?} along {axis} by {count}");
        let mut shape = dims.clone();
        shape[axis] = count;
        match rng.below(4) {
            0 => {
                let index = wild(device, &shape, rng);
                let src = given(device, dtype, &shape, Values::Extreme, rng);
                let at: Vec<usize> = (places(&shape).into_iter().zip(&index.values))
                    .map(|(mut place, &index)| {
                        place[axis] = named(index, dims[axis]);
                        flat(&dims, &place)
                    })
                    .collect();
                let got = x
                    .tensor
                    .scatter(signed, &index.tensor, &src.tensor)
                    .unwrap();
                kept_or_put(&format!("scatter {what}"), &got, &x, &at, &src.values);
            }
            1 => {
                let index = wild(device, &[count], rng);
                let src = given(device, dtype, &shape, Values::Extreme, rng);
                let at: Vec<usize> = (places(&shape).into_iter())
                    .map(|mut place| {
                        place[axis] = named(index.values[place[axis]], dims[axis]);
                        flat(&dims, &place)
                    })
                    .collect();
                let got = x.tensor.index_copy(signed, &index.tensor, &src.tensor);
                kept_or_put(
                    &format!("index_copy {what}"),
                    &got.unwrap(),
                    &x,
                    &at,
                    &src.values,
                );
            }
            2 => {
                let index = wild(device, &[count], rng);
                let value = if dtype.is_bool() { 1.0 } else { 3.0 };
                let mut wanted = x.values.clone();
                for mut place in places(&shape) {
                    place[axis] = named(index.values[place[axis]], dims[axis]);
                    wanted[flat(&dims, &place)] = value;
                }
                let result = x.tensor.index_fill(signed, &index.tensor, value as i32);
                moved(&format!("index_fill {what}"), result, &dims, &wanted);
            }
            _ => {
                let axes = 1 + rng.below(rank);
                if dims[..axes].contains(&0) {
                    return;
                }
                let index = wild(device, &[count, axes], rng);
                let rest = &dims[axes..];
                let shape = [&[count], rest].concat();
                let src = given(device, dtype, &shape, Values::Extreme, rng);
                let at: Vec<usize> = (places(&shape).into_iter())
                    .map(|place| {
                        let tuple = (0..axes)
                            .map(|axis| named(index.values[place[0] * axes + axis], dims[axis]));
                        let all: Vec<usize> = tuple.chain(place[1..].iter().copied()).collect();
                        flat(&dims, &all)
                    })
                    .collect();
                let got = x
                    .tensor
                    .scatter_nd(&index.tensor, &src.tensor, Scatter::Set);
                let what = format!("scatter_nd by {axes} {what}");
                kept_or_put(&what, &got.unwrap(), &x, &at, &src.values);
            }
        }
    });
}

/// Extents that broadcast to these: some of 1, some left out in front.
fn narrower(dims: &[usize], rng: &mut Random) -> Vec<usize> {
    let skip = rng.below(dims.len() + 1);
    let own = dims[skip..].iter();
    own.map(|&dim| if rng.below(3) == 0 { 1 } else { dim })
        .collect()
}

/// The value that a tensor shows at a place of what it is broadcast to.
fn shown(given: &Given, place: &[usize]) -> f64 {
    let dims = given.dims();
    let own = &place[place.len() - dims.len()..];
    let at: Vec<usize> = own
        .iter()
        .zip(dims)
        .map(|(&at, &dim)| at.min(dim - 1))
        .collect();
    given.values[flat(dims, &at)]
}

/// A sum in the order of the updates, in f32; integers wrap, bool is *or*.
fn added(dtype: DType, start: f64, updates: &[f64]) -> f64 {
    if dtype.is_float() {
        let sum = |sum: f32, &x: &f64| sum + x as f32;
        return f64::from(updates.iter().fold(start as f32, sum));
    }
    let sum = updates.iter().fold(start as i64, |sum, &x| sum + x as i64);
    match dtype {
        DType::Bool => f64::from(u8::from(sum != 0)),
        _ => crate::fuzz_values::casts::cast(DType::I32, dtype, (sum as i32).into()),
    }
}

#[test]
fn reading_and_writing_by_index_tensors_agree() {
    fuzz_few(|device, rng| {
        let dtype = rng.pick(&DType::ALL);
        let rank = 1 + rng.below(3);
        let dims = modest(rank, rng);
        let axes = 1 + rng.below(rank);
        if dims[..axes].contains(&0) {
            return;
        }
        let accumulate = rng.below(2) == 0;
        let values = if accumulate {
            Values::Special
        } else {
            Values::Extreme
        };
        let x = given(device, dtype, &dims, values, rng);
        let lead: Vec<usize> = (0..rng.below(3))
            .map(|_| rng.pick(&[0, 1, 2, 3, 7]))
            .collect();
        let mut indices: Vec<Given> = (1..axes)
            .map(|_| {
                let own = narrower(&lead, rng);
                wild(device, &own, rng)
            })
            .collect();
        // One of them has the modest of all.
        indices.insert(rng.below(axes), wild(device, &lead, rng));
        let rest = &dims[axes..];
        let out = [&lead[..], rest].concat();
        let at: Vec<usize> = (places(&out).into_iter())
            .map(|place| {
                let (lead, rest) = place.split_at(lead.len());
                let tuple = indices.iter().zip(&dims);
                let tuple = tuple.map(|(index, &dim)| named(shown(index, lead), dim));
                let all: Vec<usize> = tuple.chain(rest.iter().copied()).collect();
                flat(&dims, &all)
            })
            .collect();
        let tensors: Vec<&Tensor> = indices.iter().map(|index| &index.tensor).collect();
        let shapes: Vec<&[usize]> = indices.iter().map(Given::dims).collect();
        let what = format!("{dtype} {dims:?} by {shapes:?}");
        let wanted: Vec<f64> = at.iter().map(|&at| x.values[at]).collect();
        if !accumulate {
            moved(
                &format!("index {what}"),
                x.tensor.index(&tensors),
                &out,
                &wanted,
            );
        }
        let own = narrower(&out, rng);
        let src = given(device, dtype, &own, values, rng);
        let updates: Vec<f64> = places(&out)
            .iter()
            .map(|place| shown(&src, place))
            .collect();
        let got = x.tensor.index_put(&tensors, &src.tensor, accumulate);
        let what = format!("index_put {own:?} accumulate={accumulate} {what}");
        if !accumulate {
            return kept_or_put(&what, &got.unwrap(), &x, &at, &updates);
        }
        let mut each: Vec<Vec<f64>> = vec![Vec::new(); x.values.len()];
        for (&at, &update) in at.iter().zip(&updates) {
            each[at].push(update);
        }
        let wanted: Vec<Expected> = (x.values.iter().zip(&each))
            .map(|(&start, updates)| {
                let value = added(dtype, start, updates);
                let flushed = dtype.is_float() && !updates.is_empty();
                let bound = if flushed {
                    f64::from(f32::MIN_POSITIVE)
                } else {
                    0.0
                };
                Expected { value, bound }
            })
            .collect();
        let _tensor = within(&what, got, &dims, &wanted);
    });
}
