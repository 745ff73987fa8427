//! Matrix products with a name of their own: with scale and addend (gemm), of vectors, of stated rank.
//!
//! All are [`Tensor::matmul`] behind a rule about ranks; scale and addend are elementwise and wait with the rest of the
//! graph. f16 and bf16 stay in f32 between product and addend.

use ziggurat_core::DType;
use ziggurat_kernels::{Binary, FusedOp};

use super::arithmetic::{broadcast, launch};
use crate::operand::Side;
use crate::{Error, Tensor};

/// Scales and transposes of [`Tensor::gemm`].
///
/// ```
/// assert_eq!(ziggurat_tensor::GemmOptions::default().alpha, 1.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GemmOptions {
    /// Factor of the product.
    pub alpha: f64,
    /// Factor of the addend; 0 leaves it out, NaN in it included.
    pub beta: f64,
    /// Whether the left matrix is transposed first.
    pub trans_a: bool,
    /// Whether the right matrix is transposed first.
    pub trans_b: bool,
}

impl Default for GemmOptions {
    fn default() -> Self {
        Self {
            alpha: 1.0,
            beta: 1.0,
            trans_a: false,
            trans_b: false,
        }
    }
}

impl Tensor {
    /// `alpha · self · other + beta · c` of matrices, each transposed first if the options say so; `c` broadcasts to the
    /// result. With `beta` 0 nothing of `c` enters, not even NaN.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, GemmOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::from_slice(&device, &[1.0f32, 2.0], [2, 1])?;
    /// let c = Tensor::from_slice(&device, &[10.0f32], [1])?;
    /// let options = GemmOptions { alpha: 2.0, trans_a: true, ..GemmOptions::default() };
    /// assert_eq!(a.gemm(&a, Some(&c), &options)?.to_vec_blocking::<f32>()?, [20.0]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::matmul`]; if a matrix has not rank 2, `c` does not broadcast to the result, or a scale of integers is
    /// not an integer.
    pub fn gemm(
        &self,
        other: &Self,
        c: Option<&Self>,
        options: &GemmOptions,
    ) -> Result<Self, Error> {
        const OP: &str = "gemm";
        self.need_ranks(OP, 2, other, 2)?;
        let turned = |matrix: &Self, turn| {
            if turn { matrix.t() } else { Ok(matrix.clone()) }
        };
        let (a, b) = (
            turned(self, options.trans_a)?,
            turned(other, options.trans_b)?,
        );
        a.scaled_product(OP, &b, c, [options.alpha, options.beta])
    }

    /// `beta · self + alpha · a · b` of matrices; `self` broadcasts to the result and is ignored with `beta` 0.
    ///
    /// # Errors
    /// As [`Tensor::gemm`].
    pub fn addmm(&self, a: &Self, b: &Self, beta: f64, alpha: f64) -> Result<Self, Error> {
        a.need_ranks("addmm", 2, b, 2)?;
        a.scaled_product("addmm", b, Some(self), [alpha, beta])
    }

    /// [`Tensor::addmm`] of batches of matrices: `a` `[B, M, K]`, `b` `[B, K, N]`.
    ///
    /// # Errors
    /// As [`Tensor::bmm`] and [`Tensor::gemm`].
    pub fn baddbmm(&self, a: &Self, b: &Self, beta: f64, alpha: f64) -> Result<Self, Error> {
        a.need_same_batch("baddbmm", b)?;
        a.scaled_product("baddbmm", b, Some(self), [alpha, beta])
    }

    /// The products of two batches of matrices, `[B, M, K]` by `[B, K, N]`; no broadcasting ([`Tensor::matmul`] has it).
    ///
    /// # Errors
    /// As [`Tensor::matmul`], or if a rank is not 3 or the batches differ.
    pub fn bmm(&self, other: &Self) -> Result<Self, Error> {
        self.need_same_batch("bmm", other)?;
        self.product("bmm", other, None)
    }

    /// The product of two matrices.
    ///
    /// # Errors
    /// As [`Tensor::matmul`], or if a rank is not 2.
    pub fn mm(&self, other: &Self) -> Result<Self, Error> {
        self.need_ranks("mm", 2, other, 2)?;
        self.product("mm", other, None)
    }

    /// A matrix `[M, K]` times a vector `[K]`.
    ///
    /// # Errors
    /// As [`Tensor::matmul`], or if the ranks are not 2 and 1.
    pub fn mv(&self, vector: &Self) -> Result<Self, Error> {
        self.need_ranks("mv", 2, vector, 1)?;
        self.product("mv", vector, None)
    }

    /// The sum of the products of two vectors, of rank 0; of no elements it is 0.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::from_slice(&device, &[1.0f32, 2.0, 3.0], [3])?;
    /// assert_eq!(a.dot(&a)?.item_blocking::<f32>()?, 14.0);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::matmul`], or if a rank is not 1.
    pub fn dot(&self, other: &Self) -> Result<Self, Error> {
        self.need_ranks("dot", 1, other, 1)?;
        self.product("dot", other, None)
    }

    /// The sum of the products of all elements of two tensors with the same number of elements, whatever their shapes
    /// (NumPy's `vdot`; there are no complex numbers to conjugate).
    ///
    /// # Errors
    /// As [`Tensor::dot`], or if the numbers of elements differ.
    pub fn vdot(&self, other: &Self) -> Result<Self, Error> {
        if self.len() != other.len() {
            return Err(self.mismatch("vdot", "the numbers of elements differ", other));
        }
        let (a, b) = (
            self.reshape_to([self.len()])?,
            other.reshape_to([other.len()])?,
        );
        a.product("vdot", &b, None)
    }

    /// Every product of an element of one vector and one of another: `[M]` and `[N]` give `[M, N]`.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::from_slice(&device, &[1i32, 2], [2])?;
    /// let b = Tensor::from_slice(&device, &[3i32, 4, 5], [3])?;
    /// assert_eq!(a.outer(&b)?.to_vec2_blocking::<i32>()?, [[3, 4, 5], [6, 8, 10]]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If a rank is not 1, or the tensors are on different devices.
    pub fn outer(&self, other: &Self) -> Result<Self, Error> {
        self.need_ranks("outer", 1, other, 1)?;
        self.unsqueeze(1)?.mul(other)
    }

    fn need_ranks(
        &self,
        op: &'static str,
        rank: usize,
        other: &Self,
        other_rank: usize,
    ) -> Result<(), Error> {
        if (self.rank(), other.rank()) == (rank, other_rank) {
            return Ok(());
        }
        let rule = format!("the operands must have rank {rank} and {other_rank}");
        Err(self.mismatch(op, &rule, other))
    }

    fn need_same_batch(&self, op: &'static str, other: &Self) -> Result<(), Error> {
        self.need_ranks(op, 3, other, 3)?;
        if self.dims().first() != other.dims().first() {
            return Err(self.mismatch(op, "the batches differ", other));
        }
        Ok(())
    }

    /// `alpha · self · other + beta · c`, rounded once.
    pub(super) fn scaled_product(
        &self,
        op: &'static str,
        other: &Self,
        c: Option<&Self>,
        [alpha, beta]: [f64; 2],
    ) -> Result<Self, Error> {
        let mut dtype = self.dtype().promote(other.dtype());
        if let Some(c) = c {
            self.same_device(op, c)?;
            dtype = dtype.promote(c.dtype());
        }
        let addend = c.filter(|_| beta != 0.0);
        let wide = dtype.compute();
        let plain = alpha == 1.0 && addend.is_none();
        let written = Some(if plain { dtype } else { wide });
        let product = if self.dtype().is_float() && other.dtype().is_float() {
            self.product(op, other, written)?
        } else {
            let (a, b) = (self.converted(op, dtype)?, other.converted(op, dtype)?);
            a.product(op, &b, written)?
        };
        if let Some(c) = c {
            let all = broadcast(op, &[*product.shape(), *c.shape()]).ok();
            if all != Some(*product.shape()) {
                return Err(Error::shape(
                    op,
                    format!(
                        "the addend must broadcast to the product: it is {}, the product {}",
                        c.shape(),
                        product.shape()
                    ),
                ));
            }
        }
        check_factor(op, dtype, alpha)?;
        if addend.is_some() {
            check_factor(op, dtype, beta)?;
        }
        let scaled = |value: Self, by: f64| match by {
            1.0 => Ok(value),
            by => {
                let (value, by) = (Side::Tensor(&value), Side::Scalar(by.into()));
                launch(op, FusedOp::Binary(Binary::Mul), value, by, wide)
            }
        };
        let mut sum = scaled(product, alpha)?;
        if let Some(addend) = addend {
            sum = sum.add(scaled(addend.converted(op, wide)?, beta)?)?;
        }
        sum.converted(op, dtype)
    }
}

/// A scale must be a number of the dtype.
fn check_factor(op: &'static str, dtype: DType, factor: f64) -> Result<(), Error> {
    let info = dtype.compute().info();
    let fits = factor.fract() == 0.0 && (info.lowest..=info.greatest).contains(&factor);
    if dtype.is_float() || fits {
        return Ok(());
    }
    let rule = format!(
        "a scale of {dtype} must be a 32-bit integer, not negative if {dtype} is unsigned: it is {factor}"
    );
    Err(Error::argument(op, rule))
}
