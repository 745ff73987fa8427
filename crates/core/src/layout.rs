//! Where a tensor's elements lie in its memory: shape, strides and offset.
//!
//! Views (transpose, slice, expand …) change only this description, so they cost no GPU work, and a
//! kernel needs to know nothing about how a view came about. Strides and offset count elements;
//! strides may be negative (flip) or 0 (expand).
//!
//! Invariants: the element of every valid index lies in `0..=isize::MAX`, so sums over the strides
//! of a valid index cannot overflow; the stride of a dimension with fewer than two elements, and any
//! stride of an empty layout, means nothing and is only multiplied with wrapping; a layout that is
//! empty stays empty under every operation; unused stride slots are 0, so that derived equality and
//! hashing are right.

use std::fmt;

use crate::{MAX_RANK, Shape, ShapeError};

mod memory;
mod offsets;
mod reshape;
mod views;

pub use offsets::Offsets;

/// A strided view of a row of elements.
///
/// ```
/// use ziggurat_core::{Layout, Shape};
///
/// # fn main() -> Result<(), ziggurat_core::ShapeError> {
/// let columns = Layout::contiguous(Shape::new([2, 3])?).transpose(0, 1)?;
/// assert_eq!(columns.dims(), &[3, 2]);
/// assert_eq!(columns.strides(), &[1, 3]);
/// assert_eq!(columns.offsets().collect::<Vec<_>>(), [0, 3, 1, 4, 2, 5]);
/// assert!(!columns.is_contiguous());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Layout {
    shape: Shape,
    /// One stride per dimension; unused slots are 0.
    strides: [isize; MAX_RANK],
    offset: usize,
}

impl Layout {
    /// The row-major layout of `shape` from element 0.
    ///
    /// ```
    /// use ziggurat_core::{Layout, Shape};
    ///
    /// # fn main() -> Result<(), ziggurat_core::ShapeError> {
    /// let layout = Layout::contiguous(Shape::new([2, 3, 4])?);
    /// assert_eq!(layout.strides(), &[12, 4, 1]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn contiguous(shape: Shape) -> Self {
        let mut layout = Self {
            shape,
            strides: [0; MAX_RANK],
            offset: 0,
        };
        let mut next = 1_usize;
        for (slot, &dim) in layout.strides_mut().iter_mut().zip(shape.dims()).rev() {
            // Does not wrap: a shape's product without its zeros fits an isize.
            *slot = next.cast_signed();
            next = next.wrapping_mul(dim.max(1));
        }
        layout
    }

    /// The layout with these strides, one per dimension, from element `offset`.
    ///
    /// ```
    /// use ziggurat_core::{Layout, Shape};
    ///
    /// # fn main() -> Result<(), ziggurat_core::ShapeError> {
    /// let diagonal = Layout::new(Shape::new([3])?, &[4], 0)?;
    /// assert_eq!(diagonal.offsets().collect::<Vec<_>>(), [0, 4, 8]);
    /// assert!(Layout::new(Shape::new([3])?, &[-1], 1).is_err());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`ShapeError::StrideCount`] unless there is one stride per dimension;
    /// [`ShapeError::AddressOutOfRange`] if an element would lie before element 0 or beyond
    /// `isize::MAX`.
    pub fn new(shape: Shape, strides: &[isize], offset: usize) -> Result<Self, ShapeError> {
        let mut layout = Self {
            shape,
            strides: [0; MAX_RANK],
            offset,
        };
        if strides.len() != shape.rank() {
            return Err(ShapeError::StrideCount {
                dims: shape.dims().to_vec(),
                got: strides.len(),
            });
        }
        layout.strides_mut().copy_from_slice(strides);
        if layout.checked_span().is_none() {
            return Err(ShapeError::AddressOutOfRange {
                dims: shape.dims().to_vec(),
                strides: strides.to_vec(),
                offset,
            });
        }
        Ok(layout)
    }

    /// The shape.
    ///
    /// ```
    /// use ziggurat_core::{Layout, Shape};
    ///
    /// assert_eq!(*Layout::contiguous(Shape::scalar()).shape(), Shape::scalar());
    /// ```
    #[inline]
    #[must_use]
    pub const fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The dimensions, outermost first.
    ///
    /// ```
    /// # fn main() -> Result<(), ziggurat_core::ShapeError> {
    /// use ziggurat_core::{Layout, Shape};
    ///
    /// assert_eq!(Layout::contiguous(Shape::new([2, 3])?).dims(), &[2, 3]);
    /// # Ok(())
    /// # }
    /// ```
    #[inline]
    #[must_use]
    pub fn dims(&self) -> &[usize] {
        self.shape.dims()
    }

    /// The strides in elements, one per dimension. That of a dimension with fewer than two elements
    /// means nothing.
    ///
    /// ```
    /// # fn main() -> Result<(), ziggurat_core::ShapeError> {
    /// use ziggurat_core::{Layout, Shape};
    ///
    /// let flipped = Layout::contiguous(Shape::new([2, 3])?).flip(&[1])?;
    /// assert_eq!(flipped.strides(), &[3, -1]);
    /// # Ok(())
    /// # }
    /// ```
    #[inline]
    #[must_use]
    pub fn strides(&self) -> &[isize] {
        self.strides.get(..self.rank()).unwrap_or(&self.strides)
    }

    /// The element that index (0, 0, …) lies at.
    ///
    /// ```
    /// # fn main() -> Result<(), ziggurat_core::ShapeError> {
    /// use ziggurat_core::{Layout, Shape};
    ///
    /// let second_row = Layout::contiguous(Shape::new([2, 3])?).select(0, 1)?;
    /// assert_eq!(second_row.offset(), 3);
    /// # Ok(())
    /// # }
    /// ```
    #[inline]
    #[must_use]
    pub const fn offset(&self) -> usize {
        self.offset
    }

    /// The number of dimensions.
    ///
    /// ```
    /// use ziggurat_core::{Layout, Shape};
    ///
    /// assert_eq!(Layout::contiguous(Shape::scalar()).rank(), 0);
    /// ```
    #[inline]
    #[must_use]
    pub const fn rank(&self) -> usize {
        self.shape.rank()
    }

    /// The number of indices: the product of the dimensions. With a stride of 0 several of them
    /// share one element.
    ///
    /// ```
    /// use ziggurat_core::{Layout, Shape};
    ///
    /// assert_eq!(Layout::contiguous(Shape::scalar()).len(), 1);
    /// ```
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.shape.len()
    }

    /// Are there no elements?
    ///
    /// ```
    /// # fn main() -> Result<(), ziggurat_core::ShapeError> {
    /// use ziggurat_core::{Layout, Shape};
    ///
    /// assert!(Layout::contiguous(Shape::new([2, 0])?).is_empty());
    /// # Ok(())
    /// # }
    /// ```
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.shape.is_empty()
    }

    /// The row-major layout from element 0 that a copy of this view has.
    ///
    /// ```
    /// # fn main() -> Result<(), ziggurat_core::ShapeError> {
    /// use ziggurat_core::{Layout, Shape};
    ///
    /// let columns = Layout::contiguous(Shape::new([2, 3])?).transpose(0, 1)?;
    /// assert_eq!(columns.contiguous_like().strides(), &[2, 1]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn contiguous_like(&self) -> Self {
        Self::contiguous(self.shape)
    }

    /// The stride of `axis`; 0 beyond the rank.
    pub(crate) fn stride(&self, axis: usize) -> isize {
        self.strides().get(axis).copied().unwrap_or(0)
    }

    fn strides_mut(&mut self) -> &mut [isize] {
        let rank = self.rank();
        // The rank is at most MAX_RANK, so this never panics.
        &mut self.strides[..rank]
    }

    /// Dimension and stride of every axis, outermost first.
    fn axes(&self) -> impl DoubleEndedIterator<Item = (usize, isize)> + ExactSizeIterator + '_ {
        self.dims()
            .iter()
            .copied()
            .zip(self.strides().iter().copied())
    }
}

impl fmt::Debug for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Layout")
            .field("shape", &self.shape)
            .field("strides", &self.strides())
            .field("offset", &self.offset)
            .finish()
    }
}

#[cfg(test)]
mod tests;
