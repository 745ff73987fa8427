//! [`Device`]: the handle that tensors are made on.
//!
//! Wraps the executor of the layer below so that users of this layer need no other crate. Cheap to clone; the device
//! closes when the last handle and the last tensor are gone.
//!
//! Invariant: every allocation of a tensor goes through [`Device::alloc`], which refuses what one buffer cannot hold.

mod kernels;

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use ziggurat_core::{DType, Layout, Shape};
use ziggurat_device::{AdapterSummary, Caps, DeviceOptions, KernelTime, MemoryBytes};
use ziggurat_kernels::{Executor, View};
use ziggurat_memory::{Buffer, MemoryKind, MemoryReport, Usage};
use ziggurat_pipeline::PipelineStats;

use crate::index_checks::IndexChecks;
use crate::lazy::Lazy;
use crate::lazy::PlanStats;
use crate::observe::Watch;
use crate::once::once;
use crate::{Error, FusionPolicy};

/// An opened GPU (or software adapter) on which tensors live. Cheap to clone, `Send` and `Sync`.
///
/// ```no_run
/// # async fn run() -> Result<(), ziggurat_tensor::Error> {
/// use ziggurat_tensor::{Device, DeviceOptions};
///
/// let device = Device::open(DeviceOptions::default()).await?;
/// println!("{}", device.name());
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Device {
    // One count to raise and lower: every tensor has a handle.
    inner: Arc<Inner>,
}

struct Inner {
    executor: Executor,
    lazy: Lazy,
    index_checks: Arc<IndexChecks>,
    /// What one buffer can hold.
    most_bytes: u64,
}

impl Device {
    /// Opens the best adapter that fits the options.
    ///
    /// # Errors
    /// If no adapter fits (the text lists what was seen and what to install) or the device cannot be made.
    pub fn open(options: DeviceOptions) -> impl Future<Output = Result<Self, Error>> {
        once(async move {
            let executor = Executor::open(options).await;
            let executor = executor.map_err(|error| Error::from_kernel("open", error))?;
            Ok(Self::from_executor(&executor))
        })
    }

    /// [`Device::open`], waiting in place.
    ///
    /// # Errors
    /// As [`Device::open`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn open_blocking(options: DeviceOptions) -> Result<Self, Error> {
        let executor =
            Executor::open_blocking(options).map_err(|error| Error::from_kernel("open", error))?;
        Ok(Self::from_executor(&executor))
    }

    /// Opens a device like this one, with the same options and settings, for programs that go on after
    /// [`Error::is_device_lost`]. Tensors of this device stay on it, and on a lost one every use of them goes on being that
    /// error; what a program needs of them it keeps on the host. `examples/recovery.rs` is a training loop that does so.
    ///
    /// # Errors
    /// As [`Device::open`]; always for a device that the application opened itself.
    pub fn reopen(&self) -> impl Future<Output = Result<Self, Error>> {
        once(self.opened_again())
    }

    async fn opened_again(&self) -> Result<Self, Error> {
        let executor = self
            .executor()
            .reopen()
            .await
            .map_err(|error| Error::from_kernel("reopen", error))?;
        let new = Self::from_executor(&executor);
        new.set_fusion(self.fusion());
        new.set_index_checks(self.index_checks().is_on());
        Ok(new)
    }

    /// [`Device::reopen`], waiting in place.
    ///
    /// # Errors
    /// As [`Device::reopen`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn reopen_blocking(&self) -> Result<Self, Error> {
        ziggurat_device::block_on(self.reopen())
    }

    /// Tensors on an executor that the application already has.
    pub fn from_executor(executor: &Executor) -> Self {
        Self {
            inner: Arc::new(Inner {
                executor: executor.clone(),
                lazy: Lazy::new(executor),
                index_checks: Arc::default(),
                most_bytes: executor.device().caps().max_buffer_bytes,
            }),
        }
    }

    /// Whether elementwise operations on this device wait to be computed together.
    pub fn fusion(&self) -> FusionPolicy {
        self.inner.lazy.device_policy()
    }

    /// Sets the policy of all handles of this device. [`FusionPolicy::scope`] is for a part of a program.
    pub fn set_fusion(&self, policy: FusionPolicy) {
        self.inner.lazy.set_policy(policy);
    }

    /// Whether sums and products of floats by index ([`Tensor::scatter_add`](crate::Tensor::scatter_add), `index_add`,
    /// `index_put`, …) are the same bits on every run. They are from the beginning; off, updates are added as they come, which
    /// spares a sort of the indices where there are more than 256.
    ///
    /// ```
    /// use ziggurat_tensor::{DType, Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// device.set_deterministic(false);
    /// let at = Tensor::zeros(&device, [3], DType::I32)?;
    /// let sum = Tensor::zeros(&device, [1], DType::F32)?.index_add(0, &at, &Tensor::ones(&device, [3], DType::F32)?)?;
    /// assert_eq!(sum.to_vec_blocking::<f32>()?, [3.0]);
    /// # device.set_deterministic(true);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    pub fn set_deterministic(&self, on: bool) {
        self.executor().set_deterministic(on);
    }

    /// Switches the checking of indices on or off, for all handles of this device; at first it is off.
    ///
    /// While it is on, every operation that takes indices also records a search for one that names no element. Every read of
    /// its result, and of what was computed from that on any thread, is then an error that names the operation, the index and
    /// its position; reads of other tensors are not. [`Device::check_indices`] and [`Device::synchronize`] tell of what no
    /// read has told. While it is off, such an index is taken for the nearest end of the axis. Nothing is ever read or
    /// written out of bounds.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::from_slice(&device, &[1.0f32, 2.0], [2])?;
    /// let at = Tensor::from_slice(&device, &[0i32, 7], [2])?;
    /// assert_eq!(a.index_select(0, &at)?.to_vec_blocking::<f32>()?, [1.0, 2.0]);
    /// device.set_index_checks(true);
    /// let error = a.index_select(0, &at)?.to_vec_blocking::<f32>().unwrap_err();
    /// assert_eq!(error.to_string(), "index_select: the index 7 at position [1] is out of range for 2 positions");
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    pub fn set_index_checks(&self, on: bool) {
        self.inner.index_checks.set(on);
    }

    /// Resolves when the indices of all operations recorded so far are known to be in range.
    ///
    /// # Errors
    /// If one is not and nobody was told yet; only with [`Device::set_index_checks`]. The tensors keep their errors.
    pub fn check_indices(&self) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        self.inner.index_checks.all(&self.inner.executor)
    }

    pub(crate) fn index_checks(&self) -> &Arc<IndexChecks> {
        &self.inner.index_checks
    }

    pub(crate) fn lazy(&self) -> &Lazy {
        &self.inner.lazy
    }

    /// Who watches the operations of this device.
    pub(crate) fn watch(&self) -> &Watch {
        self.inner.lazy.watch()
    }

    /// Whether pending values of both handles may stand in one expression.
    pub(crate) fn same_lazy(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// The executor below: every operation on raw buffers and layouts.
    pub fn executor(&self) -> &Executor {
        &self.inner.executor
    }

    /// The adapter: name, backend, kind, driver.
    pub fn adapter(&self) -> &AdapterSummary {
        self.inner.executor.device().adapter()
    }

    /// The adapter's name.
    pub fn name(&self) -> &str {
        &self.adapter().name
    }

    /// What the device can do: limits and features.
    pub fn caps(&self) -> &Caps {
        self.inner.executor.device().caps()
    }

    /// Memory of the adapter, whoever uses it, where its backend tells.
    pub fn memory_bytes(&self) -> MemoryBytes {
        self.inner.executor.device().memory_bytes()
    }

    /// Device memory in use and in reserve.
    pub fn usage(&self) -> Usage {
        self.inner.executor.memory().usage()
    }

    /// Begins to count who holds how much memory of this device, from nothing; or ends it. See [`Device::memory_report`].
    pub fn track_memory(&self, on: bool) {
        self.inner.executor.memory().set_tracking(on);
    }

    /// Who holds how much since [`Device::track_memory`]: results by operation, memory between kernels, uploads, with what
    /// each held when all together were at their peak. A capture's memory counts for what first asked for it.
    ///
    /// ```
    /// use ziggurat_tensor::{DType, Device, DeviceOptions, MemoryKind, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// device.track_memory(true);
    /// let x = Tensor::ones(&device, [64, 64], DType::F32)?;
    /// let y = x.matmul(&x)?;
    /// y.eval_blocking()?;
    /// let report = device.memory_report();
    /// let labels: Vec<_> = report.rows.iter().map(|row| (row.kind, row.label)).collect();
    /// assert!(labels.contains(&(MemoryKind::Result, "matmul")));
    /// assert!(report.of_kind(MemoryKind::Result)[0] >= 2 * 64 * 64 * 4);
    /// println!("{report}");
    /// device.track_memory(false);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    pub fn memory_report(&self) -> MemoryReport {
        self.inner.executor.memory().report()
    }

    /// Pipelines compiled and found in the cache.
    pub fn pipeline_stats(&self) -> PipelineStats {
        self.inner.executor.pipelines().stats()
    }

    /// How often the plans of evaluations were found again. A program that computes the same in every step finds all of them
    /// from its second step on.
    ///
    /// ```
    /// use ziggurat_tensor::{DType, Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let x = Tensor::ones(&device, [8, 8], DType::F32)?;
    /// for _ in 0..3 {
    ///     x.matmul(&x)?.relu()?.eval_blocking()?;
    /// }
    /// let stats = device.plan_stats();
    /// assert_eq!((stats.misses, stats.hits), (1, 2));
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    pub fn plan_stats(&self) -> PlanStats {
        crate::lazy::plan_stats(self)
    }

    /// Gives cached memory back to the driver until at most `target_bytes` stay cached; returns the bytes given back.
    pub fn trim(&self, target_bytes: u64) -> u64 {
        self.inner.executor.memory().trim(target_bytes)
    }

    /// Submits what is recorded and resolves when the device has done all of it.
    ///
    /// Lazy values that nothing has asked for are not computed by this, they go on waiting:
    /// [`Tensor::eval`](crate::Tensor::eval) asks for one.
    ///
    /// # Errors
    /// If the device is lost, or something recorded before failed.
    pub fn synchronize(&self) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        let indices = self.check_indices();
        let completion = self.inner.executor.synchronize();
        once(async move {
            completion
                .await
                .map_err(|error| Error::from_kernel("synchronize", error))?;
            indices.await
        })
    }

    /// [`Device::synchronize`], waiting in place.
    ///
    /// # Errors
    /// As [`Device::synchronize`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn synchronize_blocking(&self) -> Result<(), Error> {
        self.block_on(self.synchronize())
    }

    /// Runs a future that waits for this device to its end on this thread, which polls the device meanwhile: a future that reads
    /// a value is ready two changes of threads earlier than with [`block_on`](crate::block_on), which serves any other future.
    ///
    /// ```
    /// # use ziggurat_tensor::{Device, DeviceOptions, Tensor};
    /// # let device = Device::open_blocking(DeviceOptions::default())?;
    /// let x = Tensor::from_slice(&device, &[1.0f32, 2.0], [2])?;
    /// let sum = device.block_on(async { x.sum_all()?.item::<f32>().await })?;
    /// assert_eq!(sum, 3.0);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    #[cfg(not(target_arch = "wasm32"))]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.inner.executor.device().block_on(future)
    }

    /// Switches GPU timing per kernel on or off; false if the device cannot measure.
    pub fn set_profiling(&self, on: bool) -> bool {
        self.inner.executor.device().set_profiling(on)
    }

    /// GPU time per kernel since profiling was switched on or last asked for.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn profile(&self) -> impl Future<Output = Result<Vec<KernelTime>, Error>> + Send + use<> {
        let device = self.inner.executor.device().clone();
        once(async move {
            device
                .take_profile()
                .await
                .map_err(|error| Error::from_device("profile", error))
        })
    }

    /// [`Device::profile`], waiting in place.
    ///
    /// # Errors
    /// As [`Device::profile`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn profile_blocking(&self) -> Result<Vec<KernelTime>, Error> {
        self.block_on(self.profile())
    }

    /// Whether both handles are of one opened device.
    pub(crate) fn same(&self, other: &Self) -> bool {
        // wgpu's own equality compares ids, which repeat between instances; the capabilities live with the device.
        std::ptr::eq(self.caps(), other.caps())
    }

    /// An error if a tensor of this shape is more than one buffer of the device can hold.
    pub(crate) fn check_len(
        &self,
        op: &'static str,
        shape: &Shape,
        dtype: DType,
    ) -> Result<(), Error> {
        let bytes = (shape.len() as u64).saturating_mul(dtype.bytes() as u64);
        let limit = self.inner.most_bytes;
        if bytes > limit {
            return Err(Error::too_large(op, bytes, limit));
        }
        Ok(())
    }

    /// Memory for a tensor; contents unspecified.
    pub(crate) fn alloc(
        &self,
        op: &'static str,
        shape: &Shape,
        dtype: DType,
    ) -> Result<View, Error> {
        self.check_len(op, shape, dtype)?;
        let executor = &self.inner.executor;
        let alloc = || executor.alloc(shape, dtype);
        let view = executor.memory().labelled(MemoryKind::Result, op, alloc);
        view.map_err(|error| Error::from_kernel(op, error))
    }

    /// Memory for a value that was planned before; contents unspecified. Not for captures, whose memory is of an arena.
    pub(crate) fn alloc_bytes(&self, op: &'static str, bytes: u64) -> Result<Buffer, Error> {
        let memory = self.inner.executor.memory();
        let buffer = memory.labelled(MemoryKind::Result, op, || memory.alloc(bytes));
        buffer.map_err(|error| Error::from_kernel(op, error.into()))
    }

    /// Memory for a tensor whose elements are 0.
    pub(crate) fn alloc_zeroed(
        &self,
        op: &'static str,
        shape: &Shape,
        dtype: DType,
    ) -> Result<View, Error> {
        if self.inner.executor.is_capturing() {
            // Memory's own zeroing is not a dispatch, and a replay would not repeat it.
            let out = self.alloc(op, shape, dtype)?;
            let _recorded = self
                .inner
                .executor
                .fill(&out, 0.0)
                .map_err(|error| Error::from_kernel(op, error))?;
            return Ok(out);
        }
        self.check_len(op, shape, dtype)?;
        let bytes = shape.len() as u64 * dtype.bytes() as u64;
        let memory = self.inner.executor.memory();
        let buffer = memory
            .labelled(MemoryKind::Result, op, || memory.alloc_zeroed(bytes))
            .map_err(|error| Error::from_memory(op, error))?;
        View::new(buffer, Layout::contiguous(*shape), dtype)
            .map_err(|error| Error::from_kernel(op, error))
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let adapter = self.adapter();
        f.debug_struct("Device")
            .field("name", &adapter.name)
            .field("backend", &adapter.backend)
            .finish()
    }
}
