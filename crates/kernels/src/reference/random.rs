//! References of random numbers: Philox4x32-10 and what is drawn from its words.

use crate::ops::random::RandomState;

/// The four words of a counter and a key.
/// Source: Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (2011).
#[must_use]
pub fn philox(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    let (mut c, mut k) = (counter.map(u64::from), key);
    let halves = |x: u64| (x >> 32, x & 0xffff_ffff);
    for _ in 0..10 {
        let (high_0, low_0) = halves(0xd251_1f53 * c[0]);
        let (high_1, low_1) = halves(0xcd9e_8d57 * c[2]);
        c = [
            high_1 ^ c[1] ^ u64::from(k[0]),
            low_1,
            high_0 ^ c[3] ^ u64::from(k[1]),
            low_0,
        ];
        k = [
            k[0].wrapping_add(0x9e37_79b9),
            k[1].wrapping_add(0xbb67_ae85),
        ];
    }
    c.map(|word| word as u32)
}

/// The first `len` words of a state.
#[must_use]
pub fn words(state: RandomState, len: usize) -> Vec<u32> {
    let halves = |x: u64| [x as u32, (x >> 32) as u32];
    let vec4 = (0..len.div_ceil(4) as u64).flat_map(|vec4| {
        let [low, high] = halves(state.counter.wrapping_add(vec4));
        let [stream_low, stream_high] = halves(state.stream);
        philox([low, high, stream_low, stream_high], halves(state.seed))
    });
    vec4.take(len).collect()
}

/// The floats in [0, 1) of words, with so many binary digits.
#[must_use]
pub fn uniform(words: &[u32], digits: u32) -> Vec<f64> {
    let scale = f64::powi(2.0, -(digits as i32));
    words
        .iter()
        .map(|word| f64::from(word >> (32 - digits)) * scale)
        .collect()
}

/// The normal numbers of words, two of each two.
#[must_use]
pub fn normal(words: &[u32]) -> Vec<f64> {
    let pairs = words.chunks(2).flat_map(|pair| {
        let size = (f64::from(pair[0] >> 8) + 1.0) * f64::powi(2.0, -24);
        let turn = f64::from(pair.get(1).copied().unwrap_or(0)) / f64::powi(2.0, 32);
        let (radius, angle) = ((-2.0 * size.ln()).sqrt(), std::f64::consts::TAU * turn);
        [radius * angle.cos(), radius * angle.sin()]
    });
    pairs.take(words.len()).collect()
}

/// The integers of words: `count` of them from `low` on.
#[must_use]
pub fn integers(words: &[u32], low: u32, count: u32) -> Vec<u32> {
    words
        .iter()
        .map(|&word| low.wrapping_add(((u64::from(word) * u64::from(count)) >> 32) as u32))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The published known answers (Random123's kat_vectors).
    #[test]
    fn philox_gives_the_published_answers() {
        let zeros = philox([0; 4], [0; 2]);
        assert_eq!(zeros, [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        let ones = philox([u32::MAX; 4], [u32::MAX; 2]);
        assert_eq!(ones, [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
        let pi = philox(
            [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
            [0xa409_3822, 0x299f_31d0],
        );
        assert_eq!(pi, [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]);
    }
}
