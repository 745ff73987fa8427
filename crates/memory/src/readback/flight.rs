//! Pieces of a read on their way to the host.
//!
//! Whoever reads says where the bytes of a landed part go; the rest (recording, parking what exceeds the window,
//! sending it after, giving slots back, and the end of it all when the device fails) is the same for all reads.

use super::Slots;
use super::landing::{Landing, Ticket};
use super::plan::{Part, Piece, plan};
use crate::buffer::Buffer;
use crate::error::MemoryError;
use crate::gauge::Metered;
use std::collections::VecDeque;
use std::future::Future as _;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use ziggurat_device::{Device, Failure, Recorder};

/// Where the bytes of a part go; false if there is no such place.
pub(super) type Deliver<'a> = &'a mut dyn FnMut(&Part, &[u8]) -> bool;

/// Recorded copies and their slots.
#[derive(Debug)]
pub(super) struct Flight {
    slots: Arc<Slots>,
    /// Wakes us if the device fails: its callbacks may then never come.
    failure: Failure,
    /// Pieces whose slots are on their way, in the order they will land.
    flying: VecDeque<(Arc<Landing>, Piece)>,
    /// Pieces that wait for a slot, with their bytes in a buffer of the pool.
    parked: VecDeque<(Buffer, Piece)>,
}

impl Flight {
    /// Records and submits the copies. Each range must lie within its buffer, widened to whole words.
    pub(super) fn start(
        slots: &Arc<Slots>,
        sources: &[&Buffer],
        ranges: &[Range<u64>],
    ) -> Result<Self, MemoryError> {
        let device = slots.pool.device();
        device.status()?;
        let mut flight = Self {
            slots: Arc::clone(slots),
            failure: device.failure(),
            flying: VecDeque::new(),
            parked: VecDeque::new(),
        };
        let mut tickets = Vec::new();
        let window = slots.window();
        for (index, piece) in plan(ranges, slots.chunk()).into_iter().enumerate() {
            if index >= window
                && let Ok(buffer) = slots.pool.alloc(piece.bytes)
            {
                flight.parked.push_back((buffer, piece));
                continue;
            }
            // Within the window, or no device memory to park in: staging memory it is.
            let (ticket, landing) = Ticket::new(slots, slots.take(piece.bytes)?);
            tickets.push((ticket, piece.clone()));
            flight.flying.push_back((landing, piece));
        }
        if tickets.is_empty() {
            return Ok(flight);
        }
        device.record(|recorder| {
            for (buffer, piece) in &flight.parked {
                copy(recorder, sources, buffer.wgpu(), piece);
            }
            for (ticket, piece) in &tickets {
                if let Some(slot) = ticket.buffer() {
                    copy(recorder, sources, slot, piece);
                }
            }
            for (ticket, piece) in tickets {
                ticket.send(device, recorder, piece.bytes);
            }
        })?;
        device.flush()?;
        Ok(flight)
    }

    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn device(&self) -> &Device {
        self.slots.pool.device()
    }

    /// Hands over what a mapped slot holds and gives the slot back.
    fn deliver(
        &self,
        slot: Metered,
        piece: &Piece,
        deliver: Deliver<'_>,
    ) -> Result<(), MemoryError> {
        let view = slot.buffer.get_mapped_range(0..piece.bytes).ok();
        let delivered = view.and_then(|view| {
            // Somebody may destroy the device just now.
            self.slots.pool.device().while_mapped(&slot.buffer, || {
                let bytes: &[u8] = &view;
                piece.parts.iter().all(|part| {
                    let wanted = bytes.get(part.wanted.clone());
                    wanted.is_some_and(|wanted| deliver(part, wanted))
                })
            })
        });
        let bytes = slot.bytes();
        self.slots.put(slot);
        match delivered {
            Some(true) => Ok(()),
            Some(false) => Err(MemoryError::Internal {
                what: "every part of a read lies in its piece and in its output",
            }),
            None => Err(lost(&self.slots, bytes)),
        }
    }

    /// Sends the next parked piece on its way.
    fn launch(&mut self) -> Result<(), MemoryError> {
        let Some((buffer, piece)) = self.parked.pop_front() else {
            return Ok(());
        };
        let device: &Device = self.slots.pool.device();
        let (ticket, landing) = Ticket::new(&self.slots, self.slots.take(piece.bytes)?);
        device.record(|recorder| {
            if let Some(slot) = ticket.buffer() {
                recorder.copy_buffer(buffer.wgpu(), 0, slot, 0, piece.bytes);
            }
            ticket.send(device, recorder, piece.bytes);
        })?;
        device.flush()?;
        self.flying.push_back((landing, piece));
        Ok(())
    }

    /// Takes what has landed, until everything has or the device fails.
    pub(super) fn advance(
        &mut self,
        context: &mut Context<'_>,
        deliver: Deliver<'_>,
    ) -> Poll<Result<(), MemoryError>> {
        while let Some((landing, _)) = self.flying.front() {
            match landing.poll(context) {
                Poll::Pending => {
                    return Pin::new(&mut self.failure)
                        .poll(context)
                        .map(|error| Err(error.into()));
                }
                Poll::Ready(slot) => {
                    let Some((_, piece)) = self.flying.pop_front() else {
                        break;
                    };
                    let Some(slot) = slot else {
                        return Poll::Ready(Err(lost(&self.slots, piece.bytes)));
                    };
                    if let Err(error) = self
                        .deliver(slot, &piece, &mut *deliver)
                        .and_then(|()| self.launch())
                    {
                        return Poll::Ready(Err(error));
                    }
                }
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Gives up what is still on its way.
    pub(super) fn abandon(&mut self) {
        self.parked.clear();
        for (landing, _) in self.flying.drain(..) {
            landing.abandon();
        }
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.abandon();
    }
}

/// Why a slot was lost: the device says, or nobody knows.
pub(super) fn lost(slots: &Slots, bytes: u64) -> MemoryError {
    slots.pool.reason(MemoryError::Map { bytes })
}

/// Records the copies of one piece.
fn copy(recorder: &mut Recorder<'_>, sources: &[&Buffer], to: &wgpu::Buffer, piece: &Piece) {
    for part in &piece.parts {
        if let Some(source) = sources.get(part.range) {
            recorder.copy_buffer(source.wgpu(), part.source, to, part.at, part.bytes);
        }
    }
}
