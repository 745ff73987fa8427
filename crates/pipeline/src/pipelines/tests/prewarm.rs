//! Kernels made ahead of their use.

use std::sync::Arc;

use parking_lot::Mutex;

use super::{add, open};
use crate::{KernelDescriptor, Pipelines, ShaderSource, Trace};

fn list(count: u32) -> Vec<KernelDescriptor> {
    (1..=count)
        .map(|wg| add().constant("WG", f64::from(wg)))
        .collect()
}

fn bad() -> KernelDescriptor {
    KernelDescriptor::new(ShaderSource::wgsl("bad", "fn"))
}

#[test]
fn every_kernel_is_made_once_and_reported_once_in_order() {
    let pipelines = open();
    pipelines.kernel(&add().constant("WG", 1.0)).unwrap();
    let steps = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&steps);
    let mut kernels = list(20);
    kernels.insert(7, bad());
    kernels.extend(list(5));
    let result = pipelines
        .prewarm(kernels, move |step| {
            let entry = (step.done, step.total, step.error.is_some());
            told.lock().push((step.kernel.to_owned(), entry));
        })
        .wait();
    assert_eq!((result.created, result.found), (19, 1));
    assert_eq!(result.failed.len(), 1);
    assert_eq!(result.failed[0].0, "bad");
    let steps = steps.lock();
    let counts: Vec<usize> = steps.iter().map(|(_, (done, ..))| *done).collect();
    assert_eq!(counts, (1..=21).collect::<Vec<_>>());
    assert!(steps.iter().all(|(_, (_, total, _))| *total == 21));
    let failed: Vec<&str> = steps
        .iter()
        .filter(|(_, (.., failed))| *failed)
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(failed, ["bad"]);
    let stats = pipelines.stats();
    assert_eq!((stats.entries, stats.misses), (20, 21));
}

#[test]
fn threads_that_ask_meanwhile_share_the_creation() {
    let pipelines = open();
    let prewarm = pipelines.prewarm(list(30), |_| {});
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for descriptor in list(30).iter().rev() {
                    pipelines.kernel(descriptor).unwrap();
                }
            });
        }
    });
    let result = prewarm.wait();
    assert_eq!(result.created + result.found, 30);
    assert_eq!(pipelines.stats().misses, 30, "one creation per kernel");
}

#[test]
fn nothing_to_do_resolves_at_once() {
    let result = open().prewarm([], |_| {}).wait();
    assert_eq!((result.created, result.found), (0, 0));
}

#[test]
fn a_dropped_prewarm_stops_and_a_detached_one_goes_on() {
    let pipelines = open();
    // The first kernel's report waits until the future is gone.
    let (dropped, wait) = std::sync::mpsc::channel::<()>();
    let prewarm = pipelines.prewarm(list(100), move |_| {
        let _ = wait.recv();
    });
    drop(prewarm);
    drop(dropped);
    let left = gone(&pipelines);
    assert!(left < 100, "all {left} were compiled");

    pipelines.prewarm(list(40), |_| {}).detach();
    gone(&pipelines);
    assert!(pipelines.stats().entries >= 40);
}

/// Waits until no worker holds the pipelines any more; returns the number of kernels.
fn gone(pipelines: &Pipelines) -> usize {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while Arc::strong_count(&pipelines.inner) > 1 {
        assert!(std::time::Instant::now() < deadline, "workers stay");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    pipelines.stats().entries
}

#[test]
fn a_panicking_callback_hangs_nobody() {
    let pipelines = open();
    let result = pipelines
        .prewarm(list(3), |step| assert!(step.done > 3, "on purpose"))
        .wait();
    assert_eq!(result.created, 3);
}

#[test]
fn a_trace_replays_in_another_device() {
    let first = open();
    for descriptor in list(5) {
        first.kernel(&descriptor).unwrap();
    }
    let text = first.trace().to_text();
    let second = open();
    let result = second
        .prewarm_trace(&Trace::from_text(&text).unwrap(), |_| {})
        .wait();
    assert_eq!((result.created, result.failed.len()), (5, 0));
    for descriptor in list(5) {
        second.kernel(&descriptor).unwrap();
    }
    assert_eq!(second.stats().misses, 5, "nothing was compiled twice");
    assert_eq!(second.trace(), first.trace());
}
