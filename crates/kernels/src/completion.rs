//! [`Completion`] and [`Download`]: the futures that ops and reads return.
//!
//! Work is recorded when the op is called, not when its future is polled: a future may be dropped, joined
//! with others (`futures::future::try_join_all`) or awaited on any runtime, and the device layer wakes it.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use ziggurat_memory::ReadMany;

use crate::error::KernelError;

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
