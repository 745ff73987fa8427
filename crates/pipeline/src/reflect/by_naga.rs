//! From text to a valid module with resolved overrides: naga's view of a shader.

mod capabilities;
mod globals;
mod grid;
mod matrices;
mod mistakes;
mod size;
mod textures;
mod uniformity;

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use capabilities::capabilities;
use naga::back::pipeline_constants::{PipelineConstantError, process_overrides};
use naga::valid::{ModuleInfo, ValidationError, ValidationFlags, Validator};
use naga::{Module, ShaderStage, Span, WithSpan};
use ziggurat_core::text::shortened;
use ziggurat_core::wgsl;
use ziggurat_core::wgsl::errors::said;
use ziggurat_core::wgsl::modules::{best_span, place_of_rule};

use super::entry::{Entries, NAME, unknown_constant};
use super::{GridInputs, Override, Reflection, Specialised};
use crate::descriptor::KernelDescriptor;
use crate::error::{LimitError, PipelineError};
use crate::feature::ShaderFeatures;
use crate::place::{Assembled, Place};
use crate::shader_limits::ShaderLimits;
pub use uniformity::divergent_barriers;
use ziggurat_device::ShaderFeature;

impl Assembled<'_> {
    /// The place of a span.
    fn place(&self, span: Option<Span>) -> Arc<Place> {
        self.place_of(span.and_then(|span| span.to_range()))
    }
}

/// Bytes of a compiler's words in an error.
const MESSAGE: usize = 400;

/// A text that is valid, before its overrides have values.
#[derive(Debug)]
pub(super) struct Valid {
    module: Module,
    info: ModuleInfo,
    /// What it cannot do without.
    features: ShaderFeatures,
    /// Of each entry point, once somebody asked.
    points: Vec<OnceLock<Point>>,
}

/// What holds of an entry point whatever values the overrides have.
#[derive(Debug)]
struct Point {
    /// Its name in the text.
    name: Option<Range<usize>>,
    /// The barriers that some invocations may not reach.
    barriers: Vec<Span>,
}

impl Valid {
    pub(super) fn module(&self) -> &Module {
        &self.module
    }

    fn point(&self, text: &Assembled<'_>, entry: &str) -> Option<&Point> {
        let mut points = self.module.entry_points.iter().zip(&self.points);
        let (point, known) =
            points.find(|(point, _)| point.stage == ShaderStage::Compute && point.name == entry)?;
        Some(known.get_or_init(|| Point {
            name: wgsl::function(&text.text, entry),
            barriers: barriers(text, &self.module, &point.function),
        }))
    }
}

/// From text to a valid module.
pub(super) fn read(
    text: &Assembled<'_>,
    descriptor: &KernelDescriptor,
    available: ShaderFeatures,
    limits: &ShaderLimits,
) -> Result<Valid, PipelineError> {
    let module = mistakes::parse(text)?;
    refuse_unbindable(text, &module)?;
    limits.check_types(text, &module)?;
    let entry = entries(&module).choose(text, descriptor.entry.as_deref())?;
    let (info, mut features) = validate(text, &module, available, &entry)?;
    // naga sees the feature in types that have a place of their own, which what is loaded and stored again has not.
    if let Some(span) = matrices::loaded(&module) {
        let feature = ShaderFeature::CooperativeMatrix;
        if !available.contains(feature) {
            return Err(missing(text, feature, text.place(Some(span))));
        }
        features = features.with(feature);
    }
    if features.contains(ShaderFeature::CooperativeMatrix) {
        matrices::check(text, &module, &info)?;
    }
    Ok(Valid {
        points: module
            .entry_points
            .iter()
            .map(|_| OnceLock::new())
            .collect(),
        module,
        info,
        features,
    })
}

/// Expressions and statements, with those of called functions, up to which compiling takes no time to speak of.
const FEW: u64 = 10_000;

/// One kernel of a valid text: its entry point, with values for the overrides.
pub(super) fn specialise(
    text: &Assembled<'_>,
    descriptor: &KernelDescriptor,
    valid: &Valid,
    limits: &ShaderLimits,
) -> Result<Specialised, PipelineError> {
    let Valid {
        module,
        info,
        features,
        ..
    } = valid;
    let entry = entries(module).choose(text, descriptor.entry.as_deref())?;
    let inlined = limits.check_calls(text, module, &entry)?;
    let Some(known) = valid.point(text, &entry) else {
        return Err(entries(module).unknown(text, &entry));
    };
    let at = text.place_of(known.name.clone());
    let divergent = known.barriers.iter();
    let overrides = overrides(text, module);
    let constants = constants(text, descriptor, &overrides)?;

    let stage = (ShaderStage::Compute, entry.as_str());
    let (resolved, resolved_info) = process_overrides(module, info, Some(stage), &constants)
        .map_err(|error| override_error(text, &error, &overrides, descriptor, &at))?;
    let index = resolved
        .entry_points
        .iter()
        .position(|point| point.stage == ShaderStage::Compute && point.name == entry);
    let Some((index, point)) = index.and_then(|i| Some((i, resolved.entry_points.get(i)?))) else {
        return Err(entries(module).unknown(text, &entry));
    };
    limits.check_types(text, &resolved)?;
    let declared = (module.entry_points.len() == 1).then_some(module);
    let uses = resolved_info.get_entry_point(index);
    let found = globals::collect(text, &resolved, uses, declared)?;

    let reflection = Reflection {
        kernel: text.name(),
        workgroup_size: point.workgroup_size,
        place: at,
        bindings: found.bindings,
        params: found.params,
        uniforms: found.uniforms,
        resources: found.resources,
        workgroup_memory: found.workgroup_memory,
        grid_inputs: GridInputs::of(&resolved, point, uses),
        divergent_barriers: divergent.map(|span| text.place(Some(*span))).collect(),
        overrides,
        features: *features,
        entry,
    };
    Ok(Specialised {
        reflection,
        is_large: inlined > FEW,
    })
}

/// Barriers that some invocations may not reach.
fn barriers(text: &Assembled<'_>, module: &Module, main: &naga::Function) -> Vec<Span> {
    let any = ["Barrier", "workgroupUniformLoad"];
    if any.iter().any(|name| text.text.contains(name)) {
        divergent_barriers(module, main)
    } else {
        Vec::new()
    }
}

fn entries(module: &Module) -> Entries<'_> {
    let points = module.entry_points.iter();
    let points = points.filter(|point| point.stage == ShaderStage::Compute);
    Entries(points.map(|point| point.name.as_str()).collect())
}

fn check(
    module: &Module,
    features: ShaderFeatures,
) -> Result<ModuleInfo, Box<WithSpan<ValidationError>>> {
    Validator::new(ValidationFlags::all(), capabilities(features))
        .validate(module)
        .map_err(Box::new)
}

/// Validates, and finds which features the module cannot do without.
///
/// Plain WGSL passes at the first try; only a shader that needs more is tried without each feature in turn.
fn validate(
    text: &Assembled<'_>,
    module: &Module,
    available: ShaderFeatures,
    entry: &str,
) -> Result<(ModuleInfo, ShaderFeatures), PipelineError> {
    let immediate = module
        .global_variables
        .iter()
        .find(|(_, variable)| variable.space == naga::AddressSpace::Immediate);
    let mut needed = ShaderFeatures::NONE;
    if let Some((handle, _)) = immediate {
        needed = needed.with(ShaderFeature::Immediates);
        if !available.contains(ShaderFeature::Immediates) {
            let place = text.place(Some(module.global_variables.get_span(handle)));
            return Err(missing(text, ShaderFeature::Immediates, place));
        }
    }
    if let Ok(info) = check(module, needed) {
        return Ok((info, needed));
    }
    let all = ShaderFeatures::all();
    let entry = &text.function(entry);
    if let Err(error) = check(module, all) {
        let first = validation_error(text, Some(module), entry, &error);
        return Err(mistakes::of_module(text, module, first, entry));
    }
    for feature in ShaderFeature::all() {
        if let Err(error) = check(module, all.without(feature)) {
            if !available.contains(feature) {
                let place = text.place(best_span(&error));
                let place = if place.line == 0 {
                    entry.clone()
                } else {
                    place
                };
                return Err(missing(text, feature, place));
            }
            needed = needed.with(feature);
        }
    }
    let info = check(module, available)
        .map_err(|error| validation_error(text, Some(module), entry, &error))?;
    Ok((info, needed))
}

/// What no argument is for is told by its variable: validation would only name a capability.
fn refuse_unbindable(text: &Assembled<'_>, module: &Module) -> Result<(), PipelineError> {
    for (handle, variable) in module.global_variables.iter() {
        let Some(what) = globals::unbindable(&module.types[variable.ty].inner) else {
            continue;
        };
        let place = text.place(Some(module.global_variables.get_span(handle)));
        let name = variable.name.as_deref().unwrap_or_default();
        return Err(PipelineError::Limit(LimitError::UnsupportedBinding {
            kernel: text.name(),
            place,
            name: shortened(name, NAME).into_owned(),
            what,
        }));
    }
    Ok(())
}

fn missing(text: &Assembled<'_>, feature: ShaderFeature, place: Arc<Place>) -> PipelineError {
    PipelineError::Limit(LimitError::MissingFeature {
        kernel: text.name(),
        place,
        feature: feature.name(),
    })
}

fn validation_error(
    text: &Assembled<'_>,
    module: Option<&Module>,
    entry: &Arc<Place>,
    error: &WithSpan<ValidationError>,
) -> PipelineError {
    let place = text.place_of(place_of_rule(&text.text, module, error));
    let place = match place.line {
        0 => Arc::clone(entry),
        _ => place,
    };
    let message = shortened(&said(error.as_inner()), MESSAGE).into_owned();
    PipelineError::Validation {
        kernel: text.name(),
        place,
        message,
    }
}

/// In the order of the text: naga has those first that others need.
fn overrides(text: &Assembled<'_>, module: &Module) -> Vec<Override> {
    let mut all: Vec<_> = module.overrides.iter().collect();
    let begin = |handle| {
        module
            .overrides
            .get_span(handle)
            .to_range()
            .map(|range| range.start)
    };
    all.sort_by_key(|(handle, _)| begin(*handle));
    all.into_iter()
        .filter_map(|(handle, declared)| {
            let name = match declared.id {
                Some(id) => id.to_string(),
                // naga makes nameless overrides for expressions in array sizes.
                None => declared.name.clone()?,
            };
            let place = text.place(Some(module.overrides.get_span(handle)));
            Some(Override {
                name,
                place,
                has_default: declared.init.is_some(),
            })
        })
        .collect()
}

fn constants(
    text: &Assembled<'_>,
    descriptor: &KernelDescriptor,
    overrides: &[Override],
) -> Result<naga::back::PipelineConstants, PipelineError> {
    let mut constants = naga::back::PipelineConstants::default();
    for (name, value) in &descriptor.constants {
        if !overrides.iter().any(|declared| declared.name == **name) {
            return Err(unknown_constant(text, name, overrides));
        }
        constants.insert(name.clone().into_owned(), *value);
    }
    Ok(constants)
}

fn override_error(
    text: &Assembled<'_>,
    error: &PipelineConstantError,
    overrides: &[Override],
    descriptor: &KernelDescriptor,
    entry: &Arc<Place>,
) -> PipelineError {
    match error {
        PipelineConstantError::MissingValue(name) => {
            let declared = overrides.iter().find(|declared| declared.name == *name);
            PipelineError::MissingConstant {
                kernel: text.name(),
                place: Arc::clone(declared.map_or(entry, |o| &o.place)),
                name: shortened(name, NAME).into_owned(),
            }
        }
        PipelineConstantError::ValidationError(error) => validation_error(text, None, entry, error),
        other => PipelineError::ConstantValue {
            kernel: text.name(),
            place: Arc::clone(entry),
            message: shortened(&other.to_string(), MESSAGE).into_owned(),
            constants: descriptor
                .constants
                .iter()
                .map(|(name, value)| (name.clone().into_owned(), *value))
                .collect(),
        },
    }
}
