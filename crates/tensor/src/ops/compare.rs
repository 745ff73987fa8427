//! Comparisons, and choosing by their outcome.
//!
//! Results are bool tensors. Comparing with NaN is false, except that it differs from everything.

use ziggurat_core::DType;
use ziggurat_kernels::{Compare, Composite, FusedOp};

use super::arithmetic::{broadcast, launch};
use crate::operand::{Operand, Side};
use crate::{Error, Tensor};

pub(super) fn compare(
    op: &'static str,
    kernel: Compare,
    a: &Tensor,
    b: Side<'_>,
) -> Result<Tensor, Error> {
    let a = Side::Tensor(a);
    launch(op, FusedOp::Compare(kernel), a, b, a.combined_dtype(b))
}

macro_rules! comparisons {
    ($($(#[$doc:meta])* $name:ident, $kernel:ident;)*) => {
        impl Tensor {
            $($(#[$doc])*
            ///
            /// # Errors
            /// If the shapes do not broadcast, or the tensors are on different devices.
            pub fn $name(&self, other: impl Operand) -> Result<Self, Error> {
                compare(stringify!($name), Compare::$kernel, self, other.side())
            })*
        }
    };
}

comparisons! {
    /// Where `self` equals `other`.
    eq, Eq;
    /// Where `self` differs from `other`.
    ne, Ne;
    /// Where `self` is less than `other`.
    lt, Lt;
    /// Where `self` is at most `other`.
    le, Le;
    /// Where `self` is greater than `other`.
    gt, Gt;
    /// Where `self` is at least `other`.
    ge, Ge;
}

impl Tensor {
    /// `a` where `self` (a bool tensor) is true, `b` elsewhere; all three broadcast.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::from_slice(&device, &[-1.0f32, f32::NAN, 3.0], [3])?;
    /// let b = a.gt(0.0)?.where_(&a, 0.0)?;
    /// assert_eq!(b.to_vec_blocking::<f32>()?, [0.0, 0.0, 3.0]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If `self` is not bool, the shapes do not broadcast, or the tensors are on different devices.
    #[doc(alias = "where")]
    pub fn where_(&self, a: impl Operand, b: impl Operand) -> Result<Self, Error> {
        let (a, b) = (a.side(), b.side());
        let dtype = match (a, b) {
            (Side::Scalar(a), Side::Scalar(b)) => b.promoted_with(a.promoted_with(DType::Bool)),
            _ => a.combined_dtype(b),
        };
        choose("where", self, a, b, dtype)
    }
}

/// `a` where `condition` is true, `b` elsewhere, in `dtype`.
pub(super) fn choose(
    op: &'static str,
    condition: &Tensor,
    a: Side<'_>,
    b: Side<'_>,
    dtype: DType,
) -> Result<Tensor, Error> {
    if !condition.dtype().is_bool() {
        let rule = format!("the condition must be bool: it is {}", condition.dtype());
        return Err(Error::dtype(op, rule));
    }
    for side in [a, b] {
        if let Side::Tensor(tensor) = side {
            condition.same_device(op, tensor)?;
        }
    }
    let shape = broadcast(op, &[*condition.shape(), a.shape(), b.shape()])?;
    let (a, b) = (
        a.to_input(op, dtype, condition)?,
        b.to_input(op, dtype, condition)?,
    );
    let inputs = [
        Some(condition.as_input(condition.device())?),
        Some(a),
        Some(b),
    ];
    Tensor::record(condition.device(), op, FusedOp::Where, &shape, inputs)
}

/// How far apart two numbers may be, for [`Tensor::isclose`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Closeness {
    /// Relative to the size of the second number; by default 1e-5.
    pub rtol: f64,
    /// Absolute; by default 1e-8.
    pub atol: f64,
    /// Whether NaN is close to NaN; by default it is not.
    pub equal_nan: bool,
}

impl Default for Closeness {
    fn default() -> Self {
        Self {
            rtol: 1e-5,
            atol: 1e-8,
            equal_nan: false,
        }
    }
}

impl Tensor {
    /// Where `|self - other| <= atol + rtol · |other|`, as a bool tensor. Equal infinities are close, NaN is close to
    /// nothing unless asked for. Floats are compared in f32; integers and bool exactly where the tolerances are 0, else in
    /// f32.
    ///
    /// ```
    /// use ziggurat_tensor::{Closeness, Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::from_slice(&device, &[1.0f32, 2.0, f32::INFINITY, f32::NAN], [4])?;
    /// let b = Tensor::from_slice(&device, &[1.000001f32, 2.1, f32::INFINITY, f32::NAN], [4])?;
    /// let close = a.isclose(&b, &Closeness::default())?;
    /// assert_eq!(close.to_vec_blocking::<bool>()?, [true, false, true, false]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If a tolerance is negative or NaN, the shapes do not broadcast, or the tensors are on different devices.
    pub fn isclose(&self, other: &Self, options: &Closeness) -> Result<Self, Error> {
        const OP: &str = "isclose";
        let (a, b) = (Side::Tensor(self), Side::Tensor(other));
        let numbers = [options.rtol, options.atol, f64::from(options.equal_nan)];
        Self::composed(
            OP,
            Composite::Isclose,
            &[a, b],
            &numbers,
            a.combined_dtype(b),
        )
    }

    /// `value` where `mask` (a bool tensor) is true, `self` elsewhere, in the dtype of `self`.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::from_slice(&device, &[-1.0f32, 2.0, 3.0], [3])?;
    /// let b = a.masked_fill(&a.gt(1.0)?, f32::NEG_INFINITY)?;
    /// assert_eq!(b.to_vec_blocking::<f32>()?, [-1.0, f32::NEG_INFINITY, f32::NEG_INFINITY]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If `mask` is not bool, the shapes do not broadcast, or `value` is of a higher category (a float for integers) or does
    /// not fit the dtype.
    pub fn masked_fill(&self, mask: &Self, value: impl Operand) -> Result<Self, Error> {
        const OP: &str = "masked_fill";
        let value = value.side();
        let dtype = Side::Tensor(self).combined_dtype(value);
        if crate::scalar::category(dtype) != crate::scalar::category(self.dtype()) {
            let rule = format!(
                "the value must be of the tensor's category: {} and {dtype}",
                self.dtype()
            );
            return Err(Error::dtype(OP, rule));
        }
        choose(OP, mask, value, Side::Tensor(self), self.dtype())
    }

    /// NaN replaced by 0, infinities by the dtype's largest and lowest numbers. Integers and bool stay as they are.
    ///
    /// # Errors
    /// If the device has no memory for the result.
    pub fn nan_to_num(&self) -> Result<Self, Error> {
        self.nan_to_num_with(0.0, None, None)
    }

    /// NaN replaced by `nan`, `inf` by `posinf` and `-inf` by `neginf`; where those are `None`, by the dtype's largest and
    /// lowest numbers. Integers and bool stay as they are.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::from_slice(&device, &[f32::NAN, f32::INFINITY, f32::NEG_INFINITY], [3])?;
    /// let b = a.nan_to_num_with(-1.0, Some(9.0), None)?;
    /// assert_eq!(b.to_vec_blocking::<f32>()?, [-1.0, 9.0, f32::MIN]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the device has no memory for the result.
    pub fn nan_to_num_with(
        &self,
        nan: f64,
        posinf: Option<f64>,
        neginf: Option<f64>,
    ) -> Result<Self, Error> {
        if !self.dtype().is_float() {
            return Ok(self.clone());
        }
        let largest = self.dtype().info().greatest;
        let (high, low) = (posinf.unwrap_or(largest), neginf.unwrap_or(-largest));
        self.composed_float("nan_to_num", Composite::NanToNum, &[], &[nan, high, low])
    }
}
