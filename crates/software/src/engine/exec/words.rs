//! Memory as words: a buffer's, which threads share, or a workgroup's own.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::machine::{Chunk, LANES};

/// `N` words for each of a chunk's lanes, side by side from `at` on, if they exist.
#[inline(always)]
fn by_lane<const N: usize, W>(words: &[W], at: usize) -> Option<&[[W; N]; LANES]> {
    let (lanes, _) = words.get(at..)?.as_chunks::<N>();
    lanes.first_chunk()
}

/// Words that can be read.
pub(super) trait Words {
    fn word(&self, at: usize) -> u32;
    fn count(&self) -> usize;
    /// `N` words from `at` on, if they exist.
    fn many<const N: usize>(&self, at: usize) -> Option<[u32; N]>;
    /// Reads `N` words for each of a chunk's lanes, side by side from `at` on, if they exist, and says
    /// whether.
    fn split<const N: usize>(&self, at: usize, to: [&mut Chunk; N]) -> bool;
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
        self.get(at..)?.first_chunk().copied()
    }

    #[inline(always)]
    fn split<const N: usize>(&self, at: usize, to: [&mut Chunk; N]) -> bool {
        let Some(words) = by_lane::<N, u32>(self, at) else {
            return false;
        };
        for k in 0..LANES {
            for j in 0..N {
                to[j][k] = words[k][j];
            }
        }
        true
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
        let words: &[AtomicU32; N] = self.get(at..)?.first_chunk()?;
        let mut out = [0; N];
        for (to, word) in out.iter_mut().zip(words) {
            *to = word.load(Relaxed);
        }
        Some(out)
    }

    #[inline(always)]
    fn split<const N: usize>(&self, at: usize, to: [&mut Chunk; N]) -> bool {
        let Some(words) = by_lane::<N, AtomicU32>(self, at) else {
            return false;
        };
        for k in 0..LANES {
            for j in 0..N {
                to[j][k] = words[k][j].load(Relaxed);
            }
        }
        true
    }
}

/// Words that can be written.
pub(super) trait WordsMut {
    fn put(&mut self, at: usize, value: u32);
    /// Writes half of a word.
    fn put_half(&mut self, at: usize, upper: bool, value: u32);
    /// Writes the words of a chunk's lanes side by side if they fit, and says whether.
    fn join<const N: usize>(&mut self, at: usize, values: [&Chunk; N]) -> bool;
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
    fn join<const N: usize>(&mut self, at: usize, values: [&Chunk; N]) -> bool {
        let lanes = self.get_mut(at..).map(|words| words.as_chunks_mut::<N>().0);
        let Some(words) = lanes.and_then(<[_]>::first_chunk_mut::<LANES>) else {
            return false;
        };
        for k in 0..LANES {
            for j in 0..N {
                words[k][j] = values[j][k];
            }
        }
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
    fn join<const N: usize>(&mut self, at: usize, values: [&Chunk; N]) -> bool {
        let Some(words) = by_lane::<N, AtomicU32>(self, at) else {
            return false;
        };
        for k in 0..LANES {
            for j in 0..N {
                words[k][j].store(values[j][k], Relaxed);
            }
        }
        true
    }
}
