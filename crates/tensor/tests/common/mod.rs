//! The device that tests share.

use std::sync::OnceLock;

use ziggurat_kernels::Executor;
use ziggurat_memory::{Memory, MemoryOptions};
use ziggurat_pipeline::Pipelines;
use ziggurat_tensor::{Device, DeviceOptions};

/// The device that all tests of a program share.
pub(crate) fn device() -> Device {
    static DEVICE: OnceLock<Device> = OnceLock::new();
    let open = || match Device::open_blocking(DeviceOptions::default()) {
        Ok(device) => poisoned(&device),
        Err(error) => panic!("tests need a device, and the software device is one: {error}"),
    };
    DEVICE.get_or_init(open).clone()
}

/// The same device with memory that is filled with NaN whenever it is handed out, so that nothing unwritten passes for 0.
fn poisoned(device: &Device) -> Device {
    let options = MemoryOptions {
        poison: true,
        ..MemoryOptions::default()
    };
    let memory = Memory::new(device.executor().device(), options);
    Device::from_executor(&Executor::new(&Pipelines::new(&memory)))
}
