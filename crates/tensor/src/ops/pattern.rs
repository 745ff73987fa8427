//! Tensors with a pattern: triangles, diagonals, one-hot vectors, even spacing.
//!
//! Triangles and one-hot vectors are comparisons of positions and a choice, which fuse into one kernel with what follows.

use ziggurat_core::DType;
use ziggurat_kernels::Compare;

use super::compare::{choose, compare};
use crate::operand::Side;
use crate::tensor::{diagonal, new_shape};
use crate::{Error, Scalar, Tensor};

impl Tensor {
    /// The lower triangle of the last two axes, up to the `k`-th diagonal; zeros above.
    ///
    /// ```
    /// use ziggurat_tensor::{DType, Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::ones(&device, [2, 3], DType::I32)?;
    /// assert_eq!(a.tril(0)?.to_vec2_blocking::<i32>()?, [[1, 0, 0], [1, 1, 0]]);
    /// assert_eq!(a.triu(1)?.to_vec2_blocking::<i32>()?, [[0, 1, 1], [0, 0, 1]]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there are fewer than two axes.
    pub fn tril(&self, k: isize) -> Result<Self, Error> {
        self.triangle("tril", k, Compare::Le)
    }

    /// The upper triangle of the last two axes, from the `k`-th diagonal on; zeros below.
    ///
    /// # Errors
    /// If there are fewer than two axes.
    pub fn triu(&self, k: isize) -> Result<Self, Error> {
        self.triangle("triu", k, Compare::Ge)
    }

    /// The elements whose `column - row` compares with `k`; zeros elsewhere.
    fn triangle(&self, op: &'static str, k: isize, side: Compare) -> Result<Self, Error> {
        let &[.., rows, cols] = self.dims() else {
            let detail = format!(
                "the tensor must have two axes: its shape is {}",
                self.shape()
            );
            return Err(Error::shape(op, detail));
        };
        if self.is_empty() {
            return Ok(self.clone());
        }
        let count = |len: usize| Self::arange(self.device(), 0, len as f64, 1, DType::I32);
        let distance = count(cols)?.sub(count(rows)?.unsqueeze(1)?)?;
        // No distance is beyond an i32: beyond it all diagonals are alike.
        let k = k.clamp(i32::MIN as isize, i32::MAX as isize) as i32;
        let kept = compare(op, side, &distance, Side::Scalar(k.into()))?;
        let zero = Side::Scalar(0.into());
        choose(op, &kept, Side::Tensor(self), zero, self.dtype())
    }

    /// Of a vector the matrix with it on the `k`-th diagonal, of a matrix its `k`-th diagonal (a view).
    ///
    /// # Errors
    /// If the rank is neither 1 nor 2.
    pub fn diag(&self, k: isize) -> Result<Self, Error> {
        match self.rank() {
            1 => self.diag_embed(k),
            2 => self.diagonal(k, 0, 1),
            _ => {
                let detail = format!("the rank must be 1 or 2: shape is {}", self.shape());
                Err(Error::shape("diag", detail))
            }
        }
    }

    /// Matrices with the last axis on their `k`-th diagonal and zeros elsewhere.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::from_slice(&device, &[1i32, 2], [2])?;
    /// assert_eq!(a.diag_embed(-1)?.to_vec2_blocking::<i32>()?, [[0, 0, 0], [1, 0, 0], [0, 2, 0]]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the rank is 0 or the result is too large.
    pub fn diag_embed(&self, k: isize) -> Result<Self, Error> {
        let op = "diag_embed";
        let Some((&len, outer)) = self.dims().split_last() else {
            return Err(Error::shape(
                op,
                "the tensor must have an axis: its rank is 0",
            ));
        };
        let side = len.saturating_add(k.unsigned_abs());
        let mut dims = outer.to_vec();
        dims.extend([side, side]);
        let shape = new_shape(op, &dims)?;
        let view = self.stored()?;
        let rank = dims.len();
        Self::produce(self.device(), op, shape, self.dtype(), |executor, out| {
            let _filled = executor.fill(out, 0.0)?;
            let layout = diagonal(&out.layout, k, rank - 2, rank - 1)
                .map_err(|source| ziggurat_kernels::KernelError::Shape { op, source })?;
            executor.copy(view, &out.with_layout(layout)?)
        })
    }

    /// A new axis of extent `depth` at `axis` with `on` at the position that the index names and `off` elsewhere.
    /// Negative indices count from the end; an index outside gives `off` everywhere.
    ///
    /// ```
    /// use ziggurat_tensor::{DType, Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::from_slice(&device, &[1i32, -1, 7], [3])?;
    /// let hot = a.one_hot(3, -1, 1, 0, DType::I32)?;
    /// assert_eq!(hot.to_vec2_blocking::<i32>()?, [[0, 1, 0], [0, 0, 1], [0, 0, 0]]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the indices are no integers, the axis is out of range, or `dtype` is one of integers that does not hold `on` or `off`.
    pub fn one_hot(
        &self,
        depth: usize,
        axis: isize,
        on: impl Into<Scalar>,
        off: impl Into<Scalar>,
        dtype: DType,
    ) -> Result<Self, Error> {
        let op = "one_hot";
        if self.dtype().is_float() || self.dtype().is_bool() {
            let detail = format!("indices must be integers: they are {}", self.dtype());
            return Err(Error::dtype(op, detail));
        }
        let count = u32::try_from(depth).ok();
        let Some(count) = count.filter(|&count| i32::try_from(count).is_ok()) else {
            let detail = format!("the depth must be below 2^31: it is {depth}");
            return Err(Error::shape(op, detail));
        };
        let index = self.unsqueeze(axis)?;
        let at = index.rank().cast_signed();
        let axis = if axis < 0 { axis + at } else { axis };
        let mut dims = vec![1; index.rank()];
        if let Some(slot) = dims.get_mut(axis.unsigned_abs()) {
            *slot = depth;
        }
        let place = Self::arange(self.device(), 0, count, 1, DType::I32)?.reshape_to(dims)?;
        let (count, signed) = (Scalar::from(count), index.converted(op, DType::I32)?);
        let here = signed.eq(&place)?;
        let hit = if self.dtype().is_signed() {
            here.bitwise_or(signed.add(count)?.eq(&place)?)?
        } else {
            // A u32 index beyond i32 becomes negative and must not count from the end.
            let wide = if self.dtype() == DType::U32 {
                &index
            } else {
                &signed
            };
            here.bitwise_and(wide.lt(count)?)?
        };
        let (on, off) = (Side::Scalar(on.into()), Side::Scalar(off.into()));
        choose(op, &hit, on, off, dtype)
    }

    /// `n` evenly spaced f32 values from `start` to `end`, both included; one value is `start`.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// assert_eq!(Tensor::linspace(&device, 0.0, 1.0, 5)?.to_vec_blocking::<f32>()?, [0.0, 0.25, 0.5, 0.75, 1.0]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If a bound is not finite.
    pub fn linspace(device: &crate::Device, start: f32, end: f32, n: usize) -> Result<Self, Error> {
        let op = "linspace";
        let shape = new_shape(op, &[n])?;
        Self::produce(device, op, shape, DType::F32, |executor, out| {
            executor.linspace(start, end, out)
        })
    }

    /// `n` f32 values from `base` to the power of `start` to that of `end`, both included, whose exponents are evenly spaced;
    /// PyTorch's default base is 10.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// assert_eq!(Tensor::logspace(&device, 0.0, 3.0, 4, 2.0)?.to_vec_blocking::<f32>()?, [1.0, 2.0, 4.0, 8.0]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If a bound is not finite.
    pub fn logspace(
        device: &crate::Device,
        start: f32,
        end: f32,
        n: usize,
        base: f32,
    ) -> Result<Self, Error> {
        Self::linspace(device, start, end, n)?.rpow(base)
    }
}
