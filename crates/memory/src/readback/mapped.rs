//! Reads without a copy on the host: a borrowed look at the mapped staging memory.
//!
//! One slot takes the whole range, however long; beyond the size of a piece it is a slot of its own. It counts as
//! staging memory as long as it exists, and is kept for the next read of that size while all staging memory is within
//! the limit. Invariants: a slot is given back only after its view is gone, and memory of a destroyed device is not
//! freed while it is looked at.

use super::Slots;
use super::flight::lost;
use super::landing::{Landing, Ticket};
use crate::buffer::Buffer;
use crate::error::MemoryError;
use crate::gauge::Metered;
use crate::span::{ceil, floor, host_len};
use std::future::Future;
use std::ops::{Deref, Range};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use ziggurat_device::{Failure, ViewGuard};

/// A mapped read on its way: resolves to a view of the bytes.
///
/// The copy is already submitted. Dropping the future is fine: its staging memory returns by itself.
#[derive(Debug)]
#[must_use = "a read does nothing with its bytes unless awaited"]
pub struct ReadMapped {
    slots: Arc<Slots>,
    failure: Failure,
    state: State,
    /// The wanted bytes within the slot.
    wanted: Range<usize>,
    bytes: u64,
}

#[derive(Debug)]
enum State {
    /// There is nothing to read.
    Empty,
    Flying(Arc<Landing>),
    Finished,
}

/// Bytes read back, in the memory that the device copied them to.
///
/// The staging memory returns for reuse when this is dropped; hold it no longer than needed.
#[must_use = "dropping it gives the bytes back unseen"]
pub struct Mapped {
    /// `None` for no bytes. The view goes before the slot, the guard last.
    parts: Option<(wgpu::BufferView, Metered, ViewGuard)>,
    wanted: Range<usize>,
    slots: Arc<Slots>,
}

impl ReadMapped {
    pub(crate) fn start(
        slots: &Arc<Slots>,
        source: &Buffer,
        range: Range<u64>,
    ) -> Result<Self, MemoryError> {
        let device = slots.pool.device();
        device.status()?;
        let from = floor(range.start);
        let bytes = ceil(range.end) - from;
        let wanted = host_len(range.start - from)?..host_len(range.end - from)?;
        let limit = device.caps().max_buffer_bytes;
        if bytes > limit {
            return Err(MemoryError::TooLarge {
                requested: bytes,
                limit,
            });
        }
        let mut read = Self {
            slots: Arc::clone(slots),
            failure: device.failure(),
            state: State::Empty,
            wanted,
            bytes,
        };
        if range.is_empty() {
            read.wanted = 0..0;
            return Ok(read);
        }
        let (ticket, landing) = Ticket::new(slots, slots.take(bytes)?);
        read.state = State::Flying(landing);
        device.record(|recorder| {
            if let Some(slot) = ticket.buffer() {
                recorder.copy_buffer(source.wgpu(), from, slot, 0, bytes);
            }
            ticket.send(device, recorder, bytes);
        })?;
        device.flush()?;
        Ok(read)
    }

    /// Blocks until the bytes are there.
    ///
    /// # Errors
    ///
    /// As awaiting it: the device is lost or poisoned, or staging memory could not be mapped.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn wait(self) -> Result<Mapped, MemoryError> {
        let device = self.slots.pool.device().clone();
        device.block_on(self)
    }

    fn view(&self, slot: Metered) -> Result<Mapped, MemoryError> {
        let viewed = self
            .slots
            .pool
            .device()
            .view_guard()
            .map_err(MemoryError::from)
            .and_then(|guard| {
                let view = slot.buffer.get_mapped_range(0..self.bytes);
                view.map(|view| (view, guard))
                    .map_err(|_| lost(&self.slots, self.bytes))
            });
        match viewed {
            Ok((view, guard)) => Ok(Mapped {
                parts: Some((view, slot, guard)),
                wanted: self.wanted.clone(),
                slots: Arc::clone(&self.slots),
            }),
            Err(error) => {
                self.slots.put(slot);
                Err(error)
            }
        }
    }
}

impl Future for ReadMapped {
    type Output = Result<Mapped, MemoryError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let landed = match &this.state {
            State::Finished => return Poll::Ready(Err(MemoryError::Finished)),
            State::Empty => None,
            State::Flying(landing) => match landing.poll(context) {
                Poll::Ready(slot) => Some(slot),
                Poll::Pending => {
                    return Pin::new(&mut this.failure)
                        .poll(context)
                        .map(|error| Err(error.into()));
                }
            },
        };
        this.state = State::Finished;
        Poll::Ready(match landed {
            None => Ok(Mapped {
                parts: None,
                wanted: 0..0,
                slots: Arc::clone(&this.slots),
            }),
            Some(Some(slot)) => this.view(slot),
            Some(None) => Err(lost(&this.slots, this.bytes)),
        })
    }
}

impl Drop for ReadMapped {
    fn drop(&mut self) {
        if let State::Flying(landing) = &self.state {
            landing.abandon();
        }
    }
}

impl Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        let bytes = self.parts.as_ref().map(|(view, ..)| &**view);
        bytes
            .and_then(|bytes| bytes.get(self.wanted.clone()))
            .unwrap_or_default()
    }
}

impl AsRef<[u8]> for Mapped {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl std::fmt::Debug for Mapped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mapped")
            .field("bytes", &self.len())
            .finish_non_exhaustive()
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        if let Some((view, slot, guard)) = self.parts.take() {
            drop(view);
            self.slots.put(slot);
            drop(guard);
        }
    }
}
