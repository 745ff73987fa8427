//! The host's parameter struct against the shader's.
//!
//! The host writes bytes, the shader reads members: names, types and offsets must be the same, and only
//! types are allowed whose layout is the same in uniform memory and immediates.

use naga::{AddressSpace, Module, Scalar, ScalarKind, TypeInner};

use crate::problem::Problem;
use crate::wgsl::variant::{Field, Parsed, Variant};

const RULE: &str = "params";
const TYPES: [&str; 4] = ["u32", "i32", "f32", "vec4<u32>"];
/// Arrays of this have the same stride everywhere.
const ARRAYS: &str = "array<vec4<u32>, ";

/// Checks the `params` global of a kernel against what the host declares.
pub(crate) fn check(variant: &Variant, parsed: &Parsed) -> Vec<Problem> {
    let module = &parsed.module;
    let globals = module.global_variables.iter();
    let mut globals = globals.filter(|(_, global)| {
        matches!(
            global.space,
            AddressSpace::Uniform | AddressSpace::Immediate
        )
    });
    let found = globals.next();
    if let Some((handle, _)) = globals.next() {
        let span = module.global_variables.get_span(handle);
        return vec![variant.problem(
            &parsed.text,
            span,
            RULE,
            "a kernel has one parameter block, this is the second".into(),
        )];
    }
    let (handle, global) = match (found, &variant.params) {
        (None, None) => return Vec::new(),
        (None, Some(fields)) => {
            let message = format!(
                "the host passes {} parameters and the shader has none",
                fields.len()
            );
            return vec![variant.problem_somewhere(RULE, message)];
        }
        (Some(found), _) => found,
    };
    let span = module.global_variables.get_span(handle);
    let problem = |message: String| {
        variant.problem(
            &parsed.text,
            span,
            RULE,
            format!("{message} (kernel {})", variant.name),
        )
    };
    let TypeInner::Struct { members, .. } = &module.types[global.ty].inner else {
        return vec![problem("the parameters are not a struct".into())];
    };
    let shader: Vec<Field> = members
        .iter()
        .map(|member| Field {
            name: member.name.clone().unwrap_or_default(),
            ty: type_name(module, member.ty),
            offset: member.offset,
        })
        .collect();
    let mut problems = Vec::new();
    for field in shader.iter().filter(|field| !is_allowed(&field.ty)) {
        problems.push(problem(format!(
            "`{}` is {}, allowed are {}",
            field.name,
            field.ty,
            TYPES.join(", ")
        )));
    }
    let host = variant.params.as_deref().unwrap_or_default();
    if shader != host {
        problems.push(problem(format!(
            "the host has {}, the shader {}",
            list(host),
            list(&shader)
        )));
    }
    problems
}

fn is_allowed(ty: &str) -> bool {
    TYPES.contains(&ty) || ty.starts_with(ARRAYS)
}

/// How a type is written in WGSL; only types that parameters may have are spelt out.
fn type_name(module: &Module, ty: naga::Handle<naga::Type>) -> String {
    let scalar = |scalar: &Scalar| match (scalar.kind, scalar.width) {
        (ScalarKind::Uint, 4) => "u32",
        (ScalarKind::Sint, 4) => "i32",
        (ScalarKind::Float, 4) => "f32",
        (ScalarKind::Float, 2) => "f16",
        _ => "?",
    };
    match &module.types[ty].inner {
        TypeInner::Scalar(inner) => scalar(inner).into(),
        TypeInner::Vector {
            size,
            scalar: inner,
        } => format!("vec{}<{}>", *size as u8, scalar(inner)),
        TypeInner::Array {
            base,
            size: naga::ArraySize::Constant(len),
            ..
        } => {
            format!("array<{}, {len}>", type_name(module, *base))
        }
        _ => module.types[ty].name.clone().unwrap_or_else(|| "?".into()),
    }
}

fn list(fields: &[Field]) -> String {
    let fields: Vec<String> = fields
        .iter()
        .map(|field| format!("{}: {} @{}", field.name, field.ty, field.offset))
        .collect();
    format!("{{ {} }}", fields.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wgsl::variant::{parse, planted};

    const TEXT: &str = "struct Params { len: u32, scale: f32, dims: vec4<u32> }\n\
                        @group(0) @binding(0) var<uniform> params: Params;\n\
                        @group(0) @binding(1) var<storage, read_write> out: array<f32>;\n\
                        @compute @workgroup_size(1) fn main() { out[params.len] = params.scale + f32(params.dims.x); }";

    fn problems(text: &str, fields: &[(&str, &str, u32)]) -> Vec<String> {
        let mut variant = planted(text);
        let field = |(name, ty, offset): &(&str, &str, u32)| Field {
            name: (*name).into(),
            ty: (*ty).into(),
            offset: *offset,
        };
        variant.params = Some(fields.iter().map(field).collect());
        let parsed = parse(&variant).unwrap();
        check(&variant, &parsed)
            .into_iter()
            .map(|problem| problem.message)
            .collect()
    }

    #[test]
    fn the_same_members_are_accepted() {
        assert!(
            problems(
                TEXT,
                &[
                    ("len", "u32", 0),
                    ("scale", "f32", 4),
                    ("dims", "vec4<u32>", 16)
                ]
            )
            .is_empty()
        );
    }

    #[test]
    fn another_offset_type_or_order_is_rejected() {
        assert_eq!(
            problems(
                TEXT,
                &[
                    ("len", "u32", 0),
                    ("scale", "f32", 4),
                    ("dims", "vec4<u32>", 8)
                ]
            )
            .len(),
            1
        );
        assert_eq!(
            problems(
                TEXT,
                &[
                    ("len", "i32", 0),
                    ("scale", "f32", 4),
                    ("dims", "vec4<u32>", 16)
                ]
            )
            .len(),
            1
        );
        assert_eq!(problems(TEXT, &[("len", "u32", 0)]).len(), 1);
    }

    #[test]
    fn arrays_of_four_words_are_accepted_and_of_one_rejected() {
        let text = TEXT
            .replace("dims: vec4<u32>", "dims: array<vec4<u32>, 2>")
            .replace("dims.x", "dims[1].x");
        assert!(
            problems(
                &text,
                &[
                    ("len", "u32", 0),
                    ("scale", "f32", 4),
                    ("dims", "array<vec4<u32>, 2>", 16)
                ]
            )
            .is_empty()
        );
        assert!(!is_allowed("array<u32, 4>"));
    }

    #[test]
    fn a_type_with_a_layout_of_its_own_is_rejected() {
        let text = TEXT
            .replace("scale: f32", "scale: vec3<f32>")
            .replace("params.scale", "params.scale.x");
        let found = problems(
            &text,
            &[
                ("len", "u32", 0),
                ("scale", "vec3<f32>", 16),
                ("dims", "vec4<u32>", 32),
            ],
        );
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("vec3<f32>"));
    }
}
