//! What an open device can do, in the words the layers above plan with.
//!
//! Derived once from the device's limits and features. Where wgpu's number cannot be used as it
//! is, the usable one is here: one storage buffer less (wgpu may add a hidden one on Metal), and
//! binding sizes that are whole words.

use crate::{AdapterSummary, DeviceError, DeviceOptions, ShaderFeature};

/// One matrix product the adapter's matrix units can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CooperativeShape {
    /// Rows of A and of the result.
    pub m: u32,
    /// Columns of B and of the result.
    pub n: u32,
    /// Columns of A, rows of B.
    pub k: u32,
    /// Element type of A and B.
    pub input: wgpu::CooperativeScalarType,
    /// Element type of the accumulator and the result.
    pub output: wgpu::CooperativeScalarType,
    /// Whether accumulation saturates.
    pub saturating: bool,
}

impl std::fmt::Display for CooperativeShape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (m, n, k) = (self.m, self.n, self.k);
        write!(f, "{m}×{n}×{k} {:?}→{:?}", self.input, self.output)
    }
}

/// The capabilities of an open device.
#[derive(Clone, Debug, PartialEq)]
pub struct Caps {
    /// All limits the device was opened with.
    pub limits: wgpu::Limits,
    /// 16-bit floats in shaders.
    pub f16: bool,
    /// 64-bit integers in shaders.
    pub int64: bool,
    /// Atomics on f32 in shaders.
    pub float_atomics: bool,
    /// Subgroup operations in shaders.
    pub subgroups: bool,
    /// Barriers of a subgroup alone in shaders.
    pub subgroup_barriers: bool,
    /// Smallest and largest subgroup; (0, 0) without subgroups.
    pub subgroup_size: (u32, u32),
    /// Timestamp queries.
    pub timestamps: bool,
    /// Bytes of immediates; 0 means none.
    pub immediate_bytes: u32,
    /// Compiled pipelines can be stored and loaded.
    pub pipeline_cache: bool,
    /// Matrix products in hardware; empty without cooperative matrices.
    pub cooperative_matrix: Vec<CooperativeShape>,
    /// Storage buffers one shader may use: the limit less one.
    pub max_storage_buffers: u32,
    /// Bytes of one buffer.
    pub max_buffer_bytes: u64,
    /// Bytes of one storage binding, a multiple of 4.
    pub max_binding_bytes: u64,
    /// Preferred invocations of a one-dimensional workgroup: the option, or 256, within limits.
    pub workgroup_size: u32,
    /// Workgroups along one dimension of a dispatch.
    pub max_workgroups: u32,
    /// Iterations of its loops, all together, that an invocation should take in one dispatch: the option, or 32,768.
    pub max_loop_iterations: u32,
    /// The driver itself keeps shaders within the buffers that are bound (Vulkan's `robustBufferAccess2`), so wgpu adds no
    /// checks of its own for them.
    pub robust_buffers: bool,
    /// Alignment of a storage binding's offset.
    pub storage_alignment: u32,
    /// Alignment of a uniform binding's offset.
    pub uniform_alignment: u32,
}

impl Caps {
    pub(crate) fn new(
        adapter: &wgpu::Adapter,
        device: &wgpu::Device,
        options: &DeviceOptions,
    ) -> Self {
        let features = device.features();
        let info = adapter.get_info();
        let cooperative = features.contains(wgpu::Features::EXPERIMENTAL_COOPERATIVE_MATRIX);
        let subgroups = options.subgroups && features.contains(wgpu::Features::SUBGROUP);
        let cooperative_matrix = if cooperative && options.cooperative_matrix {
            cooperative_shapes(adapter)
        } else {
            Vec::new()
        };
        let subgroup_size = if subgroups {
            (info.subgroup_min_size, info.subgroup_max_size)
        } else {
            (0, 0)
        };
        Self {
            subgroups,
            subgroup_barriers: subgroups && features.contains(wgpu::Features::SUBGROUP_BARRIER),
            subgroup_size,
            cooperative_matrix,
            robust_buffers: robust_buffers(adapter, &info),
            ..Self::from_limits(device.limits(), features, options)
        }
    }

    fn from_limits(
        limits: wgpu::Limits,
        features: wgpu::Features,
        options: &DeviceOptions,
    ) -> Self {
        let has = |wish: bool, feature| wish && features.contains(feature);
        let max_buffer_bytes = limits
            .max_buffer_size
            .min(options.max_buffer_bytes.unwrap_or(u64::MAX));
        let max_binding_bytes = limits.max_storage_buffer_binding_size.min(max_buffer_bytes) & !3;
        let largest = limits
            .max_compute_invocations_per_workgroup
            .min(limits.max_compute_workgroup_size_x)
            .max(1);
        Self {
            f16: has(options.f16, wgpu::Features::SHADER_F16),
            int64: has(options.int64, wgpu::Features::SHADER_INT64),
            float_atomics: has(options.float_atomics, wgpu::Features::SHADER_FLOAT32_ATOMIC),
            subgroups: false,
            subgroup_barriers: false,
            subgroup_size: (0, 0),
            timestamps: has(options.timestamps, wgpu::Features::TIMESTAMP_QUERY),
            immediate_bytes: if has(options.immediates, wgpu::Features::IMMEDIATES) {
                limits.max_immediate_size
            } else {
                0
            },
            pipeline_cache: has(options.pipeline_cache, wgpu::Features::PIPELINE_CACHE),
            cooperative_matrix: Vec::new(),
            max_storage_buffers: limits
                .max_storage_buffers_per_shader_stage
                .saturating_sub(1),
            max_buffer_bytes,
            max_binding_bytes,
            workgroup_size: options.workgroup_size.unwrap_or(256).clamp(1, largest),
            max_workgroups: limits.max_compute_workgroups_per_dimension,
            max_loop_iterations: options
                .max_loop_iterations
                .unwrap_or(LOOP_ITERATIONS)
                .max(1),
            robust_buffers: false,
            storage_alignment: limits.min_storage_buffer_offset_alignment,
            uniform_alignment: limits.min_uniform_buffer_offset_alignment,
            limits,
        }
    }
}

fn cooperative_shapes(adapter: &wgpu::Adapter) -> Vec<CooperativeShape> {
    let mut shapes = Vec::new();
    for properties in adapter.cooperative_matrix_properties() {
        let shape = CooperativeShape {
            m: properties.m_size,
            n: properties.n_size,
            k: properties.k_size,
            input: properties.ab_type,
            output: properties.cr_type,
            saturating: properties.saturating_accumulation,
        };
        if !shapes.contains(&shape) {
            shapes.push(shape);
        }
    }
    shapes
}

/// Drivers that have `robustBufferAccess2` wherever they have the extension, and for which wgpu switches it on.
#[cfg(any(target_os = "linux", target_os = "windows"))]
const ROBUST_DRIVERS: [&str; 2] = ["NVIDIA", "radv"];

/// Whether the driver itself keeps shaders within bound buffers. wgpu uses that where it is there and does not tell; so the
/// drivers are those that are known to have it, and the extension must be there.
#[cfg(any(target_os = "linux", target_os = "windows"))]
fn robust_buffers(adapter: &wgpu::Adapter, info: &wgpu::AdapterInfo) -> bool {
    let known = ROBUST_DRIVERS.iter().any(|name| info.driver.contains(name));
    if info.backend != wgpu::Backend::Vulkan || !known {
        return false;
    }
    #[expect(unsafe_code, reason = "wgpu tells of its adapter's extensions only so")]
    // SAFETY: the guard is asked whether an extension exists, and dropped; nothing is destroyed or used by a GPU.
    let vulkan = unsafe { adapter.as_hal::<wgpu::hal::api::Vulkan>() };
    vulkan.is_some_and(|vulkan| {
        let properties = vulkan.physical_device_capabilities();
        properties.supports_extension(c"VK_EXT_robustness2")
    })
}

#[cfg(not(any(target_os = "linux", target_os = "windows")))]
fn robust_buffers(_: &wgpu::Adapter, _: &wgpu::AdapterInfo) -> bool {
    false
}

/// The features to ask `adapter` for: the useful ones it has and the options allow.
pub(crate) fn wanted_features(adapter: &wgpu::Adapter, options: &DeviceOptions) -> wgpu::Features {
    let cooperative =
        options.cooperative_matrix && !adapter.cooperative_matrix_properties().is_empty();
    [
        (options.f16, wgpu::Features::SHADER_F16),
        (options.int64, wgpu::Features::SHADER_INT64),
        (options.float_atomics, wgpu::Features::SHADER_FLOAT32_ATOMIC),
        (
            options.subgroups,
            wgpu::Features::SUBGROUP | wgpu::Features::SUBGROUP_BARRIER,
        ),
        (options.timestamps, wgpu::Features::TIMESTAMP_QUERY),
        (options.immediates, wgpu::Features::IMMEDIATES),
        (options.pipeline_cache, wgpu::Features::PIPELINE_CACHE),
        (cooperative, wgpu::Features::EXPERIMENTAL_COOPERATIVE_MATRIX),
        // They cost nothing, and shaders with textures are written for them.
        (
            true,
            wgpu::Features::TEXTURE_ADAPTER_SPECIFIC_FORMAT_FEATURES
                | wgpu::Features::FLOAT32_FILTERABLE,
        ),
    ]
    .into_iter()
    .filter(|&(wish, _)| wish)
    .fold(wgpu::Features::empty(), |all, (_, feature)| all | feature)
    .union(further_features(options))
        & adapter.features()
}

/// The features that the options name, less those that they switch off.
fn further_features(options: &DeviceOptions) -> wgpu::Features {
    let is_on = |feature: &&ShaderFeature| match feature {
        ShaderFeature::F16 => options.f16,
        ShaderFeature::Int64 => options.int64,
        ShaderFeature::FloatAtomics => options.float_atomics,
        ShaderFeature::Subgroups | ShaderFeature::SubgroupBarrier => options.subgroups,
        ShaderFeature::Immediates => options.immediates,
        ShaderFeature::CooperativeMatrix => false,
        _ => true,
    };
    let named = options.features.iter().filter(is_on);
    named.fold(wgpu::Features::empty(), |all, feature| all | feature.wgpu())
}

/// An error if a device with `features` lacks what the options name.
pub(crate) fn check_features(
    features: wgpu::Features,
    options: &DeviceOptions,
) -> Result<(), DeviceError> {
    let missing = options.features.iter();
    let missing = missing
        .copied()
        .find(|feature| !features.contains(feature.wgpu()));
    missing.map_or(Ok(()), |feature| {
        Err(DeviceError::FeatureNotMet {
            feature: feature.name(),
        })
    })
}

/// Half of what Mesa's software drivers allow: they end an invocation after 65,535 iterations of its loops, count lanes that run
/// together as one, and count the turn that finds a loop finished too.
const LOOP_ITERATIONS: u32 = 1 << 15;

/// A few lines for people: adapter, sizes and features.
pub(crate) fn describe(
    adapter: &AdapterSummary,
    caps: &Caps,
    f: &mut std::fmt::Formatter<'_>,
) -> std::fmt::Result {
    f.debug_struct("Device")
        .field("adapter", &adapter.to_string())
        .field("max_buffer_bytes", &caps.max_buffer_bytes)
        .field("max_binding_bytes", &caps.max_binding_bytes)
        .finish_non_exhaustive()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caps(limits: wgpu::Limits, options: &DeviceOptions) -> Caps {
        Caps::from_limits(limits, wgpu::Features::all(), options)
    }

    #[test]
    fn plans_with_one_storage_buffer_less() {
        let caps = caps(wgpu::Limits::default(), &DeviceOptions::default());
        assert_eq!(
            caps.max_storage_buffers + 1,
            wgpu::Limits::default().max_storage_buffers_per_shader_stage
        );
    }

    #[test]
    fn a_binding_is_whole_words_and_never_larger_than_a_buffer() {
        let limits = wgpu::Limits {
            max_storage_buffer_binding_size: 2_147_483_647,
            max_buffer_size: 1 << 40,
            ..Default::default()
        };
        let mut options = DeviceOptions::default();
        assert_eq!(
            caps(limits.clone(), &options).max_binding_bytes,
            2_147_483_644
        );
        options.max_buffer_bytes = Some(1000);
        assert_eq!(caps(limits, &options).max_binding_bytes, 1000);
    }

    #[test]
    fn the_workgroup_size_stays_within_limits() {
        let limits = wgpu::Limits {
            max_compute_invocations_per_workgroup: 128,
            ..Default::default()
        };
        let mut options = DeviceOptions::default();
        assert_eq!(caps(limits.clone(), &options).workgroup_size, 128);
        options.workgroup_size = Some(0);
        assert_eq!(caps(limits.clone(), &options).workgroup_size, 1);
        options.workgroup_size = Some(64);
        assert_eq!(caps(limits, &options).workgroup_size, 64);
    }

    #[test]
    fn an_option_switches_a_feature_off() {
        let off = DeviceOptions {
            f16: false,
            timestamps: false,
            immediates: false,
            pipeline_cache: false,
            ..Default::default()
        };
        let limits = wgpu::Limits {
            max_immediate_size: 128,
            ..Default::default()
        };
        let without = caps(limits.clone(), &off);
        assert!(!without.f16 && !without.timestamps && !without.pipeline_cache);
        assert_eq!(without.immediate_bytes, 0);
        let with = caps(limits, &DeviceOptions::default());
        assert!(with.f16 && with.timestamps && with.pipeline_cache);
        assert_eq!(with.immediate_bytes, 128);
    }
}
