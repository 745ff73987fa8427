//! A device without a GPU and data that shows where each byte came from.

#![allow(clippy::unwrap_used, reason = "tests")]

use ziggurat_device::{Device, DeviceOptions};
use ziggurat_memory::{Memory, MemoryOptions};

pub(crate) fn device() -> Device {
    Device::noop(DeviceOptions::default(), None).unwrap()
}

pub(crate) fn memory(options: MemoryOptions) -> Memory {
    Memory::new(&device(), options)
}

/// Staging so small that ordinary sizes need many pieces.
pub(crate) fn small_staging() -> MemoryOptions {
    MemoryOptions {
        staging_chunk: 4096,
        staging_limit: 16384,
        ..MemoryOptions::default()
    }
}

/// Bytes that differ between seeds and positions.
pub(crate) fn pattern(seed: usize, len: usize) -> Vec<u8> {
    (0..len)
        .map(|i| (i.wrapping_mul(167) ^ (i >> 8).wrapping_mul(59) ^ seed.wrapping_mul(31)) as u8)
        .collect()
}
