//! Sums, means and extremes over axes, and where the extremes are.
//!
//! `axes` may be negative; an empty list reduces nothing (NumPy's rule), the `_all` forms reduce everything. With
//! `keepdim` the reduced axes stay with extent 1.
//! Sums of i8, u8 and bool are i32; f16 and bf16 accumulate in f32.

use ziggurat_core::{DType, Shape, normalize_axes};
use ziggurat_kernels::{ArgReduce, Reduce};

use crate::{Error, Scalar, Tensor};

impl Tensor {
    /// The sum over `axes`; over no elements it is 0.
    ///
    /// ```
    /// # use ziggurat_tensor::{doc, Tensor};
    /// # let Some(device) = doc::device() else { return Ok(()) };
    /// let a = Tensor::from_slice(&device, &[1.0f32, 2.0, 3.0, 4.0], [2, 2])?;
    /// assert_eq!(a.sum([0], false)?.to_vec_blocking::<f32>()?, [4.0, 6.0]);
    /// assert_eq!(a.sum([-1], true)?.dims(), [2, 1]);
    /// assert_eq!(a.sum_all()?.item_blocking::<f32>()?, 10.0);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If an axis is out of range or given twice.
    pub fn sum(&self, axes: impl AsRef<[isize]>, keepdim: bool) -> Result<Self, Error> {
        let dtype = match self.dtype() {
            DType::I8 | DType::U8 | DType::Bool => DType::I32,
            other => other,
        };
        self.reduce("sum", Reduce::Sum, axes.as_ref(), keepdim, dtype)
    }

    /// The mean over `axes`; over no elements it is NaN.
    ///
    /// # Errors
    /// As [`Tensor::sum`], or if the dtype is not a float: the mean of integers is no integer.
    pub fn mean(&self, axes: impl AsRef<[isize]>, keepdim: bool) -> Result<Self, Error> {
        if !self.dtype().is_float() {
            return Err(Error::dtype(
                "mean",
                format!("the dtype must be a float: it is {}", self.dtype()),
            ));
        }
        self.reduce("mean", Reduce::Mean, axes.as_ref(), keepdim, self.dtype())
    }

    /// The largest value over `axes`; NaN wins.
    ///
    /// # Errors
    /// As [`Tensor::sum`], or if a reduced axis has no elements ([`Tensor::max_from`] has an answer there).
    pub fn max(&self, axes: impl AsRef<[isize]>, keepdim: bool) -> Result<Self, Error> {
        self.extreme("max", Reduce::Max, axes.as_ref(), keepdim)
    }

    /// The smallest value over `axes`; NaN wins.
    ///
    /// # Errors
    /// As [`Tensor::sum`], or if a reduced axis has no elements ([`Tensor::min_from`] has an answer there).
    pub fn min(&self, axes: impl AsRef<[isize]>, keepdim: bool) -> Result<Self, Error> {
        self.extreme("min", Reduce::Min, axes.as_ref(), keepdim)
    }

    /// The largest of `initial` and the values over `axes`, which may be none; `initial` is converted to the dtype.
    ///
    /// # Errors
    /// As [`Tensor::sum`].
    pub fn max_from(
        &self,
        axes: impl AsRef<[isize]>,
        keepdim: bool,
        initial: impl Into<Scalar>,
    ) -> Result<Self, Error> {
        let initial = initial.into();
        match self.nothing_to_reduce("max", axes.as_ref(), keepdim)? {
            Some(shape) => Self::full(self.device(), shape, initial, self.dtype()),
            None => self.max(axes, keepdim)?.maximum(Self::full(
                self.device(),
                [],
                initial,
                self.dtype(),
            )?),
        }
    }

    /// The smallest of `initial` and the values over `axes`, which may be none; `initial` is converted to the dtype.
    ///
    /// # Errors
    /// As [`Tensor::sum`].
    pub fn min_from(
        &self,
        axes: impl AsRef<[isize]>,
        keepdim: bool,
        initial: impl Into<Scalar>,
    ) -> Result<Self, Error> {
        let initial = initial.into();
        match self.nothing_to_reduce("min", axes.as_ref(), keepdim)? {
            Some(shape) => Self::full(self.device(), shape, initial, self.dtype()),
            None => self.min(axes, keepdim)?.minimum(Self::full(
                self.device(),
                [],
                initial,
                self.dtype(),
            )?),
        }
    }

    /// The sum of all elements, of rank 0.
    ///
    /// # Errors
    /// If the device has no memory for the result.
    pub fn sum_all(&self) -> Result<Self, Error> {
        self.sum(self.all_axes(), false)
    }

    /// The mean of all elements, of rank 0.
    ///
    /// # Errors
    /// As [`Tensor::mean`].
    pub fn mean_all(&self) -> Result<Self, Error> {
        self.mean(self.all_axes(), false)
    }

    /// The largest element, of rank 0.
    ///
    /// # Errors
    /// If there are no elements.
    pub fn max_all(&self) -> Result<Self, Error> {
        self.max(self.all_axes(), false)
    }

    /// The smallest element, of rank 0.
    ///
    /// # Errors
    /// If there are no elements.
    pub fn min_all(&self) -> Result<Self, Error> {
        self.min(self.all_axes(), false)
    }

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

    fn all_axes(&self) -> Vec<isize> {
        (0..self.rank() as isize).collect()
    }

    fn axes(&self, op: &'static str, axes: &[isize]) -> Result<Vec<usize>, Error> {
        let axes =
            normalize_axes(axes, self.rank()).map_err(|error| Error::from_shape(op, error))?;
        // Rank 0 accepts axes 0 and -1, which then name nothing.
        Ok(axes
            .into_iter()
            .filter(|&axis| axis < self.rank())
            .collect())
    }

    fn reduce(
        &self,
        op: &'static str,
        kernel: Reduce,
        axes: &[isize],
        keepdim: bool,
        dtype: DType,
    ) -> Result<Self, Error> {
        let axes = self.axes(op, axes)?;
        if axes.is_empty() {
            return self.converted(op, dtype);
        }
        let shape = self.shape().reduced(&axes, keepdim);
        self.produce_from(
            op,
            shape,
            dtype,
            |executor, input, out| executor.reduce_fused(kernel, input, &axes, out),
            |executor, input, out| executor.reduce(kernel, input, &axes, out),
        )
    }

    fn extreme(
        &self,
        op: &'static str,
        kernel: Reduce,
        axes: &[isize],
        keepdim: bool,
    ) -> Result<Self, Error> {
        if self.nothing_to_reduce(op, axes, keepdim)?.is_some() {
            return Err(self.no_elements(op, axes));
        }
        self.reduce(op, kernel, axes, keepdim, self.dtype())
    }

    fn arg(
        &self,
        op: &'static str,
        kernel: ArgReduce,
        axes: &[isize],
        keepdim: bool,
        last: bool,
    ) -> Result<Self, Error> {
        if self.nothing_to_reduce(op, axes, keepdim)?.is_some() {
            return Err(self.no_elements(op, axes));
        }
        let axes = self.axes(op, axes)?;
        if axes.is_empty() {
            return Self::full(self.device(), self.dims(), 0, DType::I32);
        }
        let shape = self.shape().reduced(&axes, keepdim);
        let view = self.view()?;
        Self::produce(self.device(), op, shape, DType::I32, |executor, out| {
            executor.arg_reduce(kernel, view, &axes, last, out)
        })
    }

    /// The shape of the result if a reduced axis has no elements.
    fn nothing_to_reduce(
        &self,
        op: &'static str,
        axes: &[isize],
        keepdim: bool,
    ) -> Result<Option<Shape>, Error> {
        let axes = self.axes(op, axes)?;
        let empty = axes.iter().any(|&axis| self.dims().get(axis) == Some(&0));
        Ok(empty.then(|| self.shape().reduced(&axes, keepdim)))
    }

    fn no_elements(&self, op: &'static str, axes: &[isize]) -> Error {
        let shape = self.shape();
        Error::shape(
            op,
            format!("the reduced axes must have elements: axes {axes:?} of {shape}"),
        )
    }
}
