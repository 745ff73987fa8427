//! Sets of what shaders may need beyond plain WGSL.

use ziggurat_device::ShaderFeature;

/// A set of [`ShaderFeature`]s.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ShaderFeatures(u32);

/// Each feature's bit in a set.
const fn bit(feature: ShaderFeature) -> u32 {
    1 << feature as u32
}

impl ShaderFeatures {
    /// Plain WGSL.
    pub const NONE: Self = Self(0);

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
        Self(self.0 | bit(feature))
    }

    /// This set without one.
    #[must_use]
    pub fn without(self, feature: ShaderFeature) -> Self {
        Self(self.0 & !bit(feature))
    }

    /// Whether the set has a feature.
    pub fn contains(self, feature: ShaderFeature) -> bool {
        self.0 & bit(feature) != 0
    }

    /// The features of the set.
    pub fn iter(self) -> impl Iterator<Item = ShaderFeature> {
        ShaderFeature::all().filter(move |&feature| self.contains(feature))
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
    fn every_feature_is_one_of_its_own() {
        for feature in ShaderFeature::all() {
            assert_eq!(ShaderFeatures::NONE.with(feature).iter().count(), 1);
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
