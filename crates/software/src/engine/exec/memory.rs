//! Loads and stores. Chunks whose lanes lie side by side, or at one address, go at once.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::lanes::scale;
use super::machine::{Chunk, LANES, Machine, Place};
use crate::engine::ir::{Addr, Reg, Space};
use crate::engine::scalar::float::{f32_from_half, half_from_f32};

/// Words that can be read.
trait Words {
    fn word(&self, at: usize) -> u32;
    fn count(&self) -> usize;
    /// `N` words from `at` on, if they exist.
    fn many<const N: usize>(&self, at: usize) -> Option<[u32; N]>;
}

impl Words for [u32] {
    #[inline(always)]
    fn word(&self, at: usize) -> u32 {
        self.get(at).copied().unwrap_or(0)
    }

    fn count(&self) -> usize {
        self.len()
    }

    #[inline(always)]
    fn many<const N: usize>(&self, at: usize) -> Option<[u32; N]> {
        self.get(at..at + N)?.try_into().ok()
    }
}

impl Words for [AtomicU32] {
    #[inline(always)]
    fn word(&self, at: usize) -> u32 {
        self.get(at).map_or(0, |word| word.load(Relaxed))
    }

    fn count(&self) -> usize {
        self.len()
    }

    #[inline(always)]
    fn many<const N: usize>(&self, at: usize) -> Option<[u32; N]> {
        let words: &[AtomicU32; N] = self.get(at..at + N)?.try_into().ok()?;
        Some(std::array::from_fn(|i| words[i].load(Relaxed)))
    }
}

/// Words that can be written.
trait WordsMut {
    fn put(&mut self, at: usize, value: u32);
    /// Writes half of a word.
    fn put_half(&mut self, at: usize, upper: bool, value: u32);
    /// Writes all of them if they fit, and says whether.
    fn put_many<const N: usize>(&mut self, at: usize, values: &[u32; N]) -> bool;
}

fn half_merged(word: u32, upper: bool, value: u32) -> u32 {
    if upper {
        (word & 0xffff) | (value << 16)
    } else {
        (word & !0xffff) | (value & 0xffff)
    }
}

impl WordsMut for [u32] {
    #[inline(always)]
    fn put(&mut self, at: usize, value: u32) {
        if let Some(word) = self.get_mut(at) {
            *word = value;
        }
    }

    fn put_half(&mut self, at: usize, upper: bool, value: u32) {
        if let Some(word) = self.get_mut(at) {
            *word = half_merged(*word, upper, value);
        }
    }

    #[inline(always)]
    fn put_many<const N: usize>(&mut self, at: usize, values: &[u32; N]) -> bool {
        let Some(words) = self.get_mut(at..at + N) else {
            return false;
        };
        words.copy_from_slice(values);
        true
    }
}

impl WordsMut for &[AtomicU32] {
    #[inline(always)]
    fn put(&mut self, at: usize, value: u32) {
        if let Some(word) = self.get(at) {
            word.store(value, Relaxed);
        }
    }

    fn put_half(&mut self, at: usize, upper: bool, value: u32) {
        if let Some(word) = self.get(at) {
            // Another invocation may write the other half at the same time.
            let _ = word.fetch_update(Relaxed, Relaxed, |old| Some(half_merged(old, upper, value)));
        }
    }

    #[inline(always)]
    fn put_many<const N: usize>(&mut self, at: usize, values: &[u32; N]) -> bool {
        let Some(words) = self.get(at..at + N) else {
            return false;
        };
        for (word, value) in words.iter().zip(values) {
            word.store(*value, Relaxed);
        }
        true
    }
}

/// An address with its parts found.
#[derive(Clone, Copy)]
pub(super) struct Found {
    offset: u32,
    base: Place,
    index: Place,
    len: u32,
    stride: u32,
}

impl Machine<'_> {
    pub(super) fn find(&self, at: &Addr) -> Found {
        let base = at.base.map_or(Place::Uniform(0), |base| self.place(base));
        let (index, len, stride) = match &at.scaled {
            Some(scaled) => (self.place(scaled.index), self.length(scaled), scaled.stride),
            None => (Place::Uniform(0), 1, 0),
        };
        Found {
            offset: at.offset,
            base,
            index,
            len,
            stride,
        }
    }

    /// Byte addresses of a chunk.
    #[inline(always)]
    fn addresses(&self, found: &Found, i: usize) -> Chunk {
        let (base, index) = (self.chunk(found.base, i), self.chunk(found.index, i));
        let mut out = [0; LANES];
        for k in 0..LANES {
            out[k] = scale(index[k], found.len, found.stride, base[k]).saturating_add(found.offset);
        }
        out
    }

    /// Byte address of a lane.
    pub(super) fn address(&self, found: &Found, lane: usize) -> u32 {
        let (base, index) = (self.word(found.base, lane), self.word(found.index, lane));
        scale(index, found.len, found.stride, base).saturating_add(found.offset)
    }

    fn is_uniform(found: &Found) -> bool {
        matches!(
            (found.base, found.index),
            (Place::Uniform(_), Place::Uniform(_))
        )
    }

    pub(super) fn buffer(&self, binding: u32) -> &[AtomicU32] {
        self.shared
            .buffers
            .get(binding as usize)
            .map_or(&[], |buffer| buffer.words)
    }

    pub(super) fn load(&mut self, d: &[Reg], at: &Addr, half: bool) {
        let found = self.find(at);
        match at.space {
            Space::Binding(binding) => {
                let shared = self.shared;
                let words = shared
                    .buffers
                    .get(binding as usize)
                    .map_or(&[][..], |b| b.words);
                self.load_from(words, d, &found, half);
            }
            Space::Immediate => {
                let shared = self.shared;
                self.load_from(shared.immediates.as_slice(), d, &found, half);
            }
            Space::Workgroup => {
                let words = std::mem::take(&mut self.workgroup);
                self.load_from(words.as_slice(), d, &found, half);
                self.workgroup = words;
            }
        }
    }

    fn load_from<W: Words + ?Sized>(&mut self, words: &W, d: &[Reg], found: &Found, half: bool) {
        if half {
            return self.load_half(words, d, found);
        }
        if Self::is_uniform(found) {
            let start = self.address(found, 0) as usize / 4;
            let inside = start + d.len() <= words.count();
            for (i, reg) in d.iter().enumerate() {
                let value = if inside { words.word(start + i) } else { 0 };
                match self.place(*reg) {
                    Place::Uniform(_) => self.set_uniform(*reg, value),
                    Place::Lanes(d) => self.lanes[d + self.from..d + self.to].fill([value; LANES]),
                }
            }
            return;
        }
        match d.len() {
            1 => self.load_many::<W, 1, 16>(words, d, found),
            2 => self.load_many::<W, 2, 32>(words, d, found),
            3 => self.load_many::<W, 3, 48>(words, d, found),
            _ => self.load_many::<W, 4, 64>(words, d, found),
        }
    }

    /// `N` words per lane; `M` is `N` times the lanes of a chunk.
    #[inline(always)]
    fn load_many<W: Words + ?Sized, const N: usize, const M: usize>(
        &mut self,
        words: &W,
        d: &[Reg],
        found: &Found,
    ) {
        let mut slots = [0usize; N];
        for (slot, reg) in slots.iter_mut().zip(d) {
            if let Place::Lanes(start) = self.place(*reg) {
                *slot = start;
            }
        }
        for i in self.from..self.to {
            let at = self.addresses(found, i);
            let first = at[0];
            let (mut apart, mut differ) = (0, 0);
            for (k, address) in at.iter().enumerate() {
                apart |= address ^ first.wrapping_add((k * N * 4) as u32);
                differ |= address ^ first;
            }
            let start = first as usize / 4;
            if apart == 0
                && let Some(all) = words.many::<M>(start)
            {
                for (j, slot) in slots.iter().enumerate() {
                    self.lanes[slot + i] = std::array::from_fn(|k| all[k * N + j]);
                }
                continue;
            }
            if differ == 0 {
                let one = words.many::<N>(start).unwrap_or([0; N]);
                for (j, slot) in slots.iter().enumerate() {
                    self.lanes[slot + i] = [one[j]; LANES];
                }
                continue;
            }
            let mut out = [[0; LANES]; N];
            for k in 0..LANES {
                if let Some(one) = words.many::<N>(at[k] as usize / 4) {
                    for j in 0..N {
                        out[j][k] = one[j];
                    }
                }
            }
            for (slot, chunk) in slots.iter().zip(out) {
                self.lanes[slot + i] = chunk;
            }
        }
    }

    fn load_half<W: Words + ?Sized>(&mut self, words: &W, d: &[Reg], found: &Found) {
        let Some(d) = d.first().copied() else { return };
        let uniform = matches!(self.place(d), Place::Uniform(_));
        let lanes = if uniform {
            0..1
        } else {
            self.from * LANES..self.to * LANES
        };
        for lane in lanes {
            let at = self.address(found, lane);
            let word = words.word(at as usize / 4);
            let bits = if at & 2 == 0 {
                word & 0xffff
            } else {
                word >> 16
            };
            self.set_word(d, lane, f32_from_half(bits));
        }
    }

    pub(super) fn store(&mut self, v: &[Reg], at: &Addr, half: bool) {
        let found = self.find(at);
        match at.space {
            Space::Binding(binding) => {
                let shared = self.shared;
                let mut words = shared
                    .buffers
                    .get(binding as usize)
                    .map_or(&[][..], |b| b.words);
                self.store_to(&mut words, v, &found, half);
            }
            Space::Workgroup => {
                let mut words = std::mem::take(&mut self.workgroup);
                self.store_to(words.as_mut_slice(), v, &found, half);
                self.workgroup = words;
            }
            Space::Immediate => {}
        }
    }

    fn store_to<W: WordsMut + ?Sized>(&self, words: &mut W, v: &[Reg], found: &Found, half: bool) {
        let mut values = [Place::Uniform(0); 4];
        for (place, reg) in values.iter_mut().zip(v) {
            *place = self.place(*reg);
        }
        if half {
            for lane in (self.from * LANES..self.to * LANES).filter(|lane| self.is_active(*lane)) {
                let at = self.address(found, lane);
                let bits = half_from_f32(self.word(values[0], lane));
                words.put_half(at as usize / 4, at & 2 != 0, bits);
            }
            return;
        }
        let len = v.len().min(4);
        if Self::is_uniform(found) {
            // All write to one place: the last active lane wins.
            let lanes = (self.from * LANES..self.to * LANES).rev();
            let Some(lane) = lanes.into_iter().find(|lane| self.is_active(*lane)) else {
                return;
            };
            let start = self.address(found, lane) as usize / 4;
            for (j, value) in values.iter().take(len).enumerate() {
                words.put(start + j, self.word(*value, lane));
            }
            return;
        }
        match len {
            1 => self.store_many::<W, 1, 16>(words, [values[0]], found),
            2 => self.store_many::<W, 2, 32>(words, [values[0], values[1]], found),
            3 => self.store_many::<W, 3, 48>(words, [values[0], values[1], values[2]], found),
            _ => self.store_many::<W, 4, 64>(words, values, found),
        }
    }

    #[inline(always)]
    fn store_many<W: WordsMut + ?Sized, const N: usize, const M: usize>(
        &self,
        words: &mut W,
        values: [Place; N],
        found: &Found,
    ) {
        for i in self.from..self.to {
            let at = self.addresses(found, i);
            let mask = self.act[i];
            let first = at[0];
            let (mut apart, mut every) = (0, !0);
            for (k, address) in at.iter().enumerate() {
                apart |= address ^ first.wrapping_add((k * N * 4) as u32);
                every &= mask[k];
            }
            let chunks: [Chunk; N] = std::array::from_fn(|j| self.chunk(values[j], i));
            if apart == 0 && every == !0 {
                let mut all = [0; M];
                for (k, words) in all.chunks_exact_mut(N).enumerate() {
                    for (j, word) in words.iter_mut().enumerate() {
                        *word = chunks[j][k];
                    }
                }
                if words.put_many(first as usize / 4, &all) {
                    continue;
                }
            }
            for k in 0..LANES {
                if mask[k] != 0 {
                    let start = at[k] as usize / 4;
                    for (j, chunk) in chunks.iter().enumerate() {
                        words.put(start + j, chunk[k]);
                    }
                }
            }
        }
    }
}
