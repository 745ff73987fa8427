//! Futures that are an error, and no panic, when somebody polls them again after their result.

use std::future::Future;

use ziggurat_device::DeviceError;

use crate::Error;

/// The future of an `async` block, which may be polled again.
pub(crate) fn once<T, F>(future: F) -> impl Future<Output = Result<T, Error>> + Unpin + use<T, F>
where
    F: Future<Output = Result<T, Error>>,
{
    ziggurat_device::once(future, || {
        Error::from_device("await", DeviceError::Finished)
    })
}
