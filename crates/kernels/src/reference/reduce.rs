//! f64 references of the reductions, on dense row-major values.
//!
//! Deliberately naive: one loop over the input, indices by division, nothing shared with the launch plans.

use crate::ops::arg_reduce::ArgReduce;
use crate::ops::reduce::Reduce;

/// A reference value, and the sum of the magnitudes of its terms: the scale of a sum's rounding error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Term {
    /// The exact (f64) result.
    pub value: f64,
    /// Sum of |terms|; for selections the magnitude of the result.
    pub magnitude: f64,
}

impl Term {
    /// A result that is its own scale.
    pub(crate) fn exact(value: f64) -> Self {
        Self {
            value,
            magnitude: value.abs(),
        }
    }
}

/// Groups the positions of `dims` by output: for each output, the input positions in row-major order.
fn groups(dims: &[usize], axes: &[usize]) -> Vec<Vec<usize>> {
    let kept = |axis: &usize| !axes.contains(axis);
    let outputs: usize = (0..dims.len())
        .filter(kept)
        .map(|axis| dims[axis])
        .product();
    let mut groups = vec![Vec::new(); outputs];
    let mut index = vec![0; dims.len()];
    for position in 0..dims.iter().product::<usize>() {
        let mut rest = position;
        for axis in (0..dims.len()).rev() {
            index[axis] = rest % dims[axis];
            rest /= dims[axis];
        }
        let output = (0..dims.len())
            .filter(kept)
            .fold(0, |at, axis| at * dims[axis] + index[axis]);
        groups[output].push(position);
    }
    groups
}

/// Reduces `axes` of a dense row-major tensor; one entry per output, in row-major order of the kept axes.
///
/// Over an empty extent: sums and norms 0, prod 1, mean and variance NaN, max and logsumexp −inf, min +inf.
#[must_use]
pub fn reduce(op: Reduce, values: &[f64], dims: &[usize], axes: &[usize]) -> Vec<Term> {
    reduce_with(op, f64::from(op.default_argument()), values, dims, axes)
}

/// [`reduce`] with p of a norm, or the correction of a variance.
#[must_use]
pub fn reduce_with(
    op: Reduce,
    argument: f64,
    values: &[f64],
    dims: &[usize],
    axes: &[usize],
) -> Vec<Term> {
    let groups = groups(dims, axes);
    groups
        .into_iter()
        .map(|group| {
            let elements: Vec<f64> = group.into_iter().map(|i| values[i]).collect();
            (op.spec().reference)(&elements, argument)
        })
        .collect()
}

/// A reduction of integers modulo 2⁶⁴; one entry per output. `None` for reductions of floats only.
#[must_use]
pub fn reduce_integers(
    op: Reduce,
    values: &[f64],
    dims: &[usize],
    axes: &[usize],
) -> Option<Vec<i64>> {
    let reference = op.spec().integers?;
    let group = |group: Vec<usize>| {
        let whole: Vec<i64> = group.iter().map(|&i| values[i] as i64).collect();
        reference(&whole)
    };
    Some(groups(dims, axes).into_iter().map(group).collect())
}

/// The sum of `f` of the elements.
pub(crate) fn sum_of(values: &[f64], f: fn(f64) -> f64) -> Term {
    Term {
        value: values.iter().map(|&x| f(x)).sum(),
        magnitude: values.iter().map(|&x| f(x).abs()).sum(),
    }
}

pub(crate) fn mean(values: &[f64]) -> Term {
    let (sum, count) = (sum_of(values, |x| x), values.len() as f64);
    Term {
        value: sum.value / count,
        magnitude: sum.magnitude / count,
    }
}

/// The extreme element, `start` without elements; NaN is the extreme.
pub(crate) fn extreme(values: &[f64], start: f64, better: fn(f64, f64) -> f64) -> Term {
    let best = values.iter().copied().fold(start, better);
    let nan = values.iter().any(|x| x.is_nan());
    Term {
        value: if nan { f64::NAN } else { best },
        magnitude: best.abs(),
    }
}

pub(crate) fn norm(values: &[f64], p: f64) -> Term {
    let sum: f64 = values.iter().map(|x| x.abs().powf(p)).sum();
    let value = sum.powf(1.0 / p);
    Term {
        value,
        magnitude: value * (1.0 + 8.0 / p.abs()),
    }
}

pub(crate) fn logsumexp(values: &[f64]) -> Term {
    let greatest = extreme(values, f64::NEG_INFINITY, f64::max);
    let max = greatest.value;
    let value = if max.is_nan() || max.is_infinite() {
        max
    } else {
        max + values.iter().map(|x| (x - max).exp()).sum::<f64>().ln()
    };
    Term {
        value,
        magnitude: greatest.magnitude + 1.0,
    }
}

pub(crate) fn var(values: &[f64], correction: f64) -> Term {
    let count = values.len() as f64;
    let mean = mean(values).value;
    let squares: f64 = values.iter().map(|x| (x - mean) * (x - mean)).sum();
    let value = squares / (count - correction).max(0.0);
    let deviation = (value * (count - correction).max(0.0) / count).sqrt();
    Term {
        value,
        magnitude: value + mean.abs() * deviation,
    }
}

pub(crate) fn std(values: &[f64], correction: f64) -> Term {
    let value = var(values, correction).value.sqrt();
    Term {
        value,
        magnitude: value + mean(values).value.abs(),
    }
}

/// Position of the extreme element over `axes`, flattened row-major over them; NaN is the extreme.
/// An output without elements gives `None`.
#[must_use]
pub fn arg_reduce(
    op: ArgReduce,
    values: &[f64],
    dims: &[usize],
    axes: &[usize],
    select_last: bool,
) -> Vec<Option<usize>> {
    let better = |x: f64, best: f64| {
        if best.is_nan() || x.is_nan() {
            return x.is_nan() && (!best.is_nan() || select_last);
        }
        let tie = select_last && x == best;
        tie || match op {
            ArgReduce::Max => x > best,
            ArgReduce::Min => x < best,
        }
    };
    groups(dims, axes)
        .into_iter()
        .map(|group| {
            let mut best: Option<(usize, f64)> = None;
            for (at, position) in group.into_iter().enumerate() {
                let x = values[position];
                if best.is_none_or(|(_, b)| better(x, b)) {
                    best = Some((at, x));
                }
            }
            best.map(|(at, _)| at)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn values(op: Reduce, v: &[f64], dims: &[usize], axes: &[usize]) -> Vec<f64> {
        reduce(op, v, dims, axes)
            .into_iter()
            .map(|term| term.value)
            .collect()
    }

    #[test]
    fn reduces_the_named_axes() {
        let v = [1., 2., 3., 4., 5., 6.];
        assert_eq!(values(Reduce::Sum, &v, &[2, 3], &[1]), [6., 15.]);
        assert_eq!(values(Reduce::Sum, &v, &[2, 3], &[0]), [5., 7., 9.]);
        assert_eq!(values(Reduce::Mean, &v, &[2, 3], &[0, 1]), [3.5]);
        assert_eq!(values(Reduce::Max, &v, &[2, 3], &[]), v);
    }

    #[test]
    fn empty_extents_give_identities() {
        assert_eq!(values(Reduce::Sum, &[], &[2, 0], &[1]), [0., 0.]);
        assert!(values(Reduce::Mean, &[], &[1, 0], &[1])[0].is_nan());
        assert_eq!(values(Reduce::Max, &[], &[1, 0], &[1]), [f64::NEG_INFINITY]);
        assert!(values(Reduce::Max, &[], &[0, 3], &[1]).is_empty());
    }

    #[test]
    fn norms_and_variances_are_those_of_the_textbook() {
        let v = [3., -4., 0., 5.];
        assert_eq!(values(Reduce::Norm2, &v[..2], &[2], &[0]), [5.]);
        assert_eq!(values(Reduce::SumAbs, &v, &[4], &[0]), [12.]);
        assert_eq!(values(Reduce::SumSquares, &v, &[4], &[0]), [50.]);
        assert_eq!(values(Reduce::Prod, &v, &[2, 2], &[1]), [-12., 0.]);
        assert_eq!(values(Reduce::Var, &[1., 2., 3.], &[3], &[0]), [1.]);
        let biased = reduce_with(Reduce::Var, 0.0, &[1., 2., 3.], &[3], &[0]);
        assert!((biased[0].value - 2. / 3.).abs() < 1e-12);
        assert!(values(Reduce::Std, &[1.], &[1], &[0])[0].is_nan());
        assert_eq!(
            values(Reduce::LogSumExp, &[1000., 1000.], &[2], &[0]),
            [1000. + 2f64.ln()]
        );
        assert_eq!(
            reduce_integers(Reduce::Prod, &[4e9, 4e9], &[2], &[0]),
            Some(vec![16_000_000_000_000_000_000u64 as i64])
        );
    }

    #[test]
    fn not_a_number_wins() {
        let v = [1., f64::NAN, 3., f64::NAN];
        assert!(values(Reduce::Max, &v, &[4], &[0])[0].is_nan());
        assert_eq!(arg_reduce(ArgReduce::Max, &v, &[4], &[0], false), [Some(1)]);
        assert_eq!(arg_reduce(ArgReduce::Min, &v, &[4], &[0], true), [Some(3)]);
    }

    #[test]
    fn ties_go_to_the_first_or_last() {
        let v = [2., 3., 3., 1., 1.];
        assert_eq!(arg_reduce(ArgReduce::Max, &v, &[5], &[0], false), [Some(1)]);
        assert_eq!(arg_reduce(ArgReduce::Max, &v, &[5], &[0], true), [Some(2)]);
        assert_eq!(arg_reduce(ArgReduce::Min, &v, &[5], &[0], false), [Some(3)]);
        assert_eq!(arg_reduce(ArgReduce::Min, &[], &[0], &[0], false), [None]);
    }
}
