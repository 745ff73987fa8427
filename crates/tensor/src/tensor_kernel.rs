//! [`TensorKernel`]: a WGSL body that reads and writes tensors by name.
//!
//! The author writes what happens to one element; dtypes, shapes, strides, packing, the grid and its end are generated
//! around the text by the layer below. This file checks what the author says and what a call gives, and finds shapes.
//!
//! Invariants: a call that is accepted has tensors of the declared dtypes and ranks on one device; the text reads every
//! input and writes every output by its name.

mod check;
mod signature;

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use ziggurat_core::{Shape, broadcast_shapes};
use ziggurat_kernels::{ElementKernel, ElementParam, View};
use ziggurat_pipeline::with_flops;

use crate::observe::{self, Operation, What};
use crate::tensor::new_shape;
use crate::{Device, Error, Tensor};

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

    /// Starts a call on these inputs, on their device.
    pub fn call<'a>(&'a self, inputs: &[&'a Tensor]) -> TensorCall<'a> {
        TensorCall {
            kernel: self,
            device: inputs.first().map(|tensor| tensor.device()),
            inputs: inputs.to_vec(),
            shapes: Vec::new(),
            params: Vec::new(),
            elements: None,
            flops: None,
        }
    }

    /// Starts a call on a device given by name, for kernels without inputs.
    pub fn call_on<'a>(&'a self, device: &'a Device, inputs: &[&'a Tensor]) -> TensorCall<'a> {
        TensorCall {
            device: Some(device),
            ..self.call(inputs)
        }
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

/// One call of a [`TensorKernel`], being put together.
#[derive(Clone, Debug)]
#[must_use = "nothing happens before `run`"]
pub struct TensorCall<'a> {
    kernel: &'a TensorKernel,
    device: Option<&'a Device>,
    inputs: Vec<&'a Tensor>,
    shapes: Vec<(String, Vec<usize>)>,
    params: Vec<Param>,
    elements: Option<u64>,
    flops: Option<u64>,
}

impl TensorCall<'_> {
    /// The shape of an output; that of the input which it is [`like`] unless said, or else of the first input.
    pub fn shape(mut self, output: impl Into<String>, dims: impl AsRef<[usize]>) -> Self {
        self.shapes.push((output.into(), dims.as_ref().to_vec()));
        self
    }

    /// The value of a parameter, of the type that it was declared with.
    pub fn param(mut self, name: impl Into<String>, value: impl KernelParam) -> Self {
        self.params.push(Param {
            name: name.into(),
            ty: value.ty(),
            words: value.words(),
        });
        self
    }

    /// How many elements `kernel` is called for, if not for each of the first output (or else of the first tensor that is
    /// changed in place).
    pub fn elements(mut self, elements: u64) -> Self {
        self.elements = Some(elements);
        self
    }

    /// States how many arithmetic operations the call does, a multiply-add counted as two, instead of those that the kernel
    /// states of each element ([`TensorKernel::flops_per_element`]).
    pub fn flops(mut self, flops: u64) -> Self {
        self.flops = Some(flops);
        self
    }

    /// Records the call of a kernel with one output.
    ///
    /// # Errors
    /// Those of [`Self::run_all`]; and if the kernel has several outputs.
    pub fn run(self) -> Result<Tensor, Error> {
        let kernel = self.kernel;
        if kernel.outputs.len() > 1 {
            return Err(kernel.error("it has several outputs: use run_all"));
        }
        let only = self.run_all()?.pop();
        only.ok_or_else(|| Error::internal(OP, "a kernel without outputs ran"))
    }

    /// Records the call: the outputs, in the order of their declaration.
    ///
    /// # Errors
    /// If number, dtypes or ranks of the inputs are not those of the signature, the inputs are on different devices or
    /// cannot be broadcast, an output's shape is missing, a parameter is unknown or of another type, the text does not use
    /// what is declared, or the shader is refused; the text then names the WGSL line.
    pub fn run_all(self) -> Result<Vec<Tensor>, Error> {
        if !self.kernel.updates.is_empty() {
            let detail = "it changes tensors in place: use run_in_place";
            return Err(self.kernel.error(detail));
        }
        self.run_in_place(&mut [])
    }

    /// [`Self::run_all`] of a kernel that changes tensors in place: these, in the order of their declaration. What shares
    /// their memory (clones, views, values that are not computed yet) keeps what it has: a tensor that is not alone gets a
    /// copy first.
    ///
    /// # Errors
    /// Those of [`Self::run_all`]; nothing is changed then.
    pub fn run_in_place(self, updates: &mut [&mut Tensor]) -> Result<Vec<Tensor>, Error> {
        let kernel = self.kernel;
        let below = kernel.below()?;
        let first = updates.first().map(|tensor| tensor.device().clone());
        let device = self
            .device
            .or(first.as_ref())
            .ok_or_else(|| kernel.error("a call without inputs must name a device: use call_on"))?;
        check::check_inputs(kernel, ("takes", &kernel.inputs), &self.inputs, device)?;
        let changed: Vec<&Tensor> = updates.iter().map(|tensor| &**tensor).collect();
        check::check_inputs(kernel, ("changes", &kernel.updates), &changed, device)?;
        check::check_shapes(kernel, &self.shapes)?;
        let params = check::values(kernel, &self.params)?;

        let expanded = self.expanded(&changed)?;
        let inputs: Vec<&Tensor> = match &expanded {
            Some(expanded) => expanded.iter().collect(),
            None => self.inputs.clone(),
        };
        let mut outputs = Vec::with_capacity(kernel.outputs.len());
        for (name, ty) in &kernel.outputs {
            let like = ty
                .input(&kernel.inputs)
                .or((!inputs.is_empty()).then_some(0));
            let like = like.and_then(|index| inputs.get(index)).copied();
            let given = self.shapes.iter().rev().find(|(given, _)| given == name);
            let shape = match (given, like) {
                (Some((_, dims)), _) => new_shape(OP, dims)?,
                (None, Some(like)) => *like.shape(),
                (None, None) => {
                    let detail = format!("give the shape of `{name}`: .shape({name:?}, dims)");
                    return Err(kernel.error(&detail));
                }
            };
            let dtype = ty.dtype(like.map(Tensor::dtype));
            outputs.push(if kernel.writes_all {
                device.alloc(OP, &shape, dtype)?
            } else {
                device.alloc_zeroed(OP, &shape, dtype)?
            });
        }
        Tensor::evaluate_all(&inputs)?;
        let views = inputs
            .iter()
            .map(|tensor| tensor.stored().cloned())
            .collect::<Result<Vec<View>, Error>>()?;
        let stored = updates
            .iter_mut()
            .map(|tensor| tensor.storage_mut().cloned())
            .collect::<Result<Vec<View>, Error>>()?;
        let first = outputs.iter().chain(&stored).next();
        let elements = self.elements.unwrap_or(first.map_or(0, View::len) as u64);
        let describe = || Operation {
            name: kernel.name.clone(),
            what: What::Dispatches,
            inputs: Some(views.iter().chain(&stored).map(Some).collect()),
            is_given_non_finite: false,
            outputs: outputs.iter().chain(&stored).collect(),
        };
        let executor = device.executor();
        let flops = self.flops.unwrap_or(kernel.flops.saturating_mul(elements));
        let views_of = [&views[..], &outputs, &stored];
        let run = || {
            with_flops(flops, || {
                executor.run_elements(below, views_of, &params, elements)
            })
        };
        observe::operation(device, describe, run).map_err(|error| Error::from_kernel(OP, error))?;
        let tensors = outputs.into_iter();
        Ok(tensors
            .map(|view| Tensor::from_view(device, view))
            .collect())
    }

    /// The inputs in the shape that they and what is changed have in common, where the kernel broadcasts.
    fn expanded(&self, changed: &[&Tensor]) -> Result<Option<Vec<Tensor>>, Error> {
        if !self.kernel.broadcast {
            return Ok(None);
        }
        let all = self.inputs.iter().chain(changed);
        let shapes: Vec<Shape> = all.map(|tensor| *tensor.shape()).collect();
        let common = broadcast_shapes(&shapes).map_err(|error| Error::from_shape(OP, error))?;
        if let Some(other) = changed.iter().find(|tensor| *tensor.shape() != common) {
            let (name, have) = (&self.kernel.name, other.dims());
            let detail = format!(
                "`{name}`: inputs of shape {common} do not fit what is changed in place, {have:?}"
            );
            return Err(Error::shape(OP, detail));
        }
        let expand = |input: &&Tensor| input.with_layout(OP, |layout| layout.expand(common));
        self.inputs
            .iter()
            .map(expand)
            .collect::<Result<_, _>>()
            .map(Some)
    }
}
