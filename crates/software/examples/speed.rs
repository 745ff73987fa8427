//! How fast the software device is, against the machine's own Vulkan device in the same run.
//!
//! `cargo run --release -p ziggurat-software --example speed [rounds [kernel]]`
//! prints the best of nine runs (or of `rounds`) of each kernel on both, taken by turns, and the time of a
//! process that opens the device and adds 256 elements; with a part of a name, only the kernels called
//! so. On a machine without a GPU the Vulkan device is lavapipe. Results are compared between the two, so the times are of right answers.
//! With `checks` for `rounds` it prints how many times longer kernels take under each of the sanitizer's checks.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a measuring program: a failure may end it"
)]

use std::process::Command;
use std::time::Instant;

use wgpu::BufferUsages as Usage;
use ziggurat_software::{Checks, Profile, Sanitizer, open};
use ziggurat_tensor::{AdapterWish, DeviceOptions, SoftwareWish, Tensor};

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

    fn prepare(&self, source: &str, sizes: &[usize], workgroups: [u32; 3]) -> Job<'_> {
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
        Job {
            gpu: self,
            pipeline,
            group,
            workgroups,
            output: buffers.last().unwrap().clone(),
        }
    }
}

/// A kernel ready to run.
struct Job<'a> {
    gpu: &'a Gpu,
    pipeline: wgpu::ComputePipeline,
    group: wgpu::BindGroup,
    workgroups: [u32; 3],
    output: wgpu::Buffer,
}

impl Job<'_> {
    /// Milliseconds of one run.
    fn run(&self) -> f64 {
        let start = Instant::now();
        let device = &self.gpu.device;
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, &self.group, &[]);
        let [x, y, z] = self.workgroups;
        pass.dispatch_workgroups(x, y, z);
        drop(pass);
        self.gpu.queue.submit([encoder.finish()]);
        device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
        start.elapsed().as_secs_f64() * 1e3
    }
}

/// Opens the software device, adds 256 elements and reads the sum, by tensors.
fn first_result() {
    let device = ziggurat_tensor::Device::open_blocking(DeviceOptions {
        adapter: AdapterWish {
            software: Some(SoftwareWish::default()),
            ..AdapterWish::default()
        },
        ..DeviceOptions::default()
    })
    .unwrap();
    let values: Vec<f32> = (0..256).map(|i| i as f32).collect();
    let a = Tensor::from_slice(&device, &values, [256]).unwrap();
    let sum = (&a + &a).unwrap().to_vec_blocking::<f32>().unwrap();
    assert_eq!(sum.last(), Some(&510.0));
}

/// Seconds that all processors have spent on this process; 0 where the system does not say.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = text.rsplit(')').next().unwrap_or_default();
    // User and system time, in hundredths of a second.
    let ticks = fields.split_whitespace().skip(11).take(2);
    let ticks = ticks.filter_map(|field| field.parse::<f64>().ok());
    ticks.sum::<f64>() / 100.0
}

/// Milliseconds from the start of a process to its end, with a first result in between; the best of 30.
fn start_time() -> f64 {
    let program = std::env::current_exe().unwrap();
    let runs = (0..30).map(|_| {
        let start = Instant::now();
        let status = Command::new(&program).arg("first").status().unwrap();
        assert!(status.success());
        start.elapsed().as_secs_f64() * 1e3
    });
    runs.fold(f64::INFINITY, f64::min)
}

/// How many times longer kernels take under checks, on one thread.
fn slowdowns() {
    // The choice has no literal: its fields may grow.
    let only = |set: fn(&mut Checks)| {
        let mut checks = Checks::none();
        set(&mut checks);
        Some(checks)
    };
    let all: [(&str, Option<Checks>); 9] = [
        ("no check", None),
        ("bounds", only(|checks| checks.bounds = true)),
        ("races", only(|checks| checks.races = true)),
        ("uninitialized", only(|checks| checks.uninitialized = true)),
        ("uniformity", only(|checks| checks.uniformity = true)),
        ("integers", only(|checks| checks.integers = true)),
        ("non_finite", only(|checks| checks.non_finite = true)),
        ("the default", Some(Checks::default())),
        ("all", Some(Checks::all())),
    ];
    for (name, source, sizes, [x, y, _]) in KERNELS {
        // A part of the workgroups: what counts is the ratio.
        let workgroups = [x.min(64), y, 1];
        let gpus: Vec<Gpu> = all
            .iter()
            .map(|(_, checks)| {
                let mut profile = Profile::webgpu_default();
                profile.threads = 1;
                profile.sanitizer = checks.map(Sanitizer::new);
                let (_, device, queue) = open(profile).unwrap();
                Gpu { device, queue }
            })
            .collect();
        let jobs: Vec<Job<'_>> = gpus
            .iter()
            .map(|gpu| gpu.prepare(source, sizes, workgroups))
            .collect();
        let mut best = vec![f64::INFINITY; jobs.len()];
        for _ in 0..6 {
            for (best, job) in best.iter_mut().zip(&jobs) {
                *best = best.min(job.run());
            }
        }
        println!("{name}, a part: {:.2} ms", best[0]);
        for ((check, _), time) in all.iter().zip(&best).skip(1) {
            println!("  {check}: {:.1}", time / best[0]);
        }
    }
}

fn main() {
    let argument = std::env::args().nth(1);
    if argument.as_deref() == Some("checks") {
        return slowdowns();
    }
    if argument.as_deref() == Some("first") {
        return first_result();
    }
    let rounds: u32 = argument.map_or(9, |text| text.parse().unwrap());
    let only = std::env::args().nth(2);
    let (_, device, queue) = open(Profile::webgpu_default()).unwrap();
    let software = Gpu { device, queue };
    let vulkan = Gpu::vulkan();
    println!(
        "against {}, best of {rounds}",
        vulkan.as_ref().map_or("nothing", |(_, name)| name)
    );
    let chosen = |name: &str| {
        only.as_ref()
            .is_none_or(|only| name.contains(only.as_str()))
    };
    for (name, source, sizes, workgroups) in KERNELS {
        if !chosen(name) {
            continue;
        }
        let ours = software.prepare(source, sizes, workgroups);
        let theirs = vulkan
            .as_ref()
            .map(|(vulkan, _)| vulkan.prepare(source, sizes, workgroups));
        let mut best = [f64::INFINITY; 2];
        let mut used = [0.0; 2];
        // By turns, so that what else the machine does meets both.
        for _ in 0..=rounds {
            let before = cpu_seconds();
            best[0] = best[0].min(ours.run());
            let between = cpu_seconds();
            if let Some(theirs) = &theirs {
                best[1] = best[1].min(theirs.run());
            }
            used[0] += between - before;
            used[1] += cpu_seconds() - between;
        }
        let result = software.read(&ours.output);
        let Some(theirs) = theirs else {
            println!("{name}: {:.2} ms", best[0]);
            continue;
        };
        let expected = theirs.gpu.read(&theirs.output);
        for (i, (a, b)) in result.iter().zip(&expected).enumerate() {
            assert!(
                (a - b).abs() <= 1e-5 + b.abs() * 1e-4,
                "{name}: element {i}: {a} and {b}"
            );
        }
        let mean = used.map(|seconds| seconds * 1e3 / f64::from(rounds + 1));
        println!(
            "{name}: {:.2} ms, the other {:.2} ms ({:.2} times); of processor time {:.1} and {:.1} ms ({:.2} times)",
            best[0],
            best[1],
            best[0] / best[1],
            mean[0],
            mean[1],
            mean[0] / mean[1]
        );
    }
    if only.is_some() {
        return;
    }
    println!("a process that adds 256 elements: {:.1} ms", start_time());
}
