//! [`Sequence`]: several dispatches of a user's kernels, over buffers that live between them.
//!
//! Each step is checked and recorded when it is given, in order behind those before; loops are Rust's. What a capture or a
//! profile sees are the dispatches under the sequence's name.
//!
//! Invariants: no tensor changes, because steps write only to buffers that the sequence has for itself until it is finished;
//! a result was written by some step.

use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};

use ziggurat_core::DType;
use ziggurat_kernels::View;
use ziggurat_pipeline::typed::KernelParams;
use ziggurat_pipeline::{Access, Arg, Grid, ShaderSource, with_flops};

use crate::custom::given::{self, Given};
use crate::custom::{CustomKernel, words};
use crate::observe::{self, Operation, What};
use crate::tensor::new_shape;
use crate::{Device, Error, Tensor};

const OP: &str = "sequence";

/// Several dispatches of [`CustomKernel`]s as one operation: inputs, scratch buffers, and results that are tensors.
///
/// A loop with a count that the host knows is a loop in Rust, two buffers that change places are `std::mem::swap`. Steps
/// are recorded at once, in order, and nothing waits. [`Device::capture`] captures a sequence like any operation and replays
/// it; profiles name its dispatches `sequence/kernel`.
///
/// Every buffer holds its elements densely in row-major order, as for [`CustomKernel`].
///
/// ```
/// use ziggurat_tensor::{CustomKernel, DType, Device, DeviceOptions, Sequence, Tensor};
///
/// let device = Device::open_blocking(DeviceOptions::default())?;
/// // Each element becomes the sum with the one so many places before: after log2(n) steps, all before.
/// let add_before = CustomKernel::wgsl("add_before", "
///     @group(0) @binding(0) var<uniform> by: u32;
///     @group(0) @binding(1) var<storage, read> old: array<f32>;
///     @group(0) @binding(2) var<storage, read_write> sums: array<f32>;
///     @compute @workgroup_size(64)
///     fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) n: vec3<u32>) {
///         let i = id.x + (id.y + id.z * n.y) * n.x * 64u;
///         if i >= arrayLength(&sums) { return; }
///         var sum = old[i];
///         if i >= by { sum += old[i - by]; }
///         sums[i] = sum;
///     }
/// ");
/// let x = Tensor::ones(&device, [6], DType::F32)?;
/// let mut sums = Sequence::new(&device, "sums");
/// let (mut old, mut new) = (sums.copy(&x)?, sums.scratch([6], DType::F32)?);
/// for by in [1u32, 2, 4] {
///     sums.step(&add_before, [old, new]).uniform(&by.to_le_bytes()).elements(6).run()?;
///     std::mem::swap(&mut old, &mut new);
/// }
/// let y = sums.finish(old)?;
/// assert_eq!(y.to_vec_blocking::<f32>()?, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
/// # Ok::<(), ziggurat_tensor::Error>(())
/// ```
#[derive(Debug)]
pub struct Sequence {
    device: Device,
    name: Cow<'static, str>,
    number: u64,
    slots: Vec<Slot>,
}

/// A buffer of a [`Sequence`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SequenceBuffer {
    sequence: u64,
    index: usize,
}

#[derive(Debug)]
struct Slot {
    tensor: Tensor,
    view: View,
    is_input: bool,
    is_defined: bool,
}

impl Sequence {
    /// A sequence without steps; `name` stands in errors and profiles.
    pub fn new(device: &Device, name: impl Into<Cow<'static, str>>) -> Self {
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        Self {
            device: device.clone(),
            name: name.into(),
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            slots: Vec::new(),
        }
    }

    /// A tensor that steps read. A view that is not dense is copied.
    ///
    /// # Errors
    /// If the tensor is on another device, or cannot be computed.
    pub fn read(&mut self, tensor: &Tensor) -> Result<SequenceBuffer, Error> {
        self.check_device(tensor)?;
        self.slot(tensor.dense(OP)?, true, true)
    }

    /// A copy of a tensor, which steps may change.
    ///
    /// # Errors
    /// As [`Sequence::read`], and if the device has no memory for it.
    pub fn copy(&mut self, tensor: &Tensor) -> Result<SequenceBuffer, Error> {
        self.check_device(tensor)?;
        self.slot(tensor.copied(OP)?, false, true)
    }

    /// A buffer of zeros.
    ///
    /// # Errors
    /// If the device has no memory for it.
    pub fn zeros(
        &mut self,
        shape: impl AsRef<[usize]>,
        dtype: DType,
    ) -> Result<SequenceBuffer, Error> {
        let shape = new_shape(OP, shape.as_ref())?;
        let view = self.device.alloc_zeroed(OP, &shape, dtype)?;
        self.slot(Tensor::from_view(&self.device, view), false, true)
    }

    /// A buffer that steps write before they read it: what it holds until then is not defined. The software device's sanitizer
    /// finds what is read too early.
    ///
    /// # Errors
    /// If the device has no memory for it.
    pub fn scratch(
        &mut self,
        shape: impl AsRef<[usize]>,
        dtype: DType,
    ) -> Result<SequenceBuffer, Error> {
        let shape = new_shape(OP, shape.as_ref())?;
        let view = self.device.alloc(OP, &shape, dtype)?;
        self.slot(Tensor::from_view(&self.device, view), false, false)
    }

    fn slot(
        &mut self,
        tensor: Tensor,
        is_input: bool,
        is_defined: bool,
    ) -> Result<SequenceBuffer, Error> {
        let view = tensor.stored()?.clone();
        self.slots.push(Slot {
            tensor,
            view,
            is_input,
            is_defined,
        });
        Ok(SequenceBuffer {
            sequence: self.number,
            index: self.slots.len() - 1,
        })
    }

    /// Starts a step: a dispatch of a kernel with buffers for its storage bindings, in the order of groups and numbers. Which
    /// of them it writes is what the shader declares. Dtypes that the kernel's signature says are checked.
    pub fn step<'a>(
        &'a mut self,
        kernel: &'a CustomKernel,
        buffers: impl AsRef<[SequenceBuffer]>,
    ) -> SequenceStep<'a> {
        SequenceStep {
            sequence: self,
            kernel,
            buffers: buffers.as_ref().to_vec(),
            uniforms: Vec::new(),
            grid: None,
            per_invocation: 1,
            flops: 0,
        }
    }

    /// Ends the sequence with a result.
    ///
    /// # Errors
    /// If no step wrote the buffer, or it belongs to another sequence.
    pub fn finish(self, result: SequenceBuffer) -> Result<Tensor, Error> {
        self.result(result)
    }

    /// Ends the sequence with several results.
    ///
    /// # Errors
    /// As [`Sequence::finish`].
    pub fn finish_all<const N: usize>(
        self,
        results: [SequenceBuffer; N],
    ) -> Result<[Tensor; N], Error> {
        let tensors = results.iter().map(|result| self.result(*result));
        let tensors: Vec<Tensor> = tensors.collect::<Result<_, _>>()?;
        let made = tensors.len();
        <[Tensor; N]>::try_from(tensors)
            .map_err(|_| Error::internal(OP, format!("{made} results of {N}")))
    }

    fn result(&self, result: SequenceBuffer) -> Result<Tensor, Error> {
        let slot = self.get(result)?;
        if slot.is_defined {
            return Ok(slot.tensor.clone());
        }
        Err(self.error(format!(
            "no step wrote the scratch buffer {} that is its result",
            result.index
        )))
    }

    fn get(&self, buffer: SequenceBuffer) -> Result<&Slot, Error> {
        let own = buffer.sequence == self.number;
        let slot = self.slots.get(buffer.index).filter(|_| own);
        slot.ok_or_else(|| self.error("a buffer belongs to another sequence".to_owned()))
    }

    /// A buffer with three counts of workgroups from an element on, and where that is in bytes.
    fn counts(&self, step: &str, counts: SequenceBuffer, at: usize) -> Result<(&View, u64), Error> {
        let slot = self.get(counts)?;
        let refuse = |detail: &str| {
            Err(self.error(format!("the step `{step}` takes its workgroups {detail}")))
        };
        if slot.view.dtype != DType::U32 {
            return refuse(&format!(
                "from a buffer of {}: it must be u32",
                slot.view.dtype
            ));
        }
        if !slot.is_defined {
            return refuse("from a scratch buffer that no step wrote");
        }
        let len = slot.view.layout.len();
        if at.checked_add(3).is_none_or(|end| end > len) {
            return refuse(&format!(
                "from element {at} of {len}: they are three elements"
            ));
        }
        Ok((&slot.view, 4 * at as u64))
    }

    fn check_device(&self, tensor: &Tensor) -> Result<(), Error> {
        if tensor.device().same(&self.device) {
            return Ok(());
        }
        Err(self.error("all tensors must be on its device".to_owned()))
    }

    fn error(&self, detail: String) -> Error {
        Error::argument(OP, format!("`{}`: {detail}", self.name))
    }
}

/// One step of a [`Sequence`], being put together.
#[derive(Debug)]
#[must_use = "nothing happens before `run`"]
pub struct SequenceStep<'a> {
    sequence: &'a mut Sequence,
    kernel: &'a CustomKernel,
    buffers: Vec<SequenceBuffer>,
    uniforms: Vec<Given<'a>>,
    grid: Option<StepGrid>,
    per_invocation: u32,
    flops: u64,
}

#[derive(Clone, Copy, Debug)]
enum StepGrid {
    Workgroups([u32; 3]),
    Elements(u64),
    Stride(u64),
    /// As many workgroups as a buffer says from this element on.
    Indirect(SequenceBuffer, usize),
}

impl<'a> SequenceStep<'a> {
    given::takes_parameters! {
        /// The same of a struct with `#[derive(KernelParams)]`, as in [`CustomCall::params`](crate::CustomCall::params).
    }

    /// So many workgroups along x, y and z.
    pub fn workgroups(mut self, workgroups: [u32; 3]) -> Self {
        self.grid = Some(StepGrid::Workgroups(workgroups));
        self
    }

    /// Invocations for so many elements, in a grid that is folded where x alone does not reach. The element is then
    /// `id.x + (id.y + id.z * n.y) * n.x * WG`, with `n` of `@builtin(num_workgroups)`.
    pub fn elements(mut self, elements: usize) -> Self {
        self.grid = Some(StepGrid::Elements(elements as u64));
        self
    }

    /// The same for a kernel that loops with the stride of the grid, `n.x * WG` elements; never folded.
    pub fn stride(mut self, elements: usize) -> Self {
        self.grid = Some(StepGrid::Stride(elements as u64));
        self
    }

    /// As many workgroups along x, y and z as three elements of a buffer of u32 say, from element `at` on, when the step runs. With
    /// a zero, or a count above the device's limit (65,535 everywhere), nothing runs.
    ///
    /// ```
    /// use ziggurat_tensor::{CustomKernel, DType, Device, DeviceOptions, Sequence, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let kernel = |name, main: &str| {
    ///     CustomKernel::wgsl(name, format!("
    ///         @group(0) @binding(0) var<storage, read_write> a: array<u32>;
    ///         @group(0) @binding(1) var<storage, read_write> b: array<u32>;
    ///         @compute @workgroup_size(1) fn main(@builtin(workgroup_id) id: vec3<u32>) {{ {main} }}"))
    /// };
    /// let (decide, fill) = (kernel("decide", "b[0] = a[0]; b[1] = 1u; b[2] = 1u;"), kernel("fill", "a[id.x] = 7u + b[0];"));
    /// let mut some = Sequence::new(&device, "some");
    /// let out = some.copy(&Tensor::from_slice(&device, &[2u32, 0, 0, 0], [4])?)?;
    /// let grid = some.scratch([3], DType::U32)?;
    /// some.step(&decide, [out, grid]).workgroups([1, 1, 1]).run()?;
    /// some.step(&fill, [out, grid]).indirect(grid, 0).run()?;
    /// assert_eq!(some.finish(out)?.to_vec_blocking::<u32>()?, [9, 9, 0, 0]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    pub fn indirect(mut self, counts: SequenceBuffer, at: usize) -> Self {
        self.grid = Some(StepGrid::Indirect(counts, at));
        self
    }

    /// Elements that one invocation computes; 0 counts as 1.
    pub fn per_invocation(mut self, elements: u32) -> Self {
        self.per_invocation = elements;
        self
    }

    /// States how many arithmetic operations the step does, a multiply-add counted as two: profiles show them. What the kernel
    /// states of each element of an output is not looked at, because a step has none.
    pub fn flops(mut self, flops: u64) -> Self {
        self.flops = flops;
        self
    }

    /// Records the step.
    ///
    /// # Errors
    /// If the step has no grid, a buffer is of another sequence or of another dtype than is declared, the shader writes a
    /// tensor that is only read, or the shader or its use is refused; the text names the WGSL line.
    pub fn run(self) -> Result<(), Error> {
        let (sequence, kernel) = (self.sequence, self.kernel);
        let source = &kernel.descriptor().source;
        let fail = |error| Error::from_pipeline(OP, error);
        let slots = self.buffers.iter().map(|buffer| sequence.get(*buffer));
        let slots: Vec<&Slot> = slots.collect::<Result<_, _>>()?;
        let dtypes: Vec<DType> = slots.iter().map(|slot| slot.view.dtype).collect();
        if let Some(declared) = kernel.signature()
            && declared != dtypes
        {
            let name = source.name();
            let detail = format!("`{name}` takes buffers of {declared:?}: {dtypes:?} given");
            return Err(Error::dtype(OP, detail));
        }
        let Some(grid) = self.grid else {
            let detail = format!(
                "the step `{}` has no grid: call `elements`, `stride`, `workgroups` or `indirect`",
                source.name()
            );
            return Err(sequence.error(detail));
        };
        let counts = match grid {
            StepGrid::Indirect(counts, at) => Some(sequence.counts(source.name(), counts, at)?),
            _ => None,
        };
        let pipelines = sequence.device.executor().pipelines();
        let mut descriptor = kernel.newest(pipelines).into_owned();
        let named = ShaderSource::new(format!("{}/{}", sequence.name, source.name()));
        descriptor.source = descriptor
            .source
            .parts()
            .iter()
            .fold(named, |source, part| {
                source.part(part.file.clone(), part.text.clone())
            });
        let pipeline = pipelines.kernel(&descriptor).map_err(fail)?;
        let bindings = &pipeline.reflection().bindings;
        let writes = |at: usize| {
            let binding = bindings.get(at);
            binding.is_some_and(|binding| binding.access == Access::ReadWrite)
        };
        let mut args = Vec::with_capacity(slots.len() + self.uniforms.len());
        for (at, slot) in slots.iter().enumerate() {
            if slot.is_input && writes(at) {
                let name = bindings.get(at).map_or("", |binding| &binding.name);
                let detail = format!(
                    "`{}` writes `{name}`, which is a tensor: give it a `copy`, or a `scratch` buffer",
                    source.name()
                );
                return Err(sequence.error(detail));
            }
            let buffer = &slot.view.buffer;
            let arg = if writes(at) {
                Arg::write(buffer)
            } else {
                Arg::read(buffer)
            };
            args.push(words(&slot.view, arg));
        }
        let params = given::bind(&pipeline, &self.uniforms, &mut args).map_err(fail)?;
        let grid = match grid {
            StepGrid::Workgroups(workgroups) => Grid::Workgroups(workgroups),
            StepGrid::Elements(elements) => Grid::elements(elements, self.per_invocation),
            StepGrid::Stride(elements) => Grid::stride(elements, self.per_invocation),
            // Said by `counts`.
            StepGrid::Indirect(..) => Grid::Workgroups([0; 3]),
        };
        let describe = || {
            let of = |is_written: bool| {
                let slots = slots.iter().enumerate();
                slots.filter(move |(at, _)| writes(*at) == is_written)
            };
            // What is changed is read too, if something was written to it before.
            let changed = of(true).filter(|(_, slot)| slot.is_defined);
            Operation {
                name: descriptor.source.name().into(),
                what: What::Dispatches,
                inputs: Some(
                    (of(false).chain(changed))
                        .map(|(_, slot)| &slot.view)
                        .chain(counts.map(|(view, _)| view))
                        .map(Some)
                        .collect(),
                ),
                is_given_non_finite: false,
                outputs: of(true).map(|(_, slot)| &slot.view).collect(),
            }
        };
        let dispatch = || match counts {
            Some((view, offset)) => {
                pipelines.dispatch_indirect(&pipeline, &args, params, (&view.buffer, offset))
            }
            None => pipelines.dispatch(&pipeline, &args, params, grid),
        };
        let run = || with_flops(self.flops, dispatch);
        observe::operation(&sequence.device, describe, run).map_err(fail)?;
        let written: Vec<usize> = (0..self.buffers.len()).filter(|at| writes(*at)).collect();
        for at in written {
            if let Some(buffer) = self.buffers.get(at)
                && let Some(slot) = sequence.slots.get_mut(buffer.index)
            {
                slot.is_defined = true;
            }
        }
        Ok(())
    }
}
