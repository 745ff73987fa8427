//! [`Sequence`]: several dispatches of a user's kernels, over buffers that live between them.
//!
//! Each step is checked and recorded when it is given, in order behind those before; loops are Rust's. What a capture or a
//! profile sees are the dispatches under the sequence's name.
//!
//! Invariants: no tensor changes, because steps write only to buffers that the sequence has for itself until it is finished;
//! a result was written by some step.

mod step;

use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};

use ziggurat_core::DType;
use ziggurat_kernels::View;

use crate::custom::CustomKernel;
use crate::named::Listed;
use crate::tensor::new_shape;
use crate::{Device, Error, Tensor};
pub use step::SequenceStep;

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
        self.step_of(kernel, Listed::InOrder(buffers.as_ref().to_vec()))
    }

    /// The same by the names that the shader's variables have, in any order: then no buffer can take another's place.
    pub fn step_named<'a>(
        &'a mut self,
        kernel: &'a CustomKernel,
        buffers: impl AsRef<[(&'a str, SequenceBuffer)]>,
    ) -> SequenceStep<'a> {
        self.step_of(kernel, Listed::Named(buffers.as_ref().to_vec()))
    }

    fn step_of<'a>(
        &'a mut self,
        kernel: &'a CustomKernel,
        buffers: Listed<'a, SequenceBuffer>,
    ) -> SequenceStep<'a> {
        SequenceStep::new(self, kernel, buffers)
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
