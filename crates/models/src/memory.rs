//! Whether a device has room for a model, asked before anything is uploaded.

use ziggurat_tensor::Device;

use crate::Error;

/// Bytes that this program could still have of a device, if anybody knows: what its driver says, and what is left of
/// [`ziggurat_tensor::DeviceOptions::memory_limit`].
fn available(device: &Device) -> Option<u64> {
    let usage = device.usage();
    // What lies idle in the pool is given back when it is needed.
    let of_driver = device.memory_bytes().available;
    let of_driver = of_driver.map(|bytes| bytes.saturating_add(usage.cached));
    let limit = device.executor().memory().options().limit;
    let of_limit = limit.map(|limit| limit.saturating_sub(usage.live));
    of_driver.into_iter().chain(of_limit).min()
}

/// An error if a device is known to have less than so many bytes.
pub(crate) fn check(device: &Device, requested: u64) -> Result<(), Error> {
    match available(device) {
        Some(available) if available < requested => Err(Error::OutOfMemory {
            requested,
            available,
        }),
        _ => Ok(()),
    }
}
