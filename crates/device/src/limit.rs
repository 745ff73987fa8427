//! The limits a caller can require, and the limits a device is opened with.
//!
//! wgpu's `Limits` has sixty fields, nearly all about drawing. [`LimitName`] names the ones that
//! compute work depends on, so that an error can say which was not met.

use crate::{DeviceError, DeviceOptions};

/// A limit of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LimitName {
    /// Bytes of one buffer.
    BufferBytes,
    /// Bytes of one storage binding.
    BindingBytes,
    /// Bytes of one uniform binding.
    UniformBytes,
    /// Storage buffers one shader may use.
    StorageBuffers,
    /// Bytes of workgroup memory.
    WorkgroupMemory,
    /// Invocations of one workgroup.
    WorkgroupInvocations,
    /// Invocations of one workgroup along x.
    WorkgroupSizeX,
    /// Workgroups along one dimension of a dispatch.
    Workgroups,
    /// Bytes of immediates.
    ImmediateBytes,
}

impl std::fmt::Display for LimitName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::BufferBytes => "buffer bytes",
            Self::BindingBytes => "storage binding bytes",
            Self::UniformBytes => "uniform binding bytes",
            Self::StorageBuffers => "storage buffers per shader",
            Self::WorkgroupMemory => "workgroup memory bytes",
            Self::WorkgroupInvocations => "invocations per workgroup",
            Self::WorkgroupSizeX => "workgroup size along x",
            Self::Workgroups => "workgroups per dimension",
            Self::ImmediateBytes => "immediate bytes",
        })
    }
}

impl LimitName {
    /// The value of this limit in `limits`.
    #[must_use]
    pub fn value(self, limits: &wgpu::Limits) -> u64 {
        match self {
            Self::BufferBytes => limits.max_buffer_size,
            Self::BindingBytes => limits.max_storage_buffer_binding_size,
            Self::UniformBytes => limits.max_uniform_buffer_binding_size,
            Self::StorageBuffers => limits.max_storage_buffers_per_shader_stage.into(),
            Self::WorkgroupMemory => limits.max_compute_workgroup_storage_size.into(),
            Self::WorkgroupInvocations => limits.max_compute_invocations_per_workgroup.into(),
            Self::WorkgroupSizeX => limits.max_compute_workgroup_size_x.into(),
            Self::Workgroups => limits.max_compute_workgroups_per_dimension.into(),
            Self::ImmediateBytes => limits.max_immediate_size.into(),
        }
    }
}

/// The limits to ask an adapter for: all it has, or WebGPU's defaults where it has them.
pub(crate) fn wanted(adapter: &wgpu::Limits, options: &DeviceOptions) -> wgpu::Limits {
    let mut limits = adapter.clone();
    if options.default_limits {
        limits = wgpu::Limits {
            // WebGPU's default is no immediates at all; 64 bytes is what browsers plan.
            max_immediate_size: 64,
            ..wgpu::Limits::default()
        }
        .or_worse_values_from(adapter);
    }
    if let Some(bytes) = options.max_buffer_bytes {
        limits.max_buffer_size = limits.max_buffer_size.min(bytes);
    }
    if let Some(bytes) = options.max_binding_bytes {
        let limit = &mut limits.max_storage_buffer_binding_size;
        *limit = (*limit).min(bytes);
    }
    if let Some(most) = options.max_workgroups {
        let limit = &mut limits.max_compute_workgroups_per_dimension;
        *limit = (*limit).min(most.max(1));
    }
    limits
}

/// Checks the limits a caller requires against those that will be asked for.
pub(crate) fn check(limits: &wgpu::Limits, options: &DeviceOptions) -> Result<(), DeviceError> {
    for &(limit, wanted) in &options.required {
        let got = limit.value(limits);
        if got < wanted {
            return Err(DeviceError::LimitNotMet { limit, wanted, got });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn large() -> wgpu::Limits {
        wgpu::Limits {
            max_buffer_size: 4 << 30,
            max_compute_workgroup_storage_size: 48 << 10,
            max_immediate_size: 256,
            ..wgpu::Limits::default()
        }
    }

    #[test]
    fn asks_for_everything_the_adapter_has() {
        assert_eq!(wanted(&large(), &DeviceOptions::default()), large());
    }

    #[test]
    fn default_limits_never_exceed_webgpus_or_the_adapters() {
        let options = DeviceOptions {
            default_limits: true,
            ..Default::default()
        };
        let limits = wanted(&large(), &options);
        assert_eq!(limits.max_buffer_size, 256 << 20);
        assert_eq!(limits.max_compute_workgroup_storage_size, 16 << 10);
        assert_eq!(limits.max_immediate_size, 64);
        let mut small = large();
        small.max_compute_workgroup_storage_size = 1 << 10;
        let limits = wanted(&small, &options);
        assert_eq!(limits.max_compute_workgroup_storage_size, 1 << 10);
    }

    #[test]
    fn a_cap_on_buffers_only_lowers() {
        let capped = |bytes| DeviceOptions {
            max_buffer_bytes: Some(bytes),
            ..Default::default()
        };
        assert_eq!(wanted(&large(), &capped(1 << 20)).max_buffer_size, 1 << 20);
        assert_eq!(
            wanted(&large(), &capped(u64::MAX)).max_buffer_size,
            large().max_buffer_size
        );
    }

    #[test]
    fn a_cap_on_bindings_only_lowers() {
        let capped = |bytes| DeviceOptions {
            max_binding_bytes: Some(bytes),
            ..Default::default()
        };
        let bindings = |options| wanted(&large(), &options).max_storage_buffer_binding_size;
        assert_eq!(bindings(capped(1 << 12)), 1 << 12);
        assert_eq!(
            bindings(capped(u64::MAX)),
            large().max_storage_buffer_binding_size
        );
    }

    #[test]
    fn a_cap_on_workgroups_only_lowers_and_leaves_one() {
        for (most, left) in [(6, 6), (0, 1), (u32::MAX, 65_535)] {
            let options = DeviceOptions {
                max_workgroups: Some(most),
                ..Default::default()
            };
            let limits = wanted(&large(), &options);
            assert_eq!(limits.max_compute_workgroups_per_dimension, left);
        }
    }

    #[test]
    fn a_required_limit_is_checked_with_both_values() {
        let options = DeviceOptions {
            required: vec![
                (LimitName::WorkgroupMemory, 48 << 10),
                (LimitName::ImmediateBytes, 300),
            ],
            ..Default::default()
        };
        assert_eq!(
            check(&large(), &options),
            Err(DeviceError::LimitNotMet {
                limit: LimitName::ImmediateBytes,
                wanted: 300,
                got: 256
            })
        );
    }
}
