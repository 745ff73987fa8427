//! Where the extremes along axes are, alone or with the extremes themselves.

use ziggurat_core::{DType, Shape};
use ziggurat_kernels::{ArgReduce, Call, CallKind};

use crate::{Error, Tensor};

impl Tensor {
    /// The position (i32) of the largest element along `axis`: the first of equals, the first NaN if there is one.
    ///
    /// # Errors
    /// If the axis is out of range or has no elements.
    pub fn argmax(&self, axis: isize, keepdim: bool) -> Result<Self, Error> {
        self.arg("argmax", ArgReduce::Max, &[axis], keepdim, false)
    }

    /// The position (i32) of the smallest element along `axis`: the first of equals, the first NaN if there is one.
    ///
    /// # Errors
    /// If the axis is out of range or has no elements.
    pub fn argmin(&self, axis: isize, keepdim: bool) -> Result<Self, Error> {
        self.arg("argmin", ArgReduce::Min, &[axis], keepdim, false)
    }

    /// As [`Tensor::argmax`], but the last of equals.
    ///
    /// # Errors
    /// As [`Tensor::argmax`].
    pub fn argmax_last(&self, axis: isize, keepdim: bool) -> Result<Self, Error> {
        self.arg("argmax_last", ArgReduce::Max, &[axis], keepdim, true)
    }

    /// As [`Tensor::argmin`], but the last of equals.
    ///
    /// # Errors
    /// As [`Tensor::argmin`].
    pub fn argmin_last(&self, axis: isize, keepdim: bool) -> Result<Self, Error> {
        self.arg("argmin_last", ArgReduce::Min, &[axis], keepdim, true)
    }

    /// The row-major position (i32, rank 0) of the largest of all elements.
    ///
    /// # Errors
    /// If there are no elements.
    pub fn argmax_all(&self) -> Result<Self, Error> {
        self.arg("argmax", ArgReduce::Max, &self.all_axes(), false, false)
    }

    /// The row-major position (i32, rank 0) of the smallest of all elements.
    ///
    /// # Errors
    /// If there are no elements.
    pub fn argmin_all(&self) -> Result<Self, Error> {
        self.arg("argmin", ArgReduce::Min, &self.all_axes(), false, false)
    }

    /// The largest element along `axis` and its position (i32), in one kernel: the first of equals, the first NaN if there
    /// is one. The sign of a zero is not promised.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::from_slice(&device, &[1.0f32, 7.0, 3.0, 9.0, 2.0, 9.0], [2, 3])?;
    /// let (values, at) = a.max_with_indices(-1, false)?;
    /// assert_eq!(values.to_vec_blocking::<f32>()?, [7.0, 9.0]);
    /// assert_eq!(at.to_vec_blocking::<i32>()?, [1, 0]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the axis is out of range or has no elements.
    pub fn max_with_indices(&self, axis: isize, keepdim: bool) -> Result<(Self, Self), Error> {
        self.extreme_with_indices("max_with_indices", ArgReduce::Max, axis, keepdim)
    }

    /// The smallest element along `axis` and its position (i32), as [`Tensor::max_with_indices`].
    ///
    /// # Errors
    /// If the axis is out of range or has no elements.
    pub fn min_with_indices(&self, axis: isize, keepdim: bool) -> Result<(Self, Self), Error> {
        self.extreme_with_indices("min_with_indices", ArgReduce::Min, axis, keepdim)
    }

    fn extreme_with_indices(
        &self,
        op: &'static str,
        kernel: ArgReduce,
        axis: isize,
        keepdim: bool,
    ) -> Result<(Self, Self), Error> {
        let (axes, shape) = self.searched(op, &[axis], keepdim)?;
        if axes.is_empty() {
            let zeros = Self::full(self.device(), self.dims(), 0, DType::I32)?;
            return Ok((self.clone(), zeros));
        }
        let at = self.device().alloc(op, &shape, DType::I32)?;
        let call = Call::new(CallKind::Search {
            op: kernel,
            axes: axes.as_slice().into(),
            select_last: false,
        });
        let made = (shape, self.dtype());
        let values = self.produce_call(op, made, call, &[], Some(&at))?;
        Ok((values, Self::from_view(self.device(), at)))
    }

    /// The normalised axes and the shape of the result.
    fn searched(
        &self,
        op: &'static str,
        axes: &[isize],
        keepdim: bool,
    ) -> Result<(Vec<usize>, Shape), Error> {
        if self.nothing_to_reduce(op, axes, keepdim)?.is_some() {
            return Err(self.no_elements(op, axes));
        }
        let axes = self.axes(op, axes)?;
        let shape = self.shape().reduced(&axes, keepdim);
        Ok((axes, shape))
    }

    fn arg(
        &self,
        op: &'static str,
        kernel: ArgReduce,
        axes: &[isize],
        keepdim: bool,
        last: bool,
    ) -> Result<Self, Error> {
        let (axes, shape) = self.searched(op, axes, keepdim)?;
        if axes.is_empty() {
            return Self::full(self.device(), self.dims(), 0, DType::I32);
        }
        let call = Call::new(CallKind::Search {
            op: kernel,
            axes: axes.as_slice().into(),
            select_last: last,
        });
        self.produce_call(op, (shape, DType::I32), call, &[], None)
    }
}
