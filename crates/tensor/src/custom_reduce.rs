//! [`CustomReduce`]: reductions by a user's own WGSL, on the kernels of the built-in ones.
//!
//! What a text combines, from which identity, is shared with [`CustomScan`](crate::CustomScan).

use ziggurat_core::DType;
use ziggurat_core::text::shortened;
use ziggurat_kernels::{Call, UserCombine};

use crate::custom_op::{apply, combined_dtype, taken};
use crate::operand::{Operand, Side};
use crate::{Error, Scalar, Tensor};

/// A reduction in WGSL: `fn combine` of two numbers, or of two values of a type of one's own.
///
/// It runs on the kernels of `sum` and `max`: over any axes of views of any strides, in one pass or two, by a tree that is
/// the same on every run; it reads pending expressions, and what takes its result may be written by its kernel.
///
/// The text has
///
/// | function | |
/// | --- | --- |
/// | `fn combine(a: T, b: T) -> T` | associative and commutative, but for rounding: in which order elements meet is not said |
/// | `fn lift(x: E) -> T` | what an element is before it is combined; itself if the function is not there; of up to eight operands, see [`CustomReduce::call_of`] |
/// | `fn finish(a: T) -> R` | what the result is of all combined; that if the function is not there |
///
/// `T` is f32, i32 or u32, or with [`CustomReduce::from_wgsl`] a vector or struct of the text. `E` and `R` are f32, i32, u32 or
/// bool. The text may have further functions, constants and types, under the rules of [`CustomOp`](crate::CustomOp), and
/// without loops and indices.
///
/// # Types
///
/// Tensors are taken as [`CustomOp`](crate::CustomOp) takes them for a parameter of type `E`. The result is of `R`, but that of
/// a tensor of f16 or bf16 which is f32 in the text has the tensor's dtype: combined in f32, and rounded once.
///
/// ```
/// use ziggurat_tensor::{CustomReduce, Device, DeviceOptions, Tensor};
///
/// let device = Device::open_blocking(DeviceOptions::default())?;
/// // The harmonic sum: 1 / (1/a + 1/b + …).
/// let harmonic = CustomReduce::new(
///     "harmonic",
///     0.0,
///     "fn lift(x: f32) -> f32 { return 1.0 / x; }
///      fn combine(a: f32, b: f32) -> f32 { return a + b; }
///      fn finish(a: f32) -> f32 { return 1.0 / a; }",
/// )?;
/// let x = Tensor::from_slice(&device, &[2.0f32, 2.0, 4.0, 4.0], [2, 2])?;
/// assert_eq!(harmonic.call(&x, [1], false)?.to_vec_blocking::<f32>()?, [1.0, 2.0]);
/// assert_eq!(harmonic.call(&(&x * 2.0)?, [0, 1], true)?.explain()?.kernels().len(), 1);
///
/// let bits = CustomReduce::new("bits", 0, "fn combine(a: u32, b: u32) -> u32 { return a | b; }")?;
/// let x = Tensor::from_slice(&device, &[1u8, 4, 4, 16], [4])?;
/// assert_eq!(bits.call(&x, [0], false)?.to_vec_blocking::<u32>()?, [21]);
/// # Ok::<(), ziggurat_tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CustomReduce {
    pub(crate) combine: Combine,
}

impl CustomReduce {
    /// A reduction from WGSL text with `fn combine` of f32, i32 or u32. `identity` is the number that changes nothing it is
    /// combined with, and which is finished where there are no elements.
    ///
    /// # Errors
    /// [`Error::is_kernel`], with line and column in the text, as
    /// [`CustomOp::elementwise`](crate::CustomOp::elementwise); [`Error::is_dtype`] if the identity is no number of that type.
    pub fn new(name: &str, identity: impl Into<Scalar>, text: &str) -> Result<Self, Error> {
        let combine = Combine::new(name, identity.into(), text)?;
        Ok(Self { combine })
    }

    /// A reduction from WGSL text that also has `fn identity() -> T`. `T` may then be a vector or struct of at most four words:
    /// f32, i32, u32 and vectors of them.
    ///
    /// ```
    /// use ziggurat_tensor::{CustomReduce, Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let span = CustomReduce::from_wgsl(
    ///     "span",
    ///     "struct Range { least: f32, greatest: f32 }
    ///      fn identity() -> Range { return Range(3.4e38, -3.4e38); }
    ///      fn lift(x: f32) -> Range { return Range(x, x); }
    ///      fn combine(a: Range, b: Range) -> Range {
    ///          return Range(min(a.least, b.least), max(a.greatest, b.greatest));
    ///      }
    ///      fn finish(a: Range) -> f32 { return a.greatest - a.least; }",
    /// )?;
    /// let x = Tensor::from_slice(&device, &[2.0f32, -1.0, 5.0], [3])?;
    /// assert_eq!(span.call(&x, [0], false)?.item_blocking::<f32>()?, 6.0);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`CustomReduce::new`].
    pub fn from_wgsl(name: &str, text: &str) -> Result<Self, Error> {
        let combine = Combine::from_wgsl(name, text)?;
        Ok(Self { combine })
    }

    /// The reduction of several tensors and numbers, as many as the text's `lift` takes, which broadcast. What is combined is then
    /// a number, f32, i32 or u32. A result in f32 has the dtype in which the operands of floats are combined, rounded once.
    ///
    /// ```
    /// use ziggurat_tensor::{CustomReduce, Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let distance = CustomReduce::new(
    ///     "distance",
    ///     0.0,
    ///     "fn lift(x: f32, y: f32) -> f32 { return (x - y) * (x - y); }
    ///      fn combine(a: f32, b: f32) -> f32 { return a + b; }
    ///      fn finish(a: f32) -> f32 { return sqrt(a); }",
    /// )?;
    /// let x = Tensor::from_slice(&device, &[3.0f32, 0.0, 0.0, 8.0], [2, 2])?;
    /// let y = Tensor::from_slice(&device, &[0.0f32, 4.0], [2])?;
    /// let z = distance.call_of(&[&x, &y], [-1], false)?;
    /// assert_eq!(z.explain()?.kernels().len(), 1);
    /// assert_eq!(z.to_vec_blocking::<f32>()?, [5.0, 4.0]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`CustomOp::call`](crate::CustomOp::call) and [`CustomReduce::call`].
    pub fn call_of(
        &self,
        operands: &[&dyn Operand],
        axes: impl AsRef<[isize]>,
        keepdim: bool,
    ) -> Result<Tensor, Error> {
        let (x, dtype) = self.combine.operands(operands)?;
        self.over(&x, dtype, axes.as_ref(), keepdim)
    }

    /// The reduction over `axes`, which may be negative; an empty list reduces nothing, but lifts and finishes. With
    /// `keepdim` the axes stay with extent 1.
    ///
    /// # Errors
    /// If an axis is out of range or given twice, or the tensor is of a dtype that the text does not take.
    pub fn call(
        &self,
        x: &Tensor,
        axes: impl AsRef<[isize]>,
        keepdim: bool,
    ) -> Result<Tensor, Error> {
        let (x, dtype) = self.combine.operand(x)?;
        self.over(&x, dtype, axes.as_ref(), keepdim)
    }

    fn over(
        &self,
        x: &Tensor,
        dtype: DType,
        axes: &[isize],
        keepdim: bool,
    ) -> Result<Tensor, Error> {
        let name = self.combine.name();
        let axes = x.axes(name, axes)?;
        let shape = x.shape().reduced(&axes, keepdim);
        let reduction = self.combine.op.reduction(self.combine.identity);
        let call = Call::reduce(reduction, &axes);
        x.produce_call(name, (shape, dtype), call, &[], None)
    }
}

/// What a text combines, from which identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Combine {
    pub(crate) op: UserCombine,
    /// Bits of the number, where the text does not say it.
    pub(crate) identity: u32,
}

impl Combine {
    pub(crate) fn new(name: &str, identity: Scalar, text: &str) -> Result<Self, Error> {
        let op = UserCombine::define(name, text, false);
        let op = op.map_err(|error| Error::from_kernel("custom", error))?;
        let number = op.number().filter(|number| identity.is_of(*number));
        let value = identity.value();
        let identity = match number {
            Some(DType::I32) => (value as i32).cast_unsigned(),
            Some(DType::U32) => value as u32,
            Some(_) => (value as f32).to_bits(),
            None => {
                let value = value.to_string();
                let value = shortened(&value, 64);
                let of = op.number().unwrap_or(DType::F32);
                let detail = format!("`combine` is of {of}, the identity is {value}");
                return Err(Error::dtype(op.name(), detail));
            }
        };
        Ok(Self { op, identity })
    }

    pub(crate) fn from_wgsl(name: &str, text: &str) -> Result<Self, Error> {
        let op = UserCombine::define(name, text, true);
        let op = op.map_err(|error| Error::from_kernel("custom", error))?;
        Ok(Self { op, identity: 0 })
    }

    pub(crate) const fn name(&self) -> &'static str {
        self.op.name()
    }

    /// A tensor as the text takes it, and the dtype of the result.
    pub(crate) fn operand(&self, x: &Tensor) -> Result<(Tensor, DType), Error> {
        let (element, result) = (self.op.element(), self.op.result());
        if let Some(lift) = self.op.lift() {
            let detail = format!(
                "its `lift` takes {} operands: give them to `call_of`",
                lift.params().len()
            );
            return Err(Error::argument(self.name(), detail));
        }
        let refused = |got| format!("its text is of {element}, got a tensor of {got}");
        let x = taken(self.name(), x, element, refused)?;
        let rounds = x.dtype().is_float() && result == DType::F32;
        let dtype = if rounds { x.dtype() } else { result };
        Ok((x, dtype))
    }

    /// What several operands give that is combined, and the dtype of the result.
    pub(crate) fn operands(&self, operands: &[&dyn Operand]) -> Result<(Tensor, DType), Error> {
        let Some(lift) = self.op.lift() else {
            return match operands {
                [operand] => match operand.side() {
                    Side::Tensor(tensor) => self.operand(tensor),
                    Side::Scalar(_) => {
                        Err(Error::argument(self.name(), "its operand must be a tensor"))
                    }
                },
                _ => {
                    let detail = format!("it takes one operand, got {}", operands.len());
                    Err(Error::argument(self.name(), detail))
                }
            };
        };
        let result = self.op.result();
        // In 32 bits up to the end: only the result is rounded.
        let x = apply(lift, operands, Some(lift.result()))?;
        let floats = combined_dtype(operands, lift.params(), DType::F32);
        let dtype = floats.filter(|_| result == DType::F32);
        Ok((x, dtype.unwrap_or(result)))
    }
}
