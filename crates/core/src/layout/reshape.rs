//! Views that regroup dimensions: reshape, squeeze, unsqueeze.
//!
//! A reshape is a view exactly when every new dimension can be cut from a run of old dimensions that
//! behaves like one: each old stride equals the stride of the next times its length. Runs are found
//! from the inside out and the new dimensions dealt over them.

use super::Layout;
use crate::axes::existing_axis;
use crate::error::signed;
use crate::{Shape, ShapeError, normalize_axis};

impl Layout {
    /// The view with another shape of as many elements in the same order; `None` if that takes a
    /// copy.
    ///
    /// ```
    /// use ziggurat_core::{Layout, Shape};
    ///
    /// # fn main() -> Result<(), ziggurat_core::ShapeError> {
    /// let layout = Layout::contiguous(Shape::new([2, 6])?);
    /// let split = layout.reshape(Shape::new([2, 3, 2])?)?;
    /// assert_eq!(split.map(|view| view.strides().to_vec()), Some(vec![6, 2, 1]));
    ///
    /// let columns = layout.transpose(0, 1)?;
    /// assert_eq!(columns.reshape(Shape::new([12])?)?, None);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`ShapeError::Reshape`] if the element counts differ.
    pub fn reshape(&self, shape: Shape) -> Result<Option<Self>, ShapeError> {
        if shape.len() != self.len() {
            return Err(ShapeError::Reshape {
                from: self.dims().to_vec(),
                from_len: self.len(),
                to: signed(shape.dims()),
            });
        }
        let mut view = Self {
            offset: self.offset,
            ..Self::contiguous(shape)
        };
        // With no element or one, any strides do.
        if self.len() <= 1 {
            return Ok(Some(view));
        }
        let mut runs = self.runs().into_iter();
        let mut run = Run { len: 1, stride: 1 };
        for (stride, &dim) in view.strides_mut().iter_mut().zip(shape.dims()).rev() {
            if dim == 1 {
                // Any stride would do; the one of a contiguous layout is kept.
                continue;
            }
            if run.len == 1
                && let Some(next) = runs.next()
            {
                run = next;
            }
            if !run.len.is_multiple_of(dim) {
                return Ok(None);
            }
            *stride = run.stride;
            run.len /= dim;
            run.stride = run.stride.wrapping_mul(dim.cast_signed());
        }
        Ok(Some(view))
    }

    /// The fewest dimensions that describe this layout, innermost first; none has length 1.
    fn runs(&self) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        for (dim, stride) in self.axes().rev().filter(|&(dim, _)| dim != 1) {
            match runs.last_mut() {
                Some(run) if run.stride.checked_mul(run.len.cast_signed()) == Some(stride) => {
                    run.len *= dim;
                }
                _ => runs.push(Run { len: dim, stride }),
            }
        }
        runs
    }

    /// Without `axis` if it has one element, else unchanged, as PyTorch does; without every
    /// dimension of 1 for `None`.
    ///
    /// ```
    /// use ziggurat_core::{Layout, Shape};
    ///
    /// # fn main() -> Result<(), ziggurat_core::ShapeError> {
    /// let layout = Layout::contiguous(Shape::new([1, 3, 1])?);
    /// assert_eq!(layout.squeeze(None)?.dims(), &[3]);
    /// assert_eq!(layout.squeeze(Some(-1))?.dims(), &[1, 3]);
    /// assert_eq!(layout.squeeze(Some(1))?.dims(), &[1, 3, 1]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`ShapeError::AxisOutOfRange`] if there is no such axis; a scalar accepts 0 and −1.
    pub fn squeeze(&self, axis: Option<isize>) -> Result<Self, ShapeError> {
        let only = axis
            .map(|axis| normalize_axis(axis, self.rank()))
            .transpose()?;
        let kept = self
            .axes()
            .enumerate()
            .filter(|&(axis, (dim, _))| dim != 1 || only.is_some_and(|only| only != axis))
            .map(|(_, pair)| pair);
        self.with_axes(kept, self.offset)
    }

    /// With a dimension of 1 put before `axis`; −1 puts it last.
    ///
    /// ```
    /// use ziggurat_core::{Layout, Shape};
    ///
    /// # fn main() -> Result<(), ziggurat_core::ShapeError> {
    /// let layout = Layout::contiguous(Shape::new([2, 3])?);
    /// assert_eq!(layout.unsqueeze(0)?.dims(), &[1, 2, 3]);
    /// assert_eq!(layout.unsqueeze(-1)?.dims(), &[2, 3, 1]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`ShapeError::AxisOutOfRange`] outside `-rank - 1..=rank`; [`ShapeError::RankTooHigh`] if
    /// there is no room for another dimension.
    pub fn unsqueeze(&self, axis: isize) -> Result<Self, ShapeError> {
        let at = existing_axis(axis, self.rank() + 1)?;
        let mut axes: Vec<(usize, isize)> = self.axes().collect();
        // As in PyTorch: the stride that a dimension around the ones inside it would have.
        let stride = axes.get(at).map_or(1, |&(dim, stride)| {
            dim.max(1).cast_signed().wrapping_mul(stride)
        });
        axes.insert(at, (1, stride));
        self.with_axes(axes, self.offset)
    }
}

/// Dimensions that can be merged into one.
#[derive(Debug, Clone, Copy)]
struct Run {
    len: usize,
    stride: isize,
}
