//! One step of a [`Sequence`]: its buffers and grid, checked, and its dispatch.

use ziggurat_core::DType;
use ziggurat_pipeline::typed::KernelParams;
use ziggurat_pipeline::{Access, Arg, Grid, ShaderSource, with_flops};

use super::{OP, Sequence, SequenceBuffer, Slot};
use crate::Error;
use crate::custom::given::{self, Given};
use crate::custom::{CustomKernel, words};
use crate::named::Listed;
use crate::observe::{self, Operation, What};

/// One step of a [`Sequence`], being put together.
#[derive(Debug)]
#[must_use = "nothing happens before `run`"]
pub struct SequenceStep<'a> {
    sequence: &'a mut Sequence,
    kernel: &'a CustomKernel,
    buffers: Listed<'a, SequenceBuffer>,
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
    pub(super) fn new(
        sequence: &'a mut Sequence,
        kernel: &'a CustomKernel,
        buffers: Listed<'a, SequenceBuffer>,
    ) -> Self {
        Self {
            sequence,
            kernel,
            buffers,
            uniforms: Vec::new(),
            grid: None,
            per_invocation: 1,
            flops: 0,
        }
    }

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
        let step_error = |detail| sequence.error(format!("the step `{}`: {detail}", source.name()));
        let names = bindings.iter().map(|binding| binding.name.as_str());
        let buffers = self.buffers.by_declaration(names).map_err(step_error)?;
        let slots = buffers.iter().map(|buffer| sequence.get(*buffer));
        let slots: Vec<&Slot> = slots.collect::<Result<_, _>>()?;
        let dtypes: Vec<DType> = slots.iter().map(|slot| slot.view.dtype).collect();
        if let Some(declared) = kernel.signature(bindings).map_err(step_error)?
            && declared != dtypes
        {
            let name = source.name();
            let detail = format!("`{name}` takes buffers of {declared:?}: {dtypes:?} given");
            return Err(Error::dtype(OP, detail));
        }
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
        let written: Vec<usize> = (0..buffers.len()).filter(|at| writes(*at)).collect();
        for at in written {
            if let Some(buffer) = buffers.get(at)
                && let Some(slot) = sequence.slots.get_mut(buffer.index)
            {
                slot.is_defined = true;
            }
        }
        Ok(())
    }
}
