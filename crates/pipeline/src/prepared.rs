//! [`PreparedDispatch`]: a dispatch that was checked once, to be recorded again with other buffers.
//!
//! For callers that know by a key of their own that a dispatch will come again: what is left to do is to find the bind
//! group and to record. Invariants: the buffers of a repetition have the ranges that were checked, and those that are the
//! same memory are those that were the same at the preparation, which is the caller's business.

use ziggurat_device::Work;
use ziggurat_memory::Buffer;

use crate::arguments::{Arg, OwnedResource, ResourceEntry, arrange};
use crate::bind::{Entries, Entry};
use crate::dispatch;
use crate::error::PipelineError;
use crate::grid::Grid;
use crate::indirect::Workgroups;
use crate::kernel::Kernel;
use crate::pipelines::Pipelines;

/// See [`Pipelines::prepare`].
#[derive(Clone, Debug)]
pub struct PreparedDispatch {
    kernel: Kernel,
    slots: Box<[Slot]>,
    resources: Box<[OwnedResource]>,
    params_bytes: usize,
    workgroups: [u32; 3],
    work: Work,
}

/// A binding without its buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slot {
    group: u32,
    binding: u32,
    writes: bool,
    offset: u64,
    /// `None` binds all that the buffer has.
    bytes: Option<u64>,
}

impl PreparedDispatch {
    /// Whether both are one kernel with the same grid and ranges.
    #[must_use]
    pub fn same(&self, other: &Self) -> bool {
        // A kernel that was forgotten meanwhile is compiled again.
        let same_kernel = self.kernel.same(&other.kernel)
            || self.kernel.descriptor() == other.kernel.descriptor();
        // Textures are not told apart: dispatches with some are never the same.
        let plain = self.resources.is_empty() && other.resources.is_empty();
        plain && same_kernel && self.slots == other.slots && self.workgroups == other.workgroups
    }
}

impl Pipelines {
    /// Checks a dispatch as [`Pipelines::dispatch`] does, and keeps it instead of recording it; `None` if there is no work.
    ///
    /// # Errors
    ///
    /// Those of [`Pipelines::dispatch`].
    pub fn prepare(
        &self,
        kernel: &Kernel,
        args: &[Arg<'_>],
        params: &[u8],
        grid: Grid,
    ) -> Result<Option<PreparedDispatch>, PipelineError> {
        let arranged = arrange(kernel, args, params)?;
        let (args, params) = arranged.parts(args, params);
        let mut entries = Entries::default();
        let Some(workgroups) = self.check(kernel, args, params, grid, &mut entries)? else {
            return Ok(None);
        };
        let bound = entries.iter().zip(dispatch::buffers(args));
        let slots = bound.map(|(entry, arg)| Slot {
            group: entry.group,
            binding: entry.binding,
            writes: arg.writes(),
            offset: entry.offset,
            bytes: (entry.offset > 0 || entry.bytes != arg.buffer.capacity())
                .then_some(entry.bytes),
        });
        Ok(Some(PreparedDispatch {
            kernel: kernel.clone(),
            slots: slots.collect(),
            resources: entries.resources.iter().map(ResourceEntry::owned).collect(),
            params_bytes: params.len(),
            workgroups,
            work: dispatch::work(kernel.reflection(), args),
        }))
    }

    /// Records a prepared dispatch with the textures and samplers of its preparation and these buffers, one for each storage binding in the order of group and binding, and
    /// parameters, as many as it was prepared with (several uniforms joined as they were then).
    ///
    /// # Errors
    ///
    /// [`PipelineError::Internal`] if buffers or parameters are not those that the preparation was for; errors of device or
    /// memory.
    pub fn dispatch_prepared<'a>(
        &self,
        prepared: &PreparedDispatch,
        buffers: impl Iterator<Item = &'a Buffer> + Clone,
        params: &[u8],
    ) -> Result<(), PipelineError> {
        let kernel = &prepared.kernel;
        let refuse = |what| PipelineError::Internal {
            kernel: kernel.name().to_owned(),
            what,
        };
        let mut entries = Entries::default();
        let mut found = 0;
        let mut marked = false;
        for (slot, buffer) in prepared.slots.iter().zip(buffers.clone()) {
            let bytes = slot.bytes.unwrap_or(buffer.capacity());
            if !self.memory().owns(buffer) || slot.offset + bytes > buffer.capacity() {
                return Err(refuse(
                    "the buffers of a prepared dispatch are like those before",
                ));
            }
            marked |= buffer.is_marked();
            entries.push(Entry {
                group: slot.group,
                binding: slot.binding,
                buffer: buffer.wgpu(),
                id: buffer.id(),
                offset: slot.offset,
                bytes,
            });
            found += 1;
        }
        if found != prepared.slots.len() || params.len() != prepared.params_bytes {
            return Err(refuse(
                "a prepared dispatch gets all its buffers and parameters",
            ));
        }
        let resources = prepared.resources.iter();
        entries.resources = resources.map(OwnedResource::entry).collect();
        if marked {
            let writes = prepared.slots.iter().map(|slot| slot.writes);
            dispatch::carry_marks(buffers.zip(writes));
        }
        self.touch(kernel);
        self.record_checked(
            kernel,
            &mut entries,
            params,
            (&Workgroups::Counts(prepared.workgroups), prepared.work),
        )
    }
}
