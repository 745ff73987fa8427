//! Reads of buffers, into vectors, slices, or as a look at staging memory.

use super::{Memory, misaligned, need};
use crate::buffer::Buffer;
use crate::error::MemoryError;
use crate::readback::{Read, ReadInto, ReadMany, ReadMapped};
use crate::span::{ceil, checked};
use std::ops::Range;
use wgpu::BufferUsages;

impl Memory {
    /// Submits a copy of the bytes in `range` as they are at this point of the queue; the future
    /// resolves to them.
    ///
    /// # Errors
    ///
    /// [`MemoryError::ForeignBuffer`]; [`MemoryError::OutOfRange`]; [`MemoryError::HostMemory`] when the host has no room;
    /// [`MemoryError::MissingUsage`] and [`MemoryError::Misaligned`] for wrapped buffers; otherwise as
    /// [`alloc`](Self::alloc) for staging memory.
    pub fn read(&self, buffer: &Buffer, range: Range<u64>) -> Result<Read, MemoryError> {
        self.readable(buffer, &range)?;
        Read::start(&self.inner.slots, buffer, range)
    }

    /// Like [`read`](Self::read), but fills `output`, which saves the allocation and its page faults.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read); [`MemoryError::SliceLength`] unless `output` is as long as the range.
    pub fn read_into<'a>(
        &self,
        buffer: &Buffer,
        range: Range<u64>,
        output: &'a mut [u8],
    ) -> Result<ReadInto<'a>, MemoryError> {
        self.readable(buffer, &range)?;
        let (bytes, slice) = (range.end - range.start, output.len() as u64);
        if bytes != slice {
            return Err(MemoryError::SliceLength { bytes, slice });
        }
        ReadInto::start(&self.inner.slots, buffer, range, output)
    }

    /// Like [`read`](Self::read), but resolves to a view of the staging memory itself: nothing is copied on the
    /// host. The view keeps that memory until it is dropped, also through [`Device::destroy`](ziggurat_device::Device::destroy).
    /// wgpu's own `destroy`, called by a program that shares its device, takes it away from under the view: such a program
    /// is to drop its views first, or to use `read`.
    ///
    /// A range of any length is one view. Beyond [`staging_chunk`](crate::MemoryOptions::staging_chunk) it takes staging
    /// memory of its own, which is kept for the next such read only within
    /// [`staging_limit`](crate::MemoryOptions::staging_limit).
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read); [`MemoryError::TooLarge`] above the device's limit for one buffer.
    pub fn read_mapped(
        &self,
        buffer: &Buffer,
        range: Range<u64>,
    ) -> Result<ReadMapped, MemoryError> {
        self.readable(buffer, &range)?;
        ReadMapped::start(&self.inner.slots, buffer, range)
    }

    /// Like [`read`](Self::read) for several ranges in one submission.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read), for any of the ranges.
    pub fn read_many(&self, reads: &[(&Buffer, Range<u64>)]) -> Result<ReadMany, MemoryError> {
        let mut sources = Vec::with_capacity(reads.len());
        let mut ranges = Vec::with_capacity(reads.len());
        for (buffer, range) in reads {
            self.readable(buffer, range)?;
            sources.push(*buffer);
            ranges.push(range.clone());
        }
        ReadMany::start(&self.inner.slots, &sources, &ranges)
    }

    fn readable(&self, buffer: &Buffer, range: &Range<u64>) -> Result<(), MemoryError> {
        self.own("read", buffer)?;
        let outside = || MemoryError::OutOfRange {
            start: range.start,
            end: range.end,
            bytes: buffer.bytes(),
        };
        let bytes = range.end.checked_sub(range.start).ok_or_else(outside)?;
        checked(range.start, bytes, buffer.bytes())?;
        need("read", buffer, BufferUsages::COPY_SRC)?;
        if bytes > 0 && ceil(range.end) > buffer.wgpu().size() {
            return Err(misaligned("read", range.start, bytes));
        }
        Ok(())
    }
}
