//! Bind group layouts, pipeline layouts and bind groups.

use wgpu::{BindGroupLayoutEntry, BindingType, BufferBindingType, BufferUsages as U, ShaderStages};
use ziggurat_software::Profile;

use super::support::{Gpu, gpu, gpu_of, plain};

const READ: BufferBindingType = BufferBindingType::Storage { read_only: true };
const WRITE: BufferBindingType = BufferBindingType::Storage { read_only: false };
const UNIFORM: BufferBindingType = BufferBindingType::Uniform;

fn entry(binding: u32, ty: BufferBindingType) -> BindGroupLayoutEntry {
    BindGroupLayoutEntry {
        binding,
        visibility: ShaderStages::COMPUTE,
        ty: BindingType::Buffer {
            ty,
            has_dynamic_offset: false,
            min_binding_size: None,
        },
        count: None,
    }
}

fn dynamic(binding: u32, ty: BufferBindingType) -> BindGroupLayoutEntry {
    BindGroupLayoutEntry {
        ty: BindingType::Buffer {
            ty,
            has_dynamic_offset: true,
            min_binding_size: None,
        },
        ..entry(binding, ty)
    }
}

fn layout(gpu: &Gpu, entries: &[BindGroupLayoutEntry]) -> wgpu::BindGroupLayout {
    gpu.device
        .create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some("layout"),
            entries,
        })
}

fn pipeline_layout(
    gpu: &Gpu,
    groups: &[Option<&wgpu::BindGroupLayout>],
    immediate_size: u32,
) -> wgpu::PipelineLayout {
    gpu.device
        .create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: Some("pipeline layout"),
            bind_group_layouts: groups,
            immediate_size,
        })
}

fn bind(
    gpu: &Gpu,
    layout: &wgpu::BindGroupLayout,
    buffer: &wgpu::Buffer,
    offset: u64,
    size: Option<u64>,
) -> wgpu::BindGroup {
    gpu.device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: Some("group"),
        layout,
        entries: &[wgpu::BindGroupEntry {
            binding: 0,
            resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                buffer,
                offset,
                size: size.and_then(wgpu::BufferSize::new),
            }),
        }],
    })
}

#[test]
fn layout_entries_are_distinct_in_range_and_buffers() {
    let gpu = plain();
    gpu.accepts(|| layout(&gpu, &[entry(7, READ), entry(999, UNIFORM)]));
    gpu.refuses("binding 3 appears twice", || {
        layout(&gpu, &[entry(3, READ), entry(3, WRITE)])
    });
    gpu.refuses("max_bindings_per_bind_group, 1000", || {
        layout(&gpu, &[entry(1000, READ)])
    });
    gpu.refuses("visible to the vertex stage", || {
        layout(
            &gpu,
            &[BindGroupLayoutEntry {
                visibility: ShaderStages::all(),
                ..entry(0, WRITE)
            }],
        )
    });
    gpu.refuses("BUFFER_BINDING_ARRAY", || {
        layout(
            &gpu,
            &[BindGroupLayoutEntry {
                count: std::num::NonZero::new(2),
                ..entry(0, READ)
            }],
        )
    });
}

#[test]
fn a_stage_has_a_limited_number_of_buffers() {
    let gpu = plain();
    let many = |count, ty| (0..count).map(|i| entry(i, ty)).collect::<Vec<_>>();
    gpu.accepts(|| layout(&gpu, &many(8, READ)));
    gpu.refuses("max_storage_buffers_per_shader_stage, 8", || {
        layout(&gpu, &many(9, READ))
    });
    gpu.accepts(|| layout(&gpu, &many(12, UNIFORM)));
    gpu.refuses("max_uniform_buffers_per_shader_stage, 12", || {
        layout(&gpu, &many(13, UNIFORM))
    });
    let hidden: Vec<_> = (0..8)
        .map(|i| entry(i, READ))
        .chain([BindGroupLayoutEntry {
            visibility: ShaderStages::FRAGMENT,
            ..entry(8, READ)
        }])
        .collect();
    gpu.accepts(|| layout(&gpu, &hidden));
    let (five, four) = (layout(&gpu, &many(5, READ)), layout(&gpu, &many(4, READ)));
    gpu.accepts(|| pipeline_layout(&gpu, &[Some(&four), Some(&four)], 0));
    gpu.refuses("9 storage buffers in one stage", || {
        pipeline_layout(&gpu, &[Some(&five), Some(&four)], 0)
    });
}

#[test]
fn a_layout_has_a_limited_number_of_dynamic_offsets() {
    let gpu = plain();
    let many = |count, ty| (0..count).map(|i| dynamic(i, ty)).collect::<Vec<_>>();
    gpu.accepts(|| layout(&gpu, &many(4, READ)));
    gpu.refuses("max_dynamic_storage_buffers_per_pipeline_layout, 4", || {
        layout(&gpu, &many(5, READ))
    });
    gpu.refuses("max_dynamic_uniform_buffers_per_pipeline_layout, 8", || {
        layout(&gpu, &many(9, UNIFORM))
    });
}

#[test]
fn a_pipeline_layout_has_a_limited_number_of_groups() {
    let gpu = plain();
    let empty = layout(&gpu, &[]);
    gpu.accepts(|| pipeline_layout(&gpu, &[Some(&empty), None, None, Some(&empty)], 0));
    gpu.refuses("max_bind_groups, 4", || {
        pipeline_layout(&gpu, &[Some(&empty); 5], 0)
    });
}

#[test]
fn immediates_need_their_feature_a_size_in_words_and_room() {
    let plain = plain();
    plain.refuses("IMMEDIATES", || pipeline_layout(&plain, &[], 4));
    let gpu = gpu();
    let limit = gpu.device.limits().max_immediate_size;
    gpu.accepts(|| pipeline_layout(&gpu, &[], limit));
    gpu.refuses("max_immediate_size", || {
        pipeline_layout(&gpu, &[], limit + 4)
    });
    gpu.refuses("not a multiple of 4", || pipeline_layout(&gpu, &[], 6));
}

#[test]
fn a_derived_layout_is_no_part_of_a_pipeline_layout() {
    let gpu = plain();
    let pipeline = gpu.pipeline(
        "@group(0) @binding(0) var<storage, read_write> a: array<u32>;
         @compute @workgroup_size(1) fn main() { a[0] = 1u; }",
    );
    let derived = pipeline.get_bind_group_layout(0);
    gpu.refuses("derived from a pipeline", || {
        pipeline_layout(&gpu, &[Some(&derived)], 0)
    });
}

#[test]
fn a_group_gives_each_binding_of_its_layout_once() {
    let gpu = plain();
    let two = layout(&gpu, &[entry(0, READ), entry(1, READ)]);
    let (a, b) = (gpu.storage(16), gpu.storage(16));
    gpu.accepts(|| gpu.group(&two, &[&a, &b]));
    gpu.refuses("1 bindings given for a layout of 2", || {
        gpu.group(&two, &[&a])
    });
    let other = layout(&gpu, &[entry(1, READ)]);
    gpu.refuses("binding 0 is not in the layout", || {
        gpu.group(&other, &[&a])
    });
    gpu.refuses("binding 0 is given twice", || {
        let entry = wgpu::BindGroupEntry {
            binding: 0,
            resource: a.as_entire_binding(),
        };
        gpu.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &two,
            entries: &[entry.clone(), entry],
        })
    });
}

#[test]
fn a_bound_buffer_has_the_usage() {
    let gpu = plain();
    let (storage, uniform) = (
        layout(&gpu, &[entry(0, READ)]),
        layout(&gpu, &[entry(0, UNIFORM)]),
    );
    let (s, u) = (gpu.buffer(16, U::STORAGE), gpu.buffer(16, U::UNIFORM));
    gpu.accepts(|| gpu.group(&storage, &[&s]));
    gpu.accepts(|| gpu.group(&uniform, &[&u]));
    gpu.refuses("STORAGE", || gpu.group(&storage, &[&u]));
    gpu.refuses("UNIFORM", || gpu.group(&uniform, &[&s]));
}

#[test]
fn a_bound_range_is_aligned_within_the_buffer_and_not_empty() {
    let gpu = plain();
    let storage = layout(&gpu, &[entry(0, READ)]);
    let buffer = gpu.storage(1024);
    gpu.accepts(|| bind(&gpu, &storage, &buffer, 256, Some(768)));
    gpu.accepts(|| bind(&gpu, &storage, &buffer, 512, None));
    gpu.refuses("min_storage_buffer_offset_alignment", || {
        bind(&gpu, &storage, &buffer, 128, None)
    });
    gpu.refuses("which has 1024", || {
        bind(&gpu, &storage, &buffer, 256, Some(772))
    });
    gpu.refuses("which has 1024", || {
        bind(&gpu, &storage, &buffer, 2048, None)
    });
    gpu.refuses("has no bytes", || bind(&gpu, &storage, &buffer, 1024, None));
    gpu.refuses("size 6 of storage binding 0", || {
        bind(&gpu, &storage, &buffer, 0, Some(6))
    });
    let uniform = layout(&gpu, &[entry(0, UNIFORM)]);
    let uniforms = gpu.buffer(1024, U::UNIFORM);
    gpu.accepts(|| bind(&gpu, &uniform, &uniforms, 0, Some(6)));
    gpu.refuses("min_uniform_buffer_offset_alignment", || {
        bind(&gpu, &uniform, &uniforms, 32, None)
    });
}

#[test]
fn a_binding_is_at_most_as_large_as_the_limit() {
    let mut profile = Profile::webgpu_default();
    profile.limits.max_storage_buffer_binding_size = 512;
    profile.limits.max_uniform_buffer_binding_size = 256;
    let gpu = gpu_of(profile);
    let storage = layout(&gpu, &[entry(0, READ)]);
    let buffer = gpu.storage(1024);
    gpu.accepts(|| bind(&gpu, &storage, &buffer, 0, Some(512)));
    gpu.refuses("max_storage_buffer_binding_size, 512", || {
        bind(&gpu, &storage, &buffer, 0, None)
    });
    let uniform = layout(&gpu, &[entry(0, UNIFORM)]);
    let uniforms = gpu.buffer(512, U::UNIFORM);
    gpu.accepts(|| bind(&gpu, &uniform, &uniforms, 256, None));
    gpu.refuses("max_uniform_buffer_binding_size, 256", || {
        bind(&gpu, &uniform, &uniforms, 0, None)
    });
}

#[test]
fn a_binding_is_at_least_as_large_as_the_layout_says() {
    let gpu = plain();
    let minimum = BindGroupLayoutEntry {
        ty: BindingType::Buffer {
            ty: READ,
            has_dynamic_offset: false,
            min_binding_size: wgpu::BufferSize::new(64),
        },
        ..entry(0, READ)
    };
    let layout = layout(&gpu, &[minimum]);
    gpu.accepts(|| gpu.group(&layout, &[&gpu.storage(64)]));
    gpu.refuses("less than the layout's minimum 64", || {
        gpu.group(&layout, &[&gpu.storage(60)])
    });
}

#[test]
fn a_group_may_hold_a_buffer_in_two_ways_that_no_dispatch_may_use_together() {
    let gpu = plain();
    let buffer = gpu.buffer(16, U::UNIFORM | U::STORAGE);
    let of = |first, second| layout(&gpu, &[entry(0, first), entry(1, second)]);
    let dispatch = |first: BufferBindingType, second: BufferBindingType| {
        let layout = of(first, second);
        let group = gpu.accepts(|| gpu.group(&layout, &[&buffer, &buffer]));
        let pipeline = gpu.pipeline_with(
            &gpu.shader("@compute @workgroup_size(1) fn main() {}"),
            Some(&pipeline_layout(&gpu, &[Some(&layout)], 0)),
            &[],
        );
        gpu.pass(|pass| {
            pass.set_pipeline(&pipeline);
            pass.set_bind_group(0, &group, &[]);
            pass.dispatch_workgroups(1, 1, 1);
        })
    };
    gpu.accepts(|| dispatch(READ, READ));
    gpu.accepts(|| dispatch(READ, UNIFORM));
    gpu.accepts(|| dispatch(WRITE, WRITE));
    gpu.refuses("bound writable and in another way", || {
        dispatch(READ, WRITE)
    });
    gpu.refuses("bound writable and in another way", || {
        dispatch(WRITE, UNIFORM)
    });
}

#[test]
fn a_destroyed_buffer_is_not_bound() {
    let gpu = plain();
    let storage = layout(&gpu, &[entry(0, READ)]);
    let buffer = gpu.storage(16);
    buffer.destroy();
    gpu.refuses("has been destroyed", || gpu.group(&storage, &[&buffer]));
}
