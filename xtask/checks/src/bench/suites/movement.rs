//! Ops that move elements: copies, permutes, gathers, joins, caches.

use std::cell::RefCell;

use ziggurat_tensor::{DType, Error, KvCache, Pad, Tensor};

use super::{WIDE_AND_NARROW, size};
use crate::bench::case::{Case, Cost, Lab, Ready, dims_text};
use crate::bench::expect::{Check, Want, near, row, spread, values, worst};
use xtask::failure::Outcome;

pub(super) fn cases(quick: bool) -> Vec<Case> {
    let side = size(quick, 8192, 256);
    let mut cases = vec![copy(size(quick, 1 << 28, 1 << 20))];
    for dtype in WIDE_AND_NARROW {
        let table = size(quick, [32_000, 4096, 8192], [100, 64, 64]);
        cases.extend([
            moved("transpose_copy", dtype, &[side, side], |x| {
                x.t()?.contiguous()
            }),
            moved(
                "permute_0213",
                dtype,
                &size(quick, [32, 1024, 16, 128], [2, 32, 4, 16]),
                |x| x.permute([0, 2, 1, 3])?.contiguous(),
            ),
            moved(
                "permute_0231",
                dtype,
                &size(quick, [32, 64, 112, 112], [2, 8, 14, 14]),
                |x| x.permute([0, 2, 3, 1])?.contiguous(),
            ),
            moved("slice_rows_copy", dtype, &[side, side], |x| {
                let columns = isize::try_from(x.dims()[1] / 2).unwrap_or(1);
                x.slice(1, 1..columns + 1)?.contiguous()
            }),
            taken("embedding", dtype, table),
            taken("index_select", dtype, [table[1], table[1], table[2]]),
            gather(dtype, [side, side]),
            concat(dtype, side),
            pad(dtype, side),
            slice_assign(dtype, side),
            append(dtype, size(quick, [32, 4096, 128], [2, 64, 16])),
        ]);
    }
    cases
}

/// What torch_bench.py calls the copy between buffers of the device.
fn copy(n: usize) -> Case {
    let shape = format!("{}MiB", n >> 18);
    Case::new(
        "d2d_copy",
        DType::F32,
        shape,
        Cost::bytes(8 * n),
        move |lab| {
            let x = lab.uniform(&[n], DType::F32)?;
            let out = lab.uniform(&[n], DType::F32)?;
            let check = crate::bench::expect::pointwise(&[&x], |at| at[0]);
            let executor = lab.device.executor().clone();
            Ok(Ready::new(DType::F32, check, move || -> Outcome<Tensor> {
                drop(executor.copy(x.storage()?, out.storage()?)?);
                Ok(out.clone())
            }))
        },
    )
}

/// A copy whose elements come from other places: sampled rows of the result against a view read on the host.
fn moved(
    name: &str,
    dtype: DType,
    dims: &[usize],
    f: fn(&Tensor) -> Result<Tensor, Error>,
) -> Case {
    let dims = dims.to_vec();
    let name_of = name.to_owned();
    let elements: usize = dims.iter().product();
    let written = if name == "slice_rows_copy" {
        elements / 2
    } else {
        elements
    };
    let cost = Cost::bytes(2 * written * dtype.bytes());
    Case::new(name, dtype, dims_text(&dims), cost, move |lab| {
        let x = lab.uniform(&dims, dtype)?;
        let check = from_places(&name_of, x.clone());
        Ok(Ready::new(dtype, check, move || f(&x)))
    })
}

/// Sampled elements of a permuted copy: the whole input is read, and the place of each is computed here.
fn from_places(name: &str, x: Tensor) -> Check {
    // For each axis of the result: the axis of the input, and what is added to the index.
    let places: Vec<(usize, usize)> = match name {
        "transpose_copy" => vec![(1, 0), (0, 0)],
        "permute_0213" => vec![(0, 0), (2, 0), (1, 0), (3, 0)],
        "permute_0231" => vec![(0, 0), (2, 0), (3, 0), (1, 0)],
        _ => vec![(0, 0), (1, 1)],
    };
    Box::new(move |out| {
        let (from, to) = (x.dims().to_vec(), out.dims().to_vec());
        if to.len() != places.len() {
            return Ok(f64::INFINITY);
        }
        let input = x.to_bytes_blocking()?;
        let got = out.to_bytes_blocking()?;
        let width = x.dtype().bytes();
        let element =
            |bytes: &[u8], at: usize| bytes.get(at * width..(at + 1) * width).map(<[u8]>::to_vec);
        for place in spread(out.len(), 9973) {
            let (mut rest, mut at) = (place, vec![0; from.len()]);
            for (axis, &extent) in to.iter().enumerate().rev() {
                let (source, added) = places[axis];
                at[source] = rest % extent + added;
                rest /= extent;
            }
            let flat = at.iter().zip(&from).fold(0, |flat, (i, n)| flat * n + i);
            let (got, want) = (element(&got, place), element(&input, flat));
            if got != want || got.is_none() {
                return Ok(f64::INFINITY);
            }
        }
        Ok(0.0)
    })
}

/// Rows of a table by index, `[rows, width, how many]`.
fn taken(name: &str, dtype: DType, [height, width, count]: [usize; 3]) -> Case {
    let cost = Cost::bytes(2 * count * width * dtype.bytes());
    let shape = format!("{height}x{width} idx{count}");
    let is_embedding = name == "embedding";
    Case::new(name, dtype, shape, cost, move |lab| {
        let table = lab.uniform(&[height, width], dtype)?;
        let at = lab.integers(&[count], height, DType::I32)?;
        let (rows, places) = (table.clone(), values(&at)?);
        let check: Check = Box::new(move |out| {
            let mut error = 0.0_f64;
            for index in spread(count, 9) {
                let from = (0..height).find(|&i| crate::bench::case::amount(i) == places[index]);
                let want: Vec<Want> = row(&rows, from.unwrap_or(0))?
                    .into_iter()
                    .map(near)
                    .collect();
                error = error.max(worst(&row(out, index)?, &want));
            }
            Ok(error)
        });
        Ok(Ready::new(dtype, check, move || match is_embedding {
            true => table.embedding(&at),
            false => table.index_select(0, &at),
        }))
    })
}

fn gather(dtype: DType, dims: [usize; 2]) -> Case {
    let cost = Cost::bytes(dims[0] * dims[1] * (2 * dtype.bytes() + 4));
    Case::new("gather", dtype, dims_text(&dims), cost, move |lab| {
        let x = lab.uniform(&dims, dtype)?;
        let at = lab.integers(&dims, dims[1], DType::I32)?;
        let (input, places) = (x.clone(), at.clone());
        let check: Check = rows_of(dims[0], move |index| {
            let (row, places) = (row(&input, index)?, row(&places, index)?);
            let pick = |at: f64| {
                let found = row.iter().zip(0_u32..).find(|(_, i)| f64::from(*i) == at);
                near(found.map_or(f64::NAN, |(x, _)| *x))
            };
            // Searching is quadratic: the first of each row only.
            Ok(places.into_iter().take(64).map(pick).collect())
        });
        Ok(Ready::new(dtype, check, move || x.gather(1, &at)))
    })
}

/// The beginnings of sampled rows of the result.
fn rows_of(count: usize, want: impl Fn(usize) -> Outcome<Vec<Want>> + 'static) -> Check {
    Box::new(move |out| {
        let mut error = 0.0_f64;
        for index in spread(count, 3) {
            let want = want(index)?;
            let mut got = row(out, index)?;
            got.truncate(want.len());
            error = error.max(worst(&got, &want));
        }
        Ok(error)
    })
}

/// Two halves along the last axis.
fn concat(dtype: DType, side: usize) -> Case {
    let cost = Cost::bytes(2 * side * side * dtype.bytes());
    let shape = dims_text(&[side, side]);
    Case::new("concat_last", dtype, shape, cost, move |lab| {
        let half = || lab.uniform(&[side, side / 2], dtype);
        let (a, b) = (half()?, half()?);
        let (left, right) = (a.clone(), b.clone());
        let check = rows_of(side, move |index| {
            let mut both = row(&left, index)?;
            both.extend(row(&right, index)?);
            Ok(both.into_iter().map(near).collect())
        });
        Ok(Ready::new(dtype, check, move || {
            Tensor::concat(&[&a, &b], -1)
        }))
    })
}

fn pad(dtype: DType, side: usize) -> Case {
    let cost = Cost::bytes(2 * side * side * dtype.bytes());
    let shape = dims_text(&[side, side]);
    Case::new("pad", dtype, shape, cost, move |lab| {
        let x = lab.uniform(&[side, side], dtype)?;
        let input = x.clone();
        let check = rows_of(side, move |index| {
            let mut want = vec![near(0.0)];
            want.extend(row(&input, index)?.into_iter().map(near));
            want.push(near(0.0));
            Ok(want)
        });
        Ok(Ready::new(dtype, check, move || {
            x.pad([[0, 0], [1, 1]], Pad::Constant, 0.0)
        }))
    })
}

/// A copy of a matrix with its middle columns replaced.
fn slice_assign(dtype: DType, side: usize) -> Case {
    let cost = Cost::bytes(3 * side * side * dtype.bytes());
    let shape = dims_text(&[side, side]);
    Case::new("slice_assign", dtype, shape, cost, move |lab| {
        let x = lab.uniform(&[side, side], dtype)?;
        let y = lab.uniform(&[side, side / 2], dtype)?;
        let quarter = side / 4;
        let (input, middle) = (x.clone(), y.clone());
        let check = rows_of(side, move |index| {
            let mut want = row(&input, index)?;
            want.splice(quarter..3 * quarter, row(&middle, index)?);
            Ok(want.into_iter().map(near).collect())
        });
        let begin = isize::try_from(quarter)?;
        Ok(Ready::new(dtype, check, move || {
            x.slice_assign(&[(..).into(), (begin..3 * begin).into()], &y)
        }))
    })
}

/// One position of every head behind those that a cache holds; a new cache when it is full.
fn append(dtype: DType, [heads, capacity, dim]: [usize; 3]) -> Case {
    // Read and written, keys and values.
    let cost = Cost::bytes(4 * heads * dim * dtype.bytes());
    let shape = format!("[1,{heads},1,{dim}] of {capacity}");
    Case::new("kv_append", dtype, shape, cost, move |lab: &Lab| {
        let device = lab.device.clone();
        let make = move || KvCache::new(&device, [1, heads], capacity, [dim, dim], dtype);
        let token = lab.uniform(&[1, heads, 1, dim], dtype)?;
        let cache = RefCell::new(make()?);
        let kept = token.clone();
        let check: Check = Box::new(move |out| {
            let got = values(&out.narrow(2, 0, 1)?)?;
            let want: Vec<Want> = values(&kept)?.into_iter().map(near).collect();
            Ok(worst(&got, &want))
        });
        Ok(Ready::new(dtype, check, move || -> Outcome<Tensor> {
            let mut cache = cache.borrow_mut();
            if cache.len() == cache.capacity() {
                *cache = make()?;
            }
            cache.append(&token, &token)?;
            Ok(cache.padded_keys())
        }))
    })
}
