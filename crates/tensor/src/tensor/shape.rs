//! Shape and view methods: other layouts of the same memory.
//!
//! None copies values, with the one documented exception of [`Tensor::reshape`] (and [`Tensor::flatten`]), which copy
//! when no strides can express the new shape. [`Tensor::view`] is the form that never does.
//! Axes may be negative and then count from the end.

use ziggurat_core::{Shape, infer_expand, infer_reshape, normalize_axis};

use super::construct::new_shape;
use crate::{AxisRange, Error, Tensor};

impl Tensor {
    /// The same values, row-major, in another shape; one extent may be -1 and is inferred. Copies only if it must.
    ///
    /// ```
    /// use ziggurat_tensor::{DType, Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::zeros(&device, [2, 3, 4], DType::F32)?;
    /// assert_eq!(a.reshape([6, -1])?.dims(), [6, 4]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the element count differs.
    pub fn reshape(&self, dims: impl AsRef<[isize]>) -> Result<Self, Error> {
        let shape = infer_reshape(self.shape(), dims.as_ref())
            .map_err(|error| Error::from_shape("reshape", error))?;
        self.reshaped("reshape", shape)
    }

    /// As [`Tensor::reshape`], to a shape that is already known.
    ///
    /// # Errors
    /// If the element count differs.
    #[doc(alias = "reshape")]
    pub fn reshape_to(&self, shape: impl AsRef<[usize]>) -> Result<Self, Error> {
        self.reshaped("reshape", new_shape("reshape", shape.as_ref())?)
    }

    /// As [`Tensor::reshape`], but an error where a copy would be needed.
    ///
    /// ```
    /// use ziggurat_tensor::{DType, Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::zeros(&device, [2, 3], DType::F32)?;
    /// assert_eq!(a.view([3, -1])?.dims(), [3, 2]);
    /// assert!(a.t()?.view([6]).is_err());
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the element count differs, or no strides can express the shape.
    pub fn view(&self, dims: impl AsRef<[isize]>) -> Result<Self, Error> {
        let fail = |error| Error::from_shape("view", error);
        let shape = infer_reshape(self.shape(), dims.as_ref()).map_err(fail)?;
        match self.layout().reshape(shape).map_err(fail)? {
            Some(layout) => self.with_layout("view", |_| Ok(layout)),
            None => {
                let (from, strides) = (self.shape(), self.layout().strides().to_vec());
                Err(Error::shape(
                    "view",
                    format!(
                        "the strides must allow it without a copy: {from} with strides {strides:?} to {shape}"
                    ),
                ))
            }
        }
    }

    fn reshaped(&self, op: &'static str, shape: Shape) -> Result<Self, Error> {
        match self
            .layout()
            .reshape(shape)
            .map_err(|error| Error::from_shape(op, error))?
        {
            Some(layout) => self.with_layout(op, |_| Ok(layout)),
            None => {
                let dense = self.copied(op)?;
                let layout = ziggurat_core::Layout::contiguous(shape);
                dense.with_layout(op, |_| Ok(layout))
            }
        }
    }

    /// Axes `start` to `end`, both included, joined into one.
    ///
    /// # Errors
    /// If an axis is out of range or `start` comes after `end`.
    pub fn flatten(&self, start: isize, end: isize) -> Result<Self, Error> {
        let axis = |axis| {
            normalize_axis(axis, self.rank()).map_err(|error| Error::from_shape("flatten", error))
        };
        let (first, last) = (axis(start)?, axis(end)?);
        if first > last {
            let detail = format!(
                "start must not come after end: axes {start} to {end} of {}",
                self.shape()
            );
            return Err(Error::shape("flatten", detail));
        }
        if self.rank() == 0 {
            return self.reshaped("flatten", new_shape("flatten", &[1])?);
        }
        let (head, tail) = (self.dims().get(..first), self.dims().get(last + 1..));
        let joined: usize = self.dims().iter().take(last + 1).skip(first).product();
        let dims = [head.unwrap_or(&[]), &[joined], tail.unwrap_or(&[])].concat();
        self.reshaped("flatten", new_shape("flatten", &dims)?)
    }

    /// Axis `i` of the result is axis `axes[i]` of `self`.
    ///
    /// # Errors
    /// If `axes` is not a permutation.
    pub fn permute(&self, axes: impl AsRef<[isize]>) -> Result<Self, Error> {
        self.with_layout("permute", |layout| layout.permute(axes.as_ref()))
    }

    /// Two axes exchanged.
    ///
    /// # Errors
    /// If an axis is out of range.
    pub fn transpose(&self, a: isize, b: isize) -> Result<Self, Error> {
        self.with_layout("transpose", |layout| layout.transpose(a, b))
    }

    /// The last two axes exchanged; rank 0 and 1 stay as they are.
    ///
    /// # Errors
    /// None at present.
    pub fn t(&self) -> Result<Self, Error> {
        if self.rank() < 2 {
            return Ok(self.clone());
        }
        self.transpose(-2, -1)
    }

    /// A range along one axis: `1..3`, `2..`, `..-1`, or a pair `(1, -1)`. Negative bounds count from the end; bounds outside are clamped, as in Python.
    ///
    /// ```
    /// use ziggurat_tensor::{DType, Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::arange(&device, 0, 6, 1, DType::I32)?;
    /// assert_eq!(a.slice(0, (1, -1))?.to_vec_blocking::<i32>()?, [1, 2, 3, 4]);
    /// assert_eq!(a.slice_step(0, .., -2)?.to_vec_blocking::<i32>()?, [5, 3, 1]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the axis is out of range.
    #[doc(alias = "slice_along_dim")]
    pub fn slice(&self, axis: isize, range: impl Into<AxisRange>) -> Result<Self, Error> {
        self.slice_step(axis, range, 1)
    }

    /// Every `step`-th element of a range along one axis; a negative step goes backwards, as in Python's
    /// `[start:end:step]`, so that the start of the range is then the higher bound.
    ///
    /// # Errors
    /// If the axis is out of range or the step is 0.
    pub fn slice_step(
        &self,
        axis: isize,
        range: impl Into<AxisRange>,
        step: isize,
    ) -> Result<Self, Error> {
        let (start, end) = range.into().bounds(step);
        self.with_layout("slice", |layout| layout.slice(axis, start, end, step))
    }

    /// `len` elements from `start` along one axis.
    ///
    /// # Errors
    /// If the range leaves the axis.
    pub fn narrow(&self, axis: isize, start: usize, len: usize) -> Result<Self, Error> {
        self.with_layout("narrow", |layout| layout.narrow(axis, start, len))
    }

    /// One position of an axis, which disappears; a negative index counts from the end.
    ///
    /// # Errors
    /// If axis or index are out of range.
    pub fn select(&self, axis: isize, index: isize) -> Result<Self, Error> {
        self.with_layout("select", |layout| layout.select(axis, index))
    }

    /// All axes of extent 1 removed.
    ///
    /// # Errors
    /// None at present.
    pub fn squeeze(&self) -> Result<Self, Error> {
        self.with_layout("squeeze", |layout| layout.squeeze(None))
    }

    /// One axis removed if its extent is 1; otherwise the tensor stays as it is.
    ///
    /// # Errors
    /// If the axis is out of range.
    #[doc(alias = "squeeze")]
    pub fn squeeze_axis(&self, axis: isize) -> Result<Self, Error> {
        self.with_layout("squeeze_axis", |layout| layout.squeeze(Some(axis)))
    }

    /// A new axis of extent 1, which will have the index `axis`.
    ///
    /// # Errors
    /// If the axis is out of range or the rank would exceed the limit.
    pub fn unsqueeze(&self, axis: isize) -> Result<Self, Error> {
        self.with_layout("unsqueeze", |layout| layout.unsqueeze(axis))
    }

    /// Axes of extent 1 repeated to the extents given, new axes in front; -1 keeps an extent.
    ///
    /// # Errors
    /// If an axis with another extent than 1 would have to change.
    pub fn expand(&self, dims: impl AsRef<[isize]>) -> Result<Self, Error> {
        let shape = infer_expand(self.shape(), dims.as_ref())
            .map_err(|error| Error::from_shape("expand", error))?;
        self.with_layout("expand", |layout| layout.expand(shape))
    }

    /// As [`Tensor::expand`], to a shape that is already known.
    ///
    /// # Errors
    /// If an axis with another extent than 1 would have to change.
    pub fn broadcast_to(&self, shape: impl AsRef<[usize]>) -> Result<Self, Error> {
        let shape = new_shape("broadcast_to", shape.as_ref())?;
        self.with_layout("broadcast_to", |layout| layout.expand(shape))
    }

    /// The given axes reversed.
    ///
    /// # Errors
    /// If an axis is out of range or given twice.
    #[doc(alias = "reverse")]
    pub fn flip(&self, axes: impl AsRef<[isize]>) -> Result<Self, Error> {
        self.with_layout("flip", |layout| layout.flip(axes.as_ref()))
    }

    /// Whether the values lie in memory in row-major order without gaps.
    pub fn is_contiguous(&self) -> bool {
        self.layout().is_contiguous()
    }

    /// The same values in row-major order without gaps: `self` where that is so already, otherwise a copy.
    ///
    /// # Errors
    /// If the device has no memory for the copy.
    pub fn contiguous(&self) -> Result<Self, Error> {
        if self.is_contiguous() {
            return Ok(self.clone());
        }
        self.copied("contiguous")
    }

    /// A copy in row-major order in memory of its own, always starting at its beginning.
    pub(crate) fn copied(&self, op: &'static str) -> Result<Self, Error> {
        let view = self.stored()?;
        Self::produce(
            self.device(),
            op,
            *self.shape(),
            self.dtype(),
            |executor, out| executor.copy(view, out),
        )
    }
}
