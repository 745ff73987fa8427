//! The faults that a profile can be asked for, and destruction.

use std::sync::Arc;

use futures::executor::block_on;
use parking_lot::Mutex;
use wgpu::{BufferUsages as U, DeviceLostReason, ErrorFilter, MapMode};
use ziggurat_software::Profile;

use super::support::{Gpu, gpu_of, plain};

type Losses = Arc<Mutex<Vec<DeviceLostReason>>>;

fn watch(gpu: &Gpu) -> Losses {
    let losses = Losses::default();
    let sink = Arc::clone(&losses);
    gpu.device
        .set_device_lost_callback(move |reason, _| sink.lock().push(reason));
    losses
}

fn poll(gpu: &Gpu) {
    gpu.device.poll(wgpu::PollType::Poll).unwrap();
}

#[test]
fn memory_beyond_the_budget_is_out_of_memory_until_some_is_freed() {
    let mut profile = Profile::webgpu_default();
    profile.memory_budget = 1000;
    let gpu = gpu_of(profile);
    let first = gpu.accepts(|| gpu.storage(600));
    let second = gpu.accepts(|| gpu.storage(400));
    let (failed, error) = gpu.outcome(|| gpu.storage(4));
    assert!(matches!(error, Some(wgpu::Error::OutOfMemory { .. })));
    gpu.refuses("is invalid", || gpu.queue.write_buffer(&failed, 0, &[0; 4]));
    drop(first);
    gpu.accepts(|| gpu.storage(600));
    second.destroy();
    gpu.accepts(|| gpu.storage(400));
}

#[test]
fn the_device_is_lost_after_the_submits_asked_for() {
    let mut profile = Profile::webgpu_default();
    profile.lose_after_submits = Some(2);
    let gpu = gpu_of(profile);
    let losses = watch(&gpu);
    let buffer = gpu.storage(4);
    let clear = || gpu.record(|encoder| encoder.clear_buffer(&buffer, 0, None));
    gpu.queue.submit([clear()]);
    gpu.queue.submit([clear()]);
    assert!(losses.lock().is_empty());
    gpu.accepts(|| gpu.queue.submit([clear()]));
    assert_eq!(*losses.lock(), [DeviceLostReason::Unknown]);
    gpu.queue.submit([clear()]);
    assert_eq!(losses.lock().len(), 1);
}

#[test]
fn a_lost_device_takes_everything_and_says_nothing() {
    let gpu = plain();
    let buffer = gpu.buffer(8, U::MAP_READ | U::COPY_DST);
    gpu.device.destroy();
    gpu.accepts(|| gpu.buffer(8, U::empty()));
    gpu.accepts(|| gpu.pipeline("nonsense"));
    gpu.accepts(|| gpu.queue.submit([gpu.encoder().finish()]));
    let answer = Arc::new(Mutex::new(None));
    let sink = Arc::clone(&answer);
    buffer.map_async(MapMode::Read, .., move |result| {
        *sink.lock() = Some(result.is_ok());
    });
    poll(&gpu);
    assert_eq!(*answer.lock(), Some(false));
}

#[test]
fn destroy_is_told_in_poll_and_fails_waiting_mappings() {
    let gpu = plain();
    let losses = watch(&gpu);
    let buffer = gpu.buffer(8, U::MAP_READ | U::COPY_DST);
    let answer = Arc::new(Mutex::new(None));
    let sink = Arc::clone(&answer);
    buffer.map_async(MapMode::Read, .., move |result| {
        *sink.lock() = Some(result.is_ok());
    });
    gpu.device.destroy();
    gpu.device.destroy();
    assert!(losses.lock().is_empty());
    poll(&gpu);
    assert_eq!(*losses.lock(), [DeviceLostReason::Destroyed]);
    assert_eq!(*answer.lock(), Some(false));
}

#[test]
fn polling_waits_only_for_submits_that_were_made() {
    let gpu = plain();
    let index = gpu.queue.submit([]);
    let wait = |submission_index| {
        gpu.device.poll(wgpu::PollType::Wait {
            submission_index,
            timeout: None,
        })
    };
    assert!(wait(Some(index)).unwrap().is_queue_empty());
    assert!(wait(None).is_ok());
    let other = plain();
    other.queue.submit([]);
    let later = other.queue.submit([]);
    assert!(matches!(
        wait(Some(later)),
        Err(wgpu::PollError::WrongSubmissionIndex(2, 1))
    ));
}

#[test]
fn work_done_is_told_in_poll_in_order() {
    let gpu = plain();
    let order = Arc::new(Mutex::new(Vec::new()));
    for i in 0..3 {
        gpu.queue.submit([]);
        let sink = Arc::clone(&order);
        gpu.queue
            .on_submitted_work_done(move || sink.lock().push(i));
    }
    assert!(order.lock().is_empty());
    poll(&gpu);
    assert_eq!(*order.lock(), [0, 1, 2]);
}

#[test]
fn an_error_passes_scopes_of_other_kinds() {
    let mut profile = Profile::webgpu_default();
    profile.memory_budget = 64;
    let gpu = gpu_of(profile);
    let memory = gpu.device.push_error_scope(ErrorFilter::OutOfMemory);
    let validation = gpu.device.push_error_scope(ErrorFilter::Validation);
    gpu.storage(128);
    assert!(block_on(validation.pop()).is_none());
    assert!(matches!(
        block_on(memory.pop()),
        Some(wgpu::Error::OutOfMemory { .. })
    ));
}

#[test]
fn a_message_names_the_call_the_label_and_the_rule() {
    let gpu = plain();
    let (_, error) = gpu.outcome(|| gpu.buffer(4, U::empty()));
    let text = error.unwrap().to_string();
    assert!(
        text.contains("In Device::create_buffer, label = 'buffer'"),
        "{text}"
    );
    assert!(text.contains("is empty or has unknown bits"), "{text}");
}
