//! A profile of a device with the counts of the caches above it.

use ziggurat_device::{DeviceError, Profile, once};
use ziggurat_memory::Usage;

use crate::pipelines::Pipelines;
use crate::stats::PipelineStats;

/// A [`Profile`] being made; see [`Pipelines::profile`].
#[must_use = "the profile is made when this is finished"]
#[derive(Debug)]
pub struct Profiling {
    pipelines: Pipelines,
    usage: Usage,
    stats: PipelineStats,
}

impl Pipelines {
    /// Starts a profile of host and GPU. A device makes one at a time.
    pub fn profile(&self) -> Profiling {
        self.device().start_profile();
        Profiling {
            pipelines: self.clone(),
            usage: self.memory().usage(),
            stats: self.stats(),
        }
    }
}

impl Profiling {
    /// Submits what has been recorded and resolves with the profile, hits and misses of pool and caches included.
    ///
    /// # Errors
    ///
    /// The device's failure.
    pub fn finish(
        self,
    ) -> impl Future<Output = Result<Profile, DeviceError>> + Send + Unpin + 'static {
        let (usage, stats) = (self.pipelines.memory().usage(), self.pipelines.stats());
        let counters = vec![
            ("dispatches", stats.dispatches - self.stats.dispatches),
            ("kernel hits", stats.hits - self.stats.hits),
            ("kernel misses", stats.misses - self.stats.misses),
            (
                "bind group hits",
                stats.bind_group_hits - self.stats.bind_group_hits,
            ),
            (
                "bind group misses",
                stats.bind_group_misses - self.stats.bind_group_misses,
            ),
            ("pool hits", usage.hits - self.usage.hits),
            ("pool misses", usage.misses - self.usage.misses),
        ];
        let profile = self.pipelines.device().finish_profile();
        let whole = async move {
            let mut profile = profile.await?;
            profile.counters = counters;
            Ok(profile)
        };
        once(whole, || DeviceError::Finished)
    }
}
