//! The futures of reads.

use super::Slots;
use super::landing::{Landing, Ticket};
use super::plan::{Piece, plan};
use crate::buffer::Buffer;
use crate::error::MemoryError;
use crate::gauge::Metered;
use crate::transfer::{copy_all, fresh};
use std::collections::VecDeque;
use std::future::Future;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use ziggurat_device::{Failure, Recorder};

/// A read on its way: resolves to the bytes.
///
/// The copy is already submitted. Dropping the future is fine: its staging memory returns by itself.
#[derive(Debug)]
#[must_use = "a read gives its bytes to whoever awaits it"]
pub struct Read {
    inner: ReadMany,
}

/// Several reads on their way in one submission: resolves to the bytes of each, in order.
///
/// Dropping the future is fine: its staging memory returns by itself.
#[derive(Debug)]
#[must_use = "a read gives its bytes to whoever awaits it"]
pub struct ReadMany {
    slots: Arc<Slots>,
    /// Wakes us if the device fails: its callbacks may then never come.
    failure: Failure,
    /// `None` once given away.
    outputs: Option<Vec<Vec<u8>>>,
    /// Pieces whose slots are on their way, in the order they will land.
    flying: VecDeque<(Arc<Landing>, Piece)>,
    /// Pieces that wait for a slot, with their bytes in a buffer of the pool.
    parked: VecDeque<(Buffer, Piece)>,
}

impl ReadMany {
    /// Records and submits the copies. Each range must lie within its buffer, widened to whole words.
    pub(crate) fn start(
        slots: &Arc<Slots>,
        sources: &[&Buffer],
        ranges: &[Range<u64>],
    ) -> Result<Self, MemoryError> {
        let device = slots.pool.device();
        device.status()?;
        let outputs = ranges
            .iter()
            .map(|range| fresh(range.end - range.start))
            .collect::<Result<Vec<_>, _>>()?;
        let mut read = Self {
            slots: Arc::clone(slots),
            failure: device.failure(),
            outputs: Some(outputs),
            flying: VecDeque::new(),
            parked: VecDeque::new(),
        };
        let mut tickets = Vec::new();
        let window = slots.window();
        for (index, piece) in plan(ranges, slots.chunk()).into_iter().enumerate() {
            if index >= window
                && let Ok(buffer) = slots.pool.alloc(piece.bytes)
            {
                read.parked.push_back((buffer, piece));
                continue;
            }
            // Within the window, or no device memory to park in: staging memory it is.
            let (ticket, landing) = Ticket::new(slots, slots.take(piece.bytes)?);
            tickets.push((ticket, piece.clone()));
            read.flying.push_back((landing, piece));
        }
        if tickets.is_empty() {
            return Ok(read);
        }
        device.record(|recorder| {
            for (buffer, piece) in &read.parked {
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
        Ok(read)
    }

    /// Blocks until the bytes are there.
    ///
    /// # Errors
    ///
    /// As awaiting it: the device is lost or poisoned, or staging memory could not be mapped.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn wait(self) -> Result<Vec<Vec<u8>>, MemoryError> {
        ziggurat_device::block_on(self)
    }

    /// Copies what a mapped slot holds to the outputs and gives the slot back.
    fn deliver(&mut self, slot: Metered, piece: &Piece) -> Result<(), MemoryError> {
        let outputs = self.outputs.as_mut().ok_or(MemoryError::Finished)?;
        let view = slot
            .buffer
            .get_mapped_range(0..piece.bytes)
            .map_err(|_| MemoryError::Map {
                bytes: slot.bytes(),
            });
        let copied = view.map(|view| {
            let bytes: &[u8] = &view;
            if let [part] = piece.parts.as_slice() {
                let output = outputs.get_mut(part.range).and_then(|output| {
                    output.get_mut(part.output..part.output + part.wanted.len())
                });
                copy_all(bytes.get(part.wanted.clone()).zip(output).into_iter());
            } else {
                for part in &piece.parts {
                    let output = outputs.get_mut(part.range).and_then(|output| {
                        output.get_mut(part.output..part.output + part.wanted.len())
                    });
                    copy_all(bytes.get(part.wanted.clone()).zip(output).into_iter());
                }
            }
        });
        self.slots.put(slot);
        copied.map_err(|error| self.slots.pool.reason(error))
    }

    /// Sends the next parked piece on its way.
    fn launch(&mut self) -> Result<(), MemoryError> {
        let Some((buffer, piece)) = self.parked.pop_front() else {
            return Ok(());
        };
        let device = self.slots.pool.device();
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

    fn advance(&mut self, context: &mut Context<'_>) -> Poll<Result<(), MemoryError>> {
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
                    let slot = match slot {
                        Some(slot) => slot,
                        None => {
                            let error = MemoryError::Map { bytes: piece.bytes };
                            return Poll::Ready(Err(self.slots.pool.reason(error)));
                        }
                    };
                    if let Err(error) = self.deliver(slot, &piece).and_then(|()| self.launch()) {
                        return Poll::Ready(Err(error));
                    }
                }
            }
        }
        Poll::Ready(Ok(()))
    }

    fn abandon(&mut self) {
        self.parked.clear();
        for (landing, _) in self.flying.drain(..) {
            landing.abandon();
        }
    }
}

/// Records the copies of one piece.
fn copy(recorder: &mut Recorder<'_>, sources: &[&Buffer], to: &wgpu::Buffer, piece: &Piece) {
    for part in &piece.parts {
        if let Some(source) = sources.get(part.range) {
            recorder.copy_buffer(source.wgpu(), part.source, to, part.at, part.bytes);
        }
    }
}

impl Future for ReadMany {
    type Output = Result<Vec<Vec<u8>>, MemoryError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.advance(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Ok(())) => Poll::Ready(self.outputs.take().ok_or(MemoryError::Finished)),
            Poll::Ready(Err(error)) => {
                self.outputs = None;
                self.abandon();
                Poll::Ready(Err(error))
            }
        }
    }
}

impl Drop for ReadMany {
    fn drop(&mut self) {
        self.abandon();
    }
}

impl Read {
    pub(crate) fn start(
        slots: &Arc<Slots>,
        source: &Buffer,
        range: Range<u64>,
    ) -> Result<Self, MemoryError> {
        let inner = ReadMany::start(slots, &[source], &[range])?;
        Ok(Self { inner })
    }

    /// Blocks until the bytes are there.
    ///
    /// # Errors
    ///
    /// As awaiting it: the device is lost or poisoned, or staging memory could not be mapped.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn wait(self) -> Result<Vec<u8>, MemoryError> {
        ziggurat_device::block_on(self)
    }
}

impl Future for Read {
    type Output = Result<Vec<u8>, MemoryError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.inner)
            .poll(context)
            .map(|outputs| outputs?.pop().ok_or(MemoryError::Finished))
    }
}
