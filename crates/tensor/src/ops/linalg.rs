//! Linear systems, inverses, determinants and Cholesky factors of small matrices, in batches.
//!
//! Computed in f32; f16 and bf16 are rounded at the end. Nothing waits for the device to find a matrix singular: the result
//! then holds infinities or NaN. Matrices have at most 1,024 rows.

use ziggurat_core::DType;

use super::arithmetic::broadcast;
use crate::tensor::new_shape;
use crate::{Error, Tensor};

impl Tensor {
    /// X with `self` · X = `other`, for `self` `[.., n, n]` and `other` `[.., n, columns]` or a vector `[n]`; batches
    /// broadcast. By LU factorisation with partial pivoting. A singular matrix gives infinities or NaN.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::from_slice(&device, &[0.0f32, 2.0, 1.0, 1.0], [2, 2])?;
    /// let b = Tensor::from_slice(&device, &[4.0f32, 5.0], [2])?;
    /// assert_eq!(a.solve(&b)?.to_vec_blocking::<f32>()?, [3.0, 2.0]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the matrices are not square or have more than 1,024 rows, the shapes do not fit, or the dtype is not a float.
    pub fn solve(&self, other: &Self) -> Result<Self, Error> {
        self.solved("solve", other, None)
    }

    /// X with T · X = `other` for the upper or lower triangle T of `self`, with ones on its diagonal if `unit_diagonal`; the
    /// other triangle is ignored. Shapes as in [`Tensor::solve`].
    ///
    /// # Errors
    /// As [`Tensor::solve`].
    pub fn solve_triangular(
        &self,
        other: &Self,
        upper: bool,
        unit_diagonal: bool,
    ) -> Result<Self, Error> {
        self.solved("solve_triangular", other, Some([upper, unit_diagonal]))
    }

    /// The inverses of square matrices `[.., n, n]`; a singular one gives infinities or NaN.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::from_slice(&device, &[0.0f32, 2.0, 4.0, 0.0], [2, 2])?;
    /// assert_eq!(a.inverse()?.to_vec_blocking::<f32>()?, [0.0, 0.25, 0.5, 0.0]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::solve`].
    #[doc(alias = "inv")]
    pub fn inverse(&self) -> Result<Self, Error> {
        const OP: &str = "inverse";
        let n = self.square_side(OP)?;
        let eye = Self::eye(self.device(), n, self.dtype())?;
        self.solved(OP, &eye, None)
    }

    /// The determinants of square matrices `[.., n, n]`, in the shape of the batch; of a matrix without rows it is 1.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::from_slice(&device, &[0.0f32, 2.0, 4.0, 1.0], [2, 2])?;
    /// assert_eq!(a.det()?.item_blocking::<f32>()?, -8.0);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::solve`].
    pub fn det(&self) -> Result<Self, Error> {
        const OP: &str = "det";
        self.square_side(OP)?;
        let wide = self.converted(OP, DType::F32)?;
        let batch = self.dims().split_last_chunk::<2>();
        let shape = new_shape(OP, batch.map_or(&[][..], |(batch, _)| batch))?;
        let view = wide.stored()?;
        Self::produce(self.device(), OP, shape, DType::F32, |executor, out| {
            executor.determinant(view, out)
        })?
        .converted(OP, self.dtype())
    }

    /// L, lower triangular, with L · Lᵀ = `self` for symmetric positive definite matrices `[.., n, n]`, of which the lower
    /// triangle is read. Another matrix gives NaN from its first bad pivot on.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::from_slice(&device, &[4.0f32, 2.0, 2.0, 10.0], [2, 2])?;
    /// assert_eq!(a.cholesky()?.to_vec_blocking::<f32>()?, [2.0, 0.0, 1.0, 3.0]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::solve`].
    pub fn cholesky(&self) -> Result<Self, Error> {
        const OP: &str = "cholesky";
        self.square_side(OP)?;
        let wide = self.converted(OP, DType::F32)?;
        let view = wide.stored()?;
        Self::produce(
            self.device(),
            OP,
            *self.shape(),
            DType::F32,
            |executor, out| executor.cholesky(view, out),
        )?
        .converted(OP, self.dtype())
    }

    /// The side of the matrices, of a float dtype.
    fn square_side(&self, op: &'static str) -> Result<usize, Error> {
        if !self.dtype().is_float() {
            return Err(Error::dtype(
                op,
                format!("the dtype must be a float: it is {}", self.dtype()),
            ));
        }
        match *self.dims() {
            [.., rows, cols] if rows == cols => Ok(rows),
            _ => Err(Error::shape(
                op,
                format!("matrices must be square: {} given", self.shape()),
            )),
        }
    }

    fn solved(
        &self,
        op: &'static str,
        other: &Self,
        triangle: Option<[bool; 2]>,
    ) -> Result<Self, Error> {
        self.same_device(op, other)?;
        let n = self.square_side(op)?;
        let dtype = self.dtype().promote(other.dtype());
        if other.rank() == 1 {
            return self
                .solved(op, &other.unsqueeze(1)?, triangle)?
                .squeeze_axis(-1);
        }
        let (Some((batch, _)), Some((other_batch, &[rows, columns]))) = (
            self.dims().split_last_chunk::<2>(),
            other.dims().split_last_chunk::<2>(),
        ) else {
            return Err(self.mismatch(op, "right sides must have rank 1 or more", other));
        };
        if rows != n {
            return Err(self.mismatch(op, "matrices and right sides differ in rows", other));
        }
        let all = broadcast(op, &[new_shape(op, batch)?, new_shape(op, other_batch)?])
            .map_err(|_| self.mismatch(op, "batch dimensions do not broadcast", other))?;
        let a = self
            .converted(op, DType::F32)?
            .broadcast_to([all.dims(), &[n, n]].concat())?;
        let b = other
            .converted(op, DType::F32)?
            .broadcast_to([all.dims(), &[n, columns]].concat())?;
        let (left, right) = (a.stored()?, b.stored()?);
        Self::produce(
            self.device(),
            op,
            *b.shape(),
            DType::F32,
            |executor, out| match triangle {
                Some([upper, unit]) => executor.solve_triangular(left, right, upper, unit, out),
                None => executor.solve(left, right, out),
            },
        )?
        .converted(op, dtype)
    }
}
