//! What shaders may need beyond plain WGSL, by wgpu's features. This table is the only place where the two meet.

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
    /// Atomics on texels of storage textures.
    TextureAtomics,
    /// Minimum and maximum on texels of 64 bits.
    Int64TextureAtomics,
    /// Storage textures of 16-bit normalised formats.
    Norm16Textures,
}

struct Row(ShaderFeature, &'static str, wgpu::Features);

const TABLE: [Row; 16] = [
    Row(ShaderFeature::F16, "f16", wgpu::Features::SHADER_F16),
    Row(
        ShaderFeature::Int16,
        "16-bit integers",
        wgpu::Features::SHADER_I16,
    ),
    Row(ShaderFeature::F64, "f64", wgpu::Features::SHADER_F64),
    Row(
        ShaderFeature::Int64,
        "64-bit integers",
        wgpu::Features::SHADER_INT64,
    ),
    Row(
        ShaderFeature::FloatAtomics,
        "f32 atomics",
        wgpu::Features::SHADER_FLOAT32_ATOMIC,
    ),
    Row(
        ShaderFeature::Int64AtomicMinMax,
        "64-bit atomic min and max",
        wgpu::Features::SHADER_INT64_ATOMIC_MIN_MAX,
    ),
    Row(
        ShaderFeature::Int64Atomics,
        "64-bit atomics",
        wgpu::Features::SHADER_INT64_ATOMIC_ALL_OPS,
    ),
    Row(
        ShaderFeature::Subgroups,
        "subgroup operations",
        wgpu::Features::SUBGROUP,
    ),
    Row(
        ShaderFeature::SubgroupBarrier,
        "subgroup barriers",
        wgpu::Features::SUBGROUP_BARRIER,
    ),
    Row(
        ShaderFeature::Immediates,
        "immediates",
        wgpu::Features::IMMEDIATES,
    ),
    Row(
        ShaderFeature::CooperativeMatrix,
        "cooperative matrices",
        wgpu::Features::EXPERIMENTAL_COOPERATIVE_MATRIX,
    ),
    Row(
        ShaderFeature::Coherent,
        "coherent storage",
        wgpu::Features::MEMORY_DECORATION_COHERENT,
    ),
    Row(
        ShaderFeature::Volatile,
        "volatile storage",
        wgpu::Features::MEMORY_DECORATION_VOLATILE,
    ),
    Row(
        ShaderFeature::TextureAtomics,
        "texture atomics",
        wgpu::Features::TEXTURE_ATOMIC,
    ),
    Row(
        ShaderFeature::Int64TextureAtomics,
        "64-bit texture atomics",
        wgpu::Features::TEXTURE_INT64_ATOMIC,
    ),
    Row(
        ShaderFeature::Norm16Textures,
        "16-bit normalised texture formats",
        wgpu::Features::TEXTURE_FORMAT_16BIT_NORM,
    ),
];

impl ShaderFeature {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|row| row.0)
    }

    /// The name used in messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().map_or("an unknown feature", |row| row.1)
    }

    /// What a device must have of it.
    #[must_use]
    pub fn wgpu(self) -> wgpu::Features {
        self.row().map_or(wgpu::Features::empty(), |row| row.2)
    }

    fn row(self) -> Option<&'static Row> {
        TABLE.iter().find(|row| row.0 == self)
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
            assert!(!feature.wgpu().is_empty());
        }
    }
}
