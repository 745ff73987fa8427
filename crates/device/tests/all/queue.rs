//! The command queue on wgpu's noop backend: real bytes, no GPU, no driver.

use std::sync::{Arc, Mutex};

use crate::common::{buffer, map_after_submit, noop, noop_with, read, readable};
use ziggurat_device::{DeviceError, DeviceOptions, Submission, block_on};

#[test]
fn copies_and_clears_move_real_bytes_in_the_order_of_recording() {
    let device = noop();
    let a = buffer(&device, &[1, 2, 3, 4, 5, 6, 7, 8]);
    let b = buffer(&device, &[0; 8]);
    device
        .record(|recorder| {
            recorder.copy_buffer(&a, 4, &b, 0, 4);
            recorder.clear_buffer(&a, 4, 4);
            recorder.copy_buffer(&a, 0, &b, 4, 4);
        })
        .unwrap();
    assert_eq!(
        block_on(read(&device, &a)).unwrap(),
        [1, 2, 3, 4, 0, 0, 0, 0]
    );
    assert_eq!(
        block_on(read(&device, &b)).unwrap(),
        [5, 6, 7, 8, 1, 2, 3, 4]
    );
}

#[test]
fn many_threads_see_one_order_and_it_is_the_order_of_execution() {
    const THREADS: usize = 8;
    const EACH: usize = 100;
    let device = noop_with(DeviceOptions {
        submit_after: 7,
        max_in_flight: 2,
        ..Default::default()
    });
    let shared = buffer(&device, &[0; 4]);
    let log = buffer(&device, &[0; THREADS * EACH * 4]);
    let order = Arc::new(Mutex::new(Vec::<u32>::new()));
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (device, shared, log, order) = (&device, &shared, &log, &order);
            scope.spawn(move || {
                for turn in 0..EACH {
                    let id = u32::try_from(thread * EACH + turn + 1).unwrap();
                    let own = buffer(device, &id.to_le_bytes());
                    device
                        .record(|recorder| {
                            let mut order = order.lock().unwrap();
                            let place = order.len() as u64 * 4;
                            recorder.copy_buffer(&own, 0, shared, 0, 4);
                            recorder.copy_buffer(shared, 0, log, place, 4);
                            order.push(id);
                        })
                        .unwrap();
                }
            });
        }
    });
    let bytes = block_on(read(&device, &log)).unwrap();
    let executed: Vec<u32> = bytes
        .chunks_exact(4)
        .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
        .collect();
    assert_eq!(executed, *order.lock().unwrap());
    assert!(device.queue_stats().max_in_flight_seen <= 2);
}

#[test]
fn submits_at_the_count_and_not_before() {
    let device = noop_with(DeviceOptions {
        submit_after: 3,
        ..Default::default()
    });
    let a = buffer(&device, &[9; 4]);
    for expected in [0, 0, 1, 1, 1, 2] {
        device
            .record(|recorder| recorder.clear_buffer(&a, 0, 4))
            .unwrap();
        assert_eq!(device.queue_stats().submissions, expected);
    }
    assert_eq!(device.queue_stats().copies, 6);
}

#[test]
fn pending_numbers_recorded_work_before_and_after_it_is_submitted() {
    let device = noop();
    let a = buffer(&device, &[9; 4]);
    assert_eq!(device.pending().number(), 0);
    let inside = device
        .record(|recorder| {
            recorder.clear_buffer(&a, 0, 4);
            recorder.submission()
        })
        .unwrap();
    assert_eq!(device.pending(), inside);
    assert_eq!(device.flush().unwrap(), inside);
    assert_eq!(device.pending(), inside);
    assert_eq!(inside.number(), 1);
}

#[test]
fn empty_work_records_nothing_and_completes() {
    let device = noop();
    let a = buffer(&device, &[9; 4]);
    device
        .record(|recorder| {
            recorder.clear_buffer(&a, 0, 0);
            recorder.copy_buffer(&a, 0, &a, 0, 0);
        })
        .unwrap();
    assert_eq!(device.flush().unwrap().number(), 0);
    assert_eq!(device.queue_stats(), Default::default());
    device.synchronize().wait().unwrap();
    device.completion(Submission::default()).wait().unwrap();
}

#[test]
fn a_number_taken_without_recording_waits_only_for_earlier_work() {
    let device = noop();
    let number = device.record(|recorder| recorder.submission()).unwrap();
    device.completion(number).wait().unwrap();
    block_on(device.completion(number)).unwrap();
}

#[test]
fn hooks_run_in_order_around_the_submission() {
    let device = noop();
    let a = buffer(&device, &[1; 4]);
    let uniform = buffer(&device, &[0; 4]);
    let b = buffer(&device, &[0; 4]);
    let events = Arc::new(Mutex::new(Vec::new()));
    let note = |text: &'static str| {
        let events = events.clone();
        move || events.lock().unwrap().push(text.to_owned())
    };
    device
        .record(|recorder| {
            let (first, second) = (note("after 1"), note("after 2"));
            recorder.after_submit(move |submission| {
                assert_eq!(submission.number(), 1);
                first();
            });
            recorder.after_submit(move |_| second());
            recorder.copy_buffer(&uniform, 0, &b, 0, 4);
            recorder.clear_buffer(&a, 0, 4);
            let (first, second, target) = (note("before 1"), note("before 2"), uniform.clone());
            recorder.before_submit(move |queue| {
                queue.write_buffer(&target, 0, &[7; 4]);
                first();
            });
            recorder.before_submit(move |_| second());
        })
        .unwrap();
    assert!(events.lock().unwrap().is_empty());
    device.flush().unwrap();
    assert_eq!(
        *events.lock().unwrap(),
        ["before 1", "before 2", "after 1", "after 2"]
    );
    assert_eq!(block_on(read(&device, &b)).unwrap(), [7; 4]);
}

#[test]
fn hooks_alone_are_worth_a_submission() {
    let device = noop();
    let slot = readable(&device, 4);
    let guard = device.callback_guard();
    let mapped = device
        .record(|recorder| map_after_submit(recorder, &slot))
        .unwrap();
    assert_eq!(device.flush().unwrap().number(), 1);
    assert!(block_on(mapped).unwrap());
    drop(guard);
}

#[test]
fn recording_within_a_recording_is_an_error_and_not_a_deadlock() {
    let device = noop();
    let within = device.record(|_| device.record(|_| ())).unwrap();
    assert_eq!(within, Err(DeviceError::Reentrant));
    let flush = device.record(|_| device.flush()).unwrap();
    assert_eq!(flush, Err(DeviceError::Reentrant));
    let awaited = device
        .record(|recorder| {
            let a = buffer(&device, &[0; 4]);
            recorder.clear_buffer(&a, 0, 4);
            block_on(device.completion(recorder.submission()))
        })
        .unwrap();
    assert_eq!(awaited, Err(DeviceError::Reentrant));
    device.record(|_| ()).unwrap();
}

#[test]
fn a_panic_while_recording_leaves_the_queue_usable() {
    let device = noop();
    let a = buffer(&device, &[1; 4]);
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _ = device.record(|_| panic!("on purpose"));
    }));
    assert!(panicked.is_err());
    device
        .record(|recorder| recorder.clear_buffer(&a, 0, 4))
        .unwrap();
    assert_eq!(block_on(read(&device, &a)).unwrap(), [0; 4]);
}

#[test]
fn a_dropped_completion_cancels_nothing() {
    let device = noop();
    let a = buffer(&device, &[1; 4]);
    device
        .record(|recorder| recorder.clear_buffer(&a, 0, 4))
        .unwrap();
    drop(device.completion(device.pending()));
    let mut polled = device.completion(device.pending());
    let waker = futures::task::noop_waker();
    let _ = Future::poll(
        std::pin::Pin::new(&mut polled),
        &mut std::task::Context::from_waker(&waker),
    );
    drop(polled);
    assert_eq!(
        device.queue_stats().submissions,
        1,
        "the first poll submits"
    );
    assert_eq!(block_on(read(&device, &a)).unwrap(), [0; 4]);
}

#[test]
fn a_map_registered_after_everything_finished_is_served_while_a_guard_lives() {
    let device = noop();
    device.synchronize().wait().unwrap();
    let slot = readable(&device, 4);
    for announce in [false, true] {
        let (sender, receiver) = futures::channel::oneshot::channel();
        let guard = device.callback_guard();
        std::thread::sleep(std::time::Duration::from_millis(5));
        slot.map_async(wgpu::MapMode::Read, .., move |result| {
            let _ = sender.send(result.is_ok());
        });
        if announce {
            guard.registered();
        }
        assert!(block_on(receiver).unwrap());
        slot.unmap();
    }
}

#[test]
fn work_recorded_before_the_last_handle_goes_is_still_done() {
    let device = noop();
    let (raw, queue) = (device.wgpu().clone(), device.wgpu_queue().clone());
    let a = buffer(&device, &[1; 4]);
    let slot = readable(&device, 4);
    device
        .record(|recorder| {
            recorder.clear_buffer(&a, 0, 4);
            recorder.copy_buffer(&a, 0, &slot, 0, 4);
        })
        .unwrap();
    drop(device);
    slot.map_async(wgpu::MapMode::Read, .., |result| result.unwrap());
    raw.poll(wgpu::PollType::wait_indefinitely()).unwrap();
    assert_eq!(slot.get_mapped_range(..).unwrap().to_vec(), [0; 4]);
    drop(queue);
}

#[test]
fn devices_come_and_go_with_their_threads() {
    for _ in 0..50 {
        let device = noop();
        let a = buffer(&device, &[1; 4]);
        device
            .record(|recorder| recorder.clear_buffer(&a, 0, 4))
            .unwrap();
        let done = device.synchronize();
        drop(device);
        done.wait().unwrap();
    }
}
