//! Names of what a kernel declares.
//!
//! Bindings are called by their role, the parameter struct `Params`, constants and overrides in
//! UPPER_CASE, workgroup memory `tile_…` or `partial_…`, the entry point `main` or `main_…`. A reader
//! then knows what a name is without looking it up.

use naga::{AddressSpace, Span};

use crate::problem::Problem;
use crate::wgsl::variant::{Parsed, Variant};

const RULE: &str = "naming";
const ROLES: [&str; 4] = ["a", "b", "c", "out"];

/// Fused kernels have any number of operands: `in_0`, `out_0`, ...
fn is_role(name: &str) -> bool {
    let numbered = name.strip_prefix("in_").or(name.strip_prefix("out_"));
    ROLES.contains(&name) || numbered.is_some_and(|number| number.parse::<u32>().is_ok())
}

/// Checks the names of globals, constants, overrides and the entry point.
pub(crate) fn check(variant: &Variant, parsed: &Parsed) -> Vec<Problem> {
    let mut found: Vec<(Span, String)> = Vec::new();
    let module = &parsed.module;
    for (handle, global) in module.global_variables.iter() {
        let name = global.name.as_deref().unwrap_or_default();
        let span = module.global_variables.get_span(handle);
        match global.space {
            AddressSpace::Storage { .. } if !is_role(name) => {
                found.push((
                    span,
                    format!("binding `{name}` is none of {}", ROLES.join(", ")),
                ));
            }
            AddressSpace::Uniform | AddressSpace::Immediate => {
                if name != "params" {
                    found.push((
                        span,
                        format!("parameter block `{name}` is not called `params`"),
                    ));
                }
                let ty = module.types[global.ty].name.as_deref().unwrap_or_default();
                if ty != "Params" {
                    found.push((
                        span,
                        format!("parameter struct `{ty}` is not called `Params`"),
                    ));
                }
            }
            AddressSpace::WorkGroup
                if !name.starts_with("tile_") && !name.starts_with("partial_") =>
            {
                found.push((
                    span,
                    format!("workgroup memory `{name}` starts with neither `tile_` nor `partial_`"),
                ));
            }
            _ => {}
        }
    }
    for (handle, constant) in module.constants.iter() {
        if let Some(name) = constant.name.as_deref().filter(|name| !is_upper_case(name)) {
            found.push((
                module.constants.get_span(handle),
                format!("constant `{name}` is not UPPER_CASE"),
            ));
        }
    }
    for (handle, constant) in module.overrides.iter() {
        if let Some(name) = constant.name.as_deref().filter(|name| !is_upper_case(name)) {
            found.push((
                module.overrides.get_span(handle),
                format!("override `{name}` is not UPPER_CASE"),
            ));
        }
    }
    let mut problems: Vec<Problem> = found
        .into_iter()
        .map(|(span, message)| variant.problem(&parsed.text, span, RULE, message))
        .collect();
    if parsed.entry_name != "main" && !parsed.entry_name.starts_with("main_") {
        problems.push(variant.problem_somewhere(
            RULE,
            format!("entry point `{}` is not `main`", parsed.entry_name),
        ));
    }
    problems
}

fn is_upper_case(name: &str) -> bool {
    name.chars()
        .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wgsl::variant::{parse, planted};

    const GOOD: &str = "struct Params { len: u32 }\n\
        @group(0) @binding(0) var<uniform> params: Params;\n\
        @group(0) @binding(1) var<storage, read_write> out: array<f32>;\n\
        const ZERO = 0.0f;\n\
        override WG: u32 = 64u;\n\
        var<workgroup> tile_a: array<f32, 4>;\n\
        @compute @workgroup_size(WG) fn main() { tile_a[0] = ZERO; out[params.len] = tile_a[0]; }";

    fn lines(text: &str) -> Vec<u32> {
        let variant = planted(text);
        let parsed = parse(&variant).unwrap();
        check(&variant, &parsed)
            .into_iter()
            .map(|problem| problem.line)
            .collect()
    }

    #[test]
    fn names_by_the_rules_are_accepted() {
        assert_eq!(lines(GOOD), Vec::<u32>::new());
    }

    #[test]
    fn each_wrong_name_is_rejected_at_its_line() {
        assert_eq!(lines(&GOOD.replace("params", "p")), [2]);
        assert_eq!(lines(&GOOD.replace("Params", "Options")), [2]);
        assert_eq!(lines(&GOOD.replace("out", "result")), [3]);
        assert_eq!(lines(&GOOD.replace("ZERO", "zero")), [4]);
        assert_eq!(lines(&GOOD.replace("WG", "wg")), [5]);
        assert_eq!(lines(&GOOD.replace("tile_a", "cache")), [6]);
        assert_eq!(lines(&GOOD.replace("main", "go")), [0]);
    }
}
