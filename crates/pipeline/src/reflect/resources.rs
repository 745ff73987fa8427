//! Textures and samplers of a shader, in wgpu's words and in WGSL's.

use std::sync::Arc;

use naga::{ImageClass, ImageDimension, ScalarKind, StorageAccess, TypeInner};
use wgpu::{
    BindingType, SamplerBindingType, StorageTextureAccess, TextureFormat, TextureSampleType,
    TextureViewDimension,
};

use crate::error::PipelineError;
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
    format!("{format:?}").to_lowercase()
}

fn access_name(access: StorageTextureAccess) -> &'static str {
    match access {
        StorageTextureAccess::WriteOnly => "write",
        StorageTextureAccess::ReadOnly => "read",
        StorageTextureAccess::ReadWrite => "read_write",
        StorageTextureAccess::Atomic => "atomic",
    }
}

/// What a variable is bound to; `None` for what cannot be bound here. `sampled`: it is used with a sampler.
pub(super) fn binding_type(inner: &TypeInner, sampled: bool) -> Option<BindingType> {
    let (dim, arrayed, class) = match *inner {
        TypeInner::Sampler { comparison: true } => {
            return Some(BindingType::Sampler(SamplerBindingType::Comparison));
        }
        TypeInner::Sampler { comparison: false } => {
            return Some(BindingType::Sampler(SamplerBindingType::Filtering));
        }
        TypeInner::Image {
            dim,
            arrayed,
            class,
        } => (dim, arrayed, class),
        _ => return None,
    };
    let view_dimension = match (dim, arrayed) {
        (ImageDimension::D1, _) => TextureViewDimension::D1,
        (ImageDimension::D2, false) => TextureViewDimension::D2,
        (ImageDimension::D2, true) => TextureViewDimension::D2Array,
        (ImageDimension::D3, _) => TextureViewDimension::D3,
        (ImageDimension::Cube, false) => TextureViewDimension::Cube,
        (ImageDimension::Cube, true) => TextureViewDimension::CubeArray,
    };
    let texture = |sample_type, multisampled| {
        Some(BindingType::Texture {
            sample_type,
            view_dimension,
            multisampled,
        })
    };
    match class {
        ImageClass::Depth { multi } => texture(TextureSampleType::Depth, multi),
        ImageClass::Sampled { kind, multi } => match kind {
            ScalarKind::Float => {
                let filterable = sampled && !multi;
                texture(TextureSampleType::Float { filterable }, multi)
            }
            ScalarKind::Sint => texture(TextureSampleType::Sint, multi),
            ScalarKind::Uint => texture(TextureSampleType::Uint, multi),
            _ => None,
        },
        ImageClass::Storage { format, access } => Some(BindingType::StorageTexture {
            access: storage_access(access),
            format: wgpu_naga_bridge::map_storage_format_from_naga(format),
            view_dimension,
        }),
        ImageClass::External => None,
    }
}

fn storage_access(access: StorageAccess) -> StorageTextureAccess {
    if access.contains(StorageAccess::ATOMIC) {
        StorageTextureAccess::Atomic
    } else if access.contains(StorageAccess::LOAD | StorageAccess::STORE) {
        StorageTextureAccess::ReadWrite
    } else if access.contains(StorageAccess::STORE) {
        StorageTextureAccess::WriteOnly
    } else {
        StorageTextureAccess::ReadOnly
    }
}

/// Storage textures whose format and access every device of those features has together.
///
/// # Errors
///
/// [`PipelineError::StorageTexture`] for the first that is not.
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
            return Err(PipelineError::StorageTexture {
                kernel: kernel.to_owned(),
                place: Arc::clone(&resource.place),
                name: resource.name.clone(),
                declared: resource.wgsl(),
            });
        }
    }
    Ok(())
}
