//! Kernels compiled ahead of their first use, on worker threads.
//!
//! A program that knows its kernels (from a list, or from the [`Trace`] of an earlier run) has them compiled side by
//! side while it loads its data. Workers go through the same map as everybody else, so a kernel that is asked for
//! while a worker compiles it is waited for and not compiled again. In a browser there are no threads: the future
//! compiles one kernel per poll and lets the event loop run in between.
//!
//! Invariants: each listed kernel is reported once, done or failed; a failed one stops no other; the future resolves
//! when the last worker is gone.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;

use super::Pipelines;
use crate::descriptor::KernelDescriptor;
use crate::error::PipelineError;
use crate::once_map::Origin;
use crate::trace::Trace;

/// What one step of a [`Prewarm`] did.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PrewarmStep<'a> {
    /// The kernel's name.
    pub kernel: &'a str,
    /// Kernels done so far, this one included.
    pub done: usize,
    /// Kernels in the list.
    pub total: usize,
    /// Why this one could not be made.
    pub error: Option<&'a PipelineError>,
}

/// What a [`Prewarm`] did.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Prewarmed {
    /// Kernels created.
    pub created: usize,
    /// Kernels that were there already.
    pub found: usize,
    /// Kernels that could not be made, by name.
    pub failed: Vec<(String, PipelineError)>,
}

impl Prewarmed {
    fn done(&self) -> usize {
        self.created + self.found + self.failed.len()
    }
}

type Progress = Box<dyn FnMut(&PrewarmStep<'_>) + Send>;

struct State {
    waiting: std::vec::IntoIter<KernelDescriptor>,
    result: Prewarmed,
    workers: usize,
    cancelled: bool,
    waker: Option<Waker>,
}

struct Job {
    pipelines: Pipelines,
    total: usize,
    state: Mutex<State>,
    /// Away for good once it has panicked.
    progress: Mutex<Option<Progress>>,
}

impl Job {
    /// Makes the next kernel; false if there is none.
    fn step(&self) -> bool {
        let mut state = self.state.lock();
        let next = if state.cancelled {
            None
        } else {
            state.waiting.next()
        };
        drop(state);
        let Some(descriptor) = next else {
            return false;
        };
        let made = self.pipelines.inner.kernel_now(&descriptor);
        let name = descriptor.source.name();
        // Held over the count and the call, so that steps are told in order.
        let mut progress = self.progress.lock();
        let mut state = self.state.lock();
        let result = &mut state.result;
        let error = match made {
            Ok((_, Origin::Created)) => {
                result.created += 1;
                None
            }
            Ok((_, Origin::Found)) => {
                result.found += 1;
                None
            }
            Err(error) => {
                result.failed.push((name.to_owned(), error.clone()));
                Some(error)
            }
        };
        let done = result.done();
        drop(state);
        if let Some(mut tell) = progress.take() {
            tell(&PrewarmStep {
                kernel: name,
                done,
                total: self.total,
                error: error.as_ref(),
            });
            *progress = Some(tell);
        }
        true
    }
}

/// A thread's share in the job. Counts the thread out even if a callback panics, so that nobody waits for ever.
#[cfg(not(target_arch = "wasm32"))]
struct Worker(Arc<Job>);

#[cfg(not(target_arch = "wasm32"))]
impl Drop for Worker {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.workers = state.workers.saturating_sub(1);
        let waker = if state.workers == 0 {
            state.waker.take()
        } else {
            None
        };
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// A list of kernels being compiled: resolves to what became of them.
///
/// Dropping it stops after the kernels that are being compiled; [`detach`](Self::detach) lets the rest go on.
#[must_use = "dropping it cancels what has not been compiled; see `detach`"]
pub struct Prewarm {
    job: Option<Arc<Job>>,
}

impl std::fmt::Debug for Prewarm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let total = self.job.as_ref().map(|job| job.total);
        f.debug_struct("Prewarm")
            .field("total", &total)
            .finish_non_exhaustive()
    }
}

impl Prewarm {
    fn start(pipelines: &Pipelines, mut list: Vec<KernelDescriptor>, progress: Progress) -> Self {
        let mut seen = std::collections::HashSet::new();
        list.retain(|descriptor| seen.insert(descriptor.clone()));
        let total = list.len();
        let job = Arc::new(Job {
            pipelines: pipelines.without_taping(),
            total,
            state: Mutex::new(State {
                waiting: list.into_iter(),
                result: Prewarmed::default(),
                workers: 0,
                cancelled: false,
                waker: None,
            }),
            progress: Mutex::new(Some(progress)),
        });
        #[cfg(not(target_arch = "wasm32"))]
        spawn(&job);
        Self { job: Some(job) }
    }

    /// Lets the compilation go on without anybody waiting for it. In a browser nothing happens any more: there the
    /// future does the work.
    pub fn detach(mut self) {
        self.job = None;
    }

    /// Blocks until all kernels are done. Must not be called from a wgpu callback.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn wait(self) -> Prewarmed {
        ziggurat_device::block_on(self)
    }
}

#[cfg(not(target_arch = "wasm32"))]
fn spawn(job: &Arc<Job>) {
    use std::thread;

    let wanted = ziggurat_core::processors()
        .min(crate::workers::MAX_WORKERS)
        .min(job.total);
    job.state.lock().workers = wanted;
    for _ in 0..wanted {
        // Counted out by the drop, also if the thread cannot be had; what is left is done by whoever polls.
        let worker = Worker(Arc::clone(job));
        let _ = thread::Builder::new()
            .name("ziggurat compile".to_owned())
            .spawn(move || while worker.0.step() {});
    }
}

impl Future for Prewarm {
    type Output = Prewarmed;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Prewarmed> {
        let Some(job) = self.job.clone() else {
            return Poll::Ready(Prewarmed::default());
        };
        let mut state = job.state.lock();
        if state.workers > 0 {
            state.waker = Some(context.waker().clone());
            return Poll::Pending;
        }
        drop(state);
        if job.step() {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.job = None;
        let result = std::mem::take(&mut job.state.lock().result);
        Poll::Ready(result)
    }
}

impl Drop for Prewarm {
    fn drop(&mut self) {
        if let Some(job) = &self.job {
            job.state.lock().cancelled = true;
        }
    }
}

impl Pipelines {
    /// Compiles kernels before they are needed, on worker threads (in a browser: one per poll of the future).
    ///
    /// `progress` is called after each kernel, one call at a time and in order, from the thread that made it. It must
    /// not wait for this very prewarm. Kernels listed twice count once.
    pub fn prewarm(
        &self,
        kernels: impl IntoIterator<Item = KernelDescriptor>,
        progress: impl FnMut(&PrewarmStep<'_>) + Send + 'static,
    ) -> Prewarm {
        Prewarm::start(self, kernels.into_iter().collect(), Box::new(progress))
    }

    /// [`prewarm`](Self::prewarm) with the kernels of an earlier run.
    ///
    /// A trace made on another device is fine: what this one cannot run is reported as failed, and what it would
    /// not have chosen is compiled in vain.
    pub fn prewarm_trace(
        &self,
        trace: &Trace,
        progress: impl FnMut(&PrewarmStep<'_>) + Send + 'static,
    ) -> Prewarm {
        self.prewarm(trace.kernels().iter().cloned(), progress)
    }

    /// Every kernel that is in the cache now, for the next run's [`prewarm_trace`](Self::prewarm_trace).
    pub fn trace(&self) -> Trace {
        Trace::new(self.inner.kernels.keys())
    }
}
