//! [`CustomOp`]: elementwise operations of a user's own WGSL, as lazy and as fused as the built-in ones.
//!
//! The layer below reads the text and knows the op by a number; this file finds dtypes and shapes. Invariant: an operand
//! reaches the function as its type says: floats as f32, narrow integers as 32 bits.

use std::sync::Arc;

use ziggurat_core::text::shortened;
use ziggurat_core::{DType, Shape};
use ziggurat_kernels::{FusedOp, UserOp};

use crate::few::Few;
use crate::node::{Input, Node};
use crate::operand::{Operand, Side};
use crate::ops::arithmetic::broadcast;
use crate::scalar::combined;
use crate::{Device, Error, Tensor};

/// An elementwise operation in WGSL: `fn apply` of one to eight numbers.
///
/// It is an operation like `add` or `exp`: recorded and computed when a value is needed, broadcast, over views of any
/// strides, and part of one kernel with its neighbours, whether those are elementwise, or a reduction or norm that reads its
/// result, or a product, convolution, reduction or norm whose result it takes. [`Tensor::explain`] shows the kernels.
///
/// # Types
///
/// `apply` takes and returns f32, i32, u32 or bool:
///
/// | parameter | takes tensors of | and numbers |
/// | --- | --- | --- |
/// | `f32` | f32, f16, bf16; integers and bool are converted to f32 | all |
/// | `i32` | i32, i8; u8 and bool are converted to i32 | whole ones |
/// | `u32` | u32, u8; bool is converted to u32 | whole ones from 0 |
/// | `bool` | bool | `true` and `false` |
///
/// The result has the dtype in which the tensors are combined that are of the returned type as they come: f16 for
/// `apply(x: f32, k: f32) -> f32` of a tensor of f16 and a number. Without such tensors it is the returned type itself.
/// The function computes in 32 bits; what it returns is rounded to f16 or bf16, or wrapped to 8 bits, as the results of
/// built-in operations are. Numbers are parameters of the kernel: another number does not compile another kernel.
///
/// # The text
///
/// may have further functions, constants and types; their names clash with nothing. It is checked here, with line and column:
/// a text has at most 64 KiB, and no variables outside of functions, barriers, subgroup functions or entry points. A function
/// with loops is never computed within a product or a reduction, since nobody knows how long it takes.
///
/// Equal names and texts are one operation. A text is kept until the process ends, which can have 4,096 of them.
///
/// ```
/// use ziggurat_tensor::{CustomOp, DType, Device, DeviceOptions, Tensor};
///
/// let device = Device::open_blocking(DeviceOptions::default())?;
/// let blend = CustomOp::elementwise(
///     "blend",
///     "fn apply(x: f32, y: f32, k: f32) -> f32 { return x + smooth_step(k) * (y - x); }
///      fn smooth_step(k: f32) -> f32 { return k * k * (3.0 - 2.0 * k); }",
/// )?;
/// let x = Tensor::from_slice(&device, &[0.0f32, 1.0, 2.0, 3.0], [2, 2])?;
/// let y = Tensor::from_slice(&device, &[10.0f32, 20.0], [2])?;
/// let z = blend.call(&[&x.t()?, &y, &0.5])?;
/// assert_eq!(z.to_vec_blocking::<f32>()?, [5.0, 11.0, 5.5, 11.5]);
///
/// // One kernel with what is around it.
/// let mean = blend.call(&[&(&x * 2.0)?, &y, &0.25])?.mean([1], false)?;
/// assert_eq!(mean.explain()?.kernels().len(), 1);
/// assert_eq!(blend.call(&[&x.to_dtype(DType::F16)?, &1, &0.5])?.dtype(), DType::F16);
/// # Ok::<(), ziggurat_tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CustomOp {
    op: UserOp,
}

/// The public operation of errors about a text.
const OP: &str = "custom";

impl CustomOp {
    /// An operation from WGSL text with `fn apply`; `name` stands in errors, explanations and profiles.
    ///
    /// ```
    /// use ziggurat_tensor::CustomOp;
    ///
    /// let error = CustomOp::elementwise("half", "fn apply(x: f32) -> f32 {\n    return 0.5 * y;\n}").unwrap_err();
    /// assert!(error.is_kernel());
    /// assert!(error.to_string().contains("half:2:18"), "{error}");
    /// ```
    ///
    /// # Errors
    /// [`Error::is_kernel`], with line and column in the text, if it is no WGSL, has no `apply` of such types, uses what an
    /// elementwise operation cannot have, or is too large.
    pub fn elementwise(name: &str, text: &str) -> Result<Self, Error> {
        let op = UserOp::define(name, text).map_err(|error| Error::from_kernel(OP, error))?;
        Ok(Self { op })
    }

    /// The operation on tensors and numbers, as many as `apply` has parameters, which broadcast. Nothing runs yet.
    ///
    /// # Errors
    /// If there are more or fewer operands, none is a tensor, there are more tensors than a kernel can bind besides its result, they are on different devices, their shapes do not broadcast, or
    /// one is of a dtype that its parameter does not take.
    pub fn call(&self, operands: &[&dyn Operand]) -> Result<Tensor, Error> {
        apply(self.op, operands, None)
    }

    /// The types of its parameters.
    #[cfg(all(feature = "software", not(target_arch = "wasm32")))]
    pub(crate) fn params(&self) -> &'static [DType] {
        self.op.params()
    }
}

/// The op on tensors and numbers; with a dtype of that, and else of that in which they are combined.
pub(crate) fn apply(
    op: UserOp,
    operands: &[&dyn Operand],
    out: Option<DType>,
) -> Result<Tensor, Error> {
    let (name, params) = (op.name(), op.params());
    if operands.len() != params.len() {
        let detail = format!("it takes {} operands, got {}", params.len(), operands.len());
        return Err(Error::argument(name, detail));
    }
    let sides: Vec<Side<'_>> = operands.iter().map(|operand| operand.side()).collect();
    let mut tensors = sides.iter().filter_map(|side| match side {
        Side::Tensor(tensor) => Some(*tensor),
        Side::Scalar(_) => None,
    });
    let Some(first) = tensors.next() else {
        return Err(Error::argument(name, "one operand must be a tensor"));
    };
    tensors.try_for_each(|tensor| first.same_device(name, tensor))?;
    let shapes: Vec<Shape> = sides.iter().map(|side| side.shape()).collect();
    let shape = broadcast(name, &shapes)?;
    let inputs = sides.iter().zip(params).enumerate();
    let inputs = inputs.map(|(place, (side, param))| input(op, *side, *param, place, first));
    let inputs = inputs.collect::<Result<Vec<Input>, Error>>()?;
    let out = out.or_else(|| combined_dtype(operands, params, op.result()));
    let op = op.giving(out.unwrap_or(op.result()));
    check_bindings(name, first.device(), &inputs)?;
    let inputs: Few<Input> = inputs.into_iter().collect();
    Tensor::record(first.device(), name, FusedOp::User(op), &shape, inputs)
}

/// The dtype in which those tensors are combined that are of this type as they come and where a parameter takes it; none
/// without such.
pub(crate) fn combined_dtype(
    operands: &[&dyn Operand],
    params: &[DType],
    ty: DType,
) -> Option<DType> {
    let mut out: Option<(DType, usize)> = None;
    for (operand, param) in operands.iter().zip(params) {
        if let Side::Tensor(tensor) = operand.side()
            && tensor.dtype().compute() == ty
            && *param == ty
        {
            let (dtype, rank) = (tensor.dtype(), tensor.rank());
            out = Some(out.map_or((dtype, rank), |(other, most)| {
                (combined(other, most, dtype, rank), most.max(rank))
            }));
        }
    }
    out.map(|(dtype, _)| dtype)
}

/// An operand as its parameter takes it.
fn input(
    op: UserOp,
    side: Side<'_>,
    param: DType,
    place: usize,
    first: &Tensor,
) -> Result<Input, Error> {
    let (name, place) = (op.name(), place + 1);
    match side {
        Side::Tensor(tensor) => {
            let refused = |got: DType| format!("operand {place} is {param}, got a tensor of {got}");
            taken(name, tensor, param, refused)?.as_input(first.device())
        }
        Side::Scalar(number) if number.is_of(param) => Ok(Input::Scalar(param, number.value())),
        Side::Scalar(number) => {
            let value = number.value().to_string();
            let value = shortened(&value, 64);
            let detail = format!("operand {place} is {param}, got the number {value}");
            Err(Error::dtype(name, detail))
        }
    }
}

/// One kernel binds the different tensors that an op reads, and its result.
fn check_bindings(op: &'static str, device: &Device, inputs: &[Input]) -> Result<(), Error> {
    let nodes = || inputs.iter().filter_map(Input::node);
    let is_new = |(at, node): &(usize, &Arc<Node>)| {
        let mut before = nodes().take(*at);
        !before.any(|known| Arc::ptr_eq(known, node))
    };
    let read = nodes().enumerate().filter(is_new).count();
    let most = device.lazy().limits.bindings.saturating_sub(1);
    if read <= most {
        return Ok(());
    }
    let detail = format!("it reads {read} tensors; a kernel of this device reads at most {most}");
    Err(Error::argument(op, detail))
}

/// A tensor as a function takes it that is of f32, i32, u32 or bool; `refused` says what it is of else.
pub(crate) fn taken(
    op: &'static str,
    tensor: &Tensor,
    param: DType,
    refused: impl FnOnce(DType) -> String,
) -> Result<Tensor, Error> {
    let got = tensor.dtype();
    let converts = match param {
        DType::F32 => true,
        DType::I32 => got == DType::U8 || got.is_bool(),
        DType::U32 => got.is_bool(),
        _ => false,
    };
    if got.compute() == param {
        Ok(tensor.clone())
    } else if converts {
        tensor.converted(op, param)
    } else {
        let detail = format!("{}: convert it with `to_dtype`", refused(got));
        Err(Error::dtype(op, detail))
    }
}
