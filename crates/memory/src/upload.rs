//! Uploads through a ring of reused, mapped staging buffers.
//!
//! `Queue::write_buffer` would take effect before commands that are recorded and not yet submitted, so
//! bytes travel by recorded copies: into a mapped chunk, unmapped before the batch is submitted, mapped
//! again after it, back in the ring when the device has mapped it.
//! Small uploads of one batch share a chunk; large ones go in pieces with chunks of their own, filled
//! outside the queue's lock. The ring never exceeds its limit: when all chunks are on their way, native
//! waits for one to come back, and the web (which cannot wait) flushes and then uses `write_buffer`,
//! which after a flush is in order.
//!
//! Invariants: a chunk in `free` is mapped and no batch refers to it; the `open` chunk is mapped and
//! only the batch named with it refers to it; no wgpu call is made while the state's lock is held,
//! because wgpu may run a map callback inside any of them; hooks hold the ring weakly, so that a batch
//! that is never submitted keeps nothing alive.

use crate::error::MemoryError;
use crate::free_list::FreeList;
use crate::gauge::{Gauge, Metered};
use crate::pool::Pool;
use crate::span::WORD;
use crate::transfer::write_mapped;
use parking_lot::{Condvar, Mutex};
use std::fmt;
use std::sync::{Arc, Weak};
use ziggurat_device::{Device, Recorder, Submission};

/// Bytes of a chunk shared by small uploads.
const SHARED_CHUNK: u64 = if cfg!(target_arch = "wasm32") {
    256 << 10
} else {
    1 << 20
};

/// Uploads within a shared chunk start at multiples of this: what mapping needs.
const SLOT: u64 = wgpu::MAP_ALIGNMENT;

/// The smallest chunk, whatever the options say.
const SMALLEST: u64 = 256;

/// Staging chunks for uploads.
pub(crate) struct Ring {
    pool: Arc<Pool>,
    /// Largest piece of one upload.
    chunk: u64,
    /// Chunk for small uploads.
    shared: u64,
    limit: u64,
    gauge: Gauge,
    state: Mutex<State>,
    returned: Condvar,
}

#[derive(Default)]
struct State {
    free: FreeList<Metered>,
    open: Option<Open>,
}

/// The chunk that small uploads of the batch in progress are put in.
struct Open {
    chunk: Arc<Metered>,
    batch: Submission,
    used: u64,
}

/// Where the bytes go.
#[derive(Clone, Copy)]
pub(crate) struct Target<'a> {
    pub(crate) buffer: &'a wgpu::Buffer,
    pub(crate) offset: u64,
}

impl Ring {
    pub(crate) fn new(pool: &Arc<Pool>, chunk: u64, limit: u64) -> Self {
        let chunk = chunk
            .min(crate::size_class::largest(
                pool.device().caps().max_buffer_bytes,
            ))
            .max(SMALLEST)
            .next_multiple_of(16);
        Self {
            pool: Arc::clone(pool),
            chunk,
            shared: chunk.min(SHARED_CHUNK),
            // One chunk being filled and one on its way: with fewer nothing overlaps.
            limit: limit.max(chunk.saturating_mul(2)),
            gauge: Gauge::default(),
            state: Mutex::default(),
            returned: Condvar::new(),
        }
    }

    /// Staging bytes that exist.
    pub(crate) fn bytes(&self) -> u64 {
        self.gauge.bytes()
    }

    /// Releases the chunks that wait for work.
    pub(crate) fn release_idle(&self) {
        let idle = self.state.lock().free.evict_to(0);
        drop(idle);
    }

    /// Records the upload of `data` to a word-aligned target; up to three bytes after the end of `data`
    /// become zero.
    pub(crate) fn write(
        self: &Arc<Self>,
        target: Target<'_>,
        data: &[u8],
    ) -> Result<(), MemoryError> {
        if data.len() as u64 <= self.shared / 4 {
            return self.write_shared(target, data);
        }
        let mut offset = target.offset;
        let piece_bytes = usize::try_from(self.chunk).unwrap_or(usize::MAX);
        let pieces = data.chunks(piece_bytes);
        let many = pieces.len() > 1;
        for piece in pieces {
            let target = Target { offset, ..target };
            self.write_piece(target, piece)?;
            if many {
                // The copy runs while the next piece is filled.
                self.device().flush()?;
            }
            offset += piece.len() as u64;
        }
        Ok(())
    }

    fn device(&self) -> &Device {
        self.pool.device()
    }

    /// Uploads through a chunk of its own.
    fn write_piece(self: &Arc<Self>, target: Target<'_>, data: &[u8]) -> Result<(), MemoryError> {
        let bytes = (data.len() as u64).next_multiple_of(WORD);
        let Some(chunk) = self.acquire(bytes)? else {
            return self.write_through_queue(target, data);
        };
        write_mapped(self.device(), &chunk.buffer, 0, data)
            .map_err(|error| self.pool.reason(error))?;
        chunk.buffer.unmap();
        let ring = Arc::downgrade(self);
        self.device().record(|recorder| {
            recorder.copy_buffer(&chunk.buffer, 0, target.buffer, target.offset, bytes);
            recorder.after_submit(move |_| map_again(&ring, chunk));
        })?;
        Ok(())
    }

    /// Uploads through the chunk that the batch in progress shares.
    fn write_shared(self: &Arc<Self>, target: Target<'_>, data: &[u8]) -> Result<(), MemoryError> {
        let mut spare = None;
        loop {
            let placed = self
                .device()
                .record(|recorder| self.place(recorder, target, data, &mut spare))??;
            if placed {
                break;
            }
            spare = self.acquire(self.shared)?;
            if spare.is_none() {
                return self.write_through_queue(target, data);
            }
        }
        if let Some(chunk) = spare {
            self.put(chunk);
        }
        Ok(())
    }

    /// Puts `data` into the open chunk, opening `spare` if there is none with room; `false` if neither
    /// serves. Runs under the queue's lock, so that no batch is submitted meanwhile.
    fn place(
        self: &Arc<Self>,
        recorder: &mut Recorder<'_>,
        target: Target<'_>,
        data: &[u8],
        spare: &mut Option<Metered>,
    ) -> Result<bool, MemoryError> {
        let bytes = (data.len() as u64).next_multiple_of(WORD);
        let batch = recorder.submission();
        let mut place = self.reserve(batch, bytes);
        if place.is_none()
            && let Some(chunk) = spare.take()
        {
            let chunk = Arc::new(chunk);
            self.open(recorder, batch, &chunk);
            place = self.reserve(batch, bytes);
        }
        let Some((chunk, at)) = place else {
            return Ok(false);
        };
        write_mapped(self.device(), &chunk.buffer, at, data)
            .map_err(|error| self.pool.reason(error))?;
        recorder.copy_buffer(&chunk.buffer, at, target.buffer, target.offset, bytes);
        Ok(true)
    }

    /// Room in the open chunk, if it belongs to this batch and has some.
    fn reserve(&self, batch: Submission, bytes: u64) -> Option<(Arc<Metered>, u64)> {
        let mut state = self.state.lock();
        let open = state.open.as_mut().filter(|open| open.batch == batch)?;
        let at = open.used.next_multiple_of(SLOT);
        let end = at.checked_add(bytes)?;
        if end > open.chunk.bytes() {
            return None;
        }
        open.used = end;
        Some((Arc::clone(&open.chunk), at))
    }

    /// Makes `chunk` the open one and arranges for its way through the batch.
    fn open(
        self: &Arc<Self>,
        recorder: &mut Recorder<'_>,
        batch: Submission,
        chunk: &Arc<Metered>,
    ) {
        let before = self.state.lock().open.replace(Open {
            chunk: Arc::clone(chunk),
            batch,
            used: 0,
        });
        drop(before);
        let ring = Arc::downgrade(self);
        let closing = Arc::clone(chunk);
        recorder.before_submit(move |_| {
            if let Some(ring) = ring.upgrade() {
                ring.close(&closing);
            }
            closing.buffer.unmap();
        });
        let ring = Arc::downgrade(self);
        let chunk = Arc::clone(chunk);
        recorder.after_submit(move |_| {
            // The other holders were `open` and the hook above, both gone by now.
            if let Some(chunk) = Arc::into_inner(chunk) {
                map_again(&ring, chunk);
            }
        });
    }

    fn close(&self, chunk: &Arc<Metered>) {
        let mut state = self.state.lock();
        let closed = state.open.take_if(|open| Arc::ptr_eq(&open.chunk, chunk));
        drop(state);
        drop(closed);
    }

    /// A mapped chunk of at least `bytes`; `None` where the ring is exhausted and waiting is impossible.
    fn acquire(&self, bytes: u64) -> Result<Option<Metered>, MemoryError> {
        let class = if bytes <= self.shared {
            self.shared
        } else {
            bytes.next_power_of_two().clamp(self.shared, self.chunk)
        };
        loop {
            self.device().status()?;
            let mut state = self.state.lock();
            if let Some((_, chunk)) = state.free.take(class..=class.saturating_mul(4)) {
                return Ok(Some(chunk));
            }
            let mut evicted = Vec::new();
            let mut booking = self.gauge.book_within(class, self.limit);
            if booking.is_none() {
                if let Some((_, chunk)) = state.free.take(bytes..=u64::MAX) {
                    return Ok(Some(chunk));
                }
                let keep = state.free.bytes().saturating_sub(class);
                evicted = state.free.evict_to(keep);
            }
            drop(state);
            if booking.is_none() && !evicted.is_empty() {
                drop(evicted);
                booking = self.gauge.book_within(class, self.limit);
            }
            if let Some(booking) = booking {
                let usage = wgpu::BufferUsages::MAP_WRITE | wgpu::BufferUsages::COPY_SRC;
                let buffer = self.pool.create("upload", class, usage, true)?;
                return Ok(Some(booking.with(buffer)));
            }
            // Every chunk is in a batch: send it off, and wait for one.
            self.device().flush()?;
            if !self.wait_for_return() {
                return Ok(None);
            }
        }
    }

    /// Waits until a chunk may have come back; `false` where waiting is impossible.
    #[cfg(not(target_arch = "wasm32"))]
    fn wait_for_return(&self) -> bool {
        // The time-out lets the caller look at the device's status, should no callback ever come.
        const PATIENCE: std::time::Duration = std::time::Duration::from_millis(20);
        let mut state = self.state.lock();
        if state.free.len() == 0 {
            self.returned.wait_for(&mut state, PATIENCE);
        }
        true
    }

    #[cfg(target_arch = "wasm32")]
    #[allow(
        clippy::unused_self,
        reason = "same signature as where waiting is possible"
    )]
    const fn wait_for_return(&self) -> bool {
        false
    }

    /// Writes after everything recorded so far: right because that was flushed.
    fn write_through_queue(&self, target: Target<'_>, data: &[u8]) -> Result<(), MemoryError> {
        self.device().flush()?;
        let whole = data.len() - data.len() % WORD as usize;
        let (body, tail) = data.split_at(whole);
        let mut last = [0; WORD as usize];
        for (to, from) in last.iter_mut().zip(tail) {
            *to = *from;
        }
        write_queue(self.device(), target, body);
        if !tail.is_empty() {
            let offset = target.offset + whole as u64;
            write_queue(self.device(), Target { offset, ..target }, &last);
        }
        Ok(())
    }

    /// Takes a mapped chunk back.
    fn put(&self, chunk: Metered) {
        self.state.lock().free.put(chunk.bytes(), chunk);
        self.returned.notify_all();
    }
}

#[allow(
    clippy::disallowed_methods,
    reason = "this crate owns writing to buffers"
)]
fn write_queue(device: &Device, target: Target<'_>, data: &[u8]) {
    if !data.is_empty() {
        device
            .wgpu_queue()
            .write_buffer(target.buffer, target.offset, data);
    }
}

/// Maps a chunk whose batch was just submitted; the callback returns it to the ring.
#[allow(
    clippy::disallowed_methods,
    reason = "this crate owns the mapping of buffers"
)]
fn map_again(ring: &Weak<Ring>, chunk: Metered) {
    let Some(strong) = ring.upgrade() else {
        return;
    };
    let guard = strong.device().callback_guard();
    let announced = strong.device().callback_guard();
    drop(strong);
    let ring = Weak::clone(ring);
    let buffer = chunk.buffer.clone();
    buffer.map_async(wgpu::MapMode::Write, .., move |mapped| {
        if let (Ok(()), Some(ring)) = (mapped, ring.upgrade()) {
            ring.put(chunk);
        }
        drop(guard);
    });
    announced.registered();
}

impl fmt::Debug for Ring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ring")
            .field("bytes", &self.bytes())
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}
