//! Tensors with a pattern: triangles, diagonals, one-hot vectors, even spacing.
//!
//! Triangles and one-hot vectors are comparisons of positions and a choice, which fuse into one kernel with what follows.

use ziggurat_core::DType;
use ziggurat_kernels::formulas::{self, Triangle};

use super::composite::Value;
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
        self.triangle("tril", k, Triangle::Lower)
    }

    /// The upper triangle of the last two axes, from the `k`-th diagonal on; zeros below.
    ///
    /// # Errors
    /// If there are fewer than two axes.
    pub fn triu(&self, k: isize) -> Result<Self, Error> {
        self.triangle("triu", k, Triangle::Upper)
    }

    fn triangle(&self, op: &'static str, k: isize, side: Triangle) -> Result<Self, Error> {
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
        let (row, column) = (count(rows)?.unsqueeze(1)?, count(cols)?);
        self.formula(op, |recording| {
            let places = [&Value::from(&row), &Value::from(&column)];
            formulas::triangle(recording, &Value::from(self), places, side, k as i64)
        })
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
    /// If the indices are no integers, or the axis is out of range.
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
        let hot = [on.into().value(), off.into().value()];
        self.formula(op, |recording| {
            let operands = [&Value::from(&index), &Value::from(&place)];
            formulas::one_hot(recording, operands, count, hot, dtype)
        })
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
        if !(start.is_finite() && end.is_finite()) {
            let detail = format!("the bounds must be finite: {start} to {end} given");
            return Err(Error::argument("linspace", detail));
        }
        if n < 2 {
            return Self::full(device, [n], start, DType::F32);
        }
        let place = Self::arange(device, 0, n as f64, 1, DType::F32)?;
        let bounds = [f64::from(start), f64::from(end)];
        place.formula("linspace", |recording| {
            formulas::linspace(recording, &Value::from(&place), bounds, n)
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
        if !(start.is_finite() && end.is_finite()) {
            let detail = format!("the bounds must be finite: {start} to {end} given");
            return Err(Error::argument("logspace", detail));
        }
        Self::linspace(device, start, end, n)?.rpow(base)
    }
}
