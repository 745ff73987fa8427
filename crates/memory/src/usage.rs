//! What the pool holds, in numbers.

/// Usage statistics of a [`Memory`](crate::Memory), all in bytes or counts.
///
/// `live`, `cached` and `reserved` count capacities (what the driver gave), not the bytes asked for.
/// Buffers wrapped from outside are in none of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Usage {
    /// Capacity of the buffers somebody holds.
    pub live: u64,
    /// Bytes that were asked for, over the same buffers.
    pub live_requested: u64,
    /// How many buffers somebody holds.
    pub live_buffers: u64,
    /// Capacity of idle buffers kept for reuse.
    pub cached: u64,
    /// How many idle buffers are kept.
    pub cached_buffers: u64,
    /// `live + cached`: what the pool holds from the driver.
    pub reserved: u64,
    /// The highest `live` so far, or since [`Memory::reset_peaks`](crate::Memory::reset_peaks).
    pub peak: u64,
    /// The highest `reserved` so far, or since [`Memory::reset_peaks`](crate::Memory::reset_peaks).
    pub peak_reserved: u64,
    /// Upload and readback staging memory, idle or in use, outside `reserved`.
    pub staging: u64,
    /// Uniform memory for parameters, outside `reserved`.
    pub uniform: u64,
    /// Successful allocations so far: `hits + misses`.
    pub allocations: u64,
    /// Allocations served from idle buffers.
    pub hits: u64,
    /// Allocations that needed a new buffer.
    pub misses: u64,
    /// Buffers given back to the driver by trimming or eviction.
    pub released: u64,
}
