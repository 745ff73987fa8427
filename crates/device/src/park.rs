//! Driver devices that outlive their users, to be opened again; native only.
//!
//! NVIDIA's Vulkan driver (580.159.04) can deadlock the process in `vkDestroyDevice`: that call holds a lock of the
//! driver while it joins one of the driver's own threads; a thread of the program that has used the driver and exits
//! at that moment runs the driver's thread-local destructor, which takes a spin lock and then waits for the first one;
//! and the joined thread, exiting too, spins for the second. No order of calls on our side can exclude that, because
//! any thread of the program may exit at any time. So on that driver the last handle of a [`Device`](crate::Device)
//! does not destroy the driver's device: it is parked here, and opened again by the next request for an equal one,
//! which also saves the 70 ms that making one takes. One that failed cannot be used again and stays until the process
//! ends.
//!
//! Invariants: a parked device has no user and none of its handlers point to the last one; two users never get the
//! same; a device that belongs to the host application is never kept.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use crate::{AdapterSummary, DeviceOptions, Reuse};

/// What two requests must have in common to be served by one device.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Key {
    adapter: AdapterSummary,
    features: wgpu::Features,
    limits: wgpu::Limits,
    validation: bool,
    labels: bool,
}

struct Parked {
    key: Key,
    device: wgpu::Device,
    queue: wgpu::Queue,
    /// Set by the driver's callbacks.
    failed: Arc<AtomicBool>,
}

static PARKED: Mutex<Vec<Parked>> = Mutex::new(Vec::new());

/// Devices that failed, where destroying one is not safe.
static RETIRED: Mutex<Vec<(wgpu::Device, wgpu::Queue)>> = Mutex::new(Vec::new());

/// The key under which a device is to be kept after use; `None` if it is to be destroyed.
pub(crate) fn key(
    adapter: &AdapterSummary,
    features: wgpu::Features,
    limits: &wgpu::Limits,
    options: &DeviceOptions,
) -> Option<Key> {
    let keep = match options.reuse {
        Reuse::Always => true,
        Reuse::Never => false,
        // Destroying one may deadlock.
        Reuse::Auto => is_nvidia_vulkan(adapter),
    };
    keep.then(|| Key {
        adapter: adapter.clone(),
        features,
        limits: limits.clone(),
        validation: options.validation,
        labels: options.labels,
    })
}

/// Whether this is NVIDIA's own Vulkan driver, not Mesa's for the same cards.
pub(crate) fn is_nvidia_vulkan(adapter: &AdapterSummary) -> bool {
    adapter.backend == wgpu::Backend::Vulkan && adapter.driver.starts_with("NVIDIA")
}

/// A parked device that fits, taken out.
pub(crate) fn take(key: &Key) -> Option<(wgpu::Device, wgpu::Queue)> {
    let mut parked = PARKED.lock();
    let mut dead = Vec::new();
    while let Some(at) = parked.iter().position(|parked| parked.key == *key) {
        let found = parked.swap_remove(at);
        // Nobody has polled it since: only now wgpu says that it is lost.
        let polled = catch_unwind(AssertUnwindSafe(|| found.device.poll(wgpu::PollType::Poll)));
        if matches!(polled, Ok(Ok(_))) && !found.failed.load(Ordering::Acquire) {
            return Some((found.device, found.queue));
        }
        dead.push((found.device, found.queue));
    }
    drop(parked);
    RETIRED.lock().append(&mut dead);
    None
}

/// Keeps a device that nobody uses any more.
pub(crate) fn park(key: Key, device: wgpu::Device, queue: wgpu::Queue, healthy: bool) {
    if !healthy {
        RETIRED.lock().push((device, queue));
        return;
    }
    let failed = Arc::new(AtomicBool::new(false));
    let (on_error, on_loss) = (failed.clone(), failed.clone());
    device.on_uncaptured_error(Arc::new(move |_| on_error.store(true, Ordering::Release)));
    device.set_device_lost_callback(move |_, _| on_loss.store(true, Ordering::Release));
    PARKED.lock().push(Parked {
        key,
        device,
        queue,
        failed,
    });
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::AdapterKind;

    fn adapter(driver: &str, backend: wgpu::Backend) -> AdapterSummary {
        AdapterSummary {
            index: 0,
            name: "card".to_owned(),
            backend,
            kind: AdapterKind::Discrete,
            driver: driver.to_owned(),
            vendor: 0x10de,
            device: 1,
            compute: true,
        }
    }

    fn is_kept(driver: &str, backend: wgpu::Backend, reuse: Reuse) -> bool {
        let options = DeviceOptions {
            reuse,
            ..DeviceOptions::default()
        };
        let (features, limits) = (wgpu::Features::empty(), wgpu::Limits::default());
        key(&adapter(driver, backend), features, &limits, &options).is_some()
    }

    #[test]
    fn only_the_driver_with_the_defect_keeps_devices_unless_the_options_say_so() {
        use wgpu::Backend::{Dx12, Vulkan};
        assert!(is_kept("NVIDIA 580.159.04", Vulkan, Reuse::Auto));
        assert!(!is_kept("NVIDIA 580.159.04", Dx12, Reuse::Auto));
        assert!(!is_kept("NVK Mesa 25.0.0", Vulkan, Reuse::Auto));
        assert!(!is_kept("llvmpipe Mesa 22.3.6", Vulkan, Reuse::Auto));
        assert!(is_kept("llvmpipe Mesa 22.3.6", Vulkan, Reuse::Always));
        assert!(!is_kept("NVIDIA 580.159.04", Vulkan, Reuse::Never));
    }
}
