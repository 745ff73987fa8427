//! Bind groups: buffers checked against a layout.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use wgpu::custom::BindGroupInterface;
use wgpu::{BindingResource, BindingType, BufferBindingType, BufferUsages};

use super::buffer::{Buffer, BufferData, BufferError};
use super::layout::{BindGroupLayout, LayoutData};
use super::object::{Object, ObjectError, debug_by_name, own};
use super::state::State;

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
    #[error("buffer '{label}' is bound writable and in another way as well")]
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

/// One buffer of a group.
pub(super) struct GroupEntry {
    pub(super) binding: u32,
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
    let (
        BindingResource::Buffer(given),
        BindingType::Buffer {
            ty,
            has_dynamic_offset,
            min_binding_size,
        },
    ) = (&entry.resource, declared.ty)
    else {
        return Err(ObjectError::Unsupported {
            what: "bindings other than single buffers",
        }
        .into());
    };
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
    Ok(GroupEntry {
        binding,
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
        let expected = self.entries.iter().filter(|entry| entry.dynamic).count();
        let got = offsets.len();
        if expected != got {
            return Err(GroupError::DynamicCount { expected, got });
        }
        let mut given = offsets.iter();
        let mut all = Vec::with_capacity(self.entries.len());
        for entry in &self.entries {
            let next = if entry.dynamic { given.next() } else { None };
            let Some(&offset) = next else {
                all.push(0);
                continue;
            };
            let (align, limit) = alignment(&self.state.limits, entry.ty);
            if !offset.is_multiple_of(align.max(1)) {
                return Err(GroupError::Misaligned {
                    binding: entry.binding,
                    offset: u64::from(offset),
                    alignment: align,
                    limit,
                });
            }
            let most = entry.buffer.bytes.saturating_sub(entry.range.end);
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

/// How each buffer is used at once: any number of readers, or one kind of writer.
#[derive(Default)]
pub(super) struct Uses(BTreeMap<u64, Use>);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Read,
    Write,
}

impl Uses {
    /// Adds a binding's use of its buffer.
    pub(super) fn add(&mut self, entry: &GroupEntry) -> Result<(), GroupError> {
        let writes = entry.ty == BufferBindingType::Storage { read_only: false };
        self.insert(&entry.buffer, if writes { Use::Write } else { Use::Read })
    }

    /// Adds a use as the source of an indirect dispatch.
    pub(super) fn add_indirect(&mut self, buffer: &BufferData) -> Result<(), GroupError> {
        self.insert(buffer, Use::Read)
    }

    fn insert(&mut self, buffer: &BufferData, kind: Use) -> Result<(), GroupError> {
        match self.0.insert(buffer.id, kind) {
            Some(before) if before != kind => Err(GroupError::Conflict {
                label: buffer.label().to_owned(),
            }),
            _ => Ok(()),
        }
    }
}
