//! One call of a [`CustomKernel`]: its arguments, checked, and its dispatch.

use ziggurat_core::DType;
use ziggurat_core::text::list;
use ziggurat_kernels::View;
use ziggurat_pipeline::typed::KernelParams;
use ziggurat_pipeline::{Arg, Grid, Kernel, KernelCandidate, KernelTimes, KernelWork, with_flops};

use super::given::{self, Given};
use super::{CustomKernel, OP, fail, words};
use crate::named::Listed;
use crate::observe::{self, Operation, What};
use crate::once::once;
use crate::tensor::new_shape;
use crate::{Device, Error, Tensor};

/// One call of a [`CustomKernel`], being put together.
#[derive(Clone, Debug)]
#[must_use = "nothing happens before `run`"]
pub struct CustomCall<'a> {
    kernel: &'a CustomKernel,
    device: Option<&'a Device>,
    inputs: Listed<'a, &'a Tensor>,
    shape: Option<Vec<usize>>,
    uniforms: Vec<Given<'a>>,
    grid: Option<[u32; 3]>,
    per_invocation: u32,
    stride: bool,
    flops: Option<u64>,
}

impl<'a> CustomCall<'a> {
    pub(super) fn new(kernel: &'a CustomKernel, inputs: Listed<'a, &'a Tensor>) -> Self {
        Self {
            kernel,
            device: inputs.device(),
            inputs,
            shape: None,
            uniforms: Vec::new(),
            grid: None,
            per_invocation: 1,
            stride: false,
            flops: None,
        }
    }

    pub(super) fn on(mut self, device: &'a Device) -> Self {
        self.device = Some(device);
        self
    }

    /// The shape of the output; that of the first input unless said.
    pub fn shape(mut self, shape: impl AsRef<[usize]>) -> Self {
        self.shape = Some(shape.as_ref().to_vec());
        self
    }

    given::takes_parameters! {
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
        /// ".to_owned())]).input("x", DType::F32);
        /// let device = Device::open_blocking(DeviceOptions::default())?;
        /// let x = Tensor::from_slice(&device, &[1.0f32, 2.0], [2])?;
        /// let y = line.call(&[&x]).params(&Line { slope: 10.0, start: 1.0 }).run()?;
        /// assert_eq!(y.to_vec_blocking::<f32>()?, [11.0, 21.0]);
        /// # Ok::<(), ziggurat_tensor::Error>(())
        /// ```
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

    /// States how many arithmetic operations the call does, a multiply-add counted as two, instead of those that the kernel
    /// states of each element ([`CustomKernel::flops_per_element`]).
    pub fn flops(mut self, flops: u64) -> Self {
        self.flops = Some(flops);
        self
    }

    /// Records the call.
    ///
    /// # Errors
    /// If number or dtypes of the inputs are not those of the signature, the inputs are on different devices, the output needs
    /// a folded grid that the entry point cannot index, or the shader is refused: parse or validation failure, binding count,
    /// type or access, uniform size, workgroup limits; the text names the WGSL line.
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
        let run = || {
            with_flops(call.flops, || {
                pipelines.dispatch(&pipeline, &args, params, grid)
            })
        };
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
        let names = kernel.inputs.iter().map(|(name, _)| name.as_ref());
        let given = self.inputs.by_declaration(names).map_err(|detail| {
            let name = kernel.descriptor.source.name();
            Error::argument(OP, format!("`{name}`: inputs: {detail}"))
        })?;
        let dtypes: Vec<DType> = given.iter().map(|tensor| tensor.dtype()).collect();
        let declared: Vec<DType> = kernel.inputs.iter().map(|(_, dtype)| *dtype).collect();
        if dtypes != declared {
            let shown = |dtypes: &[DType]| {
                let names: Vec<String> = dtypes.iter().map(ToString::to_string).collect();
                list(&names, 9)
            };
            let detail = format!(
                "`{}` takes inputs of {}, got {}",
                kernel.descriptor.source.name(),
                shown(&declared),
                shown(&dtypes)
            );
            return Err(Error::dtype(OP, detail));
        }
        let dims = match (&self.shape, given.first()) {
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
        let mut dense = Vec::with_capacity(given.len());
        for input in &given {
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
        let out = if kernel.writes_all {
            device.alloc(OP, &shape, kernel.output.1)?
        } else {
            device.alloc_zeroed(OP, &shape, kernel.output.1)?
        };
        let stated = kernel.flops.saturating_mul(shape.len() as u64);
        Ok(Checked {
            kernel,
            device,
            dense,
            out,
            uniforms: self.uniforms,
            grid,
            flops: self.flops.unwrap_or(stated),
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
    flops: u64,
}

impl Checked<'_> {
    /// The arguments, and the bytes of the parameters.
    fn bound<'b>(&'b self, pipeline: &Kernel) -> Result<(Vec<Arg<'b>>, &'b [u8]), Error> {
        let mut args = Vec::with_capacity(self.dense.len() + 1);
        for (tensor, (name, _)) in self.dense.iter().zip(&self.kernel.inputs) {
            let view = tensor.stored()?;
            args.push(words(view, Arg::read(&view.buffer)).named(name));
        }
        let out = words(&self.out, Arg::write(&self.out.buffer));
        args.push(match &self.kernel.output.0 {
            Some(name) => out.named(name),
            None => out,
        });
        let params = given::bind(pipeline, &self.uniforms, &mut args).map_err(fail)?;
        self.check_extent(pipeline)?;
        Ok((args, params))
    }

    /// An output that is larger than a variable of fixed size would stay 0 behind it.
    fn check_extent(&self, pipeline: &Kernel) -> Result<(), Error> {
        let reflection = pipeline.reflection();
        let Some(declared) = self.kernel.bound_output(&reflection.bindings) else {
            return Ok(());
        };
        let bytes = self.out.len() as u64 * self.out.dtype.bytes() as u64;
        let most = declared.min_bytes;
        if declared.stride.is_some() || bytes <= most {
            return Ok(());
        }
        let (kernel, name, place) = (&reflection.kernel, &declared.name, &declared.place);
        let shape = self.out.shape();
        Err(Error::shape(
            OP,
            format!(
                "`{kernel}`: {place}: `{name}` has {most} bytes, but an output of shape {shape} has {bytes}: declare `{name}` as a runtime-sized array, or give a smaller shape"
            ),
        ))
    }
}
