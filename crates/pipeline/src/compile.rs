//! From a checked kernel to a pipeline.
//!
//! By the time this runs, reflection has accepted the shader for this device, so what is left to fail is the driver,
//! or a rule that only wgpu knows. On native both are caught in error scopes, which are per thread, and become
//! [`PipelineError::Compile`]. In a browser error scopes answer later than this function returns; an error there
//! reaches the device's uncaptured-error handler and surfaces at the next use of the device.

#![allow(
    clippy::disallowed_methods,
    reason = "this layer owns the creation of shader modules and pipelines"
)]

use std::borrow::Cow;
use std::sync::Arc;

use ziggurat_core::debug_print;
use ziggurat_device::Device;

use crate::bind::Layouts;
use crate::debug::Debugged;
use crate::descriptor::{Checks, KernelDescriptor};
use crate::error::PipelineError;
use crate::reflect::{ParamSpace, Reflection, Text};

/// Creates the bind group layouts by `create`, and catches what wgpu says against it.
pub(crate) fn lay_out(
    owner: &Device,
    reflection: &Reflection,
    create: impl FnOnce() -> Layouts,
) -> Result<Layouts, PipelineError> {
    let (layouts, error) = captured(owner.wgpu(), create);
    error.map_or(Ok(layouts), |message| Err(refused(reflection, message)))
}

/// Creates the pipeline.
pub(crate) fn compile(
    owner: &Device,
    descriptor: &KernelDescriptor,
    reflection: &Reflection,
    read: &Text,
    (layouts, debugged): (&Layouts, Option<&Debugged>),
    cache: Option<&wgpu::PipelineCache>,
) -> Result<wgpu::ComputePipeline, PipelineError> {
    let name = descriptor.source.name();
    let device = owner.wgpu();
    let (created, error) = captured(device, || {
        let shared = read.module(descriptor).get();
        let module = match (debugged, shared) {
            (None, Some(module)) => module.clone(),
            _ => create_module(owner, descriptor, debugged),
        };
        let mut groups = layouts.in_order();
        if let Some(debugged) = debugged {
            groups.resize(debugged.group as usize, None);
            groups.push(Some(&debugged.layout));
        }
        let immediate_size = match &reflection.params {
            Some(params) if params.space == ParamSpace::Immediate => params.bytes,
            _ => 0,
        };
        let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: Some(name),
            bind_group_layouts: &groups,
            immediate_size,
        });
        let constants: Vec<(&str, f64)> = descriptor
            .constants
            .iter()
            .map(|(name, value)| (name.as_ref(), *value))
            .collect();
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(name),
            layout: Some(&layout),
            module: &module,
            entry_point: Some(&reflection.entry),
            compilation_options: wgpu::PipelineCompilationOptions {
                constants: &constants,
                zero_initialize_workgroup_memory: descriptor.zero_workgroup_memory,
            },
            cache,
        });
        (pipeline, module)
    });
    let (pipeline, module) = created;
    match error {
        None if debugged.is_some() => Ok(pipeline),
        None => {
            // Another thread may have been faster with the same module.
            let _module = read.module(descriptor).get_or_init(|| module);
            Ok(pipeline)
        }
        Some(message) => Err(refused(reflection, message)),
    }
}

fn refused(reflection: &Reflection, message: String) -> PipelineError {
    PipelineError::Compile {
        kernel: reflection.kernel.clone(),
        place: Arc::clone(&reflection.place),
        message,
    }
}

fn create_module(
    owner: &Device,
    descriptor: &KernelDescriptor,
    debugged: Option<&Debugged>,
) -> wgpu::ShaderModule {
    let text = descriptor.source.text();
    // The software device prints by itself; to others the statements would be unknown functions.
    let text = match debugged {
        Some(debugged) => debugged.text.clone(),
        None if owner.adapter().is_software_device() => {
            debug_print::without_asserts(&text).into_owned()
        }
        None => debug_print::removed(&text).into_owned(),
    };
    let source = wgpu::ShaderModuleDescriptor {
        label: Some(descriptor.source.name()),
        source: wgpu::ShaderSource::Wgsl(Cow::Owned(descriptor.as_compiled(text))),
    };
    let module = match runtime_checks(descriptor.checks, owner.caps().robust_buffers) {
        None => owner.wgpu().create_shader_module(source),
        #[expect(
            unsafe_code,
            reason = "wgpu leaves checks out only for text that somebody vouches for"
        )]
        // SAFETY: fewer checks than all come from `KernelDescriptor::with_checks`, whose caller promises that loops end, that
        // indices into arrays and vectors of the shader's own are within bounds, and, where divisions are unchecked,
        // what divisors are; or from a trace, whose kernels are compiled and only dispatched where such a caller asks for
        // the same text again. Indices into bound buffers are unchecked only if the driver checks them itself.
        Some(checks) => unsafe { owner.wgpu().create_shader_module_trusted(source, checks) },
    };
    owner.name_lines(&module, descriptor.source.lines());
    if descriptor.checks() != Checks::All {
        // Only text that this library vouches for has fewer.
        owner.mark_own(&module);
    }
    module
}

/// What wgpu is to check; `None` for everything.
fn runtime_checks(checks: Checks, robust_buffers: bool) -> Option<wgpu::ShaderRuntimeChecks> {
    let fewer = |int_div_checks| wgpu::ShaderRuntimeChecks {
        bounds_checks: !robust_buffers,
        force_loop_bounding: false,
        int_div_checks,
        ..wgpu::ShaderRuntimeChecks::checked()
    };
    match checks {
        Checks::All => None,
        Checks::Divisions => Some(fewer(true)),
        Checks::None => Some(fewer(false)),
    }
}

/// Runs `create` and returns the first error that it raised.
#[cfg(not(target_arch = "wasm32"))]
fn captured<R>(device: &wgpu::Device, create: impl FnOnce() -> R) -> (R, Option<String>) {
    let filters = [
        wgpu::ErrorFilter::OutOfMemory,
        wgpu::ErrorFilter::Internal,
        wgpu::ErrorFilter::Validation,
    ];
    let scopes = filters.map(|filter| device.push_error_scope(filter));
    let result = create();
    let mut first = None;
    // Scopes are a stack: the last one pushed is popped first.
    for scope in scopes.into_iter().rev() {
        let error = ready(scope.pop()).flatten();
        first = first.or_else(|| error.map(|error| error.to_string()));
    }
    (result, first)
}

#[cfg(target_arch = "wasm32")]
fn captured<R>(_device: &wgpu::Device, create: impl FnOnce() -> R) -> (R, Option<String>) {
    (create(), None)
}

/// The value of a future that is ready: native error scopes always are.
#[cfg(not(target_arch = "wasm32"))]
fn ready<F: Future>(future: F) -> Option<F::Output> {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match std::pin::pin!(future).poll(&mut context) {
        std::task::Poll::Ready(value) => Some(value),
        std::task::Poll::Pending => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_stay_checked_where_the_driver_does_not_check_them() {
        for robust in [false, true] {
            assert!(runtime_checks(Checks::All, robust).is_none());
            for (checks, divisions) in [(Checks::Divisions, true), (Checks::None, false)] {
                let made = runtime_checks(checks, robust).unwrap_or_default();
                assert_eq!(made.bounds_checks, !robust);
                assert_eq!(made.int_div_checks, divisions);
                assert!(!made.force_loop_bounding);
            }
        }
    }
}
