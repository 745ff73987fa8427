//! Compute pipelines: an entry point checked against a layout, or a layout derived from it.

use std::collections::BTreeMap;
use std::sync::Arc;

use naga::back::PipelineConstants;
use naga::back::pipeline_constants::process_overrides;
use naga::valid::ImmediateSlots;
use wgpu::custom::{ComputePipelineInterface, DispatchBindGroupLayout};
use wgpu::{BindGroupLayoutEntry, BindingType, BufferBindingType, ShaderStages};

use super::errors::Kind;
use super::guard::{Panicked, contained, with_stack_for};
use super::layout::{BindGroupLayout, Entries, LayoutError, PipelineLayout, PipelineLayoutData};
use super::object::{Object, ObjectError, debug_by_name, own};
use super::reflect::{self, Interface, Resource};
use super::shader::{ModuleData, ModuleText, ShaderModule};
use super::state::State;
use crate::engine::{CompileError, Program};
use crate::sanitize::Text;
use ziggurat_core::large_stack::LargeStackError;

/// Why a compute pipeline cannot be made.
#[derive(Debug, thiserror::Error)]
enum PipelineError {
    #[error(transparent)]
    Object(#[from] ObjectError),
    #[error(transparent)]
    Panicked(#[from] Panicked),
    #[error("this kernel cannot be compiled: {0}")]
    Stack(#[from] LargeStackError),
    #[error(transparent)]
    Layout(#[from] LayoutError),
    #[error("there is no compute entry point '{wanted}', only {have:?}")]
    NoEntryPoint { wanted: String, have: Vec<String> },
    #[error("an entry point has to be named: the module has {have:?}")]
    AmbiguousEntryPoint { have: Vec<String> },
    #[error("pipeline constants: {0}")]
    Constants(Box<naga::back::pipeline_constants::PipelineConstantError>),
    #[error("{0} is not in the pipeline layout")]
    Missing(Place),
    #[error("{0} is not visible to the compute stage")]
    Invisible(Place),
    #[error("{place} is {shader:?} in the shader, but {layout:?} in the layout")]
    WrongType {
        place: Place,
        shader: BindingType,
        layout: BindingType,
    },
    #[error("{place} needs {bytes} bytes, more than the layout's minimum {least}")]
    TooSmall {
        place: Place,
        bytes: u64,
        least: u64,
    },
    #[error("{0} is declared by two variables of different types")]
    Inconsistent(Place),
    #[error("workgroup size {size:?} has a zero")]
    EmptyWorkgroup { size: [u32; 3] },
    #[error("workgroup size {size:?} exceeds the limits max_compute_workgroup_size_*, {limit:?}")]
    WorkgroupTooLarge { size: [u32; 3], limit: [u32; 3] },
    #[error(
        "workgroup size {size:?} is more invocations than the limit \
         max_compute_invocations_per_workgroup, {limit}"
    )]
    TooManyInvocations { size: [u32; 3], limit: u32 },
    #[error(
        "{bytes} bytes of workgroup memory exceed the limit max_compute_workgroup_storage_size, \
         {limit}"
    )]
    WorkgroupMemory { bytes: u64, limit: u32 },
    #[error(transparent)]
    Unsupported(#[from] CompileError),
}

impl PipelineError {
    fn kind(&self) -> Kind {
        match self {
            Self::Unsupported(_) | Self::Panicked(_) | Self::Stack(_) => Kind::Internal,
            _ => Kind::Validation,
        }
    }
}

/// A variable's place, as messages name it.
#[derive(Debug, thiserror::Error)]
#[error("variable '{name}' at group {group}, binding {binding}")]
struct Place {
    name: String,
    group: u32,
    binding: u32,
}

impl Place {
    fn new(resource: &Resource) -> Self {
        Self {
            name: resource.name.clone(),
            group: resource.group,
            binding: resource.binding,
        }
    }
}

/// A compiled pipeline, shared by recorded commands.
pub(super) struct PipelineData {
    pub(super) label: String,
    pub(super) program: Program,
    pub(super) layout: PipelineLayoutData,
    /// Bytes that the shader needs at each group and binding.
    pub(super) needs: Vec<(u32, u32, u64)>,
    pub(super) immediates: ImmediateSlots,
    /// Where its lines come from, for findings, prints and errors.
    pub(super) module: Arc<ModuleText>,
    /// The constants, for a sanitizer's findings.
    pub(super) constants: String,
}

impl PipelineData {
    pub(super) fn text(&self) -> Text<'_> {
        self.module.text(&self.label)
    }
}

/// wgpu's handle.
pub(super) struct ComputePipeline {
    state: Arc<State>,
    label: String,
    /// `None` if invalid.
    data: Option<Arc<PipelineData>>,
}

debug_by_name!(ComputePipeline, PipelineData);

impl Object for ComputePipeline {
    const KIND: &'static str = "ComputePipeline";
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

impl ComputePipeline {
    pub(super) fn create(state: &Arc<State>, desc: &wgpu::ComputePipelineDescriptor<'_>) -> Self {
        let label = desc.label.unwrap_or_default();
        let data = match build(state, desc) {
            Ok(data) => Some(Arc::new(data)).filter(|_| !state.is_lost()),
            Err(error) => {
                state.report(
                    error.kind(),
                    "Device::create_compute_pipeline",
                    label,
                    Box::new(error),
                );
                None
            }
        };
        Self {
            state: Arc::clone(state),
            label: label.to_owned(),
            data,
        }
    }

    pub(super) fn data(&self) -> Option<&Arc<PipelineData>> {
        self.data.as_ref()
    }
}

fn build(
    state: &Arc<State>,
    desc: &wgpu::ComputePipelineDescriptor<'_>,
) -> Result<PipelineData, PipelineError> {
    let shader = own(state, desc.module.as_custom::<ShaderModule>())?;
    let given = match desc.layout {
        Some(layout) => own(state, layout.as_custom::<PipelineLayout>())?.data(),
        None => None,
    };
    let Some(shader) = shader.data() else {
        return Err(ObjectError::Invalid {
            kind: ShaderModule::KIND,
            label: shader.label().to_owned(),
        }
        .into());
    };
    let extent = shader.extent;
    let state = Arc::clone(state);
    let shader = Arc::clone(shader);
    let given = given.cloned();
    let label = desc.label.map(str::to_owned);
    let wanted = desc.entry_point.map(str::to_owned);
    let zeroed = desc.compilation_options.zero_initialize_workgroup_memory;
    let constants: PipelineConstants = desc
        .compilation_options
        .constants
        .iter()
        .map(|&(name, value)| (name.to_owned(), value))
        .collect();
    with_stack_for(&extent, move || {
        let request = Request {
            label,
            wanted,
            given,
            constants,
            zeroed,
        };
        contained(|| compile(&state, &shader, request))
    })??
}

/// What a pipeline is made of besides its shader.
struct Request {
    label: Option<String>,
    wanted: Option<String>,
    given: Option<Arc<PipelineLayoutData>>,
    constants: PipelineConstants,
    zeroed: bool,
}

fn compile(
    state: &Arc<State>,
    shader: &ModuleData,
    request: Request,
) -> Result<PipelineData, PipelineError> {
    let Request {
        label,
        wanted,
        given,
        constants,
        zeroed,
    } = request;
    let entry = entry_name(shader, wanted.as_deref())?;
    let (module, info) = process_overrides(
        &shader.module,
        &shader.info,
        Some((naga::ShaderStage::Compute, &entry)),
        &constants,
    )
    .map_err(|error| PipelineError::Constants(Box::new(error)))?;
    let interface =
        reflect::interface(&module, &info, &entry).ok_or_else(|| PipelineError::NoEntryPoint {
            wanted: entry.clone(),
            have: Vec::new(),
        })?;
    check_workgroup(&state.limits, &interface)?;
    let layout = match given {
        Some(layout) => {
            for resource in &interface.resources {
                check_resource(&layout, resource)?;
            }
            PipelineLayoutData::clone(&layout)
        }
        None => derive(state, &interface)?,
    };
    let program = Program::compile(
        &module,
        &info,
        &shader.text.source,
        &entry,
        &state.profile,
        zeroed,
    )?;
    let needs = interface.resources.iter();
    Ok(PipelineData {
        label: label.unwrap_or(entry),
        program,
        layout,
        needs: needs
            .map(|resource| (resource.group, resource.binding, resource.bytes))
            .collect(),
        immediates: interface.immediates,
        module: Arc::clone(&shader.text),
        constants: if state.profile.sanitizer.is_some() {
            listed(&constants)
        } else {
            String::new()
        },
    })
}

/// Constants by name, for people.
fn listed(constants: &PipelineConstants) -> String {
    let mut all: Vec<String> = constants
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    all.sort();
    all.join(" ")
}

fn entry_name(shader: &ModuleData, wanted: Option<&str>) -> Result<String, PipelineError> {
    let have = || reflect::entry_points(&shader.module).map(str::to_owned);
    let Some(wanted) = wanted else {
        let mut names = have();
        return match (names.next(), names.next()) {
            (Some(only), None) => Ok(only),
            _ => Err(PipelineError::AmbiguousEntryPoint {
                have: have().collect(),
            }),
        };
    };
    if have().any(|name| name == wanted) {
        Ok(wanted.to_owned())
    } else {
        Err(PipelineError::NoEntryPoint {
            wanted: wanted.to_owned(),
            have: have().collect(),
        })
    }
}

fn check_workgroup(limits: &wgpu::Limits, interface: &Interface) -> Result<(), PipelineError> {
    let size = interface.workgroup_size;
    if size.contains(&0) {
        return Err(PipelineError::EmptyWorkgroup { size });
    }
    let limit = [
        limits.max_compute_workgroup_size_x,
        limits.max_compute_workgroup_size_y,
        limits.max_compute_workgroup_size_z,
    ];
    if size.iter().zip(&limit).any(|(size, limit)| size > limit) {
        return Err(PipelineError::WorkgroupTooLarge { size, limit });
    }
    let limit = limits.max_compute_invocations_per_workgroup;
    let invocations = size.iter().try_fold(1_u32, |all, &n| all.checked_mul(n));
    if invocations.is_none_or(|invocations| invocations > limit) {
        return Err(PipelineError::TooManyInvocations { size, limit });
    }
    let (bytes, limit) = (
        interface.workgroup_bytes,
        limits.max_compute_workgroup_storage_size,
    );
    if bytes > u64::from(limit) {
        return Err(PipelineError::WorkgroupMemory { bytes, limit });
    }
    Ok(())
}

fn check_resource(layout: &PipelineLayoutData, resource: &Resource) -> Result<(), PipelineError> {
    let place = || Place::new(resource);
    let entry = layout
        .entry(resource.group, resource.binding)
        .ok_or_else(|| PipelineError::Missing(place()))?;
    if !entry.visibility.contains(ShaderStages::COMPUTE) {
        return Err(PipelineError::Invisible(place()));
    }
    let shader = binding_type(resource)?;
    match entry.ty {
        BindingType::Buffer {
            ty,
            min_binding_size,
            ..
        } if is_buffer(shader, ty) => match min_binding_size.map(std::num::NonZero::get) {
            Some(least) if least < resource.bytes => Err(PipelineError::TooSmall {
                place: place(),
                bytes: resource.bytes,
                least,
            }),
            _ => Ok(()),
        },
        layout if serves(layout, shader) => Ok(()),
        layout => Err(PipelineError::WrongType {
            place: place(),
            shader,
            layout,
        }),
    }
}

fn is_buffer(shader: BindingType, of: BufferBindingType) -> bool {
    matches!(shader, BindingType::Buffer { ty, .. } if ty == of)
}

/// Whether a texture or sampler of the layout is what the shader declares.
fn serves(layout: BindingType, shader: BindingType) -> bool {
    use wgpu::TextureSampleType::Float;
    match (layout, shader) {
        (BindingType::Buffer { .. }, _) => false,
        // Whether samplers filter is a matter of the layout.
        (BindingType::Sampler(_), BindingType::Sampler(_)) => {
            layout == shader || {
                let compares = BindingType::Sampler(wgpu::SamplerBindingType::Comparison);
                layout != compares && shader != compares
            }
        }
        (
            BindingType::Texture {
                sample_type: Float { .. },
                view_dimension: layout,
                multisampled: false,
            },
            BindingType::Texture {
                sample_type: Float { .. },
                view_dimension: shader,
                multisampled: false,
            },
        ) => layout == shader,
        _ => layout == shader,
    }
}

fn binding_type(resource: &Resource) -> Result<BindingType, ObjectError> {
    resource.ty.ok_or(ObjectError::Unsupported {
        what: "bindings other than single buffers, textures and samplers",
    })
}

/// The layout that WebGPU derives: the used bindings of each group, without dynamic offsets.
fn derive(state: &Arc<State>, interface: &Interface) -> Result<PipelineLayoutData, PipelineError> {
    let mut groups: BTreeMap<u32, Entries> = BTreeMap::new();
    for resource in &interface.resources {
        let entry = BindGroupLayoutEntry {
            binding: resource.binding,
            visibility: ShaderStages::COMPUTE,
            ty: binding_type(resource)?,
            count: None,
        };
        let entries = groups.entry(resource.group).or_default();
        let before = entries.insert(resource.binding, entry);
        if before.is_some_and(|before| before != entry) {
            return Err(PipelineError::Inconsistent(Place::new(resource)));
        }
    }
    let pipeline = state.next_id();
    let count = groups.keys().next_back().map_or(0, |last| last + 1);
    let groups = (0..count)
        .map(|group| {
            let entries = groups.remove(&group)?;
            Some(BindGroupLayout::new(state, "", entries, Some(pipeline)).0)
        })
        .collect();
    let layout = PipelineLayoutData {
        groups,
        immediate_bytes: interface.immediate_bytes,
    };
    layout.check_counts(&state.limits)?;
    let (bytes, limit) = (layout.immediate_bytes, state.limits.max_immediate_size);
    if bytes > limit {
        return Err(LayoutError::ImmediatesTooLarge { bytes, limit }.into());
    }
    Ok(layout)
}

/// There is no bind group layout at an index.
#[derive(Debug, thiserror::Error)]
#[error("the pipeline has no bind group layout {index}")]
struct NoLayout {
    index: u32,
}

impl ComputePipelineInterface for ComputePipeline {
    fn get_bind_group_layout(&self, index: u32) -> DispatchBindGroupLayout {
        let call = "ComputePipeline::get_bind_group_layout";
        let data = match own(&self.state, Some(self)) {
            Ok(_) => self.data.as_ref(),
            Err(error) => {
                self.state.invalid(call, &self.label, error);
                return DispatchBindGroupLayout::custom(BindGroupLayout::invalid(&self.state, ""));
            }
        };
        let group = data
            .zip(usize::try_from(index).ok())
            .and_then(|(data, index)| data.layout.groups.get(index));
        match group {
            Some(Some(group)) => BindGroupLayout::dispatch(group),
            _ if index < self.state.limits.max_bind_groups => DispatchBindGroupLayout::custom(
                BindGroupLayout::new(&self.state, "", Entries::new(), None),
            ),
            _ => {
                self.state.invalid(call, &self.label, NoLayout { index });
                DispatchBindGroupLayout::custom(BindGroupLayout::invalid(&self.state, ""))
            }
        }
    }
}
