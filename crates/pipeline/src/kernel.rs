//! A kernel: a pipeline, its layout, and what reflection found.
//!
//! The pipeline may still be being compiled by another thread; everything else is known from the beginning.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ziggurat_device::{DeviceError, LatePipeline};

use crate::bind::Layouts;
use crate::debug::Debugged;
use crate::descriptor::KernelDescriptor;
use crate::error::PipelineError;
use crate::param_bytes::ParamBytes;
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
    pipeline: LatePipeline,
    layouts: Layouts,
    params: ParamBytes,
    /// What is compiled instead of its text, where that says something.
    debugged: Option<Debugged>,
    /// When it was last dispatched or looked up, by the count of its pipelines.
    used: AtomicU64,
}

impl Kernel {
    pub(crate) fn new(
        owner: u64,
        descriptor: KernelDescriptor,
        reflection: Reflection,
        pipeline: LatePipeline,
        (layouts, params): (Layouts, ParamBytes),
        debugged: Option<Debugged>,
    ) -> Self {
        Self {
            inner: Arc::new(Inner {
                owner,
                descriptor,
                reflection,
                pipeline,
                layouts,
                params,
                debugged,
                used: AtomicU64::new(0),
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

    /// Notes that it is used.
    #[inline]
    pub(crate) fn touch(&self, now: u64) {
        self.inner.used.store(now, Ordering::Relaxed);
    }

    /// When it was last used.
    pub(crate) fn used(&self) -> u64 {
        self.inner.used.load(Ordering::Relaxed)
    }

    pub(crate) fn owner(&self) -> u64 {
        self.inner.owner
    }

    pub(crate) fn pipeline(&self) -> &LatePipeline {
        &self.inner.pipeline
    }

    /// Whether it is compiled: others are being compiled, or could not be. What is recorded with it meanwhile waits
    /// for it.
    pub fn is_compiled(&self) -> bool {
        self.inner.pipeline.get().is_some()
    }

    /// Waits until it is compiled.
    ///
    /// # Errors
    ///
    /// [`PipelineError::Compile`] if the driver refuses.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn wait(&self) -> Result<(), PipelineError> {
        match self.inner.pipeline.wait() {
            Ok(_) => Ok(()),
            Err(error) => Err(self.refused(error)),
        }
    }

    /// The error of a kernel of which it is known that it cannot be compiled.
    pub(crate) fn failure(&self) -> Option<PipelineError> {
        let error = self.inner.pipeline.failure()?.clone();
        Some(self.refused(error))
    }

    fn refused(&self, error: DeviceError) -> PipelineError {
        let message = match error {
            DeviceError::Kernel { message, .. } => message,
            other => other.to_string(),
        };
        PipelineError::Compile {
            kernel: self.name().to_owned(),
            place: Arc::clone(&self.inner.reflection.place),
            message,
        }
    }

    pub(crate) fn debugged(&self) -> Option<&Debugged> {
        self.inner.debugged.as_ref()
    }

    pub(crate) fn layouts(&self) -> &Layouts {
        &self.inner.layouts
    }

    /// Where its parameters are in memory.
    pub(crate) fn param_bytes(&self) -> &ParamBytes {
        &self.inner.params
    }
}
