//! How much memory an adapter has, where its backend says so.

use crate::Device;

/// Bytes of an adapter's memory, whoever uses it: not only this program.
///
/// WebGPU has no question for it, so that most backends say nothing. Vulkan does: the figures are those of its largest heap
/// of the adapter's own memory, and what is available is known where the driver has `VK_EXT_memory_budget`. The software
/// device tells those of the machine (on Linux), or of its profile's budget if that is less.
///
/// ```
/// use ziggurat_device::{Device, DeviceOptions};
///
/// let device = Device::open_blocking(DeviceOptions::default())?;
/// match device.memory_bytes().available {
///     Some(bytes) => println!("{} MiB are free", bytes >> 20),
///     None => println!("the driver does not say what is free"),
/// }
/// # Ok::<(), ziggurat_device::DeviceError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct MemoryBytes {
    /// All there is, used or not.
    pub total: Option<u64>,
    /// What this program could still have at the moment of the question: an estimate, which other programs change.
    pub available: Option<u64>,
}

impl Device {
    /// Memory of the adapter, asked anew by each call; [`MemoryBytes`] says where that is known. To limit what this
    /// device takes, use [`DeviceOptions::memory_limit`](crate::DeviceOptions::memory_limit).
    #[must_use]
    pub fn memory_bytes(&self) -> MemoryBytes {
        match crate::software::memory_bytes(self.wgpu()) {
            Some([total, available]) => MemoryBytes { total, available },
            None => of_driver(self.wgpu()),
        }
    }
}

/// A heap of a driver's: its size, and what the driver would let the program have of it and what it has.
#[cfg_attr(
    not(any(
        windows,
        target_os = "linux",
        target_os = "android",
        target_os = "freebsd"
    )),
    allow(dead_code, reason = "only Vulkan tells of heaps")
)]
#[derive(Clone, Copy, Debug)]
struct Heap {
    size: u64,
    /// Whether the memory is the adapter's own.
    local: bool,
    budget: Option<[u64; 2]>,
}

/// The figures of the largest of the adapter's own heaps: further ones are windows into it on many a card.
#[cfg_attr(
    not(any(
        windows,
        target_os = "linux",
        target_os = "android",
        target_os = "freebsd"
    )),
    allow(dead_code, reason = "only Vulkan tells of heaps")
)]
fn of_heaps(heaps: impl Iterator<Item = Heap>) -> MemoryBytes {
    let Some(heap) = heaps.filter(|heap| heap.local).max_by_key(|heap| heap.size) else {
        return MemoryBytes::default();
    };
    let free = |[budget, used]: [u64; 2]| budget.saturating_sub(used).min(heap.size);
    MemoryBytes {
        total: Some(heap.size),
        available: heap.budget.map(free),
    }
}

#[cfg(any(
    windows,
    target_os = "linux",
    target_os = "android",
    target_os = "freebsd"
))]
fn of_driver(device: &wgpu::Device) -> MemoryBytes {
    use ash::vk;

    #[expect(
        unsafe_code,
        reason = "wgpu hands out a driver's handles by unsafe functions only"
    )]
    // SAFETY: the guard is read and dropped here; neither it nor what it gives is destroyed by hand or outlives the borrow of
    // `device`.
    let Some(hal) = (unsafe { device.as_hal::<wgpu::hal::api::Vulkan>() }) else {
        return MemoryBytes::default();
    };
    let (instance, physical) = (hal.shared_instance(), hal.raw_physical_device());
    let tells = hal
        .enabled_device_extensions()
        .contains(&ash::ext::memory_budget::NAME)
        && instance.instance_api_version() >= vk::API_VERSION_1_1;
    let mut budget = vk::PhysicalDeviceMemoryBudgetPropertiesEXT::default();
    let heaps = if tells {
        let mut all = vk::PhysicalDeviceMemoryProperties2::default().push_next(&mut budget);
        #[expect(unsafe_code, reason = "a call of Vulkan's")]
        // SAFETY: the instance is of version 1.1 or later, so that the function is there; the physical device is the
        // instance's and lives as long; the structure behind `p_next` belongs to an extension that the device has.
        unsafe {
            instance
                .raw_instance()
                .get_physical_device_memory_properties2(physical, &mut all);
        }
        all.memory_properties
    } else {
        #[expect(unsafe_code, reason = "a call of Vulkan's")]
        // SAFETY: the physical device is the instance's and lives as long.
        unsafe {
            instance
                .raw_instance()
                .get_physical_device_memory_properties(physical)
        }
    };
    let budgets = budget.heap_budget.iter().zip(&budget.heap_usage);
    let heaps = heaps.memory_heaps_as_slice().iter().zip(budgets);
    of_heaps(heaps.map(|(heap, (&budget, &used))| Heap {
        size: heap.size,
        local: heap.flags.contains(vk::MemoryHeapFlags::DEVICE_LOCAL),
        budget: tells.then_some([budget, used]),
    }))
}

#[cfg(not(any(
    windows,
    target_os = "linux",
    target_os = "android",
    target_os = "freebsd"
)))]
fn of_driver(_: &wgpu::Device) -> MemoryBytes {
    MemoryBytes::default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CARD: Heap = Heap {
        size: 1000,
        local: true,
        budget: Some([900, 200]),
    };
    const HOST: Heap = Heap {
        size: 5000,
        local: false,
        budget: Some([5000, 0]),
    };
    const WINDOW: Heap = Heap { size: 16, ..CARD };

    #[test]
    fn the_largest_heap_of_the_adapters_own_counts() {
        let card = MemoryBytes {
            total: Some(1000),
            available: Some(700),
        };
        assert_eq!(of_heaps([HOST, WINDOW, CARD].into_iter()), card);
        assert_eq!(of_heaps([HOST].into_iter()), MemoryBytes::default());
    }

    #[test]
    fn what_is_not_told_is_none_and_never_more_than_there_is() {
        let silent = Heap {
            budget: None,
            ..CARD
        };
        let total = Some(1000);
        let available = None;
        assert_eq!(
            of_heaps([silent].into_iter()),
            MemoryBytes { total, available }
        );
        for (budget, free) in [([100, 300], 0), ([u64::MAX, 0], 1000)] {
            let heap = Heap {
                budget: Some(budget),
                ..CARD
            };
            assert_eq!(of_heaps([heap].into_iter()).available, Some(free));
        }
    }
}
