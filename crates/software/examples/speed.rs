//! How fast the software device is, against the machine's own Vulkan device in the same run.
//!
//! `cargo run --release -p ziggurat-software --example speed`
//! prints the best of nine runs of each kernel on both; on a machine without a GPU the Vulkan device
//! is lavapipe. Results are compared between the two, so the times are of right answers.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a measuring program: a failure may end it"
)]

use std::time::Instant;

use wgpu::BufferUsages as Usage;
use ziggurat_software::{Profile, open};

const ADD: &str = "
@group(0) @binding(0) var<storage, read> a: array<vec4f>;
@group(0) @binding(1) var<storage, read> b: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> c: array<vec4f>;
@compute @workgroup_size(256) fn main(@builtin(global_invocation_id) g: vec3u) {
  let i = g.x; if (i < arrayLength(&c)) { c[i] = a[i] + b[i]; }
}";

const MATMUL: &str = "
const N = 256u;
@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> c: array<vec4f>;
var<workgroup> ta: array<f32, 1024>;
var<workgroup> tb: array<vec4f, 256>;
@compute @workgroup_size(16, 16) fn main(@builtin(workgroup_id) w: vec3u, @builtin(local_invocation_id) l: vec3u, @builtin(local_invocation_index) li: u32) {
  let row0 = w.y * 64; let col0 = w.x * 16;
  var c0 = vec4f(); var c1 = vec4f(); var c2 = vec4f(); var c3 = vec4f();
  for (var k0 = 0u; k0 < N; k0 += 16u) {
    for (var s = 0u; s < 4u; s++) { let r = (li >> 4u) + s * 16u; let k = li & 15u; ta[k * 64u + r] = a[(row0 + r) * N + k0 + k]; }
    tb[li] = b[(k0 + (li >> 4u)) * (N / 4u) + col0 + (li & 15u)];
    workgroupBarrier();
    for (var k = 0u; k < 16u; k++) {
      let bv = tb[k * 16u + l.x]; let o = k * 64u + l.y * 4u;
      c0 += ta[o] * bv; c1 += ta[o + 1u] * bv; c2 += ta[o + 2u] * bv; c3 += ta[o + 3u] * bv;
    }
    workgroupBarrier();
  }
  let r = row0 + l.y * 4u; let q = N / 4u; let x = col0 + l.x;
  c[r * q + x] = c0; c[(r + 1u) * q + x] = c1; c[(r + 2u) * q + x] = c2; c[(r + 3u) * q + x] = c3;
}";

const SOFTMAX: &str = "
const COLS = 1024u;
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
var<workgroup> red: array<f32, 256>;
@compute @workgroup_size(256) fn main(@builtin(workgroup_id) w: vec3u, @builtin(local_invocation_index) li: u32) {
  let base = w.x * COLS;
  var m = -3.0e38;
  for (var i = li; i < COLS; i += 256u) { m = max(m, x[base + i]); }
  red[li] = m; workgroupBarrier();
  for (var s = 128u; s > 0u; s >>= 1u) { if (li < s) { red[li] = max(red[li], red[li + s]); } workgroupBarrier(); }
  let mx = red[0]; workgroupBarrier();
  var t = 0.0;
  for (var i = li; i < COLS; i += 256u) { let e = exp(x[base + i] - mx); y[base + i] = e; t += e; }
  red[li] = t; workgroupBarrier();
  for (var s = 128u; s > 0u; s >>= 1u) { if (li < s) { red[li] = red[li] + red[li + s]; } workgroupBarrier(); }
  let inv = 1.0 / red[0];
  for (var i = li; i < COLS; i += 256u) { y[base + i] = y[base + i] * inv; }
}";

const COLLATZ: &str = "
@group(0) @binding(0) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(256) fn main(@builtin(global_invocation_id) g: vec3u) {
  var x = g.x + 1u; var c = 0u;
  loop { if (x == 1u) { break; }
    if (x % 2u == 0u) { x = x / 2u; } else { x = x * 3u + 1u; }
    c++; if (c > 200u) { break; } }
  y[g.x] = f32(c);
}";

/// A kernel, the words of its buffers (the last is its output), and its workgroups.
const KERNELS: [(&str, &str, &[usize], [u32; 3]); 4] = [
    (
        "add, 4 Mi elements",
        ADD,
        &[4 << 20, 4 << 20, 4 << 20],
        [4096, 1, 1],
    ),
    (
        "matmul 256³, 64×64×16 tiles",
        MATMUL,
        &[65_536; 3],
        [4, 4, 1],
    ),
    (
        "softmax 4096×1024",
        SOFTMAX,
        &[4 << 20, 4 << 20],
        [4096, 1, 1],
    ),
    ("collatz, 65536 starts", COLLATZ, &[65_536], [256, 1, 1]),
];

struct Gpu {
    device: wgpu::Device,
    queue: wgpu::Queue,
}

impl Gpu {
    fn vulkan() -> Option<(Self, String)> {
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
        let wish = wgpu::RequestAdapterOptions::default();
        let adapter = futures::executor::block_on(instance.request_adapter(&wish)).ok()?;
        let descriptor = wgpu::DeviceDescriptor::default();
        let made = futures::executor::block_on(adapter.request_device(&descriptor)).ok()?;
        Some((
            Self {
                device: made.0,
                queue: made.1,
            },
            adapter.get_info().name,
        ))
    }

    fn buffer(&self, words: &[f32]) -> wgpu::Buffer {
        let buffer = self.device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: words.len() as u64 * 4,
            usage: Usage::STORAGE | Usage::COPY_SRC | Usage::COPY_DST,
            mapped_at_creation: false,
        });
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.queue.write_buffer(&buffer, 0, &bytes);
        buffer
    }

    fn read(&self, buffer: &wgpu::Buffer) -> Vec<f32> {
        let staging = self.device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: buffer.size(),
            usage: Usage::MAP_READ | Usage::COPY_DST,
            mapped_at_creation: false,
        });
        let mut encoder = self
            .device
            .create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        encoder.copy_buffer_to_buffer(buffer, 0, &staging, 0, None);
        self.queue.submit([encoder.finish()]);
        staging.map_async(wgpu::MapMode::Read, .., |_| {});
        self.device
            .poll(wgpu::PollType::wait_indefinitely())
            .unwrap();
        let view = staging.get_mapped_range(..).unwrap();
        view.chunks_exact(4)
            .map(|word| f32::from_le_bytes(word.try_into().unwrap()))
            .collect()
    }

    /// Milliseconds of the best run, and the output.
    fn measure(&self, source: &str, sizes: &[usize], workgroups: [u32; 3]) -> (f64, Vec<f32>) {
        let value =
            |i: usize| (i.wrapping_mul(2_654_435_761) >> 7) as u32 as f32 / u32::MAX as f32 - 0.5;
        let buffers: Vec<wgpu::Buffer> = sizes
            .iter()
            .map(|len| self.buffer(&(0..*len).map(value).collect::<Vec<f32>>()))
            .collect();
        let module = self
            .device
            .create_shader_module(wgpu::ShaderModuleDescriptor {
                label: None,
                source: wgpu::ShaderSource::Wgsl(source.into()),
            });
        let pipeline = self
            .device
            .create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: None,
                layout: None,
                module: &module,
                entry_point: None,
                compilation_options: wgpu::PipelineCompilationOptions::default(),
                cache: None,
            });
        let entries: Vec<_> = (0u32..)
            .zip(&buffers)
            .map(|(binding, buffer)| wgpu::BindGroupEntry {
                binding,
                resource: buffer.as_entire_binding(),
            })
            .collect();
        let group = self.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &pipeline.get_bind_group_layout(0),
            entries: &entries,
        });
        let mut best = f64::INFINITY;
        for _ in 0..10 {
            let start = Instant::now();
            let mut encoder = self
                .device
                .create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            pass.set_pipeline(&pipeline);
            pass.set_bind_group(0, &group, &[]);
            pass.dispatch_workgroups(workgroups[0], workgroups[1], workgroups[2]);
            drop(pass);
            self.queue.submit([encoder.finish()]);
            self.device
                .poll(wgpu::PollType::wait_indefinitely())
                .unwrap();
            best = best.min(start.elapsed().as_secs_f64() * 1e3);
        }
        (best, self.read(buffers.last().unwrap()))
    }
}

fn main() {
    let (_, device, queue) = open(Profile::webgpu_default()).unwrap();
    let software = Gpu { device, queue };
    let vulkan = Gpu::vulkan();
    println!(
        "against {}",
        vulkan.as_ref().map_or("nothing", |(_, name)| name)
    );
    for (name, source, sizes, workgroups) in KERNELS {
        let (ours, result) = software.measure(source, sizes, workgroups);
        let Some((vulkan, _)) = &vulkan else {
            println!("{name}: {ours:.2} ms");
            continue;
        };
        let (theirs, expected) = vulkan.measure(source, sizes, workgroups);
        for (i, (a, b)) in result.iter().zip(&expected).enumerate() {
            assert!(
                (a - b).abs() <= 1e-5 + b.abs() * 1e-4,
                "{name}: element {i}: {a} and {b}"
            );
        }
        println!("{name}: {ours:.2} ms, the other {theirs:.2} ms");
    }
}
