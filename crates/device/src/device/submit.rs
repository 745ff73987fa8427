//! When a batch is submitted, what it waits for before, and what remains to be done when the last handle is dropped.

use super::Inner;
use crate::DeviceError;
#[cfg(not(target_arch = "wasm32"))]
use crate::profile::Stage;
use crate::queue::{Aftermath, Batch, Locked, Submitter};

impl Inner {
    #[inline]
    pub(super) fn submitter(&self) -> Submitter<'_> {
        Submitter {
            device: &self.device,
            queue: &self.queue,
            shared: &self.shared,
            profiler: &self.profiler,
            options: &self.options,
        }
    }

    /// Whether a batch should go. One that waits for pipelines may grow like that of a busy device.
    #[inline]
    pub(super) fn is_full(&self, batch: &mut Batch, compiling: bool) -> bool {
        let in_flight = if compiling {
            usize::MAX
        } else {
            self.shared.in_flight()
        };
        let (commands, index) = (batch.commands, self.commands.full_batches());
        let since = (index, || batch.recording());
        crate::queue::is_full(commands, self.options.submit_after, in_flight, since)
    }

    /// Encodes what was kept, as far as pipelines are there; whether some of it has to wait on.
    #[cold]
    pub(super) fn is_compiling(&self, locked: &mut Locked<'_>) -> bool {
        locked.encode_late(&self.submitter(), false) && !locked.batch().late.is_empty()
    }

    /// Waits for the pipelines of what is recorded now, without holding the queue's lock.
    pub(super) fn wait_for_pipelines(&self) -> Result<(), DeviceError> {
        #[cfg(not(target_arch = "wasm32"))]
        {
            let mut locked = self.commands.lock()?;
            if locked.batch().late.is_empty() {
                return Ok(());
            }
            let pipelines = crate::late::incomplete(&locked.batch().late);
            drop(locked);
            let _span = self.profiler.host.span(Stage::Lookup);
            for pipeline in pipelines {
                // The submission meets the same error.
                let _ = pipeline.wait();
            }
        }
        Ok(())
    }

    #[inline]
    pub(super) fn max_in_flight(&self) -> usize {
        usize::try_from(self.options.max_in_flight.max(1)).unwrap_or(usize::MAX)
    }

    /// Nothing waits in a browser, so there is always room there.
    #[inline]
    pub(super) fn has_room(&self) -> bool {
        cfg!(target_arch = "wasm32") || self.shared.in_flight() < self.max_in_flight()
    }

    #[inline]
    pub(super) fn wait_for_room(&self) {
        #[cfg(not(target_arch = "wasm32"))]
        if !self.has_room() {
            self.wait_for_others();
        }
    }

    #[cfg(not(target_arch = "wasm32"))]
    #[cold]
    fn wait_for_others(&self) {
        let _span = self.profiler.host.span(Stage::Wait);
        self.driver.until(None, || self.has_room());
        self.shared.wait_for_room(self.max_in_flight());
    }

    /// Submits the batch (with `only_full`, if it still is full) once there is room, holding the
    /// queue's lock only while submitting: the completion thread may need it to make room.
    pub(super) fn submit_when_there_is_room(&self, only_full: bool) -> Result<(), DeviceError> {
        loop {
            self.wait_for_pipelines()?;
            self.wait_for_room();
            self.shared.status()?;
            let mut locked = self.commands.lock()?;
            let batch = locked.batch();
            let wanted = if only_full {
                let compiling = !batch.late.is_empty();
                self.is_full(batch, compiling)
            } else {
                !batch.is_empty()
            };
            if !wanted {
                return Ok(());
            }
            if self.has_room() || self.is_poller() {
                let with = self.submitter();
                let aftermath: Aftermath = if only_full {
                    locked.submit_full(&with)
                } else {
                    locked.submit(&with)
                };
                drop(locked);
                aftermath.run();
                return Ok(());
            }
        }
    }

    pub(super) fn is_poller(&self) -> bool {
        #[cfg(not(target_arch = "wasm32"))]
        return self.shared.state.lock().poller == Some(std::thread::current().id());
        #[cfg(target_arch = "wasm32")]
        return false;
    }

    #[inline]
    pub(super) fn discard_if_failed(&self) {
        if self.shared.is_failed() {
            self.commands.discard();
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Recorded work may write to buffers that somebody else owns: it is not forgotten.
        if !self.shared.is_failed()
            && let Ok(mut locked) = self.commands.lock()
        {
            let aftermath = locked.submit(&self.submitter());
            drop(locked);
            aftermath.run();
        }
        self.commands.discard();
        #[cfg(not(target_arch = "wasm32"))]
        {
            crate::poller::stop(&self.shared);
            if let Some(key) = self.key.take() {
                let healthy = !self.shared.is_failed();
                let (device, queue) = (self.device.clone(), self.queue.clone());
                crate::park::park(key, device, queue, healthy);
            }
        }
    }
}
