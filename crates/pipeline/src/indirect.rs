//! Dispatches whose number of workgroups is in a buffer.
//!
//! Memory of the pool is no indirect buffer: a small kernel copies the counts into one of this layer's, and writes none where one
//! is beyond the limit, so that no adapter has to check it. Invariants: counts are read when the dispatch runs, behind all that
//! was recorded before; an indirect buffer is used again only for what is recorded behind its dispatch, or never while a tape
//! has it.

use std::sync::{Arc, PoisonError};

use ziggurat_core::DType;
use ziggurat_memory::Buffer;

use crate::arguments::{Arg, arrange};
use crate::bind::Entries;
use crate::descriptor::{KernelDescriptor, KernelKey};
use crate::dispatch;
use crate::error::{ArgumentError, PipelineError};
use crate::grid::Grid;
use crate::kernel::Kernel;
use crate::observe::{self, ObservedWorkgroups};
use crate::pipelines::Pipelines;
use crate::source::ShaderSource;

/// Bytes of three counts.
const BYTES: u64 = 12;

/// Indirect buffers without a dispatch.
pub(crate) type Idle = Arc<std::sync::Mutex<Vec<Buffer>>>;

/// An indirect buffer for one dispatch, or for one of a tape.
#[derive(Debug)]
pub(crate) struct Counts {
    buffer: Buffer,
    idle: Idle,
}

impl Counts {
    pub(crate) fn wgpu(&self) -> &wgpu::Buffer {
        self.buffer.wgpu()
    }
}

impl Drop for Counts {
    fn drop(&mut self) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.push(self.buffer.clone());
    }
}

/// How many workgroups a checked dispatch has.
#[derive(Clone, Debug)]
pub(crate) enum Workgroups {
    Counts([u32; 3]),
    Indirect(Arc<Counts>),
}

impl Workgroups {
    pub(crate) fn as_device(&self) -> ziggurat_device::Workgroups<&wgpu::Buffer> {
        match self {
            Self::Counts(counts) => ziggurat_device::Workgroups::Counts(*counts),
            Self::Indirect(counts) => ziggurat_device::Workgroups::Indirect(counts.wgpu()),
        }
    }
}

impl Pipelines {
    /// Records a dispatch of as many workgroups as a buffer says when the dispatch runs: the three words of u32 that begin
    /// `offset` bytes behind its beginning, for x, y and z. With a zero, or a count above the device's limit
    /// ([`Caps::max_workgroups`](ziggurat_device::Caps::max_workgroups)), nothing runs.
    ///
    /// `counts` may be any buffer of this device's memory, which kernels may write, and may also be among the arguments. What
    /// is recorded before is done when the counts are read.
    ///
    /// ```
    /// use ziggurat_pipeline::device::{Device, DeviceOptions};
    /// use ziggurat_pipeline::memory::{Memory, MemoryOptions};
    /// use ziggurat_pipeline::{Arg, KernelDescriptor, Pipelines, ShaderSource};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let pipelines = Pipelines::new(&Memory::new(&device, MemoryOptions::default()));
    /// let text = "
    ///     @group(0) @binding(0) var<storage, read_write> n: atomic<u32>;
    ///     @compute @workgroup_size(1) fn main() { atomicAdd(&n, 1u); }";
    /// let kernel = pipelines.kernel(&KernelDescriptor::new(ShaderSource::wgsl("count", text)))?;
    /// let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    /// let counts = pipelines.memory().upload(&words(&[9, 2, 3, 1]))?;
    /// let n = pipelines.memory().upload(&words(&[0]))?;
    /// pipelines.dispatch_indirect(&kernel, &[Arg::write(&n)], &[], (&counts, 4))?;
    /// assert_eq!(pipelines.memory().read(&n, 0..4)?.wait()?, words(&[6]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`Pipelines::dispatch`] but for the grid's, and [`ArgumentError::IndirectRange`] where the buffer has no three
    /// words there.
    pub fn dispatch_indirect(
        &self,
        kernel: &Kernel,
        args: &[Arg<'_>],
        params: &[u8],
        counts: (&Buffer, u64),
    ) -> Result<(), PipelineError> {
        let (source, offset) = counts;
        let arranged = arrange(kernel, args, params)?;
        let (args, params) = arranged.parts(args, params);
        let mut entries = Entries::default();
        self.check_bound(kernel, args, params, &mut entries)?;
        if !self.memory().owns(source) {
            return Err(PipelineError::Argument(ArgumentError::IndirectForeign {
                kernel: kernel.name().to_owned(),
                place: Arc::clone(&kernel.reflection().place),
            }));
        }
        let capacity = source.capacity();
        let fits = offset.checked_add(BYTES).is_some_and(|end| end <= capacity);
        if !fits || !offset.is_multiple_of(4) {
            return Err(PipelineError::Argument(ArgumentError::IndirectRange {
                kernel: kernel.name().to_owned(),
                place: Arc::clone(&kernel.reflection().place),
                offset,
                capacity,
            }));
        }
        if observe::is_on() {
            observe::tell(
                kernel,
                args,
                params,
                ObservedWorkgroups::Indirect(source, offset),
            );
        }
        let slot = observe::untold(|| self.bounded(source, offset))?;
        let bound = dispatch::buffers(args).map(|arg| (arg.buffer, arg.writes()));
        dispatch::carry_marks(bound.chain([(source, false)]));
        self.record_or_tape(kernel, args, entries, params, Workgroups::Indirect(slot))
    }

    /// An indirect buffer that nothing uses.
    fn idle_counts(&self) -> Result<Counts, PipelineError> {
        let idle = self.idle();
        let known = idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let buffer = match known {
            Some(buffer) => buffer,
            None => self.memory().create_indirect()?,
        };
        Ok(Counts {
            buffer,
            idle: Arc::clone(idle),
        })
    }

    /// An indirect buffer with the counts that begin there, or with none.
    fn bounded(&self, source: &Buffer, offset: u64) -> Result<Arc<Counts>, PipelineError> {
        let limit = self.caps().max_workgroups;
        let key = KernelKey::new("workgroups").number(limit.into());
        let kernel = self.kernel_for(&key, || {
            let text = include_str!("indirect.wgsl");
            KernelDescriptor::new(ShaderSource::wgsl("workgroups", text))
                .constant("LIMIT", f64::from(limit))
        })?;
        let slot = self.idle_counts()?;
        let start = offset - offset % u64::from(self.caps().storage_alignment.max(4));
        let first = u32::try_from((offset - start) / 4).unwrap_or(u32::MAX);
        let first = first.to_le_bytes();
        let args = [
            Arg::uniform(&first),
            Arg::read(source)
                .range(start, offset + BYTES - start)
                .element(DType::U32),
            Arg::write(&slot.buffer).range(0, BYTES),
        ];
        self.dispatch(&kernel, &args, &[], Grid::Workgroups([1; 3]))?;
        Ok(Arc::new(slot))
    }
}
