//! Bind group layouts and pipeline layouts, and the limits that count their bindings.

use std::collections::BTreeMap;
use std::sync::Arc;

use wgpu::custom::{BindGroupLayoutInterface, DispatchBindGroupLayout, PipelineLayoutInterface};
use wgpu::{
    BindGroupLayoutEntry, BindingType, BufferBindingType, ShaderStages, StorageTextureAccess,
};

use super::object::{Object, ObjectError, debug_by_name, own};
use super::state::State;

/// Why a layout cannot be made.
#[derive(Debug, thiserror::Error)]
pub(super) enum LayoutError {
    #[error(transparent)]
    Object(#[from] ObjectError),
    #[error("binding {binding} appears twice")]
    DuplicateBinding { binding: u32 },
    #[error("binding {binding} is not below the limit max_bindings_per_bind_group, {limit}")]
    BindingIndex { binding: u32, limit: u32 },
    #[error("{access:?} access to storage textures of {format:?} (binding {binding})")]
    StorageTexture {
        binding: u32,
        format: wgpu::TextureFormat,
        access: StorageTextureAccess,
    },
    #[error("binding {binding} is writable storage and visible to the vertex stage")]
    WritableInVertex { binding: u32 },
    #[error("visibility {visibility:?} of binding {binding} has unknown bits")]
    Visibility {
        binding: u32,
        visibility: ShaderStages,
    },
    #[error("{count} {what} exceed the limit {name}, {limit}")]
    TooMany {
        what: &'static str,
        count: u32,
        name: &'static str,
        limit: u32,
    },
    #[error("{count} bind group layouts exceed the limit max_bind_groups, {limit}")]
    TooManyGroups { count: usize, limit: u32 },
    #[error("immediate size {bytes} exceeds the limit max_immediate_size, {limit}")]
    ImmediatesTooLarge { bytes: u32, limit: u32 },
    #[error("immediate size {bytes} is not a multiple of 4")]
    UnalignedImmediates { bytes: u32 },
    #[error(
        "bind group layout {index} was derived from a pipeline and cannot be part of a pipeline \
         layout"
    )]
    DerivedLayout { index: usize },
}

pub(super) type Entries = BTreeMap<u32, BindGroupLayoutEntry>;

/// A bind group layout, shared by pipelines and bind groups.
pub(super) struct LayoutData {
    state: Arc<State>,
    label: String,
    pub(super) entries: Entries,
    /// The pipeline that it was derived for, if it was: only that one's groups fit.
    exclusive: Option<u64>,
    valid: bool,
}

impl LayoutData {
    /// Whether a bind group of this layout may be used where `wanted` is.
    pub(super) fn fits(&self, wanted: &Self) -> bool {
        std::ptr::eq(self, wanted)
            || (self.exclusive == wanted.exclusive && self.entries == wanted.entries)
    }
}

/// wgpu's handle.
pub(super) struct BindGroupLayout(pub(super) Arc<LayoutData>);

impl Object for BindGroupLayout {
    const KIND: &'static str = "BindGroupLayout";
    fn state(&self) -> &Arc<State> {
        &self.0.state
    }
    fn label(&self) -> &str {
        &self.0.label
    }
    fn is_valid(&self) -> bool {
        self.0.valid
    }
}

impl BindGroupLayoutInterface for BindGroupLayout {}

impl BindGroupLayout {
    pub(super) fn create(state: &Arc<State>, desc: &wgpu::BindGroupLayoutDescriptor<'_>) -> Self {
        let label = desc.label.unwrap_or_default();
        match check_entries(state, desc.entries) {
            Ok(entries) => Self::new(state, label, entries, None),
            Err(error) => {
                state.invalid("Device::create_bind_group_layout", label, error);
                Self::invalid(state, label)
            }
        }
    }

    /// A layout known to be right; `exclusive` is the pipeline that it is derived for.
    pub(super) fn new(
        state: &Arc<State>,
        label: &str,
        entries: Entries,
        exclusive: Option<u64>,
    ) -> Self {
        Self(Arc::new(LayoutData {
            state: Arc::clone(state),
            label: label.to_owned(),
            entries,
            exclusive,
            valid: !state.is_lost(),
        }))
    }

    pub(super) fn invalid(state: &Arc<State>, label: &str) -> Self {
        Self(Arc::new(LayoutData {
            state: Arc::clone(state),
            label: label.to_owned(),
            entries: Entries::new(),
            exclusive: None,
            valid: false,
        }))
    }

    pub(super) fn dispatch(data: &Arc<LayoutData>) -> DispatchBindGroupLayout {
        DispatchBindGroupLayout::custom(Self(Arc::clone(data)))
    }
}

fn check_entries(state: &State, list: &[BindGroupLayoutEntry]) -> Result<Entries, LayoutError> {
    let limit = state.limits.max_bindings_per_bind_group;
    let mut entries = Entries::new();
    for entry in list {
        let binding = entry.binding;
        if entries.insert(binding, *entry).is_some() {
            return Err(LayoutError::DuplicateBinding { binding });
        }
        if binding >= limit {
            return Err(LayoutError::BindingIndex { binding, limit });
        }
        if ShaderStages::from_bits(entry.visibility.bits()).is_none() {
            return Err(LayoutError::Visibility {
                binding,
                visibility: entry.visibility,
            });
        }
        if entry.count.is_some() {
            state.require(wgpu::Features::BUFFER_BINDING_ARRAY)?;
        }
        let writable = match entry.ty {
            BindingType::Buffer { ty, .. } => ty == BufferBindingType::Storage { read_only: false },
            BindingType::Sampler(_) | BindingType::Texture { .. } => false,
            BindingType::StorageTexture { access, format, .. } => {
                check_storage_texture(state, binding, format, access)?;
                access != StorageTextureAccess::ReadOnly
            }
            BindingType::AccelerationStructure { .. } | BindingType::ExternalTexture => {
                return Err(ObjectError::Unsupported {
                    what: "bindings other than buffers, textures and samplers",
                }
                .into());
            }
        };
        if writable
            && entry.visibility.contains(ShaderStages::VERTEX)
            && !state
                .features
                .contains(wgpu::Features::VERTEX_WRITABLE_STORAGE)
        {
            return Err(LayoutError::WritableInVertex { binding });
        }
    }
    let mut counts = Counts::default();
    counts.add(&entries);
    counts.check(&state.limits)?;
    Ok(entries)
}

/// A storage texture has a format and an access that go together.
fn check_storage_texture(
    state: &State,
    binding: u32,
    format: wgpu::TextureFormat,
    access: StorageTextureAccess,
) -> Result<(), LayoutError> {
    use wgpu::TextureFormatFeatureFlags as Flags;
    let has = state.format_features(format).flags;
    let fits = match access {
        StorageTextureAccess::ReadOnly => has.contains(Flags::STORAGE_READ_ONLY),
        StorageTextureAccess::WriteOnly => has.contains(Flags::STORAGE_WRITE_ONLY),
        StorageTextureAccess::ReadWrite => has.contains(Flags::STORAGE_READ_WRITE),
        StorageTextureAccess::Atomic => has.contains(Flags::STORAGE_ATOMIC),
    };
    if fits {
        return Ok(());
    }
    Err(LayoutError::StorageTexture {
        binding,
        format,
        access,
    })
}

/// How many bindings of each limited kind a pipeline layout has.
#[derive(Default)]
struct Counts {
    storage: [u32; 3],
    uniform: [u32; 3],
    sampled_textures: [u32; 3],
    storage_textures: [u32; 3],
    samplers: [u32; 3],
    dynamic_storage: u32,
    dynamic_uniform: u32,
}

const STAGES: [ShaderStages; 3] = [
    ShaderStages::VERTEX,
    ShaderStages::FRAGMENT,
    ShaderStages::COMPUTE,
];

impl Counts {
    fn add(&mut self, entries: &Entries) {
        for entry in entries.values() {
            let per_stage = match entry.ty {
                BindingType::Buffer {
                    ty: BufferBindingType::Uniform,
                    has_dynamic_offset,
                    ..
                } => {
                    self.dynamic_uniform += u32::from(has_dynamic_offset);
                    &mut self.uniform
                }
                BindingType::Buffer {
                    has_dynamic_offset, ..
                } => {
                    self.dynamic_storage += u32::from(has_dynamic_offset);
                    &mut self.storage
                }
                BindingType::Texture { .. } => &mut self.sampled_textures,
                BindingType::StorageTexture { .. } => &mut self.storage_textures,
                BindingType::Sampler(_) => &mut self.samplers,
                BindingType::AccelerationStructure { .. } | BindingType::ExternalTexture => {
                    continue;
                }
            };
            for (count, stage) in per_stage.iter_mut().zip(STAGES) {
                *count += u32::from(entry.visibility.contains(stage));
            }
        }
    }

    fn check(&self, limits: &wgpu::Limits) -> Result<(), LayoutError> {
        let most = |counts: [u32; 3]| counts.into_iter().max().unwrap_or(0);
        let both = std::array::from_fn(|stage| {
            let of = |counts: &[u32; 3]| counts.get(stage).copied().unwrap_or(0);
            of(&self.storage) + of(&self.uniform)
        });
        let rules = [
            (
                "storage buffers in one stage",
                most(self.storage),
                "max_storage_buffers_per_shader_stage",
                limits.max_storage_buffers_per_shader_stage,
            ),
            (
                "uniform buffers in one stage",
                most(self.uniform),
                "max_uniform_buffers_per_shader_stage",
                limits.max_uniform_buffers_per_shader_stage,
            ),
            (
                "sampled textures in one stage",
                most(self.sampled_textures),
                "max_sampled_textures_per_shader_stage",
                limits.max_sampled_textures_per_shader_stage,
            ),
            (
                "storage textures in one stage",
                most(self.storage_textures),
                "max_storage_textures_per_shader_stage",
                limits.max_storage_textures_per_shader_stage,
            ),
            (
                "samplers in one stage",
                most(self.samplers),
                "max_samplers_per_shader_stage",
                limits.max_samplers_per_shader_stage,
            ),
            (
                "buffers in one stage",
                most(both),
                "max_buffers_and_acceleration_structures_per_shader_stage",
                limits.max_buffers_and_acceleration_structures_per_shader_stage,
            ),
            (
                "storage buffers with dynamic offsets",
                self.dynamic_storage,
                "max_dynamic_storage_buffers_per_pipeline_layout",
                limits.max_dynamic_storage_buffers_per_pipeline_layout,
            ),
            (
                "uniform buffers with dynamic offsets",
                self.dynamic_uniform,
                "max_dynamic_uniform_buffers_per_pipeline_layout",
                limits.max_dynamic_uniform_buffers_per_pipeline_layout,
            ),
        ];
        for (what, count, name, limit) in rules {
            if count > limit {
                return Err(LayoutError::TooMany {
                    what,
                    count,
                    name,
                    limit,
                });
            }
        }
        Ok(())
    }
}

/// The groups and immediates of pipelines.
#[derive(Clone, Default)]
pub(super) struct PipelineLayoutData {
    pub(super) groups: Vec<Option<Arc<LayoutData>>>,
    pub(super) immediate_bytes: u32,
}

impl PipelineLayoutData {
    pub(super) fn entry(&self, group: u32, binding: u32) -> Option<&BindGroupLayoutEntry> {
        let group = self.groups.get(usize::try_from(group).ok()?)?;
        group.as_ref()?.entries.get(&binding)
    }

    /// Checks the counts of all groups together.
    pub(super) fn check_counts(&self, limits: &wgpu::Limits) -> Result<(), LayoutError> {
        let mut counts = Counts::default();
        for group in self.groups.iter().flatten() {
            counts.add(&group.entries);
        }
        counts.check(limits)
    }
}

/// wgpu's handle.
pub(super) struct PipelineLayout {
    state: Arc<State>,
    label: String,
    /// `None` if invalid.
    data: Option<Arc<PipelineLayoutData>>,
}

debug_by_name!(LayoutData, BindGroupLayout, PipelineLayout);

impl Object for PipelineLayout {
    const KIND: &'static str = "PipelineLayout";
    fn state(&self) -> &Arc<State> {
        &self.state
    }
    fn label(&self) -> &str {
        &self.label
    }
    fn is_valid(&self) -> bool {
        self.data.is_some()
    }
}

impl PipelineLayoutInterface for PipelineLayout {}

impl PipelineLayout {
    pub(super) fn create(state: &Arc<State>, desc: &wgpu::PipelineLayoutDescriptor<'_>) -> Self {
        let label = desc.label.unwrap_or_default();
        let data = match check_pipeline_layout(state, desc) {
            Ok(data) => Some(Arc::new(data)).filter(|_| !state.is_lost()),
            Err(error) => {
                state.invalid("Device::create_pipeline_layout", label, error);
                None
            }
        };
        Self {
            state: Arc::clone(state),
            label: label.to_owned(),
            data,
        }
    }

    pub(super) fn data(&self) -> Option<&Arc<PipelineLayoutData>> {
        self.data.as_ref()
    }
}

fn check_pipeline_layout(
    state: &Arc<State>,
    desc: &wgpu::PipelineLayoutDescriptor<'_>,
) -> Result<PipelineLayoutData, LayoutError> {
    let count = desc.bind_group_layouts.len();
    let limit = state.limits.max_bind_groups;
    if usize::try_from(limit).is_ok_and(|limit| count > limit) {
        return Err(LayoutError::TooManyGroups { count, limit });
    }
    let bytes = desc.immediate_size;
    if bytes != 0 {
        state.require(wgpu::Features::IMMEDIATES)?;
    }
    let limit = state.limits.max_immediate_size;
    if bytes > limit {
        return Err(LayoutError::ImmediatesTooLarge { bytes, limit });
    }
    if !bytes.is_multiple_of(wgpu::IMMEDIATE_DATA_ALIGNMENT) {
        return Err(LayoutError::UnalignedImmediates { bytes });
    }
    let mut groups = Vec::with_capacity(count);
    for (index, layout) in desc.bind_group_layouts.iter().enumerate() {
        let Some(layout) = layout else {
            groups.push(None);
            continue;
        };
        let data = &own(state, layout.as_custom::<BindGroupLayout>())?.0;
        if data.exclusive.is_some() {
            return Err(LayoutError::DerivedLayout { index });
        }
        groups.push(Some(Arc::clone(data)).filter(|data| !data.entries.is_empty()));
    }
    let data = PipelineLayoutData {
        groups,
        immediate_bytes: bytes,
    };
    data.check_counts(&state.limits)?;
    Ok(data)
}
