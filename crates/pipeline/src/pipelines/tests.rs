//! On wgpu's noop backend: real validation and real buffers, no GPU.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::Barrier;
use std::thread;

use ziggurat_core::DType;
use ziggurat_device::DeviceOptions;
use ziggurat_memory::{Buffer, MemoryOptions};

use super::*;
use crate::{Access, ShaderSource};

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
        assert_eq!(self.pipelines.device().queue_stats().dispatches, before);
        self.run(&self.args()).unwrap();
        self.pipelines.device().synchronize().wait().unwrap();
        error
    }
}

#[test]
fn a_correct_dispatch_is_recorded() {
    let setup = Setup::new();
    setup.run(&setup.args()).unwrap();
    setup.run(&setup.args()).unwrap();
    let typed = setup.args().map(|arg| arg.element(DType::F32).range(0, 64));
    setup.run(&typed).unwrap();
    setup.pipelines.device().synchronize().wait().unwrap();
    assert_eq!(setup.pipelines.device().queue_stats().dispatches, 3);
    let stats = setup.pipelines.stats();
    assert_eq!(stats.dispatches, 3);
    assert_eq!((stats.hits, stats.misses, stats.entries), (0, 1, 1));
    assert_eq!(stats.bind_group_hits + stats.bind_group_misses, 3);
    assert!(stats.bind_group_hits >= 1, "{stats:?}");
    assert!(stats.compile_time_ns > 0);
}

#[test]
fn no_work_is_not_dispatched_and_needs_no_memory() {
    let setup = Setup::new();
    let empty = buffer(&setup.pipelines, 0);
    let args = [Arg::read(&empty), Arg::read(&empty), Arg::write(&empty)];
    for grid in [
        Grid::elements(0, 1),
        Grid::stride(0, 4),
        Grid::Workgroups([3, 0, 1]),
    ] {
        setup
            .pipelines
            .dispatch(&setup.kernel, &args, &PARAMS, grid)
            .unwrap();
    }
    assert_eq!(setup.pipelines.device().queue_stats().dispatches, 0);
    assert_eq!(setup.pipelines.stats().empty_dispatches, 3);
    let wrong = setup
        .pipelines
        .dispatch(&setup.kernel, &args[..2], &PARAMS, Grid::elements(0, 1));
    assert!(
        matches!(wrong, Err(PipelineError::BindingCount { .. })),
        "{wrong:?}"
    );
}

#[test]
fn the_number_of_buffers_must_fit() {
    let setup = Setup::new();
    let args = setup.args();
    let error = setup.refuses(&args[..2]);
    assert_eq!(
        error.to_string(),
        "add: expected 3 buffers for `a` (add.wgsl:2), `b` (add.wgsl:3), `out` (add.wgsl:4), got 2"
    );
    let error = setup.refuses(&[args[0], args[0], args[0], args[2]]);
    assert!(
        matches!(
            error,
            PipelineError::BindingCount {
                expected: 3,
                got: 4,
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn the_element_type_must_fit() {
    let setup = Setup::new();
    let mut args = setup.args();
    args[1] = args[1].element(DType::I32);
    let error = setup.refuses(&args);
    assert_eq!(
        error.to_string(),
        "add: add.wgsl:3: `b` (binding 2) holds f32, got a buffer of i32"
    );
}

#[test]
fn the_access_must_fit_both_ways() {
    let setup = Setup::new();
    let [a, b, out] = &setup.buffers;
    let error = setup.refuses(&[Arg::read(a), Arg::read(b), Arg::read(out)]);
    assert!(
        matches!(
            &error,
            PipelineError::BindingAccess {
                line: 4,
                expected: Access::ReadWrite,
                got: Access::Read,
                ..
            }
        ),
        "{error}"
    );
    let error = setup.refuses(&[Arg::write(a), Arg::read(b), Arg::write(out)]);
    assert!(
        matches!(
            &error,
            PipelineError::BindingAccess {
                line: 2,
                expected: Access::Read,
                got: Access::ReadWrite,
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn the_parameter_bytes_must_fit() {
    let setup = Setup::new();
    for wrong in [&PARAMS[..0], &PARAMS[..12], &[0; 20]] {
        let result =
            setup
                .pipelines
                .dispatch(&setup.kernel, &setup.args(), wrong, Grid::elements(1, 1));
        let error = result.unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "add: add.wgsl:1: the parameters `scale` take 16 bytes, got {}",
                wrong.len()
            )
        );
    }
    let bare = setup
        .pipelines
        .kernel(&KernelDescriptor::new(ShaderSource::wgsl(
            "bare",
            "@compute @workgroup_size(1) fn main() {}",
        )))
        .unwrap();
    setup
        .pipelines
        .dispatch(&bare, &[], &[], Grid::Workgroups([1; 3]))
        .unwrap();
    let error = setup
        .pipelines
        .dispatch(&bare, &[], &[0; 4], Grid::Workgroups([1; 3]))
        .unwrap_err();
    assert!(
        matches!(
            error,
            PipelineError::ParamsSize {
                expected: 0,
                got: 4,
                ..
            }
        ),
        "{error}"
    );
    assert_eq!(setup.pipelines.device().queue_stats().dispatches, 1);
}

#[test]
fn ranges_must_be_inside_aligned_and_whole() {
    let setup = Setup::new();
    let large = buffer(&setup.pipelines, 1024);
    let with = |offset, bytes| {
        let mut args = setup.args();
        args[0] = Arg::read(&large).range(offset, bytes);
        setup.refuses(&args)
    };
    let error = with(1024, 16);
    assert!(
        matches!(
            error,
            PipelineError::RangeOutOfBounds {
                offset: 1024,
                bytes: 16,
                ..
            }
        ),
        "{error}"
    );
    let error = with(u64::MAX, 16);
    assert!(
        matches!(error, PipelineError::RangeOutOfBounds { .. }),
        "{error}"
    );
    let error = with(16, 16);
    assert!(
        matches!(
            error,
            PipelineError::MisalignedOffset { alignment: 256, .. }
        ),
        "{error}"
    );
    let error = with(0, 18);
    assert!(
        matches!(error, PipelineError::MisalignedOffset { bytes: 18, .. }),
        "{error}"
    );
    let error = with(0, 0);
    assert!(
        matches!(
            error,
            PipelineError::BindingTooSmall {
                bytes: 0,
                needed: 4,
                ..
            }
        ),
        "{error}"
    );

    let mut args = setup.args();
    args[1] = Arg::read(&large).range(256, 20);
    let error = setup.refuses(&args);
    assert!(
        matches!(
            error,
            PipelineError::PartialElement {
                bytes: 20,
                stride: 16,
                line: 3,
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn a_whole_buffer_is_bound_to_the_next_word() {
    let setup = Setup::new();
    let odd = buffer(&setup.pipelines, 13);
    let [_, b, out] = &setup.buffers;
    setup
        .run(&[Arg::read(&odd), Arg::read(b), Arg::write(out)])
        .unwrap();
    let error = setup.refuses(&[
        Arg::read(b),
        Arg::read(&buffer(&setup.pipelines, 20)),
        Arg::write(out),
    ]);
    assert!(
        matches!(error, PipelineError::PartialElement { bytes: 20, .. }),
        "{error}"
    );
}

#[test]
fn bindings_over_the_limit_are_refused() {
    let limits = wgpu::Limits {
        max_storage_buffer_binding_size: 1 << 16,
        ..wgpu::Limits::default()
    };
    let pipelines = open_with(DeviceOptions::default(), Some(limits));
    let kernel = pipelines.kernel(&add()).unwrap();
    let limit = pipelines.caps().max_binding_bytes;
    let big = buffer(&pipelines, limit + 4);
    let b = buffer(&pipelines, 64);
    let out = buffer(&pipelines, 64);
    let args = [Arg::read(&big), Arg::read(&b), Arg::write(&out)];
    let error = pipelines
        .dispatch(&kernel, &args, &PARAMS, Grid::elements(1, 1))
        .unwrap_err();
    assert!(
        matches!(error, PipelineError::BindingTooLarge { bytes, limit: l, .. } if bytes == limit + 4 && l == limit),
        "{error}"
    );
}

#[test]
fn written_memory_may_not_be_bound_twice() {
    let setup = Setup::new();
    let [a, b, out] = &setup.buffers;
    let error = setup.refuses(&[Arg::read(out), Arg::read(b), Arg::write(out)]);
    assert_eq!(
        error.to_string(),
        "add: `a` (add.wgsl:2) and `out` (add.wgsl:4) are the same memory and one is written; use one `read_write` binding"
    );
    setup
        .run(&[Arg::read(a), Arg::read(a), Arg::write(out)])
        .unwrap();
    setup.pipelines.device().synchronize().wait().unwrap();
}

#[test]
fn a_grid_over_the_limit_is_refused() {
    let setup = Setup::new();
    let grid = |grid| {
        setup
            .pipelines
            .dispatch(&setup.kernel, &setup.args(), &PARAMS, grid)
    };
    let error = grid(Grid::Workgroups([1, 65_536, 1])).unwrap_err();
    assert!(
        matches!(error, PipelineError::GridTooLarge { limit: 65_535, .. }),
        "{error}"
    );
    grid(Grid::elements(1 << 33, 1)).unwrap();
    setup.pipelines.device().synchronize().wait().unwrap();
}

#[test]
fn a_kernel_belongs_to_its_pipelines() {
    let setup = Setup::new();
    let error = open()
        .dispatch(&setup.kernel, &setup.args(), &PARAMS, Grid::elements(1, 1))
        .unwrap_err();
    assert!(
        matches!(error, PipelineError::ForeignKernel { .. }),
        "{error}"
    );
}

#[test]
fn an_oversized_workgroup_is_refused_before_the_device_sees_it() {
    let pipelines = open();
    let error = pipelines.kernel(&add().constant("WG", 4096.0)).unwrap_err();
    assert!(
        matches!(
            error,
            PipelineError::WorkgroupTooLarge {
                size: [4096, 1, 1],
                line: 6,
                ..
            }
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
        pipelines.kernel_for(KernelKey::new("add").number(wg), || {
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
    pipelines.kernel_for(key(), add).unwrap();
    let error = pipelines
        .kernel_for(key(), || add().constant("WG", 32.0))
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "add: the key add/f32 already stands for another descriptor; keys must tell all variants apart"
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
fn without_the_feature_there_is_no_cache_file() {
    let pipelines = open();
    if !pipelines.caps().pipeline_cache {
        assert_eq!(pipelines.save_cache().unwrap(), None);
    }
    let options = DeviceOptions {
        pipeline_cache: false,
        ..DeviceOptions::default()
    };
    let off = open_with(options, None);
    off.kernel(&add()).unwrap();
    assert_eq!(off.save_cache().unwrap(), None);
}
