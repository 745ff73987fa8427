//! The software device, on which the pipelines of entry points are created.

use ziggurat_pipeline::device::ziggurat_software::Profile;
use ziggurat_pipeline::device::{Device, DeviceError, DeviceOptions};
use ziggurat_pipeline::memory::{Memory, MemoryOptions};
use ziggurat_pipeline::{Pipelines, ShaderFeature};

/// Pipelines on a device with a desktop GPU's limits and everything that shaders can ask it for.
pub(crate) fn pipelines() -> Result<Pipelines, DeviceError> {
    let mut profile = Profile::nvidia();
    let more_shapes = Profile::apple().cooperative_matrix;
    profile.cooperative_matrix.extend(more_shapes);
    let features: Vec<ShaderFeature> = ShaderFeature::all().collect();
    for feature in &features {
        profile.features |= feature.wgpu();
    }
    let options = DeviceOptions {
        features,
        pipeline_cache: false,
        ..DeviceOptions::default()
    };
    let device = Device::software(profile, options)?;
    let memory = Memory::new(&device, MemoryOptions::default());
    Ok(Pipelines::new(&memory))
}
