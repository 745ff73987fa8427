//! A handle to device memory.
//!
//! Clones share the memory; the last one dropped returns it to its pool at once.
//! `bytes` is what was asked for and all that can be read back; the capacity behind it is padding
//! that kernels may read and write freely up to whole 16-byte units.

use crate::arena::Arena;
use crate::mark::Mark;
use crate::pool::{Block, Pool};
use parking_lot::Mutex;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// Device memory, shared by its clones.
#[derive(Clone)]
pub struct Buffer {
    inner: Arc<Inner>,
}

struct Inner {
    block: Block,
    bytes: u64,
    capacity: u64,
    /// Nothing while it lies in the pool.
    pool: Option<Arc<Pool>>,
    wrapped: bool,
    /// Whether there is no memory behind it.
    placeholder: bool,
    /// The memory that this is, and the arena that gets it back.
    lent: Option<(Arena, Buffer)>,
    /// Hardly any memory has marks.
    marks: OnceLock<Mutex<Vec<Mark>>>,
}

impl Buffer {
    pub(crate) fn pooled(block: Block, bytes: u64, capacity: u64, pool: &Arc<Pool>) -> Self {
        Self {
            inner: Arc::new(Inner {
                block,
                bytes,
                capacity,
                pool: Some(Arc::clone(pool)),
                wrapped: false,
                placeholder: false,
                lent: None,
                marks: OnceLock::new(),
            }),
        }
    }

    /// Memory of an arena.
    pub(crate) fn lent(memory: Self, bytes: u64, arena: &Arena) -> Self {
        Self {
            inner: Arc::new(Inner {
                block: memory.inner.block.clone(),
                bytes,
                capacity: memory.inner.capacity,
                pool: memory.inner.pool.clone(),
                wrapped: false,
                placeholder: false,
                lent: Some((arena.clone(), memory)),
                marks: OnceLock::new(),
            }),
        }
    }

    /// The arena that it is memory of.
    pub(crate) fn arena(&self) -> Option<&Arena> {
        self.inner.lent.as_ref().map(|(arena, _)| arena)
    }

    pub(crate) fn wrapped(buffer: wgpu::Buffer, pool: &Arc<Pool>) -> Self {
        let bytes = buffer.size();
        Self {
            inner: Arc::new(Inner {
                block: Block {
                    buffer,
                    id: pool.new_id(),
                },
                bytes,
                capacity: bytes,
                pool: Some(Arc::clone(pool)),
                wrapped: true,
                placeholder: false,
                lent: None,
                marks: OnceLock::new(),
            }),
        }
    }

    pub(crate) fn placeholder(stub: wgpu::Buffer, bytes: u64, pool: &Arc<Pool>) -> Self {
        Self {
            inner: Arc::new(Inner {
                block: Block {
                    buffer: stub,
                    id: pool.new_id(),
                },
                bytes,
                capacity: bytes.checked_next_multiple_of(16).unwrap_or(bytes),
                pool: Some(Arc::clone(pool)),
                wrapped: false,
                placeholder: true,
                lent: None,
                marks: OnceLock::new(),
            }),
        }
    }

    /// Bytes that were asked for.
    #[inline]
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.inner.bytes
    }

    /// Bytes the memory really has.
    ///
    /// For buffers of the pool a multiple of 16 and at least `bytes` rounded up to 16;
    /// for a wrapped buffer its own size.
    #[inline]
    #[must_use]
    pub fn capacity(&self) -> u64 {
        self.inner.capacity
    }

    /// The wgpu buffer, of [`capacity`](Self::capacity) bytes.
    #[inline]
    #[must_use]
    pub fn wgpu(&self) -> &wgpu::Buffer {
        &self.inner.block.buffer
    }

    /// Identifies the wgpu buffer: the same number each time the pool hands out the same memory, and
    /// never one of another buffer, of this memory or another. Fit to key bind groups, together with
    /// [`Memory::on_release`](crate::Memory::on_release).
    #[inline]
    #[must_use]
    pub fn id(&self) -> u64 {
        self.inner.block.id
    }

    /// Whether it was given by this pool. The pool lives as long as the buffer, so its address cannot stand for another.
    #[inline]
    pub(crate) fn is_of(&self, pool: &Arc<Pool>) -> bool {
        matches!(&self.inner.pool, Some(own) if Arc::ptr_eq(own, pool))
    }

    /// Whether this is the only handle to the memory.
    #[inline]
    #[must_use]
    pub fn is_unique(&self) -> bool {
        Arc::strong_count(&self.inner) == 1
    }

    /// Whether both handles mean the same memory.
    #[must_use]
    pub fn same_memory(&self, other: &Self) -> bool {
        // wgpu tells buffers apart by ids that repeat between instances.
        Arc::ptr_eq(&self.inner, &other.inner)
            || (!self.inner.placeholder
                && other
                    .inner
                    .pool
                    .as_ref()
                    .is_some_and(|pool| self.is_of(pool))
                && self.inner.block.buffer == other.inner.block.buffer)
    }

    /// Whether there is no memory behind it: see [`Memory::placeholder`](crate::Memory::placeholder).
    #[inline]
    #[must_use]
    pub fn is_placeholder(&self) -> bool {
        self.inner.placeholder
    }

    /// Notes that whoever reads the memory must look at `mark`.
    pub fn mark(&self, mark: &Mark) {
        let mut marks = self.inner.marks.get_or_init(Mutex::default).lock();
        marks.retain(|known| !known.is_over());
        if !marks.iter().any(|known| known.is(mark)) {
            marks.push(mark.clone());
        }
    }

    /// Whether it ever had marks.
    #[inline]
    #[must_use]
    pub fn is_marked(&self) -> bool {
        self.inner.marks.get().is_some()
    }

    /// The marks that are not over.
    #[must_use]
    pub fn marks(&self) -> Vec<Mark> {
        let Some(marks) = self.inner.marks.get() else {
            return Vec::new();
        };
        let marks = marks.lock();
        marks
            .iter()
            .filter(|mark| !mark.is_over())
            .cloned()
            .collect()
    }

    /// Replaces all marks, where all of the memory is written anew.
    pub fn set_marks(&self, new: Vec<Mark>) {
        if !new.is_empty() || self.inner.marks.get().is_some() {
            *self.inner.marks.get_or_init(Mutex::default).lock() = new;
        }
    }

    /// Whether the memory was given from outside and does not belong to the pool.
    #[inline]
    #[must_use]
    pub fn is_wrapped(&self) -> bool {
        self.inner.wrapped
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffer")
            .field("id", &self.id())
            .field("bytes", &self.bytes())
            .field("capacity", &self.capacity())
            .finish_non_exhaustive()
    }
}

impl Drop for Buffer {
    #[inline]
    fn drop(&mut self) {
        if let Some(last) = Arc::get_mut(&mut self.inner)
            && last.is_plain()
            && let Some(pool) = last.pool.take()
        {
            let (capacity, bytes) = (last.capacity, last.bytes);
            pool.give_back(Idle(Arc::clone(&self.inner)), capacity, bytes);
        }
    }
}

impl Inner {
    /// Whether it goes back to the pool as it is.
    fn is_plain(&self) -> bool {
        !self.wrapped && !self.placeholder && self.lent.is_none() && self.marks.get().is_none()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Two threads may have let go of the last two handles at once, each with another one in sight.
        let Some(pool) = self.pool.take().filter(|_| !self.placeholder) else {
            return;
        };
        if let Some((arena, memory)) = self.lent.take() {
            return arena.give_back(memory);
        }
        let block = self.block.clone();
        if self.wrapped {
            pool.release(vec![Idle::new(block, self.capacity)]);
        } else {
            let idle = Idle::new(block, self.capacity);
            pool.give_back(idle, self.capacity, self.bytes);
        }
    }
}

/// Memory of the pool that nobody has, with what a handle to it needs.
pub(crate) struct Idle(Arc<Inner>);

impl Idle {
    pub(crate) fn new(block: Block, capacity: u64) -> Self {
        Self(Arc::new(Inner {
            block,
            bytes: 0,
            capacity,
            pool: None,
            wrapped: false,
            placeholder: false,
            lent: None,
            marks: OnceLock::new(),
        }))
    }

    pub(crate) fn id(&self) -> u64 {
        self.0.block.id
    }

    /// Hands it out.
    pub(crate) fn lend(mut self, bytes: u64, pool: &Arc<Pool>) -> Buffer {
        if let Some(inner) = Arc::get_mut(&mut self.0) {
            inner.bytes = bytes;
            inner.pool = Some(Arc::clone(pool));
            return Buffer { inner: self.0 };
        }
        // Whoever gave it back has not quite let go of it.
        Buffer::pooled(self.0.block.clone(), bytes, self.0.capacity, pool)
    }
}

impl fmt::Debug for Idle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Idle").field(&self.id()).finish()
    }
}
