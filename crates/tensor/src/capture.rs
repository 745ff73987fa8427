//! Capture and replay: a fixed computation, planned once and repeated with other inputs.
//!
//! [`Device::capture`] runs a function once. What it computes is planned and checked as always, fused kernels included,
//! but its dispatches go onto a tape instead of into the queue. [`Captured::replay`] copies new inputs into the memory
//! that the function's inputs had and records the tape: no graph, no plan, no lookup and no allocation.
//!
//! A thread captures, not a device: what other threads compute meanwhile runs as always, and values from before are
//! computed outside of the capture, once.
//!
//! Values that are computed within a capture share memory where one is needed no more when another one is made: every
//! replay runs in the order of the capture.
//!
//! Invariants: memory that the tape touches is held by it, and nobody else gets it; nothing from before the
//! capture is overwritten, but what is behind the end of a [`KvCache`](crate::KvCache); values made within a capture are
//! errors outside of it, so that nobody sees memory that no replay has filled.

mod caches;

use std::cell::Cell;
use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;
use ziggurat_core::{DType, Shape};
use ziggurat_kernels::View;
use ziggurat_memory::Mark;
use ziggurat_pipeline::Tape;

use crate::observe::{self, Operation, What};
use crate::{Device, Error, Tensor};
use caches::Caches;

pub(crate) use caches::{add_to_cache, cache_length, cache_memory};

const OP: &str = "capture";

thread_local! {
    /// The capture that this thread is in; 0 for none.
    static CURRENT: Cell<u64> = const { Cell::new(0) };
}

/// The number of the capture that this thread is in; 0 for none.
pub(crate) fn current() -> u64 {
    CURRENT.get()
}

/// What a value of a capture is outside of it.
pub(crate) fn out_of_reach() -> &'static Result<View, Error> {
    static ERROR: OnceLock<Result<View, Error>> = OnceLock::new();
    ERROR.get_or_init(|| {
        Err(Error::argument(
            OP,
            "a value made within a capture has no values outside of it: return it, and ask the capture for its outputs",
        ))
    })
}

/// Restores the number of this thread's capture.
struct Within(u64);

impl Within {
    fn enter(number: u64) -> Self {
        Self(CURRENT.replace(number))
    }
}

impl Drop for Within {
    fn drop(&mut self) {
        CURRENT.set(self.0);
    }
}

/// Calls `f` as if this thread were in no capture.
pub(crate) fn outside<R>(device: &Device, f: impl FnOnce() -> R) -> R {
    let _restored = Within::enter(0);
    device.executor().pipelines().untaped(f)
}

/// A computation that [`Device::capture`] recorded, to be repeated with other inputs.
///
/// It may be shared by threads: replays take turns. It keeps the memory of what is computed in it ([`Captured::memory_plan`]).
#[derive(Debug)]
pub struct Captured {
    device: Device,
    tape: Tape,
    inputs: Vec<View>,
    outputs: Vec<View>,
    /// The marks of each output that a replay's inputs do not bring.
    marks: Vec<Vec<Mark>>,
    caches: Caches,
    /// Held from the copies of inputs to those of outputs.
    turn: Mutex<()>,
    replayed: AtomicBool,
}

/// The memory that a [`Captured`] computation keeps, without what it uses from before (weights, say).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryPlan {
    /// Values with memory: inputs, outputs, everything between kernels.
    pub values: u64,
    /// Bytes of these values: what they would take if each had memory of its own.
    pub value_bytes: u64,
    /// Bytes of device memory that they take, sharing it.
    pub reserved_bytes: u64,
}

/// One kernel of a [`Captured`] computation. Prints as a readable text, WGSL included.
#[derive(Clone, Debug)]
pub struct CapturedKernel {
    name: String,
    wgsl: String,
    bytes_read: u64,
    bytes_written: u64,
}

impl CapturedKernel {
    /// The variant, as it is called in profiles: the operation, dtypes, what is fused into it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its shader.
    pub fn wgsl(&self) -> &str {
        &self.wgsl
    }

    /// Bytes that it reads: of each operand the elements that it has, each once.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read
    }

    /// Bytes that it writes, or writes over.
    pub fn bytes_written(&self) -> u64 {
        self.bytes_written
    }
}

impl fmt::Display for CapturedKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (read, written) = (self.bytes_read, self.bytes_written);
        writeln!(f, "{}: {read} bytes read, {written} written", self.name)?;
        self.wgsl
            .lines()
            .try_for_each(|line| writeln!(f, "    {line}"))
    }
}

impl Device {
    /// Captures what `f` computes, to be repeated with other inputs of the same shapes and dtypes.
    ///
    /// `f` is called once, with tensors like `inputs`, whose values are not looked at; what it returns are the outputs.
    /// Nothing runs until [`Captured::replay`]. Tensors from before may be used within (weights, say): their values are
    /// those of the capture, for ever. Reads and uploads are errors within it, and so is the use of a tensor made within
    /// it afterwards. Random numbers and everything else that the host decides are decided once, but for the length of a
    /// [`KvCache`](crate::KvCache), which each replay finds anew.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let weight = Tensor::from_slice(&device, &[1.0f32, 2.0, 3.0, 4.0], [2, 2])?;
    /// let like = Tensor::from_slice(&device, &[0.0f32, 0.0], [1, 2])?;
    /// let layer = device.capture(&[&like], |inputs| Ok(vec![inputs[0].matmul(&weight)?.relu()?]))?;
    /// for (input, output) in [([1.0f32, 0.0], [1.0f32, 2.0]), ([0.0, -1.0], [0.0, 0.0])] {
    ///     let results = layer.run(&[&Tensor::from_slice(&device, &input, [1, 2])?])?;
    ///     assert_eq!(results[0].to_vec_blocking::<f32>()?, output);
    /// }
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// What `f` returns; if `inputs` are not of this device; if this thread is capturing already.
    #[doc(alias = "CUDAGraph", alias = "make_graphed_callables")]
    pub fn capture(
        &self,
        inputs: &[&Tensor],
        f: impl FnOnce(&[Tensor]) -> Result<Vec<Tensor>, Error>,
    ) -> Result<Captured, Error> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        for input in inputs {
            self.check_same(input)?;
        }
        if self.watch().is_on() {
            let rule = "what is traced or recorded cannot be captured: capture before, or call the function itself";
            return Err(Error::argument(OP, rule));
        }
        let Some(scope) = self.executor().pipelines().tape_thread() else {
            return Err(Error::argument(OP, "this thread is in a capture already"));
        };
        let caches = caches::begin();
        let within = Within::enter(NEXT.fetch_add(1, Ordering::Relaxed));
        let views = inputs
            .iter()
            .map(|input| self.alloc(OP, input.shape(), input.dtype()))
            .collect::<Result<Vec<_>, _>>()?;
        let given: Vec<Tensor> = views
            .iter()
            .map(|view| Tensor::from_view(self, view.clone()))
            .collect();
        let results = f(&given)?;
        for result in &results {
            self.check_same(result)?;
        }
        Tensor::evaluate_all(&results.iter().collect::<Vec<_>>())?;
        let outputs = results
            .iter()
            .map(|result| result.stored().cloned())
            .collect::<Result<Vec<_>, _>>()?;
        // Held until here: what has another handle is not written over.
        drop(given);
        let tape = scope.finish();
        drop(within);
        let caches = caches.finish();
        Ok(Captured {
            device: self.clone(),
            tape,
            inputs: views,
            marks: outputs.iter().map(|output| output.buffer.marks()).collect(),
            outputs,
            caches,
            turn: Mutex::new(()),
            replayed: AtomicBool::new(false),
        })
    }

    fn check_same(&self, tensor: &Tensor) -> Result<(), Error> {
        if self.same(tensor.device()) {
            return Ok(());
        }
        let text = format!(
            "all tensors must be on the device that captures, `{}`: one is on `{}`, opened separately",
            self.name(),
            tensor.device().name()
        );
        Err(Error::argument(OP, text))
    }
}

impl Captured {
    /// Records the computation again, with `inputs` in the places of those it was captured with.
    ///
    /// # Errors
    /// If inputs differ in number, shape, dtype or device from those of the capture, within a capture, if a
    /// [`KvCache`](crate::KvCache) has no room for what it appends, or if the device is lost.
    pub fn replay(&self, inputs: &[&Tensor]) -> Result<(), Error> {
        self.check(inputs)?;
        let turn = self.turn.lock();
        let recorded = self.record(inputs);
        drop(turn);
        recorded
    }

    /// [`Captured::replay`] and every [`Captured::output`] of exactly this replay, also while other threads replay.
    ///
    /// # Errors
    /// As [`Captured::replay`], or if the device has no memory.
    pub fn run(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, Error> {
        self.check(inputs)?;
        let turn = self.turn.lock();
        self.record(inputs)?;
        let outputs = self.outputs.iter().map(|output| self.copied(output));
        let outputs = outputs.collect();
        drop(turn);
        outputs
    }

    /// A copy of an output as the last replay left it.
    ///
    /// # Errors
    /// If there is no such output, nothing was replayed yet, or the device has no memory.
    pub fn output(&self, index: usize) -> Result<Tensor, Error> {
        let Some(output) = self.outputs.get(index) else {
            let text = format!(
                "there must be an output {index}: there are {}",
                self.outputs.len()
            );
            return Err(Error::argument("output", text));
        };
        if !self.replayed.load(Ordering::Acquire) {
            return Err(Error::argument(
                "output",
                "the capture must be replayed before",
            ));
        }
        let turn = self.turn.lock();
        let copy = self.copied(output);
        drop(turn);
        copy
    }

    /// The number of outputs.
    pub fn outputs(&self) -> usize {
        self.outputs.len()
    }

    /// Shapes and dtypes of the inputs.
    pub fn inputs(&self) -> impl Iterator<Item = (&Shape, DType)> {
        self.inputs.iter().map(|input| (input.shape(), input.dtype))
    }

    /// The memory that it keeps: values share it whose lifetimes do not overlap.
    ///
    /// ```
    /// use ziggurat_tensor::{DType, Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let like = Tensor::zeros(&device, [64, 64], DType::F32)?;
    /// let powers = device.capture(&[&like], |x| {
    ///     let mut power = x[0].clone();
    ///     for _ in 0..10 {
    ///         power = power.matmul(&x[0])?;
    ///     }
    ///     Ok(vec![power])
    /// })?;
    /// let plan = powers.memory_plan();
    /// // The input and ten products share the memory of a few.
    /// assert!(plan.values >= 11 && plan.value_bytes >= 11 * 64 * 64 * 4);
    /// assert!(plan.reserved_bytes < plan.value_bytes / 2);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    pub fn memory_plan(&self) -> MemoryPlan {
        let usage = self.tape.memory();
        MemoryPlan {
            values: usage.allocations,
            value_bytes: usage.requested,
            reserved_bytes: usage.reserved,
        }
    }

    /// Dispatches of a replay, without those that copy the inputs.
    pub fn dispatches(&self) -> usize {
        self.tape.len()
    }

    /// The kernels of a replay in order, without those that copy the inputs: also those of operations that run when they are
    /// called, so that [`Tensor::explain`] does not see them.
    ///
    /// ```
    /// use ziggurat_tensor::{DType, Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let like = Tensor::zeros(&device, [8, 8], DType::F32)?;
    /// let sums = device.capture(&[&like], |x| Ok(vec![(&x[0] * &x[0])?.sum([-1], false)?]))?;
    /// let kernels: Vec<_> = sums.kernels().collect();
    /// assert_eq!(kernels.len(), 1);
    /// assert!(kernels[0].wgsl().contains("fn op_mul_f32"));
    /// assert_eq!(kernels[0].bytes_read(), 256);
    /// println!("{}", kernels[0]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    pub fn kernels(&self) -> impl Iterator<Item = CapturedKernel> {
        self.tape.dispatches().map(|dispatch| {
            let source = &dispatch.descriptor().source;
            let [bytes_read, bytes_written] = dispatch.bytes();
            CapturedKernel {
                name: source.name().to_owned(),
                wgsl: source.listing(),
                bytes_read,
                bytes_written,
            }
        })
    }

    fn check(&self, inputs: &[&Tensor]) -> Result<(), Error> {
        const OP: &str = "replay";
        if self.device.executor().is_capturing() {
            return Err(Error::argument(OP, "a replay cannot be captured"));
        }
        if self.device.watch().is_recording() {
            let rule = "a replay cannot be recorded: call the captured function itself";
            return Err(Error::argument(OP, rule));
        }
        if inputs.len() != self.inputs.len() {
            let (expected, got) = (self.inputs.len(), inputs.len());
            let text =
                format!("the number of inputs must be that of the capture, {expected}: got {got}");
            return Err(Error::argument(OP, text));
        }
        for (index, (new, old)) in inputs.iter().zip(&self.inputs).enumerate() {
            if new.shape() != old.shape() {
                let (expected, got) = (old.shape(), new.shape());
                let text = format!("input {index} must have the shape {expected}: got {got}");
                return Err(Error::shape(OP, text));
            }
            if new.dtype() != old.dtype {
                let text = format!("input {index} must be {}: got {}", old.dtype, new.dtype());
                return Err(Error::dtype(OP, text));
            }
            self.device.check_same(new)?;
            // Computed here, where nothing is held: another capture's turn may be needed for it.
            new.stored()?;
        }
        Ok(())
    }

    fn record(&self, inputs: &[&Tensor]) -> Result<(), Error> {
        const OP: &str = "replay";
        let fail = |error| Error::from_kernel(OP, error);
        let grown = self.caches.prepare(OP, self.device.executor())?;
        let mut marks = Vec::new();
        for (new, place) in inputs.iter().zip(&self.inputs) {
            place.buffer.set_marks(Vec::new());
            marks.extend(new.stored()?.buffer.marks());
            // The completion is not needed: the tape is ordered behind it.
            let _copied = self
                .device
                .executor()
                .copy(new.stored()?, place)
                .map_err(fail)?;
        }
        let found = self.caches.marks();
        let describe = || Operation {
            name: OP.into(),
            what: What::Replay,
            inputs: Some(self.inputs.iter().map(Some).collect()),
            is_given_non_finite: false,
            outputs: self.outputs.iter().collect(),
        };
        let replay = || self.tape.replay();
        observe::operation(&self.device, describe, replay).map_err(|error| fail(error.into()))?;
        let (checks, executor) = (self.device.index_checks(), self.device.executor());
        let marked = self
            .caches
            .mark(&marks, |mark| checks.of_replay(executor, mark));
        grown.finish();
        marked?;
        marks.extend(found);
        for (output, own) in self.outputs.iter().zip(&self.marks) {
            output.buffer.set_marks([own.as_slice(), &marks].concat());
        }
        self.replayed.store(true, Ordering::Release);
        Ok(())
    }

    fn copied(&self, output: &View) -> Result<Tensor, Error> {
        let copy = Tensor::produce(
            &self.device,
            "output",
            *output.shape(),
            output.dtype,
            |executor, out| executor.copy(output, out),
        )?;
        let checks = self.device.index_checks();
        checks.keep_captured(self.device.executor(), copy.stored()?)?;
        Ok(copy)
    }
}
