//! Reductions with an argument, with two results, to truths, with a start, to a dtype; pooling of whole planes.

use crate::expect;
use crate::reducing;
use ziggurat_kernels::Reduce;
use ziggurat_tensor::{DType, Error, Tensor};

use super::{FLOATS, agrees, moved, refused, within};
use crate::fuzz_values::casts::cast;
use crate::operands::{Expected, Random};
use crate::problems::{Given, Values, axis_of, fuzz_few, given, modest};

const F32: f64 = f32::EPSILON as f64;

/// The modest that are left, and for each element of them the values that are reduced to it.
fn groups(x: &Given, axes: &[usize], keepdim: bool) -> (Vec<usize>, Vec<Vec<f64>>) {
    let dims = x.dims();
    let mut kept = dims.to_vec();
    axes.iter().for_each(|&axis| kept[axis] = 1);
    let mut groups = vec![Vec::new(); kept.iter().product()];
    for (place, &value) in crate::fuzz_values::moves::places(dims)
        .iter()
        .zip(&x.values)
    {
        let at = (place.iter().zip(&kept).enumerate()).fold(0, |at, (axis, (&i, &dim))| {
            at * dim + if axes.contains(&axis) { 0 } else { i }
        });
        groups[at].push(value);
    }
    let out = if keepdim {
        kept
    } else {
        reducing::kept(dims, axes)
    };
    (out, groups)
}

fn some_axes(rank: usize, rng: &mut Random) -> (Vec<usize>, Vec<isize>) {
    let axes: Vec<usize> = (0..rank).filter(|_| rng.below(2) == 0).collect();
    let signed = axes.iter().map(|&axis| {
        let back = rng.below(2) == 0;
        axis as isize - if back { rank as isize } else { 0 }
    });
    let signed = signed.collect();
    (axes, signed)
}

/// The value, NaN wherever there is one.
fn unless_nan(values: &[f64], value: f64) -> f64 {
    if values.iter().any(|x| x.is_nan()) {
        f64::NAN
    } else {
        value
    }
}

/// A norm, and how far f32 may be off: see shaders/reduce/op/norm.wgsl for powers.
fn norm(values: &[f64], p: f64) -> Expected {
    let sizes = || values.iter().map(|x| x.abs());
    let sum = |f: &dyn Fn(f64) -> f64| sizes().map(f).sum::<f64>();
    if p == 0.0 {
        return Expected::exact(values.iter().filter(|&&x| x != 0.0).count() as f64);
    }
    if p.is_infinite() {
        let value = if p > 0.0 {
            sizes().fold(0.0, f64::max)
        } else {
            sizes().fold(f64::INFINITY, f64::min)
        };
        return Expected::exact(unless_nan(values, value));
    }
    let value = if p == 1.0 {
        sum(&|x| x)
    } else {
        sum(&|x| x.powf(p)).powf(1.0 / p)
    };
    let bound = (values.len() as f64 + 2.0) * F32 * value * (1.0 + 8.0 / p.abs());
    Expected {
        value,
        bound: bound + f64::from(f32::MIN_POSITIVE),
    }
}

#[test]
fn norms_and_sums_to_a_dtype_agree_with_the_reference() {
    fuzz_few(|device, rng| {
        let dtype = rng.pick(&DType::ALL);
        let rank = 1 + rng.below(4);
        let x = given(device, dtype, &modest(rank, rng), Values::Special, rng);
        let (axes, signed) = some_axes(rank, rng);
        if axes.is_empty() {
            return;
        }
        let keepdim = rng.below(2) == 0;
        let (out, groups) = groups(&x, &axes, keepdim);
        let empty = axes.iter().any(|&axis| x.dims()[axis] == 0);
        let what = format!("{dtype} {:?} over {axes:?}", x.dims());
        if rng.below(2) == 0 {
            let p = rng.pick(&[
                0.0,
                1.0,
                2.0,
                3.0,
                0.5,
                -1.0,
                f64::INFINITY,
                f64::NEG_INFINITY,
            ]);
            let what = format!("norm {p} {what}");
            let result = x.tensor.norm(p, &signed, keepdim);
            if empty && (p < 0.0 || p.is_infinite()) && !out.contains(&0) {
                return refused(&what, result);
            }
            let Ok(result) = result else {
                assert!(empty, "{what}");
                return;
            };
            let single = |x: &f64| f64::from(*x as f32);
            let wanted: Vec<Expected> = (groups.iter())
                .map(|group| norm(&group.iter().map(single).collect::<Vec<_>>(), p))
                .collect();
            let _tensor = within(&what, Ok(result), &out, &wanted);
            return;
        }
        let to = rng.pick(&DType::ALL);
        let what = format!("sum to {to} {what}");
        let wanted: Vec<Expected> = (groups.iter())
            .map(|group| {
                let terms: Vec<f64> = group.iter().map(|&x| cast(dtype, to, x)).collect();
                let sizes: f64 = terms.iter().map(|x| x.abs()).sum();
                let value: f64 = terms.iter().sum();
                match to {
                    DType::Bool => Expected::exact(terms.iter().copied().fold(0.0, f64::max)),
                    _ if to.is_float() => {
                        let bound = (terms.len() as f64 + 2.0) * F32 * sizes;
                        Expected {
                            value,
                            bound: bound + f64::from(f32::MIN_POSITIVE),
                        }
                    }
                    _ => {
                        let sum: i64 = terms.iter().map(|&x| x as i64).sum();
                        Expected::exact(cast(DType::I32, to, f64::from(sum as i32)))
                    }
                }
            })
            .collect();
        let _tensor = within(&what, x.tensor.sum_to(&signed, keepdim, to), &out, &wanted);
    });
}

#[test]
fn truths_extremes_and_variances_agree_with_the_reference() {
    fuzz_few(|device, rng| {
        let dtype = rng.pick(&DType::ALL);
        let rank = 1 + rng.below(4);
        let kind = rng.below(5);
        let values = if kind < 3 {
            Values::Extreme
        } else {
            Values::Special
        };
        let x = given(device, dtype, &modest(rank, rng), values, rng);
        let (axes, signed) = some_axes(rank, rng);
        let keepdim = rng.below(2) == 0;
        let (out, grouped) = groups(&x, &axes, keepdim);
        let what = format!("{dtype} {:?} over {axes:?}", x.dims());
        let t = &x.tensor;
        match kind {
            0 if !axes.is_empty() => {
                let all = rng.below(2) == 0;
                let truth = |group: &Vec<f64>| {
                    let mut truths = group.iter().map(|&x| x != 0.0);
                    f64::from(u8::from(if all {
                        truths.all(|x| x)
                    } else {
                        truths.any(|x| x)
                    }))
                };
                let wanted: Vec<f64> = grouped.iter().map(truth).collect();
                let result = if all {
                    t.all(&signed, keepdim)
                } else {
                    t.any(&signed, keepdim)
                };
                moved(&format!("all={all} {what}"), result, &out, &wanted);
            }
            1 if !axes.is_empty() => {
                let start = if dtype.is_bool() {
                    1.0
                } else {
                    rng.below(3) as f64
                };
                let most = rng.below(2) == 0;
                let pick = if most { f64::max } else { f64::min };
                let extreme =
                    |group: &Vec<f64>| unless_nan(group, group.iter().copied().fold(start, pick));
                let wanted: Vec<Expected> =
                    grouped.iter().map(extreme).map(Expected::exact).collect();
                let result = if most {
                    t.max_from(&signed, keepdim, start as i32)
                } else {
                    t.min_from(&signed, keepdim, start as i32)
                };
                agrees(
                    &format!("from {start} most={most} {what}"),
                    result,
                    &out,
                    &wanted,
                );
            }
            2 => {
                let (signed, axis) = axis_of(rank, rng);
                let (out, groups) = groups(&x, &[axis], keepdim);
                let most = rng.below(2) == 0;
                let what = format!(
                    "with indices most={most} {dtype} {:?} along {axis}",
                    x.dims()
                );
                let result = if most {
                    t.max_with_indices(signed, keepdim)
                } else {
                    t.min_with_indices(signed, keepdim)
                };
                if x.dims()[axis] == 0 {
                    if let Err(error) = result {
                        assert!(error.is_shape() || error.is_argument(), "{what}: {error}");
                    } else {
                        assert!(out.contains(&0), "{what} was accepted");
                    }
                    return;
                }
                // The first NaN, else the first of the greatest.
                let best = |group: &Vec<f64>| {
                    let nan = group.iter().position(|x| x.is_nan());
                    nan.unwrap_or_else(|| {
                        let wins = |x: f64, y: f64| if most { x > y } else { x < y };
                        (1..group.len()).fold(
                            0,
                            |best, i| if wins(group[i], group[best]) { i } else { best },
                        )
                    })
                };
                let at: Vec<usize> = groups.iter().map(best).collect();
                let places: Vec<f64> = at.iter().map(|&at| at as f64).collect();
                let wanted: Vec<f64> = groups
                    .iter()
                    .zip(&at)
                    .map(|(group, &at)| group[at])
                    .collect();
                let (values, positions) = result.unwrap();
                moved(&format!("positions {what}"), Ok(positions), &out, &places);
                // The sign of a zero is not promised.
                agrees(
                    &format!("values {what}"),
                    Ok(values),
                    &out,
                    &expect::exact(&wanted),
                );
            }
            3 if !axes.is_empty() => {
                let correction = rng.pick(&[0.0, 1.0, 0.5, 3.0]);
                let result = t.var_mean(&signed, correction, keepdim);
                let what = format!("var_mean {correction} {what}");
                if !dtype.is_float() {
                    return refused(&what, result.map(|(var, _)| var));
                }
                let (var, mean) = result.unwrap();
                let of = |op, argument| {
                    reducing::expected(op, argument, &x.values, x.dims(), &axes, dtype)
                };
                agrees(
                    &format!("var of {what}"),
                    Ok(var),
                    &out,
                    &of(Reduce::Var, correction),
                );
                agrees(
                    &format!("mean of {what}"),
                    Ok(mean),
                    &out,
                    &of(Reduce::Mean, 0.0),
                );
            }
            4 if !axes.is_empty() => {
                let result = t.sum_squares(&signed, keepdim).unwrap();
                let to = result.dtype();
                let wanted =
                    reducing::expected(Reduce::SumSquares, 0.0, &x.values, x.dims(), &axes, to);
                agrees(&format!("sum_squares {what}"), Ok(result), &out, &wanted);
            }
            _ => {}
        }
    });
}

#[test]
fn pooling_of_whole_planes_agrees_with_the_reference() {
    fuzz_few(|device, rng| {
        let dtype = rng.pick(&FLOATS);
        let rank = 3 + rng.below(3);
        let dims = modest(rank, rng);
        let axes: Vec<usize> = (2..rank).collect();
        let x = given(device, dtype, &dims, Values::Special, rng);
        let p = rng.pick(&[1.0, 2.0, 3.0, 0.5f32]);
        let (out, grouped) = groups(&x, &axes, true);
        let what = format!("{dtype} {dims:?}");
        type Formula = Box<dyn Fn(&Vec<f64>) -> Expected>;
        let (name, result, of): (_, Result<Tensor, Error>, Formula) = match rng.below(3) {
            0 => (
                "global_max_pool",
                x.tensor.global_max_pool(),
                Box::new(|g: &Vec<f64>| {
                    let most = g.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                    Expected::exact(unless_nan(g, most))
                }),
            ),
            1 => (
                "global_avg_pool",
                x.tensor.global_avg_pool(),
                Box::new(|g: &Vec<f64>| {
                    let n = g.len() as f64;
                    let sizes: f64 = g.iter().map(|x| x.abs()).sum();
                    let bound = (n + 2.0) * F32 * sizes / n + f64::from(f32::MIN_POSITIVE);
                    Expected {
                        value: g.iter().sum::<f64>() / n,
                        bound,
                    }
                }),
            ),
            _ => (
                "global_lp_pool",
                x.tensor.global_lp_pool(p),
                Box::new(move |g: &Vec<f64>| norm(g, f64::from(p))),
            ),
        };
        let what = format!("{name} {p} {what}");
        if dims[2..].contains(&0) && name == "global_max_pool" {
            if out.contains(&0) {
                return;
            }
            return refused(&what, result);
        }
        let wanted: Vec<Expected> = grouped.iter().map(of).collect();
        let _tensor = within(&what, result, &out, &wanted);
    });
}
