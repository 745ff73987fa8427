//! Kernels with ordered loads compute what they compute without, also of one buffer at several bindings.

use super::*;
use ziggurat_pipeline::{ArgumentError, PipelineError};

const SUM: &str = "
    @group(0) @binding(0) var<storage, read> a: array<u32>;
    @group(0) @binding(1) var<storage> b: array<u32>;
    @group(0) @binding(2) var<storage, read_write> out: array<u32>;
    var<workgroup> shared_a: array<u32, 64>;
    @compute @workgroup_size(64) fn main(
        @builtin(global_invocation_id) id: vec3<u32>,
        @builtin(local_invocation_index) lane: u32,
    ) {
        let at = min(id.x, arrayLength(&out) - 1u);
        let next = b[at];
        shared_a[lane] = a[at];
        workgroupBarrier();
        out[at] = shared_a[lane] + 100u * next;
    }
";

#[test]
fn one_text_computes_the_same_with_ordered_loads_and_without() {
    let pipelines = open(DeviceOptions::default());
    let upload = |words: &[u32]| pipelines.memory().upload(bytemuck::cast_slice(words));
    let (a, b) = (
        upload(&[1, 2, 3, 4]).unwrap(),
        upload(&[5, 6, 7, 8]).unwrap(),
    );
    let grid = Grid::Workgroups([1, 1, 1]);
    for ordered in [false, true, false] {
        let source = ShaderSource::wgsl("sum", SUM);
        let descriptor = KernelDescriptor::new(source).ordered_loads(ordered);
        let kernel = pipelines.kernel(&descriptor).unwrap();
        for (first, second, want) in [
            (&a, &b, [501, 602, 703, 804]),
            (&a, &a, [101, 202, 303, 404]),
        ] {
            let out = pipelines.memory().alloc_zeroed(16).unwrap();
            let args = [Arg::read(first), Arg::read(second), Arg::write(&out)];
            pipelines.dispatch(&kernel, &args, &[], grid).unwrap();
            assert_eq!(words(&pipelines, &out), want, "ordered: {ordered}");
            let prepared = pipelines.prepare(&kernel, &args, &[], grid).unwrap();
            let again = pipelines.memory().alloc_zeroed(16).unwrap();
            let buffers = [first, second, &again];
            pipelines
                .dispatch_prepared(&prepared.unwrap(), &buffers, &[])
                .unwrap();
            assert_eq!(words(&pipelines, &again), want, "ordered: {ordered}");
        }
        // What the text only reads is not written, and what it writes is in conflict with what it reads.
        let written = [Arg::write(&a), Arg::read(&b), Arg::write(&b)];
        let refused = pipelines
            .dispatch(&kernel, &written, &[], grid)
            .unwrap_err();
        assert!(
            matches!(
                refused,
                PipelineError::Argument(ArgumentError::BindingAccess { .. })
            ),
            "{refused}"
        );
        let both = [Arg::read(&a), Arg::read(&b), Arg::write(&b)];
        let refused = pipelines.dispatch(&kernel, &both, &[], grid).unwrap_err();
        assert!(
            matches!(
                refused,
                PipelineError::Argument(ArgumentError::Aliased { .. })
            ),
            "{refused}"
        );
    }
}

/// What is prepared with memory of just the size and with more of it is the same; other ranges are not.
#[test]
fn prepared_dispatches_are_compared_by_what_they_bind() {
    let pipelines = open(DeviceOptions::default());
    let kernel = kernel(&pipelines, ShaderSource::wgsl("sum", SUM));
    let alloc = |bytes| pipelines.memory().alloc_zeroed(bytes).unwrap();
    let (exact, large, out) = (alloc(256), alloc(4096), alloc(256));
    let prepare = |a: &Buffer, bytes| {
        let args = [
            Arg::read(a).range(0, bytes),
            Arg::read(a).range(0, bytes),
            Arg::write(&out),
        ];
        let grid = Grid::Workgroups([1, 1, 1]);
        pipelines
            .prepare(&kernel, &args, &[], grid)
            .unwrap()
            .unwrap()
    };
    assert_eq!(exact.capacity(), 256);
    assert!(prepare(&exact, 256).same(&prepare(&large, 256)));
    assert!(!prepare(&exact, 256).same(&prepare(&large, 512)));
    assert!(!prepare(&exact, 128).same(&prepare(&large, 256)));
}
