//! Sets of what shaders may need beyond plain WGSL, as naga's capabilities.

use naga::valid::Capabilities;
use ziggurat_device::ShaderFeature;

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

/// A set of [`ShaderFeature`]s.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ShaderFeatures(Capabilities);

impl ShaderFeatures {
    /// Plain WGSL.
    pub const NONE: Self = Self(Capabilities::empty());

    /// Everything in the table.
    pub fn all() -> Self {
        ShaderFeature::all().fold(Self::NONE, Self::with)
    }

    /// What a wgpu device has.
    pub fn from_wgpu(features: wgpu::Features) -> Self {
        ShaderFeature::all()
            .filter(|feature| features.contains(feature.wgpu()))
            .fold(Self::NONE, Self::with)
    }

    /// This set and one more.
    #[must_use]
    pub fn with(self, feature: ShaderFeature) -> Self {
        Self(self.0.union(capability(feature)))
    }

    /// This set without one.
    #[must_use]
    pub fn without(self, feature: ShaderFeature) -> Self {
        Self(self.0.difference(capability(feature)))
    }

    /// Whether the set has a feature.
    pub fn contains(self, feature: ShaderFeature) -> bool {
        self.0.contains(capability(feature))
    }

    /// The features of the set.
    pub fn iter(self) -> impl Iterator<Item = ShaderFeature> {
        ShaderFeature::all().filter(move |&feature| self.contains(feature))
    }

    /// For naga. `pack2x16float` and its kin, arrays of cubes, and (in the fragment shader of a text that has a kernel as
    /// well) what is done by sample are plain WGSL that some old GLES drivers lack; wgpu finds those.
    pub(crate) fn capabilities(self) -> Capabilities {
        let plain = Capabilities::SHADER_FLOAT16_IN_FLOAT32
            | Capabilities::CUBE_ARRAY_TEXTURES
            | Capabilities::MULTISAMPLED_SHADING;
        self.0.union(plain)
    }
}

impl std::fmt::Debug for ShaderFeatures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_feature_has_a_capability() {
        for feature in ShaderFeature::all() {
            assert!(!capability(feature).is_empty(), "{feature:?}");
            assert!(ShaderFeatures::all().contains(feature));
            assert!(!ShaderFeatures::all().without(feature).contains(feature));
        }
    }

    #[test]
    fn wgpu_features_map_one_to_one() {
        let set = ShaderFeatures::from_wgpu(wgpu::Features::SHADER_F16 | wgpu::Features::SUBGROUP);
        assert_eq!(
            set.iter().collect::<Vec<_>>(),
            [ShaderFeature::F16, ShaderFeature::Subgroups]
        );
    }
}
