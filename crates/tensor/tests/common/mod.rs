//! The device that tests share, and the rule for machines without one.

use std::sync::OnceLock;

use ziggurat_tensor::{Device, DeviceOptions};

/// A device, or `None` after a line that says so; with `ZIGGURAT_REQUIRE_GPU=1` a missing one is a failure.
pub(crate) fn device() -> Option<Device> {
    static DEVICE: OnceLock<Option<Device>> = OnceLock::new();
    let device = DEVICE.get_or_init(|| match Device::open_blocking(DeviceOptions::default()) {
        Ok(device) => Some(device),
        Err(error)
            if error.is_no_adapter()
                && std::env::var_os("ZIGGURAT_REQUIRE_GPU").is_none_or(|value| value != "1") =>
        {
            eprintln!("skipped (no adapter): {error}");
            None
        }
        Err(error) => panic!("{error}"),
    });
    device.clone()
}
