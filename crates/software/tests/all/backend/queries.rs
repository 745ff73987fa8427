//! Timestamps.

use wgpu::{BufferUsages as U, Features};
use ziggurat_software::Profile;

use super::support::{Gpu, gpu, gpu_of, plain};

fn set(gpu: &Gpu, count: u32) -> wgpu::QuerySet {
    gpu.device.create_query_set(&wgpu::QuerySetDescriptor {
        label: None,
        ty: wgpu::QueryType::Timestamp,
        count,
    })
}

fn pass_writes(
    gpu: &Gpu,
    query_set: &wgpu::QuerySet,
    begin: Option<u32>,
    end: Option<u32>,
) -> wgpu::CommandBuffer {
    gpu.record(|encoder| {
        drop(encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
            label: None,
            timestamp_writes: Some(wgpu::ComputePassTimestampWrites {
                query_set,
                beginning_of_pass_write_index: begin,
                end_of_pass_write_index: end,
            }),
        }));
    })
}

#[test]
fn query_sets_need_their_feature_and_a_size() {
    let (plain, gpu) = (plain(), gpu());
    plain.refuses("TIMESTAMP_QUERY", || set(&plain, 2));
    gpu.accepts(|| set(&gpu, 4096));
    gpu.refuses("no queries", || set(&gpu, 0));
    gpu.refuses("4097 queries exceed 4096", || set(&gpu, 4097));
}

#[test]
fn timestamps_rise_and_unwritten_queries_are_zero() {
    let gpu = gpu();
    let queries = set(&gpu, 5);
    let resolved = gpu.buffer(40, U::QUERY_RESOLVE | U::COPY_SRC);
    let passes = pass_writes(&gpu, &queries, Some(1), Some(2));
    let rest = gpu.record(|encoder| {
        encoder.write_timestamp(&queries, 3);
        encoder.resolve_query_set(&queries, 0..5, &resolved, 0);
    });
    gpu.accepts(|| gpu.queue.submit([passes, rest]));
    let bytes = gpu.read(&resolved);
    let times: Vec<_> = bytes
        .chunks_exact(8)
        .map(|time| u64::from_le_bytes(time.try_into().unwrap()))
        .collect();
    assert_eq!((times[0], times[4]), (0, 0));
    assert!(
        times[1] > 0 && times[1] <= times[2] && times[2] <= times[3],
        "{times:?}"
    );
    assert!((gpu.queue.get_timestamp_period() - 1.0).abs() < f32::EPSILON);
}

#[test]
fn queries_are_written_within_the_set_and_to_different_places() {
    let gpu = gpu();
    let queries = set(&gpu, 2);
    gpu.accepts(|| pass_writes(&gpu, &queries, None, Some(1)));
    gpu.refuses("query 2 is out of range for a set of 2", || {
        pass_writes(&gpu, &queries, Some(0), Some(2))
    });
    gpu.refuses("both its timestamps to query 1", || {
        pass_writes(&gpu, &queries, Some(1), Some(1))
    });
    gpu.refuses("writes none", || pass_writes(&gpu, &queries, None, None));
    gpu.refuses("query 2 is out of range", || {
        gpu.record(|encoder| encoder.write_timestamp(&queries, 2))
    });
}

#[test]
fn timestamps_outside_of_pass_boundaries_need_features_of_their_own() {
    let mut profile = Profile::nvidia();
    profile.features.remove(
        Features::TIMESTAMP_QUERY_INSIDE_ENCODERS | Features::TIMESTAMP_QUERY_INSIDE_PASSES,
    );
    let (less, full) = (gpu_of(profile), gpu());
    let (a, b) = (set(&less, 1), set(&full, 1));
    full.accepts(|| full.record(|encoder| encoder.write_timestamp(&b, 0)));
    full.accepts(|| full.pass(|pass| pass.write_timestamp(&b, 0)));
    less.refuses("TIMESTAMP_QUERY_INSIDE_ENCODERS", || {
        less.record(|encoder| encoder.write_timestamp(&a, 0))
    });
    less.refuses("TIMESTAMP_QUERY_INSIDE_PASSES", || {
        less.pass(|pass| pass.write_timestamp(&a, 0))
    });
}

#[test]
fn resolving_keeps_the_rules() {
    let gpu = gpu();
    let queries = set(&gpu, 2);
    let buffer = gpu.buffer(512, U::QUERY_RESOLVE);
    let resolve = |range, buffer: &wgpu::Buffer, offset| {
        gpu.record(|encoder| encoder.resolve_query_set(&queries, range, buffer, offset))
    };
    gpu.accepts(|| resolve(0..2, &buffer, 256));
    gpu.refuses("is not a multiple of 256", || resolve(0..2, &buffer, 8));
    gpu.refuses("out of range for a set of 2", || resolve(1..3, &buffer, 0));
    gpu.refuses("exceed the 512 bytes", || resolve(0..2, &buffer, 512));
    gpu.refuses("QUERY_RESOLVE", || resolve(0..2, &gpu.storage(16), 0));
    queries.destroy();
    let commands = gpu.accepts(|| resolve(0..2, &buffer, 0));
    gpu.refuses("has been destroyed", || gpu.queue.submit([commands]));
}
