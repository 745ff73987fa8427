//! Query sets: timestamps in nanoseconds of the host's monotonic clock, and occlusion queries that nothing
//! can write.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use wgpu::custom::{DispatchQuerySet, QuerySetInterface};

use super::object::{Object, ObjectError, debug_by_name, own};
use super::state::State;

/// Why a query set cannot be made or used.
#[derive(Debug, thiserror::Error)]
pub(super) enum QueryError {
    #[error(transparent)]
    Object(#[from] ObjectError),
    #[error("query set '{label}' is not for timestamps")]
    NoTimestamps { label: String },
    #[error("a query set of no queries")]
    Empty,
    #[error("{count} queries exceed {limit}")]
    TooMany { count: u32, limit: u32 },
    #[error("query {index} is out of range for a set of {count}")]
    OutOfRange { index: u64, count: u32 },
    #[error("a pass writes both its timestamps to query {index}")]
    SameIndex { index: u32 },
    #[error("a pass with timestamp writes writes none")]
    NoIndex,
}

/// A query set, shared by recorded commands.
pub(super) struct QueryData {
    state: Arc<State>,
    label: String,
    valid: bool,
    destroyed: AtomicBool,
    timestamps: bool,
    values: Vec<AtomicU64>,
}

impl QueryData {
    /// Writes the time of now.
    pub(super) fn stamp(&self, index: u32) {
        let value = usize::try_from(index)
            .ok()
            .and_then(|index| self.values.get(index));
        if let Some(value) = value {
            value.store(self.state.now(), Ordering::Release);
        }
    }

    /// The bytes of queries from `first` on; zero where nothing was written.
    pub(super) fn bytes(&self, first: u32, count: u32) -> Vec<u8> {
        let values = self.values.iter();
        let part = values
            .skip(usize::try_from(first).unwrap_or(usize::MAX))
            .take(usize::try_from(count).unwrap_or(usize::MAX));
        part.flat_map(|value| value.load(Ordering::Acquire).to_le_bytes())
            .collect()
    }

    /// Checks that queries before `end` exist.
    pub(super) fn check_end(&self, end: u64) -> Result<(), QueryError> {
        let count = u32::try_from(self.values.len()).unwrap_or(u32::MAX);
        if end > u64::from(count) {
            return Err(QueryError::OutOfRange {
                index: end.saturating_sub(1),
                count,
            });
        }
        Ok(())
    }

    /// Whether a timestamp may be written to query `index`.
    pub(super) fn check_index(&self, index: u32) -> Result<(), QueryError> {
        if !self.timestamps {
            return Err(QueryError::NoTimestamps {
                label: self.label.clone(),
            });
        }
        self.check_end(u64::from(index) + 1)
    }

    /// Fails once the set has been destroyed.
    pub(super) fn check_alive(&self) -> Result<(), ObjectError> {
        if self.destroyed.load(Ordering::Acquire) {
            return Err(ObjectError::Destroyed {
                kind: QuerySet::KIND,
                label: self.label.clone(),
            });
        }
        Ok(())
    }
}

/// wgpu's handle.
pub(super) struct QuerySet(pub(super) Arc<QueryData>);

debug_by_name!(QuerySet, QueryData);

impl Object for QuerySet {
    const KIND: &'static str = "QuerySet";
    fn state(&self) -> &Arc<State> {
        &self.0.state
    }
    fn label(&self) -> &str {
        &self.0.label
    }
    fn is_valid(&self) -> bool {
        self.0.valid
    }
}

/// The query set behind a handle, if it is `state`'s and valid.
pub(super) fn own_query_set(
    state: &Arc<State>,
    set: &DispatchQuerySet,
) -> Result<Arc<QueryData>, ObjectError> {
    own(state, set.as_custom::<QuerySet>()).map(|set| Arc::clone(&set.0))
}

impl QuerySet {
    pub(super) fn create(state: &Arc<State>, desc: &wgpu::QuerySetDescriptor<'_>) -> Self {
        let label = desc.label.unwrap_or_default();
        let checked = check(state, desc);
        let valid = checked.is_ok() && !state.is_lost();
        if let Err(error) = checked {
            state.invalid("Device::create_query_set", label, error);
        }
        let count = if valid { desc.count } else { 0 };
        Self(Arc::new(QueryData {
            state: Arc::clone(state),
            label: label.to_owned(),
            valid,
            destroyed: AtomicBool::new(false),
            timestamps: matches!(desc.ty, wgpu::QueryType::Timestamp),
            values: (0..count).map(|_| AtomicU64::new(0)).collect(),
        }))
    }
}

fn check(state: &State, desc: &wgpu::QuerySetDescriptor<'_>) -> Result<(), QueryError> {
    match desc.ty {
        wgpu::QueryType::Timestamp => state.require(wgpu::Features::TIMESTAMP_QUERY)?,
        wgpu::QueryType::PipelineStatistics(_) => {
            state.require(wgpu::Features::PIPELINE_STATISTICS_QUERY)?;
        }
        // Nothing is drawn here: they stay zero.
        wgpu::QueryType::Occlusion => {}
    }
    let (count, limit) = (desc.count, wgpu::QUERY_SET_MAX_QUERIES);
    if count == 0 {
        return Err(QueryError::Empty);
    }
    if count > limit {
        return Err(QueryError::TooMany { count, limit });
    }
    Ok(())
}

impl QuerySetInterface for QuerySet {
    fn destroy(&self) {
        self.0.destroyed.store(true, Ordering::Release);
    }
}
