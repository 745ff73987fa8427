//! Constants of one's own kernels by measurement: what is measured, kept, looked up and refused.

use ziggurat_pipeline::device::{DeviceOptions, SoftwareWish};
use ziggurat_pipeline::{
    Arg, Grid, KernelCandidate, KernelDescriptor, KernelWork, PipelineError, Pipelines,
    ShaderSource,
};

use super::open;

/// The workgroup of 32 does 2,000 times the work of the others.
const UNEVEN: &str = "override WG: u32 = 64u;
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    var sum = id.x;
    let rounds = select(1u, 2000u, WG == 32u);
    for (var i = 0u; i < rounds; i++) { sum = sum * 1664525u + 1013904223u; }
    if id.x < arrayLength(&out) { out[id.x] = sum; }
}
";

fn devices() -> [Pipelines; 2] {
    let mut software = DeviceOptions::default();
    software.adapter.software = Some(SoftwareWish::default());
    let options = [DeviceOptions::default(), software];
    options.map(|options| {
        open(DeviceOptions {
            pipeline_cache: false,
            ..options
        })
    })
}

#[test]
fn the_fastest_size_is_found_kept_and_found_again() {
    for pipelines in devices() {
        let descriptor = KernelDescriptor::new(ShaderSource::wgsl("uneven", UNEVEN));
        let out = pipelines.memory().alloc_zeroed(4 * 4096).unwrap();
        let args = [Arg::write(&out)];
        let work = KernelWork {
            args: &args,
            params: &[],
            grid: Grid::elements(4096, 1),
        };
        let device = pipelines.device();
        let candidates = KernelCandidate::workgroup_sizes("WG", [32, 128, 1 << 20]);
        let look_up = || pipelines.tuned(&descriptor, &candidates, work.grid);
        assert_eq!(look_up(), None);
        let times = device.block_on(pipelines.time_candidates(&descriptor, &candidates, work));
        let times = times.unwrap();
        assert_eq!(times.best(), Some(&candidates[1]), "{times}");
        assert!(
            times.rows[0].time.is_ok() && times.rows[2].time.is_err(),
            "{times}"
        );
        assert!(times.to_string().contains("WG = 128"), "{times}");
        assert!(pipelines.tuning().is_empty(), "measured, not stored");

        let tuned = device
            .block_on(pipelines.tune(&descriptor, &candidates, work))
            .unwrap();
        assert_eq!((tuned.rows.len(), look_up()), (3, Some(&candidates[1])));
        // About as much work is the same, other text, candidates and work are not.
        let more = |len| pipelines.tuned(&descriptor, &candidates, Grid::elements(len, 1));
        assert_eq!((more(4000), more(5000)), (Some(&candidates[1]), None));
        let other = KernelDescriptor::new(ShaderSource::wgsl(
            "uneven",
            UNEVEN.replace("2000u", "1999u"),
        ));
        assert_eq!(pipelines.tuned(&other, &candidates, work.grid), None);
        assert_eq!(
            pipelines.tuned(&descriptor, &candidates[1..], work.grid),
            None
        );
        let entered = descriptor.clone().entry("main");
        assert_eq!(pipelines.tuned(&entered, &candidates, work.grid), None);

        let size = || device.block_on(pipelines.optimal_workgroup_size(&descriptor, "WG", work));
        let first = size().unwrap();
        assert!(first.is_power_of_two() && first > 32, "{first}");
        let dispatches = pipelines.stats().dispatches;
        assert_eq!(size().unwrap(), first);
        assert_eq!(pipelines.stats().dispatches, dispatches, "looked up");
        assert_eq!(pipelines.tuning().len(), 2);
    }
}

#[test]
fn mistakes_are_those_of_the_kernel() {
    let [pipelines, _] = devices();
    let descriptor = KernelDescriptor::new(ShaderSource::wgsl("uneven", UNEVEN));
    let work = KernelWork {
        args: &[],
        params: &[],
        grid: Grid::elements(64, 1),
    };
    let device = pipelines.device();
    // No buffer for the binding: every candidate is refused, with the reason.
    let error = device.block_on(pipelines.optimal_workgroup_size(&descriptor, "WG", work));
    assert!(
        !matches!(error, Err(PipelineError::NotMeasured { .. })),
        "{error:?}"
    );
    assert!(error.is_err_and(|error| error.to_string().contains("uneven")));
    let unknown = device.block_on(pipelines.optimal_workgroup_size(&descriptor, "WIDTH", work));
    assert!(
        matches!(unknown, Err(PipelineError::UnknownConstant { .. })),
        "{unknown:?}"
    );
    let none = device
        .block_on(pipelines.tune(&descriptor, &[], work))
        .unwrap();
    assert!(none.rows.is_empty() && none.best().is_none() && pipelines.tuning().is_empty());
}

#[test]
fn a_tile_may_have_a_grid_of_its_own() {
    let [pipelines, _] = devices();
    let text = "override ROWS: u32 = 1u;
        @group(0) @binding(0) var<storage, read_write> out: array<u32>;
        @compute @workgroup_size(64)
        fn main(@builtin(global_invocation_id) id: vec3<u32>) {
            for (var i = 0u; i < ROWS; i++) { out[id.x * ROWS + i] = id.x * ROWS + i + 1u; }
        }";
    let descriptor = KernelDescriptor::new(ShaderSource::wgsl("tile", text));
    let out = pipelines.memory().alloc_zeroed(4 * 1024).unwrap();
    let args = [Arg::write(&out)];
    let candidates = [1_u32, 4, 16].map(|rows| {
        let candidate = KernelCandidate::new([("ROWS", f64::from(rows))]);
        candidate.grid(Grid::Workgroups([16 / rows, 1, 1]))
    });
    let work = KernelWork {
        args: &args,
        params: &[],
        grid: Grid::elements(1024, 1),
    };
    let device = pipelines.device();
    let times = device
        .block_on(pipelines.tune(&descriptor, &candidates, work))
        .unwrap();
    assert!(times.rows.iter().all(|row| row.time.is_ok()), "{times}");
    let wanted: Vec<u32> = (1..=1024).collect();
    assert_eq!(super::words(&pipelines, &out), wanted);
}
