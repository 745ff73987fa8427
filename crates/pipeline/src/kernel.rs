//! A compiled kernel: a pipeline, its layout, and what reflection found.

use std::sync::Arc;

use crate::bind::Layout;
use crate::descriptor::KernelDescriptor;
use crate::reflect::Reflection;

/// A kernel ready for dispatch. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Kernel {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    owner: u64,
    descriptor: KernelDescriptor,
    reflection: Reflection,
    pipeline: wgpu::ComputePipeline,
    layout: Option<Layout>,
}

impl Kernel {
    pub(crate) fn new(
        owner: u64,
        descriptor: KernelDescriptor,
        reflection: Reflection,
        pipeline: wgpu::ComputePipeline,
        layout: Option<Layout>,
    ) -> Self {
        Self {
            inner: Arc::new(Inner {
                owner,
                descriptor,
                reflection,
                pipeline,
                layout,
            }),
        }
    }

    /// The name of its source: the label of its dispatches.
    pub fn name(&self) -> &str {
        self.inner.descriptor.source.name()
    }

    /// What it binds and needs.
    pub fn reflection(&self) -> &Reflection {
        &self.inner.reflection
    }

    /// Invocations per workgroup and dimension.
    pub fn workgroup_size(&self) -> [u32; 3] {
        self.inner.reflection.workgroup_size
    }

    /// What it was made from.
    pub fn descriptor(&self) -> &KernelDescriptor {
        &self.inner.descriptor
    }

    /// Whether both are the same compiled kernel.
    pub fn same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    pub(crate) fn owner(&self) -> u64 {
        self.inner.owner
    }

    pub(crate) fn pipeline(&self) -> &wgpu::ComputePipeline {
        &self.inner.pipeline
    }

    pub(crate) fn layout(&self) -> Option<&Layout> {
        self.inner.layout.as_ref()
    }
}
