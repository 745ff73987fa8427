//! Mapping: what may be mapped, when, and what comes back.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use wgpu::{BufferUsages as U, MapMode};

use super::support::{Gpu, plain};

/// Counts answers: successes in the low half, failures in the high half.
#[derive(Clone, Default)]
struct Answers(Arc<AtomicU32>);

impl Answers {
    fn callback(&self) -> impl FnOnce(Result<(), wgpu::BufferAsyncError>) + Send + 'static {
        let count = Arc::clone(&self.0);
        move |result| {
            let one = if result.is_ok() { 1 } else { 1 << 16 };
            count.fetch_add(one, Ordering::Relaxed);
        }
    }

    fn seen(&self) -> (u32, u32) {
        let count = self.0.load(Ordering::Relaxed);
        (count & 0xffff, count >> 16)
    }
}

fn poll(gpu: &Gpu) {
    gpu.device
        .poll(wgpu::PollType::wait_indefinitely())
        .unwrap();
}

#[test]
fn a_buffer_mapped_at_creation_is_written_and_then_usable() {
    let gpu = plain();
    let buffer = gpu.device.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: 8,
        usage: U::COPY_SRC,
        mapped_at_creation: true,
    });
    let mut view = buffer.get_mapped_range_mut(..).unwrap();
    view.copy_from_slice(&[1, 2, 3, 4, 5, 6, 7, 8]);
    drop(view);
    buffer.unmap();
    assert_eq!(gpu.read(&buffer), [1, 2, 3, 4, 5, 6, 7, 8]);
}

#[test]
fn callbacks_of_mapping_run_in_poll_and_not_before() {
    let gpu = plain();
    let buffer = gpu.buffer(16, U::MAP_READ | U::COPY_DST);
    gpu.queue.write_buffer(&buffer, 8, &[9; 4]);
    let answers = Answers::default();
    buffer.map_async(MapMode::Read, 8..16, answers.callback());
    assert_eq!(answers.seen(), (0, 0));
    assert!(buffer.get_mapped_range(8..16).is_err());
    poll(&gpu);
    assert_eq!(answers.seen(), (1, 0));
    assert_eq!(
        &*buffer.get_mapped_range(8..16).unwrap(),
        [9, 9, 9, 9, 0, 0, 0, 0]
    );
    assert!(buffer.get_mapped_range(0..8).is_err());
}

#[test]
fn bytes_written_through_a_mapping_reach_the_queue() {
    let gpu = plain();
    let buffer = gpu.buffer(16, U::MAP_WRITE | U::COPY_SRC);
    for round in [3, 4] {
        buffer.map_async(MapMode::Write, .., |result| result.unwrap());
        poll(&gpu);
        let mut view = buffer.get_mapped_range_mut(8..12).unwrap();
        view.copy_from_slice(&[round; 4]);
        drop(view);
        buffer.unmap();
        let bytes = gpu.read(&buffer);
        assert_eq!(bytes[8..12], [round; 4]);
        assert_eq!(bytes[..8], [0; 8]);
    }
}

#[test]
fn a_range_is_mapped_only_with_the_usage_and_the_alignment() {
    let gpu = plain();
    let buffer = gpu.buffer(32, U::MAP_READ | U::COPY_DST);
    let ask = |mode, range: std::ops::Range<u64>| {
        let answers = Answers::default();
        buffer.map_async(mode, range, answers.callback());
        answers
    };
    gpu.refuses("MAP_WRITE", || ask(MapMode::Write, 0..32));
    // wgpu takes a refused buffer for mapped until it is unmapped.
    gpu.refuses("is not mapped", || buffer.unmap());
    gpu.refuses("not a multiple of 8", || ask(MapMode::Read, 4..32));
    gpu.refuses("is not mapped", || buffer.unmap());
    let refused = gpu.refuses("not a multiple of 4", || ask(MapMode::Read, 0..30));
    assert_eq!(refused.seen(), (0, 1));
    assert!(buffer.get_mapped_range(0..28).is_err());
    gpu.refuses("is not mapped", || buffer.unmap());
    let accepted = gpu.accepts(|| ask(MapMode::Read, 8..28));
    poll(&gpu);
    assert_eq!(accepted.seen(), (1, 0));
}

#[test]
fn unmapping_answers_a_waiting_request_with_a_failure() {
    let gpu = plain();
    let buffer = gpu.buffer(16, U::MAP_READ | U::COPY_DST);
    let answers = Answers::default();
    buffer.map_async(MapMode::Read, .., answers.callback());
    gpu.accepts(|| buffer.unmap());
    assert_eq!(answers.seen(), (0, 1));
    buffer.map_async(MapMode::Read, .., answers.callback());
    poll(&gpu);
    assert_eq!(answers.seen(), (1, 1));
}

#[test]
fn destroying_ends_mappings_and_frees_nothing_twice() {
    let gpu = plain();
    let buffer = gpu.buffer(16, U::MAP_READ | U::COPY_DST);
    let answers = Answers::default();
    buffer.map_async(MapMode::Read, .., answers.callback());
    buffer.destroy();
    buffer.destroy();
    poll(&gpu);
    assert_eq!(answers.seen(), (0, 1));
    gpu.refuses("has been destroyed", || {
        gpu.queue.write_buffer(&buffer, 0, &[0; 4]);
    });
}

#[test]
fn a_mapped_buffer_is_neither_written_nor_submitted() {
    let gpu = plain();
    let buffer = gpu.buffer(16, U::MAP_READ | U::COPY_DST);
    let clear = || gpu.record(|encoder| encoder.clear_buffer(&buffer, 0, None));
    let mapped = clear();
    buffer.map_async(MapMode::Read, .., |_| {});
    gpu.refuses("is still mapped", || gpu.queue.submit([mapped]));
    poll(&gpu);
    gpu.refuses("is still mapped", || {
        gpu.queue.write_buffer(&buffer, 0, &[0; 4]);
    });
    buffer.unmap();
    gpu.accepts(|| gpu.queue.submit([clear()]));
    gpu.accepts(|| gpu.queue.write_buffer(&buffer, 0, &[0; 4]));
}

#[test]
fn unmapping_what_is_not_mapped_is_an_error() {
    let gpu = plain();
    let buffer = gpu.buffer(16, U::MAP_READ | U::COPY_DST);
    gpu.refuses("is not mapped", || buffer.unmap());
}
