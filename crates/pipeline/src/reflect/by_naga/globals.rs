//! From a module's global variables to bindings, parameters and workgroup memory.

use std::collections::HashSet;
use std::sync::Arc;

use naga::valid::FunctionInfo;
use naga::{
    AddressSpace, ArraySize, GlobalVariable, Handle, Module, ScalarKind, StorageAccess, Type,
    TypeInner,
};
use ziggurat_core::text::shortened;

use super::textures::binding_type;
use crate::error::{LimitError, PipelineError};
use crate::place::{Assembled, Place};
use crate::reflect::{
    Access, Binding, Member, ParamSpace, Params, Resource, Scalar, WorkgroupVariable,
};

/// What [`collect`] finds.
#[derive(Debug, Default)]
pub(super) struct Globals {
    pub(super) bindings: Vec<Binding>,
    pub(super) params: Option<Params>,
    pub(super) uniforms: Vec<Params>,
    pub(super) resources: Vec<Resource>,
    pub(super) workgroup_memory: Vec<WorkgroupVariable>,
}

/// Collects the globals that an entry point uses. `declared` is the module before its overrides had values, if the entry point is
/// its only one: then unused bindings count too, which resolving overrides drops.
pub(super) fn collect(
    text: &Assembled<'_>,
    module: &Module,
    uses: &FunctionInfo,
    declared: Option<&Module>,
) -> Result<Globals, PipelineError> {
    let mut found = Globals::default();
    let place = |variable: &GlobalVariable| {
        let place = variable.binding.as_ref()?;
        Some((place.group, place.binding))
    };
    // Of the variables at one place an entry point uses at most one, which counts; else the first does.
    let variables = module.global_variables.iter();
    let used = variables.filter(|(handle, _)| !uses[*handle].is_empty());
    let mut taken: HashSet<(u32, u32)> = used.filter_map(|(_, used)| place(used)).collect();
    for (handle, variable) in module.global_variables.iter() {
        if uses[handle].is_empty() {
            continue;
        }
        let sampled = uses.sampling_set.iter().any(|key| key.image == handle);
        One::new(text, module, (handle, variable), sampled).add(&mut found, true)?;
    }
    if let Some(module) = declared {
        let globals = module.global_variables.iter();
        for global in globals.filter(|(_, variable)| variable.space != AddressSpace::WorkGroup) {
            if place(global.1).is_none_or(|place| taken.insert(place)) {
                One::new(text, module, global, false).add(&mut found, false)?;
            }
        }
    }
    found
        .bindings
        .sort_by_key(|binding| (binding.group, binding.binding));
    found
        .resources
        .sort_by_key(|resource| (resource.group, resource.binding));
    found
        .uniforms
        .sort_by_key(|uniform| place_of(uniform.space));
    if let ([only], None) = (found.uniforms.as_slice(), &found.params) {
        found.params = Some(only.clone());
    }
    Ok(found)
}

/// A global with what errors say about it.
struct One<'a> {
    text: &'a Assembled<'a>,
    module: &'a Module,
    variable: &'a GlobalVariable,
    place: Arc<Place>,
    name: String,
    /// Whether it is a texture that is used with a sampler.
    sampled: bool,
}

impl<'a> One<'a> {
    fn new(
        text: &'a Assembled<'a>,
        module: &'a Module,
        (handle, variable): (Handle<GlobalVariable>, &'a GlobalVariable),
        sampled: bool,
    ) -> Self {
        // What is bound is told by its name in errors only.
        let name = variable.name.as_deref().unwrap_or_default();
        Self {
            text,
            module,
            variable,
            place: text.place(Some(module.global_variables.get_span(handle))),
            name: shortened(name, 64).into_owned(),
            sampled,
        }
    }

    fn add(self, found: &mut Globals, used: bool) -> Result<(), PipelineError> {
        let bytes = size(self.module, self.variable.ty);
        match self.variable.space {
            AddressSpace::WorkGroup => {
                found.workgroup_memory.push(WorkgroupVariable {
                    name: self.name,
                    place: self.place,
                    bytes: u64::from(bytes).next_multiple_of(16),
                });
                Ok(())
            }
            AddressSpace::Immediate => {
                // An entry point uses at most one.
                if used || found.params.is_none() {
                    found.params = Some(self.params(ParamSpace::Immediate, bytes));
                }
                Ok(())
            }
            AddressSpace::Uniform => {
                let (group, binding) = self.binding();
                let space = ParamSpace::Uniform { group, binding };
                found.uniforms.push(self.params(space, bytes));
                Ok(())
            }
            AddressSpace::Storage { access } => {
                let (group, binding) = self.binding();
                found.bindings.push(Binding {
                    group,
                    binding,
                    scalar: scalar(self.module, self.variable.ty),
                    stride: runtime_stride(self.module, self.variable.ty),
                    access: if access.contains(StorageAccess::STORE) {
                        Access::ReadWrite
                    } else {
                        Access::Read
                    },
                    min_bytes: u64::from(bytes),
                    name: self.name,
                    place: self.place,
                });
                Ok(())
            }
            AddressSpace::Handle => {
                let (group, binding) = self.binding();
                let inner = &self.module.types[self.variable.ty].inner;
                let Some(ty) = binding_type(inner, self.sampled) else {
                    return Err(PipelineError::Limit(LimitError::UnsupportedBinding {
                        kernel: self.text.name(),
                        place: self.place,
                        name: self.name,
                        what: unbindable(inner).unwrap_or("an opaque handle"),
                    }));
                };
                found.resources.push(Resource {
                    group,
                    binding,
                    name: self.name,
                    place: self.place,
                    ty,
                });
                Ok(())
            }
            AddressSpace::Function
            | AddressSpace::Private
            | AddressSpace::TaskPayload
            | AddressSpace::RayPayload
            | AddressSpace::IncomingRayPayload => Ok(()),
        }
    }

    /// Group and binding index.
    fn binding(&self) -> (u32, u32) {
        let place = self.variable.binding.as_ref();
        place.map_or((0, 0), |place| (place.group, place.binding))
    }

    fn params(self, space: ParamSpace, bytes: u32) -> Params {
        let members = match &self.module.types[self.variable.ty].inner {
            TypeInner::Struct { members, .. } => members
                .iter()
                .map(|member| Member {
                    name: member.name.clone().unwrap_or_default(),
                    offset: member.offset,
                    bytes: size(self.module, member.ty),
                    scalar: scalar(self.module, member.ty),
                })
                .collect(),
            _ => Vec::new(),
        };
        Params {
            space,
            name: self.name,
            place: self.place,
            bytes,
            members,
        }
    }
}

/// By group and binding.
fn place_of(space: ParamSpace) -> (u32, u32) {
    match space {
        ParamSpace::Immediate => (0, 0),
        ParamSpace::Uniform { group, binding } => (group, binding),
    }
}

fn size(module: &Module, ty: Handle<Type>) -> u32 {
    module.types[ty]
        .inner
        .try_size(module.to_ctx())
        .unwrap_or(u32::MAX)
}

/// The stride if the type is a runtime-sized array itself. In a struct that ends with one, padding makes the number
/// of whole elements a matter of the struct's alignment, so no rule is made from it.
fn runtime_stride(module: &Module, ty: Handle<Type>) -> Option<u32> {
    match module.types[ty].inner {
        TypeInner::Array {
            size: ArraySize::Dynamic,
            stride,
            ..
        } => Some(stride),
        _ => None,
    }
}

fn scalar(module: &Module, ty: Handle<Type>) -> Scalar {
    match &module.types[ty].inner {
        TypeInner::Scalar(scalar)
        | TypeInner::Vector { scalar, .. }
        | TypeInner::Matrix { scalar, .. }
        | TypeInner::Atomic(scalar) => match (scalar.kind, scalar.width) {
            (ScalarKind::Float, 2) => Scalar::F16,
            (ScalarKind::Float, 4) => Scalar::F32,
            (ScalarKind::Float, 8) => Scalar::F64,
            (ScalarKind::Sint, 4) => Scalar::I32,
            (ScalarKind::Uint, 4) => Scalar::U32,
            (ScalarKind::Sint, 8) => Scalar::I64,
            (ScalarKind::Uint, 8) => Scalar::U64,
            _ => Scalar::Mixed,
        },
        TypeInner::Array { base, .. } => scalar(module, *base),
        TypeInner::Struct { members, .. } => {
            let mut kinds = members.iter().map(|member| scalar(module, member.ty));
            let first = kinds.next().unwrap_or(Scalar::Mixed);
            if kinds.all(|kind| kind == first) {
                first
            } else {
                Scalar::Mixed
            }
        }
        _ => Scalar::Mixed,
    }
}

/// What a type is that no argument is for.
pub(super) fn unbindable(inner: &TypeInner) -> Option<&'static str> {
    match inner {
        TypeInner::Image {
            class: naga::ImageClass::External,
            ..
        } => Some("an external texture"),
        TypeInner::AccelerationStructure { .. } => Some("an acceleration structure"),
        TypeInner::BindingArray { .. } => Some("an array of bindings"),
        _ => None,
    }
}
