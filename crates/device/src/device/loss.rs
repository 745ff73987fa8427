//! Devices that are lost, destroyed, or not to be trusted any more.

use std::sync::Arc;

use super::Device;
use crate::queue::CommandQueue;
use crate::state::Shared;
use crate::{DeviceError, LostReason};

/// How often wgpu is asked for a loss, a millisecond apart.
#[cfg(not(target_arch = "wasm32"))]
const LOSS_TRIES: usize = 5;

impl Device {
    /// Whether the device works.
    ///
    /// # Errors
    /// [`DeviceError::Lost`], [`DeviceError::Poisoned`] or [`DeviceError::OutOfMemory`], the first that happened.
    #[inline]
    pub fn status(&self) -> Result<(), DeviceError> {
        if !self.inner.shared.is_failed() {
            return Ok(());
        }
        self.why_failed()
    }

    #[cold]
    fn why_failed(&self) -> Result<(), DeviceError> {
        let shared = &self.inner.shared;
        #[cfg(not(target_arch = "wasm32"))]
        if shared.take_doubt() {
            self.look_for_loss();
        }
        shared.status()
    }

    /// Asks wgpu now whether the device still works, for a failure that the loss of the device would explain:
    /// [`status`](Self::status) knows of a loss only once somebody has polled.
    ///
    /// # Errors
    /// As [`status`](Self::status).
    pub fn check_alive(&self) -> Result<(), DeviceError> {
        self.status()?;
        #[cfg(not(target_arch = "wasm32"))]
        self.look_for_loss();
        self.status()
    }

    /// Polls until wgpu has told of a loss, if there is one to tell of.
    #[cfg(not(target_arch = "wasm32"))]
    fn look_for_loss(&self) {
        let shared = &self.inner.shared;
        let is_lost = || matches!(shared.status(), Err(DeviceError::Lost { .. }));
        for _ in 0..LOSS_TRIES {
            crate::drive::poll(&self.inner.device, shared, wgpu::PollType::Poll);
            if is_lost() {
                return;
            }
            // Another thread may be between the callbacks that answer for mappings and the one that tells of the loss.
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }

    /// Calls `then` once the browser has told of the loss of the device, if there is one to tell of: it answers for mappings
    /// before that, and for submitted work after it.
    #[cfg(target_arch = "wasm32")]
    pub fn after_loss(&self, then: impl FnOnce() + Send + 'static) {
        self.inner.queue.on_submitted_work_done(then);
    }

    /// Declares that results on this device cannot be trusted any more: recorded work is thrown
    /// away and everything that waits gets `error`. The first failure is kept.
    pub fn poison(&self, error: DeviceError) {
        self.inner.shared.fail(error);
        self.inner.discard_if_failed();
    }

    /// Gives the device back to the driver. Everything that waits gets [`DeviceError::Lost`].
    pub fn destroy(&self) {
        self.poison(DeviceError::Lost {
            reason: LostReason::Destroyed,
            message: "destroy was called".to_owned(),
        });
        if self.inner.views.may_destroy() {
            self.inner.device.destroy();
        }
    }
}

/// Turns wgpu's uncaught errors and the loss of the device into values.
pub(super) fn install_handlers(
    device: &wgpu::Device,
    shared: &Arc<Shared>,
    commands: &Arc<CommandQueue>,
) {
    // The device keeps its handlers, and the batch keeps the device: no cycle, please.
    let (shared, commands) = (shared.clone(), Arc::downgrade(commands));
    let discard = move || {
        // The completion thread throws the batch away; a browser has none, nor other threads.
        if cfg!(target_arch = "wasm32")
            && let Some(commands) = commands.upgrade()
        {
            commands.discard();
        }
    };
    let (complaints, discard_too) = (shared.clone(), discard.clone());
    device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
        complaints.complain(&error);
        discard_too();
    }));
    device.set_device_lost_callback(move |reason, message| {
        shared.lose(DeviceError::Lost {
            reason: match reason {
                wgpu::DeviceLostReason::Destroyed => LostReason::Destroyed,
                wgpu::DeviceLostReason::Unknown => LostReason::Unknown,
            },
            message,
        });
        discard();
    });
}
