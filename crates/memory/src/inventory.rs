//! The pool's book-keeping: what is live, what is cached, what may be granted.
//!
//! Pure policy over items of any type: no GPU, no lock, no clock.
//! The pool asks for a [`Grant`], creates the buffer if it was a miss, and either keeps the grant or
//! cancels it; items to be released are returned to the caller, who drops them outside its lock.
//!
//! Invariants: `live` is the sum of the capacities granted and neither cancelled nor given back;
//! `cached` is the sum over the free list and at most `max_cached` after every call that adds to it;
//! `live + cached` never exceeds `limit`.

use crate::free_list::FreeList;
use crate::size_class;
use crate::usage::Usage;

/// An allocation that was allowed.
#[derive(Debug)]
pub(crate) struct Grant<T> {
    /// Bytes the buffer has or must have.
    pub(crate) capacity: u64,
    /// An idle item to reuse; `None` means that a new one must be made.
    pub(crate) item: Option<T>,
    /// Items to release first, to stay within the limit.
    pub(crate) evicted: Vec<T>,
}

/// An allocation that was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Larger than any buffer may be.
    TooLarge { limit: u64 },
    /// The reserved limit would be exceeded even with nothing cached.
    OverLimit,
}

/// Sizes the inventory keeps to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) limit: Option<u64>,
    pub(crate) max_cached: u64,
    pub(crate) max_buffer_bytes: u64,
    pub(crate) max_binding_bytes: u64,
}

/// The books of a pool of `T`.
#[derive(Debug)]
pub(crate) struct Inventory<T> {
    bounds: Bounds,
    free: FreeList<T>,
    counts: Usage,
}

impl<T> Inventory<T> {
    pub(crate) fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            free: FreeList::default(),
            counts: Usage::default(),
        }
    }

    /// Grants `bytes`, from the free list where something fits, and books them as live.
    #[inline]
    pub(crate) fn claim(&mut self, bytes: u64) -> Result<Grant<T>, Refusal> {
        let class =
            size_class::capacity(bytes, self.bounds.max_buffer_bytes).ok_or(Refusal::TooLarge {
                limit: size_class::largest(self.bounds.max_buffer_bytes),
            })?;
        let wanted = size_class::acceptable(class, self.bounds.max_binding_bytes);
        let (capacity, item) = match self.free.take(wanted) {
            Some((capacity, item)) => (capacity, Some(item)),
            None => (self.within_limit(bytes, class)?, None),
        };
        let mut evicted = Vec::new();
        if item.is_some() {
            self.counts.hits += 1;
        } else {
            self.counts.misses += 1;
            if let Some(limit) = self.bounds.limit {
                evicted = self
                    .free
                    .evict_to(limit.saturating_sub(self.counts.live + capacity));
                self.counts.released += count(&evicted);
            }
        }
        self.counts.allocations += 1;
        self.counts.live += capacity;
        self.counts.live_requested += bytes;
        self.counts.live_buffers += 1;
        self.counts.peak = self.counts.peak.max(self.counts.live);
        self.note_reserved();
        Ok(Grant {
            capacity,
            item,
            evicted,
        })
    }

    /// Undoes a grant whose buffer could not be made.
    pub(crate) fn cancel(&mut self, capacity: u64, bytes: u64) {
        self.counts.allocations -= 1;
        self.counts.misses -= 1;
        self.book_out(capacity, bytes);
    }

    /// Takes a live item back into the free list; returns what must be released instead of kept.
    #[inline]
    pub(crate) fn give_back(&mut self, capacity: u64, bytes: u64, item: T) -> Vec<T> {
        self.book_out(capacity, bytes);
        self.free.put(capacity, item);
        self.evict(self.bounds.max_cached)
    }

    /// Shrinks the free list to at most `target` bytes; returns the bytes and the items released.
    pub(crate) fn trim(&mut self, target: u64) -> (u64, Vec<T>) {
        let before = self.free.bytes();
        let evicted = self.evict(target);
        (before - self.free.bytes(), evicted)
    }

    /// Sets the peaks to what there is now.
    pub(crate) fn reset_peaks(&mut self) {
        self.counts.peak = self.counts.live;
        self.counts.peak_reserved = self.reserved();
    }

    /// The numbers. Staging and uniform memory are not known here and are zero.
    pub(crate) fn usage(&self) -> Usage {
        Usage {
            cached: self.free.bytes(),
            cached_buffers: u64::try_from(self.free.len()).unwrap_or(u64::MAX),
            reserved: self.reserved(),
            ..self.counts
        }
    }

    pub(crate) const fn reserved(&self) -> u64 {
        self.counts.live + self.free.bytes()
    }

    pub(crate) const fn live(&self) -> u64 {
        self.counts.live
    }

    /// The class if it fits under the limit with nothing cached, else the exact size if that does.
    fn within_limit(&self, bytes: u64, class: u64) -> Result<u64, Refusal> {
        let Some(limit) = self.bounds.limit else {
            return Ok(class);
        };
        let room = limit.saturating_sub(self.counts.live);
        if class <= room {
            return Ok(class);
        }
        match size_class::exact(bytes) {
            Some(exact) if exact <= room => Ok(exact),
            _ => Err(Refusal::OverLimit),
        }
    }

    #[inline]
    fn evict(&mut self, target: u64) -> Vec<T> {
        if self.free.bytes() <= target {
            return Vec::new();
        }
        let evicted = self.free.evict_to(target);
        self.counts.released += count(&evicted);
        evicted
    }

    const fn book_out(&mut self, capacity: u64, bytes: u64) {
        self.counts.live -= capacity;
        self.counts.live_requested -= bytes;
        self.counts.live_buffers -= 1;
    }

    fn note_reserved(&mut self) {
        self.counts.peak_reserved = self.counts.peak_reserved.max(self.reserved());
    }
}

fn count<T>(items: &[T]) -> u64 {
    u64::try_from(items.len()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use proptest::prelude::*;

    fn inventory(limit: Option<u64>, max_cached: u64) -> Inventory<u64> {
        Inventory::new(Bounds {
            limit,
            max_cached,
            max_buffer_bytes: 1 << 20,
            max_binding_bytes: 1 << 20,
        })
    }

    #[test]
    fn reuses_a_freed_item_of_the_same_class() {
        let mut books = inventory(None, u64::MAX);
        let first = books.claim(1000).unwrap();
        assert!(first.item.is_none());
        assert!(books.give_back(first.capacity, 1000, 7).is_empty());
        let second = books.claim(990).unwrap();
        assert_eq!((second.item, second.capacity), (Some(7), first.capacity));
        let usage = books.usage();
        assert_eq!((usage.hits, usage.misses, usage.allocations), (1, 1, 2));
        assert_eq!(usage.cached, 0);
    }

    #[test]
    fn never_serves_a_small_request_from_a_huge_item() {
        let mut books = inventory(None, u64::MAX);
        let big = books.claim(1 << 20).unwrap();
        books.give_back(big.capacity, 1 << 20, 1);
        assert!(books.claim(1000).unwrap().item.is_none());
    }

    #[test]
    fn evicts_the_least_recently_used_beyond_max_cached() {
        let mut books = inventory(None, 2048);
        for _ in 0..3 {
            books.claim(1024).unwrap();
        }
        assert!(books.give_back(1024, 1024, 0).is_empty());
        assert!(books.give_back(1024, 1024, 1).is_empty());
        assert_eq!(books.give_back(1024, 1024, 2), [0]);
        assert_eq!(books.usage().cached, 2048);
        assert_eq!(books.usage().released, 1);
    }

    #[test]
    fn an_item_larger_than_max_cached_is_released_at_once() {
        let mut books = inventory(None, 100);
        let grant = books.claim(5000).unwrap();
        assert_eq!(books.give_back(grant.capacity, 5000, 9), [9]);
        assert_eq!(books.usage().reserved, 0);
    }

    #[test]
    fn makes_room_under_the_limit_by_evicting_what_is_cached() {
        let mut books = inventory(Some(4096), u64::MAX);
        let grant = books.claim(3072).unwrap();
        books.give_back(grant.capacity, 3072, 5);
        let grant = books.claim(2048).unwrap();
        assert_eq!(grant.evicted, [5]);
        assert_eq!(books.usage().reserved, 2048);
    }

    #[test]
    fn refuses_what_the_limit_cannot_hold_and_changes_nothing() {
        let mut books = inventory(Some(4096), u64::MAX);
        books.claim(3072).unwrap();
        let before = books.usage();
        assert_eq!(books.claim(2048).unwrap_err(), Refusal::OverLimit);
        assert_eq!(books.usage(), before);
        assert_eq!(
            books.claim(2 << 20).unwrap_err(),
            Refusal::TooLarge { limit: 1 << 20 }
        );
        // The class of 1000 is 1024, exactly what is left.
        assert_eq!(books.claim(1000).unwrap().capacity, 1024);
    }

    #[test]
    fn uses_the_exact_size_where_the_class_would_break_the_limit() {
        let mut books = inventory(Some(1110), u64::MAX);
        // The class of 1090 is 1152, the exact size 1104.
        assert_eq!(books.claim(1090).unwrap().capacity, 1104);
    }

    #[test]
    fn a_cancelled_grant_leaves_no_trace_but_the_peak() {
        let mut books = inventory(None, 0);
        let grant = books.claim(100).unwrap();
        books.cancel(grant.capacity, 100);
        let usage = books.usage();
        assert_eq!((usage.live, usage.allocations, usage.misses), (0, 0, 0));
    }

    #[derive(Clone, Debug)]
    enum Step {
        Claim(u64),
        Cancelled(u64),
        Drop(usize),
        Trim(u64),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            5 => (0_u64..100_000).prop_map(Step::Claim),
            1 => (0_u64..100_000).prop_map(Step::Cancelled),
            4 => any::<usize>().prop_map(Step::Drop),
            1 => (0_u64..200_000).prop_map(Step::Trim),
        ];
        prop::collection::vec(step, 1..200)
    }

    proptest! {
        #[test]
        fn usage_is_always_the_sum_over_live_and_cached(
            steps in steps(),
            limit in prop::option::of(50_000_u64..400_000),
            max_cached in 0_u64..300_000,
        ) {
            // The model: items are numbers, with their capacities in a map of their own.
            let mut books = inventory(limit, max_cached);
            let mut live: Vec<(u64, u64, u64)> = Vec::new();
            let mut cached = std::collections::HashMap::<u64, u64>::new();
            let mut next = 0;
            let mut peak = 0;
            for step in steps {
                match step {
                    Step::Claim(bytes) | Step::Cancelled(bytes) => {
                        if let Ok(grant) = books.claim(bytes) {
                            for item in &grant.evicted { prop_assert!(cached.remove(item).is_some()); }
                            prop_assert!(grant.capacity >= bytes);
                            let total: u64 = live.iter().map(|l| l.2).sum();
                            peak = peak.max(total + grant.capacity);
                            let missed = grant.item.is_none();
                            let item = grant.item.unwrap_or_else(|| { next += 1; next });
                            if let Some(capacity) = cached.remove(&item) {
                                prop_assert_eq!(capacity, grant.capacity);
                            }
                            if missed && matches!(step, Step::Cancelled(_)) {
                                books.cancel(grant.capacity, bytes);
                            } else {
                                live.push((item, bytes, grant.capacity));
                            }
                        }
                    }
                    Step::Drop(index) if !live.is_empty() => {
                        let (item, bytes, capacity) = live.swap_remove(index % live.len());
                        cached.insert(item, capacity);
                        for item in books.give_back(capacity, bytes, item) {
                            prop_assert!(cached.remove(&item).is_some());
                        }
                    }
                    Step::Drop(_) => {}
                    Step::Trim(target) => {
                        let before = books.usage().cached;
                        let (given, evicted) = books.trim(target);
                        for item in evicted { prop_assert!(cached.remove(&item).is_some()); }
                        prop_assert_eq!(before - given, books.usage().cached);
                        prop_assert!(books.usage().cached <= target);
                    }
                }
                let usage = books.usage();
                prop_assert_eq!(usage.live, live.iter().map(|l| l.2).sum::<u64>());
                prop_assert_eq!(usage.live_requested, live.iter().map(|l| l.1).sum::<u64>());
                prop_assert_eq!(usage.live_buffers, live.len() as u64);
                prop_assert_eq!(usage.cached, cached.values().sum::<u64>());
                prop_assert_eq!(usage.cached_buffers, cached.len() as u64);
                prop_assert_eq!(usage.reserved, usage.live + usage.cached);
                prop_assert_eq!(usage.peak, peak);
                prop_assert_eq!(usage.allocations, usage.hits + usage.misses);
                prop_assert!(usage.cached <= max_cached);
                prop_assert!(limit.is_none_or(|limit| usage.reserved <= limit));
            }
        }
    }
}
