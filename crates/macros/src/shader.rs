//! What a WGSL file declares, as naga reads it.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::source::Source;
use naga::front::wgsl::parse_str;
use naga::valid::{Capabilities, ModuleInfo, ValidationError, ValidationFlags, Validator};
use naga::{
    AddressSpace, GlobalVariable, Module, Scalar, ScalarKind, ShaderStage, StorageAccess,
    TypeInner, WithSpan,
};
use ziggurat_core::wgsl::errors::{in_wgsl, said};
use ziggurat_core::wgsl::mistakes::{MOST, Mistakes, Refusal, read_all};
use ziggurat_core::wgsl::modules::{
    Refused, each_broken_rule, hollow_named, place_of_rule, refused,
};
use ziggurat_core::wgsl::{function, functions};

/// One entry point of a file with what it binds.
#[derive(Debug)]
pub(crate) struct Shader {
    pub(crate) entry: String,
    /// Storage buffers, textures and samplers, each kind by group and binding index.
    pub(crate) buffers: Vec<Buffer>,
    pub(crate) resources: Vec<Resource>,
    /// The immediate variable first, then uniforms by group and binding index.
    pub(crate) params: Vec<Params>,
}

#[derive(Debug)]
pub(crate) struct Buffer {
    place: (u32, u32),
    pub(crate) name: String,
    pub(crate) writes: bool,
    /// The scalar that it is made of, if there is one.
    pub(crate) scalar: Option<&'static str>,
}

#[derive(Debug)]
pub(crate) struct Resource {
    place: (u32, u32),
    pub(crate) name: String,
    pub(crate) is_sampler: bool,
}

#[derive(Debug)]
pub(crate) struct Params {
    place: (u32, u32),
    pub(crate) name: String,
    pub(crate) is_immediate: bool,
    /// Names and types of Rust.
    pub(crate) fields: Vec<(String, String)>,
}

/// Reads a shader; file, line and column begin each error. All mistakes of a text are told, one below the other.
pub(crate) fn read(source: &Source, wanted: Option<&str>) -> Result<Shader, String> {
    let (module, info) = valid(source)?;
    let points = module.entry_points.iter().enumerate();
    let compute: Vec<_> = points
        .filter(|(_, point)| point.stage == ShaderStage::Compute)
        .collect();
    let names: Vec<&str> = compute
        .iter()
        .map(|(_, point)| point.name.as_str())
        .collect();
    let found = match (wanted, compute.as_slice()) {
        (Some(wanted), all) => all.iter().find(|(_, point)| point.name == wanted),
        (None, [only]) => Some(only),
        (None, []) => {
            let last = functions(&source.text).last();
            return Err(source.located(last, "no `@compute` entry point"));
        }
        (None, [(_, first), ..]) => {
            let names = names.join("`, `");
            let message =
                format!("choose one of the entry points `{names}`: kernel!(\"…\", entry = \"…\")");
            return Err(source.located(function(&source.text, &first.name), &message));
        }
    };
    let Some(&(index, point)) = found else {
        let wanted = wanted.unwrap_or_default();
        let names = names.join("`, `");
        let message = format!("no compute entry point `{wanted}`; there are `{names}`");
        let first = compute.first();
        let first = first.and_then(|(_, first)| function(&source.text, &first.name));
        return Err(source.located(first, &message));
    };
    let mut shader = Shader {
        entry: point.name.clone(),
        buffers: Vec::new(),
        resources: Vec::new(),
        params: Vec::new(),
    };
    let uses = info.get_entry_point(index);
    let only = module.entry_points.len() == 1;
    let bound = |variable: &GlobalVariable| {
        let place = variable.binding.as_ref()?;
        Some((place.group, place.binding))
    };
    // Of the variables at one place an entry point uses at most one, which counts; else the first does.
    let variables = module.global_variables.iter();
    let used = variables.filter(|(handle, _)| !uses[*handle].is_empty());
    let mut taken: HashSet<(u32, u32)> = used.filter_map(|(_, used)| bound(used)).collect();
    let mut refused = Vec::new();
    for (handle, variable) in module.global_variables.iter() {
        let unused = uses[handle].is_empty();
        if unused && (!only || bound(variable).is_some_and(|place| !taken.insert(place))) {
            continue;
        }
        let place = module.global_variables.get_span(handle).to_range();
        let at = |message: String| source.located(place.clone(), &message);
        let name = variable.name.clone().unwrap_or_default();
        let place = bound(variable).unwrap_or_default();
        let inner = &module.types[variable.ty].inner;
        match variable.space {
            AddressSpace::Storage { access } => shader.buffers.push(Buffer {
                place,
                name,
                writes: access.contains(StorageAccess::STORE),
                scalar: scalar_of(&module, inner),
            }),
            AddressSpace::Handle => match inner {
                TypeInner::Image { .. } | TypeInner::Sampler { .. } => {
                    shader.resources.push(Resource {
                        place,
                        name,
                        is_sampler: matches!(inner, TypeInner::Sampler { .. }),
                    });
                }
                _ => refused.push(at(format!("`{name}` is of a kind that no argument is for"))),
            },
            AddressSpace::Uniform | AddressSpace::Immediate => {
                let (fields, without) = fields(&module, &name, inner);
                refused.extend(without.into_iter().map(at));
                shader.params.push(Params {
                    place,
                    name,
                    is_immediate: variable.space == AddressSpace::Immediate,
                    fields,
                });
            }
            _ => {}
        }
    }
    if !refused.is_empty() {
        return Err(refused.join("\n"));
    }
    shader.buffers.sort_by_key(|buffer| buffer.place);
    shader.resources.sort_by_key(|resource| resource.place);
    shader
        .params
        .sort_by_key(|params| (!params.is_immediate, params.place));
    Ok(shader)
}

/// A valid module, or all that is wrong with the text.
fn valid(source: &Source) -> Result<(Module, ModuleInfo), String> {
    let text = source.text.as_str();
    let mut found = Vec::new();
    let parse = |left: &str| {
        parse_str(left).map_err(|error| {
            let Refused { bytes, words } = refused(left, &error);
            let at = bytes.as_ref().map(|bytes| bytes.start);
            Refusal {
                at,
                error: (at, source.located(bytes, &in_wgsl(&words))),
                words,
            }
        })
    };
    let rest = match read_all(text, parse) {
        Ok(module) => match check(&module) {
            Ok(info) => return Ok((module, info)),
            Err(_) => Some(module),
        },
        Err(Mistakes {
            errors,
            rest,
            changed,
        }) => {
            found = errors;
            rest.map(|mut module| {
                hollow_named(&mut module, &changed);
                module
            })
        }
    };
    let parsed = found.len();
    if let Some(module) = rest {
        let check = |module: &Module| check(module).map(drop);
        let look = || {
            each_broken_rule(module, check, |module, error| {
                let bytes = place_of_rule(text, Some(module), error);
                let at = bytes.as_ref().map(|bytes| bytes.start);
                found.push((at, source.located(bytes, &said(error.as_inner()))));
                found.len() < MOST
            });
        };
        // naga may panic on what is left of a text.
        if catch_unwind(AssertUnwindSafe(look)).is_err() && parsed == 0 {
            found.truncate(1);
        }
    }
    // What has no place may only follow from another mistake.
    if found.iter().any(|(at, _)| at.is_some()) {
        found.retain(|(at, _)| at.is_some());
    }
    found.sort_by_key(|(at, _)| *at);
    let texts: Vec<String> = found.into_iter().map(|(_, text)| text).collect();
    Err(texts.join("\n"))
}

fn check(module: &Module) -> Result<ModuleInfo, Box<WithSpan<ValidationError>>> {
    Validator::new(ValidationFlags::all(), Capabilities::all())
        .validate(module)
        .map_err(Box::new)
}

/// The field of Rust that has the name of a WGSL variable or member. These four keywords of Rust are names in WGSL, which
/// reserves the others too.
pub(crate) fn field_name(wgsl: &str) -> String {
    match wgsl {
        "box" | "dyn" | "gen" | "in" => format!("r#{wgsl}"),
        _ => wgsl.to_owned(),
    }
}

/// The fields of a parameter variable: its members, or itself; and why there is none for others.
fn fields(module: &Module, name: &str, inner: &TypeInner) -> (Vec<(String, String)>, Vec<String>) {
    let (mut fields, mut refused) = (Vec::new(), Vec::new());
    let TypeInner::Struct { members, .. } = inner else {
        match rust_type(inner) {
            Some(ty) => fields.push((field_name(name), ty)),
            None => refused.push(format!("`{name}` is of a type that a Rust field cannot be")),
        }
        return (fields, refused);
    };
    for member in members {
        let field = member.name.clone().unwrap_or_default();
        match rust_type(&module.types[member.ty].inner) {
            Some(ty) => fields.push((field_name(&field), ty)),
            None => refused.push(format!("`{name}.{field}` is of a type that a Rust field cannot be: use scalars, vectors and matrices of 32 bits")),
        }
    }
    (fields, refused)
}

fn scalar_name(scalar: Scalar) -> Option<&'static str> {
    match (scalar.kind, scalar.width) {
        (ScalarKind::Float, 4) => Some("f32"),
        (ScalarKind::Float, 2) => Some("f16"),
        (ScalarKind::Sint, 4) => Some("i32"),
        (ScalarKind::Uint, 4) => Some("u32"),
        _ => None,
    }
}

fn rust_type(inner: &TypeInner) -> Option<String> {
    let wide = |scalar: Scalar| scalar_name(scalar).filter(|name| *name != "f16");
    match *inner {
        TypeInner::Scalar(scalar) => wide(scalar).map(str::to_owned),
        TypeInner::Vector { size, scalar } => Some(format!("[{}; {}]", wide(scalar)?, size as u8)),
        TypeInner::Matrix {
            columns,
            rows,
            scalar,
        } => {
            (wide(scalar)? == "f32").then(|| format!("[[f32; {}]; {}]", rows as u8, columns as u8))
        }
        _ => None,
    }
}

fn scalar_of(module: &Module, inner: &TypeInner) -> Option<&'static str> {
    match inner {
        TypeInner::Scalar(scalar)
        | TypeInner::Atomic(scalar)
        | TypeInner::Vector { scalar, .. }
        | TypeInner::Matrix { scalar, .. } => scalar_name(*scalar),
        TypeInner::Array { base, .. } => scalar_of(module, &module.types[*base].inner),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
