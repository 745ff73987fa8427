//! What an entry point needs from its surroundings, read from naga's module.
//!
//! The module is taken after its overrides have their values, so that sizes which depend on them
//! are known.

use naga::valid::{ImmediateSlots, ModuleInfo};
use naga::{AddressSpace, Module, ShaderStage, StorageAccess};
use wgpu::{BindingType, BufferBindingType};

/// A variable with a binding that the entry point uses.
pub(super) struct Resource {
    pub(super) group: u32,
    pub(super) binding: u32,
    pub(super) name: String,
    /// What it has to be bound to, without dynamic offsets; `None` for what is never bound here.
    pub(super) ty: Option<BindingType>,
    /// Bytes that a buffer has to have at least.
    pub(super) bytes: u64,
}

/// The needs of one entry point.
pub(super) struct Interface {
    pub(super) workgroup_size: [u32; 3],
    /// Bytes of workgroup memory, as WebGPU counts them.
    pub(super) workgroup_bytes: u64,
    pub(super) resources: Vec<Resource>,
    /// The immediate words that the entry point reads.
    pub(super) immediates: ImmediateSlots,
    /// Size of the module's immediates.
    pub(super) immediate_bytes: u32,
}

/// Each workgroup variable counts as if rounded up to this.
const WORKGROUP_ALIGNMENT: u64 = 16;

/// The compute entry points by name.
pub(super) fn entry_points(module: &Module) -> impl Iterator<Item = &str> {
    let points = module.entry_points.iter();
    points
        .filter(|point| point.stage == ShaderStage::Compute)
        .map(|point| point.name.as_str())
}

/// The needs of the compute entry point `entry`; `None` if there is none of that name.
pub(super) fn interface(module: &Module, info: &ModuleInfo, entry: &str) -> Option<Interface> {
    let (index, point) = module
        .entry_points
        .iter()
        .enumerate()
        .find(|(_, point)| point.stage == ShaderStage::Compute && point.name == entry)?;
    let used = info.get_entry_point(index);
    let mut resources = Vec::new();
    let mut workgroup_bytes: u64 = 0;
    for (handle, variable) in module.global_variables.iter() {
        if used[handle].is_empty() {
            continue;
        }
        let inner = &module.types[variable.ty].inner;
        let bytes = u64::from(inner.try_size(module.to_ctx()).unwrap_or(u32::MAX));
        if variable.space == AddressSpace::WorkGroup {
            let rounded = bytes.div_ceil(WORKGROUP_ALIGNMENT) * WORKGROUP_ALIGNMENT;
            workgroup_bytes = workgroup_bytes.saturating_add(rounded);
        }
        let Some(bound) = variable.binding else {
            continue;
        };
        let array = matches!(inner, naga::TypeInner::BindingArray { .. });
        let buffer = |ty| BindingType::Buffer {
            ty,
            has_dynamic_offset: false,
            min_binding_size: wgpu::BufferSize::new(bytes),
        };
        let is_filtered = used.sampling_set.iter().any(|key| key.image == handle);
        let ty = match variable.space {
            _ if array => None,
            AddressSpace::Uniform => Some(buffer(BufferBindingType::Uniform)),
            AddressSpace::Storage { access } => Some(buffer(BufferBindingType::Storage {
                read_only: access == StorageAccess::LOAD,
            })),
            AddressSpace::Handle => handle_type(inner, is_filtered),
            _ => None,
        };
        resources.push(Resource {
            group: bound.group,
            binding: bound.binding,
            name: variable.name.clone().unwrap_or_default(),
            ty,
            bytes: if variable.space == AddressSpace::Handle {
                0
            } else {
                bytes
            },
        });
    }
    Some(Interface {
        workgroup_size: point.workgroup_size,
        workgroup_bytes,
        resources,
        immediates: used.immediate_slots_used,
        immediate_bytes: ImmediateSlots::size_for_module(module),
    })
}

/// What a texture or sampler is bound to.
fn handle_type(inner: &naga::TypeInner, is_filtered: bool) -> Option<BindingType> {
    use naga::{ImageClass as Class, ImageDimension as Dimension, ScalarKind};
    use wgpu::{StorageTextureAccess, TextureSampleType, TextureViewDimension as View};
    let naga::TypeInner::Image {
        dim,
        arrayed,
        class,
    } = *inner
    else {
        let naga::TypeInner::Sampler { comparison } = *inner else {
            return None;
        };
        return Some(BindingType::Sampler(match comparison {
            true => wgpu::SamplerBindingType::Comparison,
            false => wgpu::SamplerBindingType::Filtering,
        }));
    };
    let view_dimension = match (dim, arrayed) {
        (Dimension::D1, _) => View::D1,
        (Dimension::D2, false) => View::D2,
        (Dimension::D2, true) => View::D2Array,
        (Dimension::D3, _) => View::D3,
        (Dimension::Cube, false) => View::Cube,
        (Dimension::Cube, true) => View::CubeArray,
    };
    let sampled = |sample_type, multisampled| BindingType::Texture {
        sample_type,
        view_dimension,
        multisampled,
    };
    Some(match class {
        Class::Sampled { kind, multi } => {
            let float = TextureSampleType::Float {
                filterable: is_filtered,
            };
            let sample_type = match kind {
                ScalarKind::Sint => TextureSampleType::Sint,
                ScalarKind::Uint => TextureSampleType::Uint,
                _ => float,
            };
            sampled(sample_type, multi)
        }
        Class::Depth { multi } => sampled(TextureSampleType::Depth, multi),
        Class::External => BindingType::ExternalTexture,
        Class::Storage { format, access } => BindingType::StorageTexture {
            access: match (
                access.contains(StorageAccess::LOAD),
                access.contains(StorageAccess::STORE),
            ) {
                _ if access.contains(StorageAccess::ATOMIC) => StorageTextureAccess::Atomic,
                (true, true) => StorageTextureAccess::ReadWrite,
                (false, true) => StorageTextureAccess::WriteOnly,
                (_, false) => StorageTextureAccess::ReadOnly,
            },
            format: wgpu_naga_bridge::map_storage_format_from_naga(format),
            view_dimension,
        },
    })
}
