//! Walking a layout in row-major order.

use std::iter::FusedIterator;

use super::Layout;
use crate::MAX_RANK;

/// The element indices of a [`Layout`] in row-major order, from [`Layout::offsets`].
///
/// ```
/// use ziggurat_core::{Layout, Shape};
///
/// # fn main() -> Result<(), ziggurat_core::ShapeError> {
/// let mut offsets = Layout::contiguous(Shape::new([2])?).flip(&[0])?.offsets();
/// assert_eq!(offsets.len(), 2);
/// assert_eq!((offsets.next(), offsets.next(), offsets.next()), (Some(1), Some(0), None));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Offsets {
    layout: Layout,
    index: [usize; MAX_RANK],
    element: usize,
    left: usize,
}

impl Layout {
    /// The element indices in row-major order, one per index, so that a stride of 0 repeats them.
    ///
    /// ```
    /// use ziggurat_core::{Layout, Shape};
    ///
    /// # fn main() -> Result<(), ziggurat_core::ShapeError> {
    /// let twice = Layout::contiguous(Shape::new([2])?).expand(Shape::new([2, 2])?)?;
    /// assert_eq!(twice.offsets().collect::<Vec<_>>(), [0, 1, 0, 1]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn offsets(&self) -> Offsets {
        Offsets {
            layout: *self,
            index: [0; MAX_RANK],
            element: self.offset(),
            left: self.len(),
        }
    }
}

impl Iterator for Offsets {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        self.left = self.left.checked_sub(1)?;
        let element = self.element;
        // The odometer: the innermost dimension that has not ended moves, those inside it go back.
        for (index, (dim, stride)) in self.index.iter_mut().zip(self.layout.axes()).rev() {
            *index += 1;
            self.element = self.element.wrapping_add_signed(stride);
            if *index < dim {
                break;
            }
            let back = stride.wrapping_mul(dim.cast_signed());
            self.element = self.element.wrapping_add_signed(back.wrapping_neg());
            *index = 0;
        }
        Some(element)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Offsets {}

impl FusedIterator for Offsets {}
