//! What an entry point needs from its surroundings, read from naga's module.
//!
//! The module is taken after its overrides have their values, so that sizes which depend on them
//! are known.

use naga::valid::{ImmediateSlots, ModuleInfo};
use naga::{AddressSpace, Module, ShaderStage, StorageAccess};
use wgpu::BufferBindingType;

/// A variable with a binding that the entry point uses.
pub(super) struct Resource {
    pub(super) group: u32,
    pub(super) binding: u32,
    pub(super) name: String,
    /// `None` for what is not a buffer.
    pub(super) ty: Option<BufferBindingType>,
    /// Bytes that a binding has to have at least.
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
        let ty = match variable.space {
            _ if array => None,
            AddressSpace::Uniform => Some(BufferBindingType::Uniform),
            AddressSpace::Storage { access } => Some(BufferBindingType::Storage {
                read_only: access == StorageAccess::LOAD,
            }),
            _ => None,
        };
        resources.push(Resource {
            group: bound.group,
            binding: bound.binding,
            name: variable.name.clone().unwrap_or_default(),
            ty,
            bytes,
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
