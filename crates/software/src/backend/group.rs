//! Bind groups: buffers, textures and samplers checked against a layout.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use wgpu::custom::BindGroupInterface;
use wgpu::{
    BindingResource, BindingType, BufferBindingType, BufferUsages, SamplerBindingType,
    StorageTextureAccess, TextureSampleType, TextureUsages,
};

use super::buffer::{Buffer, BufferData, BufferError};
use super::layout::{BindGroupLayout, LayoutData};
use super::object::{Object, ObjectError, debug_by_name, own};
use super::state::State;
use super::texture::{Sampler, TextureError, TextureView, ViewData};
use crate::engine;

/// Sizes of storage bindings are multiples of this.
const STORAGE_SIZE_ALIGNMENT: u64 = 4;

/// Why a bind group cannot be made or set.
#[derive(Debug, thiserror::Error)]
pub(super) enum GroupError {
    #[error(transparent)]
    Object(#[from] ObjectError),
    #[error(transparent)]
    Buffer(#[from] BufferError),
    #[error("{got} bindings given for a layout of {expected}")]
    Count { expected: usize, got: usize },
    #[error("binding {binding} is given twice")]
    Duplicate { binding: u32 },
    #[error("binding {binding} is not in the layout")]
    NotInLayout { binding: u32 },
    #[error("offset {offset} of binding {binding} is not a multiple of {alignment}, {limit}")]
    Misaligned {
        binding: u32,
        offset: u64,
        alignment: u32,
        limit: &'static str,
    },
    #[error(
        "binding {binding} wants {bytes:?} bytes from {offset} of buffer '{label}', which has \
         {buffer_bytes}"
    )]
    OutOfRange {
        binding: u32,
        offset: u64,
        bytes: Option<u64>,
        label: String,
        buffer_bytes: u64,
    },
    #[error("binding {binding} has no bytes")]
    Empty { binding: u32 },
    #[error("size {bytes} of storage binding {binding} is not a multiple of 4")]
    UnalignedSize { binding: u32, bytes: u64 },
    #[error("{bytes} bytes of binding {binding} exceed the limit {name}, {limit}")]
    TooLarge {
        binding: u32,
        bytes: u64,
        name: &'static str,
        limit: u64,
    },
    #[error("{bytes} bytes of binding {binding} are less than the layout's minimum {least}")]
    TooSmall {
        binding: u32,
        bytes: u64,
        least: u64,
    },
    #[error(transparent)]
    Texture(#[from] TextureError),
    #[error("binding {binding} is of another kind than the layout's {ty:?}")]
    WrongKind { binding: u32, ty: BindingType },
    #[error(
        "the view of texture '{label}' ({format:?}, {dimension:?}) does not fit binding {binding}, \
         {expected:?}"
    )]
    WrongView {
        binding: u32,
        label: String,
        format: wgpu::TextureFormat,
        dimension: wgpu::TextureViewDimension,
        expected: BindingType,
    },
    #[error("the sampler of binding {binding} is not {kind:?}")]
    WrongSampler {
        binding: u32,
        kind: SamplerBindingType,
    },
    #[error("'{label}' is bound writable and in another way as well")]
    Conflict { label: String },
    #[error("{got} dynamic offsets given for {expected} dynamic bindings")]
    DynamicCount { expected: usize, got: usize },
    #[error("dynamic offset {offset} of binding {binding} is beyond {most}")]
    DynamicOutOfRange {
        binding: u32,
        offset: u32,
        most: u64,
    },
}

/// One resource of a group.
pub(super) struct GroupEntry {
    pub(super) binding: u32,
    pub(super) what: Resource,
}

/// What is bound.
pub(super) enum Resource {
    Buffer(GroupBuffer),
    Texture { view: Arc<ViewData>, writes: bool },
    Sampler(engine::Sampler),
}

/// One buffer of a group.
pub(super) struct GroupBuffer {
    pub(super) buffer: Arc<BufferData>,
    pub(super) range: Range<u64>,
    pub(super) ty: BufferBindingType,
    dynamic: bool,
}

/// A bind group, shared by recorded commands.
pub(super) struct GroupData {
    state: Arc<State>,
    label: String,
    /// `None` if invalid.
    pub(super) layout: Option<Arc<LayoutData>>,
    /// In order of their binding.
    pub(super) entries: Vec<GroupEntry>,
}

/// wgpu's handle.
pub(super) struct BindGroup(pub(super) Arc<GroupData>);

debug_by_name!(BindGroup, GroupData);

impl Object for BindGroup {
    const KIND: &'static str = "BindGroup";
    fn state(&self) -> &Arc<State> {
        &self.0.state
    }
    fn label(&self) -> &str {
        &self.0.label
    }
    fn is_valid(&self) -> bool {
        self.0.layout.is_some()
    }
}

impl BindGroupInterface for BindGroup {}

impl BindGroup {
    pub(super) fn create(state: &Arc<State>, desc: &wgpu::BindGroupDescriptor<'_>) -> Self {
        let label = desc.label.unwrap_or_default();
        let (layout, entries) = match check(state, desc) {
            Ok((layout, entries)) => (Some(layout).filter(|_| !state.is_lost()), entries),
            Err(error) => {
                state.invalid("Device::create_bind_group", label, error);
                (None, Vec::new())
            }
        };
        Self(Arc::new(GroupData {
            state: Arc::clone(state),
            label: label.to_owned(),
            layout,
            entries,
        }))
    }
}

/// The offset alignment of a kind of binding, and the limit that says it.
fn alignment(limits: &wgpu::Limits, ty: BufferBindingType) -> (u32, &'static str) {
    match ty {
        BufferBindingType::Uniform => (
            limits.min_uniform_buffer_offset_alignment,
            "min_uniform_buffer_offset_alignment",
        ),
        BufferBindingType::Storage { .. } => (
            limits.min_storage_buffer_offset_alignment,
            "min_storage_buffer_offset_alignment",
        ),
    }
}

fn check(
    state: &Arc<State>,
    desc: &wgpu::BindGroupDescriptor<'_>,
) -> Result<(Arc<LayoutData>, Vec<GroupEntry>), GroupError> {
    let layout = &own(state, desc.layout.as_custom::<BindGroupLayout>())?.0;
    let (expected, got) = (layout.entries.len(), desc.entries.len());
    if expected != got {
        return Err(GroupError::Count { expected, got });
    }
    let mut entries = BTreeMap::new();
    for entry in desc.entries {
        let checked = check_entry(state, layout, entry)?;
        let binding = entry.binding;
        if entries.insert(binding, checked).is_some() {
            return Err(GroupError::Duplicate { binding });
        }
    }
    Ok((Arc::clone(layout), entries.into_values().collect()))
}

fn check_entry(
    state: &Arc<State>,
    layout: &LayoutData,
    entry: &wgpu::BindGroupEntry<'_>,
) -> Result<GroupEntry, GroupError> {
    let binding = entry.binding;
    let Some(declared) = layout.entries.get(&binding) else {
        return Err(GroupError::NotInLayout { binding });
    };
    let what = match (&entry.resource, declared.ty) {
        (
            BindingResource::Buffer(given),
            BindingType::Buffer {
                ty,
                has_dynamic_offset,
                min_binding_size,
            },
        ) => Resource::Buffer(check_buffer(
            state,
            binding,
            given,
            (ty, has_dynamic_offset, min_binding_size),
        )?),
        (BindingResource::TextureView(view), _) => {
            let view = &own(state, view.as_custom::<TextureView>())?.0;
            let writes = check_view(state, binding, view, declared.ty)?;
            Resource::Texture {
                view: Arc::clone(view),
                writes,
            }
        }
        (BindingResource::Sampler(sampler), BindingType::Sampler(kind)) => {
            let sampler = own(state, sampler.as_custom::<Sampler>())?;
            let filters = kind == SamplerBindingType::NonFiltering && sampler.is_filtering;
            if filters || kind == SamplerBindingType::Comparison {
                return Err(GroupError::WrongSampler { binding, kind });
            }
            Resource::Sampler(sampler.rules)
        }
        (BindingResource::BufferArray(_) | BindingResource::TextureViewArray(_), _) => {
            return Err(ObjectError::Unsupported {
                what: "bindings of arrays",
            }
            .into());
        }
        (_, ty) => return Err(GroupError::WrongKind { binding, ty }),
    };
    Ok(GroupEntry { binding, what })
}

/// A view fits what the layout says; whether it is written.
fn check_view(
    state: &State,
    binding: u32,
    view: &ViewData,
    declared: BindingType,
) -> Result<bool, GroupError> {
    let wrong = |expected| GroupError::WrongView {
        binding,
        label: view.label().to_owned(),
        format: view.format,
        dimension: view.dimension,
        expected,
    };
    let need = |usage| match view.usage.contains(usage) {
        true => Ok(()),
        false => Err(view
            .texture
            .require_usage(usage)
            .err()
            .map_or_else(|| wrong(declared), GroupError::Texture)),
    };
    match declared {
        BindingType::Texture {
            sample_type,
            view_dimension,
            multisampled: false,
        } => {
            need(TextureUsages::TEXTURE_BINDING)?;
            let is = view.format.sample_type(None, Some(state.features));
            let fits = match (sample_type, is) {
                (
                    TextureSampleType::Float { filterable },
                    Some(TextureSampleType::Float { filterable: can }),
                ) => can || !filterable,
                (wanted, is) => Some(wanted) == is,
            };
            if fits && view.dimension == view_dimension {
                Ok(false)
            } else {
                Err(wrong(declared))
            }
        }
        BindingType::StorageTexture {
            access,
            format,
            view_dimension,
        } => {
            need(TextureUsages::STORAGE_BINDING)?;
            if access == StorageTextureAccess::Atomic {
                need(TextureUsages::STORAGE_ATOMIC)?;
            }
            let one = view.levels.end - view.levels.start == 1;
            if view.format == format && view.dimension == view_dimension && one {
                Ok(access != StorageTextureAccess::ReadOnly)
            } else {
                Err(wrong(declared))
            }
        }
        ty => Err(GroupError::WrongKind { binding, ty }),
    }
}

fn check_buffer(
    state: &Arc<State>,
    binding: u32,
    given: &wgpu::BufferBinding<'_>,
    (ty, has_dynamic_offset, min_binding_size): (BufferBindingType, bool, Option<wgpu::BufferSize>),
) -> Result<GroupBuffer, GroupError> {
    let limits = &state.limits;
    let (align, limit) = alignment(limits, ty);
    if !given.offset.is_multiple_of(u64::from(align.max(1))) {
        return Err(GroupError::Misaligned {
            binding,
            offset: given.offset,
            alignment: align,
            limit,
        });
    }
    let buffer = &own(state, given.buffer.as_custom::<Buffer>())?.0;
    let (usage, name, most) = match ty {
        BufferBindingType::Uniform => (
            BufferUsages::UNIFORM,
            "max_uniform_buffer_binding_size",
            limits.max_uniform_buffer_binding_size,
        ),
        BufferBindingType::Storage { .. } => (
            BufferUsages::STORAGE,
            "max_storage_buffer_binding_size",
            limits.max_storage_buffer_binding_size,
        ),
    };
    buffer.require_usage(usage)?;
    buffer.storage()?;
    let rest = buffer.bytes.checked_sub(given.offset);
    let wanted = given.size.map(std::num::NonZero::get);
    let bytes = rest
        .map(|rest| wanted.unwrap_or(rest))
        .filter(|&bytes| rest.is_some_and(|rest| bytes <= rest))
        .ok_or_else(|| GroupError::OutOfRange {
            binding,
            offset: given.offset,
            bytes: wanted,
            label: buffer.label().to_owned(),
            buffer_bytes: buffer.bytes,
        })?;
    if bytes == 0 {
        return Err(GroupError::Empty { binding });
    }
    if ty != BufferBindingType::Uniform && !bytes.is_multiple_of(STORAGE_SIZE_ALIGNMENT) {
        return Err(GroupError::UnalignedSize { binding, bytes });
    }
    if bytes > most {
        return Err(GroupError::TooLarge {
            binding,
            bytes,
            name,
            limit: most,
        });
    }
    if let Some(least) = min_binding_size.map(std::num::NonZero::get)
        && bytes < least
    {
        return Err(GroupError::TooSmall {
            binding,
            bytes,
            least,
        });
    }
    Ok(GroupBuffer {
        buffer: Arc::clone(buffer),
        range: given.offset..given.offset + bytes,
        ty,
        dynamic: has_dynamic_offset,
    })
}

impl GroupData {
    pub(super) fn label(&self) -> &str {
        &self.label
    }

    /// Checks dynamic offsets and gives one for every entry, 0 for those that are not dynamic.
    pub(super) fn dynamic_offsets(&self, offsets: &[u32]) -> Result<Vec<u64>, GroupError> {
        let is_dynamic =
            |entry: &&GroupEntry| matches!(&entry.what, Resource::Buffer(b) if b.dynamic);
        let expected = self.entries.iter().filter(is_dynamic).count();
        let got = offsets.len();
        if expected != got {
            return Err(GroupError::DynamicCount { expected, got });
        }
        let mut given = offsets.iter();
        let mut all = Vec::with_capacity(self.entries.len());
        for entry in &self.entries {
            let buffer = match &entry.what {
                Resource::Buffer(buffer) if buffer.dynamic => Some(buffer),
                _ => None,
            };
            let Some((buffer, &offset)) = buffer.and_then(|buffer| Some((buffer, given.next()?)))
            else {
                all.push(0);
                continue;
            };
            let (align, limit) = alignment(&self.state.limits, buffer.ty);
            if !offset.is_multiple_of(align.max(1)) {
                return Err(GroupError::Misaligned {
                    binding: entry.binding,
                    offset: u64::from(offset),
                    alignment: align,
                    limit,
                });
            }
            let most = buffer.buffer.bytes.saturating_sub(buffer.range.end);
            if u64::from(offset) > most {
                return Err(GroupError::DynamicOutOfRange {
                    binding: entry.binding,
                    offset,
                    most,
                });
            }
            all.push(u64::from(offset));
        }
        Ok(all)
    }
}
