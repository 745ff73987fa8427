//! The `add` program with its own WGSL through the pipeline layer: what `cargo xtask web --size` weighs.
#![cfg(target_arch = "wasm32")]

use wasm_bindgen::prelude::{JsError, wasm_bindgen};
use ziggurat_pipeline::device::{Device, DeviceOptions};
use ziggurat_pipeline::memory::{Memory, MemoryOptions};
use ziggurat_pipeline::{Arg, Grid, KernelDescriptor, Pipelines, ShaderSource};

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
    let memory = Memory::new(&device, MemoryOptions::default());
    let pipelines = Pipelines::new(&memory);
    let source = ShaderSource::wgsl("add", ADD);
    let kernel = pipelines.kernel(&KernelDescriptor::new(source))?;
    let x = memory.upload(bytemuck::cast_slice(&a))?;
    let y = memory.upload(bytemuck::cast_slice(&b))?;
    let grid = Grid::elements(a.len() as u64, 1);
    pipelines.dispatch(&kernel, &[Arg::read(&x), Arg::write(&y)], &[], grid)?;
    let bytes = memory.read(&y, 0..y.bytes())?.await?;
    Ok(bytemuck::pod_collect_to_vec(&bytes))
}
