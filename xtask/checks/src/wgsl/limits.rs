//! What a kernel asks of an adapter, against the limits of its tier.
//!
//! wgpu and naga leave some of this to the driver, which may then write nothing at all: workgroup sizes
//! that come from overrides and workgroup memory are computed here, after the overrides are resolved.

use naga::proc::Layouter;
use naga::{AddressSpace, Module, TypeInner};

use crate::problem::Problem;
use crate::wgsl::variant::{Tier, Variant};

/// Sizes per dimension that WebGPU allows by default.
const SIZES: [u32; 3] = [256, 256, 64];
/// The most bytes of immediates that common adapters take; where there are fewer, the pipeline layer
/// chooses a uniform by itself.
pub(crate) const IMMEDIATE_BYTES: u32 = 256;
/// Bytes of a uniform binding that every adapter takes.
const UNIFORM_BYTES: u32 = 16 * 1024;

/// Checks a module whose overrides are resolved.
pub(crate) fn check(variant: &Variant, module: &Module) -> Vec<Problem> {
    let mut messages = Vec::new();
    let tier = &variant.tier;
    for entry in &module.entry_points {
        workgroup(tier, entry.workgroup_size, &mut messages);
    }
    memory(tier, module, &mut messages);
    messages
        .into_iter()
        .map(|message| variant.problem_somewhere("limits", message))
        .collect()
}

fn workgroup(tier: &Tier, size: [u32; 3], messages: &mut Vec<String>) {
    let invocations = size
        .iter()
        .fold(1_u32, |product, n| product.saturating_mul(*n));
    if invocations > tier.invocations || invocations == 0 {
        messages.push(format!(
            "workgroup of {invocations} invocations, allowed are 1 to {}",
            tier.invocations
        ));
    }
    for ((size, limit), axis) in size.iter().zip(SIZES).zip(["x", "y", "z"]) {
        if *size > limit.max(tier.invocations) || (axis == "z" && *size > limit) {
            messages.push(format!(
                "workgroup size {size} in {axis}, allowed are {limit}"
            ));
        }
    }
}

fn memory(tier: &Tier, module: &Module, messages: &mut Vec<String>) {
    let mut layouter = Layouter::default();
    if let Err(error) = layouter.update(module.to_ctx()) {
        messages.push(format!("layout: {error}"));
        return;
    }
    let mut workgroup_bytes = 0_u32;
    let mut storage_buffers = 0_u32;
    for (_, global) in module.global_variables.iter() {
        let bytes = layouter[global.ty].size;
        let name = global.name.as_deref().unwrap_or("?");
        match global.space {
            AddressSpace::WorkGroup => {
                workgroup_bytes = workgroup_bytes.saturating_add(bytes.next_multiple_of(16));
            }
            AddressSpace::Storage { .. } => storage_buffers += 1,
            AddressSpace::Immediate if bytes > IMMEDIATE_BYTES => {
                messages.push(format!(
                    "`{name}` has {bytes} bytes of immediates, allowed are {IMMEDIATE_BYTES}"
                ));
            }
            AddressSpace::Uniform if bytes > UNIFORM_BYTES => {
                messages.push(format!(
                    "`{name}` has {bytes} bytes of uniform, allowed are {UNIFORM_BYTES}"
                ));
            }
            _ => {}
        }
        if let (AddressSpace::Private, TypeInner::Array { .. }) =
            (global.space, &module.types[global.ty].inner)
            && bytes > 1024
        {
            messages.push(format!(
                "`{name}` is {bytes} bytes of private memory per invocation"
            ));
        }
    }
    if workgroup_bytes > tier.workgroup_bytes {
        messages.push(format!(
            "{workgroup_bytes} bytes of workgroup memory, allowed are {}",
            tier.workgroup_bytes
        ));
    }
    if storage_buffers > tier.storage_buffers {
        messages.push(format!(
            "{storage_buffers} storage buffers, allowed are {} (the limit less the hidden one)",
            tier.storage_buffers
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wgsl::variant::{parse, planted, resolve};

    fn problems(text: &str, wg: f64) -> usize {
        let mut variant = planted(text);
        variant.constants.insert("WG".into(), wg);
        let parsed = parse(&variant).unwrap();
        let (module, _) = resolve(&variant, &parsed).unwrap();
        check(&variant, &module).len()
    }

    #[test]
    fn a_workgroup_size_from_an_override_is_checked() {
        let text = "override WG: u32 = 64u;\n@compute @workgroup_size(WG) fn main() {}";
        assert_eq!(problems(text, 256.0), 0);
        assert_eq!(problems(text, 512.0), 2);
    }

    #[test]
    fn workgroup_memory_of_an_override_sized_array_is_checked() {
        let text = "override WG: u32 = 64u;\nvar<workgroup> tile_a: array<vec4<f32>, WG * 8u>;\n\
                    @compute @workgroup_size(WG) fn main(@builtin(local_invocation_index) i: u32) { tile_a[i] = vec4(1.0); }";
        assert_eq!(problems(text, 128.0), 0);
        assert_eq!(problems(text, 256.0), 1);
    }

    #[test]
    fn the_eighth_storage_buffer_is_refused() {
        let bindings = |n: u32| {
            let declared: String = (1..=n)
                .map(|i| {
                    format!("@group(0) @binding({i}) var<storage, read_write> b{i}: array<f32>;\n")
                })
                .collect();
            let used: String = (1..=n).map(|i| format!("b{i}[0] = 1.0;")).collect();
            format!(
                "override WG: u32 = 64u;\n{declared}@compute @workgroup_size(WG) fn main() {{ {used} }}"
            )
        };
        assert_eq!(problems(&bindings(7), 64.0), 0);
        assert_eq!(problems(&bindings(8), 64.0), 1);
    }
}
