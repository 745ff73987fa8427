//! The futures of reads into vectors and into slices.

use super::Slots;
use super::flight::Flight;
use super::plan::Part;
use crate::buffer::Buffer;
use crate::error::MemoryError;
use crate::transfer::{copy_all, zeroed};
use std::future::Future;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// A read on its way: resolves to the bytes.
///
/// The copy is already submitted. Dropping the future is fine: its staging memory returns by itself.
#[derive(Debug)]
#[must_use = "a read does nothing with its bytes unless awaited"]
pub struct Read {
    inner: ReadMany,
}

/// Several reads on their way in one submission: resolves to the bytes of each, in order.
///
/// Dropping the future is fine: its staging memory returns by itself.
#[derive(Debug)]
#[must_use = "a read does nothing with its bytes unless awaited"]
pub struct ReadMany {
    flight: Flight,
    /// `None` once given away.
    outputs: Option<Vec<Vec<u8>>>,
}

/// A read into a slice on its way: resolves when the slice is filled.
///
/// After an error, or when it is dropped early, the slice holds any mixture of old and new bytes.
#[derive(Debug)]
#[must_use = "the slice is filled by whoever awaits this"]
pub struct ReadInto<'a> {
    flight: Flight,
    /// `None` once filled.
    output: Option<&'a mut [u8]>,
}

/// Copies a part to its place; false if there is none.
fn fill(output: Option<&mut [u8]>, part: &Part, bytes: &[u8]) -> bool {
    let place = part.output..part.output + part.wanted.len();
    let Some(output) = output.and_then(|output| output.get_mut(place)) else {
        return false;
    };
    copy_all(std::iter::once((bytes, output)));
    true
}

impl ReadMany {
    /// Records and submits the copies. Each range must lie within its buffer, widened to whole words.
    pub(crate) fn start(
        slots: &Arc<Slots>,
        sources: &[&Buffer],
        ranges: &[Range<u64>],
    ) -> Result<Self, MemoryError> {
        let outputs = ranges
            .iter()
            .map(|range| zeroed(range.end - range.start))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            flight: Flight::start(slots, sources, ranges)?,
            outputs: Some(outputs),
        })
    }

    /// Blocks until the bytes are there.
    ///
    /// # Errors
    ///
    /// As awaiting it: the device is lost or poisoned, or staging memory could not be mapped.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn wait(self) -> Result<Vec<Vec<u8>>, MemoryError> {
        let device = self.flight.device().clone();
        device.block_on(self)
    }
}

impl Future for ReadMany {
    type Output = Result<Vec<Vec<u8>>, MemoryError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let Some(outputs) = &mut this.outputs else {
            return Poll::Ready(Err(MemoryError::Finished));
        };
        let mut deliver = |part: &Part, bytes: &[u8]| {
            let output = outputs.get_mut(part.range);
            fill(output.map(Vec::as_mut_slice), part, bytes)
        };
        match this.flight.advance(context, &mut deliver) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Ok(())) => Poll::Ready(this.outputs.take().ok_or(MemoryError::Finished)),
            Poll::Ready(Err(error)) => {
                this.outputs = None;
                this.flight.abandon();
                Poll::Ready(Err(error))
            }
        }
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
        let device = self.inner.flight.device().clone();
        device.block_on(self)
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

impl<'a> ReadInto<'a> {
    /// Records and submits the copies; `output` is as long as the range.
    pub(crate) fn start(
        slots: &Arc<Slots>,
        source: &Buffer,
        range: Range<u64>,
        output: &'a mut [u8],
    ) -> Result<Self, MemoryError> {
        Ok(Self {
            flight: Flight::start(slots, &[source], &[range])?,
            output: Some(output),
        })
    }

    /// Blocks until the slice is filled.
    ///
    /// # Errors
    ///
    /// As awaiting it: the device is lost or poisoned, or staging memory could not be mapped.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn wait(self) -> Result<(), MemoryError> {
        let device = self.flight.device().clone();
        device.block_on(self)
    }
}

impl Future for ReadInto<'_> {
    type Output = Result<(), MemoryError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let Some(output) = &mut this.output else {
            return Poll::Ready(Err(MemoryError::Finished));
        };
        let mut deliver = |part: &Part, bytes: &[u8]| fill(Some(&mut **output), part, bytes);
        match this.flight.advance(context, &mut deliver) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(result) => {
                this.output = None;
                this.flight.abandon();
                Poll::Ready(result)
            }
        }
    }
}
