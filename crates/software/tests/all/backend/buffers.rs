//! Creation of buffers.

use wgpu::BufferUsages as U;
use ziggurat_software::Profile;

use super::support::{gpu, gpu_of, plain};

#[test]
fn a_buffer_is_at_most_as_large_as_the_limit() {
    let mut profile = Profile::webgpu_default();
    profile.limits.max_buffer_size = 1024;
    let gpu = gpu_of(profile);
    gpu.accepts(|| gpu.buffer(1024, U::STORAGE));
    gpu.refuses("max_buffer_size, 1024", || gpu.buffer(1028, U::STORAGE));
}

#[test]
fn usages_are_known_and_not_empty() {
    let gpu = plain();
    gpu.accepts(|| gpu.buffer(4, U::UNIFORM));
    gpu.refuses("is empty", || gpu.buffer(4, U::empty()));
    gpu.refuses("is empty", || gpu.buffer(4, U::from_bits_retain(1 << 30)));
}

#[test]
fn mappable_usages_go_only_with_their_copy_unless_the_feature_is_there() {
    let plain = plain();
    plain.accepts(|| plain.buffer(4, U::MAP_READ | U::COPY_DST));
    plain.accepts(|| plain.buffer(4, U::MAP_WRITE | U::COPY_SRC));
    plain.refuses("MAP_READ goes only with", || {
        plain.buffer(4, U::MAP_READ | U::STORAGE)
    });
    plain.refuses("MAP_READ goes only with", || {
        plain.buffer(4, U::MAP_WRITE | U::COPY_DST)
    });
    let gpu = gpu();
    gpu.accepts(|| gpu.buffer(4, U::MAP_READ | U::STORAGE));
}

#[test]
fn a_buffer_mapped_at_creation_has_a_size_in_words() {
    let gpu = plain();
    let make = |size| {
        gpu.device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size,
            usage: U::STORAGE,
            mapped_at_creation: true,
        })
    };
    gpu.accepts(|| make(8));
    gpu.refuses("not a multiple of 4", || make(6));
}

#[test]
fn ray_tracing_buffers_need_their_feature() {
    let gpu = gpu();
    gpu.refuses("EXPERIMENTAL_RAY_QUERY", || {
        gpu.buffer(4, U::BLAS_INPUT | U::STORAGE)
    });
}

#[test]
fn a_new_buffer_is_zero_and_may_be_empty() {
    let gpu = plain();
    assert_eq!(gpu.read(&gpu.storage(12)), [0; 12]);
    let empty = gpu.accepts(|| gpu.storage(0));
    assert_eq!(empty.size(), 0);
    gpu.accepts(|| gpu.queue.write_buffer(&empty, 0, &[]));
}

#[test]
fn an_invalid_buffer_is_refused_wherever_it_is_used() {
    let gpu = plain();
    let (bad, error) = gpu.outcome(|| gpu.buffer(4, U::empty()));
    assert!(error.is_some());
    gpu.refuses("'buffer' is invalid", || {
        gpu.queue.write_buffer(&bad, 0, &[0; 4]);
    });
    gpu.refuses("'buffer' is invalid", || {
        gpu.record(|encoder| encoder.clear_buffer(&bad, 0, None))
    });
}
