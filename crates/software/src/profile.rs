//! Which kind of GPU the software device looks like.
//!
//! Code that adapts to a GPU decides by its limits, its features, its subgroup size and its matrix
//! shapes; a profile sets all of them, so every such decision can be reached on a machine without
//! that GPU. The numbers of a profile are those that drivers of that vendor report through wgpu.
//! A profile also holds the faults that tests ask for: a memory budget, a loss after some submits,
//! a budget of steps for one dispatch.

use wgpu::CooperativeMatrixProperties;
use wgpu::CooperativeScalarType::{self, F16, F32};

use crate::sanitize::Sanitizer;

/// Limits, features and faults of a software device.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Profile {
    /// Shown as part of the adapter's name.
    pub name: String,
    /// What the adapter supports at most; a device gets what is asked for within it.
    pub limits: wgpu::Limits,
    /// What the adapter supports at most.
    pub features: wgpu::Features,
    /// Invocations in a subgroup: a power of two from 4 to 128.
    pub subgroup_size: u32,
    /// Matrix shapes of `EXPERIMENTAL_COOPERATIVE_MATRIX`; empty without that feature.
    pub cooperative_matrix: Vec<CooperativeMatrixProperties>,
    /// Bytes that all buffers of one device may take together; more is out of memory.
    pub memory_budget: u64,
    /// After this many submits the next one loses the device. `None`: never.
    pub lose_after_submits: Option<u64>,
    /// Threads that run workgroups; 0 takes as many as the machine has. Results do not depend on
    /// it.
    pub threads: usize,
    /// Also write what shaders print through `debug_print` to standard error, line by line.
    pub echo_prints: bool,
    /// Steps after which a dispatch is stopped with an internal error that names the kernel and the
    /// loop. A step is one operation for up to 16 invocations, or an iteration of a loop; a word
    /// that the sanitizer looks up is 8. `None`: never. The default, 2^40, is ten times what a
    /// product of two 8192×8192 matrices takes.
    pub steps: Option<u64>,
    /// The same for one workgroup: what stops an endless loop. The default, 2^30, takes some
    /// seconds.
    pub workgroup_steps: Option<u64>,
    /// Bytes that the sanitizer may take to follow the memory that one dispatch uses, about 28 for
    /// each byte of it; a dispatch that needs more is stopped with an out-of-memory error. The
    /// default is 4 GiB.
    pub shadow_bytes: u64,
    /// Kernels run in a checked form, and what is wrong goes here. `None`: unchecked and fast.
    pub sanitizer: Option<Sanitizer>,
}

const GIB: u64 = 1 << 30;

/// What every one of the vendors' profiles has.
const COMMON: wgpu::Features = wgpu::Features::SHADER_F16
    .union(wgpu::Features::SHADER_I16)
    .union(wgpu::Features::SUBGROUP)
    .union(wgpu::Features::SUBGROUP_BARRIER)
    .union(wgpu::Features::IMMEDIATES)
    .union(wgpu::Features::TEXTURE_ATOMIC)
    .union(wgpu::Features::FLOAT32_FILTERABLE)
    .union(wgpu::Features::TEXTURE_ADAPTER_SPECIFIC_FORMAT_FEATURES)
    .union(wgpu::Features::TIMESTAMP_QUERY)
    .union(wgpu::Features::TIMESTAMP_QUERY_INSIDE_ENCODERS)
    .union(wgpu::Features::TIMESTAMP_QUERY_INSIDE_PASSES)
    .union(wgpu::Features::MAPPABLE_PRIMARY_BUFFERS);

impl Profile {
    /// Exactly what WebGPU promises everywhere: default limits and no optional feature.
    #[must_use]
    pub fn webgpu_default() -> Self {
        Self {
            name: "webgpu-default".to_owned(),
            limits: wgpu::Limits::default(),
            features: wgpu::Features::empty(),
            subgroup_size: 32,
            cooperative_matrix: Vec::new(),
            memory_budget: 4 * GIB,
            lose_after_submits: None,
            threads: 0,
            echo_prints: false,
            steps: Some(1 << 40),
            workgroup_steps: Some(1 << 30),
            shadow_bytes: 4 * GIB,
            sanitizer: None,
        }
    }

    /// A desktop GPU of NVIDIA's under Vulkan: subgroups of 32, 16×16 matrices, wide limits.
    #[must_use]
    pub fn nvidia() -> Self {
        Self {
            name: "nvidia".to_owned(),
            limits: wgpu::Limits {
                max_compute_workgroup_storage_size: 48 << 10,
                max_compute_invocations_per_workgroup: 1024,
                max_compute_workgroup_size_x: 1024,
                max_compute_workgroup_size_y: 1024,
                max_immediate_size: 256,
                min_storage_buffer_offset_alignment: 32,
                ..wide(32)
            },
            features: COMMON
                | wgpu::Features::SHADER_FLOAT32_ATOMIC
                | wgpu::Features::SHADER_INT64
                | wgpu::Features::SHADER_F64
                | wgpu::Features::EXPERIMENTAL_COOPERATIVE_MATRIX,
            cooperative_matrix: square_shapes(16, &[(F16, F16), (F16, F32)]),
            ..Self::webgpu_default()
        }
    }

    /// A GPU of Apple's under Metal: subgroups of 32, 8×8 matrices, 32 KiB of workgroup memory.
    #[must_use]
    pub fn apple() -> Self {
        Self {
            name: "apple".to_owned(),
            limits: wgpu::Limits {
                max_compute_workgroup_storage_size: 32 << 10,
                max_compute_invocations_per_workgroup: 1024,
                max_compute_workgroup_size_x: 1024,
                max_compute_workgroup_size_y: 1024,
                max_immediate_size: 256,
                min_storage_buffer_offset_alignment: 32,
                min_uniform_buffer_offset_alignment: 32,
                ..wide(31)
            },
            features: COMMON
                | wgpu::Features::SHADER_INT64
                | wgpu::Features::EXPERIMENTAL_COOPERATIVE_MATRIX,
            cooperative_matrix: square_shapes(8, &[(F32, F32), (F16, F16), (F16, F32)]),
            ..Self::webgpu_default()
        }
    }

    /// An integrated GPU of Intel's under Vulkan: subgroups of 16, no matrix unit.
    #[must_use]
    pub fn intel() -> Self {
        Self {
            name: "intel".to_owned(),
            limits: wgpu::Limits {
                max_compute_workgroup_storage_size: 32 << 10,
                max_compute_invocations_per_workgroup: 1024,
                max_compute_workgroup_size_x: 1024,
                max_compute_workgroup_size_y: 1024,
                max_immediate_size: 128,
                min_storage_buffer_offset_alignment: 64,
                min_uniform_buffer_offset_alignment: 64,
                ..wide(32)
            },
            features: COMMON,
            subgroup_size: 16,
            ..Self::webgpu_default()
        }
    }

    /// The named profiles, for listings and for tests that run on all of them.
    #[must_use]
    pub fn all() -> [Self; 4] {
        [
            Self::webgpu_default(),
            Self::nvidia(),
            Self::apple(),
            Self::intel(),
        ]
    }

    /// The profile of that name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        Self::all().into_iter().find(|profile| profile.name == name)
    }
}

/// The limits in which the vendors agree; `buffers` is the count of storage buffers per stage.
fn wide(buffers: u32) -> wgpu::Limits {
    wgpu::Limits {
        max_bind_groups: 8,
        max_storage_buffers_per_shader_stage: buffers,
        max_dynamic_storage_buffers_per_pipeline_layout: 8,
        max_storage_buffer_binding_size: (2 * GIB) - 4,
        max_buffer_size: 4 * GIB,
        min_uniform_buffer_offset_alignment: 64,
        max_compute_workgroup_size_z: 64,
        max_buffers_and_acceleration_structures_per_shader_stage: 64,
        ..wgpu::Limits::default()
    }
}

fn square_shapes(
    size: u32,
    types: &[(CooperativeScalarType, CooperativeScalarType)],
) -> Vec<CooperativeMatrixProperties> {
    types
        .iter()
        .map(|&(ab_type, cr_type)| CooperativeMatrixProperties {
            m_size: size,
            n_size: size,
            k_size: size,
            ab_type,
            cr_type,
            saturating_accumulation: false,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_profile_allows_at_least_the_default_limits() {
        for profile in Profile::all() {
            assert!(
                wgpu::Limits::default().check_limits(&profile.limits),
                "{}",
                profile.name
            );
        }
        let mut poorer = Profile::webgpu_default();
        poorer.limits.max_bind_groups = 3;
        assert!(!wgpu::Limits::default().check_limits(&poorer.limits));
    }

    #[test]
    fn matrix_shapes_come_with_their_feature_and_the_other_way_round() {
        for profile in Profile::all() {
            assert_eq!(
                !profile.cooperative_matrix.is_empty(),
                profile
                    .features
                    .contains(wgpu::Features::EXPERIMENTAL_COOPERATIVE_MATRIX),
                "{}",
                profile.name
            );
        }
    }

    #[test]
    fn a_profile_is_found_by_its_name() {
        for profile in Profile::all() {
            let found = Profile::by_name(&profile.name).map(|found| found.name);
            assert_eq!(found, Some(profile.name));
        }
        assert!(Profile::by_name("voodoo").is_none());
    }
}
