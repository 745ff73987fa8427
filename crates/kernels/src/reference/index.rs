//! References of gathers and scatters, on dense row-major values: which element each position names.

use ziggurat_core::DType;

use super::{round_to, wrap};
use crate::ops::index::Scatter;

/// How indices name elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Indexing {
    /// One index per position, along this axis: [`Executor::gather`](crate::Executor::gather).
    Along(usize),
    /// Slices of this axis: [`Executor::index_select`](crate::Executor::index_select).
    Slices(usize),
    /// Tuples behind so many batch axes: [`Executor::gather_nd`](crate::Executor::gather_nd).
    Tuples(usize),
}

/// The shape of the result of a gather (of a scatter's updates), and for each of its positions the named element.
#[must_use]
pub fn named(
    how: Indexing,
    dims: &[usize],
    indices: &[f64],
    index_dims: &[usize],
) -> (Vec<usize>, Vec<usize>) {
    let shape: Vec<usize> = match how {
        Indexing::Along(_) => index_dims.to_vec(),
        Indexing::Slices(axis) => [&dims[..axis], index_dims, &dims[axis + 1..]].concat(),
        Indexing::Tuples(batch) => {
            let (m, outer) = index_dims.split_last().unwrap_or((&0, &[]));
            [outer, &dims[batch + m..]].concat()
        }
    };
    let len: usize = shape.iter().product();
    let positions = (0..len).map(|i| {
        let at = unravel(i, &shape);
        let index = |place: &[usize], extent: usize| {
            let given = indices[ravel(place, index_dims)];
            let from_front = if given < 0.0 {
                given + extent as f64
            } else {
                given
            };
            from_front.clamp(0.0, extent as f64 - 1.0) as usize
        };
        let element: Vec<usize> = match how {
            Indexing::Along(axis) => {
                let mut element = at.clone();
                element[axis] = index(&at, dims[axis]);
                element
            }
            Indexing::Slices(axis) => {
                let behind = axis + index_dims.len();
                let found = index(&at[axis..behind], dims[axis]);
                [&at[..axis], &[found], &at[behind..]].concat()
            }
            Indexing::Tuples(batch) => {
                let outer = index_dims.len() - 1;
                let found: Vec<usize> = (0..index_dims[outer])
                    .map(|m| index(&[&at[..outer], &[m]].concat(), dims[batch + m]))
                    .collect();
                [&at[..batch], &found, &at[outer..]].concat()
            }
        };
        ravel(&element, dims)
    });
    (shape.clone(), positions.collect())
}

/// `data` after all updates, one after the other; integers wrap.
#[must_use]
pub fn scatter(
    op: Scatter,
    dtype: DType,
    data: &[f64],
    positions: &[usize],
    updates: &[f64],
) -> Vec<f64> {
    let mut out = data.to_vec();
    for (&at, &update) in positions.iter().zip(updates) {
        let before = out[at];
        out[at] = match op {
            Scatter::Set => update,
            Scatter::Max if before.is_nan() || update.is_nan() => f64::NAN,
            Scatter::Max => before.max(update),
            Scatter::Min if before.is_nan() || update.is_nan() => f64::NAN,
            Scatter::Min => before.min(update),
            Scatter::Add if dtype.is_float() => before + update,
            Scatter::Mul if dtype.is_float() => before * update,
            Scatter::Add => integer(dtype, before as i64 + update as i64),
            Scatter::Mul => integer(dtype, (before as i64).wrapping_mul(update as i64)),
        };
    }
    out
}

/// As [`scatter`] of sums or products, for floats that are combined in f32 in a fixed order and rounded once: the element with
/// its first 4,096 updates, one after the other; then with what each further 4,096 give, combined in the same way.
#[must_use]
pub fn scatter_in_order(
    op: Scatter,
    dtype: DType,
    data: &[f64],
    positions: &[usize],
    updates: &[f64],
) -> Vec<f64> {
    let mut own = vec![Vec::new(); data.len()];
    for (&at, &update) in positions.iter().zip(updates) {
        own[at].push(update as f32);
    }
    let combine = |x: f32, y: f32| match op {
        Scatter::Mul => x * y,
        _ => x + y,
    };
    let element = |(&start, own): (&f64, &Vec<f32>)| {
        let mut pieces = own.chunks(4096);
        let first = pieces.next().unwrap_or_default();
        let start = first.iter().copied().fold(start as f32, combine);
        let rest = pieces.filter_map(|piece| piece.iter().copied().reduce(combine));
        round_to(dtype, f64::from(rest.fold(start, combine)))
    };
    data.iter().zip(&own).map(element).collect()
}

fn integer(dtype: DType, value: i64) -> f64 {
    if dtype.is_bool() {
        return f64::from(u8::from(value != 0));
    }
    wrap(dtype, value)
}

fn unravel(mut i: usize, dims: &[usize]) -> Vec<usize> {
    let mut at = vec![0; dims.len()];
    for (slot, dim) in at.iter_mut().zip(dims).rev() {
        *slot = i % dim;
        i /= dim;
    }
    at
}

fn ravel(at: &[usize], dims: &[usize]) -> usize {
    at.iter().zip(dims).fold(0, |i, (at, dim)| i * dim + at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_name_elements_slices_and_tuples() {
        let (shape, at) = named(Indexing::Along(1), &[2, 3], &[2., -1., 0., 9.], &[2, 2]);
        assert_eq!((shape, at), (vec![2, 2], vec![2, 2, 3, 5]));
        let (shape, at) = named(Indexing::Slices(0), &[3, 2], &[1., -3.], &[2]);
        assert_eq!((shape, at), (vec![2, 2], vec![2, 3, 0, 1]));
        let (shape, at) = named(Indexing::Tuples(1), &[2, 2, 2], &[1., 0.], &[2, 1]);
        assert_eq!((shape, at), (vec![2, 2], vec![2, 3, 4, 5]));
    }

    #[test]
    fn updates_follow_each_other() {
        let after = |op| scatter(op, DType::F32, &[1., 2.], &[1, 1], &[3., 4.]);
        assert_eq!(after(Scatter::Set), [1., 4.]);
        assert_eq!(after(Scatter::Add), [1., 9.]);
        assert_eq!(after(Scatter::Mul), [1., 24.]);
        assert_eq!(after(Scatter::Max), [1., 4.]);
        assert_eq!(after(Scatter::Min), [1., 2.]);
        let product = scatter(Scatter::Mul, DType::I32, &[65_537.], &[0], &[65_535.]);
        assert_eq!(product, [-1.]);
    }
}
