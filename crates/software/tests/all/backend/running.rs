//! Kernels run through the whole interface.

use wgpu::BufferUsages as U;
use ziggurat_software::{Checks, Profile, Sanitizer};

use super::support::{Gpu, bytes_of, gpu, gpu_of, plain};

/// Runs `pipeline` on a storage buffer of `words`, and gives what is in it then.
fn run(
    gpu: &Gpu,
    pipeline: &wgpu::ComputePipeline,
    words: &[u32],
    workgroups: [u32; 3],
) -> Vec<u32> {
    let buffer = gpu.storage(4 * words.len() as u64);
    gpu.queue.write_buffer(&buffer, 0, &bytes_of(words));
    let group = gpu.group(&pipeline.get_bind_group_layout(0), &[&buffer]);
    let commands = gpu.pass(|pass| {
        pass.set_pipeline(pipeline);
        pass.set_bind_group(0, &group, &[]);
        let [x, y, z] = workgroups;
        pass.dispatch_workgroups(x, y, z);
    });
    gpu.accepts(|| gpu.queue.submit([commands]));
    gpu.read_u32(&buffer)
}

const DOUBLES: &str = "override FACTOR: u32 = 2u;
    override WG: u32 = 4u;
    @group(0) @binding(0) var<storage, read_write> a: array<u32>;
    @compute @workgroup_size(WG) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
        if id.x < arrayLength(&a) { a[id.x] *= FACTOR; }
    }";

#[test]
fn a_kernel_runs_on_every_profile() {
    for profile in Profile::all() {
        let gpu = gpu_of(profile);
        let pipeline = gpu.pipeline(DOUBLES);
        assert_eq!(
            run(&gpu, &pipeline, &[1, 2, 3, 4, 5], [2, 1, 1]),
            [2, 4, 6, 8, 10]
        );
        assert_eq!(run(&gpu, &pipeline, &[1, 2], [0, 1, 1]), [1, 2]);
    }
}

#[test]
fn constants_reach_the_kernel() {
    let gpu = plain();
    let module = gpu.shader(DOUBLES);
    let pipeline = gpu.pipeline_with(&module, None, &[("FACTOR", 5.0), ("WG", 1.0)]);
    assert_eq!(run(&gpu, &pipeline, &[1, 2, 3], [2, 1, 1]), [5, 10, 3]);
}

#[test]
fn dispatches_of_one_submit_run_in_order() {
    let gpu = plain();
    let pipeline = gpu.pipeline(DOUBLES);
    let buffer = gpu.storage(4);
    gpu.queue.write_buffer(&buffer, 0, &bytes_of(&[1]));
    let group = gpu.group(&pipeline.get_bind_group_layout(0), &[&buffer]);
    let doubled = || {
        gpu.pass(|pass| {
            pass.set_pipeline(&pipeline);
            pass.set_bind_group(0, &group, &[]);
            for _ in 0..5 {
                pass.dispatch_workgroups(1, 1, 1);
            }
        })
    };
    let clear = gpu.record(|encoder| encoder.clear_buffer(&buffer, 0, None));
    gpu.queue.submit([doubled()]);
    assert_eq!(gpu.read_u32(&buffer), [32]);
    gpu.queue.submit([doubled(), clear, doubled()]);
    assert_eq!(gpu.read_u32(&buffer), [0]);
}

#[test]
fn an_indirect_dispatch_reads_its_size_when_it_runs() {
    let gpu = plain();
    let pipeline = gpu.pipeline(DOUBLES);
    let arguments = gpu.buffer(16, U::INDIRECT | U::COPY_DST);
    let buffer = gpu.storage(32);
    let group = gpu.group(&pipeline.get_bind_group_layout(0), &[&buffer]);
    let after = |counts: [u32; 3]| {
        let words = [1, 1, 1, 1, 1, 1, 1, 1];
        gpu.queue.write_buffer(&buffer, 0, &bytes_of(&words));
        let commands = gpu.pass(|pass| {
            pass.set_pipeline(&pipeline);
            pass.set_bind_group(0, &group, &[]);
            pass.dispatch_workgroups_indirect(&arguments, 4);
        });
        gpu.queue.write_buffer(&arguments, 4, &bytes_of(&counts));
        gpu.accepts(|| gpu.queue.submit([commands]));
        gpu.read_u32(&buffer).iter().filter(|&&n| n == 2).count()
    };
    assert_eq!(after([1, 1, 1]), 4);
    assert_eq!(after([2, 1, 1]), 8);
    assert_eq!(after([0, 1, 1]), 0);
    // Beyond the limit nothing runs.
    assert_eq!(after([70000, 1, 1]), 0);
}

#[test]
fn immediates_and_bound_ranges_reach_the_kernel() {
    let gpu = gpu();
    let pipeline = gpu.pipeline(
        "struct Params { a: u32, b: u32 }
         var<immediate> params: Params;
         @group(0) @binding(0) var<storage, read_write> out: array<u32>;
         @compute @workgroup_size(1) fn main() {
             out[0] = params.a;
             out[1] = params.b + arrayLength(&out);
         }",
    );
    let buffer = gpu.storage(64);
    let layout = pipeline.get_bind_group_layout(0);
    let group = gpu.device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: None,
        layout: &layout,
        entries: &[wgpu::BindGroupEntry {
            binding: 0,
            resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                buffer: &buffer,
                offset: 32,
                size: wgpu::BufferSize::new(12),
            }),
        }],
    });
    let commands = gpu.pass(|pass| {
        pass.set_pipeline(&pipeline);
        pass.set_bind_group(0, &group, &[]);
        pass.set_immediates(0, &bytes_of(&[7, 100]));
        pass.dispatch_workgroups(1, 1, 1);
    });
    gpu.accepts(|| gpu.queue.submit([commands]));
    let words = gpu.read_u32(&buffer);
    assert_eq!(words[8..11], [7, 103, 0]);
    assert_eq!(words[..8], [0; 8]);
}

#[test]
fn a_dynamic_offset_moves_the_binding() {
    let gpu = plain();
    let layout = gpu
        .device
        .create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: None,
            entries: &[wgpu::BindGroupLayoutEntry {
                binding: 0,
                visibility: wgpu::ShaderStages::COMPUTE,
                ty: wgpu::BindingType::Buffer {
                    ty: wgpu::BufferBindingType::Storage { read_only: false },
                    has_dynamic_offset: true,
                    min_binding_size: None,
                },
                count: None,
            }],
        });
    let pipeline_layout = gpu
        .device
        .create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: None,
            bind_group_layouts: &[Some(&layout)],
            immediate_size: 0,
        });
    let pipeline = gpu.pipeline_with(&gpu.shader(DOUBLES), Some(&pipeline_layout), &[]);
    let buffer = gpu.storage(512);
    gpu.queue.write_buffer(&buffer, 0, &bytes_of(&[1; 128]));
    let group = gpu.device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: None,
        layout: &layout,
        entries: &[wgpu::BindGroupEntry {
            binding: 0,
            resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                buffer: &buffer,
                offset: 0,
                size: wgpu::BufferSize::new(8),
            }),
        }],
    });
    let commands = gpu.pass(|pass| {
        pass.set_pipeline(&pipeline);
        pass.set_bind_group(0, &group, &[256]);
        pass.dispatch_workgroups(1, 1, 1);
    });
    gpu.accepts(|| gpu.queue.submit([commands]));
    let words = gpu.read_u32(&buffer);
    let moved: Vec<_> = (0..128).filter(|&i| words[i] == 2).collect();
    assert_eq!(moved, [64, 65]);
}

#[test]
fn an_endless_loop_is_stopped_with_an_error_that_names_kernel_and_line() {
    // The limits that a profile has by itself.
    is_stopped(Profile::webgpu_default(), 1 << 30);
    let mut checked = Profile::webgpu_default();
    checked.sanitizer = Some(Sanitizer::new(Checks::default()));
    assert!(checked.workgroup_steps.is_some() && checked.steps.is_some());
    checked.workgroup_steps = Some(1 << 24);
    is_stopped(checked, 1 << 24);
}

fn is_stopped(profile: Profile, steps: u64) {
    let gpu = gpu_of(profile);
    let pipeline = gpu.pipeline(
        "@group(0) @binding(0) var<storage, read_write> a: array<u32>;
         @compute @workgroup_size(1) fn main() {
             for (var i = 0u; i < 10u; i++) { a[0] += i; }
             loop { a[0] = a[0] | 1u; if a[0] == 0u { break; } }
         }",
    );
    let buffer = gpu.storage(4);
    let group = gpu.group(&pipeline.get_bind_group_layout(0), &[&buffer]);
    let commands = gpu.pass(|pass| {
        pass.set_pipeline(&pipeline);
        pass.set_bind_group(0, &group, &[]);
        pass.dispatch_workgroups(1, 1, 1);
    });
    let (_, error) = gpu.outcome(|| gpu.queue.submit([commands]));
    match error {
        Some(wgpu::Error::Internal { description, .. }) => {
            let place = "kernel 'pipeline' was stopped at shader:4 (`loop { a[0]";
            let why = format!("one workgroup took more than {steps} steps");
            for part in [place, &why] {
                assert!(description.contains(part), "{description}");
            }
        }
        other => panic!("no internal error but {other:?}"),
    }
    let quick = gpu.pipeline(DOUBLES);
    assert_eq!(run(&gpu, &quick, &[4], [1, 1, 1]), [8]);
}

#[test]
fn the_sanitizer_stops_a_dispatch_that_it_has_no_room_to_follow() {
    let mut profile = Profile::webgpu_default();
    profile.sanitizer = Some(Sanitizer::new(Checks::default()));
    profile.shadow_bytes = 1 << 20;
    let gpu = gpu_of(profile);
    let pipeline = gpu.pipeline(DOUBLES);
    let large = gpu.storage(1 << 20);
    let group = gpu.group(&pipeline.get_bind_group_layout(0), &[&large]);
    let commands = gpu.pass(|pass| {
        pass.set_pipeline(&pipeline);
        pass.set_bind_group(0, &group, &[]);
        pass.dispatch_workgroups(4096, 1, 1);
    });
    let (_, error) = gpu.outcome(|| gpu.queue.submit([commands]));
    let Some(wgpu::Error::OutOfMemory { source }) = error else {
        panic!("not out of memory but {error:?}");
    };
    let mut text = source.to_string();
    let mut cause = source.source();
    while let Some(error) = cause {
        text.push_str(&error.to_string());
        cause = error.source();
    }
    for part in [
        "kernel 'pipeline'",
        "more than 1048576 bytes",
        "shadow_bytes",
    ] {
        assert!(text.contains(part), "{text}");
    }
    assert_eq!(run(&gpu, &pipeline, &[4], [1, 1, 1]), [8]);
}
