//! [`Key`]: words that tell plans from each other.

use std::hash::Hasher;

use ziggurat_core::{DType, Shape};

/// Words; also what a [`Hash`] writes. A number that follows from them grows with them, so that a map need not look at all.
#[derive(Debug, Default)]
pub(super) struct Key {
    words: Vec<u64>,
    mixed: u64,
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.words == other.words
    }
}

impl Eq for Key {}

/// An odd number with well mixed bits: 2⁶⁴ divided by the golden ratio.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

impl Key {
    pub(super) fn as_slice(&self) -> &[u64] {
        &self.words
    }

    /// What equal keys have in common, and hardly any others.
    pub(super) const fn mixed(&self) -> u64 {
        self.mixed
    }

    pub(super) fn clear(&mut self) {
        self.words.clear();
        self.mixed = 0;
    }

    #[inline]
    pub(super) fn push(&mut self, word: u64) {
        self.words.push(word);
        let product = (self.mixed.rotate_left(23) ^ word) as u128 * FACTOR as u128;
        self.mixed = (product as u64) ^ ((product >> 64) as u64);
    }

    #[inline]
    pub(super) fn extend(&mut self, words: impl Iterator<Item = u64>) {
        words.for_each(|word| self.push(word));
    }

    /// A shape, a dtype and something small.
    #[inline]
    pub(super) fn head(&mut self, small: u64, dtype: DType, shape: &Shape) {
        self.push(small << 16 | (dtype as u64) << 8 | shape.rank() as u64);
        self.extend(shape.dims().iter().map(|dim| *dim as u64));
    }
}

impl Hasher for Key {
    fn write(&mut self, bytes: &[u8]) {
        self.push(bytes.len() as u64);
        let (words, rest) = bytes.as_chunks::<8>();
        self.extend(words.iter().map(|word| u64::from_le_bytes(*word)));
        if !rest.is_empty() {
            let mut word = [0; 8];
            for (slot, byte) in word.iter_mut().zip(rest) {
                *slot = *byte;
            }
            self.push(u64::from_le_bytes(word));
        }
    }

    fn write_u8(&mut self, number: u8) {
        self.push(number.into());
    }

    fn write_u32(&mut self, number: u32) {
        self.push(number.into());
    }

    fn write_u64(&mut self, number: u64) {
        self.push(number);
    }

    fn write_usize(&mut self, number: usize) {
        self.push(number as u64);
    }

    fn write_isize(&mut self, number: isize) {
        self.push(number.cast_unsigned() as u64);
    }

    fn finish(&self) -> u64 {
        0
    }
}
