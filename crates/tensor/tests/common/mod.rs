//! The device that tests share.

use std::sync::{Mutex, PoisonError};

use ziggurat_kernels::Executor;
use ziggurat_memory::{Memory, MemoryOptions};
use ziggurat_pipeline::Pipelines;
use ziggurat_tensor::{Device, DeviceOptions};

/// Kernels of the shared device: drivers keep some megabytes for each, and all tests of a program compile thousands.
const AT_ONCE: u64 = 400;

/// The device that tests share until it has compiled many kernels; whoever asks then gets a new one.
pub(crate) fn device() -> Device {
    static DEVICE: Mutex<Option<Device>> = Mutex::new(None);
    let mut now = DEVICE.lock().unwrap_or_else(PoisonError::into_inner);
    match &*now {
        Some(device) if device.executor().pipelines().stats().misses < AT_ONCE => device.clone(),
        _ => now.insert(open()).clone(),
    }
}

fn open() -> Device {
    match Device::open_blocking(DeviceOptions::default()) {
        Ok(device) => poisoned(&device),
        Err(error) => panic!("tests need a device, and the software device is one: {error}"),
    }
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
