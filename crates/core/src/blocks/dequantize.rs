//! Numbers of blocks, computed on the host: the reference of every format.
//!
//! Each number is rounded as the Python package `gguf` rounds it (a product of scale and integer, then a sum), so that
//! results are equal in every bit.

use half::f16;

use super::{BlockFormat, k_blocks};

impl BlockFormat {
    /// The numbers of whole blocks. A scale that is infinite or NaN gives what arithmetic gives: infinity times 0 is NaN.
    ///
    /// ```
    /// use ziggurat_core::BlockFormat;
    ///
    /// // A scale of 0.5, and 32 integers.
    /// let mut block = vec![0x00, 0x38];
    /// block.extend((0..32u8).map(|i| i.wrapping_sub(2)));
    /// let numbers = BlockFormat::Q8_0.dequantize(&block).unwrap();
    /// assert_eq!(numbers[..4], [-1.0, -0.5, 0.0, 0.5]);
    /// assert_eq!(BlockFormat::Q8_0.dequantize(&block[1..]), None);
    /// ```
    ///
    /// `None` if the bytes are no whole blocks.
    #[must_use]
    pub fn dequantize(self, bytes: &[u8]) -> Option<Vec<f32>> {
        if !bytes.len().is_multiple_of(self.bytes()) {
            return None;
        }
        let blocks = bytes.chunks_exact(self.bytes());
        let mut out = Vec::with_capacity(blocks.len() * self.elements());
        blocks.for_each(|block| self.push(block, &mut out));
        Some(out)
    }

    /// Appends the numbers of one block.
    fn push(self, block: &[u8], out: &mut Vec<f32>) {
        match self {
            Self::Q8_0 => {
                let scale = half(block);
                out.extend(tail(block, 2).iter().map(|&q| scale * f32::from(q as i8)));
            }
            Self::Q4_0 => {
                let scale = half(block);
                let number = |q: u8| scale * (f32::from(q) - 8.0);
                out.extend(nibbles(tail(block, 2)).map(number));
            }
            Self::Q4_1 => {
                let (scale, least) = (half(block), half(tail(block, 2)));
                let number = |q: u8| scale * f32::from(q) + least;
                out.extend(nibbles(tail(block, 4)).map(number));
            }
            Self::Q5_0 => {
                let scale = half(block);
                let number = |q: u8| scale * (f32::from(q) - 16.0);
                out.extend(five_bits(tail(block, 2)).map(number));
            }
            Self::Q5_1 => {
                let (scale, least) = (half(block), half(tail(block, 2)));
                let number = |q: u8| scale * f32::from(q) + least;
                out.extend(five_bits(tail(block, 4)).map(number));
            }
            Self::Q2_K => k_blocks::q2(block, out),
            Self::Q3_K => k_blocks::q3(block, out),
            Self::Q4_K => k_blocks::q4(block, out),
            Self::Q5_K => k_blocks::q5(block, out),
            Self::Q6_K => k_blocks::q6(block, out),
        }
    }
}

/// The first bytes; zeros where there are none, which whole blocks never lack.
fn first<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.first_chunk().copied().unwrap_or([0; N])
}

/// The f16 that the bytes begin with.
pub(super) fn half(bytes: &[u8]) -> f32 {
    f16::from_le_bytes(first(bytes)).to_f32()
}

/// What is behind the first bytes.
pub(super) fn tail(bytes: &[u8], from: usize) -> &[u8] {
    bytes.get(from..).unwrap_or_default()
}

/// The lower halves of all bytes, then the upper ones.
fn nibbles(bytes: &[u8]) -> impl Iterator<Item = u8> {
    let low = bytes.iter().map(|byte| byte & 15);
    low.chain(bytes.iter().map(|byte| byte >> 4))
}

/// Integers of four bits, whose fifth bits stand in front as one word.
fn five_bits(bytes: &[u8]) -> impl Iterator<Item = u8> {
    let high = u32::from_le_bytes(first(bytes));
    let low = nibbles(tail(bytes, 4));
    low.enumerate()
        .map(move |(at, low)| low | ((((high >> at) & 1) as u8) << 4))
}
