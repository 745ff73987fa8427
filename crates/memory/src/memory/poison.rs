//! Fills fresh allocations with `0xFF`: NaN as floats, -1 as integers, true as a boolean.
//!
//! The fill is recorded like any copy, from a buffer made once, so that it is ordered with the work
//! that last used the memory.

use super::Memory;
use crate::buffer::Buffer;
use crate::error::MemoryError;
use wgpu::BufferUsages;

/// Bytes of the buffer that is copied from.
const SOURCE: u64 = 1 << 20;

impl Memory {
    pub(super) fn fill_with_poison(&self, buffer: &Buffer) -> Result<(), MemoryError> {
        let source = self.poison_source()?;
        self.device().record(|recorder| {
            let mut at = 0;
            while at < buffer.capacity() {
                let bytes = source.size().min(buffer.capacity() - at);
                recorder.copy_buffer(&source, 0, buffer.wgpu(), at, bytes);
                at += bytes;
            }
        })?;
        Ok(())
    }

    fn poison_source(&self) -> Result<wgpu::Buffer, MemoryError> {
        let mut source = self.inner.poison.lock();
        if let Some(source) = &*source {
            return Ok(source.clone());
        }
        let bytes = crate::size_class::largest(self.device().caps().max_buffer_bytes).min(SOURCE);
        let usage = BufferUsages::COPY_SRC | BufferUsages::COPY_DST;
        let buffer = self.inner.pool.create("poison", bytes, usage, true)?;
        let view = buffer.get_mapped_range_mut(..).ok();
        let filled = view.and_then(|mut view| {
            self.device()
                .while_mapped(&buffer, || view.slice(..).fill(0xFF))
        });
        if filled.is_none() {
            return Err(self.inner.pool.reason(MemoryError::Map { bytes }));
        }
        buffer.unmap();
        *source = Some(buffer.clone());
        Ok(buffer)
    }
}
