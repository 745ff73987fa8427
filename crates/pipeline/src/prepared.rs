//! [`PreparedDispatch`]: a dispatch that was checked once, to be recorded again with other buffers.
//!
//! For callers that know by a key of their own that a dispatch will come again: what is left to do is to find the bind
//! group and to record. Invariants: the buffers of a repetition have the ranges that were checked, and those that are the
//! same memory are those that were the same at the preparation, which is the caller's business.

use ziggurat_device::{Recorder, Work};
use ziggurat_memory::Buffer;

use crate::arguments::{Arg, OwnedResource, ResourceEntry, arrange};
use crate::bind::{Entries, Entry, KeyWords, Layout};
use crate::dispatch;
use crate::error::PipelineError;
use crate::grid::Grid;
use crate::indirect::Workgroups;
use crate::kernel::Kernel;
use crate::launch::{Bound, Launch};
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
#[derive(Clone, Copy, Debug)]
struct Slot {
    group: u32,
    binding: u32,
    writes: bool,
    offset: u64,
    /// `None` binds all that the buffer has.
    bytes: Option<u64>,
    /// What was bound of the buffer that it was prepared with.
    bound: u64,
}

impl Slot {
    /// Whether both bind the same of a buffer: all of it, or as many bytes, be that all of the one and a part of the other.
    fn same(&self, other: &Self) -> bool {
        let at = |slot: &Self| (slot.group, slot.binding, slot.writes, slot.offset);
        at(self) == at(other) && (self.bytes == other.bytes || self.bound == other.bound)
    }
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
        let slots = self.slots.len() == other.slots.len()
            && (self.slots.iter().zip(&other.slots)).all(|(a, b)| a.same(b));
        plain && same_kernel && slots && self.workgroups == other.workgroups
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
            bound: entry.bytes,
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

    /// Records a prepared dispatch with the textures and samplers of its preparation and these buffers, one for each storage
    /// binding in the order of group and binding, and parameters, as many as it was prepared with (several uniforms joined
    /// as they were then).
    ///
    /// # Errors
    ///
    /// [`PipelineError::Internal`] if buffers or parameters are not those that the preparation was for; errors of device or
    /// memory.
    pub fn dispatch_prepared(
        &self,
        prepared: &PreparedDispatch,
        buffers: &[&Buffer],
        params: &[u8],
    ) -> Result<(), PipelineError> {
        if buffers.len() != prepared.slots.len() || params.len() != prepared.params_bytes {
            return Err(prepared.refused("a prepared dispatch gets all its buffers and parameters"));
        }
        let only = prepared.kernel.layouts().only();
        let mut key = KeyWords::new(only);
        let (mut fits, mut marked) = (true, false);
        for (slot, buffer) in prepared.slots.iter().zip(buffers) {
            fits &= self.memory().owns(buffer);
            marked |= buffer.is_marked();
            match slot.bytes {
                None => key.whole(buffer.id()),
                Some(bytes) => {
                    fits &= slot.offset + bytes <= buffer.capacity();
                    key.part(buffer.id(), slot.offset, bytes);
                }
            }
        }
        if !fits {
            let rule = "the buffers of a prepared dispatch are like those before";
            return Err(prepared.refused(rule));
        }
        if marked {
            let writes = prepared.slots.iter().map(|slot| slot.writes);
            dispatch::carry_marks(buffers.iter().copied().zip(writes));
        }
        self.touch(&prepared.kernel);
        match only {
            Some(layout) if prepared.resources.is_empty() && self.debug().is_none() => {
                self.record_prepared(prepared, (layout, &mut key), buffers, params)
            }
            _ => {
                let mut entries = prepared.entries(buffers);
                let workgroups = Workgroups::Counts(prepared.workgroups);
                let sizes = (&workgroups, prepared.work);
                self.record_checked(&prepared.kernel, &mut entries, params, sizes)
            }
        }
    }

    /// Records what has one bind group, of buffers.
    #[inline]
    fn record_prepared(
        &self,
        prepared: &PreparedDispatch,
        (layout, key): (&Layout, &mut KeyWords),
        buffers: &[&Buffer],
        params: &[u8],
    ) -> Result<(), PipelineError> {
        let kernel = &prepared.kernel;
        let pipeline = self.compiled(kernel)?;
        let joined = kernel.param_bytes();
        let (immediates, uniforms) = joined.split(params);
        let workgroups = Workgroups::Counts(prepared.workgroups);
        let launch = |group: &wgpu::BindGroup, offset, recorder: &mut Recorder<'_>| {
            let bound = Bound {
                first: Some(group),
                dynamic: layout.dynamic,
                more: &[],
            };
            Launch {
                kernel,
                pipeline,
                bound,
                offset,
                immediates,
                workgroups: &workgroups,
                work: prepared.work,
            }
            .record(recorder);
        };
        let (device, binds) = (self.device(), self.binds());
        if joined.uniforms().is_empty() {
            let group = binds.find(key).unwrap_or_else(|| {
                let entries = prepared.entries(buffers);
                binds.group(device.wgpu(), layout, &entries)
            });
            device.record(|recorder| launch(&group, 0, recorder))?;
        } else {
            // Uniform memory belongs to the batch that is open now: everything happens under the queue's lock.
            device.record(|recorder| -> Result<(), PipelineError> {
                let slice = self.memory().write_uniform(recorder, uniforms)?;
                joined.entries(&slice).for_each(|entry| key.entry(&entry));
                let group = binds.find(key).unwrap_or_else(|| {
                    let mut entries = prepared.entries(buffers);
                    joined.entries(&slice).for_each(|entry| entries.push(entry));
                    binds.group(device.wgpu(), layout, &entries)
                });
                launch(&group, slice.offset, recorder);
                Ok(())
            })??;
        }
        self.count_dispatches(1);
        Ok(())
    }
}

impl PreparedDispatch {
    /// What is bound, with its textures and samplers.
    fn entries<'a>(&'a self, buffers: &[&'a Buffer]) -> Entries<'a> {
        let mut entries = Entries::default();
        for (slot, buffer) in self.slots.iter().zip(buffers) {
            entries.push(Entry {
                group: slot.group,
                binding: slot.binding,
                buffer: buffer.wgpu(),
                id: buffer.id(),
                offset: slot.offset,
                bytes: slot.bytes.unwrap_or(buffer.capacity()),
            });
        }
        let resources = self.resources.iter();
        entries.resources = resources.map(OwnedResource::entry).collect();
        entries
    }

    #[cold]
    fn refused(&self, what: &'static str) -> PipelineError {
        PipelineError::Internal {
            kernel: self.kernel.name().to_owned(),
            what,
        }
    }
}
