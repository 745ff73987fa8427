//! The sanitizer: kernels run in a checked form that finds what GPUs hide.
//!
//! A [`Sanitizer`] in a [`Profile`] makes every kernel of the device run checked, and collects what
//! is found. [`sanitize`] does that for a closure, [`assert_clean`] for a test. The closure's
//! device is of any layer: plain wgpu as [`Opened`], or whatever implements [`Target`].
//!
//! Only what runs is checked, with the values it runs with. Checked kernels run on one thread, so
//! that a report is the same every time.

mod kind;
mod report;
mod suppress;

use std::sync::Arc;

use parking_lot::Mutex;

pub use kind::{Checks, Kind, UnknownKind};
pub(crate) use report::Text;
pub use report::{Finding, Invocation, Report, Side};
pub use suppress::{ListError, Suppression, Suppressions};

use crate::backend::{OpenError, open};
use crate::engine::Raw;
use crate::profile::Profile;

/// Collects what is found on the devices of the profiles that hold it. Clones share it.
#[derive(Clone, Debug)]
pub struct Sanitizer {
    checks: Checks,
    found: Arc<Mutex<Report>>,
}

impl Sanitizer {
    /// One that has found nothing yet.
    #[must_use]
    pub fn new(checks: Checks) -> Self {
        Self {
            checks,
            found: Arc::default(),
        }
    }

    /// What it looks for.
    #[must_use]
    pub fn checks(&self) -> Checks {
        self.checks
    }

    /// Everything found so far.
    #[must_use]
    pub fn report(&self) -> Report {
        self.found.lock().clone()
    }

    /// Everything found since the last call.
    #[must_use]
    pub fn take(&self) -> Report {
        std::mem::take(&mut *self.found.lock())
    }

    pub(crate) fn add(&self, kernel: &str, text: &Text<'_>, found: Vec<Raw>) {
        let mut report = self.found.lock();
        for raw in found {
            report.add(Finding::new(kernel, text, raw));
        }
    }

    /// A kernel has run under it.
    pub(crate) fn ran(&self, kernel: &str) {
        self.found.lock().ran(kernel);
    }
}

/// A software device as plain wgpu.
#[derive(Clone, Debug)]
pub struct Opened {
    /// The adapter.
    pub adapter: wgpu::Adapter,
    /// The device.
    pub device: wgpu::Device,
    /// Its queue.
    pub queue: wgpu::Queue,
}

/// A device that [`sanitize`] can hand to its closure.
pub trait Target: Sized {
    /// Made of a software device.
    fn from_software(opened: Opened) -> Self;

    /// Submits what has been recorded, so that it is checked.
    fn finish(&self) {}
}

impl Target for Opened {
    fn from_software(opened: Opened) -> Self {
        opened
    }
}

/// Runs `f` on a device with the profile `nvidia` (which has every feature) and the default
/// [`Checks`]; gives what was found.
///
/// # Errors
///
/// [`OpenError`] if the device cannot be opened.
///
/// # Example
///
/// ```
/// use ziggurat_software::{Opened, sanitize};
/// let report = sanitize(|device: &Opened| {
///     let _ = device.device.limits(); // make pipelines, submit work
/// })?;
/// assert!(report.is_clean(), "{report}");
/// # Ok::<(), ziggurat_software::OpenError>(())
/// ```
pub fn sanitize<T: Target>(f: impl FnOnce(&T)) -> Result<Report, OpenError> {
    sanitize_with(Profile::nvidia(), Checks::default(), f)
}

/// [`sanitize`] with a profile and checks of one's own.
///
/// # Errors
///
/// [`OpenError`] if the profile contradicts itself.
pub fn sanitize_with<T: Target>(
    profile: Profile,
    checks: Checks,
    f: impl FnOnce(&T),
) -> Result<Report, OpenError> {
    let sanitizer = Sanitizer::new(checks);
    let mut profile = profile;
    profile.sanitizer = Some(sanitizer.clone());
    let (adapter, device, queue) = open(profile)?;
    let target = T::from_software(Opened {
        adapter,
        device,
        queue,
    });
    f(&target);
    target.finish();
    drop(target);
    Ok(sanitizer.take())
}

/// For tests: runs `f` as [`sanitize`] does, and panics with the report if anything was found or
/// no kernel ran.
///
/// # Panics
///
/// If there are findings, or nothing ran that could have had any.
#[track_caller]
pub fn assert_clean<T: Target>(f: impl FnOnce(&T)) {
    match sanitize(f) {
        Ok(report) if report.kernels().next().is_none() => {
            panic!("the sanitizer saw no kernel run")
        }
        Ok(report) if report.is_clean() => {}
        Ok(report) => panic!("{report}"),
        Err(error) => panic!("no software device: {error}"),
    }
}
