//! Softmax along one axis, and its logarithm.

use ziggurat_kernels::{Call, CallKind, SoftmaxKind};

use crate::{Error, Tensor};

impl Tensor {
    /// `exp(x) / sum(exp(x))` along `axis`, with the maximum subtracted first; integers and bool give f32.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::from_slice(&device, &[1000.0f32, 1000.0], [2])?;
    /// assert_eq!(a.softmax(0)?.to_vec_blocking::<f32>()?, [0.5, 0.5]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the axis is out of range.
    pub fn softmax(&self, axis: isize) -> Result<Self, Error> {
        self.along("softmax", axis, SoftmaxKind::Softmax)
    }

    /// The logarithm of [`Tensor::softmax`], `x - logsumexp(x)`, without the loss of taking it afterwards.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::from_slice(&device, &[0.0f32, -1000.0], [2])?;
    /// assert_eq!(a.log_softmax(0)?.to_vec_blocking::<f32>()?, [0.0, -1000.0]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the axis is out of range.
    pub fn log_softmax(&self, axis: isize) -> Result<Self, Error> {
        self.along("log_softmax", axis, SoftmaxKind::LogSoftmax)
    }

    fn along(&self, op: &'static str, axis: isize, kind: SoftmaxKind) -> Result<Self, Error> {
        let axis = self
            .shape()
            .axis(axis)
            .map_err(|error| Error::from_shape(op, error))?;
        // One element is a row of its own.
        let input = self.as_float(op)?;
        let input = if self.rank() == 0 {
            input.unsqueeze(0)?
        } else {
            input
        };
        let call = Call::new(CallKind::Softmax { kind, axis });
        let made = (*input.shape(), input.dtype());
        let out = input.produce_call(op, made, call, &[], None)?;
        if self.rank() == 0 {
            out.select(0, 0)
        } else {
            Ok(out)
        }
    }
}
