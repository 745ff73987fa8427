//! [`CustomReduce`]: reductions by a user's own WGSL, on the kernels of the built-in ones.

use ziggurat_core::DType;
use ziggurat_kernels::{Call, UserReduce};

use crate::{Error, Tensor};

/// A reduction in WGSL: `fn combine` of two numbers.
///
/// It runs on the kernels of `sum` and `max`: over any axes of views of any strides, in one pass or two, by a tree that is
/// the same on every run; it reads pending expressions, and what takes its result may be written by its kernel. f16 and bf16
/// are combined in f32 and rounded once; integers and bool are converted to f32, and give f32.
///
/// The text has
///
/// | function | |
/// | --- | --- |
/// | `fn combine(a: f32, b: f32) -> f32` | associative and commutative, but for rounding: in which order elements meet is not said |
/// | `fn lift(x: f32) -> f32` | what an element is before it is combined; itself if the function is not there |
/// | `fn finish(a: f32) -> f32` | what the result is of all combined; that if the function is not there |
///
/// and may have further functions, constants and types, under the rules of [`CustomOp`](crate::CustomOp), and without loops
/// and indices.
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
/// # Ok::<(), ziggurat_tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CustomReduce {
    op: UserReduce,
    identity: f32,
}

impl CustomReduce {
    /// A reduction from WGSL text with `fn combine`. `identity` is the value that changes nothing it is combined with, and
    /// which is finished where there are no elements.
    ///
    /// # Errors
    /// [`Error::is_kernel`], with line and column in the text, as
    /// [`CustomOp::elementwise`](crate::CustomOp::elementwise).
    pub fn new(name: &str, identity: f32, text: &str) -> Result<Self, Error> {
        let op = UserReduce::define(name, text);
        let op = op.map_err(|error| Error::from_kernel("custom", error))?;
        Ok(Self { op, identity })
    }

    /// The reduction over `axes`, which may be negative; an empty list reduces nothing, but lifts and finishes. With
    /// `keepdim` the axes stay with extent 1.
    ///
    /// # Errors
    /// If an axis is out of range or given twice.
    pub fn call(
        &self,
        x: &Tensor,
        axes: impl AsRef<[isize]>,
        keepdim: bool,
    ) -> Result<Tensor, Error> {
        let op = self.op.with_identity(self.identity);
        let call = Call::reduce(op, &[]);
        let name = call.name();
        let x = if x.dtype().is_float() {
            x.clone()
        } else {
            x.converted(name, DType::F32)?
        };
        let axes = x.axes(name, axes.as_ref())?;
        let shape = x.shape().reduced(&axes, keepdim);
        let call = Call::reduce(op, &axes);
        x.produce_call(name, (shape, x.dtype()), call, Vec::new(), None)
    }
}
