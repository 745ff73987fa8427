//! Compute passes: what a dispatch needs to be set before it.

use wgpu::{BindGroupLayoutEntry, BindingType, BufferBindingType, BufferUsages as U, ShaderStages};

use super::support::{Gpu, gpu, plain};

const ADDS: &str = "@group(0) @binding(0) var<storage> a: array<u32>;
    @group(0) @binding(1) var<storage, read_write> b: array<u32>;
    @compute @workgroup_size(1) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
        b[id.x] = a[id.x] + b[id.x];
    }";

struct Ready {
    pipeline: wgpu::ComputePipeline,
    group: wgpu::BindGroup,
}

fn ready(gpu: &Gpu) -> Ready {
    let pipeline = gpu.pipeline(ADDS);
    let group = gpu.group(
        &pipeline.get_bind_group_layout(0),
        &[&gpu.storage(16), &gpu.storage(16)],
    );
    Ready { pipeline, group }
}

#[test]
fn a_dispatch_needs_a_pipeline_and_its_groups() {
    let gpu = plain();
    let Ready { pipeline, group } = ready(&gpu);
    gpu.accepts(|| {
        gpu.pass(|pass| {
            pass.set_bind_group(0, &group, &[]);
            pass.set_pipeline(&pipeline);
            pass.dispatch_workgroups(4, 1, 1);
        })
    });
    gpu.refuses("no pipeline is set", || {
        gpu.pass(|pass| pass.dispatch_workgroups(1, 1, 1))
    });
    gpu.refuses("bind group 0 is required", || {
        gpu.pass(|pass| {
            pass.set_pipeline(&pipeline);
            pass.dispatch_workgroups(1, 1, 1);
        })
    });
    gpu.refuses("bind group 0 is required", || {
        gpu.pass(|pass| {
            pass.set_pipeline(&pipeline);
            pass.set_bind_group(0, &group, &[]);
            pass.set_bind_group(0, None, &[]);
            pass.dispatch_workgroups(1, 1, 1);
        })
    });
}

#[test]
fn a_group_of_a_derived_layout_fits_only_its_own_pipeline() {
    let gpu = plain();
    let Ready { pipeline, .. } = ready(&gpu);
    let Ready { group: other, .. } = ready(&gpu);
    gpu.refuses("does not fit the layout", || {
        gpu.pass(|pass| {
            pass.set_pipeline(&pipeline);
            pass.set_bind_group(0, &other, &[]);
            pass.dispatch_workgroups(1, 1, 1);
        })
    });
}

#[test]
fn group_indices_are_below_the_limit() {
    let gpu = plain();
    let Ready { group, .. } = ready(&gpu);
    gpu.accepts(|| gpu.pass(|pass| pass.set_bind_group(3, &group, &[])));
    gpu.refuses("max_bind_groups, 4", || {
        gpu.pass(|pass| pass.set_bind_group(4, &group, &[]))
    });
}

#[test]
fn a_dispatch_keeps_the_limit_along_each_axis() {
    let gpu = plain();
    let pipeline = gpu.pipeline("@compute @workgroup_size(1) fn main() {}");
    let dispatch = |x, y, z| {
        gpu.pass(|pass| {
            pass.set_pipeline(&pipeline);
            pass.dispatch_workgroups(x, y, z);
        })
    };
    gpu.accepts(|| dispatch(65535, 0, 65535));
    gpu.refuses("max_compute_workgroups_per_dimension, 65535", || {
        dispatch(65536, 1, 1)
    });
    gpu.refuses("max_compute_workgroups_per_dimension, 65535", || {
        dispatch(1, 1, 65536)
    });
}

/// Layouts with one storage binding, for `ADDS`-like shaders of two groups.
fn one(gpu: &Gpu, read_only: bool, dynamic: bool) -> wgpu::BindGroupLayout {
    gpu.device
        .create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: None,
            entries: &[BindGroupLayoutEntry {
                binding: 0,
                visibility: ShaderStages::COMPUTE,
                ty: BindingType::Buffer {
                    ty: BufferBindingType::Storage { read_only },
                    has_dynamic_offset: dynamic,
                    min_binding_size: None,
                },
                count: None,
            }],
        })
}

const TWO_GROUPS: &str = "@group(0) @binding(0) var<storage> a: array<vec4<u32>>;
    @group(1) @binding(0) var<storage, read_write> b: array<vec4<u32>>;
    @compute @workgroup_size(1) fn main() { b[0] = a[0]; }";

struct TwoGroups {
    pipeline: wgpu::ComputePipeline,
    read: wgpu::BindGroupLayout,
    write: wgpu::BindGroupLayout,
}

fn two_groups(gpu: &Gpu, dynamic: bool) -> TwoGroups {
    let (read, write) = (one(gpu, true, dynamic), one(gpu, false, false));
    let layout = gpu
        .device
        .create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: None,
            bind_group_layouts: &[Some(&read), Some(&write)],
            immediate_size: 0,
        });
    let pipeline = gpu.pipeline_with(&gpu.shader(TWO_GROUPS), Some(&layout), &[]);
    TwoGroups {
        pipeline,
        read,
        write,
    }
}

fn run(
    gpu: &Gpu,
    two: &TwoGroups,
    groups: [&wgpu::BindGroup; 2],
    offsets: &[u32],
) -> wgpu::CommandBuffer {
    gpu.pass(|pass| {
        pass.set_pipeline(&two.pipeline);
        pass.set_bind_group(0, groups[0], offsets);
        pass.set_bind_group(1, groups[1], &[]);
        pass.dispatch_workgroups(1, 1, 1);
    })
}

#[test]
fn equal_layouts_are_interchangeable_and_different_ones_are_not() {
    let gpu = plain();
    let two = two_groups(&gpu, false);
    let (a, b) = (gpu.storage(16), gpu.storage(16));
    let write = gpu.group(&two.write, &[&b]);
    let equal = gpu.group(&one(&gpu, true, false), &[&a]);
    gpu.accepts(|| run(&gpu, &two, [&equal, &write], &[]));
    let different = gpu.group(&one(&gpu, false, false), &[&a]);
    gpu.refuses("does not fit the layout", || {
        run(&gpu, &two, [&different, &write], &[])
    });
}

#[test]
fn a_buffer_is_not_read_and_written_by_one_dispatch() {
    let gpu = plain();
    let two = two_groups(&gpu, false);
    let (a, b) = (gpu.storage(16), gpu.storage(16));
    let bind = |layout, buffer| gpu.group(layout, &[buffer]);
    gpu.accepts(|| {
        run(
            &gpu,
            &two,
            [&bind(&two.read, &a), &bind(&two.write, &b)],
            &[],
        )
    });
    gpu.refuses("bound writable and in another way", || {
        run(
            &gpu,
            &two,
            [&bind(&two.read, &a), &bind(&two.write, &a)],
            &[],
        )
    });
}

#[test]
fn a_binding_without_a_minimum_is_measured_at_the_dispatch() {
    let gpu = plain();
    let two = two_groups(&gpu, false);
    let write = gpu.group(&two.write, &[&gpu.storage(16)]);
    let small = gpu.group(&two.read, &[&gpu.storage(12)]);
    gpu.refuses("has 12 bytes where the shader needs 16", || {
        run(&gpu, &two, [&small, &write], &[])
    });
}

#[test]
fn dynamic_offsets_are_counted_aligned_and_within_the_buffer() {
    let gpu = plain();
    let two = two_groups(&gpu, true);
    let buffer = gpu.storage(512);
    let read = gpu.device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: None,
        layout: &two.read,
        entries: &[wgpu::BindGroupEntry {
            binding: 0,
            resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                buffer: &buffer,
                offset: 0,
                size: wgpu::BufferSize::new(16),
            }),
        }],
    });
    let write = gpu.group(&two.write, &[&gpu.storage(16)]);
    let with = |offsets: &[u32]| run(&gpu, &two, [&read, &write], offsets);
    gpu.accepts(|| with(&[256]));
    gpu.refuses("0 dynamic offsets given for 1", || with(&[]));
    gpu.refuses("2 dynamic offsets given for 1", || with(&[0, 0]));
    gpu.refuses("min_storage_buffer_offset_alignment", || with(&[128]));
    gpu.refuses("dynamic offset 512 of binding 0 is beyond 496", || {
        with(&[512])
    });
    gpu.refuses("without a bind group", || {
        gpu.pass(|pass| pass.set_bind_group(0, None, &[0]))
    });
}

#[test]
fn immediates_are_aligned_within_the_layout_and_complete() {
    let gpu = gpu();
    let module = gpu.shader(
        "struct Params { a: u32, b: u32 }
         var<immediate> params: Params;
         @group(0) @binding(0) var<storage, read_write> out: array<u32>;
         @compute @workgroup_size(1) fn main() { out[0] = params.a + params.b; }",
    );
    let pipeline = gpu.pipeline_with(&module, None, &[]);
    let group = gpu.group(&pipeline.get_bind_group_layout(0), &[&gpu.storage(4)]);
    let with = |writes: &[(u32, &[u8])]| {
        gpu.pass(|pass| {
            pass.set_pipeline(&pipeline);
            pass.set_bind_group(0, &group, &[]);
            for (offset, bytes) in writes {
                pass.set_immediates(*offset, bytes);
            }
            pass.dispatch_workgroups(1, 1, 1);
        })
    };
    gpu.accepts(|| with(&[(0, &[1; 8])]));
    gpu.accepts(|| with(&[(4, &[1; 4]), (0, &[1; 4])]));
    gpu.refuses("immediates that were not set", || with(&[(0, &[1; 4])]));
    gpu.refuses("immediates offset 2", || with(&[(2, &[1; 4])]));
    gpu.refuses("immediates size 3", || with(&[(0, &[1; 3])]));
    gpu.refuses("immediates 4..12 are not within", || with(&[(4, &[1; 8])]));
    gpu.refuses("no pipeline is set", || {
        gpu.pass(|pass| pass.set_immediates(0, &[1; 4]))
    });
}

#[test]
fn indirect_dispatches_read_twelve_aligned_bytes_of_an_indirect_buffer() {
    let gpu = plain();
    let pipeline = gpu.pipeline("@compute @workgroup_size(1) fn main() {}");
    let buffer = gpu.buffer(32, U::INDIRECT | U::COPY_DST);
    let with = |buffer: &wgpu::Buffer, offset| {
        gpu.pass(|pass| {
            pass.set_pipeline(&pipeline);
            pass.dispatch_workgroups_indirect(buffer, offset);
        })
    };
    gpu.accepts(|| with(&buffer, 20));
    gpu.refuses("is not a multiple of 4", || with(&buffer, 2));
    gpu.refuses("do not fit a buffer of 32", || with(&buffer, 24));
    gpu.refuses("INDIRECT", || with(&gpu.storage(32), 0));
}

#[test]
fn an_indirect_buffer_is_not_written_by_its_own_dispatch() {
    let gpu = plain();
    let pipeline = gpu.pipeline(
        "@group(0) @binding(0) var<storage, read_write> a: array<u32>;
         @compute @workgroup_size(1) fn main() { a[0] = 1u; }",
    );
    let usage = U::INDIRECT | U::STORAGE;
    let (same, other) = (gpu.buffer(12, usage), gpu.buffer(12, usage));
    let group = gpu.group(&pipeline.get_bind_group_layout(0), &[&same]);
    let with = |buffer: &wgpu::Buffer| {
        gpu.pass(|pass| {
            pass.set_pipeline(&pipeline);
            pass.set_bind_group(0, &group, &[]);
            pass.dispatch_workgroups_indirect(buffer, 0);
        })
    };
    gpu.accepts(|| with(&other));
    gpu.refuses("bound writable and in another way", || with(&same));
}

#[test]
fn an_invalid_pipeline_is_not_set() {
    let gpu = plain();
    let (bad, _) = gpu.outcome(|| gpu.pipeline("nonsense"));
    gpu.refuses("ComputePipeline with label 'pipeline' is invalid", || {
        gpu.pass(|pass| pass.set_pipeline(&bad))
    });
}
