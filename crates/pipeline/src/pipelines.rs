//! The entry to this layer: kernels from WGSL, and their dispatch.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::RwLock;
use ziggurat_device::{Caps, Device, Stage};
use ziggurat_memory::Memory;

use crate::bind::{BindCache, Entries, Groups};
use crate::debug::KernelDebug;
use crate::descriptor::{KernelDescriptor, KernelKey};
#[cfg(not(target_arch = "wasm32"))]
use crate::disk_cache::DiskCache;
use crate::error::PipelineError;
use crate::feature::ShaderFeatures;
use crate::indirect::Idle;
use crate::kernel::Kernel;
use crate::once_map::{OnceMap, Origin};
use crate::quick_hash::QuickMap;
use crate::reflect::Texts;
use crate::shader_limits::ShaderLimits;
use crate::tape::Taping;
use crate::tuning::TuningStore;
use crate::warning::Warnings;
use ziggurat_device::ShaderFeature;

mod creation;
mod prewarm;
mod recording;
mod upkeep;

pub use prewarm::{Prewarm, PrewarmStep, Prewarmed};

/// The kernels, bind groups and caches of one device. Cheap to clone; clones share everything.
#[derive(Clone, Debug)]
pub struct Pipelines {
    inner: Arc<Inner>,
    /// Where dispatches go instead of the queue.
    tape: Option<Arc<Taping>>,
}

#[derive(Debug)]
struct Inner {
    id: u64,
    device: Device,
    memory: Memory,
    features: ShaderFeatures,
    texts: Texts,
    warnings: Warnings,
    /// On devices that debug kernels.
    debug: Option<KernelDebug>,
    shader_limits: RwLock<ShaderLimits>,
    kernels: OnceMap<KernelDescriptor, Kernel, PipelineError>,
    check_keys: AtomicBool,
    by_key: RwLock<QuickMap<KernelKey, Kernel>>,
    binds: Arc<BindCache>,
    hits: AtomicU64,
    misses: AtomicU64,
    evicted: AtomicU64,
    compile_time_ns: Arc<AtomicU64>,
    dispatches: AtomicU64,
    empty_dispatches: AtomicU64,
    tuning: TuningStore,
    idle: Idle,
    #[cfg(not(target_arch = "wasm32"))]
    disk: Option<Arc<DiskCache>>,
    #[cfg(not(target_arch = "wasm32"))]
    workers: crate::workers::Workers,
    #[cfg(all(test, not(target_arch = "wasm32")))]
    before_compile: parking_lot::Mutex<Option<creation::Hook>>,
}

impl Pipelines {
    /// Caches for the device of this memory. Loads the device's cache file if there is one.
    pub fn new(memory: &Memory) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let device = memory.device().clone();
        let binds = Arc::new(BindCache::default());
        let weak = Arc::downgrade(&binds);
        memory.on_release(move |buffers| {
            if let Some(binds) = weak.upgrade() {
                binds.release(buffers);
            }
        });
        Self {
            inner: Arc::new(Inner {
                id: NEXT.fetch_add(1, Ordering::Relaxed),
                tuning: TuningStore::new(&device.wgpu().adapter_info()),
                features: features(&device),
                idle: Idle::default(),
                #[cfg(not(target_arch = "wasm32"))]
                disk: DiskCache::open(&device).map(Arc::new),
                #[cfg(not(target_arch = "wasm32"))]
                workers: crate::workers::Workers::default(),
                #[cfg(all(test, not(target_arch = "wasm32")))]
                before_compile: parking_lot::Mutex::default(),
                device,
                memory: memory.clone(),
                texts: Texts::default(),
                warnings: Warnings::default(),
                debug: memory
                    .device()
                    .options()
                    .debug_kernels
                    .then(KernelDebug::default),
                shader_limits: RwLock::default(),
                kernels: OnceMap::default(),
                check_keys: AtomicBool::new(cfg!(debug_assertions)),
                by_key: RwLock::default(),
                binds,
                hits: AtomicU64::new(0),
                misses: AtomicU64::new(0),
                evicted: AtomicU64::new(0),
                compile_time_ns: Arc::default(),
                dispatches: AtomicU64::new(0),
                empty_dispatches: AtomicU64::new(0),
            }),
            tape: None,
        }
    }

    /// The device.
    #[inline]
    pub fn device(&self) -> &Device {
        &self.inner.device
    }

    /// The memory.
    #[inline]
    pub fn memory(&self) -> &Memory {
        &self.inner.memory
    }

    /// What the device can do.
    pub fn caps(&self) -> &Caps {
        self.inner.device.caps()
    }

    /// What was measured on this device: empty until something is tuned or loaded.
    pub fn tuning(&self) -> &TuningStore {
        &self.inner.tuning
    }

    pub(crate) fn warnings(&self) -> &Warnings {
        &self.inner.warnings
    }

    /// What shaders may use on this device.
    pub fn features(&self) -> ShaderFeatures {
        self.inner.features
    }

    /// The kernel of a descriptor: the one made before, or a new one.
    ///
    /// At most [`DeviceOptions::max_kernels`](ziggurat_device::DeviceOptions::max_kernels) are kept: one that was neither
    /// dispatched nor asked for longest is forgotten first. Whoever holds it can go on using it.
    ///
    /// Threads that ask for the same new kernel at the same time get one creation between them. Compiling takes
    /// milliseconds and happens on the calling thread.
    ///
    /// # Errors
    ///
    /// Everything that [`reflect`](crate::reflect()) and [`check_limits`](crate::check_limits) find, [`PipelineError::Compile`] if the driver refuses, or
    /// the device's error if it is lost.
    pub fn kernel(&self, descriptor: &KernelDescriptor) -> Result<Kernel, PipelineError> {
        let inner = &*self.inner;
        let (kernel, origin) = inner.kernel_now(descriptor)?;
        if origin == Origin::Found {
            inner.hits.fetch_add(1, Ordering::Relaxed);
        }
        Ok(kernel)
    }

    /// The kernel of a structural key; `make` runs only when the key is new.
    ///
    /// A new kernel is read and checked here, and compiled by another thread (in a browser: here too). It can be
    /// dispatched at once: what is recorded meanwhile is submitted when it is compiled, so several new kernels in a row
    /// are compiled side by side. If the driver refuses one, dispatches of it are errors from then on; if work with it
    /// was recorded before, that work is lost, and the device fails with
    /// [`DeviceError::Kernel`](ziggurat_device::DeviceError::Kernel), which names it, at the next submission, read or
    /// wait. Shaders that were not tried before are better made by [`Self::kernel`], which waits for the driver.
    ///
    /// The key must tell apart everything that `make` depends on. Debug builds run `make` each time and compare,
    /// unless [`Self::set_key_checks`] says otherwise.
    ///
    /// # Errors
    ///
    /// Those of [`Self::kernel`]; with key checks [`PipelineError::KeyMismatch`].
    pub fn kernel_for(
        &self,
        key: &KernelKey,
        make: impl FnOnce() -> KernelDescriptor,
    ) -> Result<Kernel, PipelineError> {
        let inner = &*self.inner;
        let _span = inner.device.span(Stage::Lookup);
        let found = inner.by_key.read().get(key).cloned();
        if let Some(kernel) = found {
            kernel.touch(inner.now());
            if self.key_checks() && *kernel.descriptor() != make() {
                return Err(PipelineError::KeyMismatch {
                    kernel: kernel.name().to_owned(),
                    key: format!("{key:?}"),
                });
            }
            inner.hits.fetch_add(1, Ordering::Relaxed);
            return Ok(kernel);
        }
        let (kernel, origin) = inner.kernel_soon(&make())?;
        if origin == Origin::Found {
            inner.hits.fetch_add(1, Ordering::Relaxed);
        }
        inner.by_key.write().insert(key.clone(), kernel.clone());
        Ok(kernel)
    }

    /// Says whether every hit of [`Self::kernel_for`] is compared with a new descriptor: on in debug builds, off in
    /// release builds. For measurements.
    pub fn set_key_checks(&self, on: bool) {
        self.inner.check_keys.store(on, Ordering::Relaxed);
    }

    /// Says how large shaders may be from now on; clones of these pipelines take the same.
    ///
    /// # Errors
    ///
    /// [`PipelineError::ShaderLimit`] for a limit that cannot be; nothing changes then.
    pub fn set_shader_limits(&self, limits: ShaderLimits) -> Result<(), PipelineError> {
        limits.check()?;
        *self.inner.shader_limits.write() = limits;
        Ok(())
    }

    /// How large shaders may be.
    pub fn shader_limits(&self) -> ShaderLimits {
        *self.inner.shader_limits.read()
    }

    /// Whether what a key stands for is compared each time: see [`Self::set_key_checks`].
    #[inline]
    pub fn key_checks(&self) -> bool {
        self.inner.check_keys.load(Ordering::Relaxed)
    }

    pub(crate) fn binds(&self) -> &BindCache {
        &self.inner.binds
    }

    /// Indirect buffers without a dispatch.
    pub(crate) fn idle(&self) -> &Idle {
        &self.inner.idle
    }

    /// What kernels say, on a device that debugs them.
    pub(crate) fn debug(&self) -> Option<&KernelDebug> {
        self.inner.debug.as_ref()
    }

    #[inline]
    pub(crate) fn tape(&self) -> Option<&Arc<Taping>> {
        self.tape.as_ref()
    }

    /// Tells apart devices that are open, whichever pipelines they are used through; never 0.
    #[inline]
    pub(crate) fn number(&self) -> usize {
        std::ptr::from_ref(self.inner.device.caps()).addr()
    }

    pub(crate) fn with_taping(&self, tape: Arc<Taping>) -> Self {
        Self {
            inner: Arc::clone(&self.inner),
            tape: Some(tape),
        }
    }

    pub(crate) fn without_taping(&self) -> Self {
        Self {
            inner: Arc::clone(&self.inner),
            tape: None,
        }
    }

    /// The bind groups with these entries; `offset` is that of all dynamic bindings.
    pub(crate) fn groups(&self, kernel: &Kernel, entries: &Entries<'_>, offset: u32) -> Groups {
        self.inner.groups(kernel, entries, offset)
    }

    pub(crate) fn count_dispatches(&self, dispatches: usize) {
        self.inner
            .dispatches
            .fetch_add(dispatches as u64, Ordering::Relaxed);
    }
}

/// What the device has, less what its options switched off.
fn features(device: &Device) -> ShaderFeatures {
    let caps = device.caps();
    let switches = [
        (ShaderFeature::F16, caps.f16),
        (ShaderFeature::Int64, caps.int64),
        (ShaderFeature::FloatAtomics, caps.float_atomics),
        (ShaderFeature::Subgroups, caps.subgroups),
        (ShaderFeature::SubgroupBarrier, caps.subgroup_barriers),
        (ShaderFeature::Immediates, caps.immediate_bytes > 0),
        (
            ShaderFeature::CooperativeMatrix,
            !caps.cooperative_matrix.is_empty(),
        ),
    ];
    let has = ShaderFeatures::from_wgpu(device.wgpu().features());
    switches
        .into_iter()
        .filter(|(_, on)| !on)
        .fold(has, |set, (feature, _)| set.without(feature))
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests;
