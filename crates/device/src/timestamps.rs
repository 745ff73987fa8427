//! Time per kernel by timestamp queries.
//!
//! While profiling is on, each dispatch gets a compute pass of its own with a timestamp at both
//! ends (timestamps inside a pass are not in WebGPU). Queries come in chunks; a chunk is resolved
//! and copied to a mappable buffer at the end of its batch, read in the map callback, summed by
//! label and used again. Passes of their own cost some overlap between kernels: times are per
//! kernel, and their sum is not the time of a batch without profiling. For that there are marks: the time at which
//! all that was recorded before a point is done, by a pass without dispatches.
//!
//! The only buffers this crate creates are the two of a chunk.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Poll, Waker};

use parking_lot::Mutex;

use crate::AdapterSummary;
use crate::completion::Submission;
use crate::mapped_lock::MappedLock;
use crate::profile::HostProfile;
use crate::queue::AfterSubmit;
use crate::recorder::Work;
use crate::state::Shared;

/// Dispatches timed by one chunk.
const CAPACITY: u32 = 128;
const QUERIES: u32 = 2 * CAPACITY;
const BYTES: u64 = QUERIES as u64 * wgpu::QUERY_SIZE as u64;

/// GPU time of all dispatches with one label.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelTime {
    /// The dispatches' label.
    pub label: String,
    /// How many there were.
    pub count: u64,
    /// Nanoseconds they took together.
    pub total_ns: u64,
    /// The shortest, in nanoseconds.
    pub min_ns: u64,
    /// The longest, in nanoseconds.
    pub max_ns: u64,
    /// Dispatches whose end was before their beginning: the driver's clock was reset in between.
    /// They count in `count` and in nothing else.
    pub unreliable: u64,
    /// Bytes that the others read together: of each operand the elements that it has, each once.
    pub bytes_read: u64,
    /// Bytes that they wrote; what is changed in place counts here only.
    pub bytes_written: u64,
    /// Arithmetic operations that they did together, as the dispatches state them; 0 if none does.
    pub operations: u64,
}

impl KernelTime {
    /// Gigabytes (10⁹) per second read and written while it ran; 0 if it took no time.
    #[must_use]
    pub fn gigabytes_per_second(&self) -> f64 {
        rate(
            self.bytes_read as f64 + self.bytes_written as f64,
            self.total_ns,
        )
    }

    /// Billions (10⁹) of arithmetic operations per second while it ran; 0 if none was stated, or it took no time.
    #[must_use]
    pub fn gigaflops(&self) -> f64 {
        rate(self.operations as f64, self.total_ns)
    }

    fn add(&mut self, begin: u64, end: u64, work: Work, period: f64) {
        self.count += 1;
        let Some(ticks) = end.checked_sub(begin) else {
            self.unreliable += 1;
            return;
        };
        let ns = (ticks as f64 * period).round() as u64;
        let first = self.count - self.unreliable == 1;
        self.bytes_read = self.bytes_read.saturating_add(work.read);
        self.bytes_written = self.bytes_written.saturating_add(work.written);
        self.operations = self.operations.saturating_add(work.operations);
        self.total_ns = self.total_ns.saturating_add(ns);
        self.min_ns = if first { ns } else { self.min_ns.min(ns) };
        self.max_ns = self.max_ns.max(ns);
    }
}

/// Billions per second: as many per nanosecond.
pub(crate) fn rate(amount: f64, ns: u64) -> f64 {
    if ns == 0 {
        return 0.0;
    }
    amount / ns as f64
}

/// What stands in the place of a label at a mark.
pub(crate) const MARK: &str = "";

/// Queries and buffers for up to [`CAPACITY`] dispatches.
#[derive(Debug)]
pub(crate) struct Chunk {
    queries: wgpu::QuerySet,
    resolved: wgpu::Buffer,
    readable: wgpu::Buffer,
    /// The dispatches: label, and what they do.
    labels: Vec<(String, Work)>,
}

impl Chunk {
    fn new(device: &wgpu::Device) -> Self {
        let buffer = |label, usage| {
            device.create_buffer(&wgpu::BufferDescriptor {
                label: Some(label),
                size: BYTES,
                usage,
                mapped_at_creation: false,
            })
        };
        Self {
            queries: device.create_query_set(&wgpu::QuerySetDescriptor {
                label: Some("kernel times"),
                ty: wgpu::QueryType::Timestamp,
                count: QUERIES,
            }),
            resolved: buffer(
                "kernel times, resolved",
                wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC,
            ),
            readable: buffer(
                "kernel times, readable",
                wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
            ),
            labels: Vec::new(),
        }
    }

    fn used(&self) -> u32 {
        u32::try_from(self.labels.len()).unwrap_or(CAPACITY)
    }

    /// The timestamps of the dispatch reserved last.
    pub(crate) fn writes(&self) -> wgpu::ComputePassTimestampWrites<'_> {
        let first = 2 * self.used().saturating_sub(1);
        wgpu::ComputePassTimestampWrites {
            query_set: &self.queries,
            beginning_of_pass_write_index: Some(first),
            end_of_pass_write_index: Some(first + 1),
        }
    }

    pub(crate) fn resolve(&self, encoder: &mut wgpu::CommandEncoder) {
        let used = 2 * self.used();
        if used == 0 {
            return;
        }
        let bytes = u64::from(used) * u64::from(wgpu::QUERY_SIZE);
        encoder.resolve_query_set(&self.queries, 0..used, &self.resolved, 0);
        encoder.copy_buffer_to_buffer(&self.resolved, 0, &self.readable, 0, bytes);
    }
}

#[derive(Debug, Default)]
struct Times {
    free: Vec<Chunk>,
    /// Submissions whose times have not been read, one entry per chunk.
    unread: Vec<u64>,
    waiting: Vec<Waker>,
    totals: BTreeMap<String, KernelTime>,
    /// Nanoseconds of the marks that nobody took.
    marks: Vec<u64>,
}

/// Collects kernel times of one device.
#[derive(Debug)]
pub(crate) struct Profiler {
    available: bool,
    on: AtomicBool,
    /// The host's part.
    pub(crate) host: HostProfile,
    /// Nanoseconds per tick.
    period: f64,
    mapped: MappedLock,
    times: Mutex<Times>,
}

impl Profiler {
    pub(crate) fn new(adapter: &AdapterSummary, available: bool, on: bool, period: f32) -> Self {
        Self {
            mapped: MappedLock::of(adapter),
            available,
            on: AtomicBool::new(available && on),
            host: HostProfile::default(),
            period: period.into(),
            times: Mutex::default(),
        }
    }

    pub(crate) fn set(&self, on: bool) -> bool {
        self.on.store(on && self.available, Ordering::Relaxed);
        self.available
    }

    /// Whether the device has timestamps.
    pub(crate) fn is_available(&self) -> bool {
        self.available
    }

    pub(crate) fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    /// Makes room for one more dispatch in the last of `chunks`.
    pub(crate) fn reserve(
        &self,
        device: &wgpu::Device,
        chunks: &mut Vec<Chunk>,
        (label, work): (&str, Work),
    ) {
        if let Some(last) = chunks.last_mut().filter(|last| last.used() < CAPACITY) {
            last.labels.push((label.to_owned(), work));
            return;
        }
        let free = self.times.lock().free.pop();
        let mut chunk = free.unwrap_or_else(|| Chunk::new(device));
        chunk.labels.push((label.to_owned(), work));
        chunks.push(chunk);
    }

    /// The hook that reads `chunk` once its batch has been submitted.
    pub(crate) fn reader(
        self: &Arc<Self>,
        chunk: Chunk,
        submission: Submission,
        shared: &Arc<Shared>,
    ) -> AfterSubmit {
        let (profiler, shared) = (self.clone(), shared.clone());
        self.times.lock().unread.push(submission.0);
        Box::new(move |_| {
            shared.guard();
            let readable = chunk.readable.clone();
            let guard = shared.clone();
            readable.map_async(wgpu::MapMode::Read, .., move |mapped| {
                for waker in profiler.read(chunk, submission.0, mapped.is_ok()) {
                    guard.wake_soon(waker);
                }
                guard.unguard();
            });
            shared.nudge();
        })
    }

    /// Adds the times of a chunk; returns who is to be woken for them.
    fn read(&self, mut chunk: Chunk, submission: u64, mapped: bool) -> Vec<Waker> {
        let mut pairs = Vec::new();
        if mapped {
            if let Ok(view) = chunk.readable.get_mapped_range(..) {
                let decoded = self.mapped.during(&chunk.readable, || decode(&view));
                pairs = decoded.unwrap_or_default();
            }
            chunk.readable.unmap();
        }
        let mut times = self.times.lock();
        let traced = self.host.is_on();
        let ns = |ticks: u64| (ticks as f64 * self.period).round() as u64;
        for ((label, work), (begin, end)) in chunk.labels.drain(..).zip(pairs) {
            if label == MARK {
                times.marks.push(ns(end));
                continue;
            }
            if traced && end >= begin {
                self.host
                    .ran(&label, submission, [ns(begin), ns(end)], work);
            }
            let total = times.totals.entry(label).or_default();
            total.add(begin, end, work, self.period);
        }
        if mapped {
            times.free.push(chunk);
        }
        if let Some(at) = times.unread.iter().position(|&unread| unread == submission) {
            times.unread.swap_remove(at);
        }
        std::mem::take(&mut times.waiting)
    }

    /// Resolves when the times of all submissions up to `submission` have been read.
    pub(crate) fn when_read(
        self: &Arc<Self>,
        submission: Submission,
    ) -> impl Future<Output = ()> + Send + Unpin + use<> {
        let profiler = self.clone();
        std::future::poll_fn(move |context| {
            let mut times = profiler.times.lock();
            if !times.unread.iter().any(|&unread| unread <= submission.0) {
                return Poll::Ready(());
            }
            let waker = context.waker();
            if !times.waiting.iter().any(|known| known.will_wake(waker)) {
                times.waiting.push(waker.clone());
            }
            Poll::Pending
        })
    }

    /// The marks so far, earliest first; starts again from nothing.
    pub(crate) fn take_marks(&self) -> Vec<u64> {
        let mut marks = std::mem::take(&mut self.times.lock().marks);
        marks.sort_unstable();
        marks
    }

    /// The times so far, longest first; starts again from nothing.
    pub(crate) fn take(&self) -> Vec<KernelTime> {
        let totals = std::mem::take(&mut self.times.lock().totals);
        let mut times: Vec<KernelTime> = totals
            .into_iter()
            .map(|(label, time)| KernelTime { label, ..time })
            .collect();
        times.sort_by_key(|time| std::cmp::Reverse(time.total_ns));
        times
    }
}

/// Pairs of ticks from the bytes of resolved queries.
fn decode(bytes: &[u8]) -> Vec<(u64, u64)> {
    let (words, _) = bytes.as_chunks::<8>();
    let ticks: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
    let (pairs, _) = ticks.as_chunks::<2>();
    pairs.iter().map(|[begin, end]| (*begin, *end)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn work(read: u64, written: u64, operations: u64) -> Work {
        Work {
            read,
            written,
            operations,
        }
    }

    #[test]
    fn sums_by_period_and_keeps_extremes() {
        let mut time = KernelTime::default();
        time.add(100, 110, work(30, 5, 100), 2.5);
        time.add(200, 204, work(30, 5, 40), 2.5);
        assert_eq!((time.count, time.total_ns), (2, 35));
        assert_eq!((time.min_ns, time.max_ns), (10, 25));
        assert_eq!((time.bytes_read, time.bytes_written), (60, 10));
        assert_eq!(time.gigabytes_per_second(), 2.0);
        assert_eq!((time.operations, time.gigaflops()), (140, 4.0));
        let none = KernelTime::default();
        assert_eq!((none.gigabytes_per_second(), none.gigaflops()), (0.0, 0.0));
    }

    #[test]
    fn an_end_before_its_beginning_is_counted_apart() {
        let mut time = KernelTime::default();
        time.add(100, 50, work(8, 8, 8), 1.0);
        time.add(100, 107, work(1, 2, 3), 1.0);
        assert_eq!((time.count, time.unreliable), (2, 1));
        assert_eq!((time.total_ns, time.min_ns, time.max_ns), (7, 7, 7));
        assert_eq!(
            (time.bytes_read, time.bytes_written, time.operations),
            (1, 2, 3)
        );
    }

    #[test]
    fn ticks_are_little_endian_pairs() {
        let bytes: Vec<u8> = [1u64, 2, 3, 4]
            .iter()
            .flat_map(|tick| tick.to_le_bytes())
            .collect();
        assert_eq!(decode(&bytes), [(1, 2), (3, 4)]);
    }
}
