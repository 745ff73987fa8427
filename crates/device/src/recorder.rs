//! What can be recorded: copies, clears, dispatches, and hooks around the submission.
//!
//! The recorder does not check what the layers above already know (alignment, bounds, binding
//! types); wgpu does, and what it finds poisons the device. Empty copies and dispatches of zero
//! workgroups are legal and record nothing.

use std::sync::atomic::Ordering;

use crate::Submission;
use crate::queue::{Immediates, Locked};
use crate::timestamps::Profiler;

/// One kernel launch.
#[derive(Clone, Copy, Debug)]
pub struct Dispatch<'a> {
    /// Name in profiles and in the driver's tools.
    pub label: &'a str,
    /// The kernel.
    pub pipeline: &'a wgpu::ComputePipeline,
    /// What it works on, bound as group 0.
    pub bind_group: Option<&'a wgpu::BindGroup>,
    /// Offsets of the group's dynamic bindings.
    pub dynamic_offsets: &'a [u32],
    /// Immediates, from offset 0; a multiple of four bytes.
    pub immediates: &'a [u8],
    /// Workgroups along x, y and z.
    pub workgroups: [u32; 3],
    /// Bytes that it reads and that it writes, for profiles; only looked at while one is made.
    pub bytes: [u64; 2],
}

/// The open batch, for as long as one [`Device::record`](crate::Device::record) lasts.
pub struct Recorder<'a> {
    pub(crate) locked: Locked<'a>,
    pub(crate) device: &'a wgpu::Device,
    pub(crate) profiler: &'a Profiler,
    pub(crate) labels: bool,
}

impl std::fmt::Debug for Recorder<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recorder")
            .field("submission", &self.submission())
            .finish_non_exhaustive()
    }
}

impl Recorder<'_> {
    /// The number this work will have.
    #[must_use]
    pub fn submission(&self) -> Submission {
        self.locked.number()
    }

    /// Copies `bytes` bytes between buffers. Offsets and length are multiples of 4.
    pub fn copy_buffer(
        &mut self,
        src: &wgpu::Buffer,
        src_offset: u64,
        dst: &wgpu::Buffer,
        dst_offset: u64,
        bytes: u64,
    ) {
        if bytes == 0 {
            return;
        }
        self.profiler.host.moved(bytes);
        self.command()
            .copy_buffer_to_buffer(src, src_offset, dst, dst_offset, bytes);
    }

    /// Fills `bytes` bytes with zeros. Offset and length are multiples of 4.
    pub fn clear_buffer(&mut self, buffer: &wgpu::Buffer, offset: u64, bytes: u64) {
        if bytes == 0 {
            return;
        }
        self.command().clear_buffer(buffer, offset, Some(bytes));
    }

    /// Says that the first `bytes` bytes hold nothing from here on, and the rest is padding: a
    /// sanitizer then finds kernels that read them before they are written. Does nothing without
    /// one ([`Device::is_checked`](crate::Device::is_checked)).
    pub fn mark_undefined(&mut self, buffer: &wgpu::Buffer, bytes: u64) {
        crate::software::mark_undefined(self.command(), buffer, 0..bytes);
    }

    /// Launches a kernel.
    pub fn dispatch(&mut self, dispatch: Dispatch<'_>) {
        let [x, y, z] = dispatch.workgroups;
        if x == 0 || y == 0 || z == 0 {
            return;
        }
        self.locked
            .counters()
            .dispatches
            .fetch_add(1, Ordering::Relaxed);
        let (device, labels) = (self.device, self.labels);
        let timed = self.profiler.is_on();
        let batch = self.locked.batch();
        batch.commands = batch.commands.saturating_add(1);
        if timed {
            batch.end_pass();
            let name = (dispatch.label, dispatch.bytes);
            self.profiler.reserve(device, &mut batch.timings, name);
        }
        let encoder = batch
            .encoder
            .get_or_insert_with(|| device.create_command_encoder(&Default::default()));
        let timings = &batch.timings;
        let pass = batch.pass.get_or_insert_with(|| {
            let descriptor = wgpu::ComputePassDescriptor {
                label: (timed && labels).then_some(dispatch.label),
                timestamp_writes: timings
                    .last()
                    .filter(|_| timed)
                    .map(crate::timestamps::Chunk::writes),
            };
            encoder.begin_compute_pass(&descriptor).forget_lifetime()
        });
        let same_pipeline = batch.pipeline.as_ref() == Some(dispatch.pipeline);
        if !same_pipeline {
            pass.set_pipeline(dispatch.pipeline);
            batch.pipeline = Some(dispatch.pipeline.clone());
            batch.immediates = Immediates::default();
        }
        let same_group = same_pipeline
            && dispatch.dynamic_offsets.is_empty()
            && batch.bind_group.as_ref() == dispatch.bind_group;
        if !same_group && dispatch.bind_group.is_some() {
            pass.set_bind_group(0, dispatch.bind_group, dispatch.dynamic_offsets);
            let keep = dispatch.dynamic_offsets.is_empty();
            batch.bind_group = dispatch.bind_group.filter(|_| keep).cloned();
        }
        if !dispatch.immediates.is_empty() && !batch.immediates.is_repeated(dispatch.immediates) {
            pass.set_immediates(0, dispatch.immediates);
        }
        if labels && !timed {
            pass.insert_debug_marker(dispatch.label);
        }
        pass.dispatch_workgroups(x, y, z);
        if timed {
            batch.end_pass();
        }
    }

    /// Runs `hook` just before this batch is submitted, in the order of registration: the place
    /// for queue writes that this batch reads. It runs under the queue's lock and must not record,
    /// nor take a lock that is held while recording. The hooks of a batch that is never submitted
    /// (the device failed) are dropped without being run.
    pub fn before_submit(&mut self, hook: impl FnOnce(&wgpu::Queue) + Send + 'static) {
        self.locked.batch().before.push(Box::new(hook));
    }

    /// Runs `hook` right after this batch was submitted, before the call that submitted it
    /// returns: the place for `map_async`. It must neither record nor flush, so that it cannot
    /// make submissions nest. Dropped without being run like
    /// [`before_submit`](Self::before_submit)'s.
    pub fn after_submit(&mut self, hook: impl FnOnce(Submission) + Send + 'static) {
        self.locked.batch().after.push(Box::new(hook));
    }

    /// Ends the pass, counts a copy and returns the encoder.
    fn command(&mut self) -> &mut wgpu::CommandEncoder {
        self.locked
            .counters()
            .copies
            .fetch_add(1, Ordering::Relaxed);
        let device = self.device;
        let batch = self.locked.batch();
        batch.end_pass();
        batch.commands = batch.commands.saturating_add(1);
        batch
            .encoder
            .get_or_insert_with(|| device.create_command_encoder(&Default::default()))
    }
}
