//! The entry to this layer: kernels from WGSL, and their dispatch.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::RwLock;
use ziggurat_device::{Caps, Device, DeviceError, Recorder, Stage, Work, once};
use ziggurat_memory::Memory;

use crate::arguments::{Arg, arrange};
use crate::bind::{BindCache, Entries, Groups};
use crate::debug::KernelDebug;
use crate::descriptor::{KernelDescriptor, KernelKey};
#[cfg(not(target_arch = "wasm32"))]
use crate::disk_cache::DiskCache;
use crate::dispatch::{self, check_kinds, check_ranges};
use crate::error::PipelineError;
use crate::feature::ShaderFeatures;
use crate::grid::Grid;
use crate::indirect::{Idle, Workgroups};
use crate::kernel::Kernel;
use crate::launch::Launch;
use crate::observe::{self, ObservedWorkgroups};
use crate::once_map::{OnceMap, Origin};
use crate::quick_hash::QuickMap;
use crate::reflect::Texts;
use crate::shader_limits::ShaderLimits;
use crate::stats::PipelineStats;
use crate::tape::Taping;
use crate::tuning::TuningStore;
use ziggurat_device::ShaderFeature;

mod creation;
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

    /// Records a dispatch in order with all other work of the device.
    ///
    /// `args` are the buffers for the kernel's storage bindings and the bytes of its uniforms, each kind by group and
    /// binding index unless [`Arg::at`] says otherwise. `params` are the bytes of its immediate variable, or of its only
    /// uniform; or empty. Without work (a zero in the grid) nothing is recorded, and buffers may be too small.
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
        let arranged = arrange(kernel, args, params)?;
        let (args, params) = arranged.parts(args, params);
        let mut entries = Entries::default();
        let Some(workgroups) = self.check(kernel, args, params, grid, &mut entries)? else {
            return Ok(());
        };
        if kernel.pipeline().get().is_none() {
            inner.refuse_failed(kernel)?;
        }
        if observe::is_on() {
            observe::tell(kernel, args, params, ObservedWorkgroups::Counts(workgroups));
        }
        dispatch::carry_marks(dispatch::buffers(args).map(|arg| (arg.buffer, arg.writes())));
        drop(span);
        self.record_or_tape(
            kernel,
            args,
            entries,
            params,
            Workgroups::Counts(workgroups),
        )
    }

    /// Records a dispatch that was checked, or puts it onto the tape of this handle or thread.
    pub(crate) fn record_or_tape(
        &self,
        kernel: &Kernel,
        args: &[Arg<'_>],
        mut entries: Entries<'_>,
        params: &[u8],
        workgroups: Workgroups,
    ) -> Result<(), PipelineError> {
        if let Some(tape) = self.taping_now() {
            return tape.push(self, kernel, args, &entries, params, workgroups);
        }
        let inner = &*self.inner;
        let work = if inner.device.is_profiling() {
            dispatch::work(kernel.reflection(), args)
        } else {
            Work::default()
        };
        self.record_checked(kernel, &mut entries, params, (&workgroups, work))
    }

    /// All checks of a dispatch whose arguments are arranged: the workgroups, `None` if there is no work, and what is
    /// bound.
    pub(crate) fn check<'a>(
        &self,
        kernel: &Kernel,
        args: &[Arg<'a>],
        params: &[u8],
        grid: Grid,
        entries: &mut Entries<'a>,
    ) -> Result<Option<[u32; 3]>, PipelineError> {
        self.check_use(kernel, args, params)?;
        let (inner, reflection) = (&*self.inner, kernel.reflection());
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
            return Ok(None);
        };
        dispatch::check_fold(reflection, grid, workgroups, caps.max_workgroups)?;
        check_ranges(reflection, args, caps, entries)?;
        Ok(Some(workgroups))
    }

    /// All checks of a dispatch but those of its grid.
    pub(crate) fn check_bound<'a>(
        &self,
        kernel: &Kernel,
        args: &[Arg<'a>],
        params: &[u8],
        entries: &mut Entries<'a>,
    ) -> Result<(), PipelineError> {
        self.check_use(kernel, args, params)?;
        let caps = self.inner.device.caps();
        check_ranges(kernel.reflection(), args, caps, entries)?;
        if kernel.pipeline().get().is_none() {
            self.inner.refuse_failed(kernel)?;
        }
        Ok(())
    }

    /// The kernel is of this device, and its arguments are of the right kinds.
    fn check_use(
        &self,
        kernel: &Kernel,
        args: &[Arg<'_>],
        params: &[u8],
    ) -> Result<(), PipelineError> {
        if kernel.owner() != self.inner.id {
            return Err(PipelineError::ForeignKernel {
                kernel: kernel.name().to_owned(),
            });
        }
        self.touch(kernel);
        check_kinds(kernel, &self.inner.memory, args, params)
    }

    /// Notes a use, so that the kernel is not forgotten soon.
    #[inline]
    pub(crate) fn touch(&self, kernel: &Kernel) {
        kernel.touch(self.inner.now());
    }

    /// Records what was checked.
    pub(crate) fn record_checked(
        &self,
        kernel: &Kernel,
        entries: &mut Entries<'_>,
        params: &[u8],
        sizes: (&Workgroups, Work),
    ) -> Result<(), PipelineError> {
        let pipeline = self.compiled(kernel)?;
        self.inner
            .record(kernel, pipeline, entries, params, sizes)?;
        self.count_dispatches(1);
        Ok(())
    }

    /// The pipeline of a kernel, `None` while it may still be compiled.
    #[inline]
    pub(crate) fn compiled<'a>(
        &self,
        kernel: &'a Kernel,
    ) -> Result<Option<&'a wgpu::ComputePipeline>, PipelineError> {
        let pipeline = kernel.pipeline().get();
        if pipeline.is_none() {
            self.inner.refuse_failed(kernel)?;
        }
        Ok(pipeline)
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

    /// Counts so far.
    pub fn stats(&self) -> PipelineStats {
        let inner = &*self.inner;
        let binds = inner.binds.counts();
        let (disk_loaded_bytes, disk_rejected) = inner.disk_state();
        PipelineStats {
            hits: inner.hits.load(Ordering::Relaxed),
            misses: inner.misses.load(Ordering::Relaxed),
            evicted: inner.evicted.load(Ordering::Relaxed),
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

    /// Pipelines on a device that is opened anew, with memory of the same options: see
    /// [`Device::reopen`](ziggurat_device::Device::reopen). Kernels and buffers of these pipelines cannot be used with them.
    ///
    /// # Errors
    ///
    /// As [`Device::reopen`](ziggurat_device::Device::reopen).
    pub fn reopen(&self) -> impl Future<Output = Result<Self, PipelineError>> {
        let reopened = async { Ok(Self::new(&self.memory().reopen().await?)) };
        once(reopened, || DeviceError::Finished.into())
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
        self.inner.workers.wait();
        let disk = self.inner.disk.as_ref();
        disk.map_or(Ok(None), |disk| disk.save())
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
        pipeline: Option<&wgpu::ComputePipeline>,
        entries: &mut Entries<'_>,
        params: &[u8],
        (workgroups, work): (&Workgroups, Work),
    ) -> Result<(), PipelineError> {
        let launch = |groups: &Groups, offset, immediates: &[u8], recorder: &mut Recorder<'_>| {
            Launch {
                kernel,
                pipeline,
                bound: groups.into(),
                offset,
                immediates,
                workgroups,
                work,
            }
            .record(recorder);
        };
        let joined = kernel.param_bytes();
        let (immediates, uniforms) = joined.split(params);
        if joined.uniforms().is_empty() {
            let groups = self.groups(kernel, entries, 0);
            self.device
                .record(|recorder| launch(&groups, 0, immediates, recorder))?;
            return Ok(());
        }
        // Uniform memory belongs to the batch that is open now: everything happens under the queue's lock.
        self.device
            .record(|recorder| -> Result<(), PipelineError> {
                let slice = self.memory.write_uniform(recorder, uniforms)?;
                let mut entries = entries.clone();
                joined.entries(&slice).for_each(|entry| entries.push(entry));
                let groups = self.groups(kernel, &entries, slice.offset);
                launch(&groups, slice.offset, immediates, recorder);
                Ok(())
            })?
    }

    fn groups(&self, kernel: &Kernel, entries: &Entries<'_>, offset: u32) -> Groups {
        let device = self.device.wgpu();
        let layouts = kernel.layouts();
        let mut groups = self.binds.groups(device, layouts, entries, offset);
        if let (Some(debug), Some(debugged)) = (&self.debug, kernel.debugged()) {
            groups.more.extend(debug.bound(debugged));
        }
        groups
    }
}

#[cfg(not(target_arch = "wasm32"))]
impl Drop for Inner {
    fn drop(&mut self) {
        self.workers.finish();
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
