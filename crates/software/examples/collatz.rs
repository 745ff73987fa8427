//! Plain wgpu on the software device: how many steps each number takes to reach 1.
//!
//! `cargo run -p ziggurat-software --example collatz [profile]`

#![allow(clippy::print_stdout, reason = "an example prints")]

use std::error::Error;

use wgpu::BufferUsages;
use ziggurat_software::{Profile, open};

const SOURCE: &str = "
@group(0) @binding(0) var<storage, read_write> numbers: array<u32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= arrayLength(&numbers) { return; }
    var n = numbers[id.x];
    var steps = 0u;
    while n > 1u {
        n = select(3u * n + 1u, n / 2u, n % 2u == 0u);
        steps += 1u;
    }
    numbers[id.x] = steps;
}";

fn main() -> Result<(), Box<dyn Error>> {
    let name = std::env::args().nth(1);
    let profile = match &name {
        Some(name) => Profile::by_name(name).ok_or("there is no profile of that name")?,
        None => Profile::webgpu_default(),
    };
    let (adapter, device, queue) = open(profile)?;
    println!("{}", adapter.get_info().name);

    let numbers: Vec<u32> = (1..=20).collect();
    let bytes: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
    let buffer = |usage| {
        device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: bytes.len() as u64,
            usage,
            mapped_at_creation: false,
        })
    };
    let storage = buffer(BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST);
    let staging = buffer(BufferUsages::MAP_READ | BufferUsages::COPY_DST);
    queue.write_buffer(&storage, 0, &bytes);

    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some("collatz"),
        source: wgpu::ShaderSource::Wgsl(SOURCE.into()),
    });
    let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: Some("collatz"),
        layout: None,
        module: &module,
        entry_point: None,
        compilation_options: wgpu::PipelineCompilationOptions::default(),
        cache: None,
    });
    let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: None,
        layout: &pipeline.get_bind_group_layout(0),
        entries: &[wgpu::BindGroupEntry {
            binding: 0,
            resource: storage.as_entire_binding(),
        }],
    });

    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
    pass.set_pipeline(&pipeline);
    pass.set_bind_group(0, &group, &[]);
    pass.dispatch_workgroups(1, 1, 1);
    drop(pass);
    encoder.copy_buffer_to_buffer(&storage, 0, &staging, 0, None);
    queue.submit([encoder.finish()]);

    staging.map_async(wgpu::MapMode::Read, .., |_| {});
    device.poll(wgpu::PollType::wait_indefinitely())?;
    let view = staging.get_mapped_range(..)?;
    for (number, word) in numbers.iter().zip(view.chunks_exact(4)) {
        println!("{number:2}: {}", u32::from_le_bytes(word.try_into()?));
    }
    Ok(())
}
