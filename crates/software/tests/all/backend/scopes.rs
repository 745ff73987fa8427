//! Error scopes and the handler of what they do not catch.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use futures::executor::block_on;
use parking_lot::Mutex;
use wgpu::{BufferUsages as U, ErrorFilter};

use super::support::plain;

#[test]
fn a_scope_keeps_the_first_error_of_its_kind() {
    let gpu = plain();
    let scope = gpu.device.push_error_scope(ErrorFilter::Validation);
    gpu.buffer(4, U::empty());
    gpu.storage(1 << 40);
    let error = block_on(scope.pop()).unwrap();
    assert!(
        super::DRIVER || error.to_string().contains("is empty"),
        "{error}"
    );
    let scope = gpu.device.push_error_scope(ErrorFilter::Validation);
    assert!(block_on(scope.pop()).is_none());
}

#[test]
fn the_inner_scope_catches_before_the_outer_one() {
    let gpu = plain();
    let outer = gpu.device.push_error_scope(ErrorFilter::Validation);
    let inner = gpu.device.push_error_scope(ErrorFilter::Validation);
    gpu.buffer(4, U::empty());
    assert!(block_on(inner.pop()).is_some());
    assert!(block_on(outer.pop()).is_none());
}

#[test]
fn scopes_catch_only_what_their_own_thread_causes() {
    let gpu = plain();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&seen);
    gpu.device
        .on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
            sink.lock().push(error.to_string());
        }));
    let scope = gpu.device.push_error_scope(ErrorFilter::Validation);
    std::thread::scope(|threads| {
        threads.spawn(|| gpu.buffer(4, U::empty()));
    });
    assert!(block_on(scope.pop()).is_none());
    assert_eq!(seen.lock().len(), 1);
}

#[test]
fn a_handler_sees_what_no_scope_catches_and_may_use_the_device() {
    let gpu = plain();
    let seen = Arc::new(Mutex::new(0));
    let (sink, device) = (Arc::clone(&seen), gpu.device.clone());
    gpu.device
        .on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
            assert!(matches!(error, wgpu::Error::Validation { .. }));
            let scope = device.push_error_scope(ErrorFilter::Validation);
            assert!(block_on(scope.pop()).is_none());
            *sink.lock() += 1;
        }));
    gpu.buffer(4, U::empty());
    let scope = gpu.device.push_error_scope(ErrorFilter::Validation);
    gpu.buffer(4, U::empty());
    assert!(block_on(scope.pop()).is_some());
    assert_eq!(*seen.lock(), 1);
}

#[test]
fn without_a_handler_an_uncaught_error_panics_as_in_wgpu() {
    let gpu = plain();
    let caught = catch_unwind(AssertUnwindSafe(|| gpu.buffer(4, U::empty())));
    let message = *caught.unwrap_err().downcast::<String>().unwrap();
    assert!(message.starts_with("wgpu error: "), "{message}");
}
