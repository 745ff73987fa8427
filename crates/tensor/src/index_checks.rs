//! The checked mode of operations that take indices.
//!
//! An index is data on the device, so whether it is in range is only known when the device got there. While checks are on,
//! each such operation records a search that leaves the position of the first bad index in a word; a read looks at the
//! words of all operations before it.
//!
//! Invariant: a word and its indices are kept until a verdict asks for them, once.

use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use ziggurat_core::{DType, Shape, decode};
use ziggurat_kernels::{Executor, View};

use crate::Error;

/// What a device keeps for the checked mode.
#[derive(Debug, Default)]
pub(crate) struct IndexChecks {
    on: AtomicBool,
    pending: Mutex<Vec<Check>>,
}

/// One search, recorded.
#[derive(Debug)]
struct Check {
    op: &'static str,
    indices: View,
    extents: Vec<usize>,
    found: View,
}

impl IndexChecks {
    pub(crate) fn set(&self, on: bool) {
        self.on.store(on, Ordering::Relaxed);
    }

    /// Records a search of the indices of `op` for one that names none of `extents`, if checks are on.
    pub(crate) fn record(
        &self,
        executor: &Executor,
        op: &'static str,
        indices: &View,
        extents: &[usize],
    ) -> Result<(), Error> {
        if !self.on.load(Ordering::Relaxed) || indices.is_empty() || extents.is_empty() {
            return Ok(());
        }
        let fail = |error| Error::from_kernel(op, error);
        let found = executor.alloc(&Shape::scalar(), DType::U32).map_err(fail)?;
        let _none = executor.fill(&found, f64::from(u32::MAX)).map_err(fail)?;
        let _searched = executor
            .check_indices(indices, extents, &found)
            .map_err(fail)?;
        self.pending.lock().push(Check {
            op,
            indices: indices.clone(),
            extents: extents.to_vec(),
            found,
        });
        Ok(())
    }

    /// Resolves to the error of the first operation so far that had an index out of range.
    pub(crate) fn verdict(
        &self,
        executor: &Executor,
    ) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        let checks = std::mem::take(&mut *self.pending.lock());
        let words = (!checks.is_empty()).then(|| {
            let views: Vec<&View> = checks.iter().map(|check| &check.found).collect();
            executor.download_many(&views)
        });
        let executor = executor.clone();
        async move {
            let Some(words) = words else { return Ok(()) };
            let fail = |error| Error::from_kernel("check_indices", error);
            let words = words.map_err(fail)?.await.map_err(fail)?;
            for (check, word) in checks.iter().zip(&words) {
                let at = decode(DType::U32, word)
                    .first()
                    .copied()
                    .unwrap_or_default();
                if at < f64::from(u32::MAX) {
                    let all = executor.download(&check.indices).map_err(fail)?;
                    let all = decode(check.indices.dtype, &all.await.map_err(fail)?);
                    return Err(check.error(at as usize, &all));
                }
            }
            Ok(())
        }
    }
}

impl Check {
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
