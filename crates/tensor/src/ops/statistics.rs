//! Norms, sums of squares, variances, and logarithms of sums of exponentials.
//!
//! Everything but `sum_squares` gives a float: integers and bool are converted to f32 first. f16 and bf16 are computed in
//! f32 and rounded once.

use ziggurat_core::DType;
use ziggurat_kernels::{Call, CallKind, Reduce};

use super::reduce::summed;
use crate::{Error, Tensor};

impl Tensor {
    /// The sum of squares over `axes`; over no elements it is 0. Sums of i8, u8 and bool are i32, integers wrap.
    ///
    /// # Errors
    /// If an axis is out of range or given twice.
    pub fn sum_squares(&self, axes: impl AsRef<[isize]>, keepdim: bool) -> Result<Self, Error> {
        const OP: &str = "sum_squares";
        let dtype = summed(self.dtype());
        let terms = if self.dtype() == DType::Bool {
            self.converted(OP, dtype)?
        } else {
            self.clone()
        };
        terms.reduce(OP, Reduce::SumSquares, axes.as_ref(), keepdim, dtype)
    }

    /// The vector norm `(Σ |x|^p)^(1/p)` over `axes`. For p = 0 it is the number of elements that are not 0, for +inf the
    /// greatest |x|, for -inf the least.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::from_slice(&device, &[3.0f32, -4.0], [2])?;
    /// assert_eq!(a.norm(2.0, [0], false)?.item_blocking::<f32>()?, 5.0);
    /// assert_eq!(a.norm(f64::INFINITY, [0], false)?.item_blocking::<f32>()?, 4.0);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If an axis is out of range or given twice, if p is NaN, or if p is negative or infinite and a reduced axis has no
    /// elements.
    pub fn norm(
        &self,
        p: impl Into<f64>,
        axes: impl AsRef<[isize]>,
        keepdim: bool,
    ) -> Result<Self, Error> {
        const OP: &str = "norm";
        let (p, axes) = (p.into(), axes.as_ref());
        let terms = self.as_float(OP)?;
        let dtype = terms.dtype();
        if p.is_nan() {
            return Err(Error::argument(OP, "p must be a number: it is NaN"));
        }
        if (p < 0.0 || p.is_infinite()) && self.nothing_to_reduce(OP, axes, keepdim)?.is_some() {
            return Err(self.no_elements(OP, axes));
        }
        if p == f64::INFINITY {
            return terms.abs()?.reduce(OP, Reduce::Max, axes, keepdim, dtype);
        }
        if p == f64::NEG_INFINITY {
            return terms.abs()?.reduce(OP, Reduce::Min, axes, keepdim, dtype);
        }
        if p == 0.0 {
            let counted = terms.ne(0)?;
            let count = counted.reduce(OP, Reduce::Sum, axes, keepdim, DType::I32)?;
            return count.converted(OP, dtype);
        }
        let kernel = if p == 1.0 {
            Reduce::SumAbs
        } else if p == 2.0 {
            Reduce::Norm2
        } else {
            Reduce::Norm
        };
        terms.reduce_with(OP, (kernel, p as f32), axes, keepdim, dtype)
    }

    /// `ln Σ exp x` over `axes` without overflow; over no elements it is -inf.
    ///
    /// # Errors
    /// If an axis is out of range or given twice.
    pub fn logsumexp(&self, axes: impl AsRef<[isize]>, keepdim: bool) -> Result<Self, Error> {
        const OP: &str = "logsumexp";
        let terms = self.as_float(OP)?;
        let dtype = terms.dtype();
        terms.reduce(OP, Reduce::LogSumExp, axes.as_ref(), keepdim, dtype)
    }

    /// The variance over `axes`: `Σ (x - mean)² / (n - correction)`. The usual correction is 1 for a sample (unbiased) and 0
    /// for a whole population. NaN where nothing can vary: over no elements, or of one element with correction 1.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::from_slice(&device, &[10_000.0f32, 10_001.0, 10_002.0], [3])?;
    /// assert_eq!(a.var([0], 1, false)?.item_blocking::<f32>()?, 1.0);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If an axis is out of range or given twice, or the dtype is not a float.
    pub fn var(
        &self,
        axes: impl AsRef<[isize]>,
        correction: impl Into<f64>,
        keepdim: bool,
    ) -> Result<Self, Error> {
        self.spread(
            "var",
            Reduce::Var,
            axes.as_ref(),
            correction.into(),
            keepdim,
        )
    }

    /// The standard deviation over `axes`: the square root of [`Tensor::var`].
    ///
    /// # Errors
    /// As [`Tensor::var`].
    pub fn std(
        &self,
        axes: impl AsRef<[isize]>,
        correction: impl Into<f64>,
        keepdim: bool,
    ) -> Result<Self, Error> {
        self.spread(
            "std",
            Reduce::Std,
            axes.as_ref(),
            correction.into(),
            keepdim,
        )
    }

    /// [`Tensor::var`] and [`Tensor::mean`] in one kernel.
    ///
    /// # Errors
    /// As [`Tensor::var`].
    pub fn var_mean(
        &self,
        axes: impl AsRef<[isize]>,
        correction: impl Into<f64>,
        keepdim: bool,
    ) -> Result<(Self, Self), Error> {
        const OP: &str = "var_mean";
        self.needs_float(OP)?;
        let axes = self.axes(OP, axes.as_ref())?;
        let shape = self.shape().reduced(&axes, keepdim);
        let both = crate::tensor::new_shape(OP, &[2, shape.len()])?;
        let correction = correction.into() as f32;
        let call = Call::new(CallKind::VarMean {
            correction: correction.into(),
            axes: axes.as_slice().into(),
        });
        let out = self.produce_call(OP, (both, self.dtype()), call, &[], None)?;
        let half = |index| out.select(0, index)?.reshape_to(shape.dims());
        Ok((half(0)?, half(1)?))
    }

    fn spread(
        &self,
        op: &'static str,
        kernel: Reduce,
        axes: &[isize],
        correction: f64,
        keepdim: bool,
    ) -> Result<Self, Error> {
        self.needs_float(op)?;
        self.reduce_with(op, (kernel, correction as f32), axes, keepdim, self.dtype())
    }

    /// An error for integers and bool, where converting them would surprise.
    pub(super) fn needs_float(&self, op: &'static str) -> Result<(), Error> {
        if self.dtype().is_float() {
            return Ok(());
        }
        Err(Error::dtype(
            op,
            format!("the dtype must be a float: it is {}", self.dtype()),
        ))
    }
}
