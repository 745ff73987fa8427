//! Max pooling that also says where each maximum was.
//!
//! Composed of the other operations: windows are an overlapping strided view of the padded input, in which the first
//! element equal to the maximum (or the first NaN) is searched. No kernel of its own is needed, at the price of a mask
//! with one byte per window element.
//!
//! Invariant: padding is never reported, even where the input itself is -inf.

use ziggurat_core::{DType, Layout};
use ziggurat_kernels::{Pool, View};

use super::pool::{Pool1dOptions, PoolOptions};
use crate::tensor::new_shape;
use crate::{Error, Tensor};

impl Tensor {
    /// [`Tensor::max_pool2d`], and for every maximum its row-major position (i32) in its unpadded plane: the first of
    /// equals, the first NaN if there is one.
    ///
    /// ```
    /// # use ziggurat_tensor::{doc, DType, PoolOptions, Tensor};
    /// # let Some(device) = doc::device() else { return Ok(()) };
    /// let x = Tensor::arange(&device, 0, 16, 1, DType::F32)?.reshape([1, 4, 4])?;
    /// let (_, at) = x.max_pool2d_with_indices(&PoolOptions::square(2))?;
    /// assert_eq!(at.to_vec_blocking::<i32>()?, [5, 7, 13, 15]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::max_pool2d`].
    pub fn max_pool2d_with_indices(&self, options: &PoolOptions) -> Result<(Self, Self), Error> {
        const OP: &str = "max_pool2d_with_indices";
        let maxima = self.planes(OP, |planes| planes.pool(OP, Pool::Max, options))?;
        let places = self.planes(OP, |planes| planes.places(OP, options))?;
        Ok((maxima, places))
    }

    /// [`Tensor::max_pool1d`], and for every maximum its position (i32).
    ///
    /// # Errors
    /// As [`Tensor::max_pool1d`].
    pub fn max_pool1d_with_indices(&self, options: &Pool1dOptions) -> Result<(Self, Self), Error> {
        const OP: &str = "max_pool1d_with_indices";
        let maxima = self.lines(OP, |planes| planes.pool(OP, Pool::Max, &options.flat()))?;
        let places = self.lines(OP, |planes| planes.places(OP, &options.flat()))?;
        Ok((maxima, places))
    }

    fn places(&self, op: &'static str, options: &PoolOptions) -> Result<Self, Error> {
        let maxima = self.pool(op, Pool::Max, options)?;
        let windows = self.windows(op, options)?;
        let inside = Self::ones(self.device(), self.dims(), DType::U8)?
            .windows(op, options)?
            .ne(0)?;
        let found = windows.eq(&maxima.unsqueeze(-1)?.unsqueeze(-1)?)?;
        let wanted = if self.dtype().is_float() {
            windows.ne(&windows)?.where_(true, &found)?
        } else {
            found
        };
        let wanted = inside.where_(&wanted, false)?.to_dtype(DType::I32)?;
        let within = wanted.flatten(-2, -1)?.argmax(-1, false)?;

        let extent = |value: usize| {
            i32::try_from(value)
                .map_err(|_| Error::shape(op, "the plane must have less than 2³¹ elements"))
        };
        let &[_, _, height, width] = self.dims() else {
            return Err(Error::shape(op, "the input must be [N, C, H, W]"));
        };
        extent(height.saturating_mul(width))?;
        let kernel_width = extent(options.kernel[1])?;
        let row = within.div_trunc(kernel_width)?;
        let steps = [row.clone(), (&within - &row * kernel_width)?];
        let mut place = [None, None];
        for (at, step) in steps.iter().enumerate() {
            let count = maxima.dims().get(2 + at).copied().unwrap_or(0);
            let origin = Self::arange(self.device(), 0, extent(count)?, 1, DType::I32)?;
            let origin = origin
                .mul(extent(options.stride[at])?)?
                .sub(extent(options.padding_begin[at])?)?;
            let origin = if at == 0 {
                origin.unsqueeze(1)?
            } else {
                origin
            };
            place[at] = Some((step * extent(options.dilation[at])? + origin)?);
        }
        match place {
            [Some(y), Some(x)] => y * extent(width)? + x,
            _ => Err(Error::argument(op, "both axes must have a place")),
        }
    }

    /// Every window of `[N, C, H, W]` as `[N, C, H', W', KH, KW]`, over a copy padded with zeros.
    fn windows(&self, op: &'static str, options: &PoolOptions) -> Result<Self, Error> {
        let pooled = self.pooled_shape(op, options)?;
        let (&[n, c, h, w], &[_, _, rows, cols]) = (self.dims(), pooled.dims()) else {
            return Err(Error::shape(op, "the input must be [N, C, H, W]"));
        };
        let reach = |at: usize, count: usize, input: usize| {
            let last = count.saturating_sub(1) * options.stride[at]
                + (options.kernel[at] - 1) * options.dilation[at]
                + 1;
            last.max(input + options.padding_begin[at])
        };
        let padded = [n, c, reach(0, rows, h), reach(1, cols, w)];
        let base = Self::zeros(self.device(), padded, self.dtype())?;
        let middle =
            base.narrow(2, options.padding_begin[0], h)?
                .narrow(3, options.padding_begin[1], w)?;
        let (input, output) = (self.view()?, middle.view()?);
        let _recorded = self
            .device()
            .executor()
            .copy(input, output)
            .map_err(|error| Error::from_kernel(op, error))?;

        let fail = |error| Error::from_shape(op, error);
        let view = base.view()?;
        let &[sn, sc, sh, sw] = view.layout.strides() else {
            return Err(Error::shape(op, "the input must be [N, C, H, W]"));
        };
        let times = |stride: isize, by: usize| stride * isize::try_from(by).unwrap_or(isize::MAX);
        let shape = new_shape(
            op,
            &[n, c, rows, cols, options.kernel[0], options.kernel[1]],
        )?;
        let strides = [
            sn,
            sc,
            times(sh, options.stride[0]),
            times(sw, options.stride[1]),
            times(sh, options.dilation[0]),
            times(sw, options.dilation[1]),
        ];
        let layout = Layout::new(shape, &strides, view.layout.offset()).map_err(fail)?;
        let windows = View::new(view.buffer.clone(), layout, view.dtype)
            .map_err(|error| Error::from_kernel(op, error))?;
        Ok(Self::from_view(self.device(), windows))
    }
}
