//! Readback through reused, mapped slots.
//!
//! A read records its copies into slots at once, so that it sees the memory as it is at that point of
//! the queue whatever is recorded later. A read larger than the window of slots copies the rest to
//! buffers of the pool, and drains those through the slots as they come free.
//!
//! Invariants: a slot belongs to its read from the recorded copy until it is unmapped, also when the
//! future is dropped early; a slot in the list is unmapped and no queued work refers to it.

mod flight;
mod landing;
mod mapped;
mod plan;
mod read;

pub use mapped::{Mapped, ReadMapped};
pub use read::{Read, ReadInto, ReadMany};

use crate::error::MemoryError;
use crate::free_list::FreeList;
use crate::gauge::{Gauge, Metered};
use crate::pool::Pool;
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;

/// The smallest slot.
const SMALLEST: u64 = 4096;

/// Staging slots for readback.
pub(crate) struct Slots {
    pub(crate) pool: Arc<Pool>,
    /// Largest piece that is mapped at once.
    chunk: u64,
    limit: u64,
    gauge: Gauge,
    free: Mutex<FreeList<Metered>>,
}

impl Slots {
    pub(crate) fn new(pool: &Arc<Pool>, chunk: u64, limit: u64) -> Self {
        let largest = crate::size_class::largest(pool.device().caps().max_buffer_bytes);
        let chunk = chunk.min(largest).max(16).next_multiple_of(16);
        Self {
            pool: Arc::clone(pool),
            chunk,
            limit: limit.max(chunk),
            gauge: Gauge::default(),
            free: Mutex::default(),
        }
    }

    /// Staging bytes that exist.
    pub(crate) fn bytes(&self) -> u64 {
        self.gauge.bytes()
    }

    /// How many pieces one read may have on their way at once.
    pub(crate) fn window(&self) -> usize {
        usize::try_from((self.limit / self.chunk).max(1)).unwrap_or(usize::MAX)
    }

    pub(crate) const fn chunk(&self) -> u64 {
        self.chunk
    }

    /// Releases the slots that wait for work.
    pub(crate) fn release_idle(&self) {
        let idle = self.free.lock().evict_to(0);
        drop(idle);
    }

    /// A slot of at least `bytes`: at most a chunk, or for a mapped read as much as it needs. Never waits for another read: slots that
    /// exceed the limit are released instead of kept.
    fn take(&self, bytes: u64) -> Result<Metered, MemoryError> {
        let class = bytes
            .max(SMALLEST)
            .next_power_of_two()
            .min(self.chunk)
            .max(bytes);
        let mut free = self.free.lock();
        // Rather a slot that is far too large than one more above the limit.
        let found = free.take(class..=class.saturating_mul(4)).or_else(|| {
            (self.gauge.bytes().saturating_add(class) > self.limit)
                .then(|| free.take(class..=u64::MAX))
                .flatten()
        });
        drop(free);
        if let Some((_, slot)) = found {
            return Ok(slot);
        }
        let booking = match self.gauge.book_within(class, self.limit) {
            Some(booking) => booking,
            None => {
                let mut free = self.free.lock();
                let keep = free.bytes().saturating_sub(class);
                let evicted = free.evict_to(keep);
                drop(free);
                drop(evicted);
                self.gauge.book(class)
            }
        };
        let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
        let buffer = self.pool.create("readback", class, usage, false)?;
        Ok(booking.with(buffer))
    }

    /// Unmaps a slot and takes it back.
    fn put(&self, slot: Metered) {
        slot.buffer.unmap();
        if self.gauge.bytes() <= self.limit {
            self.free.lock().put(slot.bytes(), slot);
        }
    }
}

impl fmt::Debug for Slots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slots")
            .field("bytes", &self.bytes())
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}
