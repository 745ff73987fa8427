//! [`Device`]: the handle that tensors are made on.
//!
//! Wraps the executor of the layer below so that users of this layer need no other crate. Cheap to clone; the device
//! closes when the last handle and the last tensor are gone.
//!
//! Invariant: every allocation of a tensor goes through [`Device::alloc`], which refuses what one binding cannot hold.

use std::fmt;
use std::future::Future;

use ziggurat_core::{DType, Layout, Shape};
use ziggurat_device::{AdapterSummary, Caps, DeviceOptions, KernelTime};
use ziggurat_kernels::{Executor, View};
use ziggurat_memory::Usage;
use ziggurat_pipeline::PipelineStats;

use crate::{Error, Tensor};

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
    executor: Executor,
}

impl Device {
    /// Opens the best adapter that fits the options.
    ///
    /// # Errors
    /// If no adapter fits (the text lists what was seen and what to install) or the device cannot be made.
    pub async fn open(options: DeviceOptions) -> Result<Self, Error> {
        let executor = Executor::open(options)
            .await
            .map_err(|error| Error::from_kernel("open", error))?;
        Ok(Self { executor })
    }

    /// [`Device::open`], waiting in place.
    ///
    /// # Errors
    /// As [`Device::open`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn open_blocking(options: DeviceOptions) -> Result<Self, Error> {
        let executor =
            Executor::open_blocking(options).map_err(|error| Error::from_kernel("open", error))?;
        Ok(Self { executor })
    }

    /// Tensors on an executor that the application already has.
    pub fn from_executor(executor: &Executor) -> Self {
        Self {
            executor: executor.clone(),
        }
    }

    /// The executor below: every operation on raw buffers and layouts.
    pub fn executor(&self) -> &Executor {
        &self.executor
    }

    /// The adapter: name, backend, kind, driver.
    pub fn adapter(&self) -> &AdapterSummary {
        self.executor.device().adapter()
    }

    /// The adapter's name.
    pub fn name(&self) -> &str {
        &self.adapter().name
    }

    /// What the device can do: limits and features.
    pub fn caps(&self) -> &Caps {
        self.executor.device().caps()
    }

    /// Device memory in use and in reserve.
    pub fn usage(&self) -> Usage {
        self.executor.memory().usage()
    }

    /// Pipelines compiled and found in the cache.
    pub fn pipeline_stats(&self) -> PipelineStats {
        self.executor.pipelines().stats()
    }

    /// Gives cached memory back to the driver until at most `target_bytes` stay cached; returns the bytes given back.
    pub fn trim(&self, target_bytes: u64) -> u64 {
        self.executor.memory().trim(target_bytes)
    }

    /// Submits what is recorded and resolves when the device has done all of it.
    ///
    /// # Errors
    /// If the device is lost, or something recorded before failed.
    pub fn synchronize(&self) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        let completion = self.executor.synchronize();
        async move {
            completion
                .await
                .map_err(|error| Error::from_kernel("synchronize", error))
        }
    }

    /// [`Device::synchronize`], waiting in place.
    ///
    /// # Errors
    /// As [`Device::synchronize`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn synchronize_blocking(&self) -> Result<(), Error> {
        ziggurat_device::block_on(self.synchronize())
    }

    /// Switches GPU timing per kernel on or off; false if the device cannot measure.
    pub fn set_profiling(&self, on: bool) -> bool {
        self.executor.device().set_profiling(on)
    }

    /// GPU time per kernel since profiling was switched on or last asked for.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn profile(&self) -> impl Future<Output = Result<Vec<KernelTime>, Error>> + Send + use<> {
        let device = self.executor.device().clone();
        async move {
            device
                .take_profile()
                .await
                .map_err(|error| Error::from_device("profile", error))
        }
    }

    /// [`Device::profile`], waiting in place.
    ///
    /// # Errors
    /// As [`Device::profile`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn profile_blocking(&self) -> Result<Vec<KernelTime>, Error> {
        ziggurat_device::block_on(self.profile())
    }

    /// Whether both handles are of one opened device.
    pub(crate) fn same(&self, other: &Self) -> bool {
        // wgpu's own equality compares ids, which repeat between instances; the capabilities live with the device.
        std::ptr::eq(self.caps(), other.caps())
    }

    /// An error if a tensor of this shape is more than one binding of the device can hold.
    pub(crate) fn check_len(
        &self,
        op: &'static str,
        shape: &Shape,
        dtype: DType,
    ) -> Result<(), Error> {
        let bytes = (shape.len() as u64).saturating_mul(dtype.bytes() as u64);
        let limit = self.caps().max_binding_bytes;
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
        self.executor
            .alloc(shape, dtype)
            .map_err(|error| Error::from_kernel(op, error))
    }

    /// Memory for a tensor whose elements are 0.
    pub(crate) fn alloc_zeroed(
        &self,
        op: &'static str,
        shape: &Shape,
        dtype: DType,
    ) -> Result<View, Error> {
        self.check_len(op, shape, dtype)?;
        let bytes = shape.len() as u64 * dtype.bytes() as u64;
        let buffer = self
            .executor
            .memory()
            .alloc_zeroed(bytes)
            .map_err(|error| Error::from_memory(op, error))?;
        View::new(buffer, Layout::contiguous(*shape), dtype)
            .map_err(|error| Error::from_kernel(op, error))
    }

    /// A rank-0 tensor with a number.
    pub(crate) fn scalar(
        &self,
        op: &'static str,
        dtype: DType,
        value: f64,
    ) -> Result<Tensor, Error> {
        let view = self
            .executor
            .scalar(dtype, value)
            .map_err(|error| Error::from_kernel(op, error))?;
        Ok(Tensor::from_view(self, view))
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
