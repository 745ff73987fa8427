//! Calls on the edges of the rules, made on both devices: the same kind of error or none.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use parking_lot::Mutex;
use wgpu::{BindGroupLayoutEntry, BindingType, BufferBindingType, BufferUsages as U, MapMode};
use wgpu::{BufferAsyncError, Features, ShaderStages};
use ziggurat_software::{Profile, open};

use super::support::{Gpu, gpu_of};

const READ: BufferBindingType = BufferBindingType::Storage { read_only: true };
const WRITE: BufferBindingType = BufferBindingType::Storage { read_only: false };
const UNIFORM: BufferBindingType = BufferBindingType::Uniform;

const EMPTY: &str = "@compute @workgroup_size(1) fn main() {}";
const STORE: &str = "@group(0) @binding(0) var<storage, read_write> a: array<u32>;
    @compute @workgroup_size(1) fn main() { a[0] = 1u; }";

/// A call with what it shows besides errors.
type Probe = (&'static str, fn(&Gpu) -> String);

/// What a probe may give back.
trait Seen {
    fn text(self) -> String;
}
impl Seen for () {
    fn text(self) -> String {
        String::new()
    }
}
impl Seen for bool {
    fn text(self) -> String {
        self.to_string()
    }
}
impl Seen for String {
    fn text(self) -> String {
        self
    }
}

macro_rules! probes {
    ($($name:literal => |$gpu:ident| $body:expr;)*) => {
        &[$(($name, |$gpu: &Gpu| Seen::text($body)),)*]
    };
}

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

fn layout(gpu: &Gpu, entries: &[BindGroupLayoutEntry]) -> wgpu::BindGroupLayout {
    gpu.device
        .create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: None,
            entries,
        })
}

fn pipeline_layout(
    gpu: &Gpu,
    groups: &[&wgpu::BindGroupLayout],
    size: u32,
) -> wgpu::PipelineLayout {
    let groups: Vec<_> = groups.iter().copied().map(Some).collect();
    gpu.device
        .create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: None,
            bind_group_layouts: &groups,
            immediate_size: size,
        })
}

/// A pipeline of a text with one group of these entries.
fn explicit(gpu: &Gpu, text: &str, entries: &[BindGroupLayoutEntry]) -> wgpu::ComputePipeline {
    let group = layout(gpu, entries);
    let layout = pipeline_layout(gpu, &[&group], 0);
    gpu.pipeline_with(&gpu.shader(text), Some(&layout), &[])
}

fn bind(
    gpu: &Gpu,
    layout: &wgpu::BindGroupLayout,
    part: (&wgpu::Buffer, u64, u64),
) -> wgpu::BindGroup {
    gpu.device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: None,
        layout,
        entries: &[wgpu::BindGroupEntry {
            binding: 0,
            resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                buffer: part.0,
                offset: part.1,
                size: wgpu::BufferSize::new(part.2),
            }),
        }],
    })
}

fn mapped(gpu: &Gpu, bytes: u64, usage: U) -> wgpu::Buffer {
    gpu.device.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: bytes,
        usage,
        mapped_at_creation: true,
    })
}

fn readable(gpu: &Gpu) -> wgpu::Buffer {
    gpu.buffer(64, U::MAP_READ | U::COPY_DST)
}

/// Asks for a mapping; `then` runs before anything is waited for. The answer of the callback.
fn map(
    gpu: &Gpu,
    buffer: &wgpu::Buffer,
    mode: MapMode,
    range: std::ops::Range<u64>,
    then: impl FnOnce(),
) -> String {
    let answer = Arc::new(Mutex::new("none"));
    let told = Arc::clone(&answer);
    buffer.map_async(mode, range, move |result: Result<(), BufferAsyncError>| {
        *told.lock() = if result.is_ok() { "mapped" } else { "refused" };
    });
    then();
    gpu.device
        .poll(wgpu::PollType::wait_indefinitely())
        .unwrap();
    let answer = *answer.lock();
    answer.to_owned()
}

fn submit(gpu: &Gpu, commands: wgpu::CommandBuffer) {
    gpu.queue.submit([commands]);
}

/// Submits a dispatch of a pipeline with one group.
fn run(
    gpu: &Gpu,
    pipeline: &wgpu::ComputePipeline,
    group: Option<&wgpu::BindGroup>,
    size: [u32; 3],
) {
    submit(
        gpu,
        gpu.pass(|pass| {
            pass.set_pipeline(pipeline);
            if let Some(group) = group {
                pass.set_bind_group(0, group, &[]);
            }
            pass.dispatch_workgroups(size[0], size[1], size[2]);
        }),
    );
}

/// Submits an indirect dispatch of three words.
fn indirect(gpu: &Gpu, words: [u32; 3]) {
    let pipeline = gpu.pipeline(EMPTY);
    let buffer = gpu.buffer(12, U::INDIRECT | U::COPY_DST);
    gpu.queue
        .write_buffer(&buffer, 0, &super::support::bytes_of(&words));
    submit(
        gpu,
        gpu.pass(|pass| {
            pass.set_pipeline(&pipeline);
            pass.dispatch_workgroups_indirect(&buffer, 0);
        }),
    );
}

fn queries(gpu: &Gpu, ty: wgpu::QueryType, count: u32) -> wgpu::QuerySet {
    gpu.device.create_query_set(&wgpu::QuerySetDescriptor {
        label: None,
        ty,
        count,
    })
}

fn timestamps(gpu: &Gpu) -> wgpu::QuerySet {
    queries(gpu, wgpu::QueryType::Timestamp, 4)
}

fn constants(gpu: &Gpu, declared: &str, given: &[(&str, f64)]) {
    let text = format!(
        "{declared} @group(0) @binding(0) var<storage, read_write> a: array<u32>;
         @compute @workgroup_size(1) fn main() {{ a[0] = u32(x); }}"
    );
    let _ = gpu.pipeline_with(&gpu.shader(&text), None, given);
}

fn immediates(gpu: &Gpu, size: u32, declared: &str, writes: &[(u32, usize)]) {
    let text = format!(
        "{declared} @compute @workgroup_size(1) fn main() {{ {} }}",
        if declared.is_empty() { "" } else { "_ = p.x;" }
    );
    let layout = pipeline_layout(gpu, &[], size);
    let pipeline = gpu.pipeline_with(&gpu.shader(&text), Some(&layout), &[]);
    submit(
        gpu,
        gpu.pass(|pass| {
            pass.set_pipeline(&pipeline);
            for (offset, bytes) in writes {
                pass.set_immediates(*offset, &vec![0; *bytes]);
            }
            pass.dispatch_workgroups(1, 1, 1);
        }),
    );
}

/// On devices with default limits and no feature.
const PLAIN: &[Probe] = probes! {
    "a buffer of no bytes" => |gpu| { gpu.buffer(0, U::STORAGE); };
    "a buffer of an odd size" => |gpu| { gpu.buffer(5, U::STORAGE); };
    "a buffer as large as the limit and a bit" => |gpu| { gpu.buffer(gpu.device.limits().max_buffer_size + 1, U::STORAGE); };
    "a buffer for vertices and indices" => |gpu| { gpu.buffer(16, U::VERTEX | U::INDEX | U::INDIRECT | U::UNIFORM); };
    "a buffer of all usages" => |gpu| { gpu.buffer(16, U::all()); };
    "a buffer to map in both ways" => |gpu| { gpu.buffer(16, U::MAP_READ | U::MAP_WRITE); };
    "a buffer to read alone" => |gpu| { gpu.buffer(16, U::MAP_READ); };
    "mapped at creation, no bytes" => |gpu| { mapped(gpu, 0, U::STORAGE); };
    "mapped at creation, six bytes" => |gpu| { mapped(gpu, 6, U::STORAGE); };
    "mapped at creation, six bytes, unmapped" => |gpu| { let (bad, _) = gpu.outcome(|| mapped(gpu, 6, U::STORAGE)); bad.unmap(); };
    "mapped at creation, unmapped twice" => |gpu| { let b = mapped(gpu, 8, U::STORAGE); b.unmap(); b.unmap(); };
    "mapped at creation and used" => |gpu| { let b = mapped(gpu, 8, U::COPY_DST); gpu.queue.write_buffer(&b, 0, &[0; 4]); };
    "mapped at creation and submitted" => |gpu| { let b = mapped(gpu, 8, U::COPY_DST); submit(gpu, gpu.record(|e| e.clear_buffer(&b, 0, None))); };
    "mapped at creation and mapped" => |gpu| { let b = mapped(gpu, 64, U::MAP_READ | U::COPY_DST); map(gpu, &b, MapMode::Read, 0..64, || ()) };
    "mapped at creation and destroyed, then unmapped" => |gpu| { let b = mapped(gpu, 8, U::STORAGE); b.destroy(); b.unmap(); };
    "unmap what is invalid" => |gpu| { let (bad, _) = gpu.outcome(|| gpu.buffer(4, U::empty())); bad.unmap(); };
    "unmap what is destroyed" => |gpu| { let b = gpu.storage(8); b.destroy(); b.unmap(); };
    "unmap what is not mapped" => |gpu| gpu.storage(8).unmap();
    "destroyed twice" => |gpu| { let b = gpu.storage(8); b.destroy(); b.destroy(); };
    "write nothing" => |gpu| gpu.queue.write_buffer(&gpu.storage(8), 8, &[]);
    "write nothing beyond the end" => |gpu| gpu.queue.write_buffer(&gpu.storage(8), 12, &[]);
    "write at an odd place" => |gpu| gpu.queue.write_buffer(&gpu.storage(8), 1, &[0; 4]);
    "write an odd count" => |gpu| gpu.queue.write_buffer(&gpu.storage(8), 0, &[0; 5]);
    "write over the end" => |gpu| gpu.queue.write_buffer(&gpu.storage(8), 4, &[0; 8]);
    "write far away" => |gpu| gpu.queue.write_buffer(&gpu.storage(8), u64::MAX - 3, &[0; 8]);
    "write without the usage" => |gpu| gpu.queue.write_buffer(&gpu.buffer(8, U::STORAGE), 0, &[0; 4]);
    "write to what waits for a mapping" => |gpu| { let b = readable(gpu); map(gpu, &b, MapMode::Read, 0..64, || gpu.queue.write_buffer(&b, 0, &[0; 4])) };
    "write to what is destroyed" => |gpu| { let b = gpu.storage(8); b.destroy(); gpu.queue.write_buffer(&b, 0, &[0; 4]); };
    "write through a view without the usage" => |gpu| gpu.queue.write_buffer_with(&gpu.buffer(8, U::STORAGE), 0, wgpu::BufferSize::new(4).unwrap()).is_some();
    "write through a view at an odd place" => |gpu| gpu.queue.write_buffer_with(&gpu.storage(8), 2, wgpu::BufferSize::new(4).unwrap()).is_some();
    "copy all to a smaller one" => |gpu| { gpu.record(|e| e.copy_buffer_to_buffer(&gpu.storage(16), 0, &gpu.storage(8), 0, None)); };
    "copy nothing" => |gpu| submit(gpu, gpu.record(|e| e.copy_buffer_to_buffer(&gpu.storage(16), 0, &gpu.storage(8), 8, 0)));
    "copy nothing from beyond the end" => |gpu| { gpu.record(|e| e.copy_buffer_to_buffer(&gpu.storage(16), 20, &gpu.storage(8), 0, 0)); };
    "copy nothing at an odd place" => |gpu| { gpu.record(|e| e.copy_buffer_to_buffer(&gpu.storage(16), 2, &gpu.storage(8), 0, 0)); };
    "copy the rest of an odd size" => |gpu| { gpu.record(|e| e.copy_buffer_to_buffer(&gpu.storage(15), 4, &gpu.storage(16), 0, None)); };
    "copy within a buffer, apart" => |gpu| { let b = gpu.storage(16); gpu.record(|e| e.copy_buffer_to_buffer(&b, 0, &b, 8, 8)); };
    "copy nothing within a buffer" => |gpu| { let b = gpu.storage(16); gpu.record(|e| e.copy_buffer_to_buffer(&b, 0, &b, 8, 0)); };
    "copy from what is mapped" => |gpu| { let b = mapped(gpu, 8, U::COPY_SRC); submit(gpu, gpu.record(|e| e.copy_buffer_to_buffer(&b, 0, &gpu.storage(8), 0, 8))); };
    "copy from what is destroyed after the recording" => |gpu| { let b = gpu.storage(8); let c = gpu.record(|e| e.copy_buffer_to_buffer(&b, 0, &gpu.storage(8), 0, 8)); b.destroy(); submit(gpu, c); };
    "copy from what is destroyed before the recording" => |gpu| { let b = gpu.storage(8); b.destroy(); gpu.record(|e| e.copy_buffer_to_buffer(&b, 0, &gpu.storage(8), 0, 8)); };
    "clear nothing" => |gpu| { gpu.record(|e| e.clear_buffer(&gpu.storage(16), 4, Some(0))); };
    "clear from beyond the end" => |gpu| { gpu.record(|e| e.clear_buffer(&gpu.storage(16), 20, None)); };
    "clear the odd rest" => |gpu| { gpu.record(|e| e.clear_buffer(&gpu.storage(15), 0, None)); };
    "clear far away" => |gpu| { gpu.record(|e| e.clear_buffer(&gpu.storage(16), u64::MAX - 3, Some(8))); };
    "a marker and a group, in order" => |gpu| { gpu.record(|e| { e.push_debug_group("a"); e.insert_debug_marker("b"); e.pop_debug_group(); }); };
    "pop in a pass what was pushed outside" => |gpu| { gpu.record(|e| { e.push_debug_group("a"); e.begin_compute_pass(&Default::default()).pop_debug_group(); }); };
    "a pass left open" => |gpu| { let mut e = gpu.encoder(); let pass = e.begin_compute_pass(&Default::default()).forget_lifetime(); e.finish(); drop(pass); };
    "submit nothing" => |gpu| { gpu.queue.submit([]); };
    "a layout of nothing" => |gpu| { layout(gpu, &[]); };
    "a layout visible to nothing" => |gpu| { layout(gpu, &[BindGroupLayoutEntry { visibility: ShaderStages::NONE, ..entry(0, WRITE) }]); };
    "a readable layout visible to all" => |gpu| { layout(gpu, &[BindGroupLayoutEntry { visibility: ShaderStages::VERTEX_FRAGMENT | ShaderStages::COMPUTE, ..entry(0, READ) }]); };
    "a layout of an array" => |gpu| { layout(gpu, &[BindGroupLayoutEntry { count: std::num::NonZero::new(1), ..entry(0, READ) }]); };
    "a layout of eight written" => |gpu| { layout(gpu, &(0..8).map(|i| entry(i, WRITE)).collect::<Vec<_>>()); };
    "a layout of nine" => |gpu| { layout(gpu, &(0..9).map(|i| entry(i, if i % 2 == 0 { WRITE } else { READ })).collect::<Vec<_>>()); };
    "nine over two groups" => |gpu| { let (a, b) = (layout(gpu, &(0..5).map(|i| entry(i, READ)).collect::<Vec<_>>()), layout(gpu, &(0..4).map(|i| entry(i, WRITE)).collect::<Vec<_>>())); pipeline_layout(gpu, &[&a, &b], 0); };
    "thirteen uniforms over two groups" => |gpu| { let (a, b) = (layout(gpu, &(0..7).map(|i| entry(i, UNIFORM)).collect::<Vec<_>>()), layout(gpu, &(0..6).map(|i| entry(i, UNIFORM)).collect::<Vec<_>>())); pipeline_layout(gpu, &[&a, &b], 0); };
    "immediates without the feature" => |gpu| { pipeline_layout(gpu, &[], 16); };
    "bind an invalid buffer" => |gpu| { let (bad, _) = gpu.outcome(|| gpu.buffer(4, U::empty())); gpu.group(&layout(gpu, &[entry(0, READ)]), &[&bad]); };
    "bind with an invalid layout" => |gpu| { let (bad, _) = gpu.outcome(|| layout(gpu, &[entry(1000, READ)])); gpu.group(&bad, &[&gpu.storage(16)]); };
    "bind an empty buffer" => |gpu| { gpu.group(&layout(gpu, &[entry(0, READ)]), &[&gpu.storage(0)]); };
    "bind a buffer of an odd size" => |gpu| { gpu.group(&layout(gpu, &[entry(0, READ)]), &[&gpu.storage(18)]); };
    "bind uniforms of an odd size" => |gpu| { gpu.group(&layout(gpu, &[entry(0, UNIFORM)]), &[&gpu.buffer(18, U::UNIFORM)]); };
    "bind too many uniform bytes" => |gpu| { gpu.group(&layout(gpu, &[entry(0, UNIFORM)]), &[&gpu.buffer(65_540, U::UNIFORM)]); };
    "bind two bytes" => |gpu| { bind(gpu, &layout(gpu, &[entry(0, READ)]), (&gpu.storage(16), 0, 2)); };
    "bind from far away" => |gpu| { bind(gpu, &layout(gpu, &[entry(0, READ)]), (&gpu.storage(16), 1 << 40, 4)); };
    "bind what is mapped" => |gpu| { gpu.group(&layout(gpu, &[entry(0, READ)]), &[&mapped(gpu, 16, U::STORAGE)]); };
    "bind a buffer for a sampled kind" => |gpu| { gpu.group(&layout(gpu, &[entry(1, READ)]), &[&gpu.storage(16)]); };
    "a shader of nothing" => |gpu| { gpu.shader(""); };
    "a pipeline of a shader of nothing" => |gpu| { gpu.pipeline(""); };
    "a shader of a vertex stage as compute" => |gpu| { gpu.pipeline("@vertex fn main() -> @builtin(position) vec4f { return vec4f(); }"); };
    "a shader with f16 without the feature" => |gpu| { gpu.shader("enable f16; var<private> a: f16;"); };
    "a shader with 16-bit integers without the feature" => |gpu| { gpu.shader("enable wgpu_int16; var<private> a: i16;"); };
    "a shader with i64 without the feature" => |gpu| { gpu.shader("var<private> a: i64;"); };
    "a shader with f64 without the feature" => |gpu| { gpu.shader("var<private> a: f64;"); };
    "a shader with subgroups without the feature" => |gpu| { gpu.shader("@compute @workgroup_size(1) fn main() { _ = subgroupAdd(1u); }"); };
    "a shader with immediates without the feature" => |gpu| { gpu.shader("var<immediate> p: u32; @compute @workgroup_size(1) fn main() { _ = p; }"); };
    "two variables at one binding" => |gpu| { gpu.pipeline("@group(0) @binding(0) var<storage> a: array<u32>; @group(0) @binding(0) var<storage> b: array<i32>; @compute @workgroup_size(1) fn main() { _ = a[0]; _ = b[0]; }"); };
    "a workgroup of nothing" => |gpu| { gpu.pipeline("@compute @workgroup_size(0) fn main() {}"); };
    "a workgroup of an override of nothing" => |gpu| { gpu.pipeline_with(&gpu.shader("override n = 1u; @compute @workgroup_size(n) fn main() {}"), None, &[("n", 0.0)]); };
    "a workgroup of 257" => |gpu| { gpu.pipeline("@compute @workgroup_size(257) fn main() {}"); };
    "a workgroup of 16 by 17" => |gpu| { gpu.pipeline("@compute @workgroup_size(16, 17) fn main() {}"); };
    "a workgroup of 65 layers" => |gpu| { gpu.pipeline("@compute @workgroup_size(1, 1, 65) fn main() {}"); };
    "a constant that nobody declares" => |gpu| constants(gpu, "override x: u32 = 1u;", &[("y", 1.0)]);
    "a constant that is missing" => |gpu| constants(gpu, "override x: u32;", &[]);
    "a constant by number" => |gpu| constants(gpu, "@id(7) override x: u32;", &[("7", 3.0)]);
    "a numbered constant by name" => |gpu| constants(gpu, "@id(7) override x: u32;", &[("x", 3.0)]);
    "a constant that is no number" => |gpu| constants(gpu, "override x: f32;", &[("x", f64::NAN)]);
    "a constant too large for a float" => |gpu| constants(gpu, "override x: f32;", &[("x", 1e39)]);
    "a constant below an unsigned" => |gpu| constants(gpu, "override x: u32;", &[("x", -1.0)]);
    "a constant above a signed" => |gpu| constants(gpu, "override x: i32;", &[("x", 2_147_483_648.0)]);
    "a constant with a fraction" => |gpu| constants(gpu, "override x: i32;", &[("x", 1.5)]);
    "a constant for a bool" => |gpu| constants(gpu, "override x: bool;", &[("x", 2.0)]);
    "a layout that reads what the shader writes" => |gpu| { explicit(gpu, STORE, &[entry(0, READ)]); };
    "a layout that writes what the shader reads" => |gpu| { explicit(gpu, "@group(0) @binding(0) var<storage> a: array<u32>; @compute @workgroup_size(1) fn main() { _ = a[0]; }", &[entry(0, WRITE)]); };
    "a layout of uniforms for storage" => |gpu| { explicit(gpu, STORE, &[entry(0, UNIFORM)]); };
    "a layout with an array for one" => |gpu| { explicit(gpu, STORE, &[entry(0, WRITE), entry(5, UNIFORM)]); };
    "a layout hidden from the shader" => |gpu| { explicit(gpu, STORE, &[BindGroupLayoutEntry { visibility: ShaderStages::NONE, ..entry(0, WRITE) }]); };
    "a pipeline of an invalid layout" => |gpu| { let (bad, _) = gpu.outcome(|| pipeline_layout(gpu, &[], 16)); gpu.pipeline_with(&gpu.shader(EMPTY), Some(&bad), &[]); };
    "a derived layout beyond the groups" => |gpu| { gpu.pipeline(STORE).get_bind_group_layout(1); };
    "a derived layout beyond the limit" => |gpu| { gpu.pipeline(STORE).get_bind_group_layout(9); };
    "dispatch nothing" => |gpu| run(gpu, &gpu.pipeline(EMPTY), None, [0, 1, 1]);
    "dispatch too much" => |gpu| run(gpu, &gpu.pipeline(EMPTY), None, [1, 65_536, 1]);
    "dispatch nothing of too much" => |gpu| run(gpu, &gpu.pipeline(EMPTY), None, [0, 65_536, 1]);
    "dispatch without the group" => |gpu| run(gpu, &gpu.pipeline(STORE), None, [1, 1, 1]);
    "dispatch nothing without the group" => |gpu| run(gpu, &gpu.pipeline(STORE), None, [0, 1, 1]);
    "dispatch with an invalid group" => |gpu| { let p = gpu.pipeline(STORE); let (bad, _) = gpu.outcome(|| gpu.group(&p.get_bind_group_layout(0), &[])); run(gpu, &p, Some(&bad), [1, 1, 1]); };
    "dispatch with a group too many" => |gpu| { let p = gpu.pipeline(EMPTY); let g = gpu.group(&layout(gpu, &[entry(0, READ)]), &[&gpu.storage(16)]); run(gpu, &p, Some(&g), [1, 1, 1]); };
    "dispatch over a destroyed buffer" => |gpu| { let p = gpu.pipeline(STORE); let b = gpu.storage(16); let g = gpu.group(&p.get_bind_group_layout(0), &[&b]); b.destroy(); run(gpu, &p, Some(&g), [1, 1, 1]); };
    "dispatch over a mapped buffer" => |gpu| { let p = gpu.pipeline(STORE); let b = mapped(gpu, 16, U::STORAGE); let g = gpu.group(&p.get_bind_group_layout(0), &[&b]); run(gpu, &p, Some(&g), [1, 1, 1]); };
    "dispatch over too small a buffer" => |gpu| { let text = "@group(0) @binding(0) var<storage, read_write> a: array<vec4u, 4>; @compute @workgroup_size(1) fn main() { a[0].x = 1u; }"; let p = explicit(gpu, text, &[entry(0, WRITE)]); let g = gpu.group(&layout(gpu, &[entry(0, WRITE)]), &[&gpu.storage(60)]); run(gpu, &p, Some(&g), [1, 1, 1]); };
    "bind the same buffer written twice" => |gpu| { let text = "@group(0) @binding(0) var<storage, read_write> a: array<u32>; @group(0) @binding(1) var<storage, read_write> b: array<u32>; @compute @workgroup_size(1) fn main() { a[0] = b[1]; }"; let p = gpu.pipeline(text); let b = gpu.storage(16); let g = gpu.group(&p.get_bind_group_layout(0), &[&b, &b]); run(gpu, &p, Some(&g), [1, 1, 1]); };
    "offsets for what is not dynamic" => |gpu| { let p = gpu.pipeline(STORE); let g = gpu.group(&p.get_bind_group_layout(0), &[&gpu.storage(16)]); gpu.pass(|pass| { pass.set_pipeline(&p); pass.set_bind_group(0, &g, &[0]); pass.dispatch_workgroups(1, 1, 1); }); };
    "an error and then a good dispatch" => |gpu| { let p = gpu.pipeline(EMPTY); let c = gpu.pass(|pass| { pass.dispatch_workgroups(1, 1, 1); pass.set_pipeline(&p); pass.dispatch_workgroups(1, 1, 1); }); submit(gpu, c); };
    "indirect" => |gpu| indirect(gpu, [1, 2, 3]);
    "indirect nothing" => |gpu| indirect(gpu, [0, 0, 0]);
    "indirect too much" => |gpu| indirect(gpu, [65_536, 1, 1]);
    "indirect without a pipeline" => |gpu| { let b = gpu.buffer(12, U::INDIRECT); gpu.pass(|pass| pass.dispatch_workgroups_indirect(&b, 0)); };
    "indirect from what is destroyed" => |gpu| { let p = gpu.pipeline(EMPTY); let b = gpu.buffer(12, U::INDIRECT); b.destroy(); submit(gpu, gpu.pass(|pass| { pass.set_pipeline(&p); pass.dispatch_workgroups_indirect(&b, 0); })); };
    "indirect beyond the end" => |gpu| { let p = gpu.pipeline(EMPTY); let b = gpu.buffer(12, U::INDIRECT); gpu.pass(|pass| { pass.set_pipeline(&p); pass.dispatch_workgroups_indirect(&b, 4); }); };
    "map" => |gpu| map(gpu, &readable(gpu), MapMode::Read, 0..64, || ());
    "map nothing" => |gpu| map(gpu, &readable(gpu), MapMode::Read, 0..0, || ());
    "map nothing at the end" => |gpu| map(gpu, &readable(gpu), MapMode::Read, 64..64, || ());
    "map to write what is to be read" => |gpu| map(gpu, &readable(gpu), MapMode::Write, 0..64, || ());
    "map from an odd place" => |gpu| map(gpu, &readable(gpu), MapMode::Read, 4..64, || ());
    "map an odd size" => |gpu| map(gpu, &readable(gpu), MapMode::Read, 0..63, || ());
    "map over the end" => |gpu| map(gpu, &readable(gpu), MapMode::Read, 0..68, || ());
    "map without a usage" => |gpu| map(gpu, &gpu.storage(64), MapMode::Read, 0..64, || ());
    "map and destroy" => |gpu| { let b = readable(gpu); map(gpu, &b, MapMode::Read, 0..64, || b.destroy()) };
    "map and unmap" => |gpu| { let b = readable(gpu); map(gpu, &b, MapMode::Read, 0..64, || b.unmap()) };
    "map what is destroyed" => |gpu| { let b = readable(gpu); b.destroy(); map(gpu, &b, MapMode::Read, 0..64, || ()) };
    "map and submit" => |gpu| { let b = readable(gpu); let c = gpu.record(|e| e.clear_buffer(&b, 0, None)); map(gpu, &b, MapMode::Read, 0..64, || submit(gpu, c)) };
    "look at what is not mapped" => |gpu| readable(gpu).get_mapped_range(..).is_ok();
    "look at parts that overlap" => |gpu| { let b = mapped(gpu, 64, U::COPY_SRC); let one = b.get_mapped_range_mut(0..32); let two = b.get_mapped_range_mut(16..48).is_ok(); drop(one); two };
    "look at parts side by side" => |gpu| { let b = mapped(gpu, 64, U::COPY_SRC); let one = b.get_mapped_range_mut(0..32); let two = b.get_mapped_range_mut(32..64).is_ok(); drop(one); two };
    "look from an odd place" => |gpu| mapped(gpu, 64, U::COPY_SRC).get_mapped_range(4..8).is_ok();
    "look at an odd size" => |gpu| mapped(gpu, 64, U::COPY_SRC).get_mapped_range(0..6).is_ok();
    "look over the end" => |gpu| mapped(gpu, 64, U::COPY_SRC).get_mapped_range(0..72).is_ok();
    "look outside of what is mapped" => |gpu| { let b = readable(gpu); map(gpu, &b, MapMode::Read, 32..64, || ()); b.get_mapped_range(0..8).is_ok() };
    "look at nothing" => |gpu| mapped(gpu, 64, U::COPY_SRC).get_mapped_range(8..8).is_ok();
    "change what is mapped to be read" => |gpu| { let b = readable(gpu); map(gpu, &b, MapMode::Read, 0..64, || ()); b.get_mapped_range_mut(0..8).is_ok() };
    "look after unmapping" => |gpu| { let b = mapped(gpu, 64, U::COPY_SRC); b.unmap(); b.get_mapped_range(0..8).is_ok() };
    "timestamps without the feature" => |gpu| { timestamps(gpu); };
    "occlusion queries" => |gpu| { queries(gpu, wgpu::QueryType::Occlusion, 4); };
    "no occlusion queries" => |gpu| { queries(gpu, wgpu::QueryType::Occlusion, 0); };
    "pipeline statistics without the feature" => |gpu| { queries(gpu, wgpu::QueryType::PipelineStatistics(wgpu::PipelineStatisticsTypes::all()), 4); };
    "resolve occlusion queries that nobody wrote" => |gpu| { let q = queries(gpu, wgpu::QueryType::Occlusion, 4); submit(gpu, gpu.record(|e| e.resolve_query_set(&q, 0..4, &gpu.buffer(32, U::QUERY_RESOLVE), 0))); };
    "resolve no queries" => |gpu| { let q = queries(gpu, wgpu::QueryType::Occlusion, 4); submit(gpu, gpu.record(|e| e.resolve_query_set(&q, 2..2, &gpu.buffer(32, U::QUERY_RESOLVE), 0))); };
};

/// On devices with timestamps and immediates.
const RICH: &[Probe] = probes! {
    "timestamps of a pass" => |gpu| { let q = timestamps(gpu); submit(gpu, gpu.record(|e| drop(e.begin_compute_pass(&wgpu::ComputePassDescriptor { label: None, timestamp_writes: Some(wgpu::ComputePassTimestampWrites { query_set: &q, beginning_of_pass_write_index: Some(0), end_of_pass_write_index: Some(1) }) })))); };
    "timestamps of a pass from another kind" => |gpu| { let q = queries(gpu, wgpu::QueryType::Occlusion, 4); gpu.record(|e| drop(e.begin_compute_pass(&wgpu::ComputePassDescriptor { label: None, timestamp_writes: Some(wgpu::ComputePassTimestampWrites { query_set: &q, beginning_of_pass_write_index: Some(0), end_of_pass_write_index: None }) }))); };
    "a timestamp into another kind" => |gpu| { let q = queries(gpu, wgpu::QueryType::Occlusion, 4); gpu.record(|e| e.write_timestamp(&q, 0)); };
    "a timestamp twice" => |gpu| { let q = timestamps(gpu); submit(gpu, gpu.record(|e| { e.write_timestamp(&q, 0); e.write_timestamp(&q, 0); })); };
    "a timestamp into an invalid set" => |gpu| { let (q, _) = gpu.outcome(|| queries(gpu, wgpu::QueryType::Timestamp, 0)); gpu.record(|e| e.write_timestamp(&q, 0)); };
    "a timestamp into a destroyed set" => |gpu| { let q = timestamps(gpu); q.destroy(); submit(gpu, gpu.record(|e| e.write_timestamp(&q, 0))); };
    "resolve over the end of the buffer" => |gpu| { let q = timestamps(gpu); gpu.record(|e| e.resolve_query_set(&q, 0..4, &gpu.buffer(24, U::QUERY_RESOLVE), 0)); };
    "resolve over the end of the set" => |gpu| { let q = timestamps(gpu); gpu.record(|e| e.resolve_query_set(&q, 0..5, &gpu.buffer(64, U::QUERY_RESOLVE), 0)); };
    "resolve at an odd place" => |gpu| { let q = timestamps(gpu); gpu.record(|e| e.resolve_query_set(&q, 0..4, &gpu.buffer(512, U::QUERY_RESOLVE), 128)); };
    "resolve without the usage" => |gpu| { let q = timestamps(gpu); gpu.record(|e| e.resolve_query_set(&q, 0..4, &gpu.storage(64), 0)); };
    "resolve into what is mapped" => |gpu| { let q = timestamps(gpu); let b = mapped(gpu, 64, U::QUERY_RESOLVE); submit(gpu, gpu.record(|e| e.resolve_query_set(&q, 0..4, &b, 0))); };
    "immediates" => |gpu| immediates(gpu, 16, "var<immediate> p: vec4u;", &[(0, 16)]);
    "immediates in parts" => |gpu| immediates(gpu, 16, "var<immediate> p: vec4u;", &[(0, 8), (8, 8)]);
    "immediates in part" => |gpu| immediates(gpu, 16, "var<immediate> p: vec4u;", &[(0, 8)]);
    "immediates that are not set" => |gpu| immediates(gpu, 16, "var<immediate> p: vec4u;", &[]);
    "immediates at an odd place" => |gpu| immediates(gpu, 16, "var<immediate> p: vec4u;", &[(2, 4)]);
    "immediates of an odd size" => |gpu| immediates(gpu, 16, "var<immediate> p: vec4u;", &[(0, 6)]);
    "immediates of no bytes" => |gpu| immediates(gpu, 16, "", &[(0, 0)]);
    "immediates over the layout" => |gpu| immediates(gpu, 16, "var<immediate> p: vec4u;", &[(8, 16)]);
    "immediates that the layout lacks" => |gpu| immediates(gpu, 0, "var<immediate> p: vec4u;", &[]);
    "immediates of a smaller layout" => |gpu| immediates(gpu, 8, "var<immediate> p: vec4u;", &[(0, 8)]);
    "immediates that the shader lacks" => |gpu| immediates(gpu, 16, "", &[]);
    "a layout with odd immediates" => |gpu| { pipeline_layout(gpu, &[], 6); };
    "a layout with too many immediates" => |gpu| { pipeline_layout(gpu, &[], 68); };
};

/// The kind of error of a probe and what it gave back.
fn outcome(gpu: &Gpu, probe: fn(&Gpu) -> String) -> String {
    let caught = catch_unwind(AssertUnwindSafe(|| gpu.outcome(|| probe(gpu))));
    let Ok((seen, error)) = caught else {
        return "panic".to_owned();
    };
    let kind = match error {
        None => "none",
        Some(wgpu::Error::Validation { .. }) => "validation",
        Some(wgpu::Error::OutOfMemory { .. }) => "out of memory",
        Some(wgpu::Error::Internal { .. }) => "internal",
    };
    format!("{kind} {seen}")
}

/// Makes the calls on both devices; how many were refused.
fn compare(profile: &Profile, probes: &[Probe]) -> usize {
    let driver = gpu_of(profile.clone());
    let (adapter, device, queue) = open(profile.clone()).unwrap();
    let software = Gpu {
        adapter,
        device,
        queue,
    };
    let mut different = Vec::new();
    let mut refused = 0;
    for (name, probe) in probes {
        let (ours, theirs) = (outcome(&software, *probe), outcome(&driver, *probe));
        refused += usize::from(ours.starts_with("validation"));
        if ours != theirs {
            different.push(format!(
                "{name}: {ours}, and on {}: {theirs}",
                driver.adapter.get_info().name
            ));
        }
    }
    println!(
        "{} calls, {refused} of them errors, compared with {}",
        probes.len(),
        driver.adapter.get_info().name
    );
    assert!(different.is_empty(), "{}", different.join("\n"));
    refused
}

#[test]
fn both_devices_refuse_the_same_calls() {
    let refused = compare(&Profile::webgpu_default(), PLAIN);
    assert!(
        refused > 60 && PLAIN.len() - refused > 30,
        "{refused} of {}",
        PLAIN.len()
    );
}

#[test]
fn both_devices_refuse_the_same_calls_of_features() {
    let mut profile = Profile::webgpu_default();
    profile.features = Features::IMMEDIATES
        | Features::TIMESTAMP_QUERY
        | Features::TIMESTAMP_QUERY_INSIDE_ENCODERS;
    profile.limits.max_immediate_size = 64;
    let refused = compare(&profile, RICH);
    assert!(
        refused > 10 && RICH.len() - refused > 5,
        "{refused} of {}",
        RICH.len()
    );
}
