//! The sanitizer: kernels run in a checked form that finds what GPUs hide.
//!
//! A [`Sanitizer`] in a [`Profile`] makes every kernel of the device run checked, and collects what
//! is found. [`sanitize`] does that for a closure, [`assert_clean`] for a test. The closure's
//! device is of any layer: plain wgpu as [`Opened`], or whatever implements [`Target`].
//!
//! What is right as it is says so in its line, by a comment: `// sanitizer: allow(shift): the reason`.
//!
//! Only what runs is checked, with the values it runs with. Checked kernels run on one thread, so
//! that a report is the same every time.

mod allow;
mod kind;
mod log;
mod report;

use std::error::Error;
use std::io;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;

pub use kind::{Checks, Kind, UnknownKind};
pub(crate) use report::Text;
pub use report::{Finding, Invocation, Program, Report, Side};

use log::Log;

use crate::backend::{OpenError, open};
use crate::engine::Raw;
use crate::profile::Profile;

/// Collects what is found on the devices of the profiles that hold it. Clones share it.
#[derive(Clone, Debug)]
pub struct Sanitizer {
    checks: Checks,
    found: Arc<Mutex<Found>>,
}

#[derive(Debug, Default)]
struct Found {
    report: Report,
    log: Option<Log>,
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
        self.found.lock().report.clone()
    }

    /// Everything found since the last call.
    #[must_use]
    pub fn take(&self) -> Report {
        std::mem::take(&mut self.found.lock().report)
    }

    /// One that also writes what it finds into a file of this process in `folder`, for
    /// [`Report::read`]; the same one for each call with that folder, whatever the checks.
    ///
    /// # Errors
    ///
    /// If the file cannot be made.
    pub fn into_folder(folder: &Path, checks: Checks) -> io::Result<Self> {
        log::sanitizer(folder, checks)
    }

    fn logging(checks: Checks, log: Log) -> Self {
        let found = Found {
            report: Report::default(),
            log: Some(log),
        };
        Self {
            checks,
            found: Arc::new(Mutex::new(found)),
        }
    }

    /// A dispatch has run.
    pub(crate) fn add(&self, program: Program, text: &Text<'_>, found: Vec<Raw>) {
        let found = found
            .into_iter()
            .map(|raw| Finding::new(&program.kernel, text, raw));
        self.note(found.collect(), program);
    }

    fn note(&self, findings: Vec<Finding>, program: Program) {
        let Found { report, log } = &mut *self.found.lock();
        for finding in findings {
            let new = report.add(finding.clone());
            if let (true, Some(log)) = (new, log.as_mut()) {
                log.finding(&finding);
            }
        }
        let new = report.ran(program.clone());
        if let (true, Some(log)) = (new, log.as_mut()) {
            log.ran(&program);
        }
    }
}

impl PartialEq for Sanitizer {
    /// Whether both collect in the same place.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.found, &other.found)
    }
}

impl Eq for Sanitizer {}

/// Why a sanitized run says nothing about its kernels.
#[derive(Debug, thiserror::Error)]
pub enum SanitizeError {
    /// The device cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The device failed, so not all kernels may have run.
    #[error("the device failed: {0}")]
    Failed(Box<dyn Error + Send + Sync>),
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
    ///
    /// # Errors
    ///
    /// The failure of the device, if it has failed.
    fn finish(&self) -> Result<(), Box<dyn Error + Send + Sync>> {
        Ok(())
    }
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
/// [`SanitizeError`] if the device cannot be opened, or fails.
///
/// # Example
///
/// ```
/// use ziggurat_software::{Opened, sanitize};
/// let report = sanitize(|device: &Opened| {
///     let _ = device.device.limits(); // make pipelines, submit work
/// })?;
/// assert!(report.is_clean(), "{report}");
/// # Ok::<(), ziggurat_software::SanitizeError>(())
/// ```
pub fn sanitize<T: Target>(f: impl FnOnce(&T)) -> Result<Report, SanitizeError> {
    sanitize_with(Profile::nvidia(), Checks::default(), f)
}

/// [`sanitize`] with a profile and checks of one's own.
///
/// # Errors
///
/// [`SanitizeError`] if the profile contradicts itself, or the device fails.
pub fn sanitize_with<T: Target>(
    profile: Profile,
    checks: Checks,
    f: impl FnOnce(&T),
) -> Result<Report, SanitizeError> {
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
    target.finish().map_err(SanitizeError::Failed)?;
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
        Ok(report) if report.kernels().is_empty() => {
            panic!("the sanitizer saw no kernel run")
        }
        Ok(report) if report.is_clean() => {}
        Ok(report) => panic!("{report}"),
        Err(error) => panic!("{error}"),
    }
}
