//! On wgpu's noop backend: real validation and real buffers, no GPU.

#![allow(clippy::unwrap_used, reason = "tests")]

mod arguments;
mod eviction;
mod late;
mod messages;
mod prewarm;

use crate::error::LimitError;
use std::sync::Barrier;
use std::thread;

use ziggurat_device::DeviceOptions;
use ziggurat_memory::{Buffer, MemoryOptions};

use super::*;
use crate::error::shown::tests::shows_its_code;
use crate::{Arg, Grid, ShaderSource};

fn open_with(options: DeviceOptions, limits: Option<wgpu::Limits>) -> Pipelines {
    let device = Device::noop(options, limits).unwrap();
    Pipelines::new(&Memory::new(&device, MemoryOptions::default()))
}

fn open() -> Pipelines {
    open_with(DeviceOptions::default(), Some(wgpu::Limits::default()))
}

const ADD: &str = "@group(0) @binding(0) var<uniform> scale: vec4<f32>;
@group(0) @binding(1) var<storage> a: array<f32>;
@group(0) @binding(2) var<storage> b: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> out: array<f32>;
override WG: u32 = 64;
@compute @workgroup_size(WG) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < arrayLength(&out) {
        out[id.x] = a[id.x] * scale.x + b[id.x / 4u][id.x % 4u];
    }
}
";

fn add() -> KernelDescriptor {
    KernelDescriptor::new(ShaderSource::new("add").part("add.wgsl", ADD))
}

fn buffer(pipelines: &Pipelines, bytes: u64) -> Buffer {
    pipelines.memory().alloc(bytes).unwrap()
}

/// Kernel, three buffers of 64 bytes, and the parameters.
struct Setup {
    pipelines: Pipelines,
    kernel: Kernel,
    buffers: [Buffer; 3],
}

const PARAMS: [u8; 16] = [0; 16];

impl Setup {
    fn new() -> Self {
        let pipelines = open();
        let kernel = pipelines.kernel(&add()).unwrap();
        let buffers = [0; 3].map(|_| buffer(&pipelines, 64));
        Self {
            pipelines,
            kernel,
            buffers,
        }
    }

    fn args(&self) -> [Arg<'_>; 3] {
        let [a, b, out] = &self.buffers;
        [Arg::read(a), Arg::read(b), Arg::write(out)]
    }

    fn run(&self, args: &[Arg<'_>]) -> Result<(), PipelineError> {
        self.pipelines
            .dispatch(&self.kernel, args, &PARAMS, Grid::elements(16, 1))
    }

    /// The error for these arguments; nothing may have been recorded and the device must still work.
    fn refuses(&self, args: &[Arg<'_>]) -> PipelineError {
        let before = self.pipelines.device().queue_stats().dispatches;
        let error = self.run(args).unwrap_err();
        shows_its_code(&error);
        assert_eq!(self.pipelines.device().queue_stats().dispatches, before);
        self.run(&self.args()).unwrap();
        self.pipelines.device().synchronize().wait().unwrap();
        error
    }
}

#[test]
fn an_oversized_workgroup_is_refused_before_the_device_sees_it() {
    let pipelines = open();
    let error = pipelines.kernel(&add().constant("WG", 4096.0)).unwrap_err();
    assert!(
        matches!(
            &error,
            PipelineError::Limit(LimitError::WorkgroupTooLarge {
                size: [4096, 1, 1],
                place,
                ..
            }) if place.line == 6
        ),
        "{error}"
    );
    assert_eq!(pipelines.stats().entries, 0);
    pipelines.device().status().unwrap();
    pipelines.kernel(&add()).unwrap();
}

#[test]
fn every_failure_leaves_the_device_usable() {
    let pipelines = open();
    for text in [
        "fn",
        "@compute @workgroup_size(1) fn main() { x = 1; }",
        "fn f() {}",
    ] {
        pipelines
            .kernel(&KernelDescriptor::new(ShaderSource::wgsl("bad", text)))
            .unwrap_err();
    }
    pipelines.device().status().unwrap();
    assert_eq!(pipelines.stats().misses, 3);
    pipelines.kernel(&add()).unwrap();
}

#[test]
fn of_two_variables_at_one_index_the_used_one_is_bound_and_an_index_has_a_limit() {
    let pipelines = open();
    // Legal WGSL, as only one is used.
    let text = "@group(0) @binding(0) var<uniform> p: u32;
        @group(0) @binding(0) var<storage, read_write> out: array<u32>;
        @compute @workgroup_size(1) fn main() { out[0] = 1u; }";
    let clash = KernelDescriptor::new(ShaderSource::wgsl("clash", text));
    let kernel = pipelines.kernel(&clash).unwrap();
    let out = pipelines.memory().alloc(4).unwrap();
    let grid = Grid::Workgroups([1, 1, 1]);
    pipelines
        .dispatch(&kernel, &[Arg::write(&out)], &[], grid)
        .unwrap();
    pipelines.device().status().unwrap();

    let text = "@group(0) @binding(5000) var<storage> a: array<u32>;
        @compute @workgroup_size(1) fn main() {}";
    let far = KernelDescriptor::new(ShaderSource::wgsl("far", text));
    let error = pipelines.kernel(&far).unwrap_err();
    assert!(
        matches!(&error, PipelineError::Limit(LimitError::UnsupportedBinding { place, .. }) if place.line == 1),
        "{error}"
    );
    pipelines.device().status().unwrap();
    pipelines.kernel(&add()).unwrap();
    pipelines.device().synchronize().wait().unwrap();
}

#[test]
fn the_same_content_is_one_kernel_and_any_change_another() {
    let pipelines = open();
    let first = pipelines.kernel(&add()).unwrap();
    assert!(first.same(&pipelines.kernel(&add()).unwrap()));
    assert!(!first.same(&pipelines.kernel(&add().constant("WG", 32.0)).unwrap()));
    let edited = ShaderSource::new("add").part("add.wgsl", ADD.replace("scale.x", "scale.y"));
    assert!(!first.same(&pipelines.kernel(&KernelDescriptor::new(edited)).unwrap()));
    let stats = pipelines.stats();
    assert_eq!((stats.hits, stats.misses, stats.entries), (1, 3, 3));
    assert_eq!(stats.layouts, 1, "they bind alike");
    pipelines.clear_kernels();
    assert_eq!(pipelines.stats().entries, 0);
}

#[test]
fn specialisations_of_one_text_read_it_once() {
    let pipelines = open();
    let sizes = [32.0, 64.0, 128.0];
    for size in sizes {
        let mut descriptor = add();
        descriptor.constants = vec![("WG".into(), size)];
        let kernel = pipelines.kernel(&descriptor).unwrap();
        assert_eq!(f64::from(kernel.workgroup_size()[0]), size);
    }
    let stats = pipelines.stats();
    assert_eq!((stats.misses, stats.texts), (3, 1));
    // A mistake in one specialisation is an error of that one, and the text stays.
    let mut wrong = add();
    wrong.constants.push(("NO_SUCH".into(), 1.0));
    let error = pipelines.kernel(&wrong).unwrap_err();
    assert!(
        matches!(error, PipelineError::UnknownConstant { .. }),
        "{error}"
    );
    let mut other = add();
    other.constants = vec![("WG".into(), 16.0)];
    pipelines.kernel(&other).unwrap();
    assert_eq!(pipelines.stats().texts, 1);
    // Texts with mistakes are not kept.
    for texts in [2, 3] {
        let broken = KernelDescriptor::new(ShaderSource::wgsl("broken", "fn f( {"));
        pipelines.kernel(&broken).unwrap_err();
        assert_eq!(pipelines.stats().texts, texts);
    }
    pipelines.clear_kernels();
    pipelines.kernel(&other).unwrap();
    assert_eq!(pipelines.stats().texts, 4);
}

#[test]
fn racing_threads_compile_one_pipeline() {
    let pipelines = open();
    let threads = 8;
    let start = Barrier::new(threads);
    let kernels: Vec<Kernel> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    start.wait();
                    pipelines.kernel(&add()).unwrap()
                })
            })
            .collect();
        workers
            .into_iter()
            .map(|worker| worker.join().unwrap())
            .collect()
    });
    assert!(kernels.iter().all(|kernel| kernel.same(&kernels[0])));
    let stats = pipelines.stats();
    assert_eq!((stats.misses, stats.hits, stats.entries), (1, 7, 1));
}

#[test]
fn a_structural_key_finds_its_kernel_again() {
    let pipelines = open();
    let get = |wg: u64| {
        pipelines.kernel_for(&KernelKey::new("add").number(wg), || {
            add().constant("WG", f64::from(u32::try_from(wg).unwrap()))
        })
    };
    let first = get(32).unwrap();
    assert!(first.same(&get(32).unwrap()));
    assert!(!first.same(&get(64).unwrap()));
    let stats = pipelines.stats();
    assert_eq!((stats.hits, stats.misses), (1, 2));
}

#[test]
#[cfg(debug_assertions)]
fn a_key_for_two_descriptors_is_an_error() {
    let pipelines = open();
    let key = || KernelKey::new("add").tag("f32");
    pipelines.kernel_for(&key(), add).unwrap();
    let error = pipelines
        .kernel_for(&key(), || add().constant("WG", 32.0))
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "add: the key add/f32 already belongs to another descriptor; every variant needs its own key"
    );
}

#[test]
fn the_bind_group_cache_is_bounded() {
    let setup = Setup::new();
    let [a, b, _] = &setup.buffers;
    let out = buffer(&setup.pipelines, 256 * 64);
    let wide = buffer(&setup.pipelines, 256 * 64);
    for i in 0..crate::bind::MAX_GROUPS as u64 + 10 {
        let args = [
            Arg::read(&wide).range(256 * (i % 64), 4),
            Arg::read(b),
            Arg::write(&out).range(256 * (i / 64 % 64), 4),
        ];
        setup.run(&args).unwrap();
    }
    let stats = setup.pipelines.stats();
    assert!(stats.bind_groups <= crate::bind::MAX_GROUPS, "{stats:?}");
    assert!(stats.bind_groups > 0);
    setup.pipelines.clear_bind_groups();
    assert_eq!(setup.pipelines.stats().bind_groups, 0);
    setup
        .run(&[Arg::read(a), Arg::read(b), Arg::write(&out)])
        .unwrap();
    setup.pipelines.device().synchronize().wait().unwrap();
}

#[test]
fn bind_groups_go_with_the_memory_they_hold() {
    let setup = Setup::new();
    setup.run(&setup.args()).unwrap();
    let [a, b, _] = &setup.buffers;
    let large = buffer(&setup.pipelines, 1 << 20);
    setup
        .run(&[Arg::read(a), Arg::read(b), Arg::write(&large)])
        .unwrap();
    setup.pipelines.device().synchronize().wait().unwrap();
    assert_eq!(setup.pipelines.stats().bind_groups, 2);
    drop(large);
    assert_eq!(
        setup.pipelines.stats().bind_groups,
        2,
        "pooled memory is not given back"
    );
    assert!(setup.pipelines.memory().trim(0) > 0);
    assert_eq!(setup.pipelines.stats().bind_groups, 1);
    setup.run(&setup.args()).unwrap();
}

#[test]
fn parameters_go_as_immediates_where_they_exist() {
    let options = DeviceOptions {
        immediates: true,
        ..DeviceOptions::default()
    };
    let limits = wgpu::Limits {
        max_immediate_size: 64,
        ..wgpu::Limits::default()
    };
    let pipelines = open_with(options, Some(limits));
    assert!(pipelines.caps().immediate_bytes >= 64);
    assert_eq!(
        crate::params_part(pipelines.caps(), 64),
        crate::IMMEDIATE_PART
    );
    assert_eq!(
        crate::params_part(pipelines.caps(), 68),
        crate::UNIFORM_PART
    );
    run_params(&pipelines, crate::IMMEDIATE_PART);
    run_params(&pipelines, crate::UNIFORM_PART);

    let options = DeviceOptions {
        immediates: false,
        ..DeviceOptions::default()
    };
    let pipelines = open_with(options, Some(wgpu::Limits::default()));
    assert_eq!(crate::params_part(pipelines.caps(), 4), crate::UNIFORM_PART);
    run_params(&pipelines, crate::UNIFORM_PART);
}

fn run_params(pipelines: &Pipelines, (file, text): (&'static str, &'static str)) {
    const BODY: &str = "struct Params { a: u32, b: u32, c: f32 }
@group(0) @binding(1) var<storage, read_write> out: array<f32>;
@compute @workgroup_size(1) fn main() { out[0] = f32(params.a + params.b) + params.c; }";
    let source = ShaderSource::new("params")
        .part(file, text)
        .part("body.wgsl", BODY);
    let kernel = pipelines.kernel(&KernelDescriptor::new(source)).unwrap();
    let out = buffer(pipelines, 4);
    for _ in 0..3 {
        pipelines
            .dispatch(&kernel, &[Arg::write(&out)], &[0; 12], Grid::elements(1, 1))
            .unwrap();
    }
    pipelines.device().synchronize().wait().unwrap();
    pipelines.device().status().unwrap();
}

#[test]
fn a_profile_counts_the_hits_of_its_time_only() {
    let setup = Setup::new();
    setup.run(&setup.args()).unwrap();
    let profiling = setup.pipelines.profile();
    for _ in 0..3 {
        setup.run(&setup.args()).unwrap();
        let key = KernelKey::new("add");
        setup.pipelines.kernel_for(&key, add).unwrap();
    }
    let more = buffer(&setup.pipelines, 64);
    let profile = ziggurat_device::block_on(profiling.finish()).unwrap();
    drop(more);
    let count = |name| {
        let mut found = profile.counters.iter().filter(|(at, _)| *at == name);
        found.next().map(|(_, count)| *count).unwrap()
    };
    assert_eq!((count("dispatches"), count("kernel hits")), (3, 3));
    assert_eq!((count("kernel misses"), count("bind group hits")), (0, 3));
    assert_eq!(count("pool hits") + count("pool misses"), 1);
    let stage = |stage| {
        let mut found = profile.stages.iter().filter(|(at, _)| *at == stage);
        found.next().map(|(_, time)| time.count).unwrap()
    };
    let counts = [Stage::Plan, Stage::Lookup, Stage::Record].map(stage);
    assert_eq!(counts, [3, 3, 3]);
}

#[test]
fn threads_dispatch_side_by_side() {
    let setup = Setup::new();
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let out = buffer(&setup.pipelines, 64);
                for _ in 0..50 {
                    let [a, b, _] = &setup.buffers;
                    setup
                        .run(&[Arg::read(a), Arg::read(b), Arg::write(&out)])
                        .unwrap();
                }
            });
        }
    });
    setup.pipelines.device().synchronize().wait().unwrap();
    setup.pipelines.device().status().unwrap();
    assert_eq!(setup.pipelines.device().queue_stats().dispatches, 400);
}

#[test]
fn a_backend_without_pipeline_caches_has_no_cache_file() {
    for on in [true, false] {
        let options = DeviceOptions {
            pipeline_cache: on,
            ..DeviceOptions::default()
        };
        let pipelines = open_with(options, None);
        pipelines.kernel(&add()).unwrap();
        assert_eq!(pipelines.save_cache().unwrap(), None);
        let stats = pipelines.stats();
        assert_eq!((stats.disk_loaded_bytes, stats.disk_rejected), (0, false));
    }
}
