//! The one place that creates buffers.
//!
//! Native drivers report a failed allocation synchronously into a thread-local error scope, which is
//! how it becomes a value here. Browsers report it later: there it poisons the device.

use ziggurat_device::Device;

use crate::error::{DriverError, MemoryError};

/// Creates a buffer of `bytes`, which must be within the device's limit.
pub(crate) fn create(
    device: &Device,
    label: &str,
    bytes: u64,
    usage: wgpu::BufferUsages,
    mapped: bool,
) -> Result<wgpu::Buffer, DriverError> {
    let descriptor = wgpu::BufferDescriptor {
        label: Some(label),
        size: bytes,
        usage,
        mapped_at_creation: mapped,
    };
    #[cfg(not(target_arch = "wasm32"))]
    {
        let scope = device
            .wgpu()
            .push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let buffer = raw(device, &descriptor);
        match ziggurat_device::now_or_never(scope.pop()) {
            Some(Some(error)) => Err(DriverError(error.to_string())),
            _ => Ok(buffer),
        }
    }
    #[cfg(target_arch = "wasm32")]
    Ok(raw(device, &descriptor))
}

/// Lets wgpu check that the device can use a buffer from outside, where a queue's write of no bytes can.
#[allow(
    clippy::disallowed_methods,
    reason = "nothing is written: this only asks wgpu's validation"
)]
pub(crate) fn check(device: &Device, buffer: &wgpu::Buffer) -> Result<(), MemoryError> {
    #[cfg(not(target_arch = "wasm32"))]
    if buffer.usage().contains(wgpu::BufferUsages::COPY_DST) {
        let scope = device
            .wgpu()
            .push_error_scope(wgpu::ErrorFilter::Validation);
        device.wgpu_queue().write_buffer(buffer, 0, &[]);
        if let Some(Some(error)) = ziggurat_device::now_or_never(scope.pop()) {
            return Err(MemoryError::Wrap {
                message: error.to_string(),
            });
        }
    }
    // A browser answers later.
    #[cfg(target_arch = "wasm32")]
    let _ = (device, buffer);
    Ok(())
}

#[allow(
    clippy::disallowed_methods,
    reason = "this module owns the creation of buffers"
)]
fn raw(device: &Device, descriptor: &wgpu::BufferDescriptor<'_>) -> wgpu::Buffer {
    device.wgpu().create_buffer(descriptor)
}
