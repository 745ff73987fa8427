//! The `add` program with a pipeline of its own on the device layer alone, which has no shader compiler in it: what
//! `cargo xtask web --size` weighs.
#![cfg(target_arch = "wasm32")]

use futures::channel::oneshot;
use wasm_bindgen::prelude::{JsError, wasm_bindgen};
use ziggurat_device::{Device, DeviceOptions, Dispatch, Work, Workgroups, wgpu};

const ADD: &str = "
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) n: vec3<u32>) {
    let i = id.x + id.y * n.x * 64u;
    if i < arrayLength(&y) { y[i] += x[i]; }
}";

/// Sums of two vectors of the same length.
///
/// # Errors
/// If there is no WebGPU, or the lengths differ.
#[wasm_bindgen]
pub async fn add(a: Vec<f32>, b: Vec<f32>) -> Result<Vec<f32>, JsError> {
    if a.len() != b.len() {
        return Err(JsError::new("the lengths differ"));
    }
    let device = Device::open(DeviceOptions::default()).await?;
    let gpu = device.wgpu();
    let bytes = size_of_val(a.as_slice()) as u64;
    let x = holding(gpu, &a);
    let y = holding(gpu, &b);
    let read = gpu.create_buffer(&wgpu::BufferDescriptor {
        label: Some("read"),
        size: bytes,
        usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
        mapped_at_creation: false,
    });
    let module = gpu.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some("add"),
        source: wgpu::ShaderSource::Wgsl(ADD.into()),
    });
    let pipeline = gpu.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: Some("add"),
        layout: None,
        module: &module,
        entry_point: None,
        compilation_options: wgpu::PipelineCompilationOptions::default(),
        cache: None,
    });
    let group = gpu.create_bind_group(&wgpu::BindGroupDescriptor {
        label: Some("add"),
        layout: &pipeline.get_bind_group_layout(0),
        entries: &[
            wgpu::BindGroupEntry {
                binding: 0,
                resource: x.as_entire_binding(),
            },
            wgpu::BindGroupEntry {
                binding: 1,
                resource: y.as_entire_binding(),
            },
        ],
    });
    // Workgroups of 64 in rows as long as WebGPU promises.
    let groups = u32::try_from(a.len().div_ceil(64))?;
    let rows = groups.div_ceil(65_535);
    device.record(|recorder| {
        recorder.dispatch(Dispatch {
            label: "add",
            pipeline: &pipeline,
            bind_group: Some(&group),
            dynamic_offsets: &[],
            more_groups: &[],
            immediates: &[],
            workgroups: Workgroups::Counts([groups.div_ceil(rows.max(1)), rows, 1]),
            work: Work {
                read: 2 * bytes,
                written: bytes,
                operations: a.len() as u64,
            },
        });
        recorder.copy_buffer(&y, 0, &read, 0, bytes);
    })?;
    device.synchronize().await?;
    let (sender, mapped) = oneshot::channel();
    read.map_async(wgpu::MapMode::Read, .., |result| {
        // Nobody waits any more if the receiver is gone.
        let _ = sender.send(result);
    });
    mapped.await??;
    Ok(bytemuck::pod_collect_to_vec(&read.get_mapped_range(..)?))
}

/// A buffer with these values, which kernels may write and which may be copied.
fn holding(gpu: &wgpu::Device, values: &[f32]) -> wgpu::Buffer {
    use wgpu::util::DeviceExt as _;
    gpu.create_buffer_init(&wgpu::util::BufferInitDescriptor {
        label: None,
        contents: bytemuck::cast_slice(values),
        usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC,
    })
}
