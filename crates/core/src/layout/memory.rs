//! What a layout touches in memory: its span, and whether it is dense or overlaps itself.

use super::Layout;
use crate::sort_few_by_key;

impl Layout {
    /// Do the elements lie one after the other in row-major order, from any offset? Dimensions of 1
    /// may have any stride; an empty layout is contiguous.
    ///
    /// ```
    /// use ziggurat_core::{Layout, Shape};
    ///
    /// # fn main() -> Result<(), ziggurat_core::ShapeError> {
    /// let layout = Layout::contiguous(Shape::new([4, 3])?);
    /// assert!(layout.narrow(0, 1, 2)?.is_contiguous());
    /// assert!(!layout.narrow(1, 1, 2)?.is_contiguous());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn is_contiguous(&self) -> bool {
        if self.is_empty() {
            return true;
        }
        let mut next = 1_usize;
        for (dim, stride) in self.axes().rev().filter(|&(dim, _)| dim != 1) {
            if stride != next.cast_signed() {
                return false;
            }
            next = next.wrapping_mul(dim);
        }
        true
    }

    /// Do no two indices share an element, so that the layout may be written to?
    ///
    /// `true` is always right. It is exact for every layout made from a contiguous one by this
    /// type's views; of layouts with hand-made strides that interleave, such as shape [2, 3] with
    /// strides [3, 2], some that do not overlap are called overlapping.
    ///
    /// ```
    /// use ziggurat_core::{Layout, Shape};
    ///
    /// # fn main() -> Result<(), ziggurat_core::ShapeError> {
    /// let layout = Layout::contiguous(Shape::new([3])?);
    /// assert!(layout.flip(&[0])?.is_injective());
    /// assert!(!layout.expand(Shape::new([2, 3])?)?.is_injective());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn is_injective(&self) -> bool {
        if self.is_empty() || self.is_contiguous() {
            return true;
        }
        let mut steps: Vec<(usize, usize)> = self
            .axes()
            .filter(|&(dim, _)| dim > 1)
            .map(|(dim, stride)| (stride.unsigned_abs(), dim))
            .collect();
        sort_few_by_key(&mut steps, |step| *step);
        // Each stride has to step over everything that the smaller ones reach.
        let mut reach = 0_usize;
        for (stride, dim) in steps {
            if stride <= reach {
                return false;
            }
            reach = reach.saturating_add(stride.saturating_mul(dim - 1));
        }
        true
    }

    /// The lowest and the highest element touched; `None` for an empty layout.
    ///
    /// ```
    /// use ziggurat_core::{Layout, Shape};
    ///
    /// # fn main() -> Result<(), ziggurat_core::ShapeError> {
    /// let layout = Layout::contiguous(Shape::new([2, 3])?).select(1, 1)?;
    /// assert_eq!(layout.span(), Some((1, 4)));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn span(&self) -> Option<(usize, usize)> {
        self.checked_span().flatten()
    }

    /// The span, or the outer `None` if it leaves `0..=isize::MAX`.
    pub(super) fn checked_span(&self) -> Option<Option<(usize, usize)>> {
        if self.is_empty() {
            return Some(None);
        }
        let (mut low, mut high) = (self.offset, self.offset);
        for (dim, stride) in self.axes() {
            let reach = stride.unsigned_abs().checked_mul(dim - 1)?;
            if stride < 0 {
                low = low.checked_sub(reach)?;
            } else {
                high = high.checked_add(reach)?;
            }
        }
        isize::try_from(high).ok()?;
        Some(Some((low, high)))
    }

    /// The element at `index`; `None` for an index of another rank or outside the dimensions.
    ///
    /// ```
    /// use ziggurat_core::{Layout, Shape};
    ///
    /// # fn main() -> Result<(), ziggurat_core::ShapeError> {
    /// let layout = Layout::contiguous(Shape::new([2, 3])?);
    /// assert_eq!(layout.index_of(&[1, 2]), Some(5));
    /// assert_eq!(layout.index_of(&[2, 0]), None);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn index_of(&self, index: &[usize]) -> Option<usize> {
        if index.len() != self.rank() {
            return None;
        }
        let inside = index
            .iter()
            .zip(self.dims())
            .all(|(index, dim)| index < dim);
        inside.then(|| self.element_at(index.iter().copied()))
    }

    /// The element at an index known to be inside. Partial sums may leave the range of a `usize`
    /// below 0, the whole never does: hence wrapping.
    pub(super) fn element_at(&self, index: impl IntoIterator<Item = usize>) -> usize {
        index
            .into_iter()
            .zip(self.strides())
            .fold(self.offset, |element, (index, &stride)| {
                element.wrapping_add_signed(index.cast_signed().wrapping_mul(stride))
            })
    }
}
