//! Your own WGSL with a uniform, from text to result, with nothing but the pipeline layer.
//!
//! `cargo run -p ziggurat-pipeline --example custom_wgsl`

#![allow(clippy::print_stdout, reason = "a program for the terminal")]

use std::error::Error;
use std::process::ExitCode;

use ziggurat_pipeline::device::{Device, DeviceOptions};
use ziggurat_pipeline::memory::{Memory, MemoryOptions};
use ziggurat_pipeline::{Arg, DType, Grid, KernelDescriptor, Pipelines, ShaderSource};

const SAXPY: &str = "
struct Params { len: u32, factor: f32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;

override WG: u32 = 64;

@compute @workgroup_size(WG)
fn main(
    @builtin(local_invocation_index) local: u32,
    @builtin(workgroup_id) wid: vec3<u32>,
    @builtin(num_workgroups) nwg: vec3<u32>,
) {
    let group = wid.x + wid.y * nwg.x + wid.z * nwg.x * nwg.y;
    let i = group * WG + local;
    if i < params.len {
        y[i] += params.factor * x[i];
    }
}
";

const LEN: u32 = 100_003;
const FACTOR: f32 = 0.5;

fn run() -> Result<(), Box<dyn Error>> {
    let device = Device::open_blocking(DeviceOptions::default())?;
    let memory = Memory::new(&device, MemoryOptions::default());
    let pipelines = Pipelines::new(&memory);
    println!(
        "adapter: {} ({:?})",
        device.adapter().name,
        device.adapter().backend
    );

    let descriptor =
        KernelDescriptor::new(ShaderSource::wgsl("saxpy", SAXPY)).constant("WG", 128.0);
    let kernel = pipelines.kernel(&descriptor)?;
    for binding in &kernel.reflection().bindings {
        println!(
            "binding {}: {} ({}, {}), line {}",
            binding.binding, binding.name, binding.scalar, binding.access, binding.place.line
        );
    }

    let xs: Vec<f32> = (0..LEN).map(|i| i as f32).collect();
    let ys: Vec<f32> = (0..LEN).map(|i| 1.0 - i as f32).collect();
    let x = memory.upload(bytemuck::cast_slice(&xs))?;
    let y = memory.upload(bytemuck::cast_slice(&ys))?;

    let mut params = LEN.to_le_bytes().to_vec();
    params.extend(FACTOR.to_le_bytes());
    let args = [
        Arg::read(&x).element(DType::F32),
        Arg::write(&y).element(DType::F32),
    ];
    pipelines.dispatch(&kernel, &args, &params, Grid::elements(u64::from(LEN), 1))?;

    let bytes = memory.read(&y, 0..y.bytes())?.wait()?;
    let result: Vec<f32> = bytemuck::pod_collect_to_vec(&bytes);
    if result.len() != xs.len() {
        return Err(format!("expected {} elements, got {}", xs.len(), result.len()).into());
    }
    for (i, ((x, y), got)) in xs.iter().zip(&ys).zip(&result).enumerate() {
        // All values are multiples of one half below 2^24: exact in f32.
        let expected = y + FACTOR * x;
        if got.to_bits() != expected.to_bits() {
            return Err(format!("element {i}: expected {expected}, got {got}").into());
        }
    }
    println!("{LEN} elements are right");

    // A mistake is an error value, and says where.
    match pipelines.dispatch(&kernel, &args[..1], &params, Grid::elements(1, 1)) {
        Err(error) => println!("as it should be, refused: {error}"),
        Ok(()) => return Err("a dispatch with a buffer missing was accepted".into()),
    }
    println!("{:?}", pipelines.stats());
    Ok(())
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("custom_wgsl failed: {error}");
            ExitCode::FAILURE
        }
    }
}
