//! Movement, bit by bit: padding in every mode, repetition, joining and cutting, windows, diagonals, triangles, grids.

use ziggurat_tensor::{AxisRange, DType, Pad, Tensor};

use super::{moved, refused};
use crate::operands::Random;
use crate::problems::{Given, Values, axis_of, fuzz, given, modest};

/// The index of a place, row-major.
fn index(dims: &[usize], place: &[usize]) -> usize {
    dims.iter().zip(place).fold(0, |at, (dim, i)| at * dim + i)
}

/// Every place of these modest, row-major.
pub(crate) fn places(dims: &[usize]) -> Vec<Vec<usize>> {
    let of = |at: usize| {
        let mut rest = at;
        let mut place: Vec<usize> = (dims.iter().rev())
            .map(|&dim| {
                let i = rest % dim;
                rest /= dim;
                i
            })
            .collect();
        place.reverse();
        place
    };
    (0..dims.iter().product()).map(of).collect()
}

/// The value that each place of `out` has: that of a place of `x`, or `other`.
fn from(
    x: &Given,
    out: &[usize],
    other: f64,
    source: impl Fn(&[usize]) -> Option<Vec<usize>>,
) -> Vec<f64> {
    let value = |place: Vec<usize>| match source(&place) {
        Some(place) => x.values[index(x.dims(), &place)],
        None => other,
    };
    places(out).into_iter().map(value).collect()
}

/// Which of `n` elements stands at a place beyond their ends: NumPy's `pad`.
fn continued(mode: Pad, at: isize, n: usize) -> Option<usize> {
    let n = n as isize;
    let at = match mode {
        Pad::Constant => (0..n).contains(&at).then_some(at)?,
        Pad::Replicate => at.clamp(0, n - 1),
        Pad::Circular => at.rem_euclid(n),
        // There and back again: a period of twice the elements, the ends once or twice.
        Pad::Reflect if n == 1 => 0,
        Pad::Reflect => {
            let at = at.rem_euclid(2 * n - 2);
            at.min(2 * n - 2 - at)
        }
        Pad::Symmetric => {
            let at = at.rem_euclid(2 * n);
            at.min(2 * n - 1 - at)
        }
    };
    Some(at as usize)
}

#[test]
fn padding_in_every_mode_agrees_with_its_formula() {
    fuzz(|device, rng| {
        let dtype = rng.pick(&DType::ALL);
        let rank = rng.below(5);
        let dims = modest(rank, rng);
        let x = given(device, dtype, &dims, Values::Extreme, rng);
        let mode = rng.pick(&Pad::ALL);
        let pads: Vec<[isize; 2]> = (0..rank)
            .map(|_| [(); 2].map(|()| rng.below(8) as isize - 3))
            .collect();
        let value = if dtype.is_bool() { 1.0 } else { 3.0 };
        let what = format!("pad {mode:?} {pads:?} {dtype} {dims:?}");
        let result = x.tensor.pad(&pads, mode, value);
        let mut out = Vec::new();
        let (mut broken, mut lacking) = (false, false);
        for (&dim, &[begin, end]) in dims.iter().zip(&pads) {
            let left = dim as isize + begin.min(0) + end.min(0);
            let grow = begin.max(end).max(0);
            broken |= left < 0
                || match mode {
                    Pad::Reflect => grow > 0 && grow > left - 1,
                    Pad::Symmetric | Pad::Circular => grow > left,
                    Pad::Constant | Pad::Replicate => false,
                };
            lacking |= left == 0 && grow > 0 && mode == Pad::Replicate;
            out.push((left.max(0) + begin.max(0) + end.max(0)) as usize);
        }
        if broken || (lacking && !out.contains(&0)) {
            return refused(&what, result);
        }
        if lacking {
            // Nothing is continued to nothing: an error, or nothing.
            return match result {
                Ok(tensor) => assert_eq!(tensor.dims(), out, "{what}"),
                error => refused(&what, error),
            };
        }
        let source = |place: &[usize]| {
            let axes = place.iter().zip(dims.iter().zip(&pads));
            axes.map(|(&at, (&dim, &[begin, end]))| {
                let cut = (-begin).max(0) as usize;
                let left = dim - cut - (-end).max(0) as usize;
                continued(mode, at as isize - begin.max(0), left).map(|at| at + cut)
            })
            .collect()
        };
        moved(&what, result, &out, &from(&x, &out, value, source));
    });
}

#[test]
fn repetition_and_joining_agree_with_their_formulas() {
    fuzz(|device, rng| {
        let dtype = rng.pick(&DType::ALL);
        let rank = 1 + rng.below(4);
        let dims = modest(rank, rng);
        let (signed, axis) = axis_of(rank, rng);
        let x = given(device, dtype, &dims, Values::Extreme, rng);
        let what = format!("{dtype} {dims:?} along {axis}");
        match rng.below(5) {
            0 => {
                let times: Vec<usize> = (0..rng.below(6)).map(|_| rng.below(4)).collect();
                let most = rank.max(times.len());
                let lead = |n: usize| vec![1; most - n];
                let wide = [&lead(rank)[..], &dims].concat();
                let all = [&lead(times.len())[..], &times].concat();
                let out: Vec<usize> = wide.iter().zip(&all).map(|(d, t)| d * t).collect();
                let source = |place: &[usize]| {
                    let axes = place.iter().zip(&wide).skip(most - rank);
                    Some(axes.map(|(at, dim)| at % dim).collect())
                };
                let wanted = from(&x, &out, 0.0, source);
                moved(
                    &format!("tile {times:?} {what}"),
                    x.tensor.tile(&times),
                    &out,
                    &wanted,
                );
                let repeated = x.tensor.repeat(&times);
                let what = format!("repeat {times:?} {what}");
                if times.len() < rank {
                    refused(&what, repeated);
                } else {
                    moved(&what, repeated, &out, &wanted);
                }
            }
            1 => {
                let times = rng.below(5);
                let mut out = dims.clone();
                out[axis] *= times;
                let wanted = from(&x, &out, 0.0, |place| {
                    let mut place = place.to_vec();
                    place[axis] /= times;
                    Some(place)
                });
                let result = x.tensor.repeat_interleave(times, signed);
                moved(
                    &format!("repeat_interleave {times} {what}"),
                    result,
                    &out,
                    &wanted,
                );
            }
            2 => {
                let count = 1 + rng.below(4);
                let others: Vec<Given> = (0..count)
                    .map(|_| given(device, dtype, &dims, Values::Extreme, rng))
                    .collect();
                let (signed, axis) = axis_of(rank + 1, rng);
                let tensors: Vec<&Tensor> = others.iter().map(|given| &given.tensor).collect();
                let mut out = dims.clone();
                out.insert(axis, count);
                let value = |mut place: Vec<usize>| {
                    let which = place.remove(axis);
                    others[which].values[index(&dims, &place)]
                };
                let wanted: Vec<f64> = places(&out).into_iter().map(value).collect();
                let what = format!("stack {count} {dtype} {dims:?} along {axis}");
                moved(&what, Tensor::stack(&tensors, signed), &out, &wanted);
            }
            3 => {
                let size = 1 + rng.below(6);
                let (parts, size) = if rng.below(2) == 0 {
                    (x.tensor.split(size, signed).unwrap(), size)
                } else {
                    // As many positions in each of so many.
                    let each = dims[axis].div_ceil(size).max(1);
                    (x.tensor.chunk(size, signed).unwrap(), each)
                };
                let mut start = 0;
                for part in parts {
                    let len = size.min(dims[axis] - start);
                    let mut out = dims.clone();
                    out[axis] = len;
                    let wanted = from(&x, &out, 0.0, |place| {
                        let mut place = place.to_vec();
                        place[axis] += start;
                        Some(place)
                    });
                    moved(
                        &format!("part from {start} {what}"),
                        Ok(part),
                        &out,
                        &wanted,
                    );
                    start += len;
                }
                assert_eq!(start, dims[axis], "parts {what}");
            }
            _ => {
                let turns: Vec<(isize, usize)> = (0..rank)
                    .filter_map(|axis| {
                        let shift = rng.below(41) as isize - 20;
                        (rng.below(2) == 0).then_some((shift, axis))
                    })
                    .collect();
                let shifts: Vec<isize> = turns.iter().map(|turn| turn.0).collect();
                let axes: Vec<isize> = turns.iter().map(|turn| turn.1 as isize).collect();
                let wanted = from(&x, &dims, 0.0, |place| {
                    let mut place = place.to_vec();
                    for &(shift, axis) in &turns {
                        let at = place[axis] as isize - shift;
                        place[axis] = at.rem_euclid(dims[axis] as isize) as usize;
                    }
                    Some(place)
                });
                let what = format!("roll {turns:?} {what}");
                moved(&what, x.tensor.roll(&shifts, &axes), &dims, &wanted);
            }
        }
    });
}

/// Positions that a range with a step takes, as Python's slices do.
fn sliced(dim: usize, start: Option<isize>, end: Option<isize>, step: isize) -> Vec<usize> {
    let dim = dim as isize;
    let from_end = |at: isize| if at < 0 { at + dim } else { at };
    let (least, most) = if step > 0 { (0, dim) } else { (-1, dim - 1) };
    let start = start.map_or(if step > 0 { 0 } else { dim - 1 }, |at| {
        from_end(at).clamp(least, most)
    });
    let end = end.map_or(if step > 0 { dim } else { -1 }, |at| {
        from_end(at).clamp(least, most)
    });
    let mut all = Vec::new();
    let mut at = start;
    while (step > 0 && at < end) || (step < 0 && at > end) {
        all.push(at as usize);
        at += step;
    }
    all
}

fn any_end(rng: &mut Random) -> Option<isize> {
    (rng.below(3) > 0).then(|| rng.below(23) as isize - 11)
}

#[test]
fn windows_diagonals_and_slices_agree_with_their_formulas() {
    fuzz(|device, rng| {
        let dtype = rng.pick(&DType::ALL);
        let rank = 1 + rng.below(4);
        let dims = modest(rank, rng);
        let (signed, axis) = axis_of(rank, rng);
        let x = given(device, dtype, &dims, Values::Extreme, rng);
        let what = format!("{dtype} {dims:?} along {axis}");
        match rng.below(6) {
            0 => {
                let (size, step) = (rng.below(dims[axis] + 2), 1 + rng.below(5));
                let result = x.tensor.unfold(signed, size, step);
                let what = format!("unfold {size} {step} {what}");
                if size > dims[axis] {
                    return refused(&what, result);
                }
                let mut out = dims.clone();
                out[axis] = (dims[axis] - size) / step + 1;
                out.push(size);
                let wanted = from(&x, &out, 0.0, |place| {
                    let mut source = place[..rank].to_vec();
                    source[axis] = place[axis] * step + place[rank];
                    Some(source)
                });
                moved(&what, result, &out, &wanted);
            }
            1 => {
                let (start, end) = (any_end(rng), any_end(rng));
                let step = rng.pick(&[1, 2, 3, -1, -2, -5]);
                let taken = sliced(dims[axis], start, end, step);
                let mut out = dims.clone();
                out[axis] = taken.len();
                let source = |place: &[usize]| {
                    let mut place = place.to_vec();
                    place[axis] = taken[place[axis]];
                    Some(place)
                };
                let range = AxisRange { start, end };
                let what = format!("{range:?} by {step} {what}");
                let result = x.tensor.slice_step(signed, range, step);
                moved(
                    &format!("slice {what}"),
                    result,
                    &out,
                    &from(&x, &out, 0.0, source),
                );
                // The same part written.
                let own: Vec<usize> = (out.iter())
                    .map(|&dim| if rng.below(4) == 0 { 1 } else { dim })
                    .collect();
                let src = given(device, dtype, &own, Values::Extreme, rng);
                let mut wanted = x.values.clone();
                for place in places(&out) {
                    let fit = place.iter().zip(&own).map(|(&at, &dim)| at.min(dim - 1));
                    let value = src.values[index(&own, &fit.collect::<Vec<_>>())];
                    wanted[index(&dims, &source(&place).unwrap())] = value;
                }
                let result = x.tensor.slice_scatter(signed, range, step, &src.tensor);
                moved(
                    &format!("slice_scatter {own:?} {what}"),
                    result,
                    &dims,
                    &wanted,
                );
            }
            2 if rank > 1 => {
                let k = rng.below(15) as isize - 7;
                let (upper, last) = (rng.below(2) == 0, rank - 1);
                let wanted = from(&x, &dims, 0.0, |place| {
                    let distance = place[last] as isize - place[last - 1] as isize;
                    let kept = if upper { distance >= k } else { distance <= k };
                    kept.then(|| place.to_vec())
                });
                let result = if upper {
                    x.tensor.triu(k)
                } else {
                    x.tensor.tril(k)
                };
                moved(
                    &format!("triangle {upper} {k} {what}"),
                    result,
                    &dims,
                    &wanted,
                );
            }
            3 if rank > 1 => {
                let k = rng.below(15) as isize - 7;
                let second = (axis + 1 + rng.below(rank - 1)) % rank;
                let (down, right) = ((-k).max(0) as usize, k.max(0) as usize);
                let len = (dims[axis].saturating_sub(down)).min(dims[second].saturating_sub(right));
                let kept: Vec<usize> = (0..rank).filter(|&a| a != axis && a != second).collect();
                let mut out: Vec<usize> = kept.iter().map(|&axis| dims[axis]).collect();
                out.push(len);
                let wanted = from(&x, &out, 0.0, |place| {
                    let mut source = vec![0; rank];
                    kept.iter()
                        .zip(place)
                        .for_each(|(&axis, &at)| source[axis] = at);
                    let along = place[rank - 2];
                    (source[axis], source[second]) = (along + down, along + right);
                    Some(source)
                });
                let result = x.tensor.diagonal(k, signed, second as isize);
                moved(
                    &format!("diagonal {k} and {second} {what}"),
                    result,
                    &out,
                    &wanted,
                );
            }
            4 => {
                let k = rng.below(9) as isize - 4;
                let side = dims[rank - 1] + k.unsigned_abs();
                let out = [&dims[..rank - 1], &[side, side]].concat();
                if out.iter().product::<usize>() > 1 << 20 {
                    return;
                }
                let wanted = from(&x, &out, 0.0, |place| {
                    let (row, column) = (place[rank - 1] as isize, place[rank] as isize);
                    let along = row + k.min(0);
                    (column - row == k).then(|| [&place[..rank - 1], &[along as usize]].concat())
                });
                moved(
                    &format!("diag_embed {k} {what}"),
                    x.tensor.diag_embed(k),
                    &out,
                    &wanted,
                );
            }
            _ => {
                let mut order: Vec<usize> = (0..rank).collect();
                (1..rank).for_each(|i| order.swap(i, rng.below(i + 1)));
                let flipped: Vec<bool> = (0..rank).map(|_| rng.below(2) == 0).collect();
                let out: Vec<usize> = order.iter().map(|&axis| dims[axis]).collect();
                let wanted = from(&x, &out, 0.0, |place| {
                    let mut source = vec![0; rank];
                    for (&axis, &at) in order.iter().zip(place) {
                        source[axis] = if flipped[axis] {
                            dims[axis] - 1 - at
                        } else {
                            at
                        };
                    }
                    Some(source)
                });
                let axes: Vec<isize> = (0..rank)
                    .filter(|&a| flipped[a])
                    .map(|a| a as isize)
                    .collect();
                let signed: Vec<isize> = order.iter().map(|&axis| axis as isize).collect();
                let turned = x.tensor.flip(&axes).and_then(|x| x.permute(&signed));
                let result = turned.and_then(|x| x.contiguous());
                moved(
                    &format!("flip {axes:?} permute {order:?} {what}"),
                    result,
                    &out,
                    &wanted,
                );
            }
        }
    });
}

#[test]
fn grids_agree_with_their_formula() {
    fuzz(|device, rng| {
        let count = 1 + rng.below(5);
        let vectors: Vec<Given> = (0..count)
            .map(|_| {
                let dtype = rng.pick(&DType::ALL);
                let dims: &[usize] = &[rng.pick(&[0, 1, 1, 2, 3, 5, 9])];
                let dims = if rng.below(6) == 0 { &[][..] } else { dims };
                given(device, dtype, dims, Values::Extreme, rng)
            })
            .collect();
        let ij = rng.below(2) == 0;
        let mut out: Vec<usize> = vectors.iter().map(|v| v.values.len()).collect();
        let turned = !ij && count > 1;
        if turned {
            out.swap(0, 1);
        }
        let tensors: Vec<&Tensor> = vectors.iter().map(|given| &given.tensor).collect();
        let grids = Tensor::meshgrid(&tensors, ij).unwrap();
        assert_eq!(grids.len(), count);
        for (which, (grid, vector)) in grids.into_iter().zip(&vectors).enumerate() {
            let axis = if turned && which < 2 {
                1 - which
            } else {
                which
            };
            let value = |place: Vec<usize>| vector.values[place[axis]];
            let wanted: Vec<f64> = places(&out).into_iter().map(value).collect();
            assert_eq!(grid.dtype(), vector.tensor.dtype());
            moved(
                &format!("grid {which} of {out:?} ij={ij}"),
                Ok(grid),
                &out,
                &wanted,
            );
        }
    });
}
