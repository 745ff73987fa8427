//! A shader's declarations, read without naga: what a dispatch has to know of texts as plain as this library's own.
//!
//! A program for the web is half a megabyte smaller without naga, and the browser's compiler checks every text anyway.
//! Invariants: what is read here is what naga reads, which debug builds compare for every kernel; what would take more
//! than a look at declarations is refused. Whether the text is WGSL is the browser's to say, how much workgroup memory it
//! has, and what it uses without a directive: the reflection tells of none.

mod types;
mod words;

use std::ops::Range;
use std::sync::Arc;

use types::Type;
use words::{Declared, Refused, Variable, Words};
use ziggurat_core::sort_few_by_key;
use ziggurat_core::text::shortened;
use ziggurat_core::wgsl::tokens;
use ziggurat_device::ShaderFeature;

use super::entry::{Entries, NAME, unknown_constant};
use super::{Access, Binding, Override, ParamSpace, Params, Reflection, Specialised};
use crate::descriptor::KernelDescriptor;
use crate::error::{LimitError, PipelineError};
use crate::feature::ShaderFeatures;
use crate::place::{Assembled, Place};

/// Nothing: a text is read anew for each of its specialisations, which takes less time than remembering it.
#[cfg(not(any(feature = "naga", not(target_arch = "wasm32"))))]
#[derive(Debug)]
pub(super) struct Valid;

#[cfg(not(any(feature = "naga", not(target_arch = "wasm32"))))]
pub(super) fn read(
    _: &Assembled<'_>,
    _: &KernelDescriptor,
    _: ShaderFeatures,
    _: &crate::shader_limits::ShaderLimits,
) -> Result<Valid, PipelineError> {
    Ok(Valid)
}

/// Reads one kernel of a text.
pub(super) fn specialise(
    text: &Assembled<'_>,
    descriptor: &KernelDescriptor,
    available: ShaderFeatures,
) -> Result<Specialised, PipelineError> {
    let words = Words(tokens(&text.text).collect());
    let refuse = |(at, what): Refused| PipelineError::NeedsNaga {
        kernel: text.name(),
        place: text.place_of(Some(words.bytes(at..at + 1))),
        what,
    };
    let declared = words.declarations().map_err(refuse)?;
    let names = Entries(declared.entries.iter().map(|entry| entry.name).collect());
    let name = names.choose(text, descriptor.entry.as_deref())?;
    let [entry] = declared.entries.as_slice() else {
        let second = declared.entries.get(1).map_or(0, |entry| entry.at);
        return Err(refuse((second, "one of several entry points")));
    };
    let place = |of: Range<usize>| text.place_of(Some(words.bytes(of)));
    let features = features(text, &words, &declared, available)?;
    let overrides: Vec<Override> = declared
        .overrides
        .iter()
        .map(|(variable, name, all)| Override {
            name: name.clone(),
            place: place(all.clone()),
            has_default: declared.numbers.contains_key(variable),
        })
        .collect();
    let mut constants = descriptor.constants.iter();
    if let Some((unknown, _)) =
        constants.find(|(name, _)| overrides.iter().all(|o| o.name != **name))
    {
        return Err(unknown_constant(text, unknown, &overrides));
    }
    let reader = types::Reader {
        words: &words,
        declared: &declared,
        constants: &descriptor.constants,
    };
    let mut reflection = Reflection {
        kernel: text.name(),
        place: text.function(&name),
        entry: name,
        workgroup_size: reader.workgroup_size(entry.size.clone()).map_err(refuse)?,
        bindings: Vec::new(),
        params: None,
        uniforms: Vec::new(),
        resources: Vec::new(),
        workgroup_memory: Vec::new(),
        grid_inputs: words.grid_inputs(entry).map_err(refuse)?,
        divergent_barriers: Vec::new(),
        overrides,
        features,
    };
    for variable in &declared.variables {
        let ty = reader.ty(variable.ty).map_err(refuse)?;
        add(&mut reflection, variable, ty, place(variable.all.clone()))
            .map_err(|what| refuse((variable.all.start, what)))?;
    }
    sort_few_by_key(&mut reflection.bindings, |b| (b.group, b.binding));
    sort_few_by_key(&mut reflection.uniforms, |uniform| uniform.space);
    if let ([only], None) = (reflection.uniforms.as_slice(), &reflection.params) {
        reflection.params = Some(only.clone());
    }
    Ok(Specialised {
        reflection,
        is_large: false,
    })
}

/// Adds what is bound; the index must be new.
fn add(
    to: &mut Reflection,
    variable: &Variable<'_>,
    ty: Type,
    place: Arc<Place>,
) -> Result<(), &'static str> {
    let name = shortened(variable.name, NAME).into_owned();
    let [Ok(group), Ok(binding)] = variable.index.map(u32::try_from) else {
        return Err("the number of a group or binding");
    };
    let uniform = ParamSpace::Uniform { group, binding };
    let mut bindings = to.bindings.iter();
    let stored = bindings.any(|b| (b.group, b.binding) == (group, binding));
    let is_bound = !matches!(variable.space, ["immediate", _]);
    if is_bound && (stored || to.uniforms.iter().any(|other| other.space == uniform)) {
        return Err("one of two variables with the same binding");
    }
    let space = match variable.space {
        ["storage", access] => {
            to.bindings.push(Binding {
                group,
                binding,
                name,
                place,
                access: match access {
                    "read_write" => Access::ReadWrite,
                    "read" | "" => Access::Read,
                    _ => return Err("an access mode"),
                },
                scalar: ty.scalar,
                stride: ty.stride,
                min_bytes: u64::from(ty.bytes),
            });
            return Ok(());
        }
        ["uniform", ""] => uniform,
        ["immediate", ""] => ParamSpace::Immediate,
        _ => return Err("a variable's address space"),
    };
    let params = Params {
        space,
        name,
        place,
        bytes: ty.bytes,
        members: ty.members,
    };
    if space == ParamSpace::Immediate {
        if to.params.replace(params).is_some() {
            return Err("one of two immediates");
        }
    } else {
        to.uniforms.push(params);
    }
    Ok(())
}

/// What a text says that it needs beyond plain WGSL.
fn features(
    text: &Assembled<'_>,
    words: &Words<'_>,
    declared: &Declared<'_>,
    available: ShaderFeatures,
) -> Result<ShaderFeatures, PipelineError> {
    let place = |at: usize| text.place_of(Some(words.bytes(at..at + 1)));
    let mut needed = Vec::new();
    for at in &declared.enabled {
        let feature = match (words.word(*at), words.word(*at + 1)) {
            ("f16", ";") => ShaderFeature::F16,
            ("subgroups", ";") => ShaderFeature::Subgroups,
            _ => {
                return Err(PipelineError::NeedsNaga {
                    kernel: text.name(),
                    place: place(*at),
                    what: "such a directive",
                });
            }
        };
        needed.push((feature, *at));
    }
    let mut variables = declared.variables.iter();
    if let Some(variable) = variables.find(|variable| variable.space[0] == "immediate") {
        needed.push((ShaderFeature::Immediates, variable.all.start));
    }
    let mut all = ShaderFeatures::NONE;
    for (feature, at) in needed {
        if !available.contains(feature) {
            return Err(PipelineError::Limit(LimitError::MissingFeature {
                kernel: text.name(),
                place: place(at),
                feature: feature.name(),
            }));
        }
        all = all.with(feature);
    }
    Ok(all)
}

/// Refuses a kernel of which naga's reflection is another, as far as this one goes.
#[cfg(all(
    any(test, debug_assertions),
    any(feature = "naga", not(target_arch = "wasm32"))
))]
pub(super) fn compare(
    text: &Assembled<'_>,
    descriptor: &KernelDescriptor,
    available: ShaderFeatures,
    by_naga: &Reflection,
) -> Result<(), PipelineError> {
    let Ok(plain) = specialise(text, descriptor, available) else {
        return Ok(());
    };
    let same = Reflection {
        workgroup_memory: Vec::new(),
        divergent_barriers: Vec::new(),
        features: plain.reflection.features,
        ..by_naga.clone()
    };
    if plain.reflection == same {
        return Ok(());
    }
    Err(PipelineError::Internal {
        kernel: text.name(),
        what: "its declarations are not what naga reads",
    })
}
