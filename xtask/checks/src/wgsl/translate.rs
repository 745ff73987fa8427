//! Every kernel through naga's backends: SPIR-V (Vulkan), and unless it is for Vulkan alone, MSL (Metal) and HLSL
//! (DirectX 12).
//!
//! What a backend cannot write is found here, on a machine that has none of those systems.

use naga::Module;
use naga::valid::ModuleInfo;
use ziggurat_check::Language;

use crate::problem::Problem;
use crate::wgsl::variant::Variant;

/// Translates a resolved module to each shading language.
pub(crate) fn check(
    variant: &Variant,
    module: &Module,
    info: &ModuleInfo,
    entry: &str,
) -> Vec<Problem> {
    let languages: &[Language] = match variant.tier.portable {
        true => &[Language::SpirV, Language::Msl, Language::Hlsl],
        false => &[Language::SpirV],
    };
    let mut problems = Vec::new();
    for language in languages {
        if let Err(message) = language.translate(module, info, entry) {
            let message = format!("{language}: {message}");
            problems.push(variant.problem_somewhere("translate", message));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wgsl::variant::{parse, planted, resolve};
    use naga::valid::Capabilities;

    fn problems(variant: &Variant) -> Vec<String> {
        let parsed = parse(variant).unwrap();
        let (module, info) = resolve(variant, &parsed).unwrap();
        check(variant, &module, &info, &parsed.entry_name)
            .into_iter()
            .map(|problem| problem.message)
            .collect()
    }

    #[test]
    fn an_ordinary_kernel_translates_with_immediates_and_with_uniforms() {
        for params in [
            "var<immediate> params: Params;",
            "@group(0) @binding(0) var<uniform> params: Params;",
        ] {
            let text = format!(
                "struct Params {{ len: u32 }}\n{params}\n\
                 @group(0) @binding(1) var<storage, read> a: array<f32>;\n\
                 @group(0) @binding(2) var<storage, read_write> out: array<f32>;\n\
                 @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) n: vec3<u32>) {{\n\
                 if id.x < params.len {{ out[id.x] = a[id.x + n.y]; }} }}"
            );
            assert_eq!(problems(&planted(&text)), Vec::<String>::new());
        }
    }

    #[test]
    fn what_a_backend_cannot_write_is_reported() {
        // Metal has no 64-bit floats.
        let mut variant = planted(
            "@group(0) @binding(1) var<storage, read_write> out: array<f64>;\n\
             @compute @workgroup_size(1) fn main() { out[0] = out[1]; }",
        );
        variant.tier.capabilities = Capabilities::FLOAT64;
        assert!(
            problems(&variant)
                .iter()
                .any(|message| message.starts_with("MSL"))
        );
    }
}
