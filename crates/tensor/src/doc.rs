//! A device for the examples in this crate's documentation.
//!
//! Examples are compiled and, where an adapter is present, run. They all share one device.

use std::sync::OnceLock;

use crate::{Device, DeviceOptions};

/// The shared device, or `None` (with a line on stderr) where the machine has no adapter.
pub fn device() -> Option<Device> {
    static DEVICE: OnceLock<Option<Device>> = OnceLock::new();
    DEVICE
        .get_or_init(|| match Device::open_blocking(DeviceOptions::default()) {
            Ok(device) => Some(device),
            Err(error) => {
                eprintln!("skipped: {error}");
                None
            }
        })
        .clone()
}
