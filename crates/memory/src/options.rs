//! How much memory may be allocated, and for what.

/// Settings of a [`Memory`](crate::Memory). Every value is legal: what is too small or too large counts as the nearest
/// that the device can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryOptions {
    /// Upper bound of the bytes allocated from the driver (live and cached); `None` takes
    /// [`DeviceOptions::memory_limit`](ziggurat_device::DeviceOptions::memory_limit), and without that leaves it to the driver.
    pub limit: Option<u64>,
    /// Upper bound of the bytes kept idle for reuse; the least recently used beyond it are released.
    pub max_cached: u64,
    /// Fill every allocation with `0xFF` bytes, so that a kernel that misses elements is seen. For tests.
    pub poison: bool,
    /// Bytes of one staging buffer; larger uploads and readbacks go in pieces of this size.
    pub staging_chunk: u64,
    /// Upper bound of upload staging memory, and of idle readback staging memory.
    pub staging_limit: u64,
}

impl Default for MemoryOptions {
    /// No limit of its own; 2 GiB cached and 32 MiB staging chunks up to 256 MiB on native,
    /// 512 MiB cached and 4 MiB chunks up to 32 MiB on the web.
    fn default() -> Self {
        let web = cfg!(target_arch = "wasm32");
        Self {
            limit: None,
            max_cached: if web { 512 << 20 } else { 2 << 30 },
            poison: false,
            staging_chunk: if web { 4 << 20 } else { 32 << 20 },
            staging_limit: if web { 32 << 20 } else { 256 << 20 },
        }
    }
}
