//! Memory of a buffer, shared by threads: 32-bit words that are read and written one by one.
//!
//! Every access is a relaxed atomic of one word, so a race in a kernel gives some written value and
//! never undefined behaviour, without `unsafe`. 64-bit atomics of kernels take a lock.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use parking_lot::Mutex;

use super::shadow::Shadow;

/// Zeroed memory.
#[derive(Debug)]
pub(crate) struct Storage {
    words: Box<[AtomicU32]>,
    bytes: u64,
    /// Held during read-modify-write of two words.
    pub(super) wide: Mutex<()>,
    /// What a sanitizer remembers, once one has looked.
    shadow: OnceLock<Mutex<Shadow>>,
}

impl Storage {
    /// `bytes` zeros; an error if there is no room.
    pub(crate) fn new(bytes: u64) -> Result<Self, ()> {
        let len = usize::try_from(bytes.div_ceil(4)).map_err(|_| ())?;
        let mut words = Vec::new();
        words.try_reserve_exact(len).map_err(|_| ())?;
        words.resize_with(len, || AtomicU32::new(0));
        Ok(Self {
            words: words.into_boxed_slice(),
            bytes,
            wide: Mutex::new(()),
            shadow: OnceLock::new(),
        })
    }

    /// What a sanitizer remembers of it.
    pub(super) fn shadow(&self) -> &Mutex<Shadow> {
        self.shadow.get_or_init(Mutex::default)
    }

    /// What a sanitizer remembers of one dispatch is no longer needed.
    pub(super) fn end_dispatch(&self) {
        if let Some(shadow) = self.shadow.get() {
            shadow.lock().end_dispatch();
        }
    }

    /// Marks bytes as written by nobody, and those behind them, up to `end`, as written.
    pub(crate) fn mark_undefined(&self, offset: u64, bytes: u64, end: u64) {
        let mut shadow = self.shadow().lock();
        shadow.mark(offset, bytes, true);
        let from = offset.saturating_add(bytes);
        shadow.mark(from, end.saturating_sub(from), false);
    }

    /// The first byte of a range that nobody has written, and how many there are of them.
    pub(super) fn unwritten(&self, offset: u64, bytes: u64) -> Option<(u64, u64)> {
        let shadow = self.shadow.get()?.lock();
        let end = offset.saturating_add(bytes);
        let is_unwritten = |at: &u64| {
            let word = usize::try_from(at / 4).unwrap_or(usize::MAX);
            shadow.undefined(word) >> (at % 4 * 8) & 0xff != 0
        };
        let mut all = (offset..end).filter(is_unwritten);
        let first = all.next()?;
        Some((first, 1 + all.count() as u64))
    }

    /// Bytes have been written from outside.
    fn defined(&self, offset: u64, bytes: u64) {
        if let Some(shadow) = self.shadow.get() {
            shadow.lock().mark(offset, bytes, false);
        }
    }

    /// Its size.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The words from byte `offset` (a multiple of 4) on, at most `bytes` bytes rounded up.
    pub(super) fn words(&self, offset: u64, bytes: u64) -> &[AtomicU32] {
        let start = usize::try_from(offset / 4).unwrap_or(usize::MAX);
        let start = start.min(self.words.len());
        let len = usize::try_from(bytes.div_ceil(4)).unwrap_or(usize::MAX);
        let end = start.saturating_add(len).min(self.words.len());
        self.words.get(start..end).unwrap_or(&[])
    }

    fn byte(&self, at: u64) -> u8 {
        let word = usize::try_from(at / 4).ok().and_then(|i| self.words.get(i));
        word.map_or(0, |w| w.load(Relaxed).to_le_bytes()[(at % 4) as usize])
    }

    fn set_byte(&self, at: u64, value: u8) {
        let shift = (at % 4) * 8;
        if let Some(word) = usize::try_from(at / 4).ok().and_then(|i| self.words.get(i)) {
            word.fetch_and(!(0xff << shift), Relaxed);
            word.fetch_or(u32::from(value) << shift, Relaxed);
        }
    }

    /// Copies bytes from `offset` on into `to`; zeros beyond the end.
    pub(crate) fn read(&self, offset: u64, to: &mut [u8]) {
        let mut at = offset;
        let mut rest = to;
        while !at.is_multiple_of(4) && !rest.is_empty() {
            let Some((first, tail)) = rest.split_first_mut() else {
                return;
            };
            *first = self.byte(at);
            at = at.saturating_add(1);
            rest = tail;
        }
        let whole = rest.len() / 4 * 4;
        let words = self.words(at, whole as u64);
        let (body, tail) = rest.split_at_mut(whole);
        let (inside, beyond) = body.split_at_mut((words.len() * 4).min(whole));
        for (to, word) in inside.chunks_exact_mut(4).zip(words) {
            to.copy_from_slice(&word.load(Relaxed).to_le_bytes());
        }
        beyond.fill(0);
        at = at.saturating_add(whole as u64);
        for to in tail {
            *to = self.byte(at);
            at = at.saturating_add(1);
        }
    }

    /// Writes `from` at `offset`; what lies beyond the end is dropped.
    pub(crate) fn write(&self, offset: u64, from: &[u8]) {
        self.defined(offset, from.len() as u64);
        let mut at = offset;
        let mut rest = from;
        while !at.is_multiple_of(4) {
            let Some((first, tail)) = rest.split_first() else {
                return;
            };
            self.set_byte(at, *first);
            at = at.saturating_add(1);
            rest = tail;
        }
        let whole = rest.len() / 4 * 4;
        let (body, tail) = rest.split_at(whole);
        for (word, from) in self
            .words(at, whole as u64)
            .iter()
            .zip(body.chunks_exact(4))
        {
            let mut bytes = [0; 4];
            bytes.copy_from_slice(from);
            word.store(u32::from_le_bytes(bytes), Relaxed);
        }
        at = at.saturating_add(whole as u64);
        for from in tail {
            self.set_byte(at, *from);
            at = at.saturating_add(1);
        }
    }

    /// Copies `bytes` bytes from `source` (which may be `self`, not overlapping); offsets and size
    /// that are multiples of 4 go word by word.
    pub(crate) fn copy(&self, source: &Self, from: u64, to: u64, bytes: u64) {
        if self.shadow.get().is_some() || source.shadow.get().is_some() {
            // One lock at a time: the two may be one.
            let bits = source.shadow().lock().bits();
            self.shadow().lock().copy(&bits, from, to, bytes);
        }
        if from.is_multiple_of(4) && to.is_multiple_of(4) && bytes.is_multiple_of(4) {
            let pairs = self.words(to, bytes).iter().zip(source.words(from, bytes));
            for (to, from) in pairs {
                to.store(from.load(Relaxed), Relaxed);
            }
            return;
        }
        for i in 0..bytes {
            self.set_byte(to.saturating_add(i), source.byte(from.saturating_add(i)));
        }
    }

    /// Sets `bytes` bytes from `offset` on to `value`.
    pub(crate) fn fill(&self, offset: u64, bytes: u64, value: u8) {
        self.defined(offset, bytes);
        let end = offset.saturating_add(bytes).min(self.bytes);
        let mut at = offset;
        while !at.is_multiple_of(4) && at < end {
            self.set_byte(at, value);
            at += 1;
        }
        let whole = end.saturating_sub(at) / 4 * 4;
        for word in self.words(at, whole) {
            word.store(u32::from_le_bytes([value; 4]), Relaxed);
        }
        for at in at.saturating_add(whole)..end {
            self.set_byte(at, value);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::Storage;

    #[test]
    fn any_offset_and_length_is_read_back_and_neighbours_stay() {
        for offset in 0..6 {
            for len in 0..11 {
                let memory = Storage::new(20).unwrap();
                memory.fill(0, 20, 0xee);
                let data: Vec<u8> = (1..=len).collect();
                memory.write(offset, &data);
                let mut back = vec![0; usize::from(len)];
                memory.read(offset, &mut back);
                assert_eq!(back, data);
                let mut all = [0; 20];
                memory.read(0, &mut all);
                assert_eq!(
                    all.iter().filter(|b| **b == 0xee).count(),
                    20 - usize::from(len)
                );
            }
        }
    }

    #[test]
    fn beyond_the_end_reads_zero_and_writes_nothing() {
        let memory = Storage::new(4).unwrap();
        memory.write(2, &[1, 2, 3, 4]);
        let mut back = [9; 8];
        memory.read(0, &mut back);
        assert_eq!(back, [0, 0, 1, 2, 0, 0, 0, 0]);
    }

    #[test]
    fn copies_whole_words_and_odd_bytes() {
        let (a, b) = (Storage::new(12).unwrap(), Storage::new(12).unwrap());
        a.write(0, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
        b.copy(&a, 4, 0, 8);
        b.copy(&a, 1, 9, 3);
        let mut back = [0; 12];
        b.read(0, &mut back);
        assert_eq!(back, [5, 6, 7, 8, 9, 10, 11, 12, 0, 2, 3, 4]);
    }
}
