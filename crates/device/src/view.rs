//! Mapped memory that somebody looks at, and a device that somebody destroys.
//!
//! wgpu frees all memory of a destroyed device at its next poll, also memory that is mapped and borrowed. A
//! [`ViewGuard`] lives as long as such a borrow: while there is one, [`Device::destroy`] fails the device for all
//! users at once but gives it back to the driver only when the last guard is dropped. Invariant: no guard is handed
//! out once a destruction has begun.
//!
//! A guard cannot hold back a program that shares the wgpu device and destroys it by wgpu's own call, nor a driver that
//! loses it. Who only copies bytes does so within [`Device::while_mapped`], which holds back wgpu itself.

use parking_lot::Mutex;

use crate::mapped_lock::MappedLock;
use crate::{Device, DeviceError};

#[derive(Debug, Default)]
struct State {
    live: usize,
    destroy: bool,
}

/// Counts the guards of a device.
#[derive(Debug, Default)]
pub(crate) struct Views {
    state: Mutex<State>,
}

impl Views {
    /// Whether the device may be destroyed now; if not, the last guard does it.
    pub(crate) fn may_destroy(&self) -> bool {
        let mut state = self.state.lock();
        state.destroy = true;
        state.live == 0
    }
}

/// While one lives, mapped memory of the device stays where it is, unless the driver itself loses the device or somebody
/// calls `destroy` of its [`wgpu`](Device::wgpu) device.
#[must_use = "memory may go as soon as it is dropped"]
#[derive(Debug)]
pub struct ViewGuard {
    device: Device,
}

impl Device {
    /// Keeps mapped memory alive through a [`destroy`](Self::destroy). Take it before borrowing the memory.
    ///
    /// # Errors
    /// The device's failure: its memory may be going already.
    pub fn view_guard(&self) -> Result<ViewGuard, DeviceError> {
        let mut state = self.views().state.lock();
        self.status()?;
        state.live += 1;
        Ok(ViewGuard {
            device: self.clone(),
        })
    }

    /// Calls `touch` while the memory of `buffer` stays where it is, whoever destroys or loses the device meanwhile: wgpu's
    /// own lock is held. `None`, and no call, if the memory is gone already.
    ///
    /// Borrow the mapped memory before and hand it to `touch`, which must be short and may not call wgpu: destructions wait
    /// for it, and wgpu's lock cannot be taken twice.
    pub fn while_mapped<R>(&self, buffer: &wgpu::Buffer, touch: impl FnOnce() -> R) -> Option<R> {
        MappedLock::of(self.adapter()).during(buffer, touch)
    }
}

impl Drop for ViewGuard {
    fn drop(&mut self) {
        let mut state = self.device.views().state.lock();
        state.live = state.live.saturating_sub(1);
        let last = state.live == 0 && state.destroy;
        drop(state);
        if last {
            self.device.wgpu().destroy();
        }
    }
}
