//! The dimensions of a tensor, stored inline.
//!
//! A shape is copied into every node, key and parameter block, so it is a small `Copy` value with
//! room for [`MAX_RANK`] dimensions instead of a heap allocation.
//!
//! Invariants: at most [`MAX_RANK`] dimensions; the product of the dimensions that are not 0 fits an
//! `isize`, so that no count or contiguous stride computed from a shape can overflow, not even when
//! a zero-size dimension is sliced away or added; unused slots are 0, so that derived equality and
//! hashing are right.

use std::fmt;

use crate::{ShapeError, normalize_axis};

mod infer;

pub use infer::infer_reshape;

/// The most dimensions a [`Shape`] can have.
pub const MAX_RANK: usize = 8;

/// The dimensions of a tensor, outermost first.
///
/// ```
/// use ziggurat_core::Shape;
///
/// # fn main() -> Result<(), ziggurat_core::ShapeError> {
/// let shape = Shape::new([2, 3])?;
/// assert_eq!(shape.len(), 6);
/// assert_eq!(shape.to_string(), "[2, 3]");
/// assert_eq!(Shape::scalar().len(), 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shape {
    dims: [usize; MAX_RANK],
    rank: u8,
}

impl Shape {
    /// The shape with these dimensions.
    ///
    /// ```
    /// use ziggurat_core::{Shape, ShapeError};
    ///
    /// assert!(Shape::new([4, 0, 3]).is_ok());
    /// assert_eq!(
    ///     Shape::new([1; 9]),
    ///     Err(ShapeError::RankTooHigh { rank: 9, max: 8 })
    /// );
    /// ```
    ///
    /// # Errors
    ///
    /// [`ShapeError::RankTooHigh`] above [`MAX_RANK`]; [`ShapeError::TooManyElements`] if the product
    /// of the dimensions that are not 0 does not fit an `isize`.
    pub fn new(dims: impl AsRef<[usize]>) -> Result<Self, ShapeError> {
        let dims = dims.as_ref();
        let too_high = ShapeError::RankTooHigh {
            rank: dims.len(),
            max: MAX_RANK,
        };
        let mut shape = Self::scalar();
        let Some(slots) = shape.dims.get_mut(..dims.len()) else {
            return Err(too_high);
        };
        slots.copy_from_slice(dims);
        shape.rank = u8::try_from(dims.len()).map_err(|_| too_high)?;
        dims.iter()
            .filter(|&&dim| dim != 0)
            .try_fold(1_usize, |len, &dim| len.checked_mul(dim))
            .filter(|&len| isize::try_from(len).is_ok())
            .ok_or_else(|| ShapeError::TooManyElements {
                dims: dims.to_vec(),
            })?;
        Ok(shape)
    }

    /// The shape of one element: no dimensions.
    ///
    /// ```
    /// assert_eq!(ziggurat_core::Shape::scalar().dims(), &[] as &[usize]);
    /// ```
    #[inline]
    #[must_use]
    pub const fn scalar() -> Self {
        Self {
            dims: [0; MAX_RANK],
            rank: 0,
        }
    }

    /// The dimensions, outermost first.
    ///
    /// ```
    /// # fn main() -> Result<(), ziggurat_core::ShapeError> {
    /// assert_eq!(ziggurat_core::Shape::new([2, 3])?.dims(), &[2, 3]);
    /// # Ok(())
    /// # }
    /// ```
    #[inline]
    #[must_use]
    pub fn dims(&self) -> &[usize] {
        self.dims.get(..self.rank()).unwrap_or(&self.dims)
    }

    /// The number of dimensions.
    ///
    /// ```
    /// # fn main() -> Result<(), ziggurat_core::ShapeError> {
    /// assert_eq!(ziggurat_core::Shape::new([2, 3])?.rank(), 2);
    /// # Ok(())
    /// # }
    /// ```
    #[inline]
    #[must_use]
    pub const fn rank(&self) -> usize {
        self.rank as usize
    }

    /// The number of elements: the product of the dimensions.
    ///
    /// ```
    /// # fn main() -> Result<(), ziggurat_core::ShapeError> {
    /// assert_eq!(ziggurat_core::Shape::new([2, 0, 3])?.len(), 0);
    /// # Ok(())
    /// # }
    /// ```
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        // Cannot overflow: `new` has checked the product of the dimensions that are not 0.
        self.dims().iter().product()
    }

    /// Is a dimension 0, so that there are no elements?
    ///
    /// ```
    /// # fn main() -> Result<(), ziggurat_core::ShapeError> {
    /// assert!(ziggurat_core::Shape::new([2, 0])?.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.dims().contains(&0)
    }

    /// `axis` counted from the front; a negative one counts from the end. See [`normalize_axis`].
    ///
    /// ```
    /// # fn main() -> Result<(), ziggurat_core::ShapeError> {
    /// assert_eq!(ziggurat_core::Shape::new([2, 3])?.axis(-1)?, 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`ShapeError::AxisOutOfRange`] if there is no such axis.
    pub fn axis(&self, axis: isize) -> Result<usize, ShapeError> {
        normalize_axis(axis, self.rank())
    }

    /// The shape after reducing `axes` (counted from the front): those dimensions are 1 with
    /// `keep`, gone without. Axes beyond the rank are ignored.
    ///
    /// ```
    /// use ziggurat_core::Shape;
    ///
    /// # fn main() -> Result<(), ziggurat_core::ShapeError> {
    /// let shape = Shape::new([2, 3, 4])?;
    /// assert_eq!(shape.reduced(&[1], false).dims(), &[2, 4]);
    /// assert_eq!(shape.reduced(&[1], true).dims(), &[2, 1, 4]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn reduced(&self, axes: &[usize], keep: bool) -> Self {
        let mut out = Self::scalar();
        let kept = self.dims().iter().enumerate().filter_map(|(axis, &dim)| {
            match (axes.contains(&axis), keep) {
                (false, _) => Some(dim),
                (true, true) => Some(1),
                (true, false) => None,
            }
        });
        // Neither the rank nor the product of the dimensions that are not 0 can grow.
        for (slot, dim) in out.dims.iter_mut().zip(kept) {
            *slot = dim;
            out.rank += 1;
        }
        out
    }
}

impl Default for Shape {
    fn default() -> Self {
        Self::scalar()
    }
}

impl AsRef<[usize]> for Shape {
    fn as_ref(&self) -> &[usize] {
        self.dims()
    }
}

impl TryFrom<&[usize]> for Shape {
    type Error = ShapeError;

    fn try_from(dims: &[usize]) -> Result<Self, Self::Error> {
        Self::new(dims)
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.dims())
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn counts_elements() {
        let cases: [(&[usize], usize); 6] = [
            (&[], 1),
            (&[7], 7),
            (&[2, 3, 4], 24),
            (&[2, 0, 4], 0),
            (&[1; 8], 1),
            (&[2; 8], 256),
        ];
        for (dims, len) in cases {
            let shape = Shape::new(dims).unwrap();
            assert_eq!(shape.len(), len, "{shape}");
            assert_eq!(shape.is_empty(), len == 0, "{shape}");
            assert_eq!(shape.rank(), dims.len());
            assert_eq!(shape.as_ref(), dims);
        }
    }

    #[test]
    fn accepts_the_largest_count_and_refuses_one_more() {
        let most = isize::MAX.unsigned_abs();
        assert_eq!(Shape::new([most]).unwrap().len(), most);
        assert_eq!(
            Shape::new([most + 1]),
            Err(ShapeError::TooManyElements {
                dims: vec![most + 1]
            })
        );
        // Products that wrap around to something small are still refused.
        let half = 1 << (usize::BITS / 2);
        assert!(Shape::new([half, half]).is_err());
        assert!(Shape::new([usize::MAX, usize::MAX]).is_err());
    }

    #[test]
    fn a_zero_does_not_hide_an_overflow() {
        let half = 1 << (usize::BITS / 2);
        assert!(matches!(
            Shape::new([0, half, half]),
            Err(ShapeError::TooManyElements { .. })
        ));
    }

    #[test]
    fn equality_ignores_how_it_was_made() {
        let long = Shape::new([2, 3, 4]).unwrap();
        assert_eq!(long.reduced(&[2], false), Shape::new([2, 3]).unwrap());
        assert_ne!(long.reduced(&[2], true), Shape::new([2, 3]).unwrap());
        assert_eq!(Shape::default(), Shape::new([]).unwrap());
        assert_ne!(Shape::scalar(), Shape::new([0]).unwrap());
    }

    #[test]
    fn shows_its_dimensions() {
        let shape = Shape::new([2, 3]).unwrap();
        assert_eq!(
            format!("{shape} {shape:?} {}", Shape::scalar()),
            "[2, 3] [2, 3] []"
        );
    }
}
