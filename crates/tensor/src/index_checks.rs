//! The checked mode of operations that take indices.
//!
//! An index is data on the device, so whether it is in range is only known when the device got there. While checks are on,
//! each such operation records a search that leaves the position of the first bad index in a word, and marks the memory of
//! its result. Marks go wherever values go, through every kernel and on every thread, and a read looks at the words of those
//! that its memory has.
//!
//! Invariants: what a check found stays with every tensor that depends on the operation, and with no other; a check that is
//! known to be fine leaves nothing behind.

use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use ziggurat_core::{DType, Shape, decode};
use ziggurat_kernels::{Executor, KernelError, View};
use ziggurat_memory::Mark;

use crate::once::once;
use crate::{Error, Tensor};

/// What a device keeps for the checked mode.
#[derive(Debug, Default)]
pub(crate) struct IndexChecks {
    on: AtomicBool,
    /// Checks of which nobody knows yet, or of whose failure nobody was told.
    untold: Mutex<Vec<Arc<Check>>>,
}

/// One search, recorded.
#[derive(Debug)]
struct Check {
    op: &'static str,
    indices: View,
    extents: Vec<usize>,
    found: View,
    /// Whether every replay of a capture searches anew.
    captured: bool,
    /// Once it is known.
    verdict: OnceLock<Result<(), Error>>,
    /// Whether somebody was told of its failure.
    told: AtomicBool,
}

/// The check of an operation, if checks are on.
#[must_use = "the result must be marked"]
pub(crate) struct Checked(Option<Mark>);

impl Checked {
    /// Ties the check to the operation's result.
    pub(crate) fn of(&self, result: Tensor) -> Result<Tensor, Error> {
        if let Some(mark) = &self.0 {
            result.stored()?.buffer.mark(mark);
        }
        Ok(result)
    }
}

impl IndexChecks {
    pub(crate) fn set(&self, on: bool) {
        self.on.store(on, Ordering::Relaxed);
    }

    pub(crate) fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    /// Records a search of the indices of `op` for one that names none of `extents`, if checks are on.
    pub(crate) fn record(
        &self,
        executor: &Executor,
        op: &'static str,
        indices: &View,
        extents: &[usize],
    ) -> Result<Checked, Error> {
        if !self.on.load(Ordering::Relaxed) || indices.is_empty() || extents.is_empty() {
            return Ok(Checked(None));
        }
        let fail = |error| Error::from_kernel(op, error);
        let found = executor.alloc(&Shape::scalar(), DType::U32).map_err(fail)?;
        let _none = executor.fill(&found, f64::from(u32::MAX)).map_err(fail)?;
        let _searched = executor
            .check_indices(indices, extents, &found)
            .map_err(fail)?;
        let captured = executor.is_capturing();
        let check = Check::new(op, indices.clone(), extents.to_vec(), found, captured);
        Ok(Checked(Some(self.keep(check))))
    }

    /// Of the checks within a capture that `view` depends on, what the last replay found.
    pub(crate) fn keep_captured(&self, executor: &Executor, view: &View) -> Result<(), Error> {
        let marks = view.buffer.marks();
        let kept = marks.iter().map(|mark| self.of_replay(executor, mark));
        let kept = kept.collect::<Result<_, _>>()?;
        view.buffer.set_marks(kept);
        Ok(())
    }

    /// A mark as it is for what the last replay wrote: the search of a capture is another one in each replay.
    pub(crate) fn of_replay(&self, executor: &Executor, mark: &Mark) -> Result<Mark, Error> {
        let Some(check) = mark.note::<Check>().filter(|check| check.captured) else {
            return Ok(mark.clone());
        };
        let copied = |view: &View| -> Result<View, KernelError> {
            let copy = executor.alloc(view.shape(), view.dtype)?;
            let _copied = executor.copy(view, &copy)?;
            Ok(copy)
        };
        let fail = |error| Error::from_kernel(check.op, error);
        let (indices, found) = (copied(&check.indices), copied(&check.found));
        let (indices, found) = (indices.map_err(fail)?, found.map_err(fail)?);
        let extents = check.extents.clone();
        Ok(self.keep(Check::new(check.op, indices, extents, found, false)))
    }

    fn keep(&self, check: Check) -> Mark {
        let check = Arc::new(check);
        if !check.captured {
            self.untold.lock().push(Arc::clone(&check));
        }
        Mark::new(check)
    }

    /// Resolves to the error of the first operation that `views` depend on and that had an index out of range.
    pub(crate) fn of_views(
        self: &Arc<Self>,
        executor: &Executor,
        views: &[&View],
    ) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        let marks = views.iter().flat_map(|view| view.buffer.marks());
        let checks = marks.filter_map(|mark| Some((mark.note::<Check>()?, Some(mark))));
        self.verdict(executor, checks.collect())
    }

    /// Resolves to the error of the first operation so far that had an index out of range and of which nobody was told.
    pub(crate) fn all(
        self: &Arc<Self>,
        executor: &Executor,
    ) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        let untold = self.untold.lock();
        let checks = untold.iter().map(|check| (Arc::clone(check), None));
        let checks = checks.collect();
        drop(untold);
        self.verdict(executor, checks)
    }

    fn verdict(
        self: &Arc<Self>,
        executor: &Executor,
        checks: Vec<(Arc<Check>, Option<Mark>)>,
    ) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        let open: Vec<bool> = (checks.iter())
            .map(|(check, _)| check.verdict.get().is_none())
            .collect();
        let found: Vec<&View> = (checks.iter().zip(&open))
            .filter(|(_, open)| **open)
            .map(|((check, _), _)| &check.found)
            .collect();
        let words = (!found.is_empty()).then(|| executor.download_many(&found));
        let (this, executor) = (Arc::clone(self), executor.clone());
        // Behind the same reads: whether the assertions of users' kernels held.
        let pipelines = executor.pipelines();
        let debugs = pipelines.device().options().debug_kernels;
        let asserts = debugs.then(|| pipelines.check_asserts());
        once(async move {
            if let Some(asserts) = asserts {
                let held = asserts.await;
                held.map_err(|error| Error::from_pipeline("assert", error))?;
            }
            if checks.is_empty() {
                return Ok(());
            }
            let fail = |error| Error::from_kernel("check_indices", error);
            let words = match words {
                Some(words) => words.map_err(fail)?.await.map_err(fail)?,
                None => Vec::new(),
            };
            let mut words = words.iter();
            let mut result = Ok(());
            for ((check, mark), open) in checks.iter().zip(open) {
                let verdict = match (check.verdict.get(), open) {
                    (_, true) => {
                        let word = words.next().map_or(&[][..], Vec::as_slice);
                        check.look(&executor, word).await?
                    }
                    (Some(verdict), false) => verdict.clone(),
                    (None, false) => Ok(()),
                };
                if let (Ok(()), Some(mark), false) = (&verdict, mark, check.captured) {
                    mark.end();
                }
                if result.is_ok() && verdict.is_err() {
                    check.told.store(true, Ordering::Relaxed);
                    result = verdict;
                }
            }
            this.untold.lock().retain(|check| check.is_untold());
            result
        })
    }
}

impl Check {
    fn new(
        op: &'static str,
        indices: View,
        extents: Vec<usize>,
        found: View,
        captured: bool,
    ) -> Self {
        Self {
            op,
            indices,
            extents,
            found,
            captured,
            verdict: OnceLock::new(),
            told: AtomicBool::new(false),
        }
    }

    fn is_untold(&self) -> bool {
        match self.verdict.get() {
            None => true,
            Some(verdict) => verdict.is_err() && !self.told.load(Ordering::Relaxed),
        }
    }

    /// What its word says.
    async fn look(&self, executor: &Executor, word: &[u8]) -> Result<Result<(), Error>, Error> {
        let fail = |error| Error::from_kernel("check_indices", error);
        let Some(&at) = decode(DType::U32, word).first() else {
            return Err(Error::internal("check_indices", "a search left no word"));
        };
        let verdict = if at < f64::from(u32::MAX) {
            let all = executor.download(&self.indices).map_err(fail)?;
            let all = decode(self.indices.dtype, &all.await.map_err(fail)?);
            Err(self.error(at as usize, &all))
        } else {
            Ok(())
        };
        if !self.captured {
            // Two readers found the same.
            let _same = self.verdict.set(verdict.clone());
        }
        Ok(verdict)
    }

    fn error(&self, at: usize, all: &[f64]) -> Error {
        let mut rest = at;
        let mut place: Vec<usize> = Vec::with_capacity(self.indices.rank());
        for &dim in self.indices.dims().iter().rev() {
            place.push(rest % dim.max(1));
            rest /= dim.max(1);
        }
        place.reverse();
        let index = all.get(at).copied().unwrap_or(f64::NAN);
        let extent = self
            .extents
            .get(at % self.extents.len().max(1))
            .copied()
            .unwrap_or(0);
        Error::shape(
            self.op,
            format!(
                "the index {index} at position {place:?} is out of range for {extent} positions"
            ),
        )
    }
}
