//! Counts, the cache on disk, and forgetting.

use std::sync::atomic::Ordering;

use ziggurat_device::{DeviceError, once};

use super::{Inner, Pipelines};
use crate::error::PipelineError;
use crate::stats::PipelineStats;

impl Pipelines {
    /// Counts so far.
    pub fn stats(&self) -> PipelineStats {
        let inner = &*self.inner;
        let binds = inner.binds.counts();
        let (disk_loaded_bytes, disk_rejected) = inner.disk_state();
        PipelineStats {
            hits: inner.hits.load(Ordering::Relaxed),
            misses: inner.misses.load(Ordering::Relaxed),
            evicted: inner.evicted.load(Ordering::Relaxed),
            texts: inner.texts.count(),
            entries: inner.kernels.len(),
            compile_time_ns: inner.compile_time_ns.load(Ordering::Relaxed),
            bind_group_hits: binds.hits,
            bind_group_misses: binds.misses,
            bind_groups: binds.groups,
            layouts: binds.layouts,
            dispatches: inner.dispatches.load(Ordering::Relaxed),
            empty_dispatches: inner.empty_dispatches.load(Ordering::Relaxed),
            disk_loaded_bytes,
            disk_rejected,
        }
    }

    /// Pipelines on a device that is opened anew, with memory of the same options: see
    /// [`Device::reopen`](ziggurat_device::Device::reopen). Kernels and buffers of these pipelines cannot be used with them.
    ///
    /// # Errors
    ///
    /// As [`Device::reopen`](ziggurat_device::Device::reopen).
    pub fn reopen(&self) -> impl Future<Output = Result<Self, PipelineError>> {
        let reopened = async { Ok(Self::new(&self.memory().reopen().await?)) };
        once(reopened, || DeviceError::Finished.into())
    }

    /// Forgets all kernels. Those that somebody still has stay usable.
    pub fn clear_kernels(&self) {
        self.inner.by_key.write().clear();
        self.inner.kernels.clear();
        self.inner.texts.clear();
    }

    /// Forgets all bind groups, and with them their hold on buffers that the pool gave back to the driver.
    pub fn clear_bind_groups(&self) {
        self.inner.binds.clear_groups();
    }

    /// Writes the pipeline cache to disk and says where; `None` where there is none. Also happens when the last
    /// clone is dropped.
    ///
    /// # Errors
    ///
    /// [`PipelineError::CacheFile`] if the file cannot be written.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn save_cache(&self) -> Result<Option<std::path::PathBuf>, PipelineError> {
        self.inner.workers.wait();
        let disk = self.inner.disk.as_ref();
        disk.map_or(Ok(None), |disk| disk.save())
    }
}

impl Inner {
    #[cfg(not(target_arch = "wasm32"))]
    fn disk_state(&self) -> (u64, bool) {
        self.disk
            .as_ref()
            .map_or((0, false), |disk| (disk.loaded_bytes, disk.rejected))
    }

    #[cfg(target_arch = "wasm32")]
    fn disk_state(&self) -> (u64, bool) {
        (0, false)
    }
}

#[cfg(not(target_arch = "wasm32"))]
impl Drop for Inner {
    fn drop(&mut self) {
        self.workers.finish();
        let compiled = self.misses.load(Ordering::Relaxed) > 0;
        if compiled
            && self.device.status().is_ok()
            && let Some(disk) = &self.disk
        {
            // Nobody is left to tell; the next run compiles again.
            let _ = disk.save();
        }
    }
}
