//! [`TensorKernel`]: a WGSL body that reads and writes tensors by name.
//!
//! The author writes what happens to one element; dtypes, shapes, strides, packing, the grid and its end are generated
//! around the text by the layer below. A call checks what it is given, and finds shapes.
//!
//! Invariants: a call that is accepted has tensors of the declared dtypes and ranks on one device; the text reads every
//! input and writes every output by its name.

mod call;
mod check;
mod signature;

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use ziggurat_kernels::{ElementKernel, ElementParam};

use crate::named::Listed;
use crate::{Device, Error, Tensor};

pub use call::TensorCall;
pub use signature::{Any, InputType, KernelParam, OutputType, like};

pub(crate) const OP: &str = "custom";

/// A kernel that says in WGSL what happens to one element, and in Rust which tensors there are.
///
/// The text defines `fn kernel(i: u32)`, which is called once for each element of the first output, and may define whatever
/// else it needs. For an input named `a` there are
///
/// | in WGSL | |
/// | --- | --- |
/// | `a_at(i)` | the element of that number in row-major order; 0 beyond the last |
/// | `a_load(index)` | the element at a `vec4<u32>` index into the last four axes; 0 outside |
/// | `a_len()`, `a_rank()`, `a_shape(axis)` | number of elements, of axes, and an axis's extent |
/// | `a_t` | the type of the elements: `f32` for all floats, `i32`, `u32` or `bool` |
///
/// and for an output named `y` `y_store(i, value)`, `y_store_at(index, value)`, and the same about its shape. `element()` is
/// the number that `kernel` was called for, `elements()` how many there are. A parameter is a variable of its name.
///
/// One text serves all dtypes and ranks that it is declared for. Views (transposed, sliced, broadcast, reversed) are read
/// where they lie, without a copy. f16, bf16 and narrow integers are unpacked, rounded and packed. Grids of any size are
/// folded. A pipeline is compiled for each choice of dtypes and of dense operands, not for shapes.
///
/// ```
/// use ziggurat_tensor::{Any, DType, Device, DeviceOptions, Tensor, TensorKernel, like};
///
/// let device = Device::open_blocking(DeviceOptions::default())?;
/// let axpy = TensorKernel::wgsl("axpy", "fn kernel(i: u32) { y_store(i, alpha * x_at(i) + b_at(i)); }")
///     .input("x", Any::floats())
///     .input("b", DType::F32)
///     .output("y", like("x"))
///     .param("alpha", 1.0f32)
///     .broadcast();
///
/// let x = Tensor::from_slice(&device, &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], [2, 3])?;
/// let b = Tensor::from_slice(&device, &[10.0f32, 20.0], [2])?;
/// let y = axpy.call(&[&x.t()?, &b]).param("alpha", 2.0f32).run()?;
/// assert_eq!(y.dims(), [3, 2]);
/// assert_eq!(y.to_vec_blocking::<f32>()?, [12.0, 28.0, 14.0, 30.0, 16.0, 32.0]);
/// let y = axpy.call(&[&x.to_dtype(DType::F16)?.t()?, &b]).run()?;
/// assert_eq!(y.dtype(), DType::F16);
/// # Ok::<(), ziggurat_tensor::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct TensorKernel {
    name: Cow<'static, str>,
    text: Cow<'static, str>,
    inputs: Vec<(String, InputType)>,
    outputs: Vec<(String, OutputType)>,
    updates: Vec<(String, InputType)>,
    params: Vec<Param>,
    broadcast: bool,
    writes_all: bool,
    flops: u64,
    /// What the layer below has of it; found with the first call.
    made: Arc<OnceLock<Result<ElementKernel, Error>>>,
}

#[derive(Clone, Debug)]
struct Param {
    name: String,
    ty: ElementParam,
    words: [u32; 4],
}

impl TensorKernel {
    /// A kernel from WGSL text with `fn kernel(i: u32)`; `name` stands in errors and profiles.
    pub fn wgsl(name: impl Into<Cow<'static, str>>, text: impl Into<Cow<'static, str>>) -> Self {
        Self {
            name: name.into(),
            text: text.into(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            updates: Vec::new(),
            params: Vec::new(),
            broadcast: false,
            writes_all: false,
            flops: 0,
            made: Arc::default(),
        }
    }

    /// Adds an input: a [`DType`](crate::DType), or one of several ([`Any`]), of any rank unless that is said.
    #[must_use]
    pub fn input(mut self, name: impl Into<String>, ty: impl Into<InputType>) -> Self {
        self.inputs.push((name.into(), ty.into()));
        self.changed()
    }

    /// Adds an output: a [`DType`](crate::DType), or that of an input ([`like`]).
    #[must_use]
    pub fn output(mut self, name: impl Into<String>, ty: impl Into<OutputType>) -> Self {
        self.outputs.push((name.into(), ty.into()));
        self.changed()
    }

    /// Adds a tensor that is changed in place: the text may call what there is for inputs and for outputs. Which
    /// invocation's value another one reads is not said, so an element is best read by the one that writes it.
    ///
    /// ```
    /// use ziggurat_tensor::{Any, DType, Device, DeviceOptions, Tensor, TensorKernel};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let decay = TensorKernel::wgsl("decay", "fn kernel(i: u32) { w_store(i, w_at(i) - rate * g_at(i)); }")
    ///     .input("g", Any::floats())
    ///     .update("w", Any::floats())
    ///     .param("rate", 0.5f32);
    /// let g = Tensor::ones(&device, [3], DType::F16)?;
    /// let mut w = Tensor::from_slice(&device, &[1.0f32, 2.0, 3.0], [3])?;
    /// let before = w.clone();
    /// decay.call(&[&g]).run_in_place(&mut [&mut w])?;
    /// assert_eq!(w.to_vec_blocking::<f32>()?, [0.5, 1.5, 2.5]);
    /// assert_eq!(before.to_vec_blocking::<f32>()?, [1.0, 2.0, 3.0], "clones keep what they had");
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    #[must_use]
    pub fn update(mut self, name: impl Into<String>, ty: impl Into<InputType>) -> Self {
        self.updates.push((name.into(), ty.into()));
        self.changed()
    }

    /// Adds a parameter: a number, or an array of two to four, with the value that it has unless a call says otherwise.
    #[must_use]
    pub fn param(mut self, name: impl Into<String>, value: impl KernelParam) -> Self {
        self.params.push(Param {
            name: name.into(),
            ty: value.ty(),
            words: value.words(),
        });
        self.changed()
    }

    /// Says that inputs are broadcast to a common shape, which is then that of every input and [`like`] output.
    #[must_use]
    pub fn broadcast(mut self) -> Self {
        self.broadcast = true;
        self
    }

    /// Says that the kernel writes every element of every output, so that none need be filled with zeros before. The
    /// software device's sanitizer finds elements that it leaves out (`unwritten-output`).
    #[must_use]
    pub fn writes_all(mut self) -> Self {
        self.writes_all = true;
        self.changed()
    }

    /// States how many arithmetic operations a call of `kernel` does, a multiply-add counted as two: profiles show them, and
    /// [`Roof::of_profile`](crate::Roof::of_profile) compares them with what the device can do. Of a call for which they are others
    /// [`TensorCall::flops`] says how many.
    #[must_use]
    pub fn flops_per_element(mut self, flops: u64) -> Self {
        self.flops = flops;
        self
    }

    /// Starts a call on these inputs, in the order of their declaration, on their device.
    pub fn call<'a>(&'a self, inputs: &[&'a Tensor]) -> TensorCall<'a> {
        TensorCall::new(self, Listed::InOrder(inputs.to_vec()))
    }

    /// The same by the names of the inputs, in any order: then none can take another's place.
    ///
    /// ```
    /// use ziggurat_tensor::{DType, Device, DeviceOptions, Tensor, TensorKernel, like};
    ///
    /// let less = TensorKernel::wgsl("less", "fn kernel(i: u32) { y_store(i, from_at(i) - take_at(i)); }")
    ///     .input("from", DType::F32)
    ///     .input("take", DType::F32)
    ///     .output("y", like("from"));
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let (from, take) = (Tensor::ones(&device, [2], DType::F32)?, Tensor::zeros(&device, [2], DType::F32)?);
    /// let y = less.call_named(&[("take", &take), ("from", &from)]).run()?;
    /// assert_eq!(y.to_vec_blocking::<f32>()?, [1.0, 1.0]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    pub fn call_named<'a>(&'a self, inputs: &[(&'a str, &'a Tensor)]) -> TensorCall<'a> {
        TensorCall::new(self, Listed::Named(inputs.to_vec()))
    }

    /// Starts a call on a device given by name, for kernels without inputs.
    pub fn call_on<'a>(&'a self, device: &'a Device, inputs: &[&'a Tensor]) -> TensorCall<'a> {
        self.call(inputs).on(device)
    }

    /// What its inputs may be.
    #[cfg(all(feature = "software", not(target_arch = "wasm32")))]
    pub(crate) fn input_types(&self) -> Vec<InputType> {
        self.inputs.iter().map(|(_, ty)| ty.clone()).collect()
    }

    /// Forgets what was made of the declarations before.
    fn changed(mut self) -> Self {
        self.made = Arc::default();
        self
    }

    fn below(&self) -> Result<&ElementKernel, Error> {
        let made = self.made.get_or_init(|| {
            check::check(self)?;
            let names = |all: Vec<&String>| all.into_iter().cloned().collect();
            let kernel = ElementKernel::new(
                self.name.clone(),
                self.text.clone(),
                [
                    names(self.inputs.iter().map(|(name, _)| name).collect()),
                    names(self.outputs.iter().map(|(name, _)| name).collect()),
                    names(self.updates.iter().map(|(name, _)| name).collect()),
                ],
                self.params
                    .iter()
                    .map(|param| (param.name.clone(), param.ty))
                    .collect(),
            );
            Ok(if self.writes_all {
                kernel.writing_all()
            } else {
                kernel
            })
        });
        made.as_ref().map_err(Clone::clone)
    }

    fn error(&self, detail: &str) -> Error {
        Error::argument(OP, format!("`{}`: {detail}", self.name))
    }
}
