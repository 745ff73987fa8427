//! What a dispatch accepts, and that it refuses everything else before anything is recorded.

use crate::error::{ArgumentError, LimitError};
use ziggurat_core::DType;

use super::*;
use crate::Access;
use ziggurat_memory::MemoryError;

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
        matches!(
            wrong,
            Err(PipelineError::Argument(ArgumentError::BindingCount { .. }))
        ),
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
        "add: add.wgsl:4:23: expected 3 buffers for `a` (add.wgsl:2:23), `b` (add.wgsl:3:23), `out` (add.wgsl:4:23), got 2
4 | @group(0) @binding(3) var<storage, read_write> out: array<f32>;
  |                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^"
    );
    shows_its_code(&error);
    let error = setup.refuses(&[args[0], args[0], args[0], args[2]]);
    assert!(
        matches!(
            error,
            PipelineError::Argument(ArgumentError::BindingCount {
                expected: 3,
                got: 4,
                ..
            })
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
        "add: add.wgsl:3:23: `b` (binding 2) holds f32, got a buffer of i32\n3 | @group(0) @binding(2) var<storage> b: array<vec4<f32>>;\n  |                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^"
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
            PipelineError::Argument(ArgumentError::BindingAccess {
                place,
                expected: Access::ReadWrite,
                got: Access::Read,
                ..
            }) if place.line == 4
        ),
        "{error}"
    );
    let error = setup.refuses(&[Arg::write(a), Arg::read(b), Arg::write(out)]);
    assert!(
        matches!(
            &error,
            PipelineError::Argument(ArgumentError::BindingAccess {
                place,
                expected: Access::Read,
                got: Access::ReadWrite,
                ..
            }) if place.line == 2
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
                "add: add.wgsl:1:23: the parameters `scale` take 16 bytes, got {}\n1 | @group(0) @binding(0) var<uniform> scale: vec4<f32>;\n  |                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^",
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
            PipelineError::Argument(ArgumentError::ParamsSize {
                expected: 0,
                got: 4,
                ..
            })
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
            PipelineError::Argument(ArgumentError::RangeOutOfBounds {
                offset: 1024,
                bytes: 16,
                ..
            })
        ),
        "{error}"
    );
    let error = with(u64::MAX, 16);
    assert!(
        matches!(
            error,
            PipelineError::Argument(ArgumentError::RangeOutOfBounds { .. })
        ),
        "{error}"
    );
    let error = with(16, 16);
    assert!(
        matches!(
            error,
            PipelineError::Argument(ArgumentError::MisalignedOffset { alignment: 256, .. })
        ),
        "{error}"
    );
    let error = with(0, 18);
    assert!(
        matches!(
            error,
            PipelineError::Argument(ArgumentError::MisalignedOffset { bytes: 18, .. })
        ),
        "{error}"
    );
    let error = with(0, 0);
    assert!(
        matches!(
            error,
            PipelineError::Argument(ArgumentError::BindingTooSmall {
                bytes: 0,
                needed: 4,
                ..
            })
        ),
        "{error}"
    );

    let mut args = setup.args();
    args[1] = Arg::read(&large).range(256, 20);
    let error = setup.refuses(&args);
    assert!(
        matches!(
            &error,
            PipelineError::Argument(ArgumentError::PartialElement {
                bytes: 20,
                stride: 16,
                place,
                ..
            }) if place.line == 3
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
        matches!(
            error,
            PipelineError::Argument(ArgumentError::PartialElement { bytes: 20, .. })
        ),
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
        matches!(error, PipelineError::Argument(ArgumentError::BindingTooLarge { bytes, limit: l, .. }) if bytes == limit + 4 && l == limit),
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
        "add: `a` (add.wgsl:2:23) and `out` (add.wgsl:4:23) are the same memory and one is written; use one `read_write` binding\n2 | @group(0) @binding(1) var<storage> a: array<f32>;\n  |                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^\n4 | @group(0) @binding(3) var<storage, read_write> out: array<f32>;\n  |                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^"
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
        matches!(
            error,
            PipelineError::Limit(LimitError::GridTooLarge { limit: 65_535, .. })
        ),
        "{error}"
    );
    assert!(error.to_string().ends_with('^'), "{error}");
    grid(Grid::elements(65_535 * 64, 1)).unwrap();
    setup.pipelines.device().synchronize().wait().unwrap();
}

/// Dispatches a kernel over `len` elements in workgroups of one, of which a row has three at most.
fn fold(arguments: &str, index: &str, grid: Grid) -> Result<(), PipelineError> {
    let options = DeviceOptions {
        max_workgroups: Some(3),
        ..DeviceOptions::default()
    };
    let pipelines = open_with(options, None);
    let text = format!(
        "struct In {{ @builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32> }}
        @group(0) @binding(0) var<storage, read_write> x: array<u32>;
        fn linear(w: vec3<u32>, n: vec3<u32>) -> u32 {{ return w.x + w.y * n.x + w.z * n.x * n.y; }}
        fn index(in: In) -> u32 {{ return linear(in.wid, in.nwg); }}
        @compute @workgroup_size(1) fn main({arguments}) {{ x[{index}] += 1u; }}"
    );
    let kernel = pipelines
        .kernel(&KernelDescriptor::new(ShaderSource::wgsl("fold", text)))
        .unwrap();
    let x = buffer(&pipelines, 64);
    let result = pipelines.dispatch(&kernel, &[Arg::write(&x)], &[], grid);
    pipelines.device().synchronize().wait().unwrap();
    assert_eq!(
        pipelines.device().queue_stats().dispatches,
        u64::from(result.is_ok())
    );
    result
}

#[test]
fn a_grid_is_folded_only_for_an_entry_point_that_can_index_it() {
    const WID: &str = "@builtin(workgroup_id) w: vec3<u32>";
    const GID: &str = "@builtin(global_invocation_id) w: vec3<u32>";
    const NWG: &str = "@builtin(num_workgroups) n: vec3<u32>";
    let both = format!("{GID}, {NWG}");
    let (row, rows, planes) = ([3, 9, 27], 3, 9);
    let refused = [
        (GID, "w.x", rows),
        (WID, "w.x + w.y + w.z", rows),
        // A loop with the stride of one row.
        (&both, "w.x + n.x", rows),
        (&both, "w.x + w.y", rows),
        (&both, "w.x + n.x * n.y * w.z", rows),
        (&both, "w.x + w.y * n.x", planes),
        ("in: In", "in.wid.x + in.nwg.x", rows),
    ];
    for (arguments, index, most) in refused {
        fold(arguments, index, Grid::elements(most, 1)).unwrap();
        let error = fold(arguments, index, Grid::elements(most + 1, 1)).unwrap_err();
        assert!(
            matches!(
                &error,
                PipelineError::GridNotFolded {
                    place,
                    limit: 3,
                    ..
                } if place.line == 5
            ),
            "{index}: {error}"
        );
        fold(arguments, index, Grid::stride(most + 1, 1)).unwrap();
        fold(arguments, index, Grid::Workgroups([3, 2, 2])).unwrap();
    }
    let wid = format!("{WID}, {NWG}");
    for (arguments, index) in [
        (both.as_str(), "w.x + (w.y + w.z * n.y) * n.x"),
        (&both, "linear(w, n)"),
        (&wid, "linear(w.xyz, n.xyz)"),
        ("in: In", "index(in)"),
        ("in: In", "linear(in.wid, in.nwg)"),
    ] {
        for len in row {
            fold(arguments, index, Grid::elements(len, 1)).unwrap();
        }
    }
}

#[test]
fn a_buffer_of_another_memory_is_refused_whatever_its_number() {
    let (ours, other) = (Setup::new(), Setup::new());
    let [a, b, out] = &ours.buffers;
    let same_device = Memory::new(ours.pipelines.device(), MemoryOptions::default());
    for foreign in [other.buffers[0].clone(), same_device.alloc(64).unwrap()] {
        let error = ours.refuses(&[Arg::read(&foreign), Arg::read(b), Arg::write(out)]);
        assert!(
            matches!(&error, PipelineError::Argument(ArgumentError::ForeignBuffer { name, binding: 1, .. }) if name == "a"),
            "{error}"
        );
        ours.refuses(&[Arg::read(a), Arg::read(b), Arg::write(&foreign)]);
        let copy = ours.pipelines.copy(&foreign, 0, out, 0, 64);
        assert!(matches!(
            copy,
            Err(PipelineError::Memory(MemoryError::ForeignBuffer {
                operation: "copy"
            }))
        ));
        // Also where there is no work.
        let args = [Arg::read(a), Arg::read(&foreign), Arg::write(out)];
        let empty = ours
            .pipelines
            .dispatch(&ours.kernel, &args, &PARAMS, Grid::elements(0, 1));
        assert!(matches!(
            empty,
            Err(PipelineError::Argument(ArgumentError::ForeignBuffer { .. }))
        ));
    }
    let mut ids: Vec<_> = [&ours, &other]
        .iter()
        .flat_map(|setup| &setup.buffers)
        .map(Buffer::id)
        .collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 6, "numbers of two memories never meet");
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
