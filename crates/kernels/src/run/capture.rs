//! Capture and replay: a fixed sequence of ops, planned once and recorded again as often as wanted.
//!
//! [`Executor::capture`] runs a function with an executor that records into a [`Captured`] instead of the device's
//! queue. A replay repeats the dispatches with the same buffers: new inputs are written into the views that the
//! captured ops read. Checks, choice of kernels, bind groups and parameters are not repeated.
//!
//! Memory that is allocated within a capture and has no handle any more is used again by what is captured behind.
//!
//! Invariants: everything the ops touch is kept alive by the capture, scratch memory included; a call that a replay
//! could not repeat (an upload, a download) is an error while capturing.

use ziggurat_pipeline::Tape;

use crate::run::completion::Completion;
use crate::run::error::KernelError;
use crate::run::executor::Executor;

/// Ops captured by [`Executor::capture`].
#[derive(Debug)]
pub struct Captured {
    executor: Executor,
    tape: Tape,
}

impl Captured {
    /// Records the captured ops again, in order with everything else that is recorded.
    ///
    /// # Errors
    /// The device's error.
    pub fn replay(&self) -> Result<Completion, KernelError> {
        self.tape.replay()?;
        Ok(self.executor.completion())
    }

    /// The WGSL of all its kernels, one after the other, for people.
    #[must_use]
    pub fn listing(&self) -> String {
        let listings = self.tape.dispatches();
        let listings: Vec<_> = listings
            .map(|dispatch| dispatch.descriptor().source.listing())
            .collect();
        listings.join("\n")
    }

    /// Dispatches per replay.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tape.len()
    }

    /// Whether nothing was captured.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tape.is_empty()
    }
}

impl Executor {
    /// Calls `f` with an executor that captures ops instead of running them, and returns what it captured.
    ///
    /// Nothing runs until [`Captured::replay`]. The views used inside may be made inside or outside; those of inputs
    /// are filled from outside before a replay, those of results read after it. Memory that is freed inside is kept
    /// by the capture and not used twice. Ops called on other executors are not captured.
    ///
    /// ```no_run
    /// # fn example(exec: &ziggurat_kernels::Executor) -> Result<(), Box<dyn std::error::Error>> {
    /// use ziggurat_kernels::{DType, Element, Shape};
    ///
    /// let shape = Shape::new([3])?;
    /// let (x, y) = (exec.alloc(&shape, DType::F32)?, exec.alloc(&shape, DType::F32)?);
    /// let twice = exec.capture(|exec| exec.add(&x, &x, &y).map(drop))?;
    /// for input in [[1.0_f32, 2.0, 3.0], [4.0, 5.0, 6.0]] {
    ///     exec.memory().write(&x.buffer, 0, &f32::write_bytes(&input))?;
    ///     let _ = twice.replay()?;
    ///     let doubled = exec.download(&y)?.wait()?;
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// What `f` returns; [`KernelError::InCapture`] from uploads and downloads within it, and for a capture within a
    /// capture.
    pub fn capture(
        &self,
        f: impl FnOnce(&Self) -> Result<(), KernelError>,
    ) -> Result<Captured, KernelError> {
        self.refuse_in_capture("capture")?;
        let pipelines = self.pipelines().taping();
        f(&self.through(pipelines.clone()))?;
        match pipelines.take_tape() {
            Some(tape) => Ok(Captured {
                executor: self.clone(),
                tape,
            }),
            // Only `f` can have taken it.
            None => Err(KernelError::InCapture { op: "take_tape" }),
        }
    }

    /// Whether this executor captures ops instead of running them.
    #[inline]
    #[must_use]
    pub fn is_capturing(&self) -> bool {
        self.pipelines().is_taping()
    }

    pub(crate) fn refuse_in_capture(&self, op: &'static str) -> Result<(), KernelError> {
        if self.is_capturing() {
            return Err(KernelError::InCapture { op });
        }
        Ok(())
    }
}
