//! Every kernel through naga's backends: SPIR-V (Vulkan), and unless it is for Vulkan alone, MSL (Metal) and HLSL
//! (DirectX 12).
//!
//! What a backend cannot write is found here, on a machine that has none of those systems.

use std::collections::BTreeMap;
use std::panic::{self, AssertUnwindSafe};

use naga::back::{hlsl, msl, spv};
use naga::valid::ModuleInfo;
use naga::{AddressSpace, Module, ShaderStage};

use crate::problem::Problem;
use crate::wgsl::variant::Variant;
use xtask::failure::Failure;

/// Translates a resolved module to each shading language.
pub(crate) fn check(
    variant: &Variant,
    module: &Module,
    info: &ModuleInfo,
    entry: &str,
) -> Vec<Problem> {
    let targets: [(&str, Translate); 3] =
        [("SPIR-V", to_spirv), ("MSL", to_msl), ("HLSL", to_hlsl)];
    let count = if variant.tier.portable {
        targets.len()
    } else {
        1
    };
    let mut problems = Vec::new();
    for (target, translate) in targets.into_iter().take(count) {
        // naga's writers panic on some input that its validator accepts.
        let outcome = panic::catch_unwind(AssertUnwindSafe(|| translate(module, info, entry)));
        let message = match outcome {
            Ok(Ok(())) => continue,
            Ok(Err(failure)) => failure.to_string(),
            Err(_) => "the writer panicked".into(),
        };
        problems.push(variant.problem_somewhere("translate", format!("{target}: {message}")));
    }
    problems
}

type Translate = fn(&Module, &ModuleInfo, &str) -> Result<(), Failure>;

fn to_spirv(module: &Module, info: &ModuleInfo, entry: &str) -> Result<(), Failure> {
    let options = spv::Options {
        lang_version: (1, 3),
        ..spv::Options::default()
    };
    let pipeline = spv::PipelineOptions {
        shader_stage: ShaderStage::Compute,
        entry_point: entry.into(),
    };
    let words = spv::write_vec(module, info, &options, Some(&pipeline))?;
    if words.is_empty() {
        Err(Failure::new("nothing was written"))
    } else {
        Ok(())
    }
}

fn to_msl(module: &Module, info: &ModuleInfo, entry: &str) -> Result<(), Failure> {
    let mut resources = msl::EntryPointResources {
        immediates_buffer: Some(30),
        sizes_buffer: Some(29),
        ..Default::default()
    };
    for (slot, (_, global)) in (0..).zip(module.global_variables.iter()) {
        if let Some(binding) = global.binding {
            let target = msl::BindTarget {
                buffer: Some(slot),
                mutable: is_writable(global.space),
                ..Default::default()
            };
            resources.resources.insert(binding, target);
        }
    }
    let options = msl::Options {
        lang_version: (2, 4),
        per_entry_point_map: BTreeMap::from([(entry.to_owned(), resources)]),
        fake_missing_bindings: false,
        ..msl::Options::default()
    };
    let pipeline = msl::PipelineOptions {
        entry_point: Some((ShaderStage::Compute, entry.into())),
        ..Default::default()
    };
    let (text, translation) = msl::write_string(module, info, &options, &pipeline)?;
    for name in translation.entry_point_names {
        name?;
    }
    if text.contains(entry) || !text.is_empty() {
        Ok(())
    } else {
        Err(Failure::new("nothing was written"))
    }
}

fn is_writable(space: AddressSpace) -> bool {
    matches!(space, AddressSpace::Storage { access } if access.contains(naga::StorageAccess::STORE))
}

fn to_hlsl(module: &Module, info: &ModuleInfo, entry: &str) -> Result<(), Failure> {
    let target = |register| hlsl::BindTarget {
        space: 9,
        register,
        ..Default::default()
    };
    let options = hlsl::Options {
        shader_model: hlsl::ShaderModel::V6_2,
        immediates_target: Some(target(0)),
        special_constants_binding: Some(target(1)),
        ..hlsl::Options::default()
    };
    let pipeline = hlsl::PipelineOptions {
        entry_point: Some((ShaderStage::Compute, entry.into())),
    };
    let mut text = String::new();
    let reflection = hlsl::Writer::new(&mut text, &options, &pipeline).write(module, info, None)?;
    for name in reflection.entry_point_names {
        name?;
    }
    if text.is_empty() {
        Err(Failure::new("nothing was written"))
    } else {
        Ok(())
    }
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
