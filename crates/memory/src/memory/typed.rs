//! Buffers as slices of numbers: offsets and ranges count elements instead of bytes.

use super::Memory;
use crate::buffer::Buffer;
use crate::error::MemoryError;
use crate::readback::Read;
use bytemuck::{NoUninit, Pod};
use std::future::Future;
use std::marker::PhantomData;
use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A read on its way: resolves to the elements.
///
/// The copy is already submitted. Dropping the future is fine. Polled again after its result it is
/// [`MemoryError::Finished`].
#[derive(Debug)]
#[must_use = "a read gives its elements to whoever awaits it"]
pub struct ReadSlice<T> {
    read: Read,
    element: PhantomData<fn() -> T>,
}

impl Memory {
    /// A buffer with a copy of `elements`, in the host's byte order (every GPU's too: little-endian).
    ///
    /// ```
    /// # #[cfg(not(target_arch = "wasm32"))]
    /// # fn main() -> Result<(), ziggurat_memory::MemoryError> {
    /// # use ziggurat_device::{Device, DeviceOptions};
    /// # use ziggurat_memory::{Memory, MemoryOptions};
    /// # let device = Device::noop(DeviceOptions::default(), None)?;
    /// let memory = Memory::new(&device, MemoryOptions::default());
    /// let buffer = memory.upload_slice(&[1.0f32, 2.0, 3.0])?;
    /// memory.write_slice(&buffer, 1, &[5.0f32])?;
    /// assert_eq!(memory.read_slice::<f32>(&buffer, 0..2)?.wait()?, [1.0, 5.0]);
    /// # Ok(())
    /// # }
    /// # #[cfg(target_arch = "wasm32")]
    /// # fn main() {}
    /// ```
    ///
    /// # Errors
    ///
    /// As [`upload`](Self::upload).
    pub fn upload_slice<T: NoUninit>(&self, elements: &[T]) -> Result<Buffer, MemoryError> {
        self.upload(bytemuck::cast_slice(elements))
    }

    /// Records the writing of `elements` from element `offset` of the buffer on.
    ///
    /// # Errors
    ///
    /// As [`write`](Self::write).
    pub fn write_slice<T: NoUninit>(
        &self,
        buffer: &Buffer,
        offset: u64,
        elements: &[T],
    ) -> Result<(), MemoryError> {
        let bytes = saturating_bytes::<T>(offset);
        self.write(buffer, bytes, bytemuck::cast_slice(elements))
    }

    /// Submits a copy of the elements in `range` as they are at this point of the queue; the future resolves to them.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    pub fn read_slice<T: Pod>(
        &self,
        buffer: &Buffer,
        range: Range<u64>,
    ) -> Result<ReadSlice<T>, MemoryError> {
        let bytes = saturating_bytes::<T>(range.start)..saturating_bytes::<T>(range.end);
        Ok(ReadSlice {
            read: self.read(buffer, bytes)?,
            element: PhantomData,
        })
    }
}

/// Bytes of so many elements; more than any buffer has where that overflows.
fn saturating_bytes<T>(elements: u64) -> u64 {
    elements.saturating_mul(size_of::<T>() as u64)
}

impl<T: Pod> ReadSlice<T> {
    /// Blocks until the elements are there.
    ///
    /// # Errors
    ///
    /// As awaiting it: the device is lost or poisoned, or staging memory could not be mapped.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn wait(self) -> Result<Vec<T>, MemoryError> {
        Ok(bytemuck::pod_collect_to_vec(&self.read.wait()?))
    }
}

impl<T: Pod> Future for ReadSlice<T> {
    type Output = Result<Vec<T>, MemoryError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.read)
            .poll(context)
            .map_ok(|bytes| bytemuck::pod_collect_to_vec(&bytes))
    }
}
