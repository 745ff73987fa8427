//! From commands to the open encoder and its compute pass.

use crate::queue::Batch;
use crate::recorder::{Dispatch, Work, Workgroups};
use crate::timestamps::{Chunk, MARK, Profiler};

/// What encoding needs besides the batch.
#[derive(Clone, Copy)]
pub(crate) struct Encoding<'a> {
    pub(crate) device: &'a wgpu::Device,
    pub(crate) profiler: &'a Profiler,
    pub(crate) labels: bool,
}

impl Encoding<'_> {
    /// Ends the pass and returns the encoder.
    pub(crate) fn command<'b>(&self, batch: &'b mut Batch) -> &'b mut wgpu::CommandEncoder {
        batch.end_pass();
        batch
            .encoder
            .get_or_insert_with(|| self.device.create_command_encoder(&Default::default()))
    }

    /// A pass without dispatches, whose timestamp says when all before it was done.
    pub(crate) fn mark(&self, batch: &mut Batch) {
        batch.end_pass();
        let mark = (MARK, Work::default());
        self.profiler.reserve(self.device, &mut batch.timings, mark);
        let encoder = batch
            .encoder
            .get_or_insert_with(|| self.device.create_command_encoder(&Default::default()));
        drop(encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
            label: None,
            timestamp_writes: batch.timings.last().map(Chunk::writes),
        }));
    }

    #[inline]
    pub(crate) fn dispatch(&self, batch: &mut Batch, dispatch: Dispatch<'_>, timed: bool) {
        let (device, labels) = (self.device, self.labels);
        if timed {
            batch.end_pass();
            let name = (dispatch.label, dispatch.work);
            self.profiler.reserve(device, &mut batch.timings, name);
        }
        let encoder = batch
            .encoder
            .get_or_insert_with(|| device.create_command_encoder(&Default::default()));
        let timings = &batch.timings;
        let pass = batch.pass.get_or_insert_with(|| {
            let descriptor = wgpu::ComputePassDescriptor {
                label: (timed && labels).then_some(dispatch.label),
                timestamp_writes: timings.last().filter(|_| timed).map(Chunk::writes),
            };
            encoder.begin_compute_pass(&descriptor).forget_lifetime()
        });
        let same_pipeline = batch.pipeline.as_ref() == Some(dispatch.pipeline);
        if !same_pipeline {
            pass.set_pipeline(dispatch.pipeline);
            batch.pipeline = Some(dispatch.pipeline.clone());
            batch.immediates.forget();
        }
        let same_group = same_pipeline
            && dispatch.dynamic_offsets.is_empty()
            && batch.bind_group.as_ref() == dispatch.bind_group;
        if !same_group && dispatch.bind_group.is_some() {
            pass.set_bind_group(0, dispatch.bind_group, dispatch.dynamic_offsets);
            let keep = dispatch.dynamic_offsets.is_empty();
            batch.bind_group = dispatch.bind_group.filter(|_| keep).cloned();
        }
        for more in dispatch.more_groups {
            pass.set_bind_group(more.index, &more.group, &more.dynamic_offsets);
        }
        if !dispatch.immediates.is_empty() && !batch.immediates.is_repeated(dispatch.immediates) {
            pass.set_immediates(0, dispatch.immediates);
        }
        if labels && !timed {
            pass.insert_debug_marker(dispatch.label);
        }
        match dispatch.workgroups {
            Workgroups::Counts([x, y, z]) => pass.dispatch_workgroups(x, y, z),
            Workgroups::Indirect(counts) => pass.dispatch_workgroups_indirect(counts, 0),
        }
        if timed {
            batch.end_pass();
        }
    }
}
