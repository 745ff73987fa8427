//! The entry to this layer: kernels from WGSL, and their dispatch.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::RwLock;
use ziggurat_device::{Caps, Device, Dispatch, Recorder, Stage};
use ziggurat_memory::Memory;

use crate::bind::{BindCache, Entries, Entry};
use crate::compile::compile;
use crate::descriptor::{KernelDescriptor, KernelKey};
#[cfg(not(target_arch = "wasm32"))]
use crate::disk_cache::DiskCache;
use crate::dispatch::{self, Arg, check_kinds, check_ranges};
use crate::error::PipelineError;
use crate::feature::{ShaderFeature, ShaderFeatures};
use crate::grid::Grid;
use crate::kernel::Kernel;
use crate::once_map::{OnceMap, Origin};
use crate::quick_hash::QuickMap;
use crate::reflect::{Texts, check_limits};
use crate::stats::PipelineStats;
use crate::tape::Taping;

mod prewarm;

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
    kernels: OnceMap<KernelDescriptor, Kernel, PipelineError>,
    check_keys: AtomicBool,
    by_key: RwLock<QuickMap<KernelKey, Kernel>>,
    binds: Arc<BindCache>,
    hits: AtomicU64,
    misses: AtomicU64,
    compile_time_ns: AtomicU64,
    dispatches: AtomicU64,
    empty_dispatches: AtomicU64,
    #[cfg(not(target_arch = "wasm32"))]
    disk: Option<DiskCache>,
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
                features: features(&device),
                #[cfg(not(target_arch = "wasm32"))]
                disk: DiskCache::open(&device),
                device,
                memory: memory.clone(),
                texts: Texts::default(),
                kernels: OnceMap::default(),
                check_keys: AtomicBool::new(cfg!(debug_assertions)),
                by_key: RwLock::default(),
                binds,
                hits: AtomicU64::new(0),
                misses: AtomicU64::new(0),
                compile_time_ns: AtomicU64::new(0),
                dispatches: AtomicU64::new(0),
                empty_dispatches: AtomicU64::new(0),
            }),
            tape: None,
        }
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.inner.device
    }

    /// The memory.
    pub fn memory(&self) -> &Memory {
        &self.inner.memory
    }

    /// What the device can do.
    pub fn caps(&self) -> &Caps {
        self.inner.device.caps()
    }

    /// What shaders may use on this device.
    pub fn features(&self) -> ShaderFeatures {
        self.inner.features
    }

    /// The kernel of a descriptor: the one made before, or a new one.
    ///
    /// Threads that ask for the same new kernel at the same time get one creation between them. Compiling takes
    /// milliseconds and happens on the calling thread.
    ///
    /// # Errors
    ///
    /// Everything that [`reflect`](crate::reflect()) and [`check_limits`] find, [`PipelineError::Compile`] if the driver refuses, or
    /// the device's error if it is lost.
    pub fn kernel(&self, descriptor: &KernelDescriptor) -> Result<Kernel, PipelineError> {
        let inner = &*self.inner;
        let (kernel, origin) = inner
            .kernels
            .get_or_create(descriptor, || inner.create(descriptor))?;
        if origin == Origin::Found {
            inner.hits.fetch_add(1, Ordering::Relaxed);
        }
        Ok(kernel)
    }

    /// The kernel of a structural key; `make` runs only when the key is new.
    ///
    /// The key must tell apart everything that `make` depends on. Debug builds run `make` each time and compare,
    /// unless [`Self::set_key_checks`] says otherwise.
    ///
    /// # Errors
    ///
    /// Those of [`Self::kernel`]; with key checks [`PipelineError::KeyMismatch`].
    pub fn kernel_for(
        &self,
        key: KernelKey,
        make: impl FnOnce() -> KernelDescriptor,
    ) -> Result<Kernel, PipelineError> {
        let inner = &*self.inner;
        let _span = inner.device.span(Stage::Lookup);
        let found = inner.by_key.read().get(&key).cloned();
        if let Some(kernel) = found {
            if self.key_checks() && *kernel.descriptor() != make() {
                return Err(PipelineError::KeyMismatch {
                    kernel: kernel.name().to_owned(),
                    key: format!("{key:?}"),
                });
            }
            inner.hits.fetch_add(1, Ordering::Relaxed);
            return Ok(kernel);
        }
        let kernel = self.kernel(&make())?;
        inner.by_key.write().insert(key, kernel.clone());
        Ok(kernel)
    }

    /// Says whether every hit of [`Self::kernel_for`] is compared with a new descriptor: on in debug builds, off in
    /// release builds. For measurements.
    pub fn set_key_checks(&self, on: bool) {
        self.inner.check_keys.store(on, Ordering::Relaxed);
    }

    /// Whether what a key stands for is compared each time: see [`Self::set_key_checks`].
    pub fn key_checks(&self) -> bool {
        self.inner.check_keys.load(Ordering::Relaxed)
    }

    /// Records a dispatch in order with all other work of the device.
    ///
    /// `args` are the buffers for the kernel's storage bindings, by binding index. `params` are the bytes of its
    /// uniform or immediate variable, or empty. Without work (a zero in the grid) nothing is recorded, and buffers
    /// may be too small.
    ///
    /// # Errors
    ///
    /// Any mismatch between kernel and arguments, before anything is recorded; errors of device or memory.
    pub fn dispatch(
        &self,
        kernel: &Kernel,
        args: &[Arg<'_>],
        params: &[u8],
        grid: Grid,
    ) -> Result<(), PipelineError> {
        let inner = &*self.inner;
        let span = inner.device.span(Stage::Plan);
        let reflection = kernel.reflection();
        if kernel.owner() != inner.id {
            return Err(PipelineError::ForeignKernel {
                kernel: kernel.name().to_owned(),
            });
        }
        check_kinds(reflection, args, params)?;
        let caps = inner.device.caps();
        let planned = grid
            .plan(reflection.workgroup_size, caps.max_workgroups)
            .map_err(|overflow| PipelineError::GridTooLarge {
                kernel: kernel.name().to_owned(),
                wanted: overflow.wanted,
                limit: overflow.limit,
            })?;
        let Some(workgroups) = planned else {
            inner.empty_dispatches.fetch_add(1, Ordering::Relaxed);
            return Ok(());
        };
        let entries = check_ranges(reflection, args, caps)?;
        if let Some(tape) = self.taping_now() {
            return tape.push(self, kernel, args, &entries, params, workgroups);
        }
        drop(span);
        let bytes = if inner.device.is_profiling() {
            dispatch::bytes(args)
        } else {
            [0, 0]
        };
        inner.record(kernel, entries, params, (workgroups, bytes))?;
        inner.dispatches.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    pub(crate) fn tape(&self) -> Option<&Arc<Taping>> {
        self.tape.as_ref()
    }

    /// Tells apart devices that are open, whichever pipelines they are used through; never 0.
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

    pub(crate) fn group(&self, kernel: &Kernel, entries: &Entries<'_>) -> Option<wgpu::BindGroup> {
        self.inner.group(kernel, entries)
    }

    pub(crate) fn count_dispatches(&self, dispatches: usize) {
        self.inner
            .dispatches
            .fetch_add(dispatches as u64, Ordering::Relaxed);
    }

    /// Counts so far.
    pub fn stats(&self) -> PipelineStats {
        let inner = &*self.inner;
        let binds = inner.binds.counts();
        let (disk_loaded_bytes, disk_rejected) = inner.disk_state();
        PipelineStats {
            hits: inner.hits.load(Ordering::Relaxed),
            misses: inner.misses.load(Ordering::Relaxed),
            texts: inner.texts.count(),
            entries: inner.kernels.len(),
            compile_time_ns: inner.compile_time_ns.load(Ordering::Relaxed),
            bind_group_hits: binds.hits,
            bind_group_misses: binds.misses,
            bind_groups: binds.groups,
            layouts: binds.layouts,
            dispatches: inner.dispatches.load(Ordering::Relaxed),
            empty_dispatches: inner.empty_dispatches.load(Ordering::Relaxed),
            disk_loaded_bytes,
            disk_rejected,
        }
    }

    /// Forgets all kernels. Those still held elsewhere stay usable.
    pub fn clear_kernels(&self) {
        self.inner.by_key.write().clear();
        self.inner.kernels.clear();
        self.inner.texts.clear();
    }

    /// Forgets all bind groups, and with them their hold on buffers that the pool gave back to the driver.
    pub fn clear_bind_groups(&self) {
        self.inner.binds.clear_groups();
    }

    /// Writes the pipeline cache to disk and says where; `None` where there is none. Also happens when the last
    /// clone is dropped.
    ///
    /// # Errors
    ///
    /// [`PipelineError::CacheFile`] if the file cannot be written.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn save_cache(&self) -> Result<Option<std::path::PathBuf>, PipelineError> {
        self.inner.disk.as_ref().map_or(Ok(None), DiskCache::save)
    }
}

/// What the device has, less what its options switched off.
fn features(device: &Device) -> ShaderFeatures {
    let caps = device.caps();
    let switches = [
        (ShaderFeature::F16, caps.f16),
        (ShaderFeature::Subgroups, caps.subgroups),
        (ShaderFeature::SubgroupBarrier, caps.subgroups),
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

impl Inner {
    fn create(&self, descriptor: &KernelDescriptor) -> Result<Kernel, PipelineError> {
        self.device.status()?;
        self.misses.fetch_add(1, Ordering::Relaxed);
        #[cfg(not(target_arch = "wasm32"))]
        let start = std::time::Instant::now();
        let created = self.create_now(descriptor);
        #[cfg(not(target_arch = "wasm32"))]
        if let (Ok(_), Some(disk)) = (&created, &self.disk) {
            disk.created();
        }
        #[cfg(not(target_arch = "wasm32"))]
        self.compile_time_ns.fetch_add(
            u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX),
            Ordering::Relaxed,
        );
        created
    }

    fn create_now(&self, descriptor: &KernelDescriptor) -> Result<Kernel, PipelineError> {
        let (reflection, text) = self.texts.reflect(descriptor, self.features)?;
        check_limits(&reflection, &self.device.caps().limits)?;
        let device = self.device.wgpu();
        let layout = || self.binds.layout(device, &reflection);
        let cache = self.wgpu_cache();
        let (pipeline, layout) =
            compile(&self.device, descriptor, &reflection, &text, layout, cache)?;
        Ok(Kernel::new(
            self.id,
            descriptor.clone(),
            reflection,
            pipeline,
            layout,
        ))
    }

    #[cfg(not(target_arch = "wasm32"))]
    fn wgpu_cache(&self) -> Option<&wgpu::PipelineCache> {
        self.disk.as_ref().map(|disk| &disk.wgpu)
    }

    #[cfg(target_arch = "wasm32")]
    fn wgpu_cache(&self) -> Option<&wgpu::PipelineCache> {
        None
    }

    #[cfg(not(target_arch = "wasm32"))]
    fn disk_state(&self) -> (u64, bool) {
        self.disk
            .as_ref()
            .map_or((0, false), |disk| (disk.loaded_bytes, disk.rejected))
    }

    #[cfg(target_arch = "wasm32")]
    fn disk_state(&self) -> (u64, bool) {
        (0, false)
    }

    fn record(
        &self,
        kernel: &Kernel,
        entries: Entries<'_>,
        params: &[u8],
        (workgroups, bytes): ([u32; 3], [u64; 2]),
    ) -> Result<(), PipelineError> {
        let dispatch = |recorder: &mut Recorder<'_>,
                        group: Option<&wgpu::BindGroup>,
                        dynamic_offsets: &[u32],
                        immediates: &[u8]| {
            recorder.dispatch(Dispatch {
                label: kernel.name(),
                pipeline: kernel.pipeline(),
                bind_group: group,
                dynamic_offsets,
                immediates,
                workgroups,
                bytes,
            });
        };
        if let Some(binding) = kernel.uniform() {
            // Uniform memory belongs to the batch that is open now: everything happens under the queue's lock.
            self.device
                .record(|recorder| -> Result<(), PipelineError> {
                    let slice = self.memory.write_uniform(recorder, params)?;
                    let mut entries = entries;
                    entries.push(Entry {
                        binding,
                        buffer: &slice.buffer,
                        id: slice.id,
                        offset: 0,
                        bytes: params.len() as u64,
                    });
                    let group = self.group(kernel, &entries);
                    dispatch(recorder, group.as_ref(), &[slice.offset], &[]);
                    Ok(())
                })?
        } else {
            let group = self.group(kernel, &entries);
            self.device
                .record(|recorder| dispatch(recorder, group.as_ref(), &[], params))?;
            Ok(())
        }
    }

    fn group(&self, kernel: &Kernel, entries: &Entries<'_>) -> Option<wgpu::BindGroup> {
        let layout = kernel.layout()?;
        Some(self.binds.group(self.device.wgpu(), layout, entries))
    }
}

#[cfg(not(target_arch = "wasm32"))]
impl Drop for Inner {
    fn drop(&mut self) {
        let compiled = self.misses.load(Ordering::Relaxed) > 0;
        if compiled
            && self.device.status().is_ok()
            && let Some(disk) = &self.disk
        {
            // Nobody is left to tell; the next run compiles again.
            let _ = disk.save();
        }
    }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests;
