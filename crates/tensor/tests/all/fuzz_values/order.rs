//! Positions of extremes, sorting and what follows from it.

use crate::expect;
use crate::reducing;
use ziggurat_kernels::reference::reduce;
use ziggurat_kernels::{ArgReduce, DType};

use super::{agrees, read, refused};
use crate::operands::{Expected, check};
use crate::problems::{Given, Values, axis_of, extents, fuzz, given};

#[test]
fn positions_and_sorting_agree_with_the_reference() {
    fuzz(|device, rng| {
        let dtype = rng.pick(&DType::ALL);
        let rank = 1 + rng.below(4);
        let x = given(device, dtype, &extents(rank, rng), Values::Extreme, rng);
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

/// The elements of `x` at positions of its rows along `axis`; there are `k` per row.
fn at_places(x: &Given, axis: usize, k: usize, places: &[f64]) -> Vec<Expected> {
    let (len, inner) = (
        x.dims()[axis],
        x.dims()[axis + 1..].iter().product::<usize>(),
    );
    let element = |(i, &place): (usize, &f64)| {
        let row = i / inner / k * len * inner + i % inner;
        Expected::exact(x.values[row + place as usize * inner])
    };
    places.iter().enumerate().map(element).collect()
}

#[test]
fn sorted_and_middle_values_agree_with_the_reference() {
    fuzz(|device, rng| {
        let dtype = rng.pick(&DType::ALL);
        let rank = 1 + rng.below(3);
        let x = given(device, dtype, &extents(rank, rng), Values::Extreme, rng);
        let dims = x.dims().to_vec();
        let (signed, axis) = axis_of(rank, rng);
        let len = dims[axis];
        let inner: usize = dims[axis + 1..].iter().product();
        let what = format!("{dtype} {dims:?} along {axis}");
        let down = rng.below(2) == 0;
        let order = expect::argsort(&x.values, &dims, axis, down);
        let (values, places) = x.tensor.sort(signed, down).unwrap();
        let wanted = at_places(&x, axis, len.max(1), &order);
        agrees(
            &format!("sort down={down} {what}"),
            Ok(values),
            &dims,
            &wanted,
        );
        agrees(
            &format!("sort places down={down} {what}"),
            Ok(places),
            &dims,
            &expect::exact(&order),
        );

        // One position of each row in order.
        let order = expect::argsort(&x.values, &dims, axis, false);
        let keepdim = rng.below(2) == 0;
        let mut out = reducing::kept(&dims, &[axis]);
        if keepdim {
            out = dims.clone();
            out[axis] = 1;
        }
        let rows = x.values.len() / len.max(1);
        let nth = |k: usize| -> Vec<f64> {
            let place = |row: usize| order[(row / inner * len + k) * inner + row % inner];
            (0..rows).map(place).collect()
        };
        let k = rng.below(len + 2);
        let result = x.tensor.kthvalue(k, signed, keepdim);
        let what_k = format!("kthvalue {k} {what}");
        if k == 0 || k > len {
            refused(&what_k, result.map(|(values, _)| values));
        } else {
            let (values, places) = result.unwrap();
            let nth = nth(k - 1);
            agrees(&what_k, Ok(values), &out, &at_places(&x, axis, 1, &nth));
            agrees(&what_k, Ok(places), &out, &expect::exact(&nth));
        }
        let result = x.tensor.median(signed, keepdim);
        let what = format!("median {what}");
        if len == 0 {
            return refused(&what, result.map(|(values, _)| values));
        }
        // NaN is the greatest: the first of a row is where the row's median is.
        let greatest = reduce::arg_reduce(ArgReduce::Max, &x.values, &dims, &[axis], false);
        let middle = nth((len - 1) / 2);
        let at: Vec<f64> = (middle.iter().zip(&greatest).enumerate())
            .map(|(row, (&middle, greatest))| {
                let greatest = greatest.unwrap();
                let value = x.values[(row / inner * len + greatest) * inner + row % inner];
                if value.is_nan() {
                    greatest as f64
                } else {
                    middle
                }
            })
            .collect();
        let (values, places) = result.unwrap();
        agrees(&what, Ok(values), &out, &at_places(&x, axis, 1, &at));
        agrees(&what, Ok(places), &out, &expect::exact(&at));
    });
}

#[test]
fn searches_and_counts_agree_with_the_reference() {
    fuzz(|device, rng| {
        let dtype = rng.pick(&DType::ALL);
        let x = given(device, dtype, &extents(2, rng), Values::Extreme, rng);
        let dims = x.dims().to_vec();
        let what = format!("{dtype} {dims:?}");
        if rng.below(2) == 0 {
            let (sorted, _) = x.tensor.sort(-1, false).unwrap();
            let rows = if rng.below(2) == 0 {
                sorted.clone()
            } else if dims[0] > 0 {
                sorted.select(0, 0).unwrap()
            } else {
                return;
            };
            let values = given(
                device,
                dtype,
                &[dims[0], rng.below(9)],
                Values::Extreme,
                rng,
            );
            let right = rng.below(2) == 0;
            let m = values.dims()[1];
            let result = rows.searchsorted(&values.tensor, right);
            let wanted = expect::search(&read(&rows), dims[1], &values.values, m, right);
            let shape = values.dims().to_vec();
            let what = format!("searchsorted right={right} {what}");
            return agrees(&what, result, &shape, &expect::exact(&wanted));
        }
        let unique = x.tensor.unique_blocking().unwrap();
        let mut sorted = x.values.clone();
        sorted.sort_by(|x, y| expect::order(*x, *y));
        let mut counted: Vec<(f64, f64)> = Vec::new();
        for value in sorted {
            match counted.last_mut() {
                Some((last, count)) if *last == value => *count += 1.0,
                _ => counted.push((value, 1.0)),
            }
        }
        let what = format!("unique {what}");
        let values: Vec<f64> = counted.iter().map(|(value, _)| *value).collect();
        let counts: Vec<f64> = counted.iter().map(|(_, count)| *count).collect();
        check(&what, &read(&unique.values), &expect::exact(&values));
        check(&what, &read(&unique.counts), &expect::exact(&counts));
        assert_eq!(unique.inverse.dims(), dims, "{what}");
        for (value, place) in x.values.iter().zip(read(&unique.inverse)) {
            let named = values[place as usize];
            let same = named == *value || (named.is_nan() && value.is_nan());
            assert!(same, "{what}: {value} is said to be {named}");
        }
    });
}
