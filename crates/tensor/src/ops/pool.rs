//! Maximum and average over sliding windows, in one and two dimensions, and over whole planes.
//!
//! Padding never wins a maximum; NaN does. An average counts the positions inside the input, or with `count_include_pad`
//! inside the padded input.

use ziggurat_core::Shape;
use ziggurat_kernels::{Pool, Pool2dOptions};

use super::window::Window;
use crate::tensor::new_shape;
use crate::{Error, Tensor};

/// The windows of [`Tensor::max_pool2d`] and [`Tensor::avg_pool2d`]; `[height, width]` each.
///
/// ```
/// use ziggurat_tensor::PoolOptions;
///
/// assert_eq!(PoolOptions::square(2).stride, [2, 2]);
/// assert_eq!(PoolOptions::new([3, 3]).stride([2, 2]).padding([1, 1]).kernel, [3, 3]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolOptions {
    /// Extents of a window.
    pub kernel: [usize; 2],
    /// Steps between windows.
    pub stride: [usize; 2],
    /// Padding before the first row and column.
    pub padding_begin: [usize; 2],
    /// Padding after the last row and column.
    pub padding_end: [usize; 2],
    /// Distance between neighbouring elements of a window.
    pub dilation: [usize; 2],
    /// Whether a last window that only partly fits counts.
    pub ceil_mode: bool,
    /// Whether an average divides by padding positions too.
    pub count_include_pad: bool,
}

impl PoolOptions {
    /// Windows of these extents, side by side.
    pub const fn new(kernel: [usize; 2]) -> Self {
        Self {
            kernel,
            stride: kernel,
            padding_begin: [0; 2],
            padding_end: [0; 2],
            dilation: [1; 2],
            ceil_mode: false,
            count_include_pad: false,
        }
    }

    /// Square windows, side by side.
    pub const fn square(extent: usize) -> Self {
        Self::new([extent; 2])
    }

    /// Steps between windows.
    #[must_use]
    pub const fn stride(self, stride: [usize; 2]) -> Self {
        Self { stride, ..self }
    }

    /// The same padding at both ends.
    #[must_use]
    pub const fn padding(self, padding: [usize; 2]) -> Self {
        Self {
            padding_begin: padding,
            padding_end: padding,
            ..self
        }
    }

    pub(super) const fn axis(&self, input: usize, at: usize) -> Window {
        Window {
            input,
            kernel: self.kernel[at],
            stride: self.stride[at],
            dilation: self.dilation[at],
            begin: self.padding_begin[at],
            end: self.padding_end[at],
            ceil: self.ceil_mode,
        }
    }
}

/// The windows of [`Tensor::max_pool1d`] and [`Tensor::avg_pool1d`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool1dOptions {
    /// Extent of a window.
    pub kernel: usize,
    /// Steps between windows.
    pub stride: usize,
    /// Padding before the first element.
    pub padding_begin: usize,
    /// Padding after the last element.
    pub padding_end: usize,
    /// Distance between neighbouring elements of a window.
    pub dilation: usize,
    /// Whether a last window that only partly fits counts.
    pub ceil_mode: bool,
    /// Whether an average divides by padding positions too.
    pub count_include_pad: bool,
}

impl Pool1dOptions {
    /// Windows of this extent, side by side.
    pub const fn new(kernel: usize) -> Self {
        Self {
            kernel,
            stride: kernel,
            padding_begin: 0,
            padding_end: 0,
            dilation: 1,
            ceil_mode: false,
            count_include_pad: false,
        }
    }

    pub(super) const fn flat(&self) -> PoolOptions {
        PoolOptions {
            kernel: [1, self.kernel],
            stride: [1, self.stride],
            padding_begin: [0, self.padding_begin],
            padding_end: [0, self.padding_end],
            dilation: [1, self.dilation],
            ceil_mode: self.ceil_mode,
            count_include_pad: self.count_include_pad,
        }
    }
}

impl Tensor {
    /// The maximum of every window of `[N, C, H, W]` (or `[C, H, W]`).
    ///
    /// ```
    /// # use ziggurat_tensor::{doc, DType, PoolOptions, Tensor};
    /// # let Some(device) = doc::device() else { return Ok(()) };
    /// let x = Tensor::arange(&device, 0, 16, 1, DType::F32)?.reshape([1, 4, 4])?;
    /// let y = x.max_pool2d(&PoolOptions::square(2))?;
    /// assert_eq!(y.to_vec_blocking::<f32>()?, [5.0, 7.0, 13.0, 15.0]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the rank is not 3 or 4, a window does not fit the padded input, or a window would hold nothing but padding.
    pub fn max_pool2d(&self, options: &PoolOptions) -> Result<Self, Error> {
        self.planes("max_pool2d", |planes| {
            planes.pool("max_pool2d", Pool::Max, options)
        })
    }

    /// The average of every window of `[N, C, H, W]` (or `[C, H, W]`).
    ///
    /// # Errors
    /// As [`Tensor::max_pool2d`], or if the dtype is not a float.
    pub fn avg_pool2d(&self, options: &PoolOptions) -> Result<Self, Error> {
        self.planes("avg_pool2d", |planes| {
            planes.pool("avg_pool2d", Pool::Average, options)
        })
    }

    /// The maximum of every window of `[N, C, L]` (or `[C, L]`).
    ///
    /// # Errors
    /// As [`Tensor::max_pool2d`].
    pub fn max_pool1d(&self, options: &Pool1dOptions) -> Result<Self, Error> {
        self.lines("max_pool1d", |planes| {
            planes.pool("max_pool1d", Pool::Max, &options.flat())
        })
    }

    /// The average of every window of `[N, C, L]` (or `[C, L]`).
    ///
    /// # Errors
    /// As [`Tensor::avg_pool2d`].
    pub fn avg_pool1d(&self, options: &Pool1dOptions) -> Result<Self, Error> {
        self.lines("avg_pool1d", |planes| {
            planes.pool("avg_pool1d", Pool::Average, &options.flat())
        })
    }

    /// The maximum over all axes behind the first two, which stay with extent 1.
    ///
    /// # Errors
    /// If the rank is below 3 or those axes have no elements.
    pub fn global_max_pool(&self) -> Result<Self, Error> {
        self.max(self.spatial_axes("global_max_pool")?, true)
    }

    /// The average over all axes behind the first two, which stay with extent 1.
    ///
    /// # Errors
    /// If the rank is below 3 or the dtype is not a float.
    pub fn global_avg_pool(&self) -> Result<Self, Error> {
        self.mean(self.spatial_axes("global_avg_pool")?, true)
    }

    fn spatial_axes(&self, op: &'static str) -> Result<Vec<isize>, Error> {
        if self.rank() < 3 {
            return Err(Error::shape(
                op,
                format!("the input must be [N, C, ..]: it is {}", self.shape()),
            ));
        }
        Ok((2..self.rank() as isize).collect())
    }

    /// Runs `pool` on `[N, C, H, W]`, whether `self` has a batch axis or not.
    pub(super) fn planes(
        &self,
        op: &'static str,
        pool: impl FnOnce(&Self) -> Result<Self, Error>,
    ) -> Result<Self, Error> {
        match self.rank() {
            3 => pool(&self.unsqueeze(0)?)?.squeeze_axis(0),
            4 => pool(self),
            _ => Err(Error::shape(
                op,
                format!(
                    "the input must be [N, C, H, W] or [C, H, W]: it is {}",
                    self.shape()
                ),
            )),
        }
    }

    /// Runs `pool` on `[N, C, 1, L]`, whether `self` has a batch axis or not.
    pub(super) fn lines(
        &self,
        op: &'static str,
        pool: impl FnOnce(&Self) -> Result<Self, Error>,
    ) -> Result<Self, Error> {
        match self.rank() {
            2 => pool(&self.unsqueeze(0)?.unsqueeze(2)?)?
                .squeeze_axis(2)?
                .squeeze_axis(0),
            3 => pool(&self.unsqueeze(2)?)?.squeeze_axis(2),
            _ => Err(Error::shape(
                op,
                format!(
                    "the input must be [N, C, L] or [C, L]: it is {}",
                    self.shape()
                ),
            )),
        }
    }

    pub(super) fn pool(
        &self,
        op: &'static str,
        kernel: Pool,
        options: &PoolOptions,
    ) -> Result<Self, Error> {
        if kernel == Pool::Average && !self.dtype().is_float() {
            return Err(Error::dtype(
                op,
                format!("the dtype must be a float: it is {}", self.dtype()),
            ));
        }
        let shape = self.pooled_shape(op, options)?;
        let view = self.view()?;
        let options = Pool2dOptions {
            kernel: options.kernel,
            strides: options.stride,
            pads_begin: options.padding_begin,
            pads_end: options.padding_end,
            dilations: options.dilation,
            ceil_mode: options.ceil_mode,
            count_include_pad: options.count_include_pad,
        };
        Self::produce(self.device(), op, shape, self.dtype(), |executor, out| {
            executor.pool2d(kernel, view, &options, out)
        })
    }

    pub(super) fn pooled_shape(
        &self,
        op: &'static str,
        options: &PoolOptions,
    ) -> Result<Shape, Error> {
        let &[n, c, h, w] = self.dims() else {
            return Err(Error::shape(
                op,
                format!("the input must be [N, C, H, W]: it is {}", self.shape()),
            ));
        };
        let mut extents = [h, w];
        for (at, extent) in extents.iter_mut().enumerate() {
            let window = options.axis(*extent, at);
            let positions = window.positions(op)?;
            *extent = positions;
            let reach = (window.kernel - 1)
                .saturating_mul(window.dilation)
                .saturating_add(1);
            if window.begin >= reach || window.end >= reach {
                return Err(Error::argument(
                    op,
                    format!(
                        "padding must be smaller than the window, or a window would hold nothing else: padding {} and {}, window {reach}",
                        window.begin, window.end
                    ),
                ));
            }
            if !window.cover_input(positions) {
                return Err(Error::argument(
                    op,
                    format!(
                        "every window must hold an element of the input: with dilation {} one steps over all {}",
                        window.dilation, window.input
                    ),
                ));
            }
        }
        let [height, width] = extents;
        new_shape(op, &[n, c, height, width])
    }
}
