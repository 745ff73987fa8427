//! What a piece of a program costs its device.

use ziggurat_tensor::{Device, DeviceOptions};

/// A device of its own, so that counts are of one test.
pub(crate) fn own_device() -> Device {
    Device::open_blocking(DeviceOptions::default()).unwrap()
}

/// Dispatches and allocations of `f`.
pub(crate) fn counted<R>(device: &Device, f: impl FnOnce() -> R) -> (R, u64, u64) {
    let count = || {
        let dispatches = device.executor().device().queue_stats().dispatches;
        (dispatches, device.usage().allocations)
    };
    let before = count();
    let result = f();
    let after = count();
    (result, after.0 - before.0, after.1 - before.1)
}
