//! Fewer dimensions for the same order of accesses to memory.
//!
//! A kernel pays integer divisions per dimension to turn a linear index into addresses. Most
//! layouts need far fewer dimensions than their shape has: dimensions of 1 carry nothing, and two
//! neighbours merge when stepping over the inner one is the same as one step of the outer. With
//! several operands they have to merge in all of them at once.
//!
//! Invariants: every operand's sequence of element indices, in row-major order, is unchanged; the
//! order of dimensions is kept; the result has at least one dimension and at most [`MAX_RANK`].
//!
//! [`MAX_RANK`]: crate::MAX_RANK

use crate::Layout;

/// Dimensions and strides of several operands after merging, from [`coalesce()`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Coalesced {
    /// The dimensions, outermost first; at least one.
    pub dims: Vec<usize>,
    /// The strides in elements: `strides[operand][dimension]`.
    pub strides: Vec<Vec<isize>>,
    /// The first element of each operand.
    pub offsets: Vec<usize>,
}

impl Coalesced {
    /// The number of dimensions left: at least 1.
    ///
    /// ```
    /// use ziggurat_core::{Layout, Shape, coalesce};
    ///
    /// assert_eq!(coalesce(&[Layout::contiguous(Shape::scalar())]).rank(), 1);
    /// ```
    #[must_use]
    pub fn rank(&self) -> usize {
        self.dims.len()
    }

    /// The number of elements of each operand.
    ///
    /// ```
    /// use ziggurat_core::{Layout, Shape, coalesce};
    ///
    /// # fn main() -> Result<(), ziggurat_core::ShapeError> {
    /// assert_eq!(coalesce(&[Layout::contiguous(Shape::new([2, 3])?)]).len(), 6);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        self.dims.iter().product()
    }

    /// Are there no elements?
    ///
    /// ```
    /// use ziggurat_core::{Layout, Shape, coalesce};
    ///
    /// # fn main() -> Result<(), ziggurat_core::ShapeError> {
    /// assert!(coalesce(&[Layout::contiguous(Shape::new([2, 0])?)]).is_empty());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.dims.contains(&0)
    }
}

/// Drops the dimensions of 1 and merges the neighbours that merge in every operand.
///
/// All layouts must have the same shape (checked in debug builds, the first one's counts); broadcast
/// with [`Layout::expand`] first. An operand whose
/// elements are all one has stride 0, except that a result of a single element has stride 1, which
/// is as good as any.
///
/// ```
/// use ziggurat_core::{Layout, Shape, coalesce};
///
/// # fn main() -> Result<(), ziggurat_core::ShapeError> {
/// let shape = Shape::new([2, 3, 4])?;
/// let full = Layout::contiguous(shape);
/// let row = Layout::contiguous(Shape::new([4])?).expand(shape)?;
///
/// let alone = coalesce(&[full]);
/// assert_eq!(alone.dims, [24]);
///
/// let both = coalesce(&[full, row]);
/// assert_eq!(both.dims, [6, 4]);
/// assert_eq!(both.strides, [[4, 1], [0, 1]]);
/// # Ok(())
/// # }
/// ```
#[must_use]
pub fn coalesce(layouts: &[Layout]) -> Coalesced {
    let shape = layouts
        .first()
        .map(|first| *first.shape())
        .unwrap_or_default();
    debug_assert!(
        layouts.iter().all(|layout| *layout.shape() == shape),
        "coalesce needs layouts of one shape: {layouts:?}"
    );
    let offsets = layouts.iter().map(Layout::offset).collect();
    if shape.len() <= 1 {
        return Coalesced {
            dims: vec![shape.len()],
            strides: vec![vec![1]; layouts.len()],
            offsets,
        };
    }

    let mut dims: Vec<usize> = Vec::new();
    let mut strides: Vec<Vec<isize>> = vec![Vec::new(); layouts.len()];
    for (axis, &dim) in shape.dims().iter().enumerate() {
        if dim == 1 {
            continue;
        }
        let inner: Vec<isize> = layouts.iter().map(|layout| layout.stride(axis)).collect();
        let merges = !dims.is_empty()
            && strides
                .iter()
                .zip(&inner)
                .all(|(outer, &inner)| outer.last() == whole_stride(dim, inner).as_ref());
        match dims.last_mut() {
            Some(last) if merges => *last *= dim,
            _ => dims.push(dim),
        }
        for (operand, inner) in strides.iter_mut().zip(inner) {
            if merges {
                operand.pop();
            }
            operand.push(inner);
        }
    }
    Coalesced {
        dims,
        strides,
        offsets,
    }
}

/// The stride of an outer dimension that continues an inner one of `dim` elements, if there is one.
fn whole_stride(dim: usize, inner: isize) -> Option<isize> {
    isize::try_from(dim).ok()?.checked_mul(inner)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::Shape;

    fn contiguous(dims: &[usize]) -> Layout {
        Layout::contiguous(Shape::new(dims).unwrap())
    }

    #[test]
    fn a_contiguous_layout_of_any_rank_is_one_row() {
        let cases: [&[usize]; 5] = [&[], &[5], &[2, 3], &[1, 4, 1, 2, 1], &[2; 8]];
        for dims in cases {
            let layout = contiguous(dims);
            let merged = coalesce(&[layout, layout]);
            assert_eq!(merged.dims, [layout.len()], "{dims:?}");
            assert_eq!(merged.strides, [[1], [1]], "{dims:?}");
        }
    }

    #[test]
    fn merges_only_what_merges_in_all_operands() {
        let a = contiguous(&[2, 3, 4]);
        let b = contiguous(&[3, 2, 4]).transpose(0, 1).unwrap();
        let merged = coalesce(&[a, b]);
        assert_eq!(merged.dims, [2, 3, 4]);
        assert_eq!(merged.strides, [[12, 4, 1], [4, 8, 1]]);
    }

    #[test]
    fn negative_and_zero_strides_merge_among_themselves() {
        let reversed = contiguous(&[2, 3]).flip(&[0, 1]).unwrap();
        let merged = coalesce(&[reversed]);
        assert_eq!((merged.dims, merged.strides), (vec![6], vec![vec![-1]]));
        assert_eq!(merged.offsets, [5]);

        let one = contiguous(&[]).expand(Shape::new([2, 3]).unwrap()).unwrap();
        let merged = coalesce(&[one]);
        assert_eq!((merged.dims, merged.strides), (vec![6], vec![vec![0]]));
    }

    #[test]
    fn keeps_one_dimension_when_nothing_is_left() {
        for dims in [&[][..], &[1, 1, 1]] {
            assert_eq!(coalesce(&[contiguous(dims)]).dims, [1]);
        }
        let empty = coalesce(&[contiguous(&[3, 0, 2])]);
        assert_eq!(empty.dims, [0]);
        assert!(empty.is_empty());
        let none = coalesce(&[]);
        assert_eq!((none.dims, none.strides.len()), (vec![1], 0));
    }
}
