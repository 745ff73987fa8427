//! What all objects of one device share: limits, errors, loss, memory in use, callbacks to run.
//!
//! Work runs inside `submit`, so it is finished when `submit` returns; what is left for `poll` is
//! to run callbacks, in the order in which they were registered. No lock is held while a callback
//! runs.

use std::collections::VecDeque;
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use parking_lot::Mutex;
use wgpu::custom::{BoxDeviceLostCallback, BoxSubmittedWorkDoneCallback};
use ziggurat_core::debug_print::DebugPrints;

use super::buffer::BufferData;
use super::errors::{Errors, Kind};
use super::object::ObjectError;
use crate::profile::Profile;

/// A callback that waits for `poll`.
enum Pending {
    Work(BoxSubmittedWorkDoneCallback),
    Map {
        buffer: Arc<BufferData>,
        request: u64,
    },
    Lost {
        reason: wgpu::DeviceLostReason,
        message: String,
    },
}

/// The shared state of one device.
pub(super) struct State {
    pub(super) profile: Profile,
    pub(super) features: wgpu::Features,
    pub(super) limits: wgpu::Limits,
    pub(super) errors: Errors,
    /// Held while a submit runs: one queue, in order.
    pub(super) running: Mutex<()>,
    lost: AtomicBool,
    lost_callback: Mutex<Option<BoxDeviceLostCallback>>,
    memory: AtomicU64,
    pending: Mutex<VecDeque<Pending>>,
    submits: AtomicU64,
    ids: AtomicU64,
    pub(super) prints: Mutex<DebugPrints>,
    clock: Instant,
}

impl State {
    pub(super) fn new(
        profile: Profile,
        features: wgpu::Features,
        limits: wgpu::Limits,
    ) -> Arc<Self> {
        Arc::new(Self {
            profile,
            features,
            limits,
            errors: Errors::default(),
            running: Mutex::new(()),
            lost: AtomicBool::new(false),
            lost_callback: Mutex::new(None),
            memory: AtomicU64::new(0),
            pending: Mutex::new(VecDeque::new()),
            submits: AtomicU64::new(0),
            ids: AtomicU64::new(1),
            prints: Mutex::default(),
            clock: Instant::now(),
        })
    }

    /// A number that no other object of this device has.
    pub(super) fn next_id(&self) -> u64 {
        self.ids.fetch_add(1, Ordering::Relaxed)
    }

    /// Nanoseconds since the device was opened; never 0, so that a written query is told from an
    /// unwritten one.
    pub(super) fn now(&self) -> u64 {
        u64::try_from(self.clock.elapsed().as_nanos()).map_or(u64::MAX, |now| now.max(1))
    }

    pub(super) fn require(&self, features: wgpu::Features) -> Result<(), ObjectError> {
        let missing = features - self.features;
        if missing.is_empty() {
            Ok(())
        } else {
            Err(ObjectError::MissingFeature { missing })
        }
    }

    /// Reports a validation error. A lost device reports nothing more: the loss is the error.
    pub(super) fn invalid(
        &self,
        call: &'static str,
        label: &str,
        source: impl Error + Send + Sync + 'static,
    ) {
        self.report(Kind::Validation, call, label, Box::new(source));
    }

    /// Reports an error of a given kind; see [`State::invalid`].
    pub(super) fn report(
        &self,
        kind: Kind,
        call: &'static str,
        label: &str,
        source: Box<dyn Error + Send + Sync>,
    ) {
        if !self.is_lost() {
            self.errors.report(kind, call, label, source);
        }
    }

    /// What textures of a format can be.
    pub(super) fn format_features(
        &self,
        format: wgpu::TextureFormat,
    ) -> wgpu::TextureFormatFeatures {
        super::texture::format_features(format, self.features)
    }

    pub(super) fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Acquire)
    }

    pub(super) fn set_lost_callback(&self, callback: BoxDeviceLostCallback) {
        *self.lost_callback.lock() = Some(callback);
    }

    /// Loses the device by a fault: the callback runs at once.
    pub(super) fn lose(&self, message: &str) {
        if !self.lost.swap(true, Ordering::AcqRel) {
            self.call_lost(wgpu::DeviceLostReason::Unknown, message.to_owned());
        }
    }

    /// Loses the device by the user's wish: the callback runs in the next `poll`.
    pub(super) fn destroy(&self) {
        if !self.lost.swap(true, Ordering::AcqRel) {
            self.pending.lock().push_back(Pending::Lost {
                reason: wgpu::DeviceLostReason::Destroyed,
                message: "Device::destroy was called".to_owned(),
            });
        }
    }

    fn call_lost(&self, reason: wgpu::DeviceLostReason, message: String) {
        let callback = self.lost_callback.lock().take();
        if let Some(callback) = callback {
            callback(reason, message);
        }
    }

    /// Takes `bytes` out of the memory budget, to be given back when the result is dropped.
    pub(super) fn reserve(self: &Arc<Self>, bytes: u64) -> Option<Reservation> {
        self.memory
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |used| {
                used.checked_add(bytes)
                    .filter(|&used| used <= self.profile.memory_budget)
            })
            .ok()?;
        Some(Reservation {
            state: Arc::clone(self),
            bytes,
        })
    }

    pub(super) fn memory_used(&self) -> u64 {
        self.memory.load(Ordering::Acquire)
    }

    /// The number of the last submit, 0 before the first.
    pub(super) fn submitted(&self) -> u64 {
        self.submits.load(Ordering::Acquire)
    }

    /// Counts one more submit and returns its number.
    pub(super) fn count_submit(&self) -> u64 {
        self.submits.fetch_add(1, Ordering::AcqRel) + 1
    }

    pub(super) fn when_polled(&self, callback: BoxSubmittedWorkDoneCallback) {
        self.pending.lock().push_back(Pending::Work(callback));
    }

    pub(super) fn map_when_polled(&self, buffer: Arc<BufferData>, request: u64) {
        self.pending
            .lock()
            .push_back(Pending::Map { buffer, request });
    }

    /// Runs what waits. A callback may register more; that runs too.
    pub(super) fn run_pending(&self) {
        loop {
            let Some(next) = self.pending.lock().pop_front() else {
                return;
            };
            match next {
                Pending::Work(callback) => callback(),
                Pending::Map { buffer, request } => buffer.finish_mapping(request),
                Pending::Lost { reason, message } => self.call_lost(reason, message),
            }
        }
    }
}

/// A part of the memory budget in use.
pub(super) struct Reservation {
    state: Arc<State>,
    bytes: u64,
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.state.memory.fetch_sub(self.bytes, Ordering::AcqRel);
    }
}
