//! Lost and poisoned devices on the noop backend: every failure is a value.

use crate::common::{buffer, map_after_submit, noop, noop_with, read, readable};
use ziggurat_device::{DeviceError, DeviceOptions, LostReason, block_on};

fn is_destroyed(error: &DeviceError) -> bool {
    matches!(
        error,
        DeviceError::Lost {
            reason: LostReason::Destroyed,
            ..
        }
    )
}

#[test]
fn destroying_with_work_in_the_queue_resolves_everything_with_lost() {
    let device = noop();
    let a = buffer(&device, &[1; 4]);
    let slot = readable(&device, 4);
    let mapped = device
        .record(|recorder| {
            recorder.copy_buffer(&a, 0, &slot, 0, 4);
            map_after_submit(recorder, &slot)
        })
        .unwrap();
    let unpolled = device.completion(device.pending());
    let failure = device.failure();
    let waiting = std::thread::spawn(move || block_on(failure));
    std::thread::sleep(std::time::Duration::from_millis(5));

    device.destroy();

    assert!(is_destroyed(&waiting.join().unwrap()));
    assert!(is_destroyed(&block_on(unpolled).unwrap_err()));
    assert!(block_on(mapped).is_err(), "its hook was dropped, not run");
    assert!(is_destroyed(&device.status().unwrap_err()));
    assert!(is_destroyed(&device.record(|_| ()).unwrap_err()));
    assert!(is_destroyed(&device.flush().unwrap_err()));
    assert!(is_destroyed(&device.synchronize().wait().unwrap_err()));
    assert!(is_destroyed(&block_on(device.synchronize()).unwrap_err()));
    assert!(is_destroyed(&block_on(device.take_profile()).unwrap_err()));
    assert_eq!(device.queue_stats().submissions, 0);
    device.destroy();
}

#[test]
fn a_map_that_is_under_way_when_the_device_is_destroyed_is_answered() {
    let device = noop();
    let slot = readable(&device, 4);
    let guard = device.callback_guard();
    let mapped = device
        .record(|recorder| map_after_submit(recorder, &slot))
        .unwrap();
    device.flush().unwrap();
    device.destroy();
    // Served or refused, but answered.
    assert!(block_on(mapped).is_ok());
    drop(guard);
}

#[test]
fn a_validation_error_poisons_the_device_with_the_first_message() {
    for validation in [false, true] {
        let device = noop_with(DeviceOptions {
            validation,
            ..Default::default()
        });
        let a = buffer(&device, &[1; 8]);
        let earlier = device.completion(device.pending());
        device
            .record(|recorder| recorder.clear_buffer(&a, 1, 4))
            .unwrap();
        let error = device.flush().unwrap_err();
        let DeviceError::Poisoned { message } = &error else {
            panic!("{error}");
        };
        assert!(
            message.contains("Buffer offset 1 is not a multiple"),
            "{message}"
        );
        assert_eq!(message.starts_with("submission 1"), validation, "{message}");

        assert_eq!(device.record(|_| ()).unwrap_err(), error);
        assert_eq!(block_on(earlier).unwrap_err(), error);
        assert_eq!(block_on(device.synchronize()).unwrap_err(), error);
        assert_eq!(block_on(read(&device, &a)).unwrap_err(), error);
    }
}

#[test]
fn the_record_that_submits_bad_work_reports_it() {
    let device = noop_with(DeviceOptions {
        submit_after: 1,
        ..Default::default()
    });
    let a = buffer(&device, &[1; 8]);
    let result = device.record(|recorder| recorder.clear_buffer(&a, 1, 4));
    assert!(matches!(result, Err(DeviceError::Poisoned { .. })));
}

#[test]
fn an_uncaught_error_outside_the_queue_poisons_too() {
    let device = noop();
    let a = buffer(&device, &[1; 4]);
    device
        .record(|recorder| recorder.clear_buffer(&a, 0, 4))
        .unwrap();
    let done = device.completion(device.pending());
    let buffer = device.wgpu().create_buffer(&wgpu::BufferDescriptor {
        label: Some("too large"),
        size: u64::MAX,
        usage: wgpu::BufferUsages::STORAGE,
        mapped_at_creation: false,
    });
    drop(buffer);
    let error = device.status().unwrap_err();
    assert!(error.to_string().contains("too large"), "{error}");
    assert_eq!(block_on(done).unwrap_err(), error);
}

#[test]
fn a_caught_error_does_not_poison() {
    let device = noop();
    let scope = device
        .wgpu()
        .push_error_scope(wgpu::ErrorFilter::Validation);
    let buffer = device.wgpu().create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: u64::MAX,
        usage: wgpu::BufferUsages::STORAGE,
        mapped_at_creation: false,
    });
    drop(buffer);
    assert!(block_on(scope.pop()).is_some());
    device.status().unwrap();
}

#[test]
fn the_first_of_several_failures_is_kept() {
    let device = noop();
    let first = DeviceError::Poisoned {
        message: "first".to_owned(),
    };
    device.poison(first.clone());
    device.poison(DeviceError::Poisoned {
        message: "second".to_owned(),
    });
    device.destroy();
    assert_eq!(device.status().unwrap_err(), first);
}

#[test]
fn poison_from_within_a_recording_throws_the_batch_away() {
    let device = noop();
    let a = buffer(&device, &[1; 4]);
    let (sender, receiver) = futures::channel::oneshot::channel::<()>();
    let result = device.record(|recorder| {
        recorder.clear_buffer(&a, 0, 4);
        recorder.after_submit(move |_| {
            let _ = sender.send(());
        });
        device.poison(DeviceError::Poisoned {
            message: "now".to_owned(),
        });
    });
    assert!(result.is_err());
    assert!(block_on(receiver).is_err(), "hook dropped, not run");
    assert_eq!(device.queue_stats().submissions, 0);
}
