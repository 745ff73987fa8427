//! Uniform memory for kernel parameters.
//!
//! The parameters of all dispatches of one batch are gathered on the host and written by one
//! `write_buffer` per chunk right before the batch is submitted. The next write to the same chunk
//! comes after that submission in queue order, so a chunk is free again as soon as it is submitted
//! and few chunks ever exist: bind groups to them can be kept.
//!
//! Parameters that are those of the dispatch before, as in like layers of a network, share its slice.
//!
//! Invariants: a chunk belongs to one batch from its first slice to that batch's submission; what a
//! slice holds does not change until then; chunks of a batch that is never submitted are dropped.

use crate::error::MemoryError;
use crate::gauge::{Gauge, Metered};
use crate::pool::Pool;
use crate::span::WORD;
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;
use ziggurat_device::{Recorder, Submission};

/// Bytes of one chunk, unless a slice needs more.
const CHUNK: u64 = 64 << 10;

/// A part of a uniform buffer that holds the bytes given, for the batch they were given in.
#[derive(Clone, Debug)]
pub struct UniformSlice {
    /// The buffer, with usage `UNIFORM`.
    pub buffer: wgpu::Buffer,
    /// Byte offset of the slice, aligned for dynamic uniform offsets.
    ///
    /// At least the bytes given, rounded up to 16, lie within the buffer from here.
    pub offset: u32,
    /// Identifies the buffer, in one number space with [`Buffer::id`](crate::Buffer::id).
    pub id: u64,
}

/// Chunks of uniform memory.
pub(crate) struct Uniforms {
    pool: Arc<Pool>,
    gauge: Gauge,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    open: Option<(Submission, Arc<Chunk>)>,
    free: Vec<Arc<Chunk>>,
}

struct Chunk {
    memory: Metered,
    id: u64,
    content: Mutex<Content>,
}

/// What a chunk will hold.
#[derive(Default)]
struct Content {
    bytes: Vec<u8>,
    /// Where the last slice begins, and the bytes that were given for it.
    last: Option<(usize, usize)>,
}

impl Uniforms {
    pub(crate) fn new(pool: &Arc<Pool>) -> Self {
        Self {
            pool: Arc::clone(pool),
            gauge: Gauge::default(),
            state: Mutex::default(),
        }
    }

    /// Uniform bytes that exist.
    pub(crate) fn bytes(&self) -> u64 {
        self.gauge.bytes()
    }

    /// Puts `bytes` into uniform memory for the batch in progress.
    pub(crate) fn write(
        self: &Arc<Self>,
        recorder: &mut Recorder<'_>,
        bytes: &[u8],
    ) -> Result<UniformSlice, MemoryError> {
        let caps = self.pool.device().caps();
        // Several uniforms may lie in one slice; how large each may be is checked by who binds it.
        let limit = caps.max_buffer_bytes.min(u64::from(u32::MAX));
        let requested = bytes.len() as u64;
        let alignment = u64::from(caps.uniform_alignment).max(16);
        let room = requested.max(1).next_multiple_of(16);
        if room > limit {
            return Err(MemoryError::TooLarge { requested, limit });
        }
        let batch = recorder.submission();
        let state = self.state.lock();
        if let Some((of, chunk)) = &state.open
            && *of == batch
            && let Some(slice) = chunk.append(bytes, room, alignment)
        {
            return Ok(slice);
        }
        drop(state);
        let chunk = self.fresh(room, limit)?;
        let slice = chunk
            .append(bytes, room, alignment)
            .ok_or(MemoryError::TooLarge { requested, limit })?;
        self.open(recorder, batch, chunk);
        Ok(slice)
    }

    /// A chunk that no batch refers to, with room for `room` bytes.
    fn fresh(&self, room: u64, limit: u64) -> Result<Arc<Chunk>, MemoryError> {
        let mut state = self.state.lock();
        let found = state
            .free
            .iter()
            .rposition(|chunk| chunk.memory.bytes() >= room)
            .map(|index| state.free.swap_remove(index));
        drop(state);
        if let Some(chunk) = found {
            return Ok(chunk);
        }
        let bytes = CHUNK.min(limit).max(room);
        let booking = self.gauge.book(bytes);
        let usage = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
        let buffer = self.pool.create_now("uniform", bytes, usage)?;
        Ok(Arc::new(Chunk {
            memory: booking.with(buffer),
            id: self.pool.new_id(),
            content: Mutex::default(),
        }))
    }

    fn open(self: &Arc<Self>, recorder: &mut Recorder<'_>, batch: Submission, chunk: Arc<Chunk>) {
        let before = self.state.lock().open.replace((batch, Arc::clone(&chunk)));
        drop(before);
        let uniforms = Arc::downgrade(self);
        // The hook runs under the queue's lock: whoever takes the chunk next records after this batch.
        recorder.before_submit(move |queue| {
            chunk.flush(queue);
            if let Some(uniforms) = uniforms.upgrade() {
                uniforms.put(chunk);
            }
        });
    }

    fn put(&self, chunk: Arc<Chunk>) {
        let mut state = self.state.lock();
        let closed = state.open.take_if(|(_, open)| Arc::ptr_eq(open, &chunk));
        state.free.push(chunk);
        drop(state);
        drop(closed);
    }
}

impl Chunk {
    /// Appends at the next aligned offset, if `room` bytes remain there; bytes that were appended last are there already.
    fn append(&self, bytes: &[u8], room: u64, alignment: u64) -> Option<UniformSlice> {
        let mut content = self.content.lock();
        let Content { bytes: all, last } = &mut *content;
        let known = last.filter(|(from, len)| {
            let known = all.get(*from..).and_then(|from| from.get(..*len));
            known == Some(bytes)
        });
        let from = match known {
            Some((from, _)) => from,
            None => {
                let offset = (all.len() as u64).checked_next_multiple_of(alignment)?;
                if offset.checked_add(room)? > self.memory.bytes() {
                    return None;
                }
                let from = usize::try_from(offset).ok()?;
                all.resize(from, 0);
                all.extend_from_slice(bytes);
                all.resize(usize::try_from(offset + room).ok()?, 0);
                *last = Some((from, bytes.len()));
                from
            }
        };
        Some(UniformSlice {
            buffer: self.memory.buffer.clone(),
            offset: u32::try_from(from).ok()?,
            id: self.id,
        })
    }

    /// Writes what was gathered, in queue order before the batch that is about to be submitted.
    #[allow(
        clippy::disallowed_methods,
        reason = "this crate owns writing to buffers"
    )]
    fn flush(&self, queue: &wgpu::Queue) {
        let mut content = self.content.lock();
        debug_assert!(content.bytes.len().is_multiple_of(WORD as usize));
        if !content.bytes.is_empty() {
            queue.write_buffer(&self.memory.buffer, 0, &content.bytes);
        }
        content.bytes.clear();
        content.last = None;
    }
}

impl fmt::Debug for Uniforms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Uniforms")
            .field("bytes", &self.bytes())
            .finish_non_exhaustive()
    }
}
