//! Dispatches whose number of workgroups is in a buffer: what a kernel wrote there, beyond limits, on tapes, side by side.

use super::*;
use ziggurat_pipeline::{ArgumentError, PipelineError};

/// Adds 1 for each invocation, and 1000 for each workgroup along y, as the kernel sees it.
const COUNT: &str = "
    @group(0) @binding(0) var<storage, read_write> sums: array<atomic<u32>, 2>;
    @compute @workgroup_size(2, 3) fn main(
        @builtin(num_workgroups) n: vec3<u32>, @builtin(local_invocation_index) i: u32,
    ) {
        atomicAdd(&sums[0], 1u);
        if i == 0u { atomicMax(&sums[1], n.x + 10u * n.y + 100u * n.z); }
    }";

/// Writes three counts behind each other, from the second word on.
const WRITE: &str = "
    @group(0) @binding(0) var<uniform> counts: vec3<u32>;
    @group(0) @binding(1) var<storage, read_write> out: array<u32>;
    @compute @workgroup_size(1) fn main() {
        out[67] = counts.x;
        out[68] = counts.y;
        out[69] = counts.z;
    }";

struct Setup {
    pipelines: Pipelines,
    count: Kernel,
    write: Kernel,
    counts: Buffer,
}

impl Setup {
    fn new() -> Self {
        let pipelines = open(DeviceOptions::default());
        Self {
            count: kernel(&pipelines, ShaderSource::wgsl("count", COUNT)),
            write: kernel(&pipelines, ShaderSource::wgsl("write", WRITE)),
            counts: pipelines.memory().alloc_zeroed(70 * 4).unwrap(),
            pipelines,
        }
    }

    /// Writes counts on the device and dispatches as many workgroups.
    fn run(&self, to: &Pipelines, counts: [u32; 3], sums: &Buffer) -> Result<(), PipelineError> {
        let words: Vec<u8> = counts
            .iter()
            .flat_map(|count| count.to_le_bytes())
            .collect();
        let args = [Arg::uniform(&words), Arg::write(&self.counts)];
        to.dispatch(&self.write, &args, &[], Grid::Workgroups([1; 3]))?;
        to.dispatch_indirect(
            &self.count,
            &[Arg::write(sums)],
            &[],
            (&self.counts, 67 * 4),
        )
    }

    fn sums(&self) -> Buffer {
        self.pipelines.memory().alloc_zeroed(8).unwrap()
    }
}

#[test]
fn counts_are_read_when_the_dispatch_runs() {
    let setup = Setup::new();
    for [x, y, z] in [
        [4, 1, 1],
        [1, 1, 1],
        [2, 3, 5],
        [0, 3, 4],
        [7, 0, 1],
        [300, 2, 1],
    ] {
        let sums = setup.sums();
        setup.run(&setup.pipelines, [x, y, z], &sums).unwrap();
        let seen = if x * y * z == 0 {
            0
        } else {
            x + 10 * y + 100 * z
        };
        assert_eq!(words(&setup.pipelines, &sums), [x * y * z * 6, seen]);
    }
}

#[test]
fn counts_beyond_the_limit_run_nothing() {
    let setup = Setup::new();
    let most = setup.pipelines.caps().max_workgroups;
    let sums = setup.sums();
    for counts in [
        [most + 1, 1, 1],
        [1, u32::MAX, 1],
        [1, 1, most + 1],
        [u32::MAX; 3],
    ] {
        setup.run(&setup.pipelines, counts, &sums).unwrap();
    }
    assert_eq!(words(&setup.pipelines, &sums), [0, 0]);
    setup.run(&setup.pipelines, [most, 1, 1], &sums).unwrap();
    assert_eq!(words(&setup.pipelines, &sums), [most * 6, most + 110]);
}

#[test]
fn many_side_by_side_keep_their_counts_also_on_a_tape() {
    let setup = Setup::new();
    let all: Vec<Buffer> = (0..40).map(|_| setup.sums()).collect();
    let run = |to: &Pipelines| {
        for (at, sums) in (1..).zip(&all) {
            setup.run(to, [at, 1, 2], sums).unwrap();
        }
    };
    let read = || -> Vec<u32> {
        all.iter()
            .map(|sums| words(&setup.pipelines, sums)[0])
            .collect()
    };
    let expected = |times: u32| -> Vec<u32> { (1..=40).map(|at| times * at * 12).collect() };
    run(&setup.pipelines);
    assert_eq!(read(), expected(1));
    let taping = setup.pipelines.taping();
    run(&taping);
    let tape = taping.take_tape().unwrap();
    assert_eq!(read(), expected(1), "nothing ran yet");
    for times in [3, 5] {
        tape.replay().unwrap();
        run(&setup.pipelines);
        assert_eq!(read(), expected(times));
    }
}

#[test]
fn one_buffer_holds_counts_and_is_written() {
    let setup = Setup::new();
    let sums = setup
        .pipelines
        .memory()
        .upload(bytemuck::cast_slice(&[5_u32, 2, 1]))
        .unwrap();
    let args = [Arg::write(&sums).range(0, 8)];
    setup
        .pipelines
        .dispatch_indirect(&setup.count, &args, &[], (&sums, 0))
        .unwrap();
    assert_eq!(words(&setup.pipelines, &sums), [65, 125, 1]);
}

#[test]
fn places_where_no_counts_can_be_are_errors() {
    let setup = Setup::new();
    let sums = setup.sums();
    let capacity = setup.counts.capacity();
    let at = |buffer: &Buffer, offset: u64| {
        let args = [Arg::write(&sums)];
        setup
            .pipelines
            .dispatch_indirect(&setup.count, &args, &[], (buffer, offset))
    };
    for offset in [capacity - 8, capacity, u64::MAX - 3, u64::MAX, 2, 5] {
        let error = at(&setup.counts, offset).unwrap_err();
        assert!(
            matches!(
                error,
                PipelineError::Argument(ArgumentError::IndirectRange { .. })
            ),
            "{error}"
        );
        let text = error.to_string();
        let said = format!(": the three numbers of workgroups lie {offset} bytes");
        assert!(
            text.starts_with("count: count:") && text.contains(&said),
            "{text}"
        );
        assert!(text.ends_with('^'), "{text}");
    }
    let other = open(DeviceOptions::default())
        .memory()
        .alloc_zeroed(64)
        .unwrap();
    let error = at(&other, 0).unwrap_err();
    assert!(
        matches!(
            error,
            PipelineError::Argument(ArgumentError::IndirectForeign { .. })
        ),
        "{error}"
    );
    let none: [Arg<'_>; 0] = [];
    let error = setup
        .pipelines
        .dispatch_indirect(&setup.count, &none, &[], (&setup.counts, 0));
    assert!(matches!(
        error.unwrap_err(),
        PipelineError::Argument(ArgumentError::BindingCount { .. })
    ));
    assert_eq!(words(&setup.pipelines, &sums), [0, 0]);
    at(&setup.counts, capacity - 12).unwrap();
}
