//! Shader modules and compute pipelines.

use futures::executor::block_on;
use wgpu::{BindGroupLayoutEntry, BindingType, BufferBindingType, ShaderStages};
use ziggurat_software::Profile;

use super::support::{Gpu, gpu, gpu_of, plain};

const WRITES: &str = "@group(1) @binding(2) var<storage, read_write> out: array<vec4<u32>>;
    @compute @workgroup_size(4) fn main() { out[0] = vec4(1u); }";

#[test]
fn wgsl_is_parsed_and_validated() {
    let gpu = plain();
    gpu.accepts(|| gpu.shader(WRITES));
    let bad = gpu.refuses("parsing error", || gpu.shader("fn main( {"));
    let info = block_on(bad.get_compilation_info());
    assert_eq!(info.messages.len(), 1);
    assert!(info.messages[0].location.is_some());
    gpu.refuses("validation error", || {
        gpu.shader("fn f() -> u32 { loop { } }")
    });
    gpu.refuses("max_bind_groups, 4", || {
        gpu.shader("@group(4) @binding(0) var<storage> a: array<u32>;")
    });
}

#[test]
fn a_shader_may_use_only_the_features_of_the_device() {
    let source = "enable f16;
        @group(0) @binding(0) var<storage, read_write> a: array<f16>;
        @compute @workgroup_size(1) fn main() { a[0] = 1.0h; }";
    let (plain, gpu) = (plain(), gpu());
    plain.refuses("parsing error", || plain.shader(source));
    gpu.accepts(|| gpu.shader(source));
}

#[test]
fn an_invalid_shader_makes_no_pipeline() {
    let gpu = plain();
    let (bad, _) = gpu.outcome(|| gpu.shader("nonsense"));
    gpu.refuses("ShaderModule with label 'shader' is invalid", || {
        gpu.pipeline_with(&bad, None, &[])
    });
}

#[test]
fn an_entry_point_is_found_by_its_name_or_because_it_is_alone() {
    let gpu = plain();
    let two = gpu.shader(
        "@compute @workgroup_size(1) fn a() {}
         @compute @workgroup_size(1) fn b() {}",
    );
    let make = |entry_point| {
        gpu.device
            .create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: None,
                layout: None,
                module: &two,
                entry_point,
                compilation_options: Default::default(),
                cache: None,
            })
    };
    gpu.accepts(|| make(Some("b")));
    gpu.refuses("no compute entry point 'c'", || make(Some("c")));
    gpu.refuses("has to be named", || make(None));
}

#[test]
fn workgroups_keep_the_limits_also_when_overrides_decide() {
    let gpu = plain();
    let of = |size: &str| {
        let source = format!("@compute @workgroup_size({size}) fn main() {{}}");
        gpu.pipeline(&source)
    };
    gpu.accepts(|| of("256"));
    gpu.accepts(|| of("2, 2, 64"));
    gpu.refuses("max_compute_workgroup_size_*", || of("257"));
    gpu.refuses("max_compute_workgroup_size_*", || of("1, 1, 65"));
    gpu.refuses("max_compute_invocations_per_workgroup, 256", || {
        of("32, 16")
    });
    let module = gpu.shader("override N: u32 = 64u; @compute @workgroup_size(N) fn main() {}");
    gpu.accepts(|| gpu.pipeline_with(&module, None, &[("N", 128.0)]));
    gpu.refuses_alone("max_compute_workgroup_size_*", || {
        gpu.pipeline_with(&module, None, &[("N", 512.0)])
    });
}

#[test]
fn workgroup_memory_keeps_the_limit_counting_only_what_is_used() {
    let gpu = plain();
    let of = |words: u32, used: &str| {
        let source = format!(
            "var<workgroup> tile: array<u32, {words}>;
             @compute @workgroup_size(1) fn main() {{ {used} }}"
        );
        gpu.pipeline(&source)
    };
    gpu.accepts(|| of(4096, "tile[0] = 1u;"));
    gpu.refuses_alone("max_compute_workgroup_storage_size, 16384", || {
        of(4097, "tile[0] = 1u;")
    });
    gpu.accepts(|| of(4097, ""));
}

#[test]
fn workgroup_memory_sized_by_an_override_is_measured_with_its_value() {
    let gpu = plain();
    let module = gpu.shader(
        "override N: u32;
         var<workgroup> tile: array<u32, N>;
         @compute @workgroup_size(1) fn main() { tile[0] = 1u; }",
    );
    gpu.accepts(|| gpu.pipeline_with(&module, None, &[("N", 4096.0)]));
    gpu.refuses_alone("max_compute_workgroup_storage_size, 16384", || {
        gpu.pipeline_with(&module, None, &[("N", 4097.0)])
    });
}

#[test]
fn constants_name_overrides_that_exist_and_values_that_fit() {
    let gpu = plain();
    let module = gpu.shader(
        "override N: u32;
         @group(0) @binding(0) var<storage, read_write> a: array<u32>;
         @compute @workgroup_size(1) fn main() { a[0] = N; }",
    );
    gpu.accepts(|| gpu.pipeline_with(&module, None, &[("N", 1.0)]));
    for wrong in [
        &[][..],
        &[("N", 1.0), ("M", 1.0)],
        &[("N", -1.0)],
        &[("N", f64::NAN)],
    ] {
        gpu.refuses("pipeline constants", || {
            gpu.pipeline_with(&module, None, wrong)
        });
    }
}

fn layout_of(gpu: &Gpu, group: usize, entries: &[BindGroupLayoutEntry]) -> wgpu::PipelineLayout {
    let layout = gpu
        .device
        .create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: None,
            entries,
        });
    let mut groups = vec![None; group];
    groups.push(Some(&layout));
    gpu.device
        .create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: None,
            bind_group_layouts: &groups,
            immediate_size: 0,
        })
}

fn entry(binding: u32, read_only: bool, least: u64) -> BindGroupLayoutEntry {
    BindGroupLayoutEntry {
        binding,
        visibility: ShaderStages::COMPUTE,
        ty: BindingType::Buffer {
            ty: BufferBindingType::Storage { read_only },
            has_dynamic_offset: false,
            min_binding_size: wgpu::BufferSize::new(least),
        },
        count: None,
    }
}

#[test]
fn a_shader_fits_the_layout_it_is_given() {
    let gpu = plain();
    let module = gpu.shader(WRITES);
    let with = |group, entries: &[BindGroupLayoutEntry]| {
        let layout = layout_of(&gpu, group, entries);
        gpu.pipeline_with(&module, Some(&layout), &[])
    };
    gpu.accepts(|| with(1, &[entry(2, false, 0)]));
    gpu.accepts(|| with(1, &[entry(2, false, 16), entry(3, true, 0)]));
    let place = "variable 'out' at group 1, binding 2";
    gpu.refuses(&format!("{place} is not in the pipeline layout"), || {
        with(0, &[entry(2, false, 0)])
    });
    gpu.refuses(&format!("{place} is not in the pipeline layout"), || {
        with(1, &[entry(1, false, 0)])
    });
    gpu.refuses(&format!("{place} is Buffer"), || {
        with(1, &[entry(2, true, 0)])
    });
    gpu.refuses(&format!("{place} needs 16 bytes"), || {
        with(1, &[entry(2, false, 12)])
    });
    gpu.refuses(&format!("{place} is not visible"), || {
        with(
            1,
            &[BindGroupLayoutEntry {
                visibility: ShaderStages::FRAGMENT,
                ..entry(2, false, 0)
            }],
        )
    });
}

#[test]
fn unused_bindings_need_no_place_in_the_layout() {
    let gpu = plain();
    let module = gpu.shader(
        "@group(0) @binding(9) var<storage> unused: array<u32>;
         @compute @workgroup_size(1) fn main() {}",
    );
    let empty = layout_of(&gpu, 0, &[]);
    gpu.accepts(|| gpu.pipeline_with(&module, Some(&empty), &[]));
}

#[test]
fn a_derived_layout_asks_for_what_the_shader_uses() {
    let gpu = plain();
    let pipeline = gpu.pipeline(WRITES);
    let layout = gpu.accepts(|| pipeline.get_bind_group_layout(1));
    let bind = |bytes| {
        let buffer = gpu.storage(bytes);
        gpu.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &layout,
            entries: &[wgpu::BindGroupEntry {
                binding: 2,
                resource: buffer.as_entire_binding(),
            }],
        })
    };
    gpu.accepts(|| bind(16));
    gpu.refuses("minimum 16", || bind(12));
    gpu.accepts(|| pipeline.get_bind_group_layout(0));
    gpu.refuses("no bind group layout 4", || {
        pipeline.get_bind_group_layout(4)
    });
}

#[test]
fn a_derived_layout_keeps_the_limits() {
    let mut profile = Profile::webgpu_default();
    profile.limits.max_storage_buffers_per_shader_stage = 1;
    let gpu = gpu_of(profile);
    let one = "@group(0) @binding(0) var<storage, read_write> a: array<u32>;";
    gpu.accepts(|| {
        gpu.pipeline(&format!(
            "{one} @compute @workgroup_size(1) fn main() {{ a[0] = 1u; }}"
        ))
    });
    gpu.refuses("max_storage_buffers_per_shader_stage, 1", || {
        gpu.pipeline(&format!(
            "{one} @group(0) @binding(1) var<storage> b: array<u32>;
             @compute @workgroup_size(1) fn main() {{ a[0] = b[0]; }}"
        ))
    });
}
