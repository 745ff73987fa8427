//! From what is bound to a recorded dispatch.

use ziggurat_device::{Dispatch, Recorder, Work};

use crate::bind::Groups;
use crate::indirect::Workgroups;
use crate::kernel::Kernel;

/// A checked dispatch with its bind groups.
#[derive(Debug)]
pub(crate) struct Launch<'a> {
    pub(crate) kernel: &'a Kernel,
    /// `None` while it may still be compiled.
    pub(crate) pipeline: Option<&'a wgpu::ComputePipeline>,
    pub(crate) groups: &'a Groups,
    /// Of all dynamic bindings.
    pub(crate) offset: u32,
    pub(crate) immediates: &'a [u8],
    pub(crate) workgroups: &'a Workgroups,
    pub(crate) work: Work,
}

impl Launch<'_> {
    pub(crate) fn record(self, recorder: &mut Recorder<'_>) {
        let one = [self.offset];
        let many;
        let dynamic_offsets: &[u32] = match self.groups.dynamic {
            0 => &[],
            1 => &one,
            count => {
                many = vec![self.offset; count];
                &many
            }
        };
        match self.pipeline {
            Some(pipeline) => recorder.dispatch(self.dispatch(pipeline, dynamic_offsets)),
            None => recorder.dispatch_late(self.dispatch(self.kernel.pipeline(), dynamic_offsets)),
        }
    }

    fn dispatch<'b, P>(&'b self, pipeline: &'b P, dynamic_offsets: &'b [u32]) -> Dispatch<'b, P> {
        Dispatch {
            label: self.kernel.name(),
            pipeline,
            bind_group: self.groups.first.as_ref(),
            dynamic_offsets,
            more_groups: &self.groups.more,
            immediates: self.immediates,
            workgroups: self.workgroups.as_device(),
            work: self.work,
        }
    }
}
