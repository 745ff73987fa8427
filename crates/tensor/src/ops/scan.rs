//! Running sums, products and extremes along an axis.
//!
//! Sums and products of i8, u8 and bool are i32; f16 and bf16 are added and multiplied in f32.

use ziggurat_core::DType;
use ziggurat_kernels::{Scan, ScanOptions};

use crate::{Error, Tensor};

impl Tensor {
    /// `out[i] = self[0] + .. + self[i]` along `axis`.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::from_slice(&device, &[1i32, 2, 3], [3])?;
    /// assert_eq!(a.cumsum(0)?.to_vec_blocking::<i32>()?, [1, 3, 6]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the axis is out of range.
    pub fn cumsum(&self, axis: isize) -> Result<Self, Error> {
        self.cumsum_with(axis, ScanOptions::default())
    }

    /// As [`Tensor::cumsum`], from the far end or without the element itself.
    ///
    /// # Errors
    /// If the axis is out of range.
    pub fn cumsum_with(&self, axis: isize, options: ScanOptions) -> Result<Self, Error> {
        self.scanned(Scan::Sum, axis, options)
    }

    /// `out[i] = self[0] · .. · self[i]` along `axis`.
    ///
    /// # Errors
    /// If the axis is out of range.
    pub fn cumprod(&self, axis: isize) -> Result<Self, Error> {
        self.cumprod_with(axis, ScanOptions::default())
    }

    /// As [`Tensor::cumprod`], from the far end or without the element itself.
    ///
    /// # Errors
    /// If the axis is out of range.
    pub fn cumprod_with(&self, axis: isize, options: ScanOptions) -> Result<Self, Error> {
        self.scanned(Scan::Product, axis, options)
    }

    /// `out[i] = log(exp(self[0]) + .. + exp(self[i]))` along `axis`, without overflow; integers and bool give f32.
    ///
    /// # Errors
    /// If the axis is out of range.
    pub fn logcumsumexp(&self, axis: isize) -> Result<Self, Error> {
        self.as_float("logcumsumexp")?
            .scanned(Scan::LogSumExp, axis, ScanOptions::default())
    }

    /// The greatest value so far along `axis` and its position (i32): the last of equals; NaN stays.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::from_slice(&device, &[1.0f32, 3.0, 3.0, 2.0], [4])?;
    /// let (values, at) = a.cummax(0)?;
    /// assert_eq!(values.to_vec_blocking::<f32>()?, [1.0, 3.0, 3.0, 3.0]);
    /// assert_eq!(at.to_vec_blocking::<i32>()?, [0, 1, 2, 2]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the axis is out of range.
    pub fn cummax(&self, axis: isize) -> Result<(Self, Self), Error> {
        self.extremes(Scan::ArgMax, axis)
    }

    /// The least value so far along `axis` and its position (i32): the last of equals; NaN stays.
    ///
    /// # Errors
    /// If the axis is out of range.
    pub fn cummin(&self, axis: isize) -> Result<(Self, Self), Error> {
        self.extremes(Scan::ArgMin, axis)
    }

    fn extremes(&self, kind: Scan, axis: isize) -> Result<(Self, Self), Error> {
        let at = self.scanned(kind, axis, ScanOptions::default())?;
        Ok((self.gather(axis, &at)?, at))
    }

    fn scanned(&self, kind: Scan, axis: isize, options: ScanOptions) -> Result<Self, Error> {
        let op = kind.name();
        if self.rank() == 0 {
            self.shape()
                .axis(axis)
                .map_err(|error| Error::from_shape(op, error))?;
            return self.unsqueeze(0)?.scanned(kind, 0, options)?.select(0, 0);
        }
        let at = self.axis_of(op, axis)?;
        let dtype = match kind {
            Scan::ArgMax | Scan::ArgMin => DType::I32,
            _ => self.dtype().info().sum,
        };
        let view = self.stored()?;
        Self::produce(self.device(), op, *self.shape(), dtype, |executor, out| {
            executor.scan(kind, view, at, options, out)
        })
    }
}
