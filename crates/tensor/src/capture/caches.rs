//! The caches that a capture writes to: the lengths of those that grow are words on the device, set before each replay.
//!
//! Invariant: a replay finds the length that the host knows, and the host knows the length that it leaves.

use std::cell::RefCell;
use std::sync::Arc;

use parking_lot::MutexGuard;
use ziggurat_kernels::{Executor, View};
use ziggurat_memory::Mark;

use super::current;
use crate::Error;
use crate::kv_cache::Length;

thread_local! {
    /// The caches that this thread's capture uses.
    static CACHES: RefCell<Vec<UsedCache>> = const { RefCell::new(Vec::new()) };
    /// What it writes to of memory from before.
    static WRITTEN: RefCell<Vec<Written>> = const { RefCell::new(Vec::new()) };
}

/// A [`KvCache`](crate::KvCache) that a capture appends to, or of which it reads the length.
#[derive(Debug)]
struct UsedCache {
    length: Arc<Length>,
    /// i32 `[1]`: the length that a replay begins with.
    word: View,
    /// Positions that a replay appends.
    added: usize,
}

/// The memory of a cache that a capture writes to.
#[derive(Debug)]
struct Written {
    /// The address of what the cache shares with nobody.
    owner: usize,
    memory: Vec<Memory>,
}

/// Memory of a cache that a capture writes to.
#[derive(Debug)]
struct Memory {
    view: View,
    /// The marks that it had before.
    before: Vec<Mark>,
    /// Those that the captured writes gave it, which count for what replays write.
    own: Vec<Mark>,
}

impl Memory {
    /// Takes off the marks of writes that were captured: nothing was written.
    fn take_marks(&mut self) {
        let is_old = |mark: &Mark| self.before.iter().any(|old| old.is(mark));
        let (before, own) = self.view.buffer.marks().into_iter().partition(is_old);
        self.view.buffer.set_marks(before);
        self.own = own;
    }
}

/// An error within a capture that is not one of `Device::capture`.
fn check_capture(op: &'static str) -> Result<(), Error> {
    match current() {
        0 => {
            let text = "a cache can be captured by Device::capture only";
            Err(Error::argument(op, text))
        }
        _ => Ok(()),
    }
}

/// Within a capture: the memory of a cache's length, which `word` makes, and the positions that were appended up to here.
pub(crate) fn cache_length(
    op: &'static str,
    length: &Arc<Length>,
    word: impl FnOnce() -> Result<View, Error>,
) -> Result<(View, usize), Error> {
    check_capture(op)?;
    CACHES.with_borrow_mut(|caches| {
        let known = caches.iter().find(|used| Arc::ptr_eq(&used.length, length));
        if let Some(known) = known {
            return Ok((known.word.clone(), known.added));
        }
        let word = word()?;
        caches.push(UsedCache {
            length: Arc::clone(length),
            word: word.clone(),
            added: 0,
        });
        Ok((word, 0))
    })
}

/// Says, before anything is captured that writes to it, which memory a cache has. `owner` is the address of what this cache
/// alone has.
pub(crate) fn cache_memory(op: &'static str, owner: usize, views: &[&View]) -> Result<(), Error> {
    check_capture(op)?;
    WRITTEN.with_borrow_mut(|all| {
        if all.iter().any(|written| written.owner == owner) {
            return;
        }
        let memory = views.iter().map(|view| Memory {
            view: (*view).clone(),
            before: view.buffer.marks(),
            own: Vec::new(),
        });
        let memory = memory.collect();
        all.push(Written { owner, memory });
    });
    Ok(())
}

/// Counts positions that every replay will append to a cache of which [`cache_length`] was asked.
pub(crate) fn add_to_cache(length: &Arc<Length>, added: usize) {
    CACHES.with_borrow_mut(|caches| {
        let known = caches
            .iter_mut()
            .find(|used| Arc::ptr_eq(&used.length, length));
        if let Some(known) = known {
            known.added += added;
        }
    });
}

/// The caches of a capture that is being made; forgotten if it fails.
pub(super) struct Begun(());

pub(super) fn begin() -> Begun {
    Begun(())
}

impl Begun {
    pub(super) fn finish(self) -> Caches {
        let (mut grown, memory) = taken();
        grown.sort_by_key(|used| Arc::as_ptr(&used.length).addr());
        Caches { grown, memory }
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        taken();
    }
}

/// The caches of this thread's capture, and the memory of caches, which then has no mark of it.
fn taken() -> (Vec<UsedCache>, Vec<Memory>) {
    let written = WRITTEN.take().into_iter();
    let mut memory: Vec<Memory> = written.flat_map(|written| written.memory).collect();
    memory.iter_mut().for_each(Memory::take_marks);
    (CACHES.take(), memory)
}

/// The caches of a capture.
#[derive(Debug)]
pub(super) struct Caches {
    /// Those that grow, in the order of their addresses, in which they are locked.
    grown: Vec<UsedCache>,
    /// All memory that is written to.
    memory: Vec<Memory>,
}

/// Caches to which nobody else appends, with what a replay adds to them.
pub(super) struct Grown<'a>(Vec<(MutexGuard<'a, usize>, usize)>);

impl Caches {
    /// Sets the lengths that a replay begins with.
    ///
    /// # Errors
    /// If a cache has no room for what the replay appends; then nothing was recorded.
    pub(super) fn prepare(
        &self,
        op: &'static str,
        executor: &Executor,
    ) -> Result<Grown<'_>, Error> {
        let filled = self.grown.iter();
        let filled = filled.map(|used| (used.length.lock(), used.added));
        let filled: Vec<_> = filled.collect();
        for (used, (filled, added)) in self.grown.iter().zip(&filled) {
            used.length.check_room(op, **filled, *added)?;
        }
        for (used, (filled, _)) in self.grown.iter().zip(&filled) {
            let _filled = executor
                .fill(&used.word, **filled as f64)
                .map_err(|error| Error::from_kernel(op, error))?;
        }
        Ok(Grown(filled))
    }

    /// The marks of all that a replay finds in the caches.
    pub(super) fn marks(&self) -> Vec<Mark> {
        let memory = self.memory.iter();
        memory
            .flat_map(|memory| memory.view.buffer.marks())
            .collect()
    }

    /// Marks what a replay has appended: with the marks of its `inputs`, and with what `of_replay` makes of those of the
    /// capture.
    pub(super) fn mark(
        &self,
        inputs: &[Mark],
        mut of_replay: impl FnMut(&Mark) -> Result<Mark, Error>,
    ) -> Result<(), Error> {
        // Keys and values, and the caches of all layers, mostly depend on the same indices.
        let mut known: Vec<(&Mark, Mark)> = Vec::new();
        for memory in &self.memory {
            inputs.iter().for_each(|mark| memory.view.buffer.mark(mark));
            for own in &memory.own {
                let new = match known.iter().find(|(old, _)| old.is(own)) {
                    Some((_, new)) => new.clone(),
                    None => of_replay(own)?,
                };
                memory.view.buffer.mark(&new);
                known.push((own, new));
            }
        }
        Ok(())
    }
}

impl Grown<'_> {
    /// Counts what a replay appended.
    pub(super) fn finish(self) {
        for (mut filled, added) in self.0 {
            *filled += added;
        }
    }
}
