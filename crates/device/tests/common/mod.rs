//! Small pieces that the noop tests share: buffers with known bytes, and reading them back.
#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "tests; each binary uses its part"
)]

use futures::channel::oneshot;
use wgpu::BufferUsages as Usage;
use ziggurat_device::{Device, DeviceError, DeviceOptions, Recorder};

pub(crate) fn noop() -> Device {
    noop_with(DeviceOptions::default())
}

pub(crate) fn noop_with(options: DeviceOptions) -> Device {
    Device::noop(options, None).unwrap()
}

/// A buffer that holds `bytes` and can be copied from and to.
pub(crate) fn buffer(device: &Device, bytes: &[u8]) -> wgpu::Buffer {
    let buffer = device.wgpu().create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: bytes.len() as u64,
        usage: Usage::COPY_SRC | Usage::COPY_DST,
        mapped_at_creation: true,
    });
    buffer
        .get_mapped_range_mut(..)
        .unwrap()
        .slice(..)
        .copy_from_slice(bytes);
    buffer.unmap();
    buffer
}

pub(crate) fn readable(device: &Device, bytes: u64) -> wgpu::Buffer {
    device.wgpu().create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: bytes,
        usage: Usage::MAP_READ | Usage::COPY_DST,
        mapped_at_creation: false,
    })
}

/// Records the mapping of `buffer` after this batch; the receiver is cancelled if that never
/// happens.
pub(crate) fn map_after_submit(
    recorder: &mut Recorder<'_>,
    buffer: &wgpu::Buffer,
) -> oneshot::Receiver<bool> {
    let (sender, receiver) = oneshot::channel();
    let buffer = buffer.clone();
    recorder.after_submit(move |_| {
        buffer.map_async(wgpu::MapMode::Read, .., move |result| {
            let _ = sender.send(result.is_ok());
        });
    });
    receiver
}

/// The bytes of `buffer` after all recorded work.
pub(crate) async fn read(device: &Device, buffer: &wgpu::Buffer) -> Result<Vec<u8>, DeviceError> {
    let slot = readable(device, buffer.size());
    let guard = device.callback_guard();
    let mapped = device.record(|recorder| {
        recorder.copy_buffer(buffer, 0, &slot, 0, buffer.size());
        map_after_submit(recorder, &slot)
    })?;
    device.flush()?;
    assert!(mapped.await.unwrap());
    drop(guard);
    let bytes = slot.get_mapped_range(..).unwrap().to_vec();
    slot.unmap();
    Ok(bytes)
}
