//! [`Key`]: words that tell plans from each other.

use std::hash::Hasher;

use ziggurat_core::{DType, Shape};

/// Words; also what a [`Hash`] writes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Key(Vec<u64>);

impl Key {
    pub(super) fn as_slice(&self) -> &[u64] {
        &self.0
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn push(&mut self, word: u64) {
        self.0.push(word);
    }

    pub(super) fn extend(&mut self, words: impl Iterator<Item = u64>) {
        self.0.extend(words);
    }

    /// A shape, a dtype and something small.
    pub(super) fn head(&mut self, small: u64, dtype: DType, shape: &Shape) {
        self.push(small << 16 | (dtype as u64) << 8 | shape.rank() as u64);
        self.0.extend(shape.dims().iter().map(|dim| *dim as u64));
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
