//! The way of one slot from its recorded copy to the host.
//!
//! A [`Ticket`] owns the slot while the device has it: first in the hook that maps it after the
//! submission, then in the map callback. It ends in [`Landing`], where the future picks the slot up;
//! if the future is gone, the slot goes back to the list. A ticket that is dropped on the way (a batch
//! that is never submitted, a lost device) lands as a failure, so that nobody waits for ever.

use super::Slots;
use crate::gauge::Metered;
use parking_lot::Mutex;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};
use ziggurat_device::{Device, Recorder};

#[derive(Debug)]
enum State {
    /// The ticket is on its way.
    Waiting(Option<Waker>),
    /// Mapped and ready to be read.
    Mapped(Metered),
    /// The slot is lost.
    Failed,
    /// Picked up, or nobody waits any more.
    Closed,
}

/// Where a future waits for a slot.
#[derive(Debug)]
pub(super) struct Landing {
    state: Mutex<State>,
    slots: Weak<Slots>,
}

impl Landing {
    /// The mapped slot once it is there; `None` if it was lost.
    pub(super) fn poll(&self, context: &Context<'_>) -> Poll<Option<Metered>> {
        let mut state = self.state.lock();
        if let State::Waiting(waker) = &mut *state {
            match waker {
                Some(waker) => waker.clone_from(context.waker()),
                None => *waker = Some(context.waker().clone()),
            }
            return Poll::Pending;
        }
        let before = std::mem::replace(&mut *state, State::Closed);
        drop(state);
        Poll::Ready(match before {
            State::Mapped(slot) => Some(slot),
            _ => None,
        })
    }

    /// Gives up waiting; the slot goes back as soon as it can.
    pub(super) fn abandon(&self) {
        let before = std::mem::replace(&mut *self.state.lock(), State::Closed);
        if let (State::Mapped(slot), Some(slots)) = (before, self.slots.upgrade()) {
            slots.put(slot);
        }
    }

    fn land(&self, slot: Option<Metered>) {
        let mut state = self.state.lock();
        if let State::Waiting(waker) = &mut *state {
            let waker = waker.take();
            *state = slot.map_or(State::Failed, State::Mapped);
            drop(state);
            // This runs in wgpu's callbacks. While somebody waits, the slots are there.
            if let (Some(waker), Some(slots)) = (waker, self.slots.upgrade()) {
                slots.pool.device().wake_soon(waker);
            }
            return;
        }
        drop(state);
        if let (Some(slot), Some(slots)) = (slot, self.slots.upgrade()) {
            slots.put(slot);
        }
    }
}

/// A slot on its way.
#[derive(Debug)]
pub(super) struct Ticket {
    landing: Arc<Landing>,
    slot: Option<Metered>,
}

impl Ticket {
    /// A ticket for `slot` and the place where it will land.
    pub(super) fn new(slots: &Arc<Slots>, slot: Metered) -> (Self, Arc<Landing>) {
        let landing = Arc::new(Landing {
            state: Mutex::new(State::Waiting(None)),
            slots: Arc::downgrade(slots),
        });
        let ticket = Self {
            landing: Arc::clone(&landing),
            slot: Some(slot),
        };
        (ticket, landing)
    }

    /// The slot to record copies into.
    pub(super) fn buffer(&self) -> Option<&wgpu::Buffer> {
        self.slot.as_ref().map(|slot| &slot.buffer)
    }

    /// Arranges for the first `bytes` of the slot to be mapped after the batch in progress.
    #[allow(
        clippy::disallowed_methods,
        reason = "this crate owns the mapping of buffers"
    )]
    pub(super) fn send(mut self, device: &Device, recorder: &mut Recorder<'_>, bytes: u64) {
        let device = device.clone();
        recorder.after_submit(move |_| {
            let Some(buffer) = self.buffer().cloned() else {
                return;
            };
            let guard = device.callback_guard();
            let announced = device.callback_guard();
            #[cfg(target_arch = "wasm32")]
            let device = device.clone();
            buffer.map_async(wgpu::MapMode::Read, 0..bytes, move |mapped| {
                // Whoever waits is to get the loss of the device as the reason, where it is.
                #[cfg(target_arch = "wasm32")]
                if mapped.is_err() {
                    device.after_loss(move || drop(self));
                    return;
                }
                if mapped.is_ok() {
                    let slot = self.slot.take();
                    self.landing.land(slot);
                }
                drop(self);
                drop(guard);
            });
            announced.registered();
        });
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if self.slot.take().is_some() {
            self.landing.land(None);
        }
    }
}
