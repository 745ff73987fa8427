//! The one place that creates buffers.
//!
//! Native drivers report a failed allocation synchronously into a thread-local error scope, which is
//! how it becomes a value here. Browsers report it later: there it poisons the device.

use ziggurat_device::Device;

/// The driver had no memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NoMemory;

/// Creates a buffer of `bytes`, which must be within the device's limit.
pub(crate) fn create(
    device: &Device,
    label: &str,
    bytes: u64,
    usage: wgpu::BufferUsages,
    mapped: bool,
) -> Result<wgpu::Buffer, NoMemory> {
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
            Some(Some(_)) => Err(NoMemory),
            _ => Ok(buffer),
        }
    }
    #[cfg(target_arch = "wasm32")]
    Ok(raw(device, &descriptor))
}

#[allow(
    clippy::disallowed_methods,
    reason = "this module owns the creation of buffers"
)]
fn raw(device: &Device, descriptor: &wgpu::BufferDescriptor<'_>) -> wgpu::Buffer {
    device.wgpu().create_buffer(descriptor)
}
