//! What a device tells of the kernels that its user wrote.

use std::future::Future;

use ziggurat_pipeline::{DebugPrints, KernelWarning};

use crate::once::once;
use crate::{Device, Error};

impl Device {
    /// What kernels printed by `debug_print` in everything recorded since the last call; nothing unless the device was opened
    /// with [`DeviceOptions::debug_kernels`](crate::DeviceOptions::debug_kernels), or is the software device.
    ///
    /// # Errors
    /// If something recorded before failed on the device.
    pub fn take_debug_prints(
        &self,
    ) -> impl Future<Output = Result<DebugPrints, Error>> + Send + use<> {
        let prints = self.executor().pipelines().take_debug_prints();
        once(async move {
            let fail = |error| Error::from_pipeline("take_debug_prints", error);
            prints.await.map_err(fail)
        })
    }

    /// [`Device::take_debug_prints`], waiting in place.
    ///
    /// # Errors
    /// As [`Device::take_debug_prints`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn take_debug_prints_blocking(&self) -> Result<DebugPrints, Error> {
        self.block_on(self.take_debug_prints())
    }

    /// What is most probably a mistake in kernels that were created since the last call, at most 64: barriers that some
    /// invocations of a workgroup may not reach. In builds with debug assertions they are also written to standard error when
    /// a kernel is created.
    ///
    /// ```
    /// use ziggurat_tensor::{CustomKernel, DType, Device, DeviceOptions, Tensor};
    ///
    /// let half = CustomKernel::wgsl("half", "
    ///     @group(0) @binding(0) var<storage, read> x: array<f32>;
    ///     @group(0) @binding(1) var<storage, read_write> y: array<f32>;
    ///     @compute @workgroup_size(64) fn main(@builtin(local_invocation_index) i: u32) {
    ///         if i < arrayLength(&y) { y[i] = x[i]; storageBarrier(); }
    ///     }").input("x", DType::F32);
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// half.call(&[&Tensor::ones(&device, [64], DType::F32)?]).run()?;
    /// let warnings = device.take_kernel_warnings();
    /// assert!(warnings[0].to_string().starts_with("half: half:5:47: warning: not every invocation"));
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    pub fn take_kernel_warnings(&self) -> Vec<KernelWarning> {
        self.executor().pipelines().take_warnings()
    }
}
