//! Softmax along one axis, and its logarithm.

use ziggurat_kernels::{
    Completion, Executor, FusedOutput, KernelError, SOFTMAX_READS, View, WalkInput,
};

use crate::{Error, Tensor};

/// Softmax or its logarithm along an axis.
type Kernel = fn(
    &Executor,
    WalkInput<'_>,
    usize,
    Option<&FusedOutput<'_>>,
    &View,
) -> Result<Completion, KernelError>;

impl Tensor {
    /// `exp(x) / sum(exp(x))` along `axis`, with the maximum subtracted first; integers and bool give f32.
    ///
    /// ```
    /// # use ziggurat_tensor::{doc, Tensor};
    /// # let Some(device) = doc::device() else { return Ok(()) };
    /// let a = Tensor::from_slice(&device, &[1000.0f32, 1000.0], [2])?;
    /// assert_eq!(a.softmax(0)?.to_vec_blocking::<f32>()?, [0.5, 0.5]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the axis is out of range.
    pub fn softmax(&self, axis: isize) -> Result<Self, Error> {
        self.along("softmax", axis, Executor::softmax_between)
    }

    /// The logarithm of [`Tensor::softmax`], `x - logsumexp(x)`, without the loss of taking it afterwards.
    ///
    /// ```
    /// # use ziggurat_tensor::{doc, Tensor};
    /// # let Some(device) = doc::device() else { return Ok(()) };
    /// let a = Tensor::from_slice(&device, &[0.0f32, -1000.0], [2])?;
    /// assert_eq!(a.log_softmax(0)?.to_vec_blocking::<f32>()?, [0.0, -1000.0]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the axis is out of range.
    pub fn log_softmax(&self, axis: isize) -> Result<Self, Error> {
        self.along("log_softmax", axis, Executor::log_softmax_between)
    }

    fn along(&self, op: &'static str, axis: isize, kernel: Kernel) -> Result<Self, Error> {
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
        let out = input.produce_walking(
            op,
            (*input.shape(), input.dtype()),
            SOFTMAX_READS,
            Vec::new(),
            move |executor, walked, out| kernel(executor, walked.input, axis, walked.value, out),
        )?;
        if self.rank() == 0 {
            out.select(0, 0)
        } else {
            Ok(out)
        }
    }
}
