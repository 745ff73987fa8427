//! Numbers of the blocks of 256 elements, whose groups have scales of few bits.

use super::FieldLayout;
use super::dequantize::{half, tail};

/// Bytes from `start` on, as many as there should be.
fn part(block: &[u8], start: usize, len: usize) -> &[u8] {
    tail(block, start).get(..len).unwrap_or_default()
}

/// Two bits of each of 64 bytes, 128 elements for each 32 bytes: bits 0 and 1 of all, then 2 and 3, and so on.
fn two_bits(bytes: &[u8]) -> impl Iterator<Item = u8> {
    bytes.chunks_exact(32).flat_map(|bytes| {
        let shifted = |shift: u8| bytes.iter().map(move |byte| (byte >> shift) & 3);
        [0, 2, 4, 6].into_iter().flat_map(shifted)
    })
}

/// Scales of 4 bits with minima of 4 bits, two bits per element, the scales' scale, the minima's.
pub(super) fn q2(block: &[u8], out: &mut Vec<f32>) {
    let scales = part(block, 0, 16);
    let (scale, least) = (half(tail(block, 80)), half(tail(block, 82)));
    let quants: Vec<u8> = two_bits(part(block, 16, 64)).collect();
    for (group, &packed) in quants.chunks_exact(16).zip(scales) {
        let (scale, least) = (
            scale * f32::from(packed & 15),
            least * f32::from(packed >> 4),
        );
        out.extend(group.iter().map(|&q| scale * f32::from(q) - least));
    }
}

/// A mask of third bits, two bits per element, 16 scales of 6 bits, their scale.
pub(super) fn q3(block: &[u8], out: &mut Vec<f32>) {
    let (masks, packed) = (part(block, 0, 32), part(block, 96, 12));
    let scale = half(tail(block, 108));
    let byte = |at: usize| packed.get(at).copied().unwrap_or(0);
    let quants: Vec<u8> = two_bits(part(block, 32, 64)).collect();
    for (at, group) in quants.chunks_exact(16).enumerate() {
        let low = (byte(at % 8) >> (4 * (at / 8))) & 15;
        let high = (byte(8 + at % 4) >> (2 * (at / 4))) & 3;
        let scale = scale * (f32::from(low | (high << 4)) - 32.0);
        let masks = masks.iter().skip(at % 2 * 16);
        out.extend(group.iter().zip(masks).map(|(&q, mask)| {
            // A set bit means that nothing is taken away.
            let below = if (mask >> (at / 2)) & 1 == 1 {
                0.0
            } else {
                4.0
            };
            scale * (f32::from(q) - below)
        }));
    }
}

/// The scale and the minimum of each of eight groups, 6 bits each, in 12 bytes.
fn scales_and_minima(packed: &[u8]) -> impl Iterator<Item = (u8, u8)> {
    let byte = |at: usize| packed.get(at).copied().unwrap_or(0);
    (0..8).map(move |group| {
        if group < 4 {
            return (byte(group) & 63, byte(group + 4) & 63);
        }
        let (low, high) = (byte(group + 4), [byte(group - 4), byte(group)]);
        let [scale, least] = high.map(|byte| (byte >> 2) & 0x30);
        ((low & 15) | scale, (low >> 4) | least)
    })
}

/// 4 bits per element, in groups of 32: the lower halves of 32 bytes, then the upper ones.
fn groups_of_four_bits(bytes: &[u8]) -> impl Iterator<Item = impl Iterator<Item = u8>> {
    bytes
        .chunks_exact(32)
        .flat_map(|bytes| [0, 4].map(|shift| bytes.iter().map(move |byte| (byte >> shift) & 15)))
}

/// Scale and minimum of the groups' scales and minima, these, 4 bits per element.
pub(super) fn q4(block: &[u8], out: &mut Vec<f32>) {
    let (scale, least) = (half(block), half(tail(block, 2)));
    let groups = groups_of_four_bits(part(block, 16, 128));
    for (group, (own, minimum)) in groups.zip(scales_and_minima(part(block, 4, 12))) {
        let (scale, least) = (scale * f32::from(own), least * f32::from(minimum));
        out.extend(group.map(|q| scale * f32::from(q) - least));
    }
}

/// As [`q4`], with a fifth bit of each element in 32 bytes: bit `g` is that of group `g`.
pub(super) fn q5(block: &[u8], out: &mut Vec<f32>) {
    let (scale, least) = (half(block), half(tail(block, 2)));
    let high = part(block, 16, 32);
    let groups = groups_of_four_bits(part(block, 48, 128)).enumerate();
    for ((at, group), (own, minimum)) in groups.zip(scales_and_minima(part(block, 4, 12))) {
        let (scale, least) = (scale * f32::from(own), least * f32::from(minimum));
        let quants = group
            .zip(high)
            .map(|(low, high)| low | (((high >> at) & 1) << 4));
        out.extend(quants.map(|q| scale * f32::from(q) - least));
    }
}

/// Lower 4 bits, upper 2 bits, 16 scales of 8 bits, their scale.
pub(super) fn q6(block: &[u8], out: &mut Vec<f32>) {
    let scale = half(tail(block, 208));
    let low = part(block, 0, 128).chunks_exact(64).flat_map(|bytes| {
        let shifted = |shift: u8| bytes.iter().map(move |byte| (byte >> shift) & 15);
        [0, 4].into_iter().flat_map(shifted)
    });
    let quants: Vec<u8> = low
        .zip(two_bits(part(block, 128, 64)))
        .map(|(low, high)| low | (high << 4))
        .collect();
    for (group, &own) in quants.chunks_exact(16).zip(part(block, 192, 16)) {
        let scale = scale * f32::from(own as i8);
        out.extend(group.iter().map(|&q| scale * (f32::from(q) - 32.0)));
    }
}

/// Which group's scale each byte on a device has: a word for groups 0, 1, 4, 5, one for 2, 3, 6, 7, and two for the other eight groups.
const SIGNED_GROUPS: [usize; 16] = [0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15];

impl FieldLayout {
    /// Twelve bytes of scales and minima as [`FieldLayout::Groups`] has them.
    ///
    /// ```
    /// use ziggurat_core::FieldLayout;
    ///
    /// // The first group has scale 5 and minimum 7, the others zeros.
    /// let file = [5, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0];
    /// let device = FieldLayout::groups_to_device(&file);
    /// assert_eq!(device[..4], [5, 0, 7, 0]);
    /// assert_eq!(FieldLayout::groups_from_device(&device), file);
    /// ```
    #[must_use]
    pub fn groups_to_device(file: &[u8; 12]) -> [u8; 16] {
        let mut out = [0; 16];
        let (words, _) = out.as_chunks_mut::<4>();
        let mut groups = scales_and_minima(file);
        for word in words {
            let [first, second] = [groups.next(), groups.next()].map(Option::unwrap_or_default);
            *word = [first.0, second.0, first.1, second.1];
        }
        out
    }

    /// What [`FieldLayout::groups_to_device`] was given.
    #[must_use]
    pub fn groups_from_device(device: &[u8; 16]) -> [u8; 12] {
        let mut groups = [(0, 0); 8];
        let (words, _) = device.as_chunks::<4>();
        let (pairs, _) = groups.as_chunks_mut::<2>();
        for (pair, word) in pairs.iter_mut().zip(words) {
            *pair = [(word[0], word[2]), (word[1], word[3])];
        }
        let (near, far) = groups.split_at(4);
        let mut out = [0; 12];
        for (group, (near, far)) in near.iter().zip(far).enumerate() {
            out[group] = (near.0 & 63) | ((far.0 & 0x30) << 2);
            out[group + 4] = (near.1 & 63) | ((far.1 & 0x30) << 2);
            out[group + 8] = (far.0 & 15) | ((far.1 & 15) << 4);
        }
        out
    }

    /// Sixteen bytes of scales as [`FieldLayout::SignedGroups`] has them; and back, for the order is its own inverse.
    ///
    /// ```
    /// use ziggurat_core::FieldLayout;
    ///
    /// // Scales of -1 to 14.
    /// let file = std::array::from_fn(|group| (group as u8).wrapping_sub(1));
    /// let device = FieldLayout::signed_groups(&file);
    /// assert_eq!(device[..4], [127, 128, 131, 132]);
    /// assert_eq!(FieldLayout::signed_groups(&device), file);
    /// ```
    #[must_use]
    pub fn signed_groups(scales: &[u8; 16]) -> [u8; 16] {
        SIGNED_GROUPS.map(|group| scales[group] ^ 0x80)
    }
}
