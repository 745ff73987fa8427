//! Who is woken, and when a wait is over.

#![allow(clippy::unwrap_used, reason = "tests")]
use super::*;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::task::Wake;

struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn lost() -> DeviceError {
    DeviceError::Lost {
        reason: crate::LostReason::Unknown,
        message: "gone".into(),
    }
}

#[test]
fn completion_wakes_only_those_who_wait_for_it_or_for_less() {
    let shared = Shared::default();
    let count = Arc::new(Count(AtomicUsize::new(0)));
    let waker = Waker::from(count.clone());
    for id in [1, 2, 2, 3, u64::MAX] {
        shared.state.lock().register(id, None, &waker);
    }
    shared.complete(2);
    assert_eq!(count.0.load(Ordering::SeqCst), 0, "not inside the callback");
    shared.wake_ready();
    assert_eq!(count.0.load(Ordering::SeqCst), 3);
    assert_eq!(shared.state.lock().waiting(), 2);
}

#[test]
fn a_failure_wakes_everybody_and_the_first_one_is_kept() {
    let shared = Shared::default();
    let count = Arc::new(Count(AtomicUsize::new(0)));
    let waker = Waker::from(count.clone());
    shared.state.lock().register(5, None, &waker);
    shared.fail(lost());
    shared.fail(DeviceError::Reentrant);
    shared.wake_ready();
    assert_eq!(count.0.load(Ordering::SeqCst), 1);
    assert_eq!(shared.status(), Err(lost()));
}

#[test]
fn polling_again_replaces_the_waker_instead_of_adding_one() {
    let shared = Shared::default();
    let waker = Waker::from(Arc::new(Count(AtomicUsize::new(0))));
    let mut state = shared.state.lock();
    let key = state.register(1, None, &waker);
    assert_eq!(state.register(1, Some(key), &waker), key);
    assert_eq!(state.waiting(), 1);
    assert!(state.forget(1, key).is_some());
    assert_eq!(state.waiting(), 0);
}

#[cfg(not(target_arch = "wasm32"))]
#[test]
fn a_full_queue_blocks_until_the_oldest_submission_is_done() {
    let device = crate::Device::noop(crate::DeviceOptions::default(), None).unwrap();
    let index = || device.wgpu_queue().submit([]);
    let shared = Shared::default();
    shared.submitted(1, index());
    shared.wait_for_room(2);
    shared.submitted(2, index());
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            shared.wait_for_room(2);
            sender.send(shared.in_flight()).unwrap();
        });
        let pause = std::time::Duration::from_millis(30);
        assert!(receiver.recv_timeout(pause).is_err(), "it must wait");
        shared.complete(1);
        assert_eq!(receiver.recv().unwrap(), 1);
    });
    assert_eq!(shared.state.lock().max_in_flight_seen, 2);
}

#[cfg(not(target_arch = "wasm32"))]
#[test]
fn a_failure_ends_the_wait_for_room_and_for_completion() {
    let device = crate::Device::noop(crate::DeviceOptions::default(), None).unwrap();
    let shared = Shared::default();
    shared.submitted(1, device.wgpu_queue().submit([]));
    std::thread::scope(|scope| {
        let room = scope.spawn(|| shared.wait_for_room(1));
        let done = scope.spawn(|| shared.wait(1));
        shared.fail(lost());
        room.join().unwrap();
        assert_eq!(done.join().unwrap(), Err(lost()));
    });
}

#[cfg(not(target_arch = "wasm32"))]
#[test]
fn a_completion_that_comes_before_its_registration_leaves_nothing_in_flight() {
    let device = crate::Device::noop(crate::DeviceOptions::default(), None).unwrap();
    let shared = Shared::default();
    let index = device.wgpu_queue().submit([]);
    shared.complete(1);
    shared.submitted(1, index);
    assert_eq!(shared.in_flight(), 0);
}
