//! A kernel against the limits of a device.
//!
//! Asked before the pipeline is created: some drivers accept a workgroup that is too large and then write nothing.

use std::sync::Arc;

use super::{ParamSpace, Reflection};
use crate::error::{LimitError, PipelineError};
use crate::place::Place;

/// Checks workgroup size, workgroup memory, number and indices of buffers, textures and samplers, and parameter bytes.
///
/// # Errors
///
/// The first limit that the kernel is over, with both numbers and the WGSL line.
pub fn check_limits(reflection: &Reflection, limits: &wgpu::Limits) -> Result<(), PipelineError> {
    let size = reflection.workgroup_size;
    let limit = [
        limits.max_compute_workgroup_size_x,
        limits.max_compute_workgroup_size_y,
        limits.max_compute_workgroup_size_z,
    ];
    let max_invocations = limits.max_compute_invocations_per_workgroup;
    let legal = size
        .iter()
        .zip(limit)
        .all(|(&n, max)| (1..=max).contains(&n));
    if !legal || reflection.invocations() > u64::from(max_invocations) {
        return Err(PipelineError::Limit(LimitError::WorkgroupTooLarge {
            kernel: reflection.kernel.clone(),
            place: Arc::clone(&reflection.place),
            size,
            limit,
            max_invocations,
        }));
    }

    let bytes = reflection.workgroup_bytes();
    let limit = limits.max_compute_workgroup_storage_size;
    let largest = reflection
        .workgroup_memory
        .iter()
        .max_by_key(|variable| variable.bytes);
    if let Some(largest) = largest
        && bytes > u64::from(limit)
    {
        return Err(PipelineError::Limit(LimitError::WorkgroupMemory {
            kernel: reflection.kernel.clone(),
            place: Arc::clone(&largest.place),
            name: largest.name.clone(),
            bytes,
            limit,
        }));
    }

    let limit = limits.max_storage_buffers_per_shader_stage;
    let count = reflection.bindings.len();
    if let Some(last) = reflection.bindings.last()
        && u64::try_from(count).unwrap_or(u64::MAX) > u64::from(limit)
    {
        return Err(PipelineError::Limit(LimitError::TooManyStorageBuffers {
            kernel: reflection.kernel.clone(),
            place: Arc::clone(&last.place),
            name: last.name.clone(),
            count,
            limit,
        }));
    }

    let highest = limits.max_bindings_per_bind_group;
    let places = |(binding, place, name): (u32, &Arc<Place>, &String)| {
        (binding >= highest).then(|| {
            PipelineError::Limit(LimitError::UnsupportedBinding {
                kernel: reflection.kernel.clone(),
                place: Arc::clone(place),
                name: name.clone(),
                what: "at a binding index over the device's limit",
            })
        })
    };
    let buffers = reflection.bindings.iter();
    let buffers = buffers.map(|b| (b.binding, &b.place, &b.name));
    let resources = reflection.resources().iter();
    let resources = resources.map(|r| (r.binding, &r.place, &r.name));
    if let Some(error) = buffers.chain(resources).find_map(places) {
        return Err(error);
    }
    check_resources(reflection, limits)?;

    check_groups(reflection, limits.max_bind_groups)?;

    let limit = limits.max_uniform_buffers_per_shader_stage;
    let count = reflection.uniforms.len();
    if let Some(last) = reflection.uniforms.last()
        && u64::try_from(count).unwrap_or(u64::MAX) > u64::from(limit)
    {
        return Err(PipelineError::Limit(LimitError::TooManyUniforms {
            kernel: reflection.kernel.clone(),
            place: Arc::clone(&last.place),
            name: last.name.clone(),
            count,
            limit,
        }));
    }

    for params in reflection.params.iter().chain(&reflection.uniforms) {
        let limit = match params.space {
            ParamSpace::Immediate => u64::from(limits.max_immediate_size),
            ParamSpace::Uniform { .. } => limits.max_uniform_buffer_binding_size,
        };
        if u64::from(params.bytes) > limit {
            return Err(PipelineError::Limit(LimitError::ParamsTooLarge {
                kernel: reflection.kernel.clone(),
                place: Arc::clone(&params.place),
                name: params.name.clone(),
                bytes: params.bytes,
                limit,
            }));
        }
    }
    Ok(())
}

/// As many textures and samplers of each kind as the device binds.
fn check_resources(reflection: &Reflection, limits: &wgpu::Limits) -> Result<(), PipelineError> {
    use wgpu::BindingType as Type;
    let kind = |ty: &Type| match ty {
        Type::Sampler(_) => "sampler",
        Type::StorageTexture { .. } => "storage texture",
        _ => "sampled texture",
    };
    let rules = [
        ("sampler", limits.max_samplers_per_shader_stage),
        (
            "sampled texture",
            limits.max_sampled_textures_per_shader_stage,
        ),
        (
            "storage texture",
            limits.max_storage_textures_per_shader_stage,
        ),
    ];
    for (what, limit) in rules {
        let all = || {
            reflection
                .resources()
                .iter()
                .filter(|r| kind(&r.ty) == what)
        };
        let count = all().count();
        if let Some(last) = all().next_back()
            && u64::try_from(count).unwrap_or(u64::MAX) > u64::from(limit)
        {
            return Err(PipelineError::Limit(LimitError::TooManyResources {
                kernel: reflection.kernel.clone(),
                place: Arc::clone(&last.place),
                name: last.name.clone(),
                what,
                count,
                limit,
            }));
        }
    }
    Ok(())
}

/// The first variable in a group that the device does not have is an error.
fn check_groups(reflection: &Reflection, limit: u32) -> Result<(), PipelineError> {
    let buffers = reflection.bindings.iter();
    let buffers = buffers.map(|b| (b.group, &b.place, &b.name));
    let uniforms = reflection.uniforms.iter().map(|u| {
        let group = match u.space {
            ParamSpace::Uniform { group, .. } => group,
            ParamSpace::Immediate => 0,
        };
        (group, &u.place, &u.name)
    });
    let resources = reflection.resources().iter();
    let resources = resources.map(|r| (r.group, &r.place, &r.name));
    let mut all = buffers.chain(uniforms).chain(resources);
    match all.find(|(group, ..)| *group >= limit) {
        None => Ok(()),
        Some((group, place, name)) => Err(PipelineError::Limit(LimitError::BindingGroup {
            kernel: reflection.kernel.clone(),
            place: Arc::clone(place),
            name: name.clone(),
            group,
            limit,
        })),
    }
}
