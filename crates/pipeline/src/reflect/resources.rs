//! Textures and samplers of a shader, in wgpu's words and in WGSL's.

use std::sync::Arc;

use wgpu::{
    BindingType, SamplerBindingType, StorageTextureAccess, TextureFormat, TextureSampleType,
    TextureViewDimension,
};

use crate::error::{LimitError, PipelineError};
use crate::place::Place;

/// A texture or a sampler of a shader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// The bind group.
    pub group: u32,
    /// The binding index in the group.
    pub binding: u32,
    /// The variable's name.
    pub name: String,
    /// Where it is declared.
    pub place: Arc<Place>,
    /// What it is. A texture of floats is filterable if the entry point samples it with a sampler.
    pub ty: BindingType,
}

impl Resource {
    /// Its type as WGSL writes it.
    #[must_use]
    pub fn wgsl(&self) -> String {
        match self.ty {
            BindingType::Sampler(SamplerBindingType::Comparison) => "sampler_comparison".to_owned(),
            BindingType::Sampler(_) => "sampler".to_owned(),
            BindingType::Texture {
                sample_type,
                view_dimension,
                multisampled,
            } => {
                let shape = dimension(view_dimension);
                let multisampled = if multisampled { "multisampled_" } else { "" };
                match sample_type {
                    TextureSampleType::Depth => format!("texture_depth_{multisampled}{shape}"),
                    TextureSampleType::Float { .. } => {
                        format!("texture_{multisampled}{shape}<f32>")
                    }
                    TextureSampleType::Sint => format!("texture_{multisampled}{shape}<i32>"),
                    TextureSampleType::Uint => format!("texture_{multisampled}{shape}<u32>"),
                }
            }
            BindingType::StorageTexture {
                access,
                format,
                view_dimension,
            } => format!(
                "texture_storage_{}<{}, {}>",
                dimension(view_dimension),
                format_name(format),
                access_name(access)
            ),
            _ => "an unknown type".to_owned(),
        }
    }

    /// Whether the shader may write it.
    pub(crate) fn writes(&self) -> bool {
        matches!(
            self.ty,
            BindingType::StorageTexture { access, .. } if access != StorageTextureAccess::ReadOnly
        )
    }
}

/// `2d_array`, as in `texture_2d_array`.
pub(crate) fn dimension(dimension: TextureViewDimension) -> &'static str {
    match dimension {
        TextureViewDimension::D1 => "1d",
        TextureViewDimension::D2 => "2d",
        TextureViewDimension::D2Array => "2d_array",
        TextureViewDimension::Cube => "cube",
        TextureViewDimension::CubeArray => "cube_array",
        TextureViewDimension::D3 => "3d",
    }
}

/// `rgba8unorm`
pub(crate) fn format_name(format: TextureFormat) -> String {
    format!("{format:?}").to_ascii_lowercase()
}

fn access_name(access: StorageTextureAccess) -> &'static str {
    match access {
        StorageTextureAccess::WriteOnly => "write",
        StorageTextureAccess::ReadOnly => "read",
        StorageTextureAccess::ReadWrite => "read_write",
        StorageTextureAccess::Atomic => "atomic",
    }
}

/// Storage textures whose format and access every device of those features has together.
///
/// # Errors
///
/// [`LimitError::StorageTexture`] for the first that is not.
pub(crate) fn check_formats(
    kernel: &str,
    resources: &[Resource],
    features: wgpu::Features,
) -> Result<(), PipelineError> {
    use wgpu::TextureFormatFeatureFlags as Flags;
    // Then the adapter has its own rules, which wgpu knows.
    if features.contains(wgpu::Features::TEXTURE_ADAPTER_SPECIFIC_FORMAT_FEATURES) {
        return Ok(());
    }
    for resource in resources {
        let BindingType::StorageTexture { access, format, .. } = resource.ty else {
            continue;
        };
        let has = format.guaranteed_format_features(features).flags;
        let needs = match access {
            StorageTextureAccess::ReadOnly => Flags::STORAGE_READ_ONLY,
            StorageTextureAccess::WriteOnly => Flags::STORAGE_WRITE_ONLY,
            StorageTextureAccess::ReadWrite => Flags::STORAGE_READ_WRITE,
            StorageTextureAccess::Atomic => Flags::STORAGE_ATOMIC,
        };
        if !has.contains(needs) {
            return Err(PipelineError::Limit(LimitError::StorageTexture {
                kernel: kernel.to_owned(),
                place: Arc::clone(&resource.place),
                name: resource.name.clone(),
                declared: resource.wgsl(),
            }));
        }
    }
    Ok(())
}
