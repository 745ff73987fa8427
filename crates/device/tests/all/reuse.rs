//! Driver devices that are kept and opened again.

use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::common::{buffer, noop, read};
use ziggurat_device::{Device, DeviceError, DeviceOptions, Reuse, block_on};

/// A device that is kept, told apart from those of other tests by a limit.
fn open(limit: u64, reuse: Reuse) -> Device {
    let limits = wgpu::Limits {
        max_buffer_size: limit,
        ..wgpu::Limits::default()
    };
    let options = DeviceOptions {
        reuse,
        ..DeviceOptions::default()
    };
    Device::noop(options, Some(limits)).unwrap()
}

fn bytes(device: &Device, buffer: &wgpu::Buffer) -> Vec<u8> {
    block_on(read(device, buffer)).unwrap()
}

#[test]
fn a_dropped_device_is_opened_again_and_works() {
    let first = open(1 << 20, Reuse::Always);
    assert!(!first.is_reused());
    first.set_profiling(true);
    first.record(|_| ()).unwrap();
    drop(first);
    let again = open(1 << 20, Reuse::Always);
    assert!(again.is_reused());
    assert_eq!(again.queue_stats().submissions, 0, "everything else is new");
    let memory = buffer(&again, &[9; 16]);
    again
        .record(|recorder| recorder.clear_buffer(&memory, 0, 16))
        .unwrap();
    assert_eq!(bytes(&again, &memory), [0; 16]);
    assert!(!open(1 << 20, Reuse::Always).is_reused(), "it is in use");
}

#[test]
fn work_recorded_before_the_drop_is_done_for_the_next_user() {
    let first = open(1 << 21, Reuse::Always);
    let memory = buffer(&first, &[7; 16]);
    first
        .record(|recorder| recorder.clear_buffer(&memory, 0, 8))
        .unwrap();
    drop(first);
    let again = open(1 << 21, Reuse::Always);
    assert_eq!(bytes(&again, &memory), [[0; 8], [7; 8]].concat());
}

#[test]
fn only_an_equal_wish_gets_a_kept_device() {
    drop(open(1 << 22, Reuse::Always));
    assert!(!open(1 << 23, Reuse::Always).is_reused(), "limits");
    assert!(!open(1 << 22, Reuse::Never).is_reused());
    let options = DeviceOptions {
        reuse: Reuse::Always,
        timestamps: false,
        ..DeviceOptions::default()
    };
    let limits = wgpu::Limits {
        max_buffer_size: 1 << 22,
        ..wgpu::Limits::default()
    };
    let other = Device::noop(options, Some(limits)).unwrap();
    assert!(!other.is_reused(), "features");
    assert!(open(1 << 22, Reuse::Always).is_reused());
}

#[test]
fn a_failed_device_is_not_opened_again() {
    for (limit, destroy) in [(1 << 24, true), (1 << 25, false)] {
        let first = open(limit, Reuse::Always);
        if destroy {
            first.destroy();
        } else {
            first.poison(DeviceError::Poisoned {
                message: "test".to_owned(),
            });
        }
        drop(first);
        let next = open(limit, Reuse::Always);
        assert!(!next.is_reused());
        next.status().unwrap();
    }
}

#[test]
fn a_device_that_fails_while_nobody_uses_it_is_not_opened_again() {
    let first = open(1 << 26, Reuse::Always);
    let driver = first.wgpu().clone();
    drop(first);
    // A mistake of somebody who still has wgpu's handle.
    let _invalid = driver.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: 1 << 40,
        usage: wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    let next = open(1 << 26, Reuse::Always);
    assert!(!next.is_reused());
    next.status().unwrap();
}

#[test]
fn a_device_that_is_destroyed_while_nobody_uses_it_is_not_opened_again() {
    let first = open(1 << 28, Reuse::Always);
    let driver = first.wgpu().clone();
    drop(first);
    driver.destroy();
    let next = open(1 << 28, Reuse::Always);
    assert!(!next.is_reused());
    let memory = buffer(&next, &[5; 16]);
    assert_eq!(bytes(&next, &memory), [5; 16]);
}

#[test]
fn devices_that_are_open_at_the_same_time_are_different_ones() {
    const THREADS: usize = 8;
    let reused = || {
        let (open_now, count) = (Barrier::new(THREADS), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    let device = open(1 << 27, Reuse::Always);
                    count.fetch_add(usize::from(device.is_reused()), Ordering::Relaxed);
                    device.record(|_| ()).unwrap();
                    device.synchronize().wait().unwrap();
                    open_now.wait();
                });
            }
        });
        count.load(Ordering::Relaxed)
    };
    assert_eq!(reused(), 0, "as many are made as are open");
    for _ in 0..20 {
        assert_eq!(reused(), THREADS, "and then all of them are opened again");
    }
}

#[test]
fn devices_are_not_kept_unless_the_driver_needs_it_or_the_options_say_so() {
    drop(noop());
    assert!(!noop().is_reused());
    assert_eq!(noop().options().reuse, Reuse::Auto);
}
