//! Axes as (extent, strides) lists, and merging neighbours that one loop can walk.
//!
//! Core's coalescing works on whole layouts; the kernels here need it on parts of them (the kept axes, the
//! reduced axes, the batch axes of two matrices), so the rule is stated once more on bare lists.
//! Invariant: merging changes neither the set of visited elements nor, unless asked to, their order.

use ziggurat_core::sort_few_by_key;

/// One axis seen by `N` operands: its extent and each operand's stride in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Axis<const N: usize> {
    pub(crate) dim: u64,
    pub(crate) strides: [isize; N],
}

/// Drops axes of extent 1 and joins neighbours that every operand walks with one stride. The order of visits
/// stays row-major.
pub(crate) fn merge<const N: usize>(axes: &[Axis<N>]) -> Vec<Axis<N>> {
    let mut merged: Vec<Axis<N>> = Vec::with_capacity(axes.len());
    for axis in axes.iter().filter(|axis| axis.dim != 1) {
        match merged.last_mut() {
            Some(outer) if joins(outer, axis) => {
                outer.dim = outer.dim.saturating_mul(axis.dim);
                outer.strides = axis.strides;
            }
            _ => merged.push(*axis),
        }
    }
    merged
}

fn joins<const N: usize>(outer: &Axis<N>, inner: &Axis<N>) -> bool {
    let Ok(dim) = isize::try_from(inner.dim) else {
        return false;
    };
    outer
        .strides
        .iter()
        .zip(&inner.strides)
        .all(|(&o, &i)| i.checked_mul(dim) == Some(o))
}

/// Like [`merge`] for walks whose order is free: negative strides are walked from the other end (the returned
/// shift moves the first element), and axes are sorted outermost first. A flipped or transposed tensor reduces
/// as fast as a contiguous one.
pub(crate) fn merge_unordered(axes: &[Axis<1>]) -> (Vec<Axis<1>>, isize) {
    let mut shift = 0isize;
    let mut sorted: Vec<Axis<1>> = axes.iter().filter(|axis| axis.dim != 1).copied().collect();
    for axis in &mut sorted {
        let [stride] = &mut axis.strides;
        if *stride < 0 && axis.dim > 0 {
            // The far end of a valid layout is an element of it, so this stays in range.
            shift = shift.wrapping_add(stride.wrapping_mul(axis.dim as isize - 1));
            *stride = -*stride;
        }
    }
    sort_few_by_key(&mut sorted, |axis| std::cmp::Reverse(axis.strides[0]));
    (merge(&sorted), shift)
}

/// The product of the extents, saturating.
pub(crate) fn product<const N: usize>(axes: &[Axis<N>]) -> u64 {
    axes.iter()
        .fold(1, |all, axis| all.saturating_mul(axis.dim))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn axis(dim: u64, stride: isize) -> Axis<1> {
        Axis {
            dim,
            strides: [stride],
        }
    }

    #[test]
    fn joins_contiguous_neighbours_and_drops_ones() {
        assert_eq!(
            merge(&[axis(2, 12), axis(1, 99), axis(3, 4), axis(4, 1)]),
            [axis(24, 1)]
        );
    }

    #[test]
    fn keeps_what_no_single_stride_walks() {
        let axes = [axis(2, 1), axis(3, 2)];
        assert_eq!(merge(&axes), axes);
        let pair = [
            Axis {
                dim: 2,
                strides: [3, 0],
            },
            Axis {
                dim: 3,
                strides: [1, 1],
            },
        ];
        assert_eq!(merge(&pair), pair);
    }

    #[test]
    fn joins_broadcast_axes() {
        assert_eq!(merge(&[axis(5, 0), axis(7, 0)]), [axis(35, 0)]);
    }

    #[test]
    fn walks_flipped_and_transposed_axes_in_memory_order() {
        assert_eq!(
            merge_unordered(&[axis(2, 1), axis(3, -2)]),
            (vec![axis(6, 1)], -4)
        );
    }
}
