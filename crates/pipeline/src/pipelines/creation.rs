//! New kernels: what is done at once, and what another thread does.
//!
//! Reading and checking a shader and making its bind group layout tell everything that a dispatch must know, and find
//! nearly every mistake. What is left, wgpu's and the driver's compiling, is most of the time and the same whoever does
//! it. Invariants: a kernel that was handed to a worker is completed whatever happens; workers hold no `Inner`, so that
//! its drop, which waits for them, never runs on one.

use std::sync::Arc;
#[cfg(not(target_arch = "wasm32"))]
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;
#[cfg(not(target_arch = "wasm32"))]
use std::time::Duration;

#[cfg(not(target_arch = "wasm32"))]
use ziggurat_core::large_stack;
use ziggurat_core::text::shortened;
use ziggurat_device::{Device, DeviceError, LatePipeline};

use super::Inner;
use crate::compile::{compile, lay_out};
use crate::descriptor::KernelDescriptor;
#[cfg(not(target_arch = "wasm32"))]
use crate::disk_cache::DiskCache;
use crate::error::PipelineError;
use crate::kernel::Kernel;
use crate::once_map::Origin;
use crate::param_bytes::ParamBytes;
#[cfg(not(target_arch = "wasm32"))]
use crate::reflect::too_slow;
use crate::reflect::{Read, Text, check_formats, check_limits, guarded};

/// What tests have called before a kernel is compiled: it may wait, or refuse.
#[cfg(all(test, not(target_arch = "wasm32")))]
#[derive(Clone)]
pub(super) struct Hook(pub(super) Arc<BeforeCompile>);

#[cfg(all(test, not(target_arch = "wasm32")))]
type BeforeCompile = dyn Fn(&KernelDescriptor) -> Result<(), String> + Send + Sync;

#[cfg(all(test, not(target_arch = "wasm32")))]
impl std::fmt::Debug for Hook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Hook")
    }
}

/// A kernel without its pipeline, and all that is needed to make that.
struct Compiling {
    kernel: Kernel,
    text: Arc<Text>,
    device: Device,
    /// Of a shader that is not small: how long compiling it may take.
    #[cfg(not(target_arch = "wasm32"))]
    large: Option<Duration>,
    #[cfg(not(target_arch = "wasm32"))]
    time_ns: Arc<AtomicU64>,
    #[cfg(not(target_arch = "wasm32"))]
    disk: Option<Arc<DiskCache>>,
    #[cfg(all(test, not(target_arch = "wasm32")))]
    hook: Option<Hook>,
}

impl Compiling {
    fn run(self: &Arc<Self>) {
        #[cfg(not(target_arch = "wasm32"))]
        let start = std::time::Instant::now();
        let compile = |this: &Self| guarded(this.kernel.name(), || this.compile());
        #[cfg(target_arch = "wasm32")]
        let made = compile(self);
        #[cfg(not(target_arch = "wasm32"))]
        let made = match self.large {
            None => compile(self),
            // Whatever becomes of it later, this kernel has failed when the time is over.
            Some(limit) => {
                let this = Arc::clone(self);
                large_stack::run(limit, move || compile(&this))
                    .unwrap_or_else(|error| Err(too_slow(self.kernel.name(), "compiling", error)))
            }
        };
        #[cfg(not(target_arch = "wasm32"))]
        {
            if let (Ok(_), Some(disk)) = (&made, &self.disk) {
                disk.created();
            }
            self.time_ns
                .fetch_add(nanoseconds(start), Ordering::Relaxed);
        }
        let done = made.map_err(|error| {
            self.refused(match error {
                PipelineError::Compile { message, .. } => message,
                other => other.to_string(),
            })
        });
        self.kernel.pipeline().complete(done);
    }

    fn compile(&self) -> Result<wgpu::ComputePipeline, PipelineError> {
        let kernel = &self.kernel;
        let (descriptor, reflection) = (kernel.descriptor(), kernel.reflection());
        #[cfg(all(test, not(target_arch = "wasm32")))]
        if let Some(Err(message)) = self.hook.as_ref().map(|hook| (hook.0)(descriptor)) {
            return Err(PipelineError::Compile {
                kernel: kernel.name().to_owned(),
                place: Arc::default(),
                message,
            });
        }
        #[cfg(not(target_arch = "wasm32"))]
        let cache = self.disk.as_ref().map(|disk| &disk.wgpu);
        #[cfg(target_arch = "wasm32")]
        let cache = None;
        let made = (kernel.layouts(), kernel.debugged());
        compile(
            &self.device,
            descriptor,
            reflection,
            &self.text,
            made,
            cache,
        )
    }

    fn refused(&self, message: String) -> DeviceError {
        DeviceError::Kernel {
            kernel: shortened(self.kernel.name(), 128).into_owned(),
            message: shortened(&message, 640).into_owned(),
        }
    }
}

/// Also when compiling panics, or is never begun: submissions wait for the kernel.
impl Drop for Compiling {
    fn drop(&mut self) {
        let pipeline = self.kernel.pipeline();
        if !pipeline.is_complete() {
            pipeline.complete(Err(self.refused("compiling it was interrupted".to_owned())));
        }
    }
}

#[cfg(not(target_arch = "wasm32"))]
fn nanoseconds(since: std::time::Instant) -> u64 {
    u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

impl Inner {
    /// The kernel of a descriptor, compiled: on this thread if it is new.
    pub(super) fn kernel_now(
        &self,
        descriptor: &KernelDescriptor,
    ) -> Result<(Kernel, Origin), PipelineError> {
        let (kernel, origin) = self.kernels.get_or_create(descriptor, || {
            let compiling = self.begin(descriptor)?;
            compiling.run();
            let kernel = compiling.kernel.clone();
            kernel.failure().map_or(Ok(kernel), Err)
        })?;
        #[cfg(not(target_arch = "wasm32"))]
        if let Err(error) = kernel.wait() {
            self.forget(&kernel);
            return Err(error);
        }
        self.note_use(&kernel, origin);
        Ok((kernel, origin))
    }

    /// The kernel of a descriptor: a new one is compiled by a worker, where there are threads.
    pub(super) fn kernel_soon(
        &self,
        descriptor: &KernelDescriptor,
    ) -> Result<(Kernel, Origin), PipelineError> {
        #[cfg(target_arch = "wasm32")]
        return self.kernel_now(descriptor);
        #[cfg(not(target_arch = "wasm32"))]
        {
            let (kernel, origin) = self.kernels.get_or_create(descriptor, || {
                let compiling = self.begin(descriptor)?;
                let kernel = compiling.kernel.clone();
                self.workers.run(move || compiling.run());
                Ok(kernel)
            })?;
            self.note_use(&kernel, origin);
            Ok((kernel, origin))
        }
    }

    /// The time by which uses are ordered: it goes on with every dispatch and every new kernel.
    pub(super) fn now(&self) -> u64 {
        self.dispatches.load(Ordering::Relaxed) + self.misses.load(Ordering::Relaxed)
    }

    /// Notes the use of a kernel; after a new one forgets those that were used longest ago, where there are too many.
    fn note_use(&self, kernel: &Kernel, origin: Origin) {
        kernel.touch(self.now());
        let most = usize::try_from(self.device.options().max_kernels.max(1)).unwrap_or(usize::MAX);
        if origin == Origin::Found || self.kernels.slots() <= most {
            return;
        }
        // An eighth at once, so that the next kernels find room.
        let gone = self.kernels.evict(most - most / 8, Kernel::used);
        self.evicted.fetch_add(gone.len() as u64, Ordering::Relaxed);
        let is_gone = |kernel: &Kernel| gone.iter().any(|gone| gone.same(kernel));
        let mut by_key = self.by_key.write();
        by_key.retain(|_, held| !is_gone(held));
        // Keys may stand for one kernel many times over.
        if by_key.len() > most.saturating_mul(2) {
            by_key.clear();
        }
    }

    /// All but the pipeline.
    fn begin(&self, descriptor: &KernelDescriptor) -> Result<Arc<Compiling>, PipelineError> {
        self.device.status()?;
        self.misses.fetch_add(1, Ordering::Relaxed);
        #[cfg(not(target_arch = "wasm32"))]
        let start = std::time::Instant::now();
        let limits = *self.shader_limits.read();
        let Read {
            reflection,
            text,
            is_large,
        } = self.texts.reflect(descriptor, self.features, &limits)?;
        #[cfg(target_arch = "wasm32")]
        let _ = is_large;
        check_limits(&reflection, &self.device.caps().limits)?;
        let features = self.device.wgpu().features();
        check_formats(&reflection.kernel, reflection.resources(), features)?;
        self.warnings.about(&reflection);
        let debug = self.debug.as_ref();
        let debugged = debug.map(|debug| debug.of(&self.memory, descriptor, &text, &reflection));
        let debugged = debugged.transpose()?.flatten();
        let params = ParamBytes::new(&reflection, self.device.caps());
        let layouts = || {
            let device = self.device.wgpu();
            self.binds
                .layouts(device, &reflection, &params, descriptor.orders_loads())
        };
        let layouts = lay_out(&self.device, &reflection, layouts).inspect_err(|_| {
            self.binds
                .forget_layouts(&reflection, &params, descriptor.orders_loads());
        })?;
        let binds = (layouts, params);
        #[cfg(not(target_arch = "wasm32"))]
        self.compile_time_ns
            .fetch_add(nanoseconds(start), Ordering::Relaxed);
        let pipeline = LatePipeline::new();
        Ok(Arc::new(Compiling {
            kernel: Kernel::new(
                self.id,
                descriptor.clone(),
                reflection,
                pipeline,
                binds,
                debugged,
            ),
            text,
            device: self.device.clone(),
            #[cfg(not(target_arch = "wasm32"))]
            large: is_large.then_some(limits.time),
            #[cfg(not(target_arch = "wasm32"))]
            time_ns: Arc::clone(&self.compile_time_ns),
            #[cfg(not(target_arch = "wasm32"))]
            disk: self.disk.clone(),
            #[cfg(all(test, not(target_arch = "wasm32")))]
            hook: self.before_compile.lock().clone(),
        }))
    }

    /// The error of a kernel that could not be compiled, which the next caller may try again; none while it is being
    /// compiled.
    #[cold]
    pub(super) fn refuse_failed(&self, kernel: &Kernel) -> Result<(), PipelineError> {
        match kernel.failure() {
            None => Ok(()),
            Some(error) => {
                self.forget(kernel);
                Err(error)
            }
        }
    }

    fn forget(&self, kernel: &Kernel) {
        self.by_key.write().retain(|_, held| !held.same(kernel));
        self.kernels.remove(kernel.descriptor());
    }
}
