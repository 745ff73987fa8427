//! Watching a program: who is told of each operation that runs, with what it reads and writes.
//!
//! A device has at most one [`Watcher`]: the search for NaNs ([`Device::trace_nan`]) or a
//! recording ([`Device::record_calls`]). While there is one, operations run one by one when they are called, and everything that gives
//! a tensor its values goes through [`operation`].
//!
//! Invariants: while nobody watches, an operation pays one relaxed load; a watcher never changes a result, nor whether a
//! call is an error.

#[cfg(not(target_arch = "wasm32"))]
mod compare;
#[cfg(not(target_arch = "wasm32"))]
mod files;
mod nan;
mod place;
#[cfg(not(target_arch = "wasm32"))]
mod record;
#[cfg(not(target_arch = "wasm32"))]
mod replay;
mod seen;

use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use parking_lot::Mutex;
use ziggurat_kernels::{Call, FusedOp, View};
use ziggurat_pipeline::{DispatchObserver, observe_dispatches};

use crate::{Device, Error};

pub use nan::{NanReport, NanTrace, NonFinite};
#[cfg(not(target_arch = "wasm32"))]
pub use record::CallRecording;
#[cfg(not(target_arch = "wasm32"))]
pub use replay::{
    Accuracy, CallDifference, CallNotRun, RecordedCalls, ReplayOptions, ReplayReport,
};

/// How operations run while they are watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Mode {
    /// Nobody watches.
    Off = 0,
    /// One by one, to be traced.
    Traced = 1,
    /// One by one, to be written down.
    #[cfg_attr(
        target_arch = "wasm32",
        allow(dead_code, reason = "recordings are files")
    )]
    Recorded = 2,
    /// Fused as always, to be written down.
    #[cfg_attr(
        target_arch = "wasm32",
        allow(dead_code, reason = "recordings are files")
    )]
    RecordedFused = 3,
}

/// What is computed.
#[cfg_attr(
    target_arch = "wasm32",
    allow(dead_code, reason = "recordings are files")
)]
#[derive(Clone, Copy, Debug)]
pub(crate) enum What<'a> {
    /// An elementwise op by its own kernel.
    Elementwise(FusedOp),
    /// A call of operands in memory.
    Call(&'a Call),
    /// Whatever is dispatched.
    Dispatches,
    /// A captured computation.
    Replay,
}

/// An operation that is about to run.
#[derive(Clone, Debug)]
pub(crate) struct Operation<'a> {
    pub(crate) name: Cow<'a, str>,
    #[cfg_attr(
        target_arch = "wasm32",
        allow(dead_code, reason = "recordings are files")
    )]
    pub(crate) what: What<'a>,
    /// What it reads, each operand at its place; `None` if that is to be found out from its dispatches.
    pub(crate) inputs: Option<Vec<Option<&'a View>>>,
    /// Whether it computes with a number that is not finite.
    pub(crate) is_given_non_finite: bool,
    pub(crate) outputs: Vec<&'a View>,
}

/// Who is told of operations.
pub(crate) trait Watcher: Send + Sync {
    /// An operation runs next.
    fn begin<'a>(
        self: Arc<Self>,
        device: &'a Device,
        operation: Operation<'a>,
    ) -> Box<dyn Watched + 'a>;
}

/// An operation that is watched.
pub(crate) trait Watched {
    /// Who is to be told of its dispatches.
    fn observer(&self) -> Option<Rc<dyn DispatchObserver>>;

    /// It ran, or not if it was an error.
    fn end(self: Box<Self>, ran: bool);
}

/// The watcher of a device.
#[derive(Default)]
pub(crate) struct Watch {
    mode: AtomicU8,
    watcher: Mutex<Option<Arc<dyn Watcher>>>,
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watch")
            .field("mode", &self.mode)
            .finish_non_exhaustive()
    }
}

fn second(op: &'static str) -> Error {
    let rule = "a device is traced or recorded by one at a time: finish the other one first";
    Error::argument(op, rule)
}

impl Watch {
    /// Whether somebody watches.
    pub(crate) fn is_on(&self) -> bool {
        self.mode.load(Ordering::Relaxed) != Mode::Off as u8
    }

    /// Whether operations run one by one.
    pub(crate) fn is_one_by_one(&self) -> bool {
        let mode = self.mode.load(Ordering::Relaxed);
        mode == Mode::Traced as u8 || mode == Mode::Recorded as u8
    }

    /// Whether operations are written down.
    pub(crate) fn is_recording(&self) -> bool {
        self.mode.load(Ordering::Relaxed) > Mode::Traced as u8
    }

    /// An error if somebody watches.
    #[cfg(not(target_arch = "wasm32"))]
    fn refuse_second(&self, op: &'static str) -> Result<(), Error> {
        match &*self.watcher.lock() {
            Some(_) => Err(second(op)),
            None => Ok(()),
        }
    }

    fn begin(&self, op: &'static str, mode: Mode, watcher: Arc<dyn Watcher>) -> Result<(), Error> {
        let mut place = self.watcher.lock();
        if place.is_some() {
            return Err(second(op));
        }
        *place = Some(watcher);
        self.mode.store(mode as u8, Ordering::Relaxed);
        Ok(())
    }

    fn end(&self) {
        self.mode.store(Mode::Off as u8, Ordering::Relaxed);
        *self.watcher.lock() = None;
    }

    fn watcher(&self) -> Option<Arc<dyn Watcher>> {
        self.watcher.lock().clone()
    }
}

/// Runs an operation, telling the device's watcher. `describe` is not called while there is none.
pub(crate) fn operation<'a, R, E>(
    device: &Device,
    describe: impl FnOnce() -> Operation<'a>,
    run: impl FnOnce() -> Result<R, E>,
) -> Result<R, E> {
    let watch = device.watch();
    if !watch.is_on() || device.executor().is_capturing() {
        return run();
    }
    let Some(watcher) = watch.watcher() else {
        return run();
    };
    let watched = watcher.begin(device, describe());
    let result = match watched.observer() {
        Some(observer) => observe_dispatches(observer, run),
        None => run(),
    };
    watched.end(result.is_ok());
    result
}
