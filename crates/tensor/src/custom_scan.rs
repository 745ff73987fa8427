//! [`CustomScan`]: scans by a user's own WGSL, on the kernels of `cumsum`.

use ziggurat_core::DType;
use ziggurat_kernels::{ScanOp, ScanOptions};

use crate::custom_reduce::Combine;
use crate::operand::Operand;
use crate::{Error, Scalar, Tensor};

/// A scan in WGSL: each element combined with all before it along an axis.
///
/// It runs on the kernels of `cumsum`: along any axis of views of any strides, in one pass or three, by a tree that is the same
/// on every run. The text is that of a [`CustomReduce`](crate::CustomReduce), with the same types; `combine` is associative, but
/// for rounding, and need not be commutative: its first argument stands before its second.
///
/// ```
/// use ziggurat_tensor::{CustomScan, Device, DeviceOptions, ScanOptions, Tensor};
///
/// let device = Device::open_blocking(DeviceOptions::default())?;
/// let highest = CustomScan::new(
///     "highest",
///     f32::MIN,
///     "fn combine(a: f32, b: f32) -> f32 { return max(a, b); }",
/// )?;
/// let x = Tensor::from_slice(&device, &[1.0f32, 3.0, 2.0, 5.0], [4])?;
/// assert_eq!(highest.call(&x, 0)?.to_vec_blocking::<f32>()?, [1.0, 3.0, 3.0, 5.0]);
/// let reverse = ScanOptions { reverse: true, ..ScanOptions::default() };
/// assert_eq!(highest.call_with(&x, 0, reverse)?.to_vec_blocking::<f32>()?, [5.0; 4]);
///
/// // y[i] = a[i] * y[i - 1] + b[i], as steps (a, b) that follow each other.
/// let decay = CustomScan::from_wgsl(
///     "decay",
///     "fn identity() -> vec2f { return vec2(1.0, 0.0); }
///      fn lift(x: f32) -> vec2f { return vec2(0.5, x); }
///      fn combine(a: vec2f, b: vec2f) -> vec2f { return vec2(a.x * b.x, a.y * b.x + b.y); }
///      fn finish(a: vec2f) -> f32 { return a.y; }",
/// )?;
/// assert_eq!(decay.call(&x, 0)?.to_vec_blocking::<f32>()?, [1.0, 3.5, 3.75, 6.875]);
/// # Ok::<(), ziggurat_tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CustomScan {
    pub(crate) combine: Combine,
}

impl CustomScan {
    /// A scan from WGSL text with `fn combine` of f32, i32 or u32, and the number that changes nothing it is combined with.
    ///
    /// # Errors
    /// As [`CustomReduce::new`](crate::CustomReduce::new).
    pub fn new(name: &str, identity: impl Into<Scalar>, text: &str) -> Result<Self, Error> {
        let combine = Combine::new(name, identity.into(), text)?;
        Ok(Self { combine })
    }

    /// A scan from WGSL text that also has `fn identity`, of numbers, vectors or structs.
    ///
    /// # Errors
    /// As [`CustomReduce::from_wgsl`](crate::CustomReduce::from_wgsl).
    pub fn from_wgsl(name: &str, text: &str) -> Result<Self, Error> {
        let combine = Combine::from_wgsl(name, text)?;
        Ok(Self { combine })
    }

    /// The scan along `axis`, in the shape of `x`.
    ///
    /// # Errors
    /// If the axis is out of range, or the tensor is of a dtype that the text does not take.
    pub fn call(&self, x: &Tensor, axis: isize) -> Result<Tensor, Error> {
        self.call_with(x, axis, ScanOptions::default())
    }

    /// The same from the far end, or without the element itself: the first result is then the identity, finished. From the far
    /// end, what comes first for `combine` is what lies behind.
    ///
    /// # Errors
    /// As [`CustomScan::call`].
    pub fn call_with(
        &self,
        x: &Tensor,
        axis: isize,
        options: ScanOptions,
    ) -> Result<Tensor, Error> {
        let (x, dtype) = self.combine.operand(x)?;
        self.along(&x, dtype, axis, options)
    }

    /// The scan of several tensors and numbers, as many as the text's `lift` takes, which broadcast, as
    /// [`CustomReduce::call_of`](crate::CustomReduce::call_of) takes them.
    ///
    /// ```
    /// use ziggurat_tensor::{CustomScan, Device, DeviceOptions, ScanOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let area = CustomScan::new(
    ///     "area",
    ///     0.0,
    ///     "fn lift(height: f32, width: f32) -> f32 { return height * width; }
    ///      fn combine(a: f32, b: f32) -> f32 { return a + b; }",
    /// )?;
    /// let x = Tensor::from_slice(&device, &[1.0f32, 3.0, 2.0], [3])?;
    /// let y = area.call_of(&[&x, &0.5], 0, ScanOptions::default())?;
    /// assert_eq!(y.to_vec_blocking::<f32>()?, [0.5, 2.0, 3.0]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`CustomOp::call`](crate::CustomOp::call) and [`CustomScan::call`].
    pub fn call_of(
        &self,
        operands: &[&dyn Operand],
        axis: isize,
        options: ScanOptions,
    ) -> Result<Tensor, Error> {
        let (x, dtype) = self.combine.operands(operands)?;
        self.along(&x, dtype, axis, options)
    }

    fn along(
        &self,
        x: &Tensor,
        dtype: DType,
        axis: isize,
        options: ScanOptions,
    ) -> Result<Tensor, Error> {
        let name = self.combine.name();
        if x.rank() == 0 {
            x.shape()
                .axis(axis)
                .map_err(|error| Error::from_shape(name, error))?;
            let row = x.unsqueeze(0)?;
            return self.along(&row, dtype, 0, options)?.select(0, 0);
        }
        let at = x.axis_of(name, axis)?;
        let op = ScanOp::User {
            op: self.combine.op,
            identity: self.combine.identity,
        };
        let view = x.stored()?;
        Tensor::produce(x.device(), name, *x.shape(), dtype, |executor, out| {
            executor.scan(op, view, at, options, out)
        })
    }
}
