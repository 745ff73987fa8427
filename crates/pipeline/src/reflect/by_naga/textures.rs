//! naga's types of textures and samplers in wgpu's words.

use naga::{ImageClass, ImageDimension, ScalarKind, StorageAccess, TypeInner};
use wgpu::{
    BindingType, SamplerBindingType, StorageTextureAccess, TextureSampleType, TextureViewDimension,
};

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
