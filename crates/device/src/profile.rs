//! What the host does and when, and what the GPU does meanwhile: stages, bytes, and a trace of both.
//!
//! Off, each instrumented place costs one relaxed load and a branch. On, a [`StageSpan`] notes beginning and end of a
//! stage of the host's work; together with the timestamps of the dispatches they become a [`Profile`]: a table by
//! `Display`, or a trace that Chrome's and Perfetto's viewers open.
//!
//! With the feature `tracing` each span is one of that crate too, profile or not, for whoever subscribes.
//!
//! GPU clocks have an origin of their own and wgpu relates none of them to the host's. The GPU track is therefore
//! shifted as a whole, by the least amount with which no batch begins before the host began to submit it: distances
//! on one track are measured, those between the tracks are lower bounds. Invariant: memory is bounded; events beyond
//! the bound are counted and left out of the trace, not out of the sums.

mod report;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;

use crate::recorder::Work;

pub use report::Profile;

/// Events kept on each track.
const MAX_EVENTS: usize = 1 << 19;

/// A kind of work on the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Stage {
    /// Checks, grids and parameters.
    Plan,
    /// Finding the kernel, and compiling it if it is new.
    Lookup,
    /// Recording commands, with waiting for the queue's lock.
    Record,
    /// Handing a batch to the driver.
    Submit,
    /// Waiting for the GPU.
    Wait,
}

impl Stage {
    /// All stages, in the order in which an operation passes them.
    pub const ALL: [Self; 5] = [
        Self::Plan,
        Self::Lookup,
        Self::Record,
        Self::Submit,
        Self::Wait,
    ];

    /// Its name in tables and traces.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Lookup => "lookup",
            Self::Record => "record",
            Self::Submit => "submit",
            Self::Wait => "wait",
        }
    }
}

#[cfg(feature = "tracing")]
impl Stage {
    /// A span of the crate `tracing`, with the stage's name and the target `ziggurat`, at the level of traces.
    fn entered(self) -> tracing::span::EnteredSpan {
        macro_rules! span {
            ($name:literal) => {
                tracing::trace_span!(target: "ziggurat", $name)
            };
        }
        let span = match self {
            Self::Plan => span!("plan"),
            Self::Lookup => span!("lookup"),
            Self::Record => span!("record"),
            Self::Submit => span!("submit"),
            Self::Wait => span!("wait"),
        };
        span.entered()
    }
}

/// Host time of all spans of one stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StageTime {
    /// How many there were.
    pub count: u64,
    /// Nanoseconds they took together; stages may lie within another.
    pub total_ns: u64,
    /// The longest, in nanoseconds.
    pub max_ns: u64,
}

impl StageTime {
    fn add(&mut self, ns: u64) {
        self.count += 1;
        self.total_ns = self.total_ns.saturating_add(ns);
        self.max_ns = self.max_ns.max(ns);
    }
}

/// Something with a beginning and an end, in nanoseconds from the start of the profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) name: String,
    pub(crate) begin: u64,
    pub(crate) end: u64,
    /// The host's thread, or the submission for the GPU.
    pub(crate) lane: u64,
    /// What a dispatch did.
    pub(crate) work: Option<Work>,
}

#[derive(Debug, Default)]
struct State {
    stages: [StageTime; Stage::ALL.len()],
    host: Vec<(Stage, u64, u64, u64)>,
    gpu: Vec<Event>,
    /// When each batch began to be submitted.
    submits: Vec<(u64, u64)>,
    dropped: u64,
    started: u64,
}

/// Collects the host's part for one device.
#[derive(Debug)]
pub(crate) struct HostProfile {
    on: AtomicBool,
    moved: AtomicU64,
    #[cfg(not(target_arch = "wasm32"))]
    origin: std::time::Instant,
    state: Mutex<State>,
}

impl Default for HostProfile {
    fn default() -> Self {
        Self {
            on: AtomicBool::new(false),
            moved: AtomicU64::new(0),
            #[cfg(not(target_arch = "wasm32"))]
            origin: std::time::Instant::now(),
            state: Mutex::default(),
        }
    }
}

/// A small number for this thread.
fn lane() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    thread_local!(static LANE: u64 = NEXT.fetch_add(1, Ordering::Relaxed));
    LANE.with(|lane| *lane)
}

impl HostProfile {
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    #[cfg(not(target_arch = "wasm32"))]
    fn now(&self) -> u64 {
        u64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// The web has no clock without a browser binding: host times are zero there.
    #[cfg(target_arch = "wasm32")]
    fn now(&self) -> u64 {
        0
    }

    pub(crate) fn start(&self) {
        *self.state.lock() = State {
            started: self.now(),
            ..State::default()
        };
        self.moved.store(0, Ordering::Relaxed);
        self.on.store(true, Ordering::Relaxed);
    }

    pub(crate) fn stop(&self) {
        self.on.store(false, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn span(&self, stage: Stage) -> StageSpan<'_> {
        StageSpan {
            open: self.is_on().then(|| (self, stage, self.now())),
            #[cfg(feature = "tracing")]
            _entered: stage.entered(),
        }
    }

    #[inline]
    pub(crate) fn moved(&self, bytes: u64) {
        if self.is_on() {
            self.moved.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    #[inline]
    pub(crate) fn submitting(&self, submission: u64) {
        if self.is_on() {
            let now = self.now();
            let mut state = self.state.lock();
            if state.submits.len() < MAX_EVENTS {
                state.submits.push((submission, now));
            }
        }
    }

    /// A dispatch, in nanoseconds of the GPU's clock.
    pub(crate) fn ran(&self, name: &str, submission: u64, [begin, end]: [u64; 2], work: Work) {
        let mut state = self.state.lock();
        if state.gpu.len() >= MAX_EVENTS {
            state.dropped += 1;
            return;
        }
        state.gpu.push(Event {
            name: name.to_owned(),
            begin,
            end,
            lane: submission,
            work: Some(work),
        });
    }

    fn ended(&self, stage: Stage, begin: u64) {
        let end = self.now();
        let mut state = self.state.lock();
        if let Some(time) = state.stages.get_mut(stage as usize) {
            time.add(end.saturating_sub(begin));
        }
        if state.host.len() < MAX_EVENTS {
            state.host.push((stage, begin, end, lane()));
        } else {
            state.dropped += 1;
        }
    }

    /// What was collected; starts again from nothing.
    pub(crate) fn take(&self) -> Profile {
        let wall = self.now();
        let state = std::mem::take(&mut *self.state.lock());
        let since = |at: u64| at.saturating_sub(state.started);
        let submits: Vec<(u64, u64)> = state
            .submits
            .iter()
            .map(|&(id, at)| (id, since(at)))
            .collect();
        Profile {
            wall_ns: since(wall),
            bytes_copied: self.moved.swap(0, Ordering::Relaxed),
            kernels: Vec::new(),
            stages: Stage::ALL.into_iter().zip(state.stages).collect(),
            counters: Vec::new(),
            dropped_events: state.dropped,
            host: state
                .host
                .into_iter()
                .map(|(stage, begin, end, lane)| Event {
                    name: stage.name().to_owned(),
                    begin: since(begin),
                    end: since(end),
                    lane,
                    work: None,
                })
                .collect(),
            gpu: align(state.gpu, &submits),
        }
    }
}

/// Shifts GPU events to the host's clock, by the least amount with which none begins before its submission did.
fn align(mut gpu: Vec<Event>, submits: &[(u64, u64)]) -> Vec<Event> {
    let submits: std::collections::HashMap<u64, u64> = submits.iter().copied().collect();
    let shift = gpu
        .iter()
        .filter_map(|event| {
            let at = submits.get(&event.lane)?;
            Some(i128::from(*at) - i128::from(event.begin))
        })
        .max()
        .or_else(|| gpu.iter().map(|event| -i128::from(event.begin)).max())
        .unwrap_or(0);
    let moved = |at: u64| u64::try_from((i128::from(at) + shift).max(0)).unwrap_or(u64::MAX);
    for event in &mut gpu {
        (event.begin, event.end) = (moved(event.begin), moved(event.end));
    }
    gpu.sort_by_key(|event| event.begin);
    gpu
}

/// Notes the time from its making to its drop, if a profile is being made.
#[must_use = "the stage ends when this is dropped"]
#[derive(Debug)]
pub struct StageSpan<'a> {
    open: Option<(&'a HostProfile, Stage, u64)>,
    #[cfg(feature = "tracing")]
    _entered: tracing::span::EnteredSpan,
}

impl Drop for StageSpan<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some((profile, stage, begin)) = self.open.take() {
            profile.ended(stage, begin);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(lane: u64, begin: u64, end: u64) -> Event {
        Event {
            name: "k".to_owned(),
            begin,
            end,
            lane,
            work: None,
        }
    }

    #[test]
    fn no_batch_runs_before_its_submission_and_distances_are_kept() {
        let gpu = vec![
            event(2, 1_000_500, 1_000_600),
            event(1, 1_000_000, 1_000_100),
        ];
        let aligned = align(gpu, &[(1, 10), (2, 700)]);
        assert_eq!(aligned, [event(1, 200, 300), event(2, 700, 800)]);
        let unknown = align(vec![event(9, 50, 60), event(9, 80, 90)], &[]);
        assert_eq!(unknown, [event(9, 0, 10), event(9, 30, 40)]);
    }

    #[test]
    fn spans_count_only_while_a_profile_is_made() {
        let profile = HostProfile::default();
        drop(profile.span(Stage::Record));
        profile.moved(5);
        profile.start();
        drop(profile.span(Stage::Record));
        drop(profile.span(Stage::Record));
        drop(profile.span(Stage::Wait));
        profile.moved(7);
        profile.stop();
        drop(profile.span(Stage::Record));
        let taken = profile.take();
        let counts: Vec<u64> = taken.stages.iter().map(|(_, time)| time.count).collect();
        assert_eq!(counts, [0, 0, 2, 0, 1]);
        assert_eq!((taken.bytes_copied, taken.host.len()), (7, 3));
    }
}
