//! Views that pick, reorder or repeat: permute, transpose, slice, narrow, select, flip, expand.
//!
//! Names and edge rules are PyTorch's, with Python's rules for slices, negative steps included.

use super::Layout;
use crate::axes::existing_axis;
use crate::broadcast::{expand_error, expands};
use crate::{MAX_RANK, Shape, ShapeError, normalize_axes, normalize_axis};

impl Layout {
    /// With the dimensions in another order: `axes` names, for each new dimension, the old one.
    ///
    /// ```
    /// use ziggurat_core::{Layout, Shape};
    ///
    /// # fn main() -> Result<(), ziggurat_core::ShapeError> {
    /// let layout = Layout::contiguous(Shape::new([2, 3, 4])?);
    /// assert_eq!(layout.permute(&[2, 0, -2])?.dims(), &[4, 2, 3]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`ShapeError::PermutationLen`], [`ShapeError::AxisOutOfRange`] or
    /// [`ShapeError::DuplicateAxis`] unless `axes` names every dimension once.
    pub fn permute(&self, axes: &[isize]) -> Result<Self, ShapeError> {
        if axes.len() != self.rank() {
            return Err(ShapeError::PermutationLen {
                expected: self.rank(),
                got: axes.len(),
            });
        }
        normalize_axes(axes, self.rank())?;
        let old: Vec<_> = self.axes().collect();
        let mut new = Vec::with_capacity(old.len());
        for &axis in axes {
            new.extend(old.get(normalize_axis(axis, self.rank())?).copied());
        }
        self.with_axes(new, self.offset)
    }

    /// With two dimensions exchanged.
    ///
    /// ```
    /// use ziggurat_core::{Layout, Shape};
    ///
    /// # fn main() -> Result<(), ziggurat_core::ShapeError> {
    /// let layout = Layout::contiguous(Shape::new([2, 3, 4])?);
    /// assert_eq!(layout.transpose(0, -1)?.dims(), &[4, 3, 2]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`ShapeError::AxisOutOfRange`] if an axis does not exist; a scalar accepts 0 and −1.
    pub fn transpose(&self, first: isize, second: isize) -> Result<Self, ShapeError> {
        let first = normalize_axis(first, self.rank())?;
        let second = normalize_axis(second, self.rank())?;
        let mut axes: Vec<_> = self.axes().collect();
        if !axes.is_empty() {
            axes.swap(first, second);
        }
        self.with_axes(axes, self.offset)
    }

    /// Every `step`th element of `axis` from `start` until before `end`, by Python's rules: negative
    /// positions count from the end, positions outside are clamped, a negative step goes backwards,
    /// and no `end` goes all the way.
    ///
    /// ```
    /// use ziggurat_core::{Layout, Shape};
    ///
    /// # fn main() -> Result<(), ziggurat_core::ShapeError> {
    /// let layout = Layout::contiguous(Shape::new([10])?);
    /// let offsets = |view: Layout| view.offsets().collect::<Vec<_>>();
    /// assert_eq!(offsets(layout.slice(0, 1, Some(-1), 3)?), [1, 4, 7]);
    /// assert_eq!(offsets(layout.slice(0, -1, None, -4)?), [9, 5, 1]);
    /// assert_eq!(offsets(layout.slice(0, 8, Some(99), 1)?), [8, 9]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`ShapeError::AxisOutOfRange`] if there is no such axis, a scalar having none;
    /// [`ShapeError::ZeroStep`] for a step of 0.
    pub fn slice(
        &self,
        axis: isize,
        start: isize,
        end: Option<isize>,
        step: isize,
    ) -> Result<Self, ShapeError> {
        let axis = existing_axis(axis, self.rank())?;
        if step == 0 {
            return Err(ShapeError::ZeroStep { axis });
        }
        let dim = self.dims().get(axis).copied().unwrap_or(0).cast_signed();
        // Going forward positions end at `dim`, going backward at −1.
        let (lowest, highest) = if step > 0 { (0, dim) } else { (-1, dim - 1) };
        let clamped = |position: isize| {
            let from_front = if position < 0 {
                position.saturating_add(dim)
            } else {
                position
            };
            from_front.clamp(lowest, highest)
        };
        let start = clamped(start);
        let distance = if step > 0 {
            end.map_or(dim, clamped) - start
        } else {
            start - end.map_or(-1, clamped)
        };
        // A negative distance: the end lies behind the start.
        let len =
            usize::try_from(distance).map_or(0, |distance| distance.div_ceil(step.unsigned_abs()));
        let start = usize::try_from(start).unwrap_or(0);
        self.with_axis(axis, start, len, step)
    }

    /// `len` elements of `axis` from `start`.
    ///
    /// ```
    /// use ziggurat_core::{Layout, Shape};
    ///
    /// # fn main() -> Result<(), ziggurat_core::ShapeError> {
    /// let layout = Layout::contiguous(Shape::new([5])?);
    /// assert_eq!(layout.narrow(0, 1, 3)?.offsets().collect::<Vec<_>>(), [1, 2, 3]);
    /// assert!(layout.narrow(0, 3, 3).is_err());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`ShapeError::AxisOutOfRange`] if there is no such axis, a scalar having none;
    /// [`ShapeError::NarrowOutOfRange`] if the elements leave the axis.
    pub fn narrow(&self, axis: isize, start: usize, len: usize) -> Result<Self, ShapeError> {
        let axis = existing_axis(axis, self.rank())?;
        let dim = self.dims().get(axis).copied().unwrap_or(0);
        if start.checked_add(len).is_none_or(|end| end > dim) {
            return Err(ShapeError::NarrowOutOfRange {
                axis,
                start,
                len,
                dim,
            });
        }
        self.with_axis(axis, start, len, 1)
    }

    /// The elements at `index` of `axis`, without that dimension; a negative index counts from the
    /// end.
    ///
    /// ```
    /// use ziggurat_core::{Layout, Shape};
    ///
    /// # fn main() -> Result<(), ziggurat_core::ShapeError> {
    /// let layout = Layout::contiguous(Shape::new([2, 3])?);
    /// assert_eq!(layout.select(1, -1)?.offsets().collect::<Vec<_>>(), [2, 5]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`ShapeError::AxisOutOfRange`] if there is no such axis, a scalar having none;
    /// [`ShapeError::IndexOutOfRange`] if the axis has no such index.
    pub fn select(&self, axis: isize, index: isize) -> Result<Self, ShapeError> {
        let axis = existing_axis(axis, self.rank())?;
        let len = self.dims().get(axis).copied().unwrap_or(0);
        let from_front = if index < 0 {
            len.checked_sub(index.unsigned_abs())
        } else {
            Some(index.unsigned_abs())
        };
        let start = from_front
            .filter(|&start| start < len)
            .ok_or(ShapeError::IndexOutOfRange { index, axis, len })?;
        let one = self.with_axis(axis, start, 1, 1)?;
        let kept = one.axes().enumerate().filter(|&(at, _)| at != axis);
        self.with_axes(kept.map(|(_, pair)| pair), one.offset)
    }

    /// With the order along each of `axes` reversed.
    ///
    /// ```
    /// use ziggurat_core::{Layout, Shape};
    ///
    /// # fn main() -> Result<(), ziggurat_core::ShapeError> {
    /// let layout = Layout::contiguous(Shape::new([2, 2])?);
    /// assert_eq!(layout.flip(&[1])?.offsets().collect::<Vec<_>>(), [1, 0, 3, 2]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`ShapeError::AxisOutOfRange`] or [`ShapeError::DuplicateAxis`] for axes that do not exist or
    /// are given twice; a scalar accepts 0 and −1.
    pub fn flip(&self, axes: &[isize]) -> Result<Self, ShapeError> {
        normalize_axes(axes, self.rank())?
            .into_iter()
            .try_fold(*self, |view, axis| {
                let dim = view.dims().get(axis).copied().unwrap_or(0);
                view.with_axis(axis, dim.saturating_sub(1), dim, -1)
            })
    }

    /// Stretched to `shape`: new dimensions in front, and dimensions of 1, repeat with stride 0.
    ///
    /// ```
    /// use ziggurat_core::{Layout, Shape};
    ///
    /// # fn main() -> Result<(), ziggurat_core::ShapeError> {
    /// let column = Layout::contiguous(Shape::new([3, 1])?);
    /// assert_eq!(column.expand(Shape::new([2, 3, 4])?)?.strides(), &[0, 1, 0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`ShapeError::Expand`] unless every dimension is 1 or that of `shape`, aligned at the last.
    pub fn expand(&self, shape: Shape) -> Result<Self, ShapeError> {
        if self.shape == shape {
            return Ok(*self);
        }
        if !expands(&self.shape, &shape) {
            return Err(expand_error(&self.shape, &shape));
        }
        let added = shape.rank() - self.rank();
        let axes = shape.dims().iter().enumerate().map(|(axis, &dim)| {
            let old = axis
                .checked_sub(added)
                .and_then(|old| self.axes().nth(old))
                .filter(|&(old, _)| old == dim);
            (dim, old.map_or(0, |(_, stride)| stride))
        });
        self.with_axes(axes, self.offset)
    }

    /// With `len` positions of `axis`, from `start` by `step`; all of these lie inside the axis.
    fn with_axis(
        &self,
        axis: usize,
        start: usize,
        len: usize,
        step: isize,
    ) -> Result<Self, ShapeError> {
        // Nothing is left to point at: the offset stays where it was, inside the old span.
        let empty = len == 0 || self.is_empty();
        let moved = self.stride(axis).wrapping_mul(start.cast_signed());
        let offset = if empty {
            self.offset
        } else {
            self.offset.wrapping_add_signed(moved)
        };
        let axes = self.axes().enumerate().map(|(at, (dim, stride))| {
            if at != axis {
                (dim, stride)
            } else if len > 1 {
                (len, stride.wrapping_mul(step))
            } else {
                // The step may be far larger than the axis and would only wrap.
                (len, stride)
            }
        });
        self.with_axes(axes, offset)
    }

    /// The layout of these dimensions and strides.
    pub(super) fn with_axes(
        &self,
        axes: impl IntoIterator<Item = (usize, isize)>,
        offset: usize,
    ) -> Result<Self, ShapeError> {
        // One more than there may be, so that too many are refused.
        let (mut dims, mut strides) = ([0; MAX_RANK + 1], [0; MAX_RANK + 1]);
        let mut rank = 0;
        let slots = dims.iter_mut().zip(&mut strides);
        for ((dim, stride), slot) in axes.into_iter().zip(slots) {
            (*slot.0, *slot.1) = (dim, stride);
            rank += 1;
        }
        let shape = Shape::new(dims.get(..rank).unwrap_or_default())?;
        let mut view = Self {
            offset,
            ..Self::contiguous(shape)
        };
        view.strides_mut()
            .copy_from_slice(strides.get(..rank).unwrap_or_default());
        Ok(view)
    }
}
