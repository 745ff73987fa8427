//! Convolution (cross-correlation, as everywhere in machine learning) and its transpose in one to three dimensions, and
//! images as columns of windows.
//!
//! Padding may differ between the two ends of an axis.

use ziggurat_core::Shape;
use ziggurat_kernels::{
    Call, Conv1dOptions, Conv2dOptions, Conv3dOptions, ConvOptions, ConvTranspose1dOptions,
    ConvTranspose2dOptions, ConvTranspose3dOptions, ConvTransposeOptions, KernelError,
};

use super::window::{self, Window};
use crate::tensor::new_shape;
use crate::{Error, Tensor};

impl Tensor {
    /// Cross-correlation of `self` `[N, C, H, W]` with `weight` `[M, C / groups, KH, KW]`, plus `bias` `[M]`, with zero padding:
    /// the result is `[N, M, H', W']` with `H' = (H + padding - (KH - 1) · dilation - 1) / stride + 1`, rounded down. A single
    /// image `[C, H, W]` gives `[M, H', W']`.
    ///
    /// ```
    /// use ziggurat_tensor::{Conv2dOptions, DType, Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let x = Tensor::ones(&device, [1, 1, 3, 3], DType::F32)?;
    /// let w = Tensor::ones(&device, [1, 1, 2, 2], DType::F32)?;
    /// let y = x.conv2d(&w, None, &Conv2dOptions::default())?;
    /// assert_eq!(y.dims(), [1, 1, 2, 2]);
    /// assert_eq!(y.to_vec_blocking::<f32>()?, [4.0; 4]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If ranks or channels do not fit, groups do not divide them, the kernel is larger than the padded input, `same` is
    /// asked for with a stride, or the dtype is not a float.
    pub fn conv2d(
        &self,
        weight: &Self,
        bias: Option<&Self>,
        options: &Conv2dOptions,
    ) -> Result<Self, Error> {
        self.conv("conv2d", weight, bias, options)
    }

    /// [`Tensor::conv2d`] in one dimension: `self` `[N, C, L]` (or `[C, L]`), `weight` `[M, C / groups, K]`, `bias` `[M]`.
    ///
    /// # Errors
    /// As [`Tensor::conv2d`].
    pub fn conv1d(
        &self,
        weight: &Self,
        bias: Option<&Self>,
        options: &Conv1dOptions,
    ) -> Result<Self, Error> {
        self.conv("conv1d", weight, bias, options)
    }

    /// [`Tensor::conv2d`] in three dimensions: `self` `[N, C, D, H, W]` (or `[C, D, H, W]`), `weight`
    /// `[M, C / groups, KD, KH, KW]`, `bias` `[M]`.
    ///
    /// # Errors
    /// As [`Tensor::conv2d`].
    pub fn conv3d(
        &self,
        weight: &Self,
        bias: Option<&Self>,
        options: &Conv3dOptions,
    ) -> Result<Self, Error> {
        self.conv("conv3d", weight, bias, options)
    }

    /// The transpose of a convolution, its gradient in the input: every element of `self` `[N, C, H, W]` adds its multiple of
    /// `weight` `[C, M / groups, KH, KW]` to the result `[N, M, H', W']`, where
    /// `H' = (H - 1) · stride + (KH - 1) · dilation + 1 + output_padding - padding`; `bias` is `[M]`. A single image
    /// `[C, H, W]` gives `[M, H', W']`.
    ///
    /// ```
    /// use ziggurat_tensor::{ConvTranspose2dOptions, DType, Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let x = Tensor::from_slice(&device, &[1.0f32, 2.0], [1, 1, 1, 2])?;
    /// let w = Tensor::ones(&device, [1, 1, 1, 2], DType::F32)?;
    /// let y = x.conv_transpose2d(&w, None, &ConvTranspose2dOptions::default())?;
    /// assert_eq!(y.to_vec_blocking::<f32>()?, [1.0, 3.0, 2.0]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If ranks or channels do not fit, groups do not divide them, the padding leaves nothing, `output_padding` is not less
    /// than the stride or the dilation, or the dtype is not a float.
    pub fn conv_transpose2d(
        &self,
        weight: &Self,
        bias: Option<&Self>,
        options: &ConvTranspose2dOptions,
    ) -> Result<Self, Error> {
        self.conv_transpose("conv_transpose2d", weight, bias, options)
    }

    /// [`Tensor::conv_transpose2d`] in one dimension: `self` `[N, C, L]` (or `[C, L]`), `weight` `[C, M / groups, K]`.
    ///
    /// # Errors
    /// As [`Tensor::conv_transpose2d`].
    pub fn conv_transpose1d(
        &self,
        weight: &Self,
        bias: Option<&Self>,
        options: &ConvTranspose1dOptions,
    ) -> Result<Self, Error> {
        self.conv_transpose("conv_transpose1d", weight, bias, options)
    }

    /// [`Tensor::conv_transpose2d`] in three dimensions: `self` `[N, C, D, H, W]` (or `[C, D, H, W]`), `weight`
    /// `[C, M / groups, KD, KH, KW]`.
    ///
    /// # Errors
    /// As [`Tensor::conv_transpose2d`].
    pub fn conv_transpose3d(
        &self,
        weight: &Self,
        bias: Option<&Self>,
        options: &ConvTranspose3dOptions,
    ) -> Result<Self, Error> {
        self.conv_transpose("conv_transpose3d", weight, bias, options)
    }

    /// Every window of `[N, C, H, W]` (or `[C, H, W]`) that a convolution with a kernel of these extents sees, as a column:
    /// `[N, C · KH · KW, windows]`. PyTorch's `functional.unfold`; groups have no part in it.
    ///
    /// ```
    /// use ziggurat_tensor::{Conv2dOptions, DType, Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let x = Tensor::arange(&device, 0, 4, 1, DType::F32)?.reshape([1, 1, 1, 4])?;
    /// let columns = x.im2col([1, 2], &Conv2dOptions::default())?;
    /// assert_eq!(columns.to_vec_blocking::<f32>()?, [0.0, 1.0, 2.0, 1.0, 2.0, 3.0]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the rank is not 3 or 4, or a window does not fit the padded input.
    pub fn im2col(&self, kernel: [usize; 2], options: &Conv2dOptions) -> Result<Self, Error> {
        const OP: &str = "im2col";
        let options =
            (options.padded(OP, kernel)).map_err(|error| Error::from_kernel(OP, error))?;
        self.with_batch(OP, 2, |x| {
            let &[batch, channels, height, width] = x.dims() else {
                return Err(Error::shape(OP, "the input must be [N, C, H, W]"));
            };
            let axis = |input, at: usize| Window {
                input,
                kernel: kernel[at],
                stride: options.stride[at],
                dilation: options.dilation[at],
                begin: options.padding_begin[at],
                end: options.padding_end[at],
            };
            let windows = window::windows(OP, x, [axis(height, 0), axis(width, 1)])?;
            let count = windows.dims().iter().skip(2).take(2).product();
            let rows = channels.saturating_mul(kernel[0]).saturating_mul(kernel[1]);
            windows
                .permute([0, 1, 4, 5, 2, 3])?
                .reshape_to([batch, rows, count])
        })
    }

    /// The sum of the windows of [`Tensor::im2col`] where they overlap: `self` `[N, C · KH · KW, windows]` (or without a batch
    /// axis) becomes `[N, C, H, W]` for `size` `[H, W]`. PyTorch's `functional.fold`.
    ///
    /// ```
    /// use ziggurat_tensor::{Conv2dOptions, DType, Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let columns = Tensor::ones(&device, [1, 2, 3], DType::F32)?;
    /// let x = columns.col2im([1, 4], [1, 2], &Conv2dOptions::default())?;
    /// assert_eq!(x.to_vec_blocking::<f32>()?, [1.0, 2.0, 2.0, 1.0]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the columns are not those of such windows, or the dtype is not a float.
    #[doc(alias = "fold")]
    pub fn col2im(
        &self,
        size: [usize; 2],
        kernel: [usize; 2],
        options: &Conv2dOptions,
    ) -> Result<Self, Error> {
        const OP: &str = "col2im";
        self.with_batch(OP, 1, |columns| {
            let &[batch, rows, _] = columns.dims() else {
                return Err(Error::shape(
                    OP,
                    "the columns must be [N, C · KH · KW, windows]",
                ));
            };
            let taps = kernel[0].saturating_mul(kernel[1]);
            if taps == 0 || !rows.is_multiple_of(taps) {
                return Err(Error::shape(
                    OP,
                    format!(
                        "the columns must hold whole kernels: {} given, the kernel is {kernel:?}",
                        columns.shape()
                    ),
                ));
            }
            let [height, width] = size;
            let shape = new_shape(OP, &[batch, rows / taps, height, width])?;
            let view = columns.stored()?;
            Self::produce(self.device(), OP, shape, self.dtype(), |executor, out| {
                executor.fold(view, kernel, options, out)
            })
        })
    }

    fn conv<const N: usize>(
        &self,
        op: &'static str,
        weight: &Self,
        bias: Option<&Self>,
        options: &ConvOptions<N>,
    ) -> Result<Self, Error> {
        let shape = |x: &Shape, w: &Shape, b: Option<&Shape>| options.output_shape(x, w, b);
        self.correlate((op, N), weight, bias, shape, options.call())
    }

    fn conv_transpose<const N: usize>(
        &self,
        op: &'static str,
        weight: &Self,
        bias: Option<&Self>,
        options: &ConvTransposeOptions<N>,
    ) -> Result<Self, Error> {
        let shape = |x: &Shape, w: &Shape, b: Option<&Shape>| options.output_shape(x, w, b);
        self.correlate((op, N), weight, bias, shape, options.call())
    }

    /// Promotes the operands, adds a batch axis where there is none, and leaves the kernel to be recorded.
    fn correlate(
        &self,
        (op, axes): (&'static str, usize),
        weight: &Self,
        bias: Option<&Self>,
        shape: impl Fn(&Shape, &Shape, Option<&Shape>) -> Result<Shape, KernelError>,
        call: Call,
    ) -> Result<Self, Error> {
        let mut dtype = self.dtype();
        for other in [Some(weight), bias].into_iter().flatten() {
            self.same_device(op, other)?;
            dtype = dtype.promote(other.dtype());
        }
        if !dtype.is_float() {
            return Err(Error::dtype(
                op,
                format!("the dtype must be a float: it is {dtype}"),
            ));
        }
        self.with_batch(op, axes, |x| {
            let (x, weight) = (x.converted(op, dtype)?, weight.converted(op, dtype)?);
            let bias = bias.map(|bias| bias.converted(op, dtype)).transpose()?;
            let shape = shape(x.shape(), weight.shape(), bias.as_ref().map(Self::shape))
                .map_err(|error| Error::from_kernel(op, error))?;
            let others: Vec<&Self> = std::iter::once(&weight).chain(&bias).collect();
            x.produce_call(op, (shape, dtype), call, &others, None)
        })
    }

    /// Runs `run` on a batch, one of its own where `self` has only a channel and `axes` spatial axes.
    pub(super) fn with_batch(
        &self,
        op: &'static str,
        axes: usize,
        run: impl FnOnce(&Self) -> Result<Self, Error>,
    ) -> Result<Self, Error> {
        match self.rank().checked_sub(axes) {
            Some(1) => run(&self.unsqueeze(0)?)?.squeeze_axis(0),
            Some(2) => run(self),
            _ => Err(Error::shape(
                op,
                format!(
                    "the input must have {axes} axes behind a channel axis, and may have a batch axis in front: it is {}",
                    self.shape()
                ),
            )),
        }
    }
}
