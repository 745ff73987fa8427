//! What a caller may ask of a device.
//!
//! Plain structs with public fields and defaults that suit a program which just wants the best
//! adapter present. Where they say nothing, environment variables do when a device is opened
//! (see [`env`](mod@crate::env)).

use std::path::PathBuf;
use std::time::Duration;

use crate::error::shorten;
use crate::{AdapterKind, DeviceError, LimitName, ShaderFeature};

/// Which of several adapters to prefer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PowerPreference {
    /// No preference: ranked like [`HighPerformance`](Self::HighPerformance).
    #[default]
    None,
    /// Integrated before discrete.
    LowPower,
    /// Discrete before integrated.
    HighPerformance,
}

/// Which kind of GPU the software device is to look like.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SoftwareWish {
    /// A profile by its name: `webgpu-default`, `nvidia`, `apple` or `intel`.
    Named(String),
    /// One of the program's own.
    #[cfg(all(feature = "software", not(target_arch = "wasm32")))]
    Own(Box<ziggurat_software::Profile>),
}

impl SoftwareWish {
    /// The profile of a software device that nobody described further.
    pub const DEFAULT: &'static str = "webgpu-default";
}

impl Default for SoftwareWish {
    fn default() -> Self {
        Self::Named(Self::DEFAULT.to_owned())
    }
}

impl std::fmt::Display for SoftwareWish {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Named(name) => write!(f, "profile {}", shorten(name)),
            #[cfg(all(feature = "software", not(target_arch = "wasm32")))]
            Self::Own(profile) => write!(f, "own profile {}", profile.name),
        }
    }
}

/// Which adapter is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdapterWish {
    /// Preference between discrete and integrated adapters.
    pub power: PowerPreference,
    /// Only this backend.
    pub backend: Option<wgpu::Backend>,
    /// Only adapters of this kind. [`AdapterKind::Software`] are those that compute on the CPU, whoever provides them.
    pub kind: Option<AdapterKind>,
    /// Exactly the adapter with this [`index`](crate::AdapterSummary::index).
    pub index: Option<usize>,
    /// Only adapters whose name contains this text, in any case.
    pub name: Option<String>,
    /// Only Ziggurat's own software device, looking like this kind of GPU. The fields above then
    /// do not count.
    pub software: Option<SoftwareWish>,
    /// Whether a software adapter may be chosen when nothing better is there. One that is named
    /// by `index`, `name` or `kind` is always allowed.
    pub allow_software: bool,
}

impl Default for AdapterWish {
    fn default() -> Self {
        Self {
            power: PowerPreference::None,
            backend: None,
            kind: None,
            index: None,
            name: None,
            software: None,
            allow_software: true,
        }
    }
}

impl std::fmt::Display for AdapterWish {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut parts = Vec::new();
        if let Some(backend) = self.backend {
            parts.push(format!("backend {backend}"));
        }
        if let Some(kind) = self.kind {
            parts.push(format!("kind {kind}"));
        }
        if let Some(index) = self.index {
            parts.push(format!("index {index}"));
        }
        if let Some(name) = &self.name {
            parts.push(format!("name containing {:?}", shorten(name)));
        }
        if let Some(software) = &self.software {
            parts.push(format!("the software device, {software}"));
        }
        if !self.allow_software {
            parts.push("no software adapter".to_owned());
        }
        if parts.is_empty() {
            parts.push("any adapter that can compute".to_owned());
        }
        f.write_str(&parts.join(", "))
    }
}

/// What becomes of the driver's device when the last handle of a [`Device`](crate::Device) is dropped (native only).
///
/// A kept one holds no memory of ours, only what the driver needs for itself; it goes with the process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Reuse {
    /// Kept for the next one that asks for the same, where destroying it is not safe: NVIDIA's Vulkan driver can
    /// deadlock when a thread of the program exits meanwhile. Destroyed elsewhere.
    #[default]
    Auto,
    /// Always kept for the next one that asks for the same.
    Always,
    /// Always destroyed.
    Never,
}

/// How a blocked thread, and the thread that completes futures, learn that the device has done something, once they have
/// waited longer than [`DeviceOptions::spin`] (native only).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Sleep {
    /// [`Sleep::Ask`] where the driver is known to lose wake-ups (NVIDIA's Vulkan driver: up to 9 ms late), else
    /// [`Sleep::Driver`].
    #[default]
    Auto,
    /// They sleep and ask: a blocked thread for a 64th of the time waited, up to 200 µs, the other for a 16th, up to 1 ms; after a
    /// second the driver wakes them.
    Ask,
    /// The driver wakes them.
    Driver,
}

/// How to open a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceOptions {
    /// Which adapter.
    pub adapter: AdapterWish,
    /// Ask for the driver's validation layers and check every submission by itself, so that an
    /// error names it. On in debug builds.
    pub validation: bool,
    /// Give the driver labels of passes and dispatches. On in debug builds.
    pub labels: bool,
    /// Upper bound for one buffer, below what the adapter allows.
    pub max_buffer_bytes: Option<u64>,
    /// Upper bound for the bytes of one storage binding, below what the adapter allows: with a small one small tensors are
    /// computed in parts, which is how that is tested.
    pub max_binding_bytes: Option<u64>,
    /// Upper bound for the workgroups along one dimension of a dispatch, below what the adapter allows: with a small one
    /// small tensors take every dimension of the grid, which is how that is tested.
    pub max_workgroups: Option<u32>,
    /// How many iterations of its loops, all together, an invocation may take before work is cut into several dispatches; `None`
    /// is 32,768. Fewer for a GPU whose watchdog bites, or to test what is cut.
    pub max_loop_iterations: Option<u32>,
    /// Upper bound of the device memory that buffers take, live and idle, where
    /// [`MemoryOptions`](https://docs.rs/ziggurat-memory) give none; `None` leaves it to the driver.
    pub memory_limit: Option<u64>,
    /// Kernels kept compiled in memory; beyond it those that were not used for longest are forgotten, and compiled again
    /// when they are needed.
    pub max_kernels: u32,
    /// Whether compiled pipelines may be kept on disk.
    pub pipeline_cache: bool,
    /// Folder for them; `None` takes the user's cache folder (see
    /// [`env::cache_dir`](crate::env::cache_dir)).
    pub pipeline_cache_dir: Option<PathBuf>,
    /// Preferred invocations of a one-dimensional workgroup; clamped to the limits.
    pub workgroup_size: Option<u32>,
    /// Stay within WebGPU's default limits even where the adapter has more.
    pub default_limits: bool,
    /// Kernels run their `assert` and `debug_print` statements, on any adapter, through one more storage buffer. Otherwise the
    /// statements are removed, and cost nothing; the software device prints all the same.
    pub debug_kernels: bool,
    /// Use 16-bit floats where they exist.
    pub f16: bool,
    /// Use subgroup operations where they exist.
    pub subgroups: bool,
    /// Use 64-bit integers where they exist.
    pub int64: bool,
    /// Use atomics on f32 where they exist.
    pub float_atomics: bool,
    /// Use immediates (push constants) where they exist.
    pub immediates: bool,
    /// Use cooperative matrices where they exist.
    pub cooperative_matrix: bool,
    /// Use timestamp queries where they exist.
    pub timestamps: bool,
    /// Start with per-kernel timing on (needs timestamps).
    pub profile: bool,
    /// Commands (dispatches, copies, clears) recorded before a batch is submitted by itself; eight times as many while the
    /// device has two submissions to do, and fewer, from an eighth on, while it has none.
    pub submit_after: u32,
    /// Submissions the GPU may be behind before `record` and `flush` wait (native only).
    pub max_in_flight: u32,
    /// How long a blocked thread asks the driver again and again before it sleeps until the driver wakes it (native only;
    /// never for software adapters, which compute on the processors that this would keep busy).
    pub spin: Duration,
    /// How it sleeps then.
    pub sleep: Sleep,
    /// Whether the driver's device is kept for the next user.
    pub reuse: Reuse,
    /// What shaders may use although it is off by default: 64-bit floats, 16-bit integers, subgroup barriers
    /// and 64-bit atomics. Without any of them opening fails with
    /// [`DeviceError::FeatureNotMet`](crate::DeviceError::FeatureNotMet).
    pub features: Vec<ShaderFeature>,
    /// Limits without which opening fails with
    /// [`DeviceError::LimitNotMet`](crate::DeviceError::LimitNotMet).
    pub required: Vec<(LimitName, u64)>,
}

impl Default for DeviceOptions {
    fn default() -> Self {
        Self {
            adapter: AdapterWish::default(),
            validation: cfg!(debug_assertions),
            labels: cfg!(debug_assertions),
            max_buffer_bytes: None,
            max_binding_bytes: None,
            max_workgroups: None,
            max_loop_iterations: None,
            memory_limit: None,
            max_kernels: 4096,
            pipeline_cache: true,
            pipeline_cache_dir: None,
            workgroup_size: None,
            default_limits: false,
            debug_kernels: false,
            f16: true,
            subgroups: true,
            int64: true,
            float_atomics: true,
            immediates: true,
            cooperative_matrix: true,
            timestamps: true,
            profile: false,
            submit_after: 64,
            max_in_flight: 32,
            // About twice what a small kernel and its readback take on a fast GPU.
            spin: Duration::from_micros(100),
            sleep: Sleep::Auto,
            reuse: Reuse::Auto,
            features: Vec::new(),
            required: Vec::new(),
        }
    }
}

/// The smallest buffer, and the smallest binding, that layers above can do anything with.
const LEAST_BYTES: u64 = 256;

impl DeviceOptions {
    /// Refuses values that no device can have. Every way to open a device begins with this.
    ///
    /// # Errors
    /// [`DeviceError::Option`], naming the first such option.
    pub fn check(&self) -> Result<(), DeviceError> {
        let bytes = |option, given: Option<u64>| (option, given, LEAST_BYTES);
        let count = |option, given: Option<u32>| (option, given.map(u64::from), 1);
        let least = [
            bytes("max_buffer_bytes", self.max_buffer_bytes),
            bytes("max_binding_bytes", self.max_binding_bytes),
            bytes("memory_limit", self.memory_limit),
            count("max_workgroups", self.max_workgroups),
            count("max_loop_iterations", self.max_loop_iterations),
            count("workgroup_size", self.workgroup_size),
            count("max_kernels", Some(self.max_kernels)),
            count("submit_after", Some(self.submit_after)),
            count("max_in_flight", Some(self.max_in_flight)),
        ];
        for (option, given, least) in least {
            match given {
                Some(given) if given < least => {
                    return Err(DeviceError::Option {
                        option,
                        given,
                        least,
                    });
                }
                _ => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn options_that_no_device_can_have_are_refused_by_name() {
        type Change = fn(&mut DeviceOptions);
        let changes: [(&str, Change); 9] = [
            ("max_buffer_bytes", |o| o.max_buffer_bytes = Some(255)),
            ("max_binding_bytes", |o| o.max_binding_bytes = Some(0)),
            ("memory_limit", |o| o.memory_limit = Some(0)),
            ("max_workgroups", |o| o.max_workgroups = Some(0)),
            ("max_loop_iterations", |o| o.max_loop_iterations = Some(0)),
            ("workgroup_size", |o| o.workgroup_size = Some(0)),
            ("max_kernels", |o| o.max_kernels = 0),
            ("submit_after", |o| o.submit_after = 0),
            ("max_in_flight", |o| o.max_in_flight = 0),
        ];
        DeviceOptions::default().check().unwrap();
        for (name, change) in changes {
            let mut options = DeviceOptions::default();
            change(&mut options);
            let error = options.check().unwrap_err();
            assert!(error.to_string().contains(name), "{error}");
            #[cfg(not(target_arch = "wasm32"))]
            assert_eq!(crate::Device::noop(options, None).unwrap_err(), error);
        }
    }

    #[test]
    fn a_wish_of_any_length_is_told_in_a_few_words() {
        let wish = AdapterWish {
            name: Some("x".repeat(1 << 20)),
            ..AdapterWish::default()
        };
        let text = wish.to_string();
        assert!(text.len() < 200 && text.contains("1048576 bytes"), "{text}");
    }
}
