//! f64 references of the reductions, on dense row-major values.
//!
//! Deliberately naive: one loop over the input, indices by division, nothing shared with the launch plans.

use crate::arg_reduce::ArgReduce;
use crate::reduce::Reduce;

/// A reference value, and the sum of the magnitudes of its terms: the scale of a sum's rounding error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Term {
    /// The exact (f64) result.
    pub value: f64,
    /// Sum of |terms|; for selections the magnitude of the result.
    pub magnitude: f64,
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
/// Over an empty extent: sum 0, mean NaN, max −inf, min +inf.
#[must_use]
pub fn reduce(op: Reduce, values: &[f64], dims: &[usize], axes: &[usize]) -> Vec<Term> {
    let groups = groups(dims, axes);
    groups
        .into_iter()
        .map(|group| one(op, group.into_iter().map(|i| values[i])))
        .collect()
}

fn one(op: Reduce, values: impl Iterator<Item = f64>) -> Term {
    let mut count = 0.0;
    let (mut sum, mut magnitude) = (0.0, 0.0);
    let (mut max, mut min) = (f64::NEG_INFINITY, f64::INFINITY);
    let mut nan = false;
    for x in values {
        count += 1.0;
        sum += x;
        magnitude += x.abs();
        max = f64::max(max, x);
        min = f64::min(min, x);
        nan |= x.is_nan();
    }
    let select = |x: f64| if nan { f64::NAN } else { x };
    let value = match op {
        Reduce::Sum => sum,
        Reduce::Mean => sum / count,
        Reduce::Max => select(max),
        Reduce::Min => select(min),
    };
    let magnitude = match op {
        Reduce::Sum => magnitude,
        Reduce::Mean => magnitude / count,
        Reduce::Max | Reduce::Min => value.abs(),
    };
    Term { value, magnitude }
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
