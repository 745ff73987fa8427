//! Kernels compiled by workers while their caller goes on.

use crate::error::LimitError;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use ziggurat_device::DeviceError;

use super::super::creation::Hook;
use super::*;

/// Lets compiling begin, and counts how many do so.
#[derive(Default)]
struct Gate {
    state: Mutex<(usize, bool)>,
    changed: Condvar,
}

impl Gate {
    fn close(pipelines: &Pipelines) -> Arc<Self> {
        let gate = Arc::new(Self::default());
        let inside = Arc::clone(&gate);
        set(pipelines, move |_| {
            let mut state = inside.state.lock();
            state.0 += 1;
            inside.changed.notify_all();
            while !state.1 {
                inside.changed.wait(&mut state);
            }
            Ok(())
        });
        gate
    }

    fn open(&self) {
        self.state.lock().1 = true;
        self.changed.notify_all();
    }

    /// Waits until so many kernels are being compiled at the same time; false if that does not happen.
    fn reached(&self, count: usize) -> bool {
        let mut state = self.state.lock();
        while state.0 < count {
            let wait = Duration::from_secs(20);
            if self.changed.wait_for(&mut state, wait).timed_out() {
                return false;
            }
        }
        true
    }
}

fn set(
    pipelines: &Pipelines,
    hook: impl Fn(&KernelDescriptor) -> Result<(), String> + Send + Sync + 'static,
) {
    *pipelines.inner.before_compile.lock() = Some(Hook(Arc::new(hook)));
}

fn kernel(pipelines: &Pipelines, wg: u32) -> Result<Kernel, PipelineError> {
    let make = || add().constant("WG", f64::from(wg));
    pipelines.kernel_for(&KernelKey::new("add").number(u64::from(wg)), make)
}

fn run(pipelines: &Pipelines, kernel: &Kernel) -> Result<(), PipelineError> {
    run_on(pipelines, kernel, &[0; 3].map(|_| buffer(pipelines, 64)))
}

fn run_on(
    pipelines: &Pipelines,
    kernel: &Kernel,
    [a, b, out]: &[Buffer; 3],
) -> Result<(), PipelineError> {
    let args = [Arg::read(a), Arg::read(b), Arg::write(out)];
    pipelines.dispatch(kernel, &args, &PARAMS, Grid::elements(16, 1))
}

#[test]
fn recording_goes_on_while_several_kernels_are_compiled_at_once() {
    let pipelines = open();
    let gate = Gate::close(&pipelines);
    for wg in [8, 16, 32] {
        let kernel = kernel(&pipelines, wg).unwrap();
        assert!(!kernel.is_compiled());
        run(&pipelines, &kernel).unwrap();
        run(&pipelines, &kernel).unwrap();
    }
    assert_eq!(pipelines.stats().dispatches, 6);
    let cores = thread::available_parallelism().unwrap().get();
    assert!(gate.reached(cores.min(3)), "they must run side by side");
    assert_eq!(pipelines.device().queue_stats().submissions, 0);
    gate.open();
    pipelines.device().synchronize().wait().unwrap();
    assert_eq!(pipelines.device().queue_stats().submissions, 1);
    assert!(kernel(&pipelines, 8).unwrap().is_compiled());
    let stats = pipelines.stats();
    assert_eq!((stats.misses, stats.entries), (3, 3));
    assert!(stats.compile_time_ns > 0);
}

#[test]
fn asking_for_a_compiled_kernel_waits_for_the_worker_that_has_it() {
    let pipelines = open();
    let gate = Gate::close(&pipelines);
    let soon = kernel(&pipelines, 8).unwrap();
    thread::scope(|scope| {
        let asked = scope.spawn(|| pipelines.kernel(&add().constant("WG", 8.0)).unwrap());
        let warmed = pipelines.prewarm([add().constant("WG", 8.0)], |_| {});
        thread::sleep(Duration::from_millis(50));
        assert!(!asked.is_finished());
        gate.open();
        let asked = asked.join().unwrap();
        assert!(asked.is_compiled() && asked.same(&soon));
        assert_eq!(warmed.wait().found, 1);
    });
    assert_eq!(pipelines.stats().misses, 1);
}

#[test]
fn what_reading_finds_is_told_at_once_and_harms_nothing() {
    let pipelines = open();
    let error = kernel(&pipelines, 4096).unwrap_err();
    assert!(
        matches!(
            error,
            PipelineError::Limit(LimitError::WorkgroupTooLarge { .. })
        ),
        "{error}"
    );
    let bad = KernelDescriptor::new(ShaderSource::wgsl("bad", "fn"));
    pipelines
        .kernel_for(&KernelKey::new("bad"), || bad)
        .unwrap_err();
    pipelines.device().status().unwrap();
    assert_eq!(pipelines.stats().entries, 0);
}

#[test]
fn a_late_refusal_fails_what_was_recorded_and_names_the_kernel() {
    let pipelines = open();
    set(&pipelines, |_| {
        thread::sleep(Duration::from_millis(30));
        Err("the driver says no".to_owned())
    });
    let kernel = kernel(&pipelines, 8).unwrap();
    let buffers = [0; 3].map(|_| buffer(&pipelines, 64));
    run_on(&pipelines, &kernel, &buffers).unwrap();
    let read = pipelines.memory().read(&buffers[2], 0..64);
    let error = pipelines.device().synchronize().wait().unwrap_err();
    let expected = DeviceError::Kernel {
        kernel: "add".to_owned(),
        message: "the driver says no".to_owned(),
    };
    assert_eq!(error, expected);
    assert!(read.is_err() || ziggurat_device::block_on(read.unwrap()).is_err());
    let error = run_on(&pipelines, &kernel, &buffers).unwrap_err();
    assert!(
        matches!(&error, PipelineError::Compile { kernel, message, .. }
            if kernel == "add" && message == "the driver says no"),
        "{error}"
    );
}

#[test]
fn a_refusal_known_before_anything_was_recorded_is_an_error_of_the_dispatch() {
    let pipelines = open();
    set(&pipelines, |_| Err("not today".to_owned()));
    let made = kernel(&pipelines, 8).unwrap();
    made.wait().unwrap_err();
    run(&pipelines, &made).unwrap_err();
    pipelines.device().status().unwrap();
    // Forgotten: the next caller tries again.
    assert_eq!(pipelines.stats().entries, 0);
    set(&pipelines, |_| Ok(()));
    let again = kernel(&pipelines, 8).unwrap();
    run(&pipelines, &again).unwrap();
    pipelines.device().synchronize().wait().unwrap();
}

#[test]
fn a_compiler_that_panics_leaves_nobody_waiting() {
    let pipelines = open();
    set(&pipelines, |_| std::panic::resume_unwind(Box::new(())));
    let made = kernel(&pipelines, 8).unwrap();
    run(&pipelines, &made).unwrap_or_default();
    made.wait().unwrap_err();
    let others = pipelines.kernel_for(&KernelKey::new("other"), || add().constant("WG", 4.0));
    set(&pipelines, |_| Ok(()));
    drop(others);
}

#[test]
fn a_tape_may_hold_kernels_that_are_being_compiled() {
    let pipelines = open();
    let gate = Gate::close(&pipelines);
    let taping = pipelines.taping();
    let kernel = kernel(&taping, 8).unwrap();
    run(&taping, &kernel).unwrap();
    let tape = taping.take_tape().unwrap();
    tape.replay().unwrap();
    assert_eq!(pipelines.device().queue_stats().submissions, 0);
    gate.open();
    pipelines.device().synchronize().wait().unwrap();
    tape.replay().unwrap();
    assert_eq!(pipelines.device().queue_stats().dispatches, 2);
}

#[test]
fn the_last_handle_waits_for_the_workers() {
    let pipelines = open();
    let gate = Gate::close(&pipelines);
    let kernel = kernel(&pipelines, 8).unwrap();
    run(&pipelines, &kernel).unwrap();
    thread::scope(|scope| {
        let dropped = scope.spawn(move || drop(pipelines));
        thread::sleep(Duration::from_millis(50));
        assert!(!dropped.is_finished());
        gate.open();
        dropped.join().unwrap();
    });
    assert!(kernel.is_compiled());
}
