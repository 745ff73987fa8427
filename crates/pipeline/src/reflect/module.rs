//! From text to a valid module with resolved overrides.

use naga::back::pipeline_constants::{PipelineConstantError, process_overrides};
use naga::valid::{ModuleInfo, ValidationError, ValidationFlags, Validator};
use naga::{Module, ShaderStage, Span, WithSpan};

use super::{Override, Reflection, globals};
use crate::descriptor::KernelDescriptor;
use crate::error::PipelineError;
use crate::feature::{ShaderFeature, ShaderFeatures};
use crate::place::{Assembled, Place};

/// A text that is valid, before its overrides have values.
#[derive(Debug)]
pub(super) struct Valid {
    module: Module,
    info: ModuleInfo,
    /// What it cannot do without.
    features: ShaderFeatures,
}

/// From text to a valid module.
pub(super) fn read(
    text: &Assembled<'_>,
    descriptor: &KernelDescriptor,
    available: ShaderFeatures,
) -> Result<Valid, PipelineError> {
    let module = parse(text)?;
    let entry = choose_entry(text, &module, descriptor.entry.as_deref())?;
    let at = text.function(&entry);
    let (info, features) = validate(text, &module, available, &at)?;
    Ok(Valid {
        module,
        info,
        features,
    })
}

/// One kernel of a valid text: its entry point, with values for the overrides.
pub(super) fn specialise(
    text: &Assembled<'_>,
    descriptor: &KernelDescriptor,
    valid: &Valid,
) -> Result<Reflection, PipelineError> {
    let Valid {
        module,
        info,
        features,
    } = valid;
    let entry = choose_entry(text, module, descriptor.entry.as_deref())?;
    let at = text.function(&entry);
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
        return Err(unknown_entry(text, module, &entry));
    };
    let only = module.entry_points.len() == 1;
    let found = globals::collect(text, &resolved, resolved_info.get_entry_point(index), only)?;

    Ok(Reflection {
        kernel: text.name(),
        workgroup_size: point.workgroup_size,
        entry,
        file: at.file,
        line: at.line,
        bindings: found.bindings,
        params: found.params,
        workgroup_memory: found.workgroup_memory,
        overrides,
        features: *features,
    })
}

fn parse(text: &Assembled<'_>) -> Result<Module, PipelineError> {
    naga::front::wgsl::parse_str(&text.text).map_err(|error| {
        let span = error.labels().next().map(|(span, _)| span);
        let place = text.place(span);
        let mut message = error.message().to_owned();
        for note in error.notes() {
            message.push_str("; ");
            message.push_str(note);
        }
        PipelineError::Parse {
            kernel: text.name(),
            file: place.file,
            line: place.line,
            column: place.column,
            message,
            snippet: place.snippet,
        }
    })
}

fn entries(module: &Module) -> impl Iterator<Item = &str> {
    module
        .entry_points
        .iter()
        .filter(|point| point.stage == ShaderStage::Compute)
        .map(|point| point.name.as_str())
}

/// Each entry point with its file and line.
fn entry_places(text: &Assembled<'_>, module: &Module) -> Vec<String> {
    let place = |name: &str| {
        let at = text.function(name);
        format!("`{name}` ({}:{})", at.file, at.line)
    };
    entries(module).map(place).collect()
}

fn unknown_entry(text: &Assembled<'_>, module: &Module, wanted: &str) -> PipelineError {
    PipelineError::UnknownEntryPoint {
        kernel: text.name(),
        wanted: wanted.to_owned(),
        have: entry_places(text, module),
    }
}

fn choose_entry(
    text: &Assembled<'_>,
    module: &Module,
    wanted: Option<&str>,
) -> Result<String, PipelineError> {
    let mut names = entries(module);
    match wanted {
        Some(wanted) => names
            .find(|&name| name == wanted)
            .map(str::to_owned)
            .ok_or_else(|| unknown_entry(text, module, wanted)),
        None => match (names.next(), names.next()) {
            (Some(only), None) => Ok(only.to_owned()),
            (None, _) => Err(PipelineError::NoEntryPoint {
                kernel: text.name(),
                file: text.last_file(),
            }),
            (Some(_), Some(_)) => Err(PipelineError::AmbiguousEntryPoint {
                kernel: text.name(),
                have: entry_places(text, module),
            }),
        },
    }
}

fn check(
    module: &Module,
    features: ShaderFeatures,
) -> Result<ModuleInfo, Box<WithSpan<ValidationError>>> {
    Validator::new(ValidationFlags::all(), features.capabilities())
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
    entry: &Place,
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
    if let Err(error) = check(module, all) {
        return Err(validation_error(text, &error));
    }
    for feature in ShaderFeature::all() {
        if let Err(error) = check(module, all.without(feature)) {
            if !available.contains(feature) {
                let place = text.place(first_span(&error));
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
    let info = check(module, available).map_err(|error| validation_error(text, &error))?;
    Ok((info, needed))
}

fn missing(text: &Assembled<'_>, feature: ShaderFeature, place: Place) -> PipelineError {
    PipelineError::MissingFeature {
        kernel: text.name(),
        file: place.file,
        line: place.line,
        feature: feature.name(),
    }
}

fn first_span(error: &WithSpan<ValidationError>) -> Option<Span> {
    error.spans().map(|(span, _)| *span).find(Span::is_defined)
}

fn validation_error(text: &Assembled<'_>, error: &WithSpan<ValidationError>) -> PipelineError {
    let place = match (first_span(error), error.as_inner()) {
        // naga keeps no span for what is wrong with an entry point's attributes.
        (None, ValidationError::EntryPoint { name, .. }) => text.function(name),
        (span, _) => text.place(span),
    };
    let mut message = error.to_string();
    let mut cause = std::error::Error::source(error.as_inner());
    while let Some(next) = cause {
        message.push_str(": ");
        message.push_str(&next.to_string());
        cause = next.source();
    }
    PipelineError::Validation {
        kernel: text.name(),
        file: place.file,
        line: place.line,
        column: place.column,
        message,
        snippet: place.snippet,
    }
}

fn overrides(text: &Assembled<'_>, module: &Module) -> Vec<Override> {
    module
        .overrides
        .iter()
        .filter_map(|(handle, declared)| {
            let name = match declared.id {
                Some(id) => id.to_string(),
                // naga makes nameless overrides for expressions in array sizes.
                None => declared.name.clone()?,
            };
            let place = text.place(Some(module.overrides.get_span(handle)));
            Some(Override {
                name,
                file: place.file,
                line: place.line,
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
            return Err(PipelineError::UnknownConstant {
                kernel: text.name(),
                name: name.clone().into_owned(),
                have: overrides
                    .iter()
                    .map(|o| format!("`{}` ({}:{})", o.name, o.file, o.line))
                    .collect(),
            });
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
    entry: &Place,
) -> PipelineError {
    match error {
        PipelineConstantError::MissingValue(name) => {
            let declared = overrides.iter().find(|declared| declared.name == *name);
            PipelineError::MissingConstant {
                kernel: text.name(),
                file: declared.map_or_else(|| entry.file.clone(), |o| o.file.clone()),
                line: declared.map_or(entry.line, |o| o.line),
                name: name.clone(),
            }
        }
        PipelineConstantError::ValidationError(error) => validation_error(text, error),
        other => PipelineError::ConstantValue {
            kernel: text.name(),
            file: entry.file.clone(),
            line: entry.line,
            message: other.to_string(),
            constants: descriptor
                .constants
                .iter()
                .map(|(name, value)| (name.clone().into_owned(), *value))
                .collect(),
        },
    }
}
