//! Maximum, average and norm over windows in one to three dimensions: sliding, adaptive, or whole planes; and maxima back to
//! where they were.
//!
//! Padding never wins a maximum; NaN does. An average counts the positions inside the input, or with `count_include_pad`
//! inside the padded input.

use ziggurat_core::DType;
use ziggurat_kernels::{Executor, KernelError, Pool, PoolOptions, View};

use crate::tensor::new_shape;
use crate::{Error, Tensor};

/// The methods of one number of dimensions.
macro_rules! dimensions {
    ($n:literal, $input:literal, $max:ident, $max_indices:ident, $unpool:ident, $avg:ident, $lp:ident, $adaptive_avg:ident, $adaptive_max:ident, $adaptive_indices:ident) => {
        impl Tensor {
            #[doc = concat!("The maximum of every window of `[N, ", $input, "]` (or `[", $input, "]`).")]
            ///
            /// # Errors
            /// If the rank does not fit, a window does not fit the padded input, or a window would hold nothing but padding.
            pub fn $max(&self, options: &PoolOptions<$n>) -> Result<Self, Error> {
                self.sliding(stringify!($max), Some(Pool::Max), None, options)
            }

            #[doc = concat!("[`Tensor::", stringify!($max), "`], and for every maximum its row-major position (i32) in its unpadded plane: the first of equals, the first NaN if there is one.")]
            ///
            /// # Errors
            #[doc = concat!("As [`Tensor::", stringify!($max), "`].")]
            pub fn $max_indices(&self, options: &PoolOptions<$n>) -> Result<(Self, Self), Error> {
                const OP: &str = stringify!($max_indices);
                let maxima = self.sliding(OP, Some(Pool::Max), None, options)?;
                Ok((maxima, self.sliding(OP, None, None, options)?))
            }

            #[doc = concat!("What [`Tensor::", stringify!($max_indices), "`] took the maxima of, as far as they tell: zeros of the spatial extents `size`, with each element of `[N, ", $input, "]` (or `[", $input, "]`) at the place that its index (an integer) names, row-major. Of several elements at one place any one stays.")]
            ///
            /// # Errors
            /// If the indices are no integers or differ in shape, the rank does not fit, or there is an element but no place.
            pub fn $unpool(&self, indices: &Self, size: [usize; $n]) -> Result<Self, Error> {
                self.unpooled(stringify!($unpool), indices, size)
            }

            #[doc = concat!("The average of every window of `[N, ", $input, "]` (or `[", $input, "]`).")]
            ///
            /// # Errors
            #[doc = concat!("As [`Tensor::", stringify!($max), "`], or if the dtype is not a float.")]
            pub fn $avg(&self, options: &PoolOptions<$n>) -> Result<Self, Error> {
                self.sliding(stringify!($avg), Some(Pool::Average), None, options)
            }

            #[doc = concat!("`(Σ |x|^p)^(1/p)` over every window of `[N, ", $input, "]` (or `[", $input, "]`); padding counts as 0.")]
            ///
            /// # Errors
            #[doc = concat!("As [`Tensor::", stringify!($avg), "`], or if `p` is not positive and finite.")]
            pub fn $lp(&self, p: f32, options: &PoolOptions<$n>) -> Result<Self, Error> {
                self.sliding(stringify!($lp), None, Some(p), options)
            }

            #[doc = concat!("The average of as many windows of `[N, ", $input, "]` (or `[", $input, "]`) as `size` says, of nearly equal extents: window o is from `floor(o · in / out)` to `ceil((o + 1) · in / out)`.")]
            ///
            /// # Errors
            /// If the rank does not fit, there are no elements to pool, an extent is over 65,535, or the dtype is not a float.
            pub fn $adaptive_avg(&self, size: [usize; $n]) -> Result<Self, Error> {
                const OP: &str = stringify!($adaptive_avg);
                if size == [1; $n] && self.dtype().is_float() && !self.is_empty() {
                    return self.with_batch(OP, $n, Self::global_avg_pool);
                }
                self.adaptive(OP, size, self.dtype(), |executor, x, out| {
                    executor.adaptive_pool::<$n>(Pool::Average, x, out).map(|_| ())
                })
            }

            #[doc = concat!("The maximum of the windows of [`Tensor::", stringify!($adaptive_avg), "`].")]
            ///
            /// # Errors
            #[doc = concat!("As [`Tensor::", stringify!($adaptive_avg), "`]; the dtype may be any number.")]
            pub fn $adaptive_max(&self, size: [usize; $n]) -> Result<Self, Error> {
                const OP: &str = stringify!($adaptive_max);
                if size == [1; $n] && !self.is_empty() && !self.dtype().is_bool() {
                    return self.with_batch(OP, $n, Self::global_max_pool);
                }
                self.adaptive(OP, size, self.dtype(), |executor, x, out| {
                    executor.adaptive_pool::<$n>(Pool::Max, x, out).map(|_| ())
                })
            }

            #[doc = concat!("[`Tensor::", stringify!($adaptive_max), "`], and where the maxima lie, as in [`Tensor::", stringify!($max_indices), "`].")]
            ///
            /// # Errors
            #[doc = concat!("As [`Tensor::", stringify!($adaptive_max), "`].")]
            pub fn $adaptive_indices(&self, size: [usize; $n]) -> Result<(Self, Self), Error> {
                const OP: &str = stringify!($adaptive_indices);
                let maxima = self.$adaptive_max(size)?;
                if size == [1; $n] && !self.is_empty() && !self.dtype().is_bool() {
                    let first = |x: &Self| x.flatten(2, -1)?.argmax(-1, false);
                    let places = self.with_batch(OP, $n, first)?;
                    return Ok((maxima.clone(), places.reshape_to(maxima.dims())?));
                }
                let places = self.adaptive(OP, size, DType::I32, |executor, x, out| {
                    executor.adaptive_max_pool_indices::<$n>(x, out).map(|_| ())
                })?;
                Ok((maxima, places))
            }
        }
    };
}

dimensions!(
    1,
    "C, L",
    max_pool1d,
    max_pool1d_with_indices,
    max_unpool1d,
    avg_pool1d,
    lp_pool1d,
    adaptive_avg_pool1d,
    adaptive_max_pool1d,
    adaptive_max_pool1d_with_indices
);
dimensions!(
    2,
    "C, H, W",
    max_pool2d,
    max_pool2d_with_indices,
    max_unpool2d,
    avg_pool2d,
    lp_pool2d,
    adaptive_avg_pool2d,
    adaptive_max_pool2d,
    adaptive_max_pool2d_with_indices
);
dimensions!(
    3,
    "C, D, H, W",
    max_pool3d,
    max_pool3d_with_indices,
    max_unpool3d,
    avg_pool3d,
    lp_pool3d,
    adaptive_avg_pool3d,
    adaptive_max_pool3d,
    adaptive_max_pool3d_with_indices
);

impl Tensor {
    /// The maximum over all axes behind the first two, which stay with extent 1.
    ///
    /// ```
    /// use ziggurat_tensor::{DType, Device, DeviceOptions, PoolOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let x = Tensor::arange(&device, 0, 16, 1, DType::F32)?.reshape([1, 4, 4])?;
    /// let (y, at) = x.max_pool2d_with_indices(&PoolOptions::square(2))?;
    /// assert_eq!(y.to_vec_blocking::<f32>()?, [5.0, 7.0, 13.0, 15.0]);
    /// assert_eq!(at.to_vec_blocking::<i32>()?, [5, 7, 13, 15]);
    /// assert_eq!(x.unsqueeze(0)?.global_max_pool()?.dims(), [1, 1, 1, 1]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
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

    /// `(Σ |x|^p)^(1/p)` over all axes behind the first two, which stay with extent 1: ONNX's `GlobalLpPool`.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let x = Tensor::from_slice(&device, &[3.0f32, -4.0], [1, 1, 2])?;
    /// assert_eq!(x.global_lp_pool(2.0)?.to_vec_blocking::<f32>()?, [5.0]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the rank is below 3, the dtype is not a float, or `p` is not positive and finite.
    pub fn global_lp_pool(&self, p: f32) -> Result<Self, Error> {
        const OP: &str = "global_lp_pool";
        let axes = self.spatial_axes(OP)?;
        self.needs_float(OP)?;
        if !(p.is_finite() && p > 0.0) {
            let rule = format!("p must be positive and finite: it is {p}");
            return Err(Error::argument(OP, rule));
        }
        self.norm(p, axes, true)
    }

    fn unpooled<const N: usize>(
        &self,
        op: &'static str,
        indices: &Self,
        size: [usize; N],
    ) -> Result<Self, Error> {
        self.same_device(op, indices)?;
        let indices = self.indices_of(op, indices)?.as_i32(op)?;
        if indices.shape() != self.shape() {
            return Err(self.mismatch(op, "the indices must have the input's shape", &indices));
        }
        let plane = new_shape(op, &size)?.len();
        let checked = self.check_indices(op, indices.stored()?, &[plane])?;
        let unbatched = self.rank() == N + 1;
        let unpooled = self.with_batch(op, N, |x| {
            let indices = if unbatched {
                indices.unsqueeze(0)?
            } else {
                indices.clone()
            };
            let dims: Vec<usize> = x.dims().iter().take(2).chain(&size).copied().collect();
            let shape = new_shape(op, &dims)?;
            let (view, index) = (x.stored()?, indices.stored()?);
            Self::produce(x.device(), op, shape, x.dtype(), |executor, out| {
                executor.max_unpool(view, index, out)
            })
        })?;
        checked.of(unpooled)
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

    /// One kernel over sliding windows: a pooling, a norm, or neither for the places of maxima.
    fn sliding<const N: usize>(
        &self,
        op: &'static str,
        pool: Option<Pool>,
        p: Option<f32>,
        options: &PoolOptions<N>,
    ) -> Result<Self, Error> {
        let float = p.is_some() || pool == Some(Pool::Average);
        if float && !self.dtype().is_float() {
            return Err(Error::dtype(
                op,
                format!("the dtype must be a float: it is {}", self.dtype()),
            ));
        }
        let dtype = match (pool, p) {
            (None, None) => DType::I32,
            _ => self.dtype(),
        };
        self.with_batch(op, N, |x| {
            let shape = options
                .output_shape(op, x.shape())
                .map_err(|error| Error::from_kernel(op, error))?;
            let view = x.stored()?;
            Self::produce(x.device(), op, shape, dtype, |executor, out| {
                match (pool, p) {
                    (Some(pool), _) => executor.pool(pool, view, options, out),
                    (None, Some(p)) => executor.lp_pool(view, p, options, out),
                    (None, None) => executor.max_pool_indices(view, options, out),
                }
            })
        })
    }

    fn adaptive<const N: usize>(
        &self,
        op: &'static str,
        size: [usize; N],
        dtype: DType,
        record: impl Fn(&Executor, &View, &View) -> Result<(), KernelError>,
    ) -> Result<Self, Error> {
        self.with_batch(op, N, |x| {
            let dims: Vec<usize> = x.dims().iter().take(2).chain(&size).copied().collect();
            let shape = new_shape(op, &dims)?;
            let view = x.stored()?;
            Self::produce(x.device(), op, shape, dtype, |executor, out| {
                record(executor, view, out)
            })
        })
    }
}
