//! Memory for a computation that is repeated: what it gives back is handed out again within it, and to nobody else.
//!
//! Whoever records the computation allocates from an [`Arena`] in the order in which a repetition runs, so lifetimes that
//! do not overlap share memory, as they do outside. The arena keeps all of it until it is dropped.
//!
//! Invariants: a block is in one buffer or in the free list; blocks go back to the pool when the arena and all its buffers
//! are gone.

use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::buffer::Buffer;
use crate::error::MemoryError;
use crate::free_list::FreeList;
use crate::pool::Pool;
use crate::size_class;

/// See the module. Clones are the same arena.
#[derive(Clone)]
pub struct Arena {
    inner: Arc<Inner>,
}

/// What an [`Arena`] has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArenaUsage {
    /// Buffers that were handed out.
    pub allocations: u64,
    /// Bytes that these asked for, all together: what they would take without sharing.
    pub requested: u64,
    /// Bytes of device memory that they take.
    pub reserved: u64,
}

struct Inner {
    pool: Arc<Pool>,
    books: Mutex<Books>,
}

#[derive(Default)]
struct Books {
    free: FreeList<Buffer>,
    usage: ArenaUsage,
}

impl Arena {
    pub(crate) fn new(pool: &Arc<Pool>) -> Self {
        Self {
            inner: Arc::new(Inner {
                pool: Arc::clone(pool),
                books: Mutex::default(),
            }),
        }
    }

    /// A buffer of `bytes` with unspecified contents.
    ///
    /// # Errors
    ///
    /// As [`Memory::alloc`](crate::Memory::alloc).
    pub(crate) fn alloc(&self, bytes: u64) -> Result<Buffer, MemoryError> {
        let pool = &self.inner.pool;
        let caps = pool.device().caps();
        let class = size_class::capacity(bytes, caps.max_buffer_bytes);
        let found = class.and_then(|class| {
            let wanted = size_class::acceptable(class, caps.max_binding_bytes);
            self.inner.books.lock().free.take(wanted)
        });
        let block = match found {
            Some((_, block)) => block,
            None => {
                let block = pool.alloc(bytes)?;
                self.inner.books.lock().usage.reserved += block.capacity();
                block
            }
        };
        let mut books = self.inner.books.lock();
        books.usage.allocations += 1;
        books.usage.requested += bytes;
        drop(books);
        Ok(Buffer::lent(block, bytes, self))
    }

    /// Takes back the memory of a buffer whose last handle is gone.
    pub(crate) fn give_back(&self, block: Buffer) {
        let capacity = block.capacity();
        self.inner.books.lock().free.put(capacity, block);
    }

    /// Whether the buffer is memory of this arena.
    #[must_use]
    pub fn has(&self, buffer: &Buffer) -> bool {
        buffer
            .arena()
            .is_some_and(|arena| Arc::ptr_eq(&arena.inner, &self.inner))
    }

    /// What it handed out and has.
    #[must_use]
    pub fn usage(&self) -> ArenaUsage {
        self.inner.books.lock().usage
    }
}

impl fmt::Debug for Arena {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Arena")
            .field("usage", &self.usage())
            .finish_non_exhaustive()
    }
}
