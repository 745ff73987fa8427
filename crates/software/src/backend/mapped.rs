//! Views of mapped memory, and the staging memory of `write_buffer_with`.

use std::ops::Range;
use std::sync::Arc;

use wgpu::custom::{
    BufferInterface, BufferMapCallback, BufferMappedRangeInterface, DispatchBufferMappedRange,
    QueueWriteBufferInterface,
};

use super::device::Device;
use super::object::debug_by_name;
use crate::engine::Storage;

/// Bytes in a range.
pub(super) fn view_len(range: &Range<u64>) -> usize {
    usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(0)
}

/// A copy of mapped bytes, written back on drop if it was written through.
pub(super) struct Mapped {
    storage: Option<Arc<Storage>>,
    offset: u64,
    bytes: Vec<u8>,
    written: bool,
}

impl Mapped {
    pub(super) fn new(storage: Arc<Storage>, range: Range<u64>) -> Self {
        let len = view_len(&range);
        let mut bytes = vec![0; len];
        storage.read(range.start, &mut bytes);
        Self {
            storage: Some(storage),
            offset: range.start,
            bytes,
            written: false,
        }
    }

    /// Zeros that belong to no buffer.
    pub(super) fn detached(len: usize) -> Self {
        Self {
            storage: None,
            offset: 0,
            bytes: vec![0; len],
            written: false,
        }
    }
}

impl BufferMappedRangeInterface for Mapped {
    fn len(&self) -> usize {
        self.bytes.len()
    }

    // SAFETY: nothing is asked of the caller: the body is safe code.
    #[expect(unsafe_code, reason = "the trait declares it unsafe; the body is safe")]
    unsafe fn read_slice(&self) -> &[u8] {
        &self.bytes
    }

    // SAFETY: nothing is asked of the caller: the body is safe code.
    #[expect(unsafe_code, reason = "the trait declares it unsafe; the body is safe")]
    unsafe fn write_slice(&mut self) -> wgpu::WriteOnly<'_, [u8]> {
        self.written = true;
        wgpu::WriteOnly::from_mut(self.bytes.as_mut_slice())
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        if let (Some(storage), true) = (&self.storage, self.written) {
            storage.write(self.offset, &self.bytes);
        }
    }
}

/// Memory that `write_buffer_with` fills.
pub(super) struct Staging {
    pub(super) bytes: Vec<u8>,
}

impl QueueWriteBufferInterface for Staging {
    fn len(&self) -> usize {
        self.bytes.len()
    }

    // SAFETY: nothing is asked of the caller: the body is safe code.
    #[expect(unsafe_code, reason = "the trait declares it unsafe; the body is safe")]
    unsafe fn write_slice(&mut self) -> wgpu::WriteOnly<'_, [u8]> {
        wgpu::WriteOnly::from_mut(self.bytes.as_mut_slice())
    }
}

/// A buffer that agrees to every view, so that wgpu's own bookkeeping refuses it.
struct Probe;

debug_by_name!(Mapped, Staging, Probe);

impl BufferInterface for Probe {
    fn map_async(&self, _: wgpu::MapMode, _: Range<u64>, callback: BufferMapCallback) {
        callback(Err(wgpu::BufferAsyncError));
    }

    fn get_mapped_range(
        &self,
        _: Range<u64>,
    ) -> Result<DispatchBufferMappedRange, wgpu::MapRangeError> {
        Ok(DispatchBufferMappedRange::custom(Mapped::detached(0)))
    }

    fn unmap(&self) {}

    fn destroy(&self) {}
}

/// The buffer that a probing device makes.
pub(super) fn probe() -> wgpu::custom::DispatchBuffer {
    wgpu::custom::DispatchBuffer::custom(Probe)
}

/// wgpu's error for a range that is not mapped.
///
/// Only wgpu can make a `MapRangeError`, and it makes one for a view of a buffer that was never
/// mapped; so that is what this asks for.
pub(super) fn refusal() -> Option<wgpu::MapRangeError> {
    let device = wgpu::Device::from_custom(Device::probing());
    let buffer = device.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: 0,
        usage: wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    buffer.get_mapped_range(..).err()
}
