//! A hasher for keys that the program makes itself.
//!
//! Every recorded op looks up its kernel and its bind group. The standard hasher defends against chosen keys, which
//! nobody can choose here, and costs more than the rest of the lookup. This one multiplies and folds a word at a time.

use std::hash::{BuildHasherDefault, Hasher};

/// A map with quick hashes, for keys that the program makes itself: nothing a stranger chose may be a key.
pub type QuickMap<K, V> = std::collections::HashMap<K, V, BuildHasherDefault<QuickHasher>>;

/// An odd number with well mixed bits: 2⁶⁴ divided by the golden ratio.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// The hasher of a [`QuickMap`].
#[derive(Clone, Copy, Debug, Default)]
pub struct QuickHasher(u64);

impl QuickHasher {
    const fn mix(&mut self, word: u64) {
        let product = (self.0.rotate_left(23) ^ word) as u128 * FACTOR as u128;
        self.0 = (product as u64) ^ ((product >> 64) as u64);
    }
}

impl Hasher for QuickHasher {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for &word in words {
            self.mix(u64::from_le_bytes(word));
        }
        let mut last = [0; 8];
        for (slot, &byte) in last.iter_mut().zip(rest) {
            *slot = byte;
        }
        self.mix(u64::from_le_bytes(last) ^ ((bytes.len() as u64) << 56));
    }

    fn write_u8(&mut self, number: u8) {
        self.mix(u64::from(number));
    }

    fn write_u32(&mut self, number: u32) {
        self.mix(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        self.mix(number);
    }

    fn write_usize(&mut self, number: usize) {
        self.mix(number as u64);
    }

    fn write_isize(&mut self, number: isize) {
        self.mix(number as u64);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::hash::Hash;

    fn hash(value: impl Hash) -> u64 {
        let mut hasher = QuickHasher::default();
        value.hash(&mut hasher);
        hasher.finish()
    }

    #[test]
    fn small_numbers_and_their_order_give_different_hashes() {
        let all: HashSet<u64> = (0..100_u64)
            .flat_map(|a| (0..100_u64).map(move |b| hash([a, b])))
            .collect();
        assert_eq!(all.len(), 10_000);
    }

    #[test]
    fn low_and_high_bits_are_spread() {
        // Hash maps use the low bits for the place and the high ones for the tag.
        for shift in [0, 57] {
            let seen: HashSet<u64> = (0..1000_u64).map(|n| (hash(n) >> shift) & 127).collect();
            assert!(seen.len() > 120, "{} of 128 at {shift}", seen.len());
        }
    }

    #[test]
    fn strings_differ_by_content_and_by_length() {
        let texts = ["", "\0", "a", "a\0", "12345678", "123456789", "12345678\0"];
        let all: HashSet<u64> = texts.iter().map(|text| hash(text.as_bytes())).collect();
        assert_eq!(all.len(), texts.len());
    }
}
