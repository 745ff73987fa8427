//! Counts of the caches.

/// A snapshot of what a [`Pipelines`](crate::Pipelines) did so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PipelineStats {
    /// Kernels that were there when asked for.
    pub hits: u64,
    /// Kernels that had to be created, failed ones included.
    pub misses: u64,
    /// Kernels forgotten because there were more than
    /// [`max_kernels`](ziggurat_device::DeviceOptions::max_kernels).
    pub evicted: u64,
    /// Shader texts read for them: each once for all its specialisations, as long as it is remembered.
    pub texts: u64,
    /// Kernels in the cache.
    pub entries: usize,
    /// Time spent in creation (reading, checking, compiling), added up over threads. 0 in a browser.
    pub compile_time_ns: u64,
    /// Bind groups that were there when needed.
    pub bind_group_hits: u64,
    /// Bind groups created.
    pub bind_group_misses: u64,
    /// Bind groups in the cache.
    pub bind_groups: usize,
    /// Bind group layouts in the cache.
    pub layouts: usize,
    /// Dispatches recorded.
    pub dispatches: u64,
    /// Dispatches left out because there was no work.
    pub empty_dispatches: u64,
    /// Bytes of pipeline cache that came from disk; 0 if there was no usable file.
    pub disk_loaded_bytes: u64,
    /// Whether a cache file was there and ignored because it was damaged or foreign.
    pub disk_rejected: bool,
}
