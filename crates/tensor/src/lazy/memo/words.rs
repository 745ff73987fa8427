//! [`Key`]: words that tell plans from each other.

use std::hash::Hasher;

use ziggurat_core::{DType, Layout, Shape};

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

    pub(super) fn layout(&mut self, small: u64, dtype: DType, layout: &Layout) {
        // Strides of single elements mean nothing, but plans may look at them.
        let plain = *layout == Layout::contiguous(*layout.shape());
        self.head(small << 1 | u64::from(plain), dtype, layout.shape());
        if !plain {
            let strides = layout.strides().iter();
            self.0
                .extend(strides.map(|stride| stride.cast_unsigned() as u64));
            self.push(layout.offset() as u64);
        }
    }
}

impl Hasher for Key {
    fn write(&mut self, bytes: &[u8]) {
        self.push(bytes.len() as u64);
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            for (slot, byte) in word.iter_mut().zip(chunk) {
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
