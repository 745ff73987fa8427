//! The device that tests share, and the rule for machines without one.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use ziggurat_kernels::Executor;
use ziggurat_memory::{Memory, MemoryOptions};
use ziggurat_pipeline::Pipelines;
use ziggurat_tensor::{Device, DeviceOptions};

/// A device, or `None` after a line that counts the skip; with `ZIGGURAT_REQUIRE_GPU=1` a missing one is a failure.
pub(crate) fn device() -> Option<Device> {
    static DEVICE: OnceLock<Option<Device>> = OnceLock::new();
    static SKIPPED: AtomicUsize = AtomicUsize::new(0);
    let required = || std::env::var_os("ZIGGURAT_REQUIRE_GPU").is_some_and(|value| value == "1");
    let device = DEVICE.get_or_init(|| match Device::open_blocking(DeviceOptions::default()) {
        Ok(device) => Some(poisoned(&device)),
        Err(error) if error.is_no_adapter() && !required() => {
            eprintln!("{error}");
            None
        }
        Err(error) => panic!("{error}"),
    });
    if device.is_none() {
        let count = SKIPPED.fetch_add(1, Ordering::Relaxed) + 1;
        eprintln!("SKIPPED: no adapter ({count} tests skipped so far in this binary)");
    }
    device.clone()
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
