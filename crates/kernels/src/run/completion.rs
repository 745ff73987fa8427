//! [`Completion`], [`Download`] and [`Counted`]: the futures that ops and reads return.
//!
//! Work is recorded when the op is called, not when its future is polled: a future may be dropped, joined
//! with others (`futures::future::try_join_all`) or awaited on any runtime, and the device layer wakes it. A read that is
//! polled again after its result is an error, [`MemoryError::Finished`].

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use ziggurat_memory::{MemoryError, ReadMany};

use crate::run::error::KernelError;

/// Resolves when the work recorded up to an op's call has finished on the device.
#[derive(Debug)]
#[must_use = "dropping it is fine (the work is recorded already), but errors of the device are then seen later"]
pub struct Completion(ziggurat_device::Completion);

impl Completion {
    pub(crate) fn new(inner: ziggurat_device::Completion) -> Self {
        Self(inner)
    }

    /// Blocks until the work has finished.
    ///
    /// # Errors
    /// The device's error if it was lost or poisoned.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn wait(self) -> Result<(), KernelError> {
        Ok(self.0.wait()?)
    }
}

impl Future for Completion {
    type Output = Result<(), KernelError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0)
            .poll(context)
            .map_err(KernelError::from)
    }
}

/// Resolves to the bytes of one view, row-major and dense.
#[must_use = "a read does nothing for you unless awaited"]
#[derive(Debug)]
pub struct Download(DownloadMany);

impl Download {
    pub(crate) fn new(inner: DownloadMany) -> Self {
        Self(inner)
    }

    /// Blocks until the bytes are there.
    ///
    /// # Errors
    /// The device's or the memory layer's error.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn wait(self) -> Result<Vec<u8>, KernelError> {
        Ok(self.0.wait()?.pop().unwrap_or_default())
    }
}

impl Future for Download {
    type Output = Result<Vec<u8>, KernelError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0)
            .poll(context)
            .map_ok(|mut all| all.pop().unwrap_or_default())
    }
}

/// Resolves to the bytes of several views, in the order they were given, after one submission.
#[must_use = "a read does nothing for you unless awaited"]
#[derive(Debug)]
pub struct DownloadMany(ReadMany);

impl DownloadMany {
    pub(crate) fn new(inner: ReadMany) -> Self {
        Self(inner)
    }

    /// Blocks until the bytes are there.
    ///
    /// # Errors
    /// The device's or the memory layer's error.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn wait(self) -> Result<Vec<Vec<u8>>, KernelError> {
        Ok(self.0.wait()?)
    }
}

impl Future for DownloadMany {
    type Output = Result<Vec<Vec<u8>>, KernelError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0)
            .poll(context)
            .map_err(KernelError::from)
    }
}

/// What is recorded once the numbers are known.
type Then<T> = Box<dyn FnOnce(&[i32]) -> Result<T, KernelError> + Send>;

/// Resolves to a result whose size only the device knows: a few numbers are read, once, and the rest is recorded then.
///
/// Operands that the rest reads must not be overwritten before.
#[must_use = "nothing is computed of the result unless awaited"]
pub struct Counted<T> {
    read: Option<DownloadMany>,
    then: Option<Then<T>>,
}

impl<T> Counted<T> {
    /// What follows from the i32 numbers of these reads.
    pub(crate) fn new(
        read: DownloadMany,
        then: impl FnOnce(&[i32]) -> Result<T, KernelError> + Send + 'static,
    ) -> Self {
        Self {
            read: Some(read),
            then: Some(Box::new(then)),
        }
    }

    /// What needs no number.
    pub(crate) fn known(result: T) -> Self
    where
        T: Send + 'static,
    {
        Self {
            read: None,
            then: Some(Box::new(|_| Ok(result))),
        }
    }

    /// Blocks until the result is recorded.
    ///
    /// # Errors
    /// As the future.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn wait(mut self) -> Result<T, KernelError> {
        let bytes = match self.read.take() {
            Some(read) => read.wait()?,
            None => Vec::new(),
        };
        self.resolved(&bytes)
    }

    /// What follows from the bytes that were read.
    fn resolved(&mut self, bytes: &[Vec<u8>]) -> Result<T, KernelError> {
        let numbers: Vec<i32> = bytes
            .iter()
            .flat_map(|bytes| bytes.as_chunks::<4>().0)
            .map(|word| i32::from_le_bytes(*word))
            .collect();
        match self.then.take() {
            Some(then) => then(&numbers),
            None => Err(KernelError::Memory(MemoryError::Finished)),
        }
    }
}

impl<T> std::fmt::Debug for Counted<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Counted")
            .field("read", &self.read)
            .finish_non_exhaustive()
    }
}

impl<T> Future for Counted<T> {
    type Output = Result<T, KernelError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let bytes = match &mut self.read {
            Some(read) => std::task::ready!(Pin::new(read).poll(context))?,
            None => Vec::new(),
        };
        self.read = None;
        Poll::Ready(self.resolved(&bytes))
    }
}
