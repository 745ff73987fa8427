//! On a real adapter: what the noop backend cannot show, because it runs no shader.
//!
//! Each test has a device of its own, so that what is counted is its own.

#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

#[cfg(feature = "software")]
#[path = "adapter/any_calls.rs"]
mod any_calls;
#[cfg(feature = "software")]
#[path = "../../kernels/tests/common/campaign.rs"]
mod campaign;
#[path = "adapter/debug.rs"]
mod debug;
#[path = "adapter/groups.rs"]
mod groups;
#[cfg(feature = "software")]
#[path = "adapter/hostile.rs"]
mod hostile;
#[path = "adapter/indirect.rs"]
mod indirect;
#[path = "adapter/kernel_params.rs"]
mod kernel_params;
#[path = "adapter/library.rs"]
mod library;
#[path = "adapter/ordered_loads.rs"]
mod ordered_loads;
#[cfg(feature = "software")]
#[path = "../../software/tests/support/random.rs"]
mod random;
#[path = "adapter/texture_refusals.rs"]
mod texture_refusals;
#[path = "adapter/textures.rs"]
mod textures;
#[cfg(feature = "software")]
#[path = "adapter/tuning.rs"]
mod tuning;
#[path = "adapter/warnings.rs"]
mod warnings;

use std::time::{Duration, Instant};

use ziggurat_pipeline::device::{Device, DeviceOptions};
use ziggurat_pipeline::memory::{Buffer, Memory, MemoryOptions};
use ziggurat_pipeline::{
    Arg, Grid, IMMEDIATE_PART, Kernel, KernelDescriptor, Pipelines, ShaderSource, Trace,
    UNIFORM_PART,
};

fn open(options: DeviceOptions) -> Pipelines {
    let device = Device::open_blocking(options).unwrap();
    Pipelines::new(&Memory::new(&device, MemoryOptions::default()))
}

fn kernel(pipelines: &Pipelines, source: ShaderSource) -> Kernel {
    pipelines.kernel(&KernelDescriptor::new(source)).unwrap()
}

fn words(pipelines: &Pipelines, buffer: &Buffer) -> Vec<u32> {
    let read = pipelines.memory().read(buffer, 0..buffer.bytes()).unwrap();
    bytemuck::pod_collect_to_vec(&read.wait().unwrap())
}

const STORE: &str = "struct Params { at: u32, value: u32, pad: vec2<u32> }
@group(0) @binding(1) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(1) fn main() { out[params.at] = params.value + params.pad.y; }
";

/// Several hundred dispatches: more than one batch, and more than one of each batch's slices.
fn store_all(pipelines: &Pipelines, (file, text): (&'static str, &'static str)) {
    let source = ShaderSource::new("store")
        .part(file, text)
        .part("store.wgsl", STORE);
    let store = kernel(pipelines, source);
    let out = pipelines.memory().alloc_zeroed(400 * 4).unwrap();
    for at in 0..400_u32 {
        let params: [u32; 4] = [at, at * 3, 77, 5];
        let bytes = bytemuck::cast_slice(&params);
        pipelines
            .dispatch(&store, &[Arg::write(&out)], bytes, Grid::elements(1, 1))
            .unwrap();
    }
    let expected: Vec<u32> = (0..400).map(|at| at * 3 + 5).collect();
    assert_eq!(words(pipelines, &out), expected);
}

#[test]
fn every_dispatch_of_a_batch_gets_its_own_uniform() {
    uniforms(&open(DeviceOptions::default()));
}

fn uniforms(pipelines: &Pipelines) {
    store_all(pipelines, UNIFORM_PART);
}

#[test]
fn immediates_and_uniforms_carry_the_same_bytes() {
    let pipelines = &open(DeviceOptions::default());
    if pipelines.caps().immediate_bytes >= 16 {
        store_all(pipelines, IMMEDIATE_PART);
    } else {
        let source = ShaderSource::new("store")
            .part(IMMEDIATE_PART.0, IMMEDIATE_PART.1)
            .part("store.wgsl", STORE);
        let error = pipelines
            .kernel(&KernelDescriptor::new(source))
            .unwrap_err();
        assert!(error.to_string().contains("needs immediates"), "{error}");
    }
}

#[test]
fn folded_grids_reach_every_element_once() {
    let pipelines = &open(DeviceOptions::default());
    let count = kernel(
        pipelines,
        ShaderSource::wgsl(
            "count",
            "@group(0) @binding(0) var<storage, read_write> out: array<atomic<u32>>;
             @compute @workgroup_size(2) fn main(
                 @builtin(local_invocation_index) local: u32,
                 @builtin(workgroup_id) wid: vec3<u32>,
                 @builtin(num_workgroups) nwg: vec3<u32>) {
                 let i = (wid.x + wid.y * nwg.x + wid.z * nwg.x * nwg.y) * 2u + local;
                 if i < arrayLength(&out) { atomicAdd(&out[i], 1u); }
             }",
        ),
    );
    let row = u64::from(pipelines.caps().max_workgroups) * 2;
    for len in [1, 2, 3, row - 1, row, row + 1, 2 * row + 7] {
        let out = pipelines.memory().alloc_zeroed(len * 4).unwrap();
        pipelines
            .dispatch(&count, &[Arg::write(&out)], &[], Grid::elements(len, 1))
            .unwrap();
        let found = words(pipelines, &out);
        assert_eq!(found.len() as u64, len);
        assert_eq!(
            found.iter().position(|&times| times != 1),
            None,
            "{len} elements"
        );
    }
}

#[test]
fn a_stride_grid_reaches_every_element_once() {
    let pipelines = &open(DeviceOptions::default());
    let count = kernel(
        pipelines,
        ShaderSource::wgsl(
            "stride",
            "@group(0) @binding(0) var<storage, read_write> out: array<atomic<u32>>;
             @compute @workgroup_size(1) fn main(
                 @builtin(workgroup_id) wid: vec3<u32>,
                 @builtin(num_workgroups) nwg: vec3<u32>) {
                 for (var i = wid.x; i < arrayLength(&out); i += nwg.x) {
                     atomicAdd(&out[i], 1u);
                 }
             }",
        ),
    );
    let len = u64::from(pipelines.caps().max_workgroups) * 2 + 1;
    let out = pipelines.memory().alloc_zeroed(len * 4).unwrap();
    pipelines
        .dispatch(&count, &[Arg::write(&out)], &[], Grid::stride(len, 1))
        .unwrap();
    assert!(words(pipelines, &out).iter().all(|&times| times == 1));
}

#[test]
fn bound_ranges_are_what_the_shader_sees() {
    let pipelines = &open(DeviceOptions::default());
    let lengths = kernel(
        pipelines,
        ShaderSource::wgsl(
            "lengths",
            "@group(0) @binding(4) var<storage> a: array<u32>;
             @group(0) @binding(9) var<storage, read_write> out: array<u32>;
             @compute @workgroup_size(1) fn main() {
                 out[0] = arrayLength(&a);
                 out[1] = a[0];
                 out[2] = arrayLength(&out);
             }",
        ),
    );
    let step = u64::from(pipelines.caps().storage_alignment).max(4);
    let data: Vec<u32> = (0..2 * u32::try_from(step).unwrap()).collect();
    let a = pipelines
        .memory()
        .upload(bytemuck::cast_slice(&data))
        .unwrap();
    let out = pipelines.memory().alloc(13).unwrap();
    let args = [Arg::read(&a).range(step, 12), Arg::write(&out)];
    pipelines
        .dispatch(&lengths, &args, &[], Grid::Workgroups([1; 3]))
        .unwrap();
    let read = pipelines
        .memory()
        .read(&out, 0..12)
        .unwrap()
        .wait()
        .unwrap();
    let found: Vec<u32> = bytemuck::pod_collect_to_vec(&read);
    assert_eq!(found, [3, u32::try_from(step).unwrap() / 4, 4]);
}

#[test]
fn copies_move_their_bytes_and_no_others() {
    let pipelines = &open(DeviceOptions::default());
    let memory = pipelines.memory();
    let data: Vec<u8> = (0..300_003_u32)
        .map(|i| ((i * 7) ^ (i >> 8)) as u8)
        .collect();
    let source = memory.upload(&data).unwrap();
    let len = data.len() as u64;
    let before = pipelines.device().queue_stats().dispatches;
    let mut kernels = 0;
    for (from, to, bytes) in [
        (0, 0, len),
        (0, 0, 65_536),
        (4, 0, 200_000),
        (0, 12, 100_000),
        (20, 36, 99_996),
        (256, 4096, 131_072),
        (8, 299_000, 1000),
        (0, 0, 0),
        (300_000, 8, 0),
    ] {
        let target = memory.upload(&vec![0xEE; data.len()]).unwrap();
        pipelines.copy(&source, from, &target, to, bytes).unwrap();
        kernels += u64::from(bytes >= 65_536);
        let got = memory.read(&target, 0..len).unwrap().wait().unwrap();
        let mut want = vec![0xEE; data.len()];
        let (f, t, n) = (from as usize, to as usize, bytes as usize);
        want[t..t + n].copy_from_slice(&data[f..f + n]);
        assert!(got == want, "{bytes} bytes from {from} to {to}");
    }
    let dispatches = pipelines.device().queue_stats().dispatches;
    assert_eq!(dispatches - before, kernels, "the large ones by a kernel");

    // Within one buffer the ranges overlap: the bytes are those before the copy.
    let same = memory.upload(&data).unwrap();
    pipelines.copy(&same, 0, &same, 4, 200_000).unwrap();
    let got = memory.read(&same, 0..len).unwrap().wait().unwrap();
    assert!(got[4..200_004] == data[..200_000] && got[200_004..] == data[200_004..]);

    for (from, to, bytes) in [(2, 0, 65_536), (0, 2, 65_536), (0, 0, 65_537), (4, 0, len)] {
        pipelines.copy(&source, from, &same, to, bytes).unwrap_err();
    }
    pipelines.device().status().unwrap();
}

#[test]
fn the_cache_file_comes_back() {
    let pipelines = &open(DeviceOptions::default());
    let folder = std::env::temp_dir().join(format!("ziggurat-adapter-{}", std::process::id()));
    let run = || {
        let pipelines = open(DeviceOptions {
            pipeline_cache_dir: Some(folder.clone()),
            ..DeviceOptions::default()
        });
        uniforms(&pipelines);
        let path = pipelines.save_cache().unwrap();
        (path, pipelines.stats())
    };
    let (path, first) = run();
    match path {
        None => assert!(!pipelines.caps().pipeline_cache),
        Some(path) => {
            assert_eq!((first.disk_loaded_bytes, first.disk_rejected), (0, false));
            let (_, second) = run();
            assert!(second.disk_loaded_bytes > 0 && !second.disk_rejected);
            let mut bytes = std::fs::read(&path).unwrap();
            *bytes.last_mut().unwrap() ^= 1;
            std::fs::write(&path, bytes).unwrap();
            let (_, third) = run();
            assert_eq!((third.disk_loaded_bytes, third.disk_rejected), (0, true));
            let (_, fourth) = run();
            assert!(fourth.disk_loaded_bytes > 0 && !fourth.disk_rejected);
        }
    }
    let _ = std::fs::remove_dir_all(&folder);
}

/// A process that is killed drops nothing: the file must come by itself.
#[test]
fn the_cache_file_is_there_before_the_end() {
    let pipelines = &open(DeviceOptions::default());
    let folder = std::env::temp_dir().join(format!("ziggurat-killed-{}", std::process::id()));
    let run = || {
        open(DeviceOptions {
            pipeline_cache_dir: Some(folder.clone()),
            ..DeviceOptions::default()
        })
    };
    let first = run();
    uniforms(&first);
    let deadline = Instant::now() + Duration::from_secs(20);
    let found = || std::fs::read_dir(&folder).is_ok_and(|mut files| files.next().is_some());
    while pipelines.caps().pipeline_cache && !found() {
        assert!(Instant::now() < deadline, "nothing was saved");
        std::thread::sleep(Duration::from_millis(5));
    }
    // A file on its way has another name for a moment.
    std::thread::sleep(Duration::from_millis(50));
    let second = run();
    uniforms(&second);
    let loaded = second.stats().disk_loaded_bytes;
    assert_eq!(loaded > 0, pipelines.caps().pipeline_cache, "{loaded}");
    drop((first, second));
    let _ = std::fs::remove_dir_all(&folder);
}

#[test]
fn a_saved_trace_prewarms_the_next_run() {
    let pipelines = &open(DeviceOptions::default());
    let path = std::env::temp_dir().join(format!("ziggurat-{}.trace", std::process::id()));
    uniforms(pipelines);
    pipelines.trace().save(&path).unwrap();
    let trace = Trace::load(&path).unwrap();
    let _ = std::fs::remove_file(&path);
    let next = open(DeviceOptions {
        pipeline_cache: false,
        ..DeviceOptions::default()
    });
    let prewarmed = next.prewarm_trace(&trace, |_| {}).wait();
    assert_eq!(prewarmed.created, trace.kernels().len());
    assert!(prewarmed.created > 0 && prewarmed.failed.is_empty());
    let misses = next.stats().misses;
    uniforms(&next);
    assert_eq!(next.stats().misses, misses, "already compiled");
}
