//! Wakers are foreign code: whatever they do, others are woken and the device works.
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::task::{Wake, Waker};
use std::time::Duration;

use crate::common::{buffer, noop, read};
use ziggurat_device::{Device, DeviceError, block_on};

const SOON: Duration = Duration::from_secs(20);

/// A waker that does something.
struct Does<F: Fn() + Send + Sync>(F);

impl<F: Fn() + Send + Sync> Wake for Does<F> {
    fn wake(self: Arc<Self>) {
        (self.0)();
    }
}

fn waker(f: impl Fn() + Send + Sync + 'static) -> Waker {
    Waker::from(Arc::new(Does(f)))
}

fn telling() -> (Waker, Receiver<()>) {
    let (sender, receiver) = channel();
    let sender: Mutex<Sender<()>> = Mutex::new(sender);
    let tell = move || sender.lock().unwrap().send(()).unwrap();
    (waker(tell), receiver)
}

fn works(device: &Device) {
    device.status().unwrap();
    let memory = buffer(device, &[3; 4]);
    assert_eq!(block_on(read(device, &memory)).unwrap(), [3; 4]);
}

#[test]
fn a_waker_that_panics_is_caught_and_those_after_it_are_called() {
    let device = noop();
    let (last, told) = telling();
    for _ in 0..5 {
        device.wake_soon(waker(|| panic!("a waker that panics")));
    }
    device.wake_soon(last);
    told.recv_timeout(SOON).unwrap();
    works(&device);
}

#[test]
fn wakers_that_take_long_do_not_hold_up_others() {
    let device = noop();
    let release = Arc::new(Mutex::new(()));
    let held = release.lock().unwrap();
    let (started, starts) = channel();
    for _ in 0..8 {
        let (release, started) = (Arc::clone(&release), Mutex::new(started.clone()));
        device.wake_soon(waker(move || {
            started.lock().unwrap().send(()).unwrap();
            drop(release.lock());
        }));
        starts.recv_timeout(SOON).unwrap();
        // It is being called, and takes its time.
        let (other, told) = telling();
        device.wake_soon(other);
        told.recv_timeout(SOON).unwrap();
        works(&device);
    }
    drop(held);
}

#[test]
fn a_waker_may_open_a_device_and_wait_for_its_own() {
    let device = noop();
    let (sender, receiver) = channel();
    let sender = Mutex::new(sender);
    let own = device.clone();
    device.wake_soon(waker(move || {
        let another = noop();
        works(&another);
        own.synchronize().wait().unwrap();
        works(&own);
        sender.lock().unwrap().send(()).unwrap();
    }));
    receiver.recv_timeout(SOON).unwrap();
    works(&device);
}

#[test]
fn a_waker_may_drop_the_last_handle_of_the_device() {
    for _ in 0..50 {
        let device = noop();
        let (sender, receiver) = channel();
        let (sender, last) = (Mutex::new(sender), Mutex::new(None));
        let last = Arc::new(last);
        let own = Arc::clone(&last);
        let drops = waker(move || {
            drop(own.lock().unwrap().take());
            sender.lock().unwrap().send(()).unwrap();
        });
        let mut slot = last.lock().unwrap();
        device.wake_soon(drops);
        *slot = Some(device);
        drop(slot);
        receiver.recv_timeout(SOON).unwrap();
    }
}

#[test]
fn a_blocked_thread_does_not_call_the_wakers_of_others() {
    let device = noop();
    let me = std::thread::current().id();
    let (sender, receiver) = channel();
    for _ in 0..50 {
        let sender = Mutex::new(sender.clone());
        device.wake_soon(waker(move || {
            let elsewhere = std::thread::current().id() != me;
            sender.lock().unwrap().send(elsewhere).unwrap();
        }));
        device.synchronize().wait().unwrap();
        works(&device);
    }
    for _ in 0..50 {
        assert!(receiver.recv_timeout(SOON).unwrap());
    }
}

#[test]
fn a_profile_that_is_polled_again_is_an_error() {
    let device = noop();
    let mut profile = device.take_profile();
    block_on(&mut profile).unwrap();
    assert_eq!(block_on(&mut profile), Err(DeviceError::Finished));
    let mut whole = device.finish_profile();
    block_on(&mut whole).unwrap();
    assert!(matches!(block_on(&mut whole), Err(DeviceError::Finished)));
    let mut done = device.synchronize();
    for _ in 0..3 {
        block_on(&mut done).unwrap();
    }
}
