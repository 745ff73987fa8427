//! From what is bound to a recorded dispatch.

use ziggurat_device::{BoundGroup, Dispatch, Recorder, Work};

use crate::bind::Groups;
use crate::indirect::Workgroups;
use crate::kernel::Kernel;

/// The bind groups of a dispatch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bound<'a> {
    /// Group 0.
    pub(crate) first: Option<&'a wgpu::BindGroup>,
    /// How many dynamic offsets it takes.
    pub(crate) dynamic: usize,
    pub(crate) more: &'a [BoundGroup],
}

impl<'a> From<&'a Groups> for Bound<'a> {
    fn from(groups: &'a Groups) -> Self {
        Self {
            first: groups.first.as_ref(),
            dynamic: groups.dynamic,
            more: &groups.more,
        }
    }
}

/// A checked dispatch with its bind groups.
#[derive(Debug)]
pub(crate) struct Launch<'a> {
    pub(crate) kernel: &'a Kernel,
    /// `None` while it may still be compiled.
    pub(crate) pipeline: Option<&'a wgpu::ComputePipeline>,
    pub(crate) bound: Bound<'a>,
    /// Of all dynamic bindings.
    pub(crate) offset: u32,
    pub(crate) immediates: &'a [u8],
    pub(crate) workgroups: &'a Workgroups,
    pub(crate) work: Work,
}

impl Launch<'_> {
    #[inline]
    pub(crate) fn record(self, recorder: &mut Recorder<'_>) {
        let one = [self.offset];
        let many;
        let dynamic_offsets: &[u32] = match self.bound.dynamic {
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
            bind_group: self.bound.first,
            dynamic_offsets,
            more_groups: self.bound.more,
            immediates: self.immediates,
            workgroups: self.workgroups.as_device(),
            work: self.work,
        }
    }
}
