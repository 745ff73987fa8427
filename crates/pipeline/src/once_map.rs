//! A concurrent map in which each value is created once, however many threads ask for it at the same time.
//!
//! Check, create, insert would compile one pipeline once per waiting thread. Here the map only hands out slots, and
//! creation happens in the slot: the first to come creates, the others wait for that one slot while the rest of the
//! map stays usable. Invariants: between an insertion and a removal of a key its value is created at most once;
//! those who waited for a failed creation get that same error; a failed key is forgotten, so that a later caller
//! tries again.

use std::collections::{BinaryHeap, HashMap};
use std::hash::Hash;
use std::sync::{Arc, OnceLock};

use parking_lot::{Mutex, RwLock};

/// Whether there are threads: in a browser nobody waits for another's creation.
const OTHERS_WAIT: bool = cfg!(not(target_arch = "wasm32"));

#[derive(Debug)]
struct Slot<V, E> {
    value: OnceLock<V>,
    /// Held during creation; the error of a failed one stays for those who waited.
    failed: Mutex<Option<E>>,
}

/// How [`OnceMap::get_or_create`] came to its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// It was there, or another thread created it meanwhile.
    Found,
    /// This call created it.
    Created,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct OnceMap<K, V, E> {
    slots: RwLock<HashMap<K, Arc<Slot<V, E>>>>,
}

impl<K, V, E> Default for OnceMap<K, V, E> {
    fn default() -> Self {
        Self {
            slots: RwLock::new(HashMap::new()),
        }
    }
}

impl<K: Eq + Hash + Clone, V: Clone, E: Clone> OnceMap<K, V, E> {
    /// The value of a key, created by `create` if there is none.
    pub(crate) fn get_or_create(
        &self,
        key: &K,
        create: impl FnOnce() -> Result<V, E>,
    ) -> Result<(V, Origin), E> {
        let slot = self.slot(key);
        if let Some(value) = slot.value.get() {
            return Ok((value.clone(), Origin::Found));
        }
        let mut failed = slot.failed.lock();
        if let Some(value) = slot.value.get() {
            return Ok((value.clone(), Origin::Found));
        }
        if let Some(error) = failed.as_ref().filter(|_| OTHERS_WAIT) {
            return Err(error.clone());
        }
        match create() {
            Ok(value) => {
                // Only the holder of the lock sets the value, and it was empty.
                let value = slot.value.get_or_init(|| value).clone();
                Ok((value, Origin::Created))
            }
            Err(error) => {
                if OTHERS_WAIT {
                    *failed = Some(error.clone());
                }
                self.forget(key, &slot);
                Err(error)
            }
        }
    }

    fn slot(&self, key: &K) -> Arc<Slot<V, E>> {
        if let Some(slot) = self.slots.read().get(key) {
            return Arc::clone(slot);
        }
        let mut slots = self.slots.write();
        let slot = slots.entry(key.clone()).or_insert_with(|| {
            Arc::new(Slot {
                value: OnceLock::new(),
                failed: Mutex::new(None),
            })
        });
        Arc::clone(slot)
    }

    /// Forgets a value, so that a later caller creates it again.
    pub(crate) fn remove(&self, key: &K) {
        self.slots.write().remove(key);
    }

    fn forget(&self, key: &K, slot: &Arc<Slot<V, E>>) {
        let mut slots = self.slots.write();
        if slots
            .get(key)
            .is_some_and(|current| Arc::ptr_eq(current, slot))
        {
            slots.remove(key);
        }
    }

    /// How many values there are.
    pub(crate) fn len(&self) -> usize {
        let slots = self.slots.read();
        slots
            .values()
            .filter(|slot| slot.value.get().is_some())
            .count()
    }

    /// How many keys there are, with those whose values are being created.
    pub(crate) fn slots(&self) -> usize {
        self.slots.read().len()
    }

    /// Forgets the values that were used longest ago, as `used` tells, until `keep` are left; returns them.
    pub(crate) fn evict(&self, keep: usize, used: impl Fn(&V) -> u64) -> Vec<V> {
        let mut slots = self.slots.write();
        let valued = slots.iter().filter_map(|(key, slot)| {
            let value = slot.value.get()?;
            Some((used(value), key.clone()))
        });
        let (ages, keys): (Vec<u64>, Vec<K>) = valued.unzip();
        let surplus = ages.len().saturating_sub(keep);
        let mut oldest = BinaryHeap::new();
        for used in ages.into_iter().zip(0_usize..) {
            oldest.push(used);
            if oldest.len() > surplus {
                oldest.pop();
            }
        }
        let oldest = oldest.into_iter().filter_map(|(_, at)| keys.get(at));
        oldest
            .filter_map(|key| slots.remove(key)?.value.get().cloned())
            .collect()
    }

    /// The keys that have values.
    pub(crate) fn keys(&self) -> Vec<K> {
        let slots = self.slots.read();
        slots
            .iter()
            .filter(|(_, slot)| slot.value.get().is_some())
            .map(|(key, _)| key.clone())
            .collect()
    }

    /// Forgets all values.
    pub(crate) fn clear(&self) {
        self.slots.write().clear();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;
    use std::time::Duration;

    const THREADS: usize = 16;

    #[test]
    fn racing_threads_create_each_value_once() {
        for round in 0..20 {
            let map = OnceMap::<usize, usize, ()>::default();
            let created = [const { AtomicUsize::new(0) }; 4];
            let start = Barrier::new(THREADS);
            thread::scope(|scope| {
                for thread in 0..THREADS {
                    let (map, created, start) = (&map, &created, &start);
                    scope.spawn(move || {
                        start.wait();
                        for step in 0..4 {
                            let key = (thread + step + round) % 4;
                            let (value, _) = map
                                .get_or_create(&key, || {
                                    created[key].fetch_add(1, Ordering::SeqCst);
                                    thread::sleep(Duration::from_micros(200));
                                    Ok(key * 10)
                                })
                                .unwrap();
                            assert_eq!(value, key * 10);
                        }
                    });
                }
            });
            for count in &created {
                assert_eq!(count.load(Ordering::SeqCst), 1);
            }
            assert_eq!(map.len(), 4);
        }
    }

    #[test]
    fn waiters_share_the_error_and_later_callers_try_again() {
        let map = OnceMap::<u8, u8, usize>::default();
        let tries = AtomicUsize::new(0);
        let inside = Barrier::new(2);
        thread::scope(|scope| {
            let first = scope.spawn(|| {
                map.get_or_create(&1, || {
                    tries.fetch_add(1, Ordering::SeqCst);
                    inside.wait();
                    thread::sleep(Duration::from_millis(100));
                    Err(7)
                })
            });
            inside.wait();
            // The creation is running: this call waits for it.
            let second = map.get_or_create(&1, || Err(tries.fetch_add(1, Ordering::SeqCst) + 100));
            assert_eq!(first.join().unwrap(), Err(7));
            assert_eq!(second, Err(7));
        });
        assert_eq!(tries.load(Ordering::SeqCst), 1);
        assert_eq!(map.get_or_create(&1, || Ok(5)), Ok((5, Origin::Created)));
        assert_eq!(map.get_or_create(&1, || Err(9)), Ok((5, Origin::Found)));
    }

    #[test]
    fn eviction_takes_what_was_used_longest_ago_and_nothing_that_is_being_created() {
        let map = OnceMap::<u8, u64, ()>::default();
        for (key, used) in [(1, 30), (2, 10), (3, 20), (4, 40)] {
            map.get_or_create(&key, || Ok(used)).unwrap();
        }
        let inside = map.get_or_create(&5, || {
            assert_eq!(map.slots(), 5);
            let mut gone = map.evict(2, |used| *used);
            gone.sort_unstable();
            assert_eq!(gone, [10, 20]);
            Ok(50)
        });
        assert_eq!(inside, Ok((50, Origin::Created)));
        let mut left = map.keys();
        left.sort_unstable();
        assert_eq!(left, [1, 4, 5]);
        assert!(map.evict(3, |used| *used).is_empty());
    }

    #[test]
    fn a_slow_creation_does_not_hold_up_other_keys() {
        let map = OnceMap::<u8, u8, ()>::default();
        let inside = Barrier::new(2);
        let done = Barrier::new(2);
        thread::scope(|scope| {
            scope.spawn(|| {
                map.get_or_create(&1, || {
                    inside.wait();
                    done.wait();
                    Ok(1)
                })
            });
            inside.wait();
            assert_eq!(map.get_or_create(&2, || Ok(2)), Ok((2, Origin::Created)));
            assert_eq!(map.len(), 1);
            assert_eq!(map.keys(), [2], "the other has no value yet");
            done.wait();
        });
        assert_eq!(map.len(), 2);
        map.clear();
        assert_eq!(map.len(), 0);
    }
}
