//! What shaders may need beyond plain WGSL, as naga's capabilities.

use naga::valid::Capabilities;
use ziggurat_device::ShaderFeature;

use crate::feature::ShaderFeatures;

fn capability(feature: ShaderFeature) -> Capabilities {
    match feature {
        ShaderFeature::F16 => Capabilities::SHADER_FLOAT16,
        ShaderFeature::Int16 => Capabilities::SHADER_INT16,
        ShaderFeature::F64 => Capabilities::FLOAT64,
        ShaderFeature::Int64 => Capabilities::SHADER_INT64,
        ShaderFeature::FloatAtomics => Capabilities::SHADER_FLOAT32_ATOMIC,
        ShaderFeature::Int64AtomicMinMax => Capabilities::SHADER_INT64_ATOMIC_MIN_MAX,
        ShaderFeature::Int64Atomics => Capabilities::SHADER_INT64_ATOMIC_ALL_OPS,
        ShaderFeature::Subgroups => Capabilities::SUBGROUP,
        ShaderFeature::SubgroupBarrier => Capabilities::SUBGROUP_BARRIER,
        ShaderFeature::Immediates => Capabilities::IMMEDIATES,
        ShaderFeature::CooperativeMatrix => Capabilities::COOPERATIVE_MATRIX,
        ShaderFeature::Coherent => Capabilities::MEMORY_DECORATION_COHERENT,
        ShaderFeature::Volatile => Capabilities::MEMORY_DECORATION_VOLATILE,
        ShaderFeature::TextureAtomics => Capabilities::TEXTURE_ATOMIC,
        ShaderFeature::Int64TextureAtomics => Capabilities::TEXTURE_INT64_ATOMIC,
        ShaderFeature::Norm16Textures => Capabilities::STORAGE_TEXTURE_16BIT_NORM_FORMATS,
        // What a newer device crate knows, and this one does not yet.
        _ => Capabilities::empty(),
    }
}

/// For naga. `pack2x16float` and its kin, arrays of cubes, and (in the fragment shader of a text that has a kernel as
/// well) what is done by sample are plain WGSL that some old GLES drivers lack; wgpu finds those.
pub(super) fn capabilities(features: ShaderFeatures) -> Capabilities {
    let plain = Capabilities::SHADER_FLOAT16_IN_FLOAT32
        | Capabilities::CUBE_ARRAY_TEXTURES
        | Capabilities::MULTISAMPLED_SHADING;
    features
        .iter()
        .map(capability)
        .fold(plain, Capabilities::union)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_feature_has_a_capability() {
        for feature in ShaderFeature::all() {
            assert!(!capability(feature).is_empty(), "{feature:?}");
        }
    }
}
