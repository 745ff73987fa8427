//! The user's own WGSL on tensors.
//!
//! A [`CustomKernel`] is a shader with a signature: the dtypes of its inputs and of its output. Calling it checks the
//! tensors against the signature and the shader against reality (bindings, access, limits) before anything is recorded;
//! the result is a tensor like any other, in the same queue, pool and profile.
//!
//! What the shader sees: bindings in the order of their groups and numbers are the inputs in the order given, then the output; every
//! buffer holds the elements densely in row-major order, starting at its beginning, padded to whole 32-bit words (f16, bf16
//! have two and u8, i8, bool four elements to a word). Parameters come as `var<uniform>`, any number of them, and one `var<immediate>`.
//! Elements that the shader does not write are 0.
//!
//! Invariant: a grid of several rows goes only to an entry point that can tell them apart (the layer below checks it), or
//! to one of which the program says that it loops.

pub(crate) mod given;
#[cfg(not(target_arch = "wasm32"))]
mod watched;

use std::borrow::Cow;
#[cfg(not(target_arch = "wasm32"))]
use std::path::Path;
#[cfg(not(target_arch = "wasm32"))]
use std::sync::Arc;

use ziggurat_core::DType;
use ziggurat_kernels::View;
use ziggurat_pipeline::typed::KernelParams;
use ziggurat_pipeline::{
    Arg, Grid, Kernel, KernelCandidate, KernelDescriptor, KernelTimes, KernelWork, PipelineError,
    Pipelines, ShaderSource,
};

use crate::observe::{self, Operation, What};
use given::Given;

use crate::once::once;
use crate::tensor::new_shape;
use crate::{Device, Error, Tensor};

/// A WGSL compute shader with the dtypes of its inputs and output.
///
/// ```
/// use ziggurat_tensor::{CustomKernel, DType, Device, DeviceOptions, Tensor};
///
/// let device = Device::open_blocking(DeviceOptions::default())?;
/// let axpy = CustomKernel::wgsl("axpy", "
///     @group(0) @binding(0) var<uniform> alpha: f32;
///     @group(0) @binding(1) var<storage, read> x: array<f32>;
///     @group(0) @binding(2) var<storage, read> y: array<f32>;
///     @group(0) @binding(3) var<storage, read_write> out: array<f32>;
///     @compute @workgroup_size(64)
///     fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) n: vec3<u32>) {
///         let i = id.x + (id.y + id.z * n.y) * n.x * 64u;
///         if (i < arrayLength(&out)) { out[i] = alpha * x[i] + y[i]; }
///     }
/// ").input(DType::F32).input(DType::F32).output(DType::F32);
///
/// let x = Tensor::from_slice(&device, &[1.0f32, 2.0, 3.0], [3])?;
/// let y = Tensor::ones(&device, [3], DType::F32)?;
/// let z = axpy.call(&[&x, &y]).shape([3]).uniform(&10.0f32.to_le_bytes()).run()?;
/// assert_eq!(z.to_vec_blocking::<f32>()?, [11.0, 21.0, 31.0]);
/// assert!(axpy.call(&[&x]).shape([3]).run().is_err());
/// # Ok::<(), ziggurat_tensor::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct CustomKernel {
    descriptor: KernelDescriptor,
    inputs: Vec<DType>,
    output: DType,
    candidates: Vec<KernelCandidate>,
    #[cfg(not(target_arch = "wasm32"))]
    watched: Option<Arc<watched::Watched>>,
}

const OP: &str = "custom";

impl CustomKernel {
    /// A kernel from one WGSL text; `name` stands in errors and profiles.
    pub fn wgsl(name: impl Into<Cow<'static, str>>, text: impl Into<Cow<'static, str>>) -> Self {
        Self::from_source(ShaderSource::wgsl(name, text))
    }

    /// A kernel from several WGSL texts, joined in order; errors name the text and the line in it.
    pub fn parts<N, T>(
        name: impl Into<Cow<'static, str>>,
        parts: impl IntoIterator<Item = (N, T)>,
    ) -> Self
    where
        N: Into<Cow<'static, str>>,
        T: Into<Cow<'static, str>>,
    {
        let source = parts
            .into_iter()
            .fold(ShaderSource::new(name), |source, (file, text)| {
                source.part(file, text)
            });
        Self::from_source(source)
    }

    fn from_source(source: ShaderSource) -> Self {
        Self {
            descriptor: KernelDescriptor::new(source),
            inputs: Vec::new(),
            output: DType::F32,
            candidates: Vec::new(),
            #[cfg(not(target_arch = "wasm32"))]
            watched: None,
        }
    }

    /// A kernel whose text is in a file, under the file's name. With debug assertions a call reads the file again if it was
    /// changed: a text that compiles takes the place of the one before; of another the error is printed to standard error, and
    /// calls go on with the text before. Without, the file is read here only.
    ///
    /// ```no_run
    /// use ziggurat_tensor::{CustomKernel, DType, Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let wave = CustomKernel::watch("shaders/wave.wgsl")?.input(DType::F32);
    /// let mut x = Tensor::ones(&device, [256, 256], DType::F32)?;
    /// loop {
    ///     x = wave.call(&[&x]).run()?; // what was saved last
    /// }
    /// # #[allow(unreachable_code)]
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the file cannot be read, or is no text.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn watch(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let watched = watched::Watched::open(path)?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let kernel = Self::wgsl(name.into_owned(), watched.text());
        Ok(Self {
            watched: Some(Arc::new(watched)),
            ..kernel
        })
    }

    /// The descriptor that calls have now.
    pub(crate) fn newest(&self, pipelines: &Pipelines) -> Cow<'_, KernelDescriptor> {
        #[cfg(not(target_arch = "wasm32"))]
        if cfg!(debug_assertions)
            && let Some(watched) = &self.watched
        {
            return Cow::Owned(watched.newest(&self.descriptor, pipelines));
        }
        let _ = pipelines;
        Cow::Borrowed(&self.descriptor)
    }

    /// Adds an input of this dtype, bound after the inputs added before.
    #[must_use]
    pub fn input(mut self, dtype: DType) -> Self {
        self.inputs.push(dtype);
        self
    }

    /// The dtype of the output (f32 unless said), which is bound last.
    #[must_use]
    pub fn output(mut self, dtype: DType) -> Self {
        self.output = dtype;
        self
    }

    /// The entry point, where the shader has several.
    #[must_use]
    pub fn entry(mut self, entry: impl Into<Cow<'static, str>>) -> Self {
        self.descriptor = self.descriptor.entry(entry);
        self
    }

    /// The value of an `override` constant.
    #[must_use]
    pub fn constant(mut self, name: impl Into<Cow<'static, str>>, value: f64) -> Self {
        self.descriptor = self.descriptor.constant(name, value);
        self
    }

    #[cfg(all(feature = "software", not(target_arch = "wasm32")))]
    pub(crate) fn input_types(&self) -> Vec<crate::InputType> {
        self.inputs.iter().map(|dtype| (*dtype).into()).collect()
    }

    pub(crate) const fn descriptor(&self) -> &KernelDescriptor {
        &self.descriptor
    }

    /// The dtypes of all buffers, if any was said.
    pub(crate) fn signature(&self) -> Option<Vec<DType>> {
        let all = || self.inputs.iter().chain([&self.output]).copied();
        (!self.inputs.is_empty()).then(|| all().collect())
    }

    /// Values of constants of which [`CustomCall::tune`] finds the fastest. Until it has, the constants are those of the kernel.
    ///
    /// ```
    /// use ziggurat_tensor::{CustomKernel, DType, Device, DeviceOptions, KernelCandidate, Tensor};
    ///
    /// let double = CustomKernel::wgsl("double", "
    ///     override WG: u32 = 64u;
    ///     @group(0) @binding(0) var<storage, read> x: array<f32>;
    ///     @group(0) @binding(1) var<storage, read_write> out: array<f32>;
    ///     @compute @workgroup_size(WG)
    ///     fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) n: vec3<u32>) {
    ///         let i = id.x + (id.y + id.z * n.y) * n.x * WG;
    ///         if (i < arrayLength(&out)) { out[i] = 2.0 * x[i]; }
    ///     }
    /// ").input(DType::F32).candidates(KernelCandidate::workgroup_sizes("WG", [64, 128, 256]));
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let x = Tensor::ones(&device, [1000], DType::F32)?;
    /// let times = double.call(&[&x]).tune_blocking()?;
    /// println!("{times}");
    /// // With the fastest size from now on.
    /// assert_eq!(double.call(&[&x]).run()?.sum([0], false)?.item_blocking::<f32>()?, 2000.0);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    #[must_use]
    pub fn candidates(mut self, candidates: impl IntoIterator<Item = KernelCandidate>) -> Self {
        self.candidates = candidates.into_iter().collect();
        self
    }

    /// The kernel with the constants of a candidate.
    fn with(
        &self,
        tuned: Option<&KernelCandidate>,
        pipelines: &Pipelines,
    ) -> Result<Kernel, Error> {
        let kernel = match tuned {
            Some(candidate) => pipelines.kernel(&candidate.of(&self.newest(pipelines))),
            None => pipelines.kernel(&self.newest(pipelines)),
        };
        kernel.map_err(fail)
    }

    /// Starts a call on these inputs, on their device.
    pub fn call<'a>(&'a self, inputs: &[&'a Tensor]) -> CustomCall<'a> {
        CustomCall {
            kernel: self,
            device: inputs.first().map(|tensor| tensor.device()),
            inputs: inputs.to_vec(),
            shape: None,
            uniforms: Vec::new(),
            grid: None,
            per_invocation: 1,
            stride: false,
        }
    }

    /// Starts a call on a device given by name, for kernels without inputs.
    pub fn call_on<'a>(&'a self, device: &'a Device, inputs: &[&'a Tensor]) -> CustomCall<'a> {
        CustomCall {
            device: Some(device),
            ..self.call(inputs)
        }
    }
}

/// One call of a [`CustomKernel`], being put together.
#[derive(Clone, Debug)]
#[must_use = "nothing happens before `run`"]
pub struct CustomCall<'a> {
    kernel: &'a CustomKernel,
    device: Option<&'a Device>,
    inputs: Vec<&'a Tensor>,
    shape: Option<Vec<usize>>,
    uniforms: Vec<Given<'a>>,
    grid: Option<[u32; 3]>,
    per_invocation: u32,
    stride: bool,
}

impl<'a> CustomCall<'a> {
    /// The shape of the output; that of the first input unless said.
    pub fn shape(mut self, shape: impl AsRef<[usize]>) -> Self {
        self.shape = Some(shape.as_ref().to_vec());
        self
    }

    /// The bytes of the shader's `var<uniform>` or `var<immediate>`. Of several the first call is for the immediate
    /// variable, if there is one, and the others are for the uniforms in the order of their groups and bindings.
    pub fn uniform(mut self, bytes: &'a [u8]) -> Self {
        self.uniforms.push(Given::new(bytes));
        self
    }

    /// The same of a struct with `#[derive(KernelParams)]`, whose fields are compared with those of the shader's variable.
    ///
    /// ```
    /// use ziggurat_tensor::{CustomKernel, DType, Device, DeviceOptions, KernelParams, Tensor};
    ///
    /// #[derive(KernelParams)]
    /// struct Line { slope: f32, start: f32 }
    ///
    /// let line = CustomKernel::parts("line", [("line_params.wgsl", Line::wgsl("Line")), ("line.wgsl", "
    ///     @group(0) @binding(0) var<uniform> line: Line;
    ///     @group(0) @binding(1) var<storage, read> x: array<f32>;
    ///     @group(0) @binding(2) var<storage, read_write> y: array<f32>;
    ///     @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    ///         if (id.x < arrayLength(&y)) { y[id.x] = line.start + line.slope * x[id.x]; }
    ///     }
    /// ".to_owned())]).input(DType::F32);
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let x = Tensor::from_slice(&device, &[1.0f32, 2.0], [2])?;
    /// let y = line.call(&[&x]).params(&Line { slope: 10.0, start: 1.0 }).run()?;
    /// assert_eq!(y.to_vec_blocking::<f32>()?, [11.0, 21.0]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    pub fn params<P: KernelParams>(mut self, params: &P) -> Self {
        self.uniforms.push(Given::of(params));
        self
    }

    /// The bytes of the `var<uniform>` at this group and binding.
    pub fn uniform_at(mut self, group: u32, binding: u32, bytes: &'a [u8]) -> Self {
        self.uniforms.push(Given::new(bytes).at(group, binding));
        self
    }

    /// An explicit number of workgroups. Otherwise there is one invocation per output element (see
    /// [`CustomCall::per_invocation`]), in workgroups folded over x, y and z where x alone does not reach: the element is then
    /// `id.x + (id.y + id.z * n.y) * n.x * WG`, with `n` of `@builtin(num_workgroups)`. For an entry point that looks only at
    /// `id.x` such a size is an error.
    pub fn workgroups(mut self, workgroups: [u32; 3]) -> Self {
        self.grid = Some(workgroups);
        self
    }

    /// Output elements that one invocation computes, where the number of workgroups is not given; 0 counts as 1.
    pub fn per_invocation(mut self, elements: u32) -> Self {
        self.per_invocation = elements;
        self
    }

    /// Says that invocations loop over the output with the stride of the grid, `n.x * WG` elements: the grid is then never
    /// folded, whatever the size.
    pub fn stride(mut self) -> Self {
        self.stride = true;
        self
    }

    /// Records the call.
    ///
    /// # Errors
    /// If number or dtypes of the inputs are not those of the signature, the inputs are on different devices, the output needs
    /// a folded grid that the entry point cannot index, or the shader is refused: parse or validation failure, binding count, type or access, uniform size, workgroup limits; the text names the
    /// WGSL line.
    pub fn run(self) -> Result<Tensor, Error> {
        let call = self.checked()?;
        let pipelines = call.device.executor().pipelines();
        let kernel = call.kernel;
        let tuned = pipelines.tuned(&kernel.descriptor, &kernel.candidates, call.grid);
        let pipeline = kernel.with(tuned, pipelines)?;
        let (args, params) = call.bound(&pipeline)?;
        let grid = tuned
            .and_then(KernelCandidate::own_grid)
            .unwrap_or(call.grid);
        let inputs = call.dense.iter().map(Tensor::stored);
        let inputs = inputs.collect::<Result<Vec<_>, _>>()?;
        let describe = || Operation {
            name: kernel.descriptor.source.name().into(),
            what: What::Dispatches,
            inputs: Some(inputs.into_iter().map(Some).collect()),
            is_given_non_finite: false,
            outputs: vec![&call.out],
        };
        let run = || pipelines.dispatch(&pipeline, &args, params, grid);
        observe::operation(call.device, describe, run).map_err(fail)?;
        drop(args);
        Ok(Tensor::from_view(call.device, call.out))
    }

    /// Measures the kernel's [`CustomKernel::candidates`] on this call and keeps the fastest, for this call and others with
    /// about as much work, in [`Device::tuning`]. The call itself is not made.
    ///
    /// # Errors
    /// As [`Self::run`]; if there is neither a timestamp nor a clock. What one candidate alone is refused for stands in its
    /// row.
    pub fn tune(self) -> impl Future<Output = Result<KernelTimes, Error>> + use<'a> {
        once(async move {
            let call = self.checked()?;
            let (pipelines, kernel) = (call.device.executor().pipelines(), call.kernel);
            let (args, params) = call.bound(&kernel.with(None, pipelines)?)?;
            let work = KernelWork {
                args: &args,
                params,
                grid: call.grid,
            };
            let times = pipelines.tune(&kernel.descriptor, &kernel.candidates, work);
            times.await.map_err(fail)
        })
    }

    /// [`Self::tune`], waiting in place.
    ///
    /// # Errors
    /// As [`Self::tune`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn tune_blocking(self) -> Result<KernelTimes, Error> {
        ziggurat_device::block_on(self.tune())
    }

    /// The call with its output, after all checks that need no shader.
    fn checked(self) -> Result<Checked<'a>, Error> {
        let kernel = self.kernel;
        let device = self.device.ok_or_else(|| {
            Error::argument(OP, "a call without inputs must name a device: use call_on")
        })?;
        let dtypes: Vec<DType> = self.inputs.iter().map(|tensor| tensor.dtype()).collect();
        if dtypes != kernel.inputs {
            return Err(Error::dtype(
                OP,
                format!(
                    "`{}` takes inputs {:?}: {dtypes:?} given",
                    kernel.descriptor.source.name(),
                    kernel.inputs
                ),
            ));
        }
        let dims = match (&self.shape, self.inputs.first()) {
            (Some(shape), _) => shape.clone(),
            (None, Some(first)) => first.dims().to_vec(),
            (None, None) => {
                return Err(Error::argument(
                    OP,
                    "a call without inputs must give the output's shape",
                ));
            }
        };
        let shape = new_shape(OP, &dims)?;
        let mut dense = Vec::with_capacity(self.inputs.len());
        for input in &self.inputs {
            if !input.device().same(device) {
                return Err(Error::argument(
                    OP,
                    "all inputs must be on the device of the call",
                ));
            }
            dense.push(input.dense(OP)?);
        }
        let grid = match self.grid {
            Some(workgroups) => Grid::Workgroups(workgroups),
            None if self.stride => Grid::stride(shape.len() as u64, self.per_invocation),
            None => Grid::elements(shape.len() as u64, self.per_invocation),
        };
        Ok(Checked {
            kernel,
            device,
            dense,
            out: device.alloc_zeroed(OP, &shape, kernel.output)?,
            uniforms: self.uniforms,
            grid,
        })
    }
}

/// A call that was checked against its signature.
struct Checked<'a> {
    kernel: &'a CustomKernel,
    device: &'a Device,
    dense: Vec<Tensor>,
    out: View,
    uniforms: Vec<Given<'a>>,
    grid: Grid,
}

impl Checked<'_> {
    /// The arguments, and the bytes of the parameters.
    fn bound<'b>(&'b self, pipeline: &Kernel) -> Result<(Vec<Arg<'b>>, &'b [u8]), Error> {
        let mut args = Vec::with_capacity(self.dense.len() + 1);
        for tensor in &self.dense {
            let view = tensor.stored()?;
            args.push(words(view, Arg::read(&view.buffer)));
        }
        args.push(words(&self.out, Arg::write(&self.out.buffer)));
        let params = given::bind(pipeline, &self.uniforms, &mut args).map_err(fail)?;
        Ok((args, params))
    }
}

fn fail(error: PipelineError) -> Error {
    Error::from_pipeline(OP, error)
}

/// The whole 32-bit words that hold the elements of a dense view; at least one, since a binding cannot be empty.
pub(crate) fn words<'a>(view: &View, arg: Arg<'a>) -> Arg<'a> {
    let bytes = (view.layout.len() as u64 * view.dtype.bytes() as u64)
        .next_multiple_of(4)
        .max(4);
    arg.range(0, bytes).element(view.dtype)
}

impl Tensor {
    /// The values in row-major order from the beginning of a buffer, copied where they do not lie so.
    pub(crate) fn dense(&self, op: &'static str) -> Result<Self, Error> {
        let view = self.stored()?;
        if view.layout.is_contiguous() && (view.layout.offset() == 0 || self.is_empty()) {
            return Ok(self.clone());
        }
        self.copied(op)
    }
}
