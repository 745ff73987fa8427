//! Devices opened, used and dropped on many threads that come and go.
//!
//! Drivers keep data per thread and threads per device, and meet both when a thread exits while a device closes.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use std::thread;

use ziggurat_tensor::{Device, DeviceOptions, Reuse, Tensor};

/// Threads alive at a time.
const THREADS: usize = 8;
/// Threads one after the other, each with a device of its own.
const ROUNDS: usize = 8;

fn options(reuse: Reuse) -> DeviceOptions {
    DeviceOptions {
        reuse,
        ..DeviceOptions::default()
    }
}

/// Compiles, computes and reads; the device closes with the last tensor.
fn use_one(reuse: Reuse, number: usize) {
    let device = Device::open_blocking(options(reuse)).unwrap();
    let values: Vec<f32> = (0..1000_u16).map(f32::from).collect();
    let a = Tensor::from_slice(&device, &values, [1000]).unwrap();
    drop(device);
    let sum = if number.is_multiple_of(2) {
        a.mul(&a).unwrap().sqrt().unwrap().sum_all().unwrap()
    } else {
        a.add(1.0).unwrap().sub(1.0).unwrap().sum_all().unwrap()
    };
    drop(a);
    assert_eq!(sum.to_vec_blocking::<f32>().unwrap(), [499_500.0]);
}

fn come_and_go(reuse: Reuse) {
    thread::scope(|scope| {
        for first in 0..THREADS {
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    // A new thread each time: what matters is that it exits.
                    thread::spawn(move || use_one(reuse, first + round))
                        .join()
                        .unwrap();
                }
            });
        }
    });
}

#[test]
fn threads_come_and_go_with_devices_of_their_own() {
    come_and_go(Reuse::Auto);
}

#[test]
fn threads_come_and_go_with_devices_that_are_kept() {
    come_and_go(Reuse::Always);
    let device = Device::open_blocking(options(Reuse::Always)).unwrap();
    assert!(device.executor().device().is_reused());
}

#[test]
fn threads_that_use_a_shared_device_exit_while_others_close() {
    let device = common::device();
    let one = Tensor::from_slice(&device, &[1.0_f32; 64], [64]).unwrap();
    for round in 0..ROUNDS {
        thread::scope(|scope| {
            for number in 0..THREADS {
                let one = &one;
                scope.spawn(move || {
                    if number.is_multiple_of(2) {
                        use_one(Reuse::Auto, round);
                    } else {
                        let two = one.add(one).unwrap();
                        assert_eq!(two.to_vec_blocking::<f32>().unwrap(), [2.0; 64]);
                    }
                });
            }
        });
    }
}
