//! A list of idle things by capacity: best fit out, least recently used evicted first.
//!
//! Generic over what is kept, so that it is tested without a GPU.
//! Of several items of one capacity the last one put in comes out first: it is the one most likely
//! still warm, and the others age towards eviction.
//!
//! Invariant: `bytes` is the sum of the capacities of the items in the list.

use std::collections::VecDeque;
use std::ops::RangeInclusive;

/// Idle items, each with a capacity in bytes.
#[derive(Debug)]
pub(crate) struct FreeList<T> {
    /// By capacity. Capacities of which there is nothing just now stay for a while.
    shelves: Vec<Shelf<T>>,
    next_age: u64,
    bytes: u64,
    len: usize,
}

/// Items of one capacity with their ages, oldest first.
#[derive(Debug)]
struct Shelf<T> {
    capacity: u64,
    items: VecDeque<(u64, T)>,
}

impl<T> Default for FreeList<T> {
    fn default() -> Self {
        Self {
            shelves: Vec::new(),
            next_age: 0,
            bytes: 0,
            len: 0,
        }
    }
}

impl<T> FreeList<T> {
    /// The sum of the capacities in the list.
    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How many items are in the list.
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// The place of the first shelf of at least this capacity.
    #[inline]
    fn place_of(&self, capacity: u64) -> usize {
        self.shelves
            .partition_point(|shelf| shelf.capacity < capacity)
    }

    /// Puts an item in.
    #[inline]
    pub(crate) fn put(&mut self, capacity: u64, item: T) {
        let at = self.place_of(capacity);
        let known = self.shelves.get(at);
        if known.is_none_or(|shelf| shelf.capacity != capacity) {
            let items = VecDeque::new();
            self.shelves.insert(at, Shelf { capacity, items });
        }
        if let Some(shelf) = self.shelves.get_mut(at) {
            shelf.items.push_back((self.next_age, item));
            self.next_age += 1;
            self.bytes += capacity;
            self.len += 1;
        }
    }

    /// Takes the item of the smallest capacity within `wanted`; among equals the newest.
    #[inline]
    pub(crate) fn take(&mut self, wanted: RangeInclusive<u64>) -> Option<(u64, T)> {
        let first = self.place_of(*wanted.start());
        let shelves = self.shelves.iter_mut().skip(first);
        let mut fitting = shelves.take_while(|shelf| shelf.capacity <= *wanted.end());
        let (capacity, (_, item)) =
            fitting.find_map(|shelf| Some((shelf.capacity, shelf.items.pop_back()?)))?;
        self.bytes -= capacity;
        self.len -= 1;
        Some((capacity, item))
    }

    /// Takes the least recently used item.
    pub(crate) fn take_oldest(&mut self) -> Option<(u64, T)> {
        self.shelves.retain(|shelf| !shelf.items.is_empty());
        let age = |shelf: &&mut Shelf<T>| shelf.items.front().map(|(age, _)| *age);
        let oldest = self.shelves.iter_mut().min_by_key(age)?;
        let capacity = oldest.capacity;
        let (_, item) = oldest.items.pop_front()?;
        self.bytes -= capacity;
        self.len -= 1;
        Some((capacity, item))
    }

    /// Takes items, least recently used first, until at most `target` bytes remain.
    pub(crate) fn evict_to(&mut self, target: u64) -> Vec<T> {
        let mut evicted = Vec::new();
        while self.bytes > target {
            match self.take_oldest() {
                Some((_, item)) => evicted.push(item),
                None => break,
            }
        }
        evicted
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use std::rc::Rc;

    #[test]
    fn takes_the_best_fit_within_the_range() {
        let mut list = FreeList::default();
        for capacity in [64, 128, 256] {
            list.put(capacity, capacity);
        }
        assert_eq!(list.take(100..=300), Some((128, 128)));
        assert_eq!(list.take(100..=200), None);
        assert_eq!(list.take(0..=u64::MAX), Some((64, 64)));
        assert_eq!(list.bytes(), 256);
    }

    #[test]
    fn takes_the_newest_of_equals_and_evicts_the_oldest() {
        let mut list = FreeList::default();
        for name in ["old", "middle", "new"] {
            list.put(16, name);
        }
        assert_eq!(list.take(16..=16), Some((16, "new")));
        assert_eq!(list.evict_to(16), ["old"]);
        assert_eq!(list.take(16..=16), Some((16, "middle")));
        assert_eq!((list.bytes(), list.len()), (0, 0));
    }

    #[test]
    fn a_reversed_range_holds_nothing() {
        let mut list = FreeList::default();
        list.put(16, ());
        #[allow(clippy::reversed_empty_ranges, reason = "the case under test")]
        let reversed = 20..=10;
        assert_eq!(list.take(reversed), None);
    }

    #[test]
    fn evicted_and_forgotten_items_are_dropped() {
        let counter = Rc::new(());
        let mut list = FreeList::default();
        for _ in 0..10 {
            list.put(100, Rc::clone(&counter));
        }
        assert_eq!(list.evict_to(450).len(), 6);
        assert_eq!(Rc::strong_count(&counter), 5);
        drop(list);
        assert_eq!(Rc::strong_count(&counter), 1);
    }
}
