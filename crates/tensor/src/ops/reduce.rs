//! Sums, products, means, extremes, any and all over axes.
//!
//! `axes` may be negative; an empty list reduces nothing (NumPy's rule), the `_all` forms reduce everything. With
//! `keepdim` the reduced axes stay with extent 1.
//! Sums of i8, u8 and bool are i32; f16 and bf16 accumulate in f32.

use ziggurat_core::{DType, Shape, normalize_axes};
use ziggurat_kernels::{Call, Reduce};

use crate::{Error, Scalar, Tensor};

impl Tensor {
    /// The sum over `axes`; over no elements it is 0.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
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
        let dtype = summed(self.dtype());
        self.reduce("sum", Reduce::Sum, axes.as_ref(), keepdim, dtype)
    }

    /// The sum over `axes` of the values converted to `dtype`, in that dtype; f16 and bf16 are still added in f32. A sum
    /// in bool says whether any element is not 0.
    ///
    /// ```
    /// use ziggurat_tensor::{DType, Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::full(&device, [70_000], 1.0, DType::F16)?;
    /// assert_eq!(a.sum_to([0], false, DType::F32)?.item_blocking::<f32>()?, 70_000.0);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::sum`].
    pub fn sum_to(
        &self,
        axes: impl AsRef<[isize]>,
        keepdim: bool,
        dtype: DType,
    ) -> Result<Self, Error> {
        if dtype == DType::Bool {
            return self.any(axes, keepdim);
        }
        let terms = if Reduce::Sum.accepts(self.dtype(), dtype) {
            self.clone()
        } else {
            self.converted("sum_to", dtype)?
        };
        terms.reduce("sum_to", Reduce::Sum, axes.as_ref(), keepdim, dtype)
    }

    /// The product over `axes`; over no elements it is 1. Products of i8, u8 and bool are i32, integers wrap.
    ///
    /// # Errors
    /// As [`Tensor::sum`].
    pub fn prod(&self, axes: impl AsRef<[isize]>, keepdim: bool) -> Result<Self, Error> {
        let dtype = summed(self.dtype());
        let terms = if self.dtype() == DType::Bool {
            self.converted("prod", dtype)?
        } else {
            self.clone()
        };
        terms.reduce("prod", Reduce::Prod, axes.as_ref(), keepdim, dtype)
    }

    /// The product of all elements, of rank 0.
    ///
    /// # Errors
    /// If the device has no memory for the result.
    pub fn prod_all(&self) -> Result<Self, Error> {
        self.prod(self.all_axes(), false)
    }

    /// Whether any element over `axes` is not 0 (NaN is not); over no elements false.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::from_slice(&device, &[0.0f32, 2.0, 0.0, 0.0], [2, 2])?;
    /// assert_eq!(a.any([1], false)?.to_vec_blocking::<bool>()?, [true, false]);
    /// assert!(!a.all_all()?.item_blocking::<bool>()?);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::sum`].
    pub fn any(&self, axes: impl AsRef<[isize]>, keepdim: bool) -> Result<Self, Error> {
        let truth = self.converted("any", DType::Bool)?;
        truth.reduce("any", Reduce::Max, axes.as_ref(), keepdim, DType::Bool)
    }

    /// Whether all elements over `axes` are not 0; over no elements true.
    ///
    /// # Errors
    /// As [`Tensor::sum`].
    pub fn all(&self, axes: impl AsRef<[isize]>, keepdim: bool) -> Result<Self, Error> {
        let truth = self.converted("all", DType::Bool)?;
        truth.reduce("all", Reduce::Min, axes.as_ref(), keepdim, DType::Bool)
    }

    /// Whether any element is not 0, of rank 0.
    ///
    /// # Errors
    /// If the device has no memory for the result.
    pub fn any_all(&self) -> Result<Self, Error> {
        self.any(self.all_axes(), false)
    }

    /// Whether all elements are not 0, of rank 0.
    ///
    /// # Errors
    /// If the device has no memory for the result.
    pub fn all_all(&self) -> Result<Self, Error> {
        self.all(self.all_axes(), false)
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

    /// [`Tensor::max`] by its other name.
    ///
    /// # Errors
    /// As [`Tensor::max`].
    pub fn amax(&self, axes: impl AsRef<[isize]>, keepdim: bool) -> Result<Self, Error> {
        self.extreme("amax", Reduce::Max, axes.as_ref(), keepdim)
    }

    /// [`Tensor::min`] by its other name.
    ///
    /// # Errors
    /// As [`Tensor::min`].
    pub fn amin(&self, axes: impl AsRef<[isize]>, keepdim: bool) -> Result<Self, Error> {
        self.extreme("amin", Reduce::Min, axes.as_ref(), keepdim)
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

    pub(super) fn all_axes(&self) -> Vec<isize> {
        (0..self.rank() as isize).collect()
    }

    pub(crate) fn axes(&self, op: &'static str, axes: &[isize]) -> Result<Vec<usize>, Error> {
        let axes =
            normalize_axes(axes, self.rank()).map_err(|error| Error::from_shape(op, error))?;
        // Rank 0 accepts axes 0 and -1, which then name nothing.
        Ok(axes
            .into_iter()
            .filter(|&axis| axis < self.rank())
            .collect())
    }

    pub(super) fn reduce(
        &self,
        op: &'static str,
        kernel: Reduce,
        axes: &[isize],
        keepdim: bool,
        dtype: DType,
    ) -> Result<Self, Error> {
        if self.axes(op, axes)?.is_empty() && kernel.keeps_one() {
            return self.converted(op, dtype);
        }
        self.reduce_with(
            op,
            (kernel, kernel.default_argument()),
            axes,
            keepdim,
            dtype,
        )
    }

    /// A reduction with its argument.
    pub(super) fn reduce_with(
        &self,
        op: &'static str,
        (kernel, argument): (Reduce, f32),
        axes: &[isize],
        keepdim: bool,
        dtype: DType,
    ) -> Result<Self, Error> {
        let axes = self.axes(op, axes)?;
        let shape = self.shape().reduced(&axes, keepdim);
        let call = Call::reduce(kernel.with(argument), &axes);
        self.produce_call(op, (shape, dtype), call, &[], None)
    }

    pub(super) fn extreme(
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

    /// The shape of the result if a reduced axis has no elements.
    pub(super) fn nothing_to_reduce(
        &self,
        op: &'static str,
        axes: &[isize],
        keepdim: bool,
    ) -> Result<Option<Shape>, Error> {
        let axes = self.axes(op, axes)?;
        let empty = axes.iter().any(|&axis| self.dims().get(axis) == Some(&0));
        Ok(empty.then(|| self.shape().reduced(&axes, keepdim)))
    }

    pub(super) fn no_elements(&self, op: &'static str, axes: &[isize]) -> Error {
        let shape = self.shape();
        Error::shape(
            op,
            format!("the reduced axes must have elements: axes {axes:?} of {shape}"),
        )
    }
}

/// The dtype of sums and products.
pub(super) const fn summed(dtype: DType) -> DType {
    dtype.info().sum
}
