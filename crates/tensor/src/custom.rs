//! The user's own WGSL on tensors.
//!
//! A [`CustomKernel`] is a shader with a signature: names and dtypes of its inputs and of its output. Calling it checks the
//! tensors against the signature and the shader against reality (bindings, access, limits) before anything is recorded;
//! the result is a tensor like any other, in the same queue, pool and profile.
//!
//! What the shader sees: each input is bound to the variable of its name, and the output to that of its name, or else to the
//! buffer that is left; every buffer holds the elements densely in row-major order, starting at its beginning, padded to whole 32-bit words (f16, bf16
//! have two and u8, i8, bool four elements to a word). Parameters come as `var<uniform>`, any number of them, and one `var<immediate>`.
//! Elements that the shader does not write are 0, unless the program says that it writes all ([`CustomKernel::writes_all`]).
//!
//! Invariant: a grid of several rows goes only to an entry point that can tell them apart (the layer below checks it), or
//! to one of which the program says that it loops.

mod call;
pub(crate) mod given;
#[cfg(all(feature = "software", not(target_arch = "wasm32")))]
mod promise;
#[cfg(not(target_arch = "wasm32"))]
mod watched;

use std::borrow::Cow;
#[cfg(not(target_arch = "wasm32"))]
use std::path::Path;
#[cfg(not(target_arch = "wasm32"))]
use std::sync::Arc;

use ziggurat_core::DType;
use ziggurat_kernels::View;
use ziggurat_pipeline::{
    Arg, Binding, Kernel, KernelCandidate, KernelDescriptor, PipelineError, Pipelines, ShaderSource,
};

use crate::named::Listed;
use crate::{Device, Error, Tensor};
pub use call::CustomCall;

/// A WGSL compute shader with the names and dtypes of its inputs and output.
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
/// ").input("x", DType::F32).input("y", DType::F32).output("out", DType::F32);
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
    inputs: Vec<(Cow<'static, str>, DType)>,
    output: (Option<Cow<'static, str>>, DType),
    writes_all: bool,
    flops: u64,
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
            output: (None, DType::F32),
            writes_all: false,
            flops: 0,
            candidates: Vec::new(),
            #[cfg(not(target_arch = "wasm32"))]
            watched: None,
        }
    }

    /// A kernel whose text is in a file, under the file's name. With debug assertions a call reads the file again if it was
    /// changed: a text that compiles takes the place of the one before; of another the error is printed to standard error, and
    /// calls go on with the text before. Without, the file is read here only.
    ///
    /// Every call asks the file system when the file was changed. With the feature `watch` the system tells it (the crate
    /// `notify`), a few milliseconds after the file was saved; calls then cost nothing while it is not. Where the system cannot,
    /// as of some network drives, calls look as without the feature.
    ///
    /// ```no_run
    /// use ziggurat_tensor::{CustomKernel, DType, Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let wave = CustomKernel::watch("shaders/wave.wgsl")?.input("x", DType::F32);
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

    /// Adds an input: the name of the shader's variable, and the dtype.
    #[must_use]
    pub fn input(mut self, name: impl Into<Cow<'static, str>>, dtype: DType) -> Self {
        self.inputs.push((name.into(), dtype));
        self
    }

    /// The output: the name of the shader's variable, and the dtype. Unless it is said, it is of f32 and the buffer that no input
    /// is bound to.
    #[must_use]
    pub fn output(mut self, name: impl Into<Cow<'static, str>>, dtype: DType) -> Self {
        self.output = (Some(name.into()), dtype);
        self
    }

    /// Says that the kernel writes every element of its output, so that the output need not be filled with zeros before. The
    /// software device's sanitizer finds elements that it leaves out (`unwritten-output`).
    ///
    /// ```
    /// use ziggurat_tensor::{CustomKernel, DType, Device, DeviceOptions, Tensor};
    ///
    /// let negate = CustomKernel::wgsl("negate", "
    ///     @group(0) @binding(0) var<storage, read> x: array<f32>;
    ///     @group(0) @binding(1) var<storage, read_write> out: array<f32>;
    ///     @compute @workgroup_size(64)
    ///     fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) n: vec3<u32>) {
    ///         let i = id.x + (id.y + id.z * n.y) * n.x * 64u;
    ///         if (i < arrayLength(&out)) { out[i] = -x[i]; }
    ///     }
    /// ").input("x", DType::F32).writes_all();
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let x = Tensor::ones(&device, [3], DType::F32)?;
    /// assert_eq!(negate.call(&[&x]).run()?.to_vec_blocking::<f32>()?, [-1.0; 3]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    #[must_use]
    pub fn writes_all(mut self) -> Self {
        self.writes_all = true;
        self
    }

    /// States how many arithmetic operations the kernel does for an element of its output, a multiply-add counted as two:
    /// profiles show them, and [`Roof::of_profile`](crate::Roof::of_profile) compares them with what the device can do. Of a call
    /// for which they are others [`CustomCall::flops`] says how many.
    ///
    /// ```
    /// use ziggurat_tensor::{CustomKernel, DType, Device, DeviceOptions, Tensor};
    ///
    /// let square = CustomKernel::wgsl("square", "
    ///     @group(0) @binding(0) var<storage, read> x: array<f32>;
    ///     @group(0) @binding(1) var<storage, read_write> out: array<f32>;
    ///     @compute @workgroup_size(64)
    ///     fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) n: vec3<u32>) {
    ///         let i = id.x + (id.y + id.z * n.y) * n.x * 64u;
    ///         if (i < arrayLength(&out)) { out[i] = x[i] * x[i]; }
    ///     }
    /// ").input("x", DType::F32).flops_per_element(1);
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// device.set_profiling(true);
    /// let x = Tensor::ones(&device, [1000], DType::F32)?;
    /// square.call(&[&x]).run()?.eval_blocking()?;
    /// for kernel in device.profile_blocking()? {
    ///     println!("{}: {} operations, {} bytes written", kernel.label, kernel.operations, kernel.bytes_written);
    /// }
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    #[must_use]
    pub fn flops_per_element(mut self, flops: u64) -> Self {
        self.flops = flops;
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
        let inputs = self.inputs.iter();
        inputs.map(|(_, dtype)| (*dtype).into()).collect()
    }

    pub(crate) const fn descriptor(&self) -> &KernelDescriptor {
        &self.descriptor
    }

    /// The dtypes of these buffers, if any was declared.
    ///
    /// # Errors
    /// A declared name that none of them has, or one that was not declared, in words.
    pub(crate) fn signature(&self, bindings: &[Binding]) -> Result<Option<Vec<DType>>, String> {
        if self.inputs.is_empty() {
            return Ok(None);
        }
        let names = self.inputs.iter().map(|(name, _)| name);
        if let Some(name) = (names.chain(&self.output.0))
            .find(|name| bindings.iter().all(|binding| binding.name != ***name))
        {
            return Err(format!(
                "the shader has no buffer `{name}`, which is declared"
            ));
        }
        let output = self.bound_output(bindings);
        let dtype = |binding: &Binding| {
            let mut inputs = self.inputs.iter();
            if let Some((_, dtype)) = inputs.find(|(name, _)| *name == binding.name) {
                return Ok(*dtype);
            }
            match output {
                Some(output) if output.name == binding.name => Ok(self.output.1),
                _ => Err(format!("its buffer `{}` is not declared", binding.name)),
            }
        };
        bindings
            .iter()
            .map(dtype)
            .collect::<Result<_, _>>()
            .map(Some)
    }

    /// Which of the bindings is the output.
    fn bound_output<'b>(&self, bindings: &'b [Binding]) -> Option<&'b Binding> {
        bindings.iter().find(|binding| match &self.output.0 {
            Some(name) => *name == binding.name,
            None => self.inputs.iter().all(|(name, _)| *name != binding.name),
        })
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
    /// ").input("x", DType::F32).candidates(KernelCandidate::workgroup_sizes("WG", [64, 128, 256]));
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
        let newest = self.newest(pipelines);
        let descriptor = match tuned {
            Some(candidate) => Cow::Owned(candidate.of(&newest)),
            None => newest,
        };
        let kernel = pipelines.kernel(&descriptor).map_err(fail)?;
        #[cfg(all(feature = "software", not(target_arch = "wasm32")))]
        if self.writes_all
            && pipelines.device().adapter().is_software_device()
            && let Some(output) = self.bound_output(&kernel.reflection().bindings)
            && let Some(promising) = promise::promising(&descriptor, output)
        {
            return pipelines.kernel(&promising).map_err(fail);
        }
        Ok(kernel)
    }

    /// Starts a call on these inputs, in the order of their declaration, on their device.
    pub fn call<'a>(&'a self, inputs: &[&'a Tensor]) -> CustomCall<'a> {
        CustomCall::new(self, Listed::InOrder(inputs.to_vec()))
    }

    /// The same by the names of the inputs, in any order: then none can take another's place.
    pub fn call_named<'a>(&'a self, inputs: &[(&'a str, &'a Tensor)]) -> CustomCall<'a> {
        CustomCall::new(self, Listed::Named(inputs.to_vec()))
    }

    /// Starts a call on a device given by name, for kernels without inputs.
    pub fn call_on<'a>(&'a self, device: &'a Device, inputs: &[&'a Tensor]) -> CustomCall<'a> {
        self.call(inputs).on(device)
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
