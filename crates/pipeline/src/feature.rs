//! What a shader may need beyond plain WGSL, and what a device has of it.
//!
//! naga knows these as capabilities, wgpu as features; this table is the only place where the two meet.

use naga::valid::Capabilities;

/// One optional ability of the shading language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ShaderFeature {
    /// `enable f16;`
    F16,
    /// 16-bit integers.
    Int16,
    /// 64-bit floats.
    F64,
    /// 64-bit integers.
    Int64,
    /// Atomics on `f32`.
    FloatAtomics,
    /// Minimum and maximum on 64-bit atomics.
    Int64AtomicMinMax,
    /// All operations on 64-bit atomics.
    Int64Atomics,
    /// Subgroup operations.
    Subgroups,
    /// Subgroup barriers.
    SubgroupBarrier,
    /// `var<immediate>`
    Immediates,
    /// Cooperative matrices.
    CooperativeMatrix,
    /// `@coherent` storage.
    Coherent,
    /// `@volatile` storage.
    Volatile,
}

struct Row(ShaderFeature, &'static str, wgpu::Features, Capabilities);

const TABLE: [Row; 13] = [
    Row(
        ShaderFeature::F16,
        "f16",
        wgpu::Features::SHADER_F16,
        Capabilities::SHADER_FLOAT16,
    ),
    Row(
        ShaderFeature::Int16,
        "16-bit integers",
        wgpu::Features::SHADER_I16,
        Capabilities::SHADER_INT16,
    ),
    Row(
        ShaderFeature::F64,
        "f64",
        wgpu::Features::SHADER_F64,
        Capabilities::FLOAT64,
    ),
    Row(
        ShaderFeature::Int64,
        "64-bit integers",
        wgpu::Features::SHADER_INT64,
        Capabilities::SHADER_INT64,
    ),
    Row(
        ShaderFeature::FloatAtomics,
        "f32 atomics",
        wgpu::Features::SHADER_FLOAT32_ATOMIC,
        Capabilities::SHADER_FLOAT32_ATOMIC,
    ),
    Row(
        ShaderFeature::Int64AtomicMinMax,
        "64-bit atomic min and max",
        wgpu::Features::SHADER_INT64_ATOMIC_MIN_MAX,
        Capabilities::SHADER_INT64_ATOMIC_MIN_MAX,
    ),
    Row(
        ShaderFeature::Int64Atomics,
        "64-bit atomics",
        wgpu::Features::SHADER_INT64_ATOMIC_ALL_OPS,
        Capabilities::SHADER_INT64_ATOMIC_ALL_OPS,
    ),
    Row(
        ShaderFeature::Subgroups,
        "subgroup operations",
        wgpu::Features::SUBGROUP,
        Capabilities::SUBGROUP,
    ),
    Row(
        ShaderFeature::SubgroupBarrier,
        "subgroup barriers",
        wgpu::Features::SUBGROUP_BARRIER,
        Capabilities::SUBGROUP_BARRIER,
    ),
    Row(
        ShaderFeature::Immediates,
        "immediates",
        wgpu::Features::IMMEDIATES,
        Capabilities::IMMEDIATES,
    ),
    Row(
        ShaderFeature::CooperativeMatrix,
        "cooperative matrices",
        wgpu::Features::EXPERIMENTAL_COOPERATIVE_MATRIX,
        Capabilities::COOPERATIVE_MATRIX,
    ),
    Row(
        ShaderFeature::Coherent,
        "coherent storage",
        wgpu::Features::MEMORY_DECORATION_COHERENT,
        Capabilities::MEMORY_DECORATION_COHERENT,
    ),
    Row(
        ShaderFeature::Volatile,
        "volatile storage",
        wgpu::Features::MEMORY_DECORATION_VOLATILE,
        Capabilities::MEMORY_DECORATION_VOLATILE,
    ),
];

impl ShaderFeature {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|row| row.0)
    }

    /// The name used in messages.
    pub fn name(self) -> &'static str {
        self.row().map_or("an unknown feature", |row| row.1)
    }

    fn row(self) -> Option<&'static Row> {
        TABLE.iter().find(|row| row.0 == self)
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
        TABLE
            .iter()
            .filter(|row| features.contains(row.2))
            .fold(Self::NONE, |set, row| set.with(row.0))
    }

    /// This set and one more.
    #[must_use]
    pub fn with(self, feature: ShaderFeature) -> Self {
        let one = feature.row().map_or(Capabilities::empty(), |row| row.3);
        Self(self.0.union(one))
    }

    /// This set without one.
    #[must_use]
    pub fn without(self, feature: ShaderFeature) -> Self {
        let one = feature.row().map_or(Capabilities::empty(), |row| row.3);
        Self(self.0.difference(one))
    }

    /// Whether the set has a feature.
    pub fn contains(self, feature: ShaderFeature) -> bool {
        feature.row().is_some_and(|row| self.0.contains(row.3))
    }

    /// The features of the set.
    pub fn iter(self) -> impl Iterator<Item = ShaderFeature> {
        ShaderFeature::all().filter(move |&feature| self.contains(feature))
    }

    /// For naga. `pack2x16float` and its kin are plain WGSL that some old GLES drivers lack; wgpu finds those.
    pub(crate) fn capabilities(self) -> Capabilities {
        self.0.union(Capabilities::SHADER_FLOAT16_IN_FLOAT32)
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
    fn every_feature_has_one_row() {
        for feature in ShaderFeature::all() {
            let rows = TABLE.iter().filter(|row| row.0 == feature).count();
            assert_eq!(rows, 1, "{feature:?}");
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
