//! Who holds how much memory: what is live, by kind and label, and what was at the peak.
//!
//! A thread says what it allocates for ([`Memory::labelled`]); the ledger counts blocks of the pool from when they are handed
//! out until they come back. Invariants: while it is off, an allocation pays one relaxed load; what was handed out before it
//! was switched on is in none of its rows.

use std::cell::Cell;
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use crate::memory::Memory;
use crate::usage::Usage;

/// What memory is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum MemoryKind {
    /// The result of an operation.
    Result,
    /// Memory between the kernels of an operation.
    Scratch,
    /// A copy of what is on the host.
    Upload,
    /// Nobody said.
    #[default]
    Other,
}

impl MemoryKind {
    /// Its name in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Result => "result",
            Self::Scratch => "scratch",
            Self::Upload => "upload",
            Self::Other => "other",
        }
    }
}

/// What a thread allocates for.
pub(crate) type Label = (MemoryKind, &'static str);

thread_local! {
    static LABEL: Cell<Option<Label>> = const { Cell::new(None) };
}

/// The memory of one kind and label.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryRow {
    /// What it is for.
    pub kind: MemoryKind,
    /// The operation, if one said so.
    pub label: &'static str,
    /// Bytes of the blocks in use.
    pub live: u64,
    /// How many blocks are in use.
    pub blocks: u64,
    /// The most bytes of this row that were in use.
    pub peak: u64,
    /// Bytes of this row when the sum of all rows was at its peak.
    pub at_peak: u64,
    /// Blocks that were handed out.
    pub allocations: u64,
}

/// Where memory is: see [`Memory::report`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryReport {
    /// What is in use by kind and label, what was most at the peak first.
    pub rows: Vec<MemoryRow>,
    /// Bytes in use, of all rows.
    pub live: u64,
    /// The most bytes that were in use, of all rows together.
    pub peak: u64,
    /// The whole memory, with what was handed out before the report was switched on.
    pub usage: Usage,
}

impl MemoryReport {
    /// The rows of a kind: live bytes, and bytes at the peak.
    #[must_use]
    pub fn of_kind(&self, kind: MemoryKind) -> [u64; 2] {
        let rows = self.rows.iter().filter(|row| row.kind == kind);
        rows.fold([0, 0], |[live, peak], row| {
            [live + row.live, peak + row.at_peak]
        })
    }
}

impl fmt::Display for MemoryReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let usage = &self.usage;
        writeln!(f, "{} bytes live, {} at the peak", self.live, self.peak)?;
        writeln!(
            f,
            "{:8} {:24} {:>14} {:>14} {:>14} {:>8}",
            "kind", "label", "live", "at the peak", "own peak", "blocks"
        )?;
        for row in &self.rows {
            let (kind, label) = (row.kind.name(), row.label);
            let MemoryRow {
                live,
                at_peak,
                peak,
                allocations,
                ..
            } = row;
            writeln!(
                f,
                "{kind:8} {label:24} {live:14} {at_peak:14} {peak:14} {allocations:8}"
            )?;
        }
        writeln!(
            f,
            "also: {} bytes idle, {} of staging, {} of parameters",
            usage.cached, usage.staging, usage.uniform
        )
    }
}

#[derive(Debug, Default)]
struct Books {
    /// Row and bytes of each block.
    blocks: HashMap<u64, (usize, u64)>,
    rows: Vec<MemoryRow>,
    live: u64,
    peak: u64,
}

/// The books of a pool.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    on: AtomicBool,
    books: Mutex<Books>,
}

impl Ledger {
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    fn set(&self, on: bool) {
        let mut books = self.books.lock();
        *books = Books::default();
        self.on.store(on, Ordering::Relaxed);
    }

    /// A block is handed out.
    #[cold]
    pub(crate) fn take(&self, id: u64, bytes: u64) {
        let (kind, label) = LABEL.get().unwrap_or_default();
        let mut books = self.books.lock();
        let books = &mut *books;
        let known = books.rows.iter();
        let known = known
            .clone()
            .position(|row| (row.kind, row.label) == (kind, label));
        let at = known.unwrap_or_else(|| {
            books.rows.push(MemoryRow {
                kind,
                label,
                ..MemoryRow::default()
            });
            books.rows.len() - 1
        });
        books.blocks.insert(id, (at, bytes));
        books.live += bytes;
        if let Some(row) = books.rows.get_mut(at) {
            row.live += bytes;
            row.blocks += 1;
            row.allocations += 1;
            row.peak = row.peak.max(row.live);
        }
        if books.live > books.peak {
            books.peak = books.live;
            books.rows.iter_mut().for_each(|row| row.at_peak = row.live);
        }
    }

    /// A block came back.
    #[cold]
    pub(crate) fn give_back(&self, id: u64) {
        let mut books = self.books.lock();
        let Some((at, bytes)) = books.blocks.remove(&id) else {
            return;
        };
        books.live = books.live.saturating_sub(bytes);
        if let Some(row) = books.rows.get_mut(at) {
            row.live = row.live.saturating_sub(bytes);
            row.blocks = row.blocks.saturating_sub(1);
        }
    }

    fn report(&self, usage: Usage) -> MemoryReport {
        let books = self.books.lock();
        let mut rows = books.rows.clone();
        rows.sort_by_key(|row| {
            (
                std::cmp::Reverse((row.at_peak, row.peak)),
                row.kind,
                row.label,
            )
        });
        MemoryReport {
            rows,
            live: books.live,
            peak: books.peak,
            usage,
        }
    }
}

/// Puts back what this thread allocated for.
struct Restored(Option<Label>);

impl Drop for Restored {
    fn drop(&mut self) {
        LABEL.set(self.0);
    }
}

impl Memory {
    /// Begins to count who holds how much memory, from nothing; or ends it.
    ///
    /// ```
    /// # use ziggurat_device::{Device, DeviceOptions};
    /// # use ziggurat_memory::{Memory, MemoryKind, MemoryOptions};
    /// # let device = Device::noop(DeviceOptions::default(), None)?;
    /// let memory = Memory::new(&device, MemoryOptions::default());
    /// memory.set_tracking(true);
    /// let held = memory.labelled(MemoryKind::Result, "sum", || memory.alloc(1000))?;
    /// let report = memory.report();
    /// assert_eq!((report.rows[0].label, report.rows[0].blocks), ("sum", 1));
    /// assert_eq!(report.live, held.capacity());
    /// drop(held);
    /// assert_eq!((memory.report().live, memory.report().peak), (0, report.live));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_tracking(&self, on: bool) {
        self.ledger().set(on);
    }

    /// Whether it is counted who holds how much.
    #[must_use]
    #[inline]
    pub fn is_tracking(&self) -> bool {
        self.ledger().is_on()
    }

    /// Calls `f`, what it allocates on this thread being for `label`, unless somebody further out said so already.
    #[inline]
    pub fn labelled<R>(&self, kind: MemoryKind, label: &'static str, f: impl FnOnce() -> R) -> R {
        if !self.is_tracking() {
            return f();
        }
        let before = LABEL.get();
        let _restored = Restored(before);
        LABEL.set(before.or(Some((kind, label))));
        f()
    }

    /// Who holds how much since tracking was switched on ([`Memory::set_tracking`]).
    #[must_use]
    pub fn report(&self) -> MemoryReport {
        self.ledger().report(self.usage())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_follow_what_is_held_and_remember_the_peak() {
        let ledger = Ledger::default();
        ledger.set(true);
        let take = |label, id, bytes| {
            let _restored = Restored(LABEL.get());
            LABEL.set(Some((MemoryKind::Result, label)));
            ledger.take(id, bytes);
        };
        take("a", 1, 100);
        take("b", 2, 50);
        ledger.give_back(1);
        take("b", 1, 30);
        // Nobody took this one.
        ledger.give_back(77);
        let report = ledger.report(Usage::default());
        assert_eq!((report.live, report.peak), (80, 150));
        let rows: Vec<_> = report.rows.iter().collect();
        assert_eq!(
            (rows[0].label, rows[0].live, rows[0].at_peak),
            ("a", 0, 100)
        );
        assert_eq!(
            (rows[1].label, rows[1].live, rows[1].at_peak),
            ("b", 80, 50)
        );
        assert_eq!(
            (rows[1].peak, rows[1].blocks, rows[1].allocations),
            (80, 2, 2)
        );
        assert_eq!(report.of_kind(MemoryKind::Result), [80, 150]);
        assert_eq!(report.of_kind(MemoryKind::Upload), [0, 0]);
        assert!(report.to_string().contains("result   b"));
        ledger.set(true);
        assert_eq!(ledger.report(Usage::default()).rows, []);
    }
}
