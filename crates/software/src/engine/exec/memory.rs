//! Loads and stores. Chunks whose lanes lie side by side, or at one address, go at once.

use std::sync::atomic::AtomicU32;

use super::lanes::scale;
use super::machine::{Chunk, LANES, Machine, Place, is_full};
use super::words::{Words, WordsMut};
use crate::engine::ir::{Addr, Narrow, Reg, Space};
use crate::engine::scalar::bits::sign_extended;
use crate::engine::scalar::float::{f32_from_half, half_from_f32};

/// An address with its parts found.
#[derive(Clone, Copy)]
pub(super) struct Found {
    offset: u32,
    base: Place,
    index: Place,
    len: u32,
    stride: u32,
}

impl Found {
    /// Whether it is one address for the workgroup.
    pub(super) fn is_uniform(&self) -> bool {
        matches!(
            (self.base, self.index),
            (Place::Uniform(_), Place::Uniform(_))
        )
    }
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

    /// The first word of a chunk whose lanes use consecutive elements of `bytes` bytes each.
    #[inline(always)]
    fn consecutive(&self, found: &Found, i: usize, bytes: u32) -> Option<usize> {
        let (Place::Uniform(base), Place::Lanes(index)) = (found.base, found.index) else {
            return None;
        };
        let index = &self.lanes[index + i];
        let first = index[0];
        let mut apart = 0;
        for (k, index) in index.iter().enumerate() {
            apart |= index ^ first.wrapping_add(k as u32);
        }
        let inside = first.checked_add(LANES as u32 - 1)? < found.len;
        if apart != 0 || found.stride != bytes || !inside {
            return None;
        }
        Some(scale(first, found.len, bytes, base).saturating_add(found.offset) as usize / 4)
    }

    /// Byte address of a lane.
    pub(super) fn address(&self, found: &Found, lane: usize) -> u32 {
        let (base, index) = (self.word(found.base, lane), self.word(found.index, lane));
        scale(index, found.len, found.stride, base).saturating_add(found.offset)
    }

    pub(super) fn buffer(&self, binding: u32) -> &[AtomicU32] {
        self.shared
            .buffers
            .get(binding as usize)
            .map_or(&[], |buffer| buffer.words)
    }

    pub(super) fn load(&mut self, d: &[Reg], at: &Addr, half: Option<Narrow>) {
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

    fn load_from<W: Words + ?Sized>(
        &mut self,
        words: &W,
        d: &[Reg],
        found: &Found,
        half: Option<Narrow>,
    ) {
        if let Some(narrow) = half {
            return self.load_half(words, d, found, narrow);
        }
        if found.is_uniform() {
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
            1 => self.load_many::<W, 1>(words, d, found),
            2 => self.load_many::<W, 2>(words, d, found),
            3 => self.load_many::<W, 3>(words, d, found),
            _ => self.load_many::<W, 4>(words, d, found),
        }
    }

    /// `N` words per lane.
    #[inline(always)]
    fn load_many<W: Words + ?Sized, const N: usize>(
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
            if let Some(start) = self.consecutive(found, i, N as u32 * 4)
                && self.load_chunk(words, start, &slots, i)
            {
                continue;
            }
            let at = self.addresses(found, i);
            let first = at[0];
            let (mut apart, mut differ) = (0, 0);
            for (k, address) in at.iter().enumerate() {
                apart |= address ^ first.wrapping_add((k * N * 4) as u32);
                differ |= address ^ first;
            }
            let start = first as usize / 4;
            if apart == 0 && self.load_chunk(words, start, &slots, i) {
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

    /// Words that lie side by side into chunk `i` of the slots, if they exist, and says whether.
    #[inline(always)]
    fn load_chunk<W: Words + ?Sized, const N: usize>(
        &mut self,
        words: &W,
        start: usize,
        slots: &[usize; N],
        i: usize,
    ) -> bool {
        let at = slots.map(|slot| slot + i);
        // Two parts of which nobody reads one may share a slot.
        match self.lanes.get_disjoint_mut(at) {
            Ok(to) => words.split(start, to),
            Err(_) => false,
        }
    }

    fn load_half<W: Words + ?Sized>(
        &mut self,
        words: &W,
        d: &[Reg],
        found: &Found,
        narrow: Narrow,
    ) {
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
            let value = match narrow {
                Narrow::Float => f32_from_half(bits),
                Narrow::Signed => sign_extended(bits),
                Narrow::Unsigned => bits,
            };
            self.set_word(d, lane, value);
        }
    }

    pub(super) fn store(&mut self, v: &[Reg], at: &Addr, half: Option<Narrow>) {
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

    fn store_to<W: WordsMut + ?Sized>(
        &self,
        words: &mut W,
        v: &[Reg],
        found: &Found,
        half: Option<Narrow>,
    ) {
        let mut values = [Place::Uniform(0); 4];
        for (place, reg) in values.iter_mut().zip(v) {
            *place = self.place(*reg);
        }
        if let Some(narrow) = half {
            for lane in (self.from * LANES..self.to * LANES).filter(|lane| self.is_active(*lane)) {
                let at = self.address(found, lane);
                let value = self.word(values[0], lane);
                let bits = match narrow {
                    Narrow::Float => half_from_f32(value),
                    Narrow::Signed | Narrow::Unsigned => value & 0xffff,
                };
                words.put_half(at as usize / 4, at & 2 != 0, bits);
            }
            return;
        }
        let len = v.len().min(4);
        if found.is_uniform() {
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
            1 => self.store_many::<W, 1>(words, [values[0]], found),
            2 => self.store_many::<W, 2>(words, [values[0], values[1]], found),
            3 => self.store_many::<W, 3>(words, [values[0], values[1], values[2]], found),
            _ => self.store_many::<W, 4>(words, values, found),
        }
    }

    #[inline(always)]
    fn store_many<W: WordsMut + ?Sized, const N: usize>(
        &self,
        words: &mut W,
        values: [Place; N],
        found: &Found,
    ) {
        let shared = values.map(|value| match value {
            Place::Uniform(word) => [word; LANES],
            Place::Lanes(_) => [0; LANES],
        });
        for i in self.from..self.to {
            let mask = &self.act[i];
            let mut chunks = shared.each_ref();
            for (chunk, value) in chunks.iter_mut().zip(&values) {
                if let Place::Lanes(start) = value {
                    *chunk = &self.lanes[start + i];
                }
            }
            let every = self.all || is_full(mask);
            if every
                && let Some(start) = self.consecutive(found, i, N as u32 * 4)
                && words.join(start, chunks)
            {
                continue;
            }
            let at = self.addresses(found, i);
            let first = at[0];
            let mut apart = 0;
            for (k, address) in at.iter().enumerate() {
                apart |= address ^ first.wrapping_add((k * N * 4) as u32);
            }
            if apart == 0 && every && words.join(first as usize / 4, chunks) {
                continue;
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
